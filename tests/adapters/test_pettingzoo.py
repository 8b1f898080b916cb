"""A scenario as an environment of PettingZoo: its own tests pass, and a run in it is the simulator's, pull by pull."""

from dataclasses import replace

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils import parallel_to_aec

import cobandit
from cobandit import LocalError, silent
from cobandit.adapters.pettingzoo import ScenarioEnv
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Halving,
    OnOff,
    Rate,
    Scenario,
    Sine,
    Slots,
    Tape,
    scenario_to_toml,
)
from cobandit.simulator import Result, kernel, run

WORLD = Scenario(400, Arms.of([0.2, 0.5, 0.8]), (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.2)), AgentSpec(Rate(0.02))))
MIXED = Scenario(
    600,
    Arms(("A", "B", "C", "D"), (0.3, 0.6, 0.5, 0.1)),
    (
        AgentSpec(Rate(0.5), arms=("A", "B", "C")),
        AgentSpec(Halving(0.5), start=100, stop=500),
        AgentSpec(Sine(1.0), arms=("D", "B")),
        AgentSpec(OnOff(0.9, 0.01)),
        AgentSpec(Slots((0, 7, 7 + 13, 599))),
        AgentSpec(Rate(0.4), absences=(Absence(50, 200), Absence(300))),
        AgentSpec(Rate(0.0)),
    ),
    BuiltIn("ucb", alpha=2.0),
    silent(),
)


def played(env: ScenarioEnv, world: Scenario, *, seed: int, trial: int) -> Result:
    """Play with the scenario's own policies, and return what came of it as the simulator does."""
    tape = Tape(seed, trial)
    policies = {
        agent: world.policy(world.arms_of(position), tape.policy_seed(position))
        for position, agent in enumerate(env.possible_agents)
    }
    sights, _ = env.reset(seed=seed, options={"trial": trial})
    names = world.arms.names
    while env.agents:
        arms = {agent: policies[agent].select_arm() for agent in env.agents if sights[agent]["observation"][0]}
        passes = dict.fromkeys(env.agents, len(names))
        sights, rewards, *_ = env.step({**passes, **{agent: names.index(arm) for agent, arm in arms.items()}})
        for agent, arm in arms.items():
            policies[agent].update(arm, rewards[agent])
    ref = run(replace(world, sharing=silent()), seed=seed, trial=trial)
    return replace(ref, pulls=env.pulls.copy(), rewards=env.rewards.copy())


@pytest.mark.parametrize("world", [WORLD, MIXED], ids=["rates", "mixed"])
@pytest.mark.parametrize("policy", ["ucb", "kl-ucb", "thompson"])  # AAE tells of eliminations even when silent
def test_a_rollout_is_the_simulators_run_without_communication(world: Scenario, policy: str) -> None:
    world = replace(world, policy=BuiltIn(policy))
    env = ScenarioEnv(world)
    for seed, trial in ((1, 0), (1, 3), (7, 0)):
        got = played(env, world, seed=seed, trial=trial)
        assert got.pulls.sum() > 100
        assert got == run(replace(world, sharing=silent()), seed=seed, trial=trial)
        assert got == kernel.run(replace(world, sharing=silent()), seed=seed, trial=trial)


def test_regret_is_that_of_simulate() -> None:
    env = ScenarioEnv(WORLD)
    results = cobandit.simulate(replace(WORLD, sharing=silent()), trials=3, seed=5)
    regrets = [played(env, WORLD, seed=5, trial=trial).regrets for trial in range(3)]
    assert results.agents["regret"].tolist() == [regret for trial in regrets for regret in trial]


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # of the test itself, about images and float64
@pytest.mark.parametrize("world", [WORLD, MIXED], ids=["rates", "mixed"])
def test_it_passes_the_tests_of_pettingzoo(world: Scenario) -> None:
    parallel_api_test(ScenarioEnv(world), num_cycles=700)
    parallel_seed_test(lambda: ScenarioEnv(WORLD), num_cycles=100)
    api_test(parallel_to_aec(ScenarioEnv(world)), num_cycles=50)
    seed_test(lambda: parallel_to_aec(ScenarioEnv(world)), num_cycles=50)


def test_observations_are_in_their_space_and_say_what_is_known() -> None:
    env = ScenarioEnv(MIXED)
    sights, infos = env.reset(seed=3)
    for _ in range(200):
        for agent in env.agents:
            space = env.observation_space(agent)
            assert space.contains(sights[agent])
            position, active = int(agent), infos[agent]["active"]
            seen = [float(active), *map(float, env.pulls[position]), *map(float, env.rewards[position])]
            assert sights[agent]["observation"].tolist() == seen
            own = [int(name in MIXED.arms_of(position)) for name in MIXED.arms.names]
            assert sights[agent]["action_mask"].tolist() == ([*own, 0] if active else [0, 0, 0, 0, 1])
        actions = {agent: int(np.argmax(sights[agent]["action_mask"])) for agent in env.agents}
        sights, _, _, _, infos = env.step(actions)
    assert env.state().shape == (7 * 9,)


def test_without_a_seed_the_next_trial_follows() -> None:
    env, other = ScenarioEnv(WORLD, seed=5), ScenarioEnv(WORLD)
    slots = []
    for _ in range(3):
        _, infos = env.reset()
        slots.append([agent for agent in env.agents if infos[agent]["active"]] + [env.slot])
    again = []
    for trial in range(3):
        _, infos = other.reset(seed=5, options={"trial": trial})
        again.append([agent for agent in other.agents if infos[agent]["active"]] + [other.slot])
    assert slots == again


def test_an_agent_that_is_not_active_does_nothing_and_one_that_is_may_pass() -> None:
    world = Scenario(10, Arms.of([1.0, 1.0]), (AgentSpec(Slots((2, 3))), AgentSpec(Slots((3, 4)))))
    env = ScenarioEnv(world)
    env.reset(seed=1)
    assert env.slot == 2
    _, rewards, *_ = env.step({"0": 1, "1": 0})
    assert (env.slot, rewards, env.pulls.tolist()) == (3, {"0": 1.0, "1": 0.0}, [[0, 1], [0, 0]])
    _, rewards, *_ = env.step({"0": 2, "1": 0})
    assert (env.slot, rewards, env.pulls.tolist()) == (4, {"0": 0.0, "1": 1.0}, [[0, 1], [1, 0]])
    _, _, terminations, truncations, _ = env.step({"0": 2, "1": 0})
    assert (terminations, truncations) == ({"0": False, "1": False}, {"0": True, "1": True})
    assert env.agents == []


@pytest.mark.parametrize(("actions", "words"), [({}, "is to decide"), ({"0": 5}, "0 to 4"), ({"0": 3}, "action mask")])
def test_what_an_active_agent_cannot_do_is_refused_and_changes_nothing(actions: dict[str, int], words: str) -> None:
    env = ScenarioEnv(replace(MIXED, agents=(AgentSpec(Rate(1.0), arms=("A", "B", "C")),)))
    env.reset(seed=1)
    with pytest.raises(LocalError, match=words):
        env.step(actions)
    assert (env.slot, env.pulls.sum()) == (0, 0)


def test_a_scenario_file_is_a_world_too(tmp_path: object) -> None:
    path = f"{tmp_path}/world.toml"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(scenario_to_toml(WORLD))
    env, ref = ScenarioEnv(path), ScenarioEnv(WORLD)
    assert [env.reset(seed=4)[1], env.scenario.arms] == [ref.reset(seed=4)[1], WORLD.arms]
