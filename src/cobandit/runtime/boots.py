"""Which boots live members can have by now. They are made from a clock, so they can be checked by one.

Who knows of a boot that lies in the far future was told a lie. Were it believed, the member that it is about could not
be heard, or not be started, any more. This file does not know how boots begin (`restoring`) or what follows from one.
"""

from cobandit.core import Acknowledgement, Eliminated, Join, Leave, Message, Share
from cobandit.runtime.letters import AnyLetter, Hello
from cobandit.runtime.restoring import CHANCE_BITS, EPOCH
from cobandit.values.errors import PeerError

FURTHEST_AHEAD = 366 * 86_400.0
"""Seconds by which a boot may lie ahead of this member's clock. Clocks are wrong; and there are boots for centuries."""


def latest_boot(now: float) -> int:
    """Return the highest boot that any member may have."""
    return int((max(0.0, now - EPOCH) + FURTHEST_AHEAD) * 1000.0) << CHANCE_BITS


def check_boots(content: Message | AnyLetter, own_boot: int, now: float) -> None:
    """Refuse a message that speaks of a boot in the far future, unless it is one that this member has had.

    Raises:
        PeerError: Somebody lies, or a clock is wrong by more than a year.
    """
    latest = latest_boot(now)
    sender, receiver = _boots(content)
    if sender > latest or receiver > max(latest, own_boot):
        raise PeerError(
            f"{content.sender} speaks of boot {max(sender, receiver)}, which lies more than a year ahead: set its "
            "clock, or this member's"
        )


def _boots(content: Message | AnyLetter) -> tuple[int, int]:
    """Return the boot of a message's sender, and that which it knows of its receiver; 0 if it says neither."""
    match content:
        case Share(handling=handling) if handling is not None:
            return handling.boot, handling.receipt.boot
        case Acknowledgement():
            return content.boot, content.receipt.boot
        case Join() | Leave() | Eliminated() | Hello():
            return content.boot, 0
        case _:
            return 0, 0
