"""How a reward travels to a member that this one has no link with: from leaf to relay, from relay to relay.

A leaf hands rewards for others to a home. A relay delivers them to the leaf that decided, if the leaf is one of its
own. Otherwise it asks the other relays, and the one with the leaf takes them. A relay writes a reward down before it
confirms taking it. The deciding member counts each reward once, so a reward that travels two ways does no harm. This
file owns the ways, and when each is tried. The outbox owns what waits for each member. This file sends nothing.
"""

from collections.abc import Iterator

from cobandit.agent import Agent
from cobandit.core.pen_names import lender_of
from cobandit.live.machine.control_messages import MOST_REWARDS
from cobandit.live.machine.leaf import Leaf
from cobandit.live.machine.outbox import FIRST_WAIT, GROWTH, Outbox, reward_bytes

LONGEST_WAIT = 60.0
"""Maximum seconds between two attempts to hand something on by one way."""

TRIED_WAIT = 8.0
"""Seconds. If a leaf does not take a reward for this long, its relay also asks the others: the leaf may have moved."""


class _Way:
    __slots__ = ("answered", "asked", "next_at", "place", "wait")

    def __init__(self) -> None:
        self.next_at, self.wait = 0.0, FIRST_WAIT
        self.place = 0
        """The position of the next reward to try. Each gets its turn, even if those before it are refused."""
        self.asked = False
        """Whether something was handed on and not answered."""
        self.answered = 0
        """The number of the last message that was answered. A network may repeat answers."""


class Routing:
    """The ways from one member.

    Args:
        agent: Knows which members are present, and which are relays.
        outbox: What waits for each member.
        leaf: Knows the homes, if this member is a leaf.
        is_relay: Whether this member is a relay.
    """

    def __init__(self, agent: Agent, outbox: Outbox, leaf: Leaf | None, *, is_relay: bool) -> None:
        self._agent, self._outbox, self._leaf, self._is_relay = agent, outbox, leaf, is_relay
        self._ways: dict[str, _Way] = {}
        self._added = 0
        """How many rewards had ever come into the outbox at the last check."""

    @property
    def ways(self) -> tuple[str, ...]:
        """The relays that get rewards which cannot be delivered from here."""
        if self._leaf is not None:
            return self._leaf.homes.talking[:1]
        relays = sorted(self._agent.peers.relays)
        return tuple(relays if self._is_relay else relays[:1])

    def goes_on(self, owner: str) -> bool:
        """Return whether rewards for a member are handed on, and need not wait for it here."""
        return self._is_meant(owner, 0.0) and bool(self.ways)

    def awaits(self, way: str) -> bool:
        """Return whether something was handed on to a relay that has not confirmed it."""
        return way in self._ways and self._ways[way].asked

    def doubts(self, owner: str) -> bool:
        """Return whether a member has not taken a reward for so long that others are asked to bring it."""
        return self._outbox.wait_of(owner) >= TRIED_WAIT

    def answered(self, way: str, number: int) -> None:
        """Note that a relay has taken some rewards of the message with this number. It may have the next ones at once.

        Only the first answer to a message does that. Otherwise a network that repeats answers would multiply messages.
        """
        known = self._ways.get(way)
        if known is not None and known.answered < number <= self._outbox.number:
            known.answered, known.next_at, known.wait, known.asked = number, 0.0, FIRST_WAIT, False

    def due_at(self) -> float | None:
        """Return when to check again; `None` for never, as long as nothing changes."""
        if not self._outbox.waiting or not any(self._meant()):
            return None
        self._hurry()
        return min((self._ways[way].next_at if way in self._ways else 0.0 for way in self.ways), default=None)

    def due(self, room: int, now: float) -> Iterator[tuple[str, tuple[tuple[str, float], ...], bool]]:
        """Yield what to hand on now, and to which relay, in messages up to this size, and note that it is done.

        The last item says whether the rewards are for leaves of this relay that do not take them, and may have moved.
        """
        if not self._outbox.waiting:
            self._ways.clear()
            return
        self._hurry()
        ways = [way for way in self.ways if way not in self._ways or now >= self._ways[way].next_at]
        owners = list(self._meant()) if ways else []
        doubtful = [item for owner in owners if self._agent.peers.is_present(owner) for item in self._outbox.of(owner)]
        certain = [
            item for owner in owners if not self._agent.peers.is_present(owner) for item in self._outbox.of(owner)
        ]
        for name in ways if owners else ():
            way = self._ways.setdefault(name, _Way())
            way.next_at, way.wait = now + way.wait, min(way.wait * GROWTH, LONGEST_WAIT)
            way.asked = True
            if certain:
                yield name, self._next(way, certain, room), False
            if doubtful:
                yield name, self._next(way, doubtful, room), True

    def _next(self, way: _Way, rewards: list[tuple[str, float]], room: int) -> tuple[tuple[str, float], ...]:
        start = way.place if way.place < len(rewards) else 0
        chosen: list[tuple[str, float]] = []
        for token, reward in rewards[start : start + MOST_REWARDS]:
            room -= reward_bytes(token)
            if chosen and room < 0:
                break
            chosen.append((token, reward))
        way.place = start + len(chosen)
        return tuple(chosen)

    def _hurry(self) -> None:
        """Stop waiting if there is something new."""
        if self._outbox.added != self._added:
            self._added = self._outbox.added
            for way in self._ways.values():
                way.next_at, way.wait = min(way.next_at, 0.0), FIRST_WAIT

    def _meant(self) -> Iterator[str]:
        for owner, wait in self._outbox.owners():
            if self._is_meant(owner, wait):
                yield owner

    def _is_meant(self, owner: str, wait: float) -> bool:
        if self._is_relay and lender_of(owner) is not None:
            return False  # only its lender keeps rewards for a pen, and counts them if the pen is over
        if self._leaf is None and not self._is_relay:
            return owner not in self._agent.peers  # members of a mesh meet each other
        return not self._agent.peers.is_present(owner) or (self._is_relay and wait >= TRIED_WAIT)
