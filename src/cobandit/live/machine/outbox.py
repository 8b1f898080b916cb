"""What must reach another member besides observations, and is repeated until it has: rewards and controls.

One entry for each peer to which something is owed. The wait grows with every attempt, so a peer that is gone costs a
packet every ten minutes. This file does not send and does not persist; it says what is due.
"""

from collections.abc import Container, Iterable, Iterator
from heapq import heapify, heappop, heapreplace

from cobandit.live.machine.control_messages import MOST_REWARDS
from cobandit.values.errors import NotNowError

FIRST_WAIT = 1.0
LONGEST_WAIT = 600.0
GROWTH = 2.0
MOST_REWARDS_KEPT = 100_000
MOST_FOR_ONE = 10_000
MOST_FOR_STRANGERS, MAX_FOR_ONE_STRANGER = 2000, 500
"""So many rewards for other members may wait here: in all, for one of them; for all those that were never met, and for
one of these. Names are easily made up, so the last are a box of their own, in which the oldest give way."""

_REWARD = 16
"""Bytes, more than enough: of a reward that is told, all but the id of its decision."""


def reward_bytes(token: str) -> int:
    """Return how many bytes of a message a reward takes at most."""
    return len(token) + _REWARD


class _Owed:
    __slots__ = ("digest", "next_at", "noticed_at", "rewards", "sent_at", "told_at", "wait")

    def __init__(self) -> None:
        self.rewards: dict[str, tuple[float, int]] = {}
        """Each with the number at which it last came in."""
        self.noticed_at: dict[str, float] = {}
        """When the oldest of the rewards were first found waiting, by this member's clock."""
        self.told_at: dict[str, float] = {}
        """When rewards were told that may be on their way."""
        self.digest = b""
        """Which settings the peer has, as far as it said."""
        self.next_at = 0.0
        self.sent_at = -FIRST_WAIT
        """When the peer was last written to."""
        self.wait = FIRST_WAIT

    def hurry(self) -> None:
        """Wait no longer than for the first time: whatever the peer says, it is not written to more often."""
        self.next_at, self.wait = self.sent_at + FIRST_WAIT, FIRST_WAIT


class Outbox:
    """What is owed to whom."""

    def __init__(self, rewards: Iterable[tuple[str, str, float]] = ()) -> None:
        self._owed: dict[str, _Owed] = {}
        self._kept = 0
        self.added = 0
        """How many rewards have ever come in."""
        self.number = 0
        """Grows with every reward that comes in, and with every message that hands some on."""
        self._next_at: float | None = None
        self._is_stale = True
        """Whether `_next_at` must be computed again. Most members owe nobody anything most of the time."""
        self._digest = b""
        """The controls for which it was computed."""
        for peer, token, reward in rewards:
            self.add_reward(peer, token, reward)

    def begin(self, number: int) -> None:
        """Begin a start, with a number above those of earlier ones: to their messages no answer counts any more."""
        self.number = number
        for owed in self._owed.values():
            owed.rewards = {token: (reward, number) for token, (reward, _) in owed.rewards.items()}

    @property
    def rewards(self) -> tuple[tuple[str, str, float], ...]:
        """All rewards on the way: for whom, the token, the reward."""
        return tuple((peer, *item) for peer in self._owed for item in self.of(peer))

    @property
    def waiting(self) -> int:
        """How many rewards are on the way."""
        return self._kept

    @property
    def found_waiting(self) -> list[str]:
        """For whom rewards were waiting at the last look (`give_up`), and still are."""
        return [peer for peer, owed in self._owed.items() if not owed.noticed_at.keys().isdisjoint(owed.rewards)]

    def check_room(self, peer: str, token: str, known: Container[str], on_the_way: int) -> None:
        """Raise `NotNowError` if a reward for this peer cannot be kept.

        Args:
            peer: Whose decision it is.
            token: The decision's id.
            known: Everybody who was ever met.
            on_the_way: Rewards that are about to be kept, for whomever.
        """
        if self._has(peer, token):
            return
        if self._kept + on_the_way >= MOST_REWARDS_KEPT:
            raise NotNowError(
                f"{self._kept} rewards wait for members that cannot be reached: see that they run, then try again"
            )
        if not self.has_room_for(peer, token, known, on_the_way):
            raise NotNowError(
                f"too many rewards wait for {peer!r}, which cannot be reached: see that it runs, then try again"
                if peer in known
                else f"the id is of {peer!r}, whom this member has never met, and too many rewards wait for it: "
                "see that there is such a member"
            )

    def has_room_for(self, peer: str, token: str, known: Container[str], on_the_way: int = 0) -> bool:
        """Return whether a reward for this peer may be kept, or is kept already."""
        if self._has(peer, token):
            return True
        owed = self._owed.get(peer)
        waiting = 0 if owed is None else len(owed.rewards)
        return waiting + on_the_way < MOST_FOR_ONE if peer in known else waiting < MAX_FOR_ONE_STRANGER

    def make_room(self, known: Container[str]) -> list[tuple[str, str]]:
        """Forget rewards for members that were never met, if there are too many. Return for whom, and the token.

        Who has the most waiting loses the oldest of them. A tenth goes at once, so that it is seldom.
        """
        strangers = {name: owed.rewards for name, owed in self._owed.items() if owed.rewards and name not in known}
        excess = sum(map(len, strangers.values())) - MOST_FOR_STRANGERS
        if excess <= 0:
            return []
        gone: list[tuple[str, str]] = []
        fullest = [(-len(rewards), place, name) for place, (name, rewards) in enumerate(strangers.items())]
        heapify(fullest)
        for _ in range(excess + MOST_FOR_STRANGERS // 10):
            waiting, place, name = fullest[0]
            token = next(iter(strangers[name]))
            del strangers[name][token]
            gone.append((name, token))
            if waiting == -1:
                heappop(fullest)
                del self._owed[name]
            else:
                heapreplace(fullest, (waiting + 1, place, name))
        self._kept -= len(gone)
        self._is_stale = True
        return gone

    def give_up(self, after_s: float, now: float) -> list[tuple[str, str]]:
        """Forget the rewards that were found waiting so long ago. Return for whom, and the token.

        When their decisions were made does not matter: that is told by another member's clock, which may be days away.
        """
        gone: list[tuple[str, str]] = []
        for peer, owed in self._owed.items():
            noticed_at = {token: min(owed.noticed_at.get(token, now), now) for token in owed.rewards}
            late = [token for token, at in noticed_at.items() if now - at >= after_s]
            for token in late:
                del owed.rewards[token], noticed_at[token]
            owed.noticed_at = noticed_at
            gone += [(peer, token) for token in late]
        self._kept -= len(gone)
        self._is_stale = True
        return gone

    def add_reward(self, peer: str, token: str, reward: float) -> bool:
        """Owe a peer the reward of one of its decisions. Return whether it was not owed already."""
        owed = self._of(peer)
        self._is_stale = True
        is_new = token not in owed.rewards
        self.number += 1
        owed.rewards[token] = owed.rewards.get(token, (reward, 0))[0], self.number
        self._kept += is_new
        self.added += is_new
        owed.next_at, owed.wait = (0.0, FIRST_WAIT) if is_new else (owed.next_at, owed.wait)
        return is_new

    def rewards_taken(self, peer: str, tokens: Iterable[str]) -> list[str]:
        """Note that the peer has these. Return which of them were owed."""
        owed = self._of(peer)
        taken = [token for token in tokens if owed.rewards.pop(token, None) is not None]
        self._kept -= len(taken)
        self._is_stale = True
        if taken:
            owed.next_at, owed.wait = 0.0, FIRST_WAIT
        return taken

    def handed_on(self, peer: str, token: str, number: int) -> bool:
        """Note that a reward for a peer is another's to bring, as it says to the message of a number.

        If the reward has come in since, who said that may have brought it back: then it is kept. Return whether it is
        not owed any more.
        """
        owed = self._owed.get(peer)
        if owed is None or token not in owed.rewards or 0 < number < owed.rewards[token][1]:
            return False
        del owed.rewards[token]
        self._kept -= 1
        self._is_stale = True
        if not owed.rewards and not owed.digest:  # nobody that this member talks to
            del self._owed[peer]
        return True

    def owners(self) -> Iterator[tuple[str, float]]:
        """Return for whom rewards wait, each with the wait between two attempts to bring it some."""
        for peer, owed in self._owed.items():
            if owed.rewards:
                yield peer, owed.wait

    def of(self, peer: str) -> Iterable[tuple[str, float]]:
        """Return the rewards that wait for a peer."""
        owed = self._owed.get(peer)
        return () if owed is None else [(token, reward) for token, (reward, _) in owed.rewards.items()]

    def owes(self, peer: str, digest: bytes) -> bool:
        """Return whether something was sent to a peer that it has not acknowledged: rewards, or controls."""
        owed = self._owed.get(peer)
        if owed is None or owed.wait == FIRST_WAIT:
            return False
        return bool(owed.rewards) or owed.digest != digest

    def controls_heard(self, peer: str, digest: bytes) -> None:
        """Note which controls the peer has. Costs next to nothing if it is what all have."""
        is_new = peer not in self._owed
        owed = self._of(peer)
        if is_new or owed.digest != digest:  # who is new may have none, and is owed some all the same
            owed.digest = digest
            owed.hurry()
            # A new peer was in nobody's account yet: if it has what it should have, there is nothing to add.
            self._is_stale = self._is_stale or not is_new or digest != self._digest
        if owed.rewards:  # they may have waited until the peer is known
            self._is_stale = True

    def is_back(self, peer: str) -> None:
        """Note that the peer says that it is here: what waits for it need not wait as long as before."""
        owed = self._of(peer)
        if owed.wait > FIRST_WAIT:
            self._is_stale = True
            owed.hurry()

    def forget(self, peer: str) -> None:
        """Keep nothing in mind for a peer that is gone, but the rewards that wait for it."""
        owed = self._owed.get(peer)
        if owed is not None and not owed.rewards:
            del self._owed[peer]
            self._is_stale = True

    def controls_changed(self) -> None:
        """Note that there is something new to tell everybody."""
        self._is_stale = True
        for owed in self._owed.values():
            owed.next_at, owed.wait = 0.0, FIRST_WAIT

    def lacks_controls(self, peer: str, digest: bytes) -> bool:
        """Return whether the peer has other controls than these."""
        return self._of(peer).digest != digest

    def rewards_for(self, peer: str, room: int, now: float) -> tuple[tuple[str, float], ...]:
        """Return the next rewards for a peer, as many as fit a control message of so many bytes; one at least.

        What was just told is not told again because of others that are new.
        """
        chosen: list[tuple[str, float]] = []
        owed = self._of(peer)
        rewards = owed.rewards
        told_at = {token: at for token, at in owed.told_at.items() if token in rewards and at <= now < at + FIRST_WAIT}
        owed.told_at = told_at
        for token, (reward, _) in rewards.items():
            if token in told_at:
                continue
            room -= reward_bytes(token)
            if chosen and (room < 0 or len(chosen) == MOST_REWARDS):
                break
            chosen.append((token, reward))
        told_at.update((token, now) for token, _ in chosen)
        if len(chosen) < len(rewards):  # each has its turn, also if those before it are not taken
            for token, _ in chosen:
                rewards[token] = rewards.pop(token)
        return tuple(chosen)

    def due(self, peers: Iterable[str], digest: bytes, now: float) -> Iterator[str]:
        """Return which of these peers to write to now, and note that it is done."""
        self._is_stale = True
        for peer in peers:
            owed = self._of(peer)
            if (owed.rewards or owed.digest != digest) and now >= owed.next_at:
                owed.sent_at, owed.next_at = now, now + owed.wait
                owed.wait = min(owed.wait * GROWTH, LONGEST_WAIT)
                yield peer

    def next_due(self, peers: Iterable[str], digest: bytes) -> float | None:
        """Return when to look again; `None` for never, as long as nothing changes."""
        if self._is_stale or digest != self._digest:
            times = [owed.next_at for peer in peers if (owed := self._of(peer)).rewards or owed.digest != digest]
            self._next_at, self._is_stale, self._digest = min(times, default=None), False, digest
        return self._next_at

    def _has(self, peer: str, token: str) -> bool:
        owed = self._owed.get(peer)
        return owed is not None and token in owed.rewards

    def _of(self, peer: str) -> _Owed:
        owed = self._owed.get(peer)
        if owed is None:
            owed = self._owed[peer] = _Owed()
        return owed
