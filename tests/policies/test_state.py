"""Policies of one's own with state: rebuilt from tallies and state, and what breaks that promise is found."""

from collections.abc import Sequence
from typing import Any

import pytest

from cobandit import Agent, LocalError, Policy, immediate
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Rate, Scenario, scenario_to_toml
from cobandit.simulator import kernel, run
from cobandit.simulator.trials import engine_for
from cobandit.testing import check_policy
from cobandit.values.tally import Arm, ArmTally


class Sticky(Policy):
    """Stays with an arm until it has paid less than half three times: the times are its state."""

    stateful = True

    def __init__(self, arms: Sequence[Arm], *, limit: int = 3, quantum: float = 1e-6) -> None:
        super().__init__(arms, quantum=quantum)
        self.limit = limit
        self.failures = 0

    def select_arm(self) -> Arm:
        return self.candidates[self.failures // self.limit % len(self.candidates)]

    def noticed(self, tallies: Sequence[ArmTally], *, own: bool) -> None:
        for _, count, units, _ in tallies if own else ():
            self.failures += 2 * units < count * self.quantum.per_reward

    def state(self) -> dict[str, Any]:
        return {"failures": self.failures}

    def set_state(self, state: dict[str, Any]) -> None:
        self.failures = state["failures"]


class Secretive(Sticky):
    stateful = True

    def state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        assert state == {}


class Silent(Sticky):
    stateful = False

    def update_units(self, arm: Arm, units: int) -> None:
        super().update_units(arm, units)
        self.noticed((ArmTally(arm, 1, units, 0),), own=True)


class Unwritable(Sticky):
    def state(self) -> dict[str, Any]:
        return {"failures": {self.failures}}


class NotPlain(Sticky):
    def state(self) -> dict[str, Any]:
        return {"failures": self.failures, "arms": tuple(self.arms)}


class Restless(Sticky):
    def select_arm(self) -> Arm:
        arm = super().select_arm()
        self.failures += self.limit * len(self.candidates)
        return arm


def test_a_policy_with_state_keeps_its_promises() -> None:
    check_policy(Sticky)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (Secretive, "rebuilt from its tallies and its state, the policy chose"),
        (Silent, "a policy with state says so: stateful = True"),
        (Unwritable, "the state cannot be written as JSON"),
        (NotPlain, "is not plain"),
        (Restless, "select_arm changed the state: change it in noticed"),
    ],
)
def test_what_breaks_the_promise_is_found(build: type[Policy], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_policy(build)


def test_state_hears_of_own_pulls_and_of_others() -> None:
    heard: list[tuple[tuple[ArmTally, ...], bool]] = []

    class Listening(Sticky):
        def noticed(self, tallies: Sequence[ArmTally], *, own: bool) -> None:
            heard.append((tuple(tallies), own))

    j, p = Agent("j", Listening(["A"], quantum=1.0), immediate()), Agent("p", Sticky(["A"], quantum=1.0), immediate())
    for one, other in ((j, p), (p, j)):
        one.peer_joined(other.name, other.arms)
    j.update("A", 1.0)
    for message in p.update("A", 0.0).outgoing:
        j.receive(message)
    assert heard == [((ArmTally("A", 1, 1, 1),), True), ((ArmTally("A", 1, 0, 0),), False)]


def build(arms: Sequence[Arm], _: int, limit: int = 3) -> Sticky:
    return Sticky(arms, limit=limit)


def test_every_agent_may_have_settings_of_its_own() -> None:
    agents = (AgentSpec(Rate(1.0), settings={"limit": 1}), AgentSpec(Rate(1.0)), AgentSpec(Rate(1.0)))
    world = Scenario(60, Arms.of([0.0, 1.0]), agents, policy=build)
    assert engine_for(world, "auto") == "reference"
    assert run(world, seed=1).pulls.tolist() == [[1, 59], [3, 57], [3, 57]]
    assert agents[0] == AgentSpec(Rate(1.0), settings=(("limit", 1),))


def test_settings_that_nobody_takes_are_refused() -> None:
    agents = (AgentSpec(Rate(1.0), settings={"limits": 1}),)
    with pytest.raises(LocalError, match=r"the policy of agent 0 cannot be built with {'limits': 1}: .*unexpected"):
        run(Scenario(10, Arms.of([0.5]), agents, policy=build), seed=1)
    built_in = Scenario(10, Arms.of([0.5]), agents, BuiltIn("ucb"))
    with pytest.raises(LocalError, match="agent 0 has settings, which are for policies of your own"):
        run(built_in, seed=1)
    with pytest.raises(LocalError, match="one policy for all agents: use the readable engine"):
        kernel.run(built_in, seed=1)
    with pytest.raises(LocalError, match=r"agents\[0\].settings is .* a scenario file cannot hold it"):
        scenario_to_toml(built_in)
