"""Broken variants of bandits with names, segments and periods: each leaves out one thing, and the swarm must notice."""

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cobandit.agent import agent as agent_module
from cobandit.core import Endpoint, Outcome, Placed, members, snapshots
from cobandit.core.calendar import Calendar
from cobandit.core.messages import Cells
from cobandit.core.places import At, Bandit, Change
from cobandit.core.replica import Replica
from cobandit.core.running_totals import RunningTotals
from cobandit.learning import Build, Learner, Learners
from cobandit.values.errors import CobanditError
from cobandit.values.tally import ArmTally
from lab.swarm import run_seed
from lab.swarm.place_worlds import world_of

Break = Callable[[pytest.MonkeyPatch], None]
VARIANTS: dict[str, tuple[Break, int]] = {}
"""Each with the first seed that notices."""


def variant(name: str, first_seed: int = 0) -> Callable[[Break], Break]:
    """Give a variant its name, and say which is the first seed that notices."""

    def named(change: Break) -> Break:
        VARIANTS[name] = change, first_seed
        return change

    return named


@variant("a period is dropped too early", first_seed=5)
def _(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Calendar, bandit: str, period: int) -> bool:
        periods = self.bandits[bandit].periods
        return period <= self._periods[bandit] - (periods - 1 if periods > 1 else periods)

    patch.setattr(Calendar, "is_over", changed)


@variant("cells of another bandit are added", first_seed=8)
def _(patch: pytest.MonkeyPatch) -> None:
    learn = Learners.learn

    def changed(self: Learners, changes: Iterable[Change]) -> None:
        learn(self, [one._replace(bandit=min(self._build)) if one.bandit and self._build else one for one in changes])

    patch.setattr(Learners, "learn", changed)


@variant("a total is that of another segment", first_seed=27)
def _(patch: pytest.MonkeyPatch) -> None:
    but = RunningTotals.but

    def changed(
        self: RunningTotals, agent: str, arm: str, bandit: str = "", segment: str = "", period: int = 0
    ) -> ArmTally:
        del segment
        return but(self, agent, arm, bandit, "", period)

    patch.setattr(RunningTotals, "but", changed)


@variant("a cell forgets its segment", first_seed=5)
def _(patch: pytest.MonkeyPatch) -> None:
    for name in ("held", "merge_cells"):
        taken = getattr(Replica, name)
        patch.setattr(
            Replica, name, lambda self, told, other, taken=taken: taken(self, told._replace(segment=""), other)
        )


@variant("a bandit that was not served is taken to be known", first_seed=13)
def _(patch: pytest.MonkeyPatch) -> None:
    begin = Endpoint.begin

    def changed(self: Endpoint, session: int, incarnation: int, arms: Any, now: float, bandits: Any = None) -> Outcome:
        held = {name: link.held for name, link in self.links.items()}
        outcome = begin(self, session, incarnation, arms, now, bandits)
        for name, link in self.links.items():
            link.held = held[name] if bandits else link.held
        return outcome

    patch.setattr(Endpoint, "begin", changed)


@variant("a period is counted twice after a restart", first_seed=5)
def _(patch: pytest.MonkeyPatch) -> None:
    declare = Learners.declare

    def changed(self: Learners, bandit: str, build: Build, known: Iterable[Change]) -> None:
        all_known = list(known)
        earlier = [one for one in all_known if one.bandit == bandit and one.period < self._period_of(bandit)]
        declare(self, bandit, build, all_known + earlier)

    patch.setattr(Learners, "declare", changed)


@variant("a restart does not know what time it was", first_seed=7)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agent_module, "state", lambda endpoint: snapshots.state(endpoint)._replace(time=0.0))


@variant("a bandit that is served no more loses its cells", first_seed=7)
def _(patch: pytest.MonkeyPatch) -> None:
    begin = Endpoint.begin

    def changed(self: Endpoint, session: int, incarnation: int, arms: Any, now: float, bandits: Any = None) -> Outcome:
        outcome = begin(self, session, incarnation, arms, now, bandits)
        gone = [key for key, _ in self.replica.cells() if key.bandit and key.bandit not in self.members.bandits]
        self.replica.drop(gone)
        return outcome

    patch.setattr(Endpoint, "begin", changed)


@variant("an observation is counted in another segment", first_seed=5)
def _(patch: pytest.MonkeyPatch) -> None:
    observe = Replica.observe

    def changed(self: Replica, tallies: Iterable[ArmTally], numbers: Any = (), at: At = ("", "")) -> None:
        observe(self, tallies, numbers, (at[0], ""))

    patch.setattr(Replica, "observe", changed)


@variant("an observation is counted in another bandit", first_seed=8)
def _(patch: pytest.MonkeyPatch) -> None:
    observe = Endpoint.observe

    def changed(
        self: Endpoint, tallies: Any, now: float, settled: Any = (), elsewhere: Iterable[Placed] = ()
    ) -> Outcome:
        first = min(self.members.bandits, default="")
        moved = {(first or one.bandit, one.segment): one._replace(bandit=first or one.bandit) for one in elsewhere}
        return observe(self, tallies, now, settled, tuple(moved.values()))

    patch.setattr(Endpoint, "observe", changed)


@variant("two definitions of one bandit are taken to be one", first_seed=8)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(members, "difference", lambda _mine, _theirs: None)


@variant("what is observed does not fade", first_seed=18)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Learner, "turn", lambda self, present: setattr(self, "_present", present))


@variant("a period that has begun elsewhere is passed over", first_seed=13)
def _(patch: pytest.MonkeyPatch) -> None:
    counts = Calendar.counts

    def changed(self: Calendar, told: Cells) -> bool:
        return counts(self, told) and told.period <= self._periods[told.bandit]

    patch.setattr(Calendar, "counts", changed)


@variant("more arms of a bandit are not said to others", first_seed=15)
def _(patch: pytest.MonkeyPatch) -> None:
    serve = members.Members.serve

    def changed(self: members.Members, bandits: Iterable[Bandit]) -> None:
        before = self.bandits
        serve(self, [before.get(one.name, one) for one in bandits])

    patch.setattr(members.Members, "serve", changed)


TRIED = 10
"""How many seeds are tried, from the first that noticed once; if none does, all up to the last."""

LAST_SEED = 200


@pytest.mark.parametrize("name", VARIANTS)
def test_the_swarm_notices_that(name: str) -> None:
    change, first = VARIANTS[name]
    seeds = (*range(first, first + TRIED), *range(first), *range(first + TRIED, LAST_SEED))
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        assert any(_is_caught(seed) for seed in seeds if world_of(seed).bandits), f"nobody noticed that {name}"


def _is_caught(seed: int) -> bool:
    verdicts = []
    with contextlib.suppress(CobanditError, AssertionError):
        verdicts.append(run_seed(seed))
    return not verdicts or bool(verdicts[0].violations)
