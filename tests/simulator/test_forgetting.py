"""Windows and half-lives over a whole fleet: what counts, that it counts once, and what it is good for."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cobandit import Geometric, LocalError, Policy, immediate, on_demand, silent
from cobandit.protocols import plug_in
from cobandit.protocols.gossip import Gossip
from cobandit.scenario import (
    AgentSpec,
    Arms,
    Beta,
    BuiltIn,
    Faults,
    Forgetting,
    Graph,
    Kind,
    Rate,
    Relays,
    Row,
    Scenario,
    Slots,
    Switches,
    read_scenario,
    scenario_to_toml,
)
from cobandit.scenario.words import scenario_in_words
from cobandit.simulator import run
from cobandit.simulator.reference import ReferenceRun
from cobandit.simulator.trials import engine_for
from cobandit.values.tally import Arm

AGENTS = (AgentSpec(Rate(0.6)), AgentSpec(Rate(0.3)), AgentSpec(Rate(0.05)))
WORLD = Scenario(400, Arms.of([0.3, 0.6]), AGENTS, BuiltIn("thompson"), immediate(), forgetting=Forgetting(window=100))


class Reader(Policy):
    """Pulls the first arm, and is there to be read."""

    def select_arm(self) -> Arm:
        return self.candidates[0]


def reader(arms: Sequence[Arm], _: int) -> Reader:
    return Reader(arms, quantum=1.0)


def known_at_each_slot(world: Scenario) -> dict[int, list[int]]:
    """Return how many observations each agent counts, at the end of each slot in which anything happens."""
    known: dict[int, list[int]] = {}

    def watch(engine: ReferenceRun) -> None:
        known[engine.slot] = [agent.policy.tally.observations for agent in engine.agents]

    run(world, seed=1, watch=watch)
    return known


def test_a_policy_reads_what_lies_in_the_window_and_each_observation_once() -> None:
    every = (AgentSpec(Rate(1.0)), AgentSpec(Slots((5, 95, 300))))
    world = replace(WORLD, agents=every, policy=reader)
    made = sorted([*range(400), 5, 95, 300])
    for slot, (fast, slow) in known_at_each_slot(world).items():
        first = 10 * (slot // 10 - 9)  # periods of ten slots: this one, and nine before it
        expected = sum(first <= one <= slot for one in made)
        assert fast == expected
        assert slow in (expected, expected - 1)  # while a message to it is under way inside the slot


def test_nobody_sends_anything_to_forget() -> None:
    alone = replace(WORLD, sharing=silent())
    assert run(alone, seed=1).messages == 0


def test_what_is_half_a_life_old_counts_half() -> None:
    world = replace(
        WORLD, agents=(AgentSpec(Slots((*range(100), 199))),), policy=reader, forgetting=Forgetting(half_life=100)
    )
    known = known_at_each_slot(world)
    assert known[24] == [25]
    assert known[199][0] == pytest.approx(1 + sum(25 * 2 ** (-age / 4) for age in (4, 5, 6, 7)), abs=2)


def test_a_window_that_nothing_leaves_changes_no_choice() -> None:
    world = replace(WORLD, sharing=on_demand())
    wide: list[Row] = []
    plain: list[Row] = []
    run(replace(world, forgetting=Forgetting(window=100_000)), seed=3, trace=wide)
    run(replace(world, forgetting=None), seed=3, trace=plain)
    assert wide == plain


@pytest.mark.parametrize("policy", ["ucb", "kl-ucb", "ucb-v", "thompson", "normal-thompson"])
@pytest.mark.parametrize("forgetting", [Forgetting(window=250), Forgetting(half_life=120)], ids=["window", "half-life"])
def test_every_policy_follows_a_best_arm_that_changes(policy: str, forgetting: Forgetting) -> None:
    """One trial of 2,000 slots each: of the last quarter most pulls are of the arm that has become the best."""
    arms = Arms.of([0.9, 0.1], changes=Switches(((1_000, (0.1, 0.9)),)))
    alpha = None if policy.endswith("thompson") else 0.5
    world = Scenario(
        2_000, arms, AGENTS, BuiltIn(policy, alpha), on_demand(Geometric(2, cap=16)), forgetting=forgetting
    )
    result = run(world, seed=2, checkpoints=(1_500,))
    late = (result.pulls - result.pulls_at[0]).sum(axis=0)
    assert late[1] > 0.8 * late.sum()


def test_a_windowed_fleet_loses_less_where_the_best_arm_changes() -> None:
    """The means of 3 trials: without a window more than twice as much is lost."""
    arms = Arms.of([0.9, 0.5, 0.1], changes=Switches(((1_500, (0.1, 0.5, 0.9)),)))
    world = Scenario(2_500, arms, AGENTS, BuiltIn("thompson"), on_demand(), forgetting=Forgetting(window=300))

    def lost(one: Scenario) -> float:
        return statistics.fmean(run(one, seed=1, trial=trial).dynamic_regret for trial in range(3))

    assert lost(world) < lost(replace(world, forgetting=None)) / 2


@pytest.mark.parametrize(
    "change",
    [
        {"delay": 7},
        {"topology": Relays(2)},
        {"topology": Graph(((0, 1), (1, 2)))},
        {"sharing": on_demand(loss_tolerant=True), "faults": Faults(loss=0.3, duplication=0.2, jitter=5)},
        {"arms": Arms.of([0.3, 0.6], pays=Beta(2.0), rewards=(-1, 1))},
    ],
    ids=["delay", "relays", "graph", "loss", "rewards"],
)
def test_nothing_counts_twice_in_any_network(change: dict[str, object]) -> None:
    result = run(replace(WORLD, **change), seed=5)  # type: ignore[arg-type]  # the engine raises if anybody knows too much
    assert result.lacking >= 0
    assert result.shares > 0


def test_a_share_may_tell_nothing_when_all_that_was_buffered_has_left_the_window() -> None:
    agents = (AgentSpec(Slots((0, 390, 395))), AgentSpec(Slots((1, 100, 200, 300, 394))))
    world = replace(WORLD, agents=agents, policy=reader, sharing=on_demand(), forgetting=Forgetting(window=10))
    trace: list[Row] = []
    run(world, seed=1, trace=trace)
    answers = [(row.slot, row.b) for row in trace if (row.kind, row.agent) == (Kind.SHARE, 1)]
    assert (390, 3) in answers  # three observations, of slots 100 to 300: none of them counts any more
    assert engine_for(world, "auto") == "reference"  # because the policy is one of our own


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (Forgetting, "give one of the two"),
        (lambda: Forgetting(window=5, half_life=5.0), "give one of the two"),
        (lambda: Forgetting(window=0), "window must be a whole number from 1 to"),
        (lambda: Forgetting(half_life=0.0), "half_life must be a positive number"),
        (lambda: replace(WORLD, forgetting=80), "must be Forgetting"),  # type: ignore[arg-type]
        (
            lambda: replace(WORLD, policy=BuiltIn("aae")),
            "AAE rules arms out for good, and such an arm is never observed again: with a window",
        ),
        (lambda: replace(WORLD, sharing=plug_in(Gossip)), "is a plug-in, which keeps no periods"),
    ],
)
def test_what_cannot_be_is_refused(build: object, told: str) -> None:
    with pytest.raises(LocalError, match=told):
        build()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("written", "found"),
    [("window = 80", Forgetting(window=80)), ("half_life = 40.5", Forgetting(half_life=40.5)), ("alpha = 1.0", None)],
)
def test_a_file_says_it_beside_the_policy(tmp_path: Path, written: str, found: Forgetting | None) -> None:
    file = tmp_path / "world.toml"
    begin = "horizon = 100\n[arms]\nmeans = [0.5]\n[[agents]]\nrate = 1.0\n[policy]\n"
    file.write_text(f"{begin}{written}\n", encoding="utf-8")
    world = read_scenario(file).scenario
    assert world.forgetting == found
    file.write_text(scenario_to_toml(world), encoding="utf-8")
    assert read_scenario(file).scenario.forgetting == found


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("[policy]\nwindow = 0", "policy.window must be a whole number from 1 to"),
        ("[policy]\nwindow = 7.5", "policy.window must be a whole number"),
        ("[policy]\nhalf_life = -1", "policy.half_life must be a positive number"),
        ("[policy]\nwindow = 5\nhalf_life = 5", "policy needs exactly one of window, half_life, but has"),
        ("[policy]\nwidow = 5", "policy.widow = 5 is not a key"),
        ('[[agents]]\nrate = 1.0\npolicy = { name = "ucb", window = 5 }', "all agents have one window, written in"),
    ],
)
def test_a_file_that_cannot_be_is_refused_with_the_key(tmp_path: Path, written: str, told: str) -> None:
    file = tmp_path / "world.toml"
    file.write_text(f"horizon = 100\n[arms]\nmeans = [0.5]\n[[agents]]\nrate = 1.0\n{written}\n", encoding="utf-8")
    with pytest.raises(LocalError, match=told):
        read_scenario(file)


def test_words_tell_it() -> None:
    assert "They choose by Thompson sampling, from the last 100 slots." in scenario_in_words(WORLD)
    faded = scenario_in_words(replace(WORLD, forgetting=Forgetting(half_life=40.0)))
    assert "They choose by Thompson sampling; observations 40 slots old count half." in faded
