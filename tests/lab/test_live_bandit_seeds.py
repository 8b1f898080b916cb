"""Live fleets of bandits with names in which everything goes wrong; and broken variants that they must notice."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cobandit.agent import Agent
from cobandit.agent import agent as agent_module
from cobandit.core import credibility, members, snapshots
from cobandit.core.calendar import Calendar
from cobandit.core.places import At, Change, Placed
from cobandit.learning import Build, Learners
from cobandit.live.decide.common import Report, Settled
from cobandit.live.decide.decision import read
from cobandit.live.decide.taken import Taken
from cobandit.live.drive import member as member_module
from cobandit.live.machine import knowledge
from cobandit.live.machine import machine as machine_module
from cobandit.live.machine.bandits import Bandits, Declared
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.rewarding import take_reward
from cobandit.live.machine.serving import Serving
from cobandit.live.machine.settling import Settling
from cobandit.values.errors import LocalError, NotNowError
from cobandit.values.tally import ArmTally
from lab.live_swarm.bandit_worlds import bandit_plan
from lab.live_swarm.plan import Kind
from lab.live_swarm.running import run_seed

SEEDS, CHUNK = 15, 5
Break = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_fleet_of_bandits_violates_an_invariant(first: int) -> None:
    verdicts = [run_seed(seed, plan_of=bandit_plan) for seed in range(first, first + CHUNK)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}


def test_the_same_seed_does_the_same_again() -> None:
    assert run_seed(2, plan_of=bandit_plan) == run_seed(2, plan_of=bandit_plan)


def test_these_fleets_have_everything_in_them() -> None:
    plans = [bandit_plan(seed) for seed in range(SEEDS)]
    kinds = {incident.kind for plan in plans for incident in plan.incidents}
    assert kinds == set(Kind) - {Kind.REMOVE_ARM}
    said = [definition for plan in plans for definition in plan.bandits]
    assert {(one.window is None, one.half_life is None) for one in said} == {(True, True), (False, True), (True, False)}
    assert any(len({member.definitions for member in plan.members}) > 1 for plan in plans)
    assert {bool(plan.leaves) for plan in plans} == {plan.declares_again for plan in plans} == {True, False}


def _a_period_is_dropped_too_early(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Calendar, bandit: str, period: int) -> bool:
        return period <= self._periods[bandit] - max(1, self.bandits[bandit].periods - 1)

    patch.setattr(Calendar, "is_over", changed)


def _a_period_is_counted_twice_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    declare = Learners.declare

    def changed(self: Learners, bandit: str, build: Build, known: Iterable[Change]) -> None:
        all_known = list(known)
        earlier = [one for one in all_known if one.bandit == bandit and one.period < self._period_of(bandit)]
        declare(self, bandit, build, all_known + earlier)

    patch.setattr(Learners, "declare", changed)


def _a_restart_does_not_know_what_time_it_was(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agent_module, "state", lambda endpoint: snapshots.state(endpoint)._replace(time=0.0))


def _absorbing(patch: pytest.MonkeyPatch, moved: Callable[[Agent, Placed], Placed]) -> None:
    def changed(agent: Agent, settled: Iterable[Settled], reports: Iterable[Report]) -> dict[At, tuple[ArmTally, ...]]:
        found = knowledge.placed_of(agent, settled, reports)
        placed = (moved(agent, Placed(*at, tallies)) for at, tallies in found.items())
        return {(one.bandit, one.segment): one.tallies for one in placed}

    patch.setattr(machine_module, "placed_of", changed)


def _rewards_are_counted_in_another_bandit(patch: pytest.MonkeyPatch) -> None:
    _absorbing(patch, lambda agent, one: one._replace(bandit=min(bandit.name for bandit in agent.bandits)))


def _rewards_are_counted_in_another_segment(patch: pytest.MonkeyPatch) -> None:
    _absorbing(patch, lambda _, one: one._replace(segment=""))


def _a_bandit_that_is_not_declared_loses_its_cells(patch: pytest.MonkeyPatch) -> None:
    declare = Bandits.declare

    def changed(self: Bandits, declared: Declared, open_decisions: OpenDecisions) -> None:
        declare(self, declared, open_decisions)
        replica = self._agent.endpoint.replica
        replica.drop([key for key, _ in replica.cells() if key.bandit not in self.declared])

    patch.setattr(Bandits, "declare", changed)


def _a_reward_counts_at_another_member_too(patch: pytest.MonkeyPatch) -> None:
    def changed(machine: Machine, token: str, reward: float) -> Taken:
        taken, claim = take_reward(machine, token, reward), read(token)
        if taken is Taken.ON_ITS_WAY and machine.decider.knows(claim.arm):
            machine.decider.add_unrecorded(claim.number, claim.arm, machine.decider.units(reward, claim.arm))
        return taken

    patch.setattr(member_module, "take_reward", changed)


def _a_reward_for_a_bandit_that_will_be_declared_is_thrown_away(patch: pytest.MonkeyPatch) -> None:
    settle_token = Settling.settle_token

    def changed(self: Settling, token: str, reward: float) -> Taken:
        try:
            return settle_token(self, token, reward)
        except NotNowError:
            return Taken.GIVEN_UP

    patch.setattr(Settling, "settle_token", changed)


def _two_definitions_of_one_bandit_are_taken_to_be_one(patch: pytest.MonkeyPatch) -> None:
    for module in (members, credibility):
        patch.setattr(module, "difference", lambda _mine, _theirs: None)


def _nobody_is_told_which_value_differs(patch: pytest.MonkeyPatch) -> None:
    compare = Serving.compare

    def changed(self: Serving, sender: str, bandits: Any) -> None:
        if self._is_relay:
            compare(self, sender, bandits)

    patch.setattr(Serving, "compare", changed)


VARIANTS: dict[str, tuple[Break, int, str]] = {
    "a period is dropped too early": (_a_period_is_dropped_too_early, 0, "of its own"),
    "a period is counted twice after a restart": (
        _a_period_is_counted_twice_after_a_restart,
        0,
        "but its parts add up to",
    ),
    "a restart does not know what time it was": (_a_restart_does_not_know_what_time_it_was, 0, "cannot be started"),
    "rewards are counted in another bandit": (_rewards_are_counted_in_another_bandit, 7, "who has written 0"),
    "rewards are counted in another segment": (_rewards_are_counted_in_another_segment, 1, "who has written 0"),
    "a bandit that is not declared loses its cells": (_a_bandit_that_is_not_declared_loses_its_cells, 9, "of its own"),
    "a reward counts at another member too": (_a_reward_counts_at_another_member_too, 0, "which nobody made"),
    "a reward for a bandit that will be declared is lost": (
        _a_reward_for_a_bandit_that_will_be_declared_is_thrown_away,
        21,
        "though its reward was taken",
    ),
    "two definitions are taken to be one": (
        _two_definitions_of_one_bandit_are_taken_to_be_one,
        11,
        "who means another bandit",
    ),
    "nobody is told which value differs": (_nobody_is_told_which_value_differs, 6, "was not told"),
}
"""Each with the first seed that notices, and a part of what is said then."""

TRIED = 5
"""Seeds that are tried from there on."""


@pytest.mark.parametrize("name", VARIANTS)
def test_a_broken_variant_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, first, clue = VARIANTS[name]
    change(monkeypatch)
    said: list[str] = []
    for seed in range(first, first + TRIED):
        try:
            said += run_seed(seed, plan_of=bandit_plan).violations
        except LocalError as error:
            said.append(str(error))
        if said:
            break
    assert any(clue in sentence for sentence in said), said[:3]
