"""Numbers for sessions and incarnations of live members: made from a clock and chance, and checked by a clock.

A peer that knows of a session in the far future was told a lie. Were it believed, the member that it is about could
not be heard, or not be started, any more. This file does not know how a member starts (`restoring`).
"""

import secrets

from cobandit.core import Acknowledgement, Message, Notice, Share
from cobandit.live.decide.clock import Clock
from cobandit.live.machine.control_messages import AnyControlMessage, Hello
from cobandit.values.errors import PeerError

EPOCH = 1_767_225_600.0
"""The beginning of 2026: sessions count milliseconds from here."""

CHANCE_BITS = 10
"""So much of a number is chance, always: two starts at the same time do not get the same."""

BEHIND_BITS = 16
"""So much more is chance if the clock is behind the last number, and cannot tell two starts from one disk apart: up to
a minute. A clock that stands still for good is then a year behind after half a million starts."""

FURTHEST_AHEAD = 366 * 86_400.0
"""Seconds by which a session may lie ahead of this member's clock. Clocks are wrong; there is room for centuries."""


def fresh_session(last: int, clock: Clock) -> int:
    """Return a number above the last one, and different from every other.

    It numbers a session, and an incarnation if one begins with it.
    """
    number, least = int(max(0.0, clock.now() - EPOCH) * 1000.0), (last >> CHANCE_BITS) + 1
    if number < least:
        number = least + secrets.randbits(BEHIND_BITS)
    return number << CHANCE_BITS | secrets.randbits(CHANCE_BITS)


def latest_session(now: float) -> int:
    """Return the highest session that any member may have."""
    return int((max(0.0, now - EPOCH) + FURTHEST_AHEAD) * 1000.0) << CHANCE_BITS


def check_sessions(content: Message | AnyControlMessage, own_session: int, now: float) -> None:
    """Refuse a message that speaks of a session in the far future, unless it is one that this member has had.

    Raises:
        PeerError: It is a lie, or a clock is wrong by more than a year.
    """
    latest = latest_session(now)
    sender, receiver = _sessions(content)
    if sender > latest or receiver > max(latest, own_session):
        raise PeerError(
            f"{content.sender} speaks of session {max(sender, receiver)}, which lies more than a year ahead: set its "
            "clock, or this member's"
        )


def _sessions(content: Message | AnyControlMessage) -> tuple[int, int]:
    """Return the session of a message's sender, and that which it knows of its receiver; 0 if it says neither."""
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
