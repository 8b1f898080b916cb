"""What peers say that this agent observed in a life which it has forgotten: one may lie, so two must say so.

An agent whose disk was lost or rolled back gets its own observations back from peers. But a peer can make up an
incarnation that never was. So cells of an own incarnation that this agent does not know are *claims*: they are kept
apart, and count once a second peer tells of the same incarnation. A relay's word is enough, for it may speak of
anybody, and so is that of the only peer there is. This file does not know what a message is, or who is present.
"""

from collections import Counter
from collections.abc import Iterable

from cobandit.core import credibility
from cobandit.core.messages import AgentId, Cells, Changes
from cobandit.core.replica import News, Replica
from cobandit.core.state import Claim

MAX_CLAIMED = 2**16
"""How many cells are kept that one peer alone tells of. What it tells beyond that is passed over."""


class Witnesses:
    """One agent's forgotten lives, as others tell them."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._claims: dict[int, dict[AgentId, Cells]] = {}
        """For each incarnation that this agent does not know, what each peer says of it."""
        self._amounts: Counter[AgentId] = Counter()
        """How many cells are kept of each peer."""
        self.number = 0
        """How often something here has changed."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What one peer says, and no other."""
        return tuple(Claim(*one) for said in self._claims.values() for one in said.items())

    def restore(self, claims: Iterable[Claim]) -> None:
        """Take over what `claims` returned."""
        for peer, told in claims:
            self._keep(peer, told)

    def merge(self, peer: AgentId, changes: Changes, session: int | None, *, is_enough: bool) -> News:
        """Merge what counts of a peer's words, and what others had said before that counts because of it."""
        cells, confirmed = self.heard(peer, changes.cells, is_enough=is_enough)
        news = self._replica.merge(changes._replace(cells=cells), (peer, session))
        for claim in confirmed:
            more = Changes(cells=(claim.told,))
            if credibility.is_possible(more, claim.peer, self._replica):
                news = news._replace(cells=news.cells + self._replica.merge(more, (claim.peer, None)).cells)
        return news

    def heard(
        self, peer: AgentId, cells: tuple[Cells, ...], *, is_enough: bool
    ) -> tuple[tuple[Cells, ...], tuple[Claim, ...]]:
        """Return what of a peer's words counts, and what others had said before that counts because of it.

        Args:
            peer: Who speaks.
            cells: What it tells, which `credibility` found possible.
            is_enough: Whether its word is enough.
        """
        counts: list[Cells] = []
        confirmed: list[Claim] = []
        for told in cells:
            is_own = told.agent == self._replica.agent and self._replica.is_served(told)
            if is_own and not self._replica.has_lived(told.incarnation):
                if not is_enough and not self._claims.get(told.incarnation, {}).keys() - {peer}:
                    self._keep(peer, told)
                    continue
                confirmed += self._taken(told.incarnation)
            counts.append(told)
        return tuple(counts), tuple(confirmed)

    def _keep(self, peer: AgentId, told: Cells) -> None:
        if self._amounts[peer] + len(told.tallies) > MAX_CLAIMED:
            return
        said = self._claims.setdefault(told.incarnation, {})
        before = {} if peer not in said else {entry.arm: entry for entry in said[peer].tallies}
        for entry in told.tallies:
            if entry.arm not in before or entry.observations > before[entry.arm].observations:
                self._amounts[peer] += entry.arm not in before
                self.number += 1
                before[entry.arm] = entry
        said[peer] = told._replace(tallies=tuple(before.values()))

    def _taken(self, incarnation: int) -> list[Claim]:
        said = self._claims.pop(incarnation, {})
        self.number += bool(said)
        self._amounts.subtract({peer: len(told.tallies) for peer, told in said.items()})
        return [Claim(*one) for one in said.items()]
