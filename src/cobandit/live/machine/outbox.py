"""What must reach another member besides observations, and is repeated until it does: rewards and controls.

There is one entry for each peer that is owed something. The wait grows with every attempt, so an absent peer costs one
packet every ten minutes. This file neither sends nor persists; it says what is due.
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
"""How many rewards for other members may wait here: in all, and for one member; for all members that were never met,
and for one of those. Names are easily made up, so rewards for strangers are limited separately, and the oldest give
way."""

_REWARD = 16
"""Bytes, more than enough for a reward in a message without its decision's id."""


def reward_bytes(token: str) -> int:
    """Return the maximum number of bytes that a reward takes in a message."""
    return len(token) + _REWARD


class _Owed:
    __slots__ = ("digest", "next_at", "noticed_at", "rewards", "sent_at", "told_at", "wait")

    def __init__(self) -> None:
        self.rewards: dict[str, tuple[float, int]] = {}
        """The rewards, each with the number at which it last came in."""
        self.noticed_at: dict[str, float] = {}
        """When the oldest rewards were first found waiting, by this member's clock."""
        self.told_at: dict[str, float] = {}
        """When rewards that may be on their way were sent."""
        self.digest = b""
        """The digest of the settings that the peer has, as far as it said."""
        self.next_at = 0.0
        self.sent_at = -FIRST_WAIT
        """When this member last wrote to the peer."""
        self.wait = FIRST_WAIT

    def hurry(self) -> None:
        """Shorten the wait to the first one. A peer cannot cause more frequent messages than that."""
        self.next_at, self.wait = self.sent_at + FIRST_WAIT, FIRST_WAIT


class Outbox:
    """What is owed, by peer."""

    def __init__(self, rewards: Iterable[tuple[str, str, float]] = ()) -> None:
        self._owed: dict[str, _Owed] = {}
        self._kept = 0
        self.added = 0
        """How many rewards have ever come in."""
        self.number = 0
        """Increases with every reward that comes in, and with every message that hands some on."""
        self._next_at: float | None = None
        self._is_stale = True
        """Whether `_next_at` must be computed again. Most members owe nothing most of the time."""
        self._digest = b""
        """The controls for which `_next_at` was computed."""
        for peer, token, reward in rewards:
            self.add_reward(peer, token, reward)

    def begin(self, number: int) -> None:
        """Begin a start with a number above all earlier ones, so that answers to earlier messages no longer count."""
        self.number = number
        for owed in self._owed.values():
            owed.rewards = {token: (reward, number) for token, (reward, _) in owed.rewards.items()}

    @property
    def rewards(self) -> tuple[tuple[str, str, float], ...]:
        """All rewards on the way: the owner, the token, the reward."""
        return tuple((peer, *item) for peer in self._owed for item in self.of(peer))

    @property
    def waiting(self) -> int:
        """How many rewards are on the way."""
        return self._kept

    @property
    def found_waiting(self) -> list[str]:
        """The peers whose rewards were waiting at the last check (`give_up`), and still are."""
        return [peer for peer, owed in self._owed.items() if not owed.noticed_at.keys().isdisjoint(owed.rewards)]

    def check_room(self, peer: str, token: str, known: Container[str], on_the_way: int) -> None:
        """Raise `NotNowError` if a reward for this peer cannot be kept.

        Args:
            peer: The peer that made the decision.
            token: The decision's id.
            known: All members ever met.
            on_the_way: How many rewards, for any peer, are about to be kept.
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
        """Forget rewards for members that were never met, if there are too many. Return them by owner and token.

        The member with the most waiting loses its oldest. A tenth of the limit goes at once, so that this is rare.
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
        """Forget rewards that have been waiting for this long. Return them by owner and token.

        The time of their decisions does not matter: another member's clock says it, and may be days off.
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
        """Owe a peer the reward for one of its decisions. Return whether it was not owed already."""
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
        """Note that the peer has these rewards. Return which of them were owed."""
        owed = self._of(peer)
        taken = [token for token in tokens if owed.rewards.pop(token, None) is not None]
        self._kept -= len(taken)
        self._is_stale = True
        if taken:
            owed.next_at, owed.wait = 0.0, FIRST_WAIT
        return taken

    def handed_on(self, peer: str, token: str, number: int) -> bool:
        """Note that another member will bring a reward to a peer, as it says in answer to the message with this number.

        If the reward has come in again since that message, the other member may have brought it back, so it is kept.
        Return whether it is no longer owed.
        """
        owed = self._owed.get(peer)
        if owed is None or token not in owed.rewards or 0 < number < owed.rewards[token][1]:
            return False
        del owed.rewards[token]
        self._kept -= 1
        self._is_stale = True
        # Whom this member tried to reach itself stays known, or it would take the same reward back (`Routing.doubts`).
        if not owed.rewards and not owed.digest and owed.wait == FIRST_WAIT:
            del self._owed[peer]
        return True

    def owners(self) -> Iterator[tuple[str, float]]:
        """Yield the peers that rewards wait for, each with the present wait between two attempts."""
        for peer, owed in self._owed.items():
            if owed.rewards:
                yield peer, owed.wait

    def of(self, peer: str) -> Iterable[tuple[str, float]]:
        """Return the rewards that wait for a peer."""
        owed = self._owed.get(peer)
        return () if owed is None else [(token, reward) for token, (reward, _) in owed.rewards.items()]

    def wait_of(self, peer: str) -> float:
        """Return the present wait between two attempts to bring something to a peer."""
        owed = self._owed.get(peer)
        return FIRST_WAIT if owed is None else owed.wait

    def owes(self, peer: str, digest: bytes) -> bool:
        """Return whether a peer was sent rewards or controls that it has not acknowledged."""
        owed = self._owed.get(peer)
        if owed is None or owed.wait == FIRST_WAIT:
            return False
        return bool(owed.rewards) or owed.digest != digest

    def controls_heard(self, peer: str, digest: bytes) -> None:
        """Note which controls the peer has. Costs next to nothing if they are the common ones."""
        is_new = peer not in self._owed
        owed = self._of(peer)
        if is_new or owed.digest != digest:  # a new peer may have none, and is still owed some
            owed.digest = digest
            owed.hurry()
            # A new peer was not accounted for yet. If it has the right controls, there is nothing to add.
            self._is_stale = self._is_stale or not is_new
        if digest != self._digest:  # it may have been away when `_next_at` was computed
            self._is_stale = True
        if owed.rewards:  # they may have waited for the peer to be met
            self._is_stale = True

    def is_back(self, peer: str) -> None:
        """Note that a peer has announced itself, which shortens the wait."""
        owed = self._of(peer)
        if owed.wait > FIRST_WAIT:
            self._is_stale = True
            owed.hurry()

    def forget(self, peer: str) -> None:
        """Forget a peer that is gone, except for the rewards that wait for it."""
        owed = self._owed.get(peer)
        if owed is not None and not owed.rewards:
            del self._owed[peer]
            self._is_stale = True

    def controls_changed(self) -> None:
        """Note that there is something new to send to all peers."""
        self._is_stale = True
        for owed in self._owed.values():
            owed.next_at, owed.wait = 0.0, FIRST_WAIT

    def lacks_controls(self, peer: str, digest: bytes) -> bool:
        """Return whether the peer has controls other than these."""
        return self._of(peer).digest != digest

    def rewards_for(self, peer: str, room: int, now: float) -> tuple[tuple[str, float], ...]:
        """Return the next rewards for a peer: as many as fit a control message of this size, at least one.

        Rewards that were just sent are not repeated because of new ones.
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
        if len(chosen) < len(rewards):  # each gets its turn, even if those before it are refused
            for token, _ in chosen:
                rewards[token] = rewards.pop(token)
        return tuple(chosen)

    def due(self, peers: Iterable[str], digest: bytes, now: float) -> Iterator[str]:
        """Yield the peers to write to now, and note that it is done."""
        self._is_stale = True
        for peer in peers:
            owed = self._of(peer)
            if (owed.rewards or owed.digest != digest) and now >= owed.next_at:
                owed.sent_at, owed.next_at = now, now + owed.wait
                owed.wait = min(owed.wait * GROWTH, LONGEST_WAIT)
                yield peer

    def next_due(self, peers: Iterable[str], digest: bytes) -> float | None:
        """Return when to check again; `None` for never, as long as nothing changes."""
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
