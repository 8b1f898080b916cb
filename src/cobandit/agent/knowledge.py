"""Views for drivers of all that an agent knows, added up in various ways. Nothing here changes it."""

from collections.abc import Collection, Iterable

from cobandit.core import Endpoint
from cobandit.core.places import At, Change, beside, faded
from cobandit.values.tally import Arm, ArmTally, Tally


class Knowledge:
    """All observations that an agent knows, its own and those of others."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def of_kind(self, what: str) -> Iterable[Change]:
        """Yield all that is known of one kind: what is counted beside bandits, or what they learn from (an empty text).

        In a bandit with a half-life, older observations count as fewer.
        """
        replica = self._endpoint.replica
        for change in self.all():
            if beside(change.bandit, change.segment) != what:
                continue
            bandit = replica.bandits[change.bandit]
            if bandit.half_life:
                weight = bandit.weight(max(0, replica.period_of(bandit.name) - change.period))
                change = change._replace(tally=faded(change.tally, weight))  # noqa: PLW2901
            yield change

    def all(self) -> Iterable[Change]:
        """Yield all that is known, place by place."""
        for key, entry in self._endpoint.replica.cells():
            yield Change(*key[3:], entry, key.agent == self._endpoint.name)
        yield from self._endpoint.totals.all()

    def own_by_arm(self) -> dict[Arm, int]:
        """Return how many observations of each arm this agent itself has made, in every known incarnation."""
        counts = dict.fromkeys(self._endpoint.arms, 0)
        for key, entry in self._endpoint.replica.cells():
            if key.agent == self._endpoint.name and not (key.bandit or key.segment):
                counts[key.arm] += entry.observations
        return counts

    def by_bandit(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many observations are known of each bandit, and how many of them are this agent's own."""
        known: dict[str, int] = {}
        own: dict[str, int] = {}
        for change in self.all():
            if beside(change.bandit, change.segment):
                continue
            known[change.bandit] = known.get(change.bandit, 0) + change.tally.observations
            if change.is_own:
                own[change.bandit] = own.get(change.bandit, 0) + change.tally.observations
        return known, own

    def tallies_of(self, bandits: Collection[str]) -> dict[At, Tally]:
        """Return what is known of each segment of some bandits, declared or not, as a policy would read it.

        The time grows with the number of cells, so do not call it for every decision.
        """
        parts: dict[tuple[str, str, int], list[ArmTally]] = {}
        for bandit, segment, period, tally, _ in self.all():
            if bandit in bandits and not beside(bandit, segment):
                parts.setdefault((bandit, segment, period), []).append(tally)
        replica, found = self._endpoint.replica, dict[At, Tally]()
        for (bandit, segment, period), tallies in parts.items():
            terms = replica.bandits[bandit]
            weight = terms.weight(max(0, replica.period_of(bandit) - period))
            total = found.setdefault((bandit, segment), Tally(terms.arms))
            total.add_all(tallies if weight == 1.0 else [faded(tally, weight) for tally in tallies])
        return found
