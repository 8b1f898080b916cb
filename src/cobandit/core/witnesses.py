"""What peers say that this agent observed in an incarnation it has forgotten. A peer may lie, so two must agree.

An agent whose disk was lost or rolled back gets its own observations back from peers. But a peer can make up an
incarnation that never existed. So a report about an incarnation that this agent does not know it began is a *claim*. It
is kept apart, and counts only as far as two peers vouch for it: for each cell, up to the largest claim from which
another peer's claim can have grown. A relay's report is enough by itself, because a relay may report on any agent. So
is that of the only peer there is.

There is room for a limited number of claims of each peer. More are ignored and must be sent again; then the agent does
not say that it holds them. This file does not know what a message is, or who is present.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cobandit.core.facts import CellKey, cell_key
from cobandit.core.messages import AgentId, Cells, Changes
from cobandit.core.replica import MAX_CELLS_PER_AGENT, MAX_PER_AGENT, News, Replica
from cobandit.core.state import Claim
from cobandit.values.tally import ArmTally

MAX_CLAIMED = 2**16
"""The most cells kept that only one peer reports."""

MAX_CLAIMED_BY_ALL = 2**19
"""The most such cells kept of all peers together."""


class Vouched(NamedTuple):
    """The part of a peer's report that counts."""

    cells: tuple[Cells, ...]
    """What the peer itself reported."""
    confirmed: tuple[Claim, ...]
    """What others had reported before, and counts because of it."""
    is_whole: bool
    """Whether all of it counts or is kept."""


class Witnesses:
    """One agent's forgotten incarnations, as reported by others."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._claims: dict[CellKey, dict[AgentId, ArmTally]] = {}
        """For each cell, what each peer claims beyond what is held."""
        self._amounts: Counter[AgentId] = Counter()
        """How many cells are kept of each peer."""
        self.number = 0
        """How many times something here has changed."""
        self.is_whole = True
        """Whether everything in the report merged last counts or is kept."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims that single peers have made."""
        return tuple(
            Claim(peer, _told(key, entry)) for key, said in self._claims.items() for peer, entry in said.items()
        )

    def restore(self, claims: Iterable[Claim]) -> None:
        """Restore what `claims` returned."""
        for peer, told in claims:
            for entry in told.tallies:
                self._keep(cell_key(told, entry.arm), peer, entry)

    def drop_outdated(self) -> None:
        """Forget the claims of periods that are over."""
        for key in [key for key in self._claims if not self._replica.is_served(_told(key))]:
            self._amounts.subtract(self._claims.pop(key).keys())
            self.number += 1

    def merge(self, peer: AgentId, changes: Changes, session: int | None, *, is_enough: bool) -> News:
        """Merge what counts of a peer's report, and what others had reported before that counts because of it."""
        cells, confirmed, self.is_whole = self.heard(peer, changes.cells, is_enough=is_enough)
        news = self._replica.merge(changes._replace(cells=cells), (peer, session))
        for claim in confirmed:
            more = self._replica.merge(Changes(cells=(claim.told,)), (claim.peer, None))
            news = news._replace(cells=news.cells + more.cells)
        return news

    def heard(self, peer: AgentId, cells: tuple[Cells, ...], *, is_enough: bool) -> Vouched:
        """Take a peer's report. Return what counts.

        Args:
            peer: Who reports.
            cells: What it reports, after the checks of `credibility`.
            is_enough: Whether its report is enough by itself.
        """
        counts: list[Cells] = []
        confirmed: list[Claim] = []
        is_whole = True
        for told in cells:
            if told.agent != self._replica.agent or not self._replica.is_served(told):
                counts.append(told)
                continue
            for key, entry in self._news_in(told):
                if is_enough or told.incarnation in self._replica.lives:
                    vouched: Claim | None = Claim(peer, told._replace(tallies=(entry,)))
                else:
                    is_whole = self._keep(key, peer, entry) and is_whole
                    vouched = self._vouched_for(key)
                if vouched is not None and self._has_room_for(key, vouched.told.tallies[0]):
                    self._drop(key, upto=vouched.told.tallies[0].observations)
                    if vouched.peer == peer:
                        counts.append(vouched.told)
                    else:
                        confirmed.append(vouched)
        return Vouched(joined(counts), tuple(confirmed), is_whole)

    def _news_in(self, told: Cells) -> Iterator[tuple[CellKey, ArmTally]]:
        for entry in told.tallies:
            is_served = self._replica.has(told.bandit, entry.arm)
            if is_served and entry.observations > self._replica.held(told, entry.arm).observations:
                yield cell_key(told, entry.arm), entry

    def _vouched_for(self, key: CellKey) -> Claim | None:
        """Return the largest claim from which another peer's can have grown."""
        said = sorted(self._claims.get(key, {}).items(), key=lambda one: one[1].observations, reverse=True)
        for place, (peer, entry) in enumerate(said):
            if any(self._can_follow(key, entry, more) for _, more in said[:place]):
                return Claim(peer, _told(key, entry))
        return None

    def _can_follow(self, key: CellKey, entry: ArmTally, more: ArmTally) -> bool:
        return more.minus(entry).can_be(self._replica.units_of(key.bandit))

    def _has_room_for(self, key: CellKey, entry: ArmTally) -> bool:
        """Return whether this agent can hold that much more about itself, and still has room to observe something."""
        cells, observations = self._replica.amount_of(key.agent)
        return 2 * cells < MAX_CELLS_PER_AGENT and 2 * (observations + entry.observations) <= MAX_PER_AGENT

    def _keep(self, key: CellKey, peer: AgentId, entry: ArmTally) -> bool:
        """Keep a claim. Return whether it is kept, now or already."""
        known = self._claims.get(key, {}).get(peer)
        if known is not None and known.observations >= entry.observations:
            return True
        if known is None:
            if self._amounts[peer] >= MAX_CLAIMED or self._amounts.total() >= MAX_CLAIMED_BY_ALL:
                return False
            self._amounts[peer] += 1
        self._claims.setdefault(key, {})[peer] = entry
        self.number += 1
        return True

    def _drop(self, key: CellKey, *, upto: int) -> None:
        """Forget the claims that say no more than what counts now."""
        said = self._claims.get(key, {})
        for peer in [peer for peer, entry in said.items() if entry.observations <= upto]:
            del said[peer]
            self._amounts[peer] -= 1
            self.number += 1
        if not said:
            self._claims.pop(key, None)


def _told(key: CellKey, *entries: ArmTally) -> Cells:
    return Cells(key.agent, key.incarnation, entries, *key[3:])


def joined(cells: Iterable[Cells]) -> tuple[Cells, ...]:
    """Return cells with one entry for each incarnation, in the order in which they come."""
    tallies: dict[tuple[object, ...], list[ArmTally]] = {}
    firsts: dict[tuple[object, ...], Cells] = {}
    for told in cells:
        place = (*told[:2], *told[3:])
        firsts.setdefault(place, told)
        tallies.setdefault(place, []).extend(told.tallies)
    return tuple(first._replace(tallies=tuple(tallies[place])) for place, first in firsts.items())
