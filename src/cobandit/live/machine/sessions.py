"""Numbers of sessions and incarnations: made from a clock and chance, and checked by a clock.

A message about a session in the far future is false. If it were believed, the member concerned could not be heard or
started any more. This file does not know how a member starts (`restoring`).
"""

import secrets

from cobandit.core import Acknowledgement, Message, Notice, Share
from cobandit.live.decide.clock import Clock
from cobandit.live.machine.control_messages import AnyControlMessage, Hello
from cobandit.values.errors import PeerError

EPOCH = 1_767_225_600.0
"""The beginning of 2026: sessions count milliseconds from here."""

CHANCE_BITS = 10
"""How many bits are always random, so that two starts at the same time get different numbers."""

BEHIND_BITS = 16
"""How many more bits are random if the clock is behind the last number, and cannot tell two starts from one disk apart:
up to a minute. A clock that stands still for good is then a year behind after half a million starts."""

FURTHEST_AHEAD = 366 * 86_400.0
"""Seconds by which a session may be ahead of this member's clock. Clocks are wrong, and there is room for centuries."""


def fresh_session(last: int, clock: Clock) -> int:
    """Return a number above the last one and different from all others.

    It numbers a session, and an incarnation if one begins with it.
    """
    number, least = int(max(0.0, clock.now() - EPOCH) * 1000.0), (last >> CHANCE_BITS) + 1
    if number < least:
        number = least + secrets.randbits(BEHIND_BITS)
    return number << CHANCE_BITS | secrets.randbits(CHANCE_BITS)


def latest_session(now: float) -> int:
    """Return the highest session number that a member may have."""
    return int((max(0.0, now - EPOCH) + FURTHEST_AHEAD) * 1000.0) << CHANCE_BITS


def check_sessions(content: Message | AnyControlMessage, own_session: int, now: float) -> None:
    """Refuse a message about a session in the far future, unless this member has had that session.

    Raises:
        PeerError: It is false, or a clock is wrong by more than a year.
    """
    latest = latest_session(now)
    sender, receiver = _sessions(content)
    if sender > latest or receiver > max(latest, own_session):
        raise PeerError(
            f"{content.sender} speaks of session {max(sender, receiver)}, which lies more than a year ahead: set its "
            "clock, or this member's"
        )


def _sessions(content: Message | AnyControlMessage) -> tuple[int, int]:
    """Return the sender's session, and the receiver's session as the sender knows it; 0 where the message has none."""
    match content:
        case Share(delivery=delivery, changes=changes) if delivery is not None:
            introduced = (told.session for told in changes.presences)
            told_back = (told.incarnation for told in changes.cells if told.agent == content.receiver)
            return max((delivery.session, *introduced)), max((delivery.receipt.session, *told_back))
        case Acknowledgement():
            return content.delivery.session, content.delivery.receipt.session
        case Notice():
            return max((told.session for told in content.changes.presences), default=0), 0
        case Hello():
            return content.session, 0
        case _:
            return 0, 0
