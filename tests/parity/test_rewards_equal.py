"""The engines are equal whatever arms pay and however their means change: the same traces and counts, to the bit."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.parity.test_kernel_equals_reference import (
    EXAMPLES,
    HORIZON,
    check_both_tell_the_same,
    connected_worlds,
    faulty_worlds,
    worlds,
)

from cobandit.protocols import plug_in
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.scenario import Absence, AgentSpec, Arms, BuiltIn, Faults, Forgetting, Rate, Relays, Scenario
from cobandit.scenario.changes import Changes, Linear, Sinusoid, Switches, Walk
from cobandit.scenario.paying import Bernoulli, Beta, Discrete, Normal, OwnReward, Pay, Replay
from cobandit.simulator import kernel, reference
from cobandit.simulator.trials import engine_for
from cobandit.values.errors import LocalError
from cobandit.values.reward_range import RewardRange


def skewed(luck: float, slot: int, mean: float) -> float:
    return mean * math.exp(-0.001 * slot) * luck


ranges = st.sampled_from([RewardRange(), RewardRange(-1.0, 5.0), RewardRange(0.0, 200.0), RewardRange(-3.0, -1.0)])
by_mean: st.SearchStrategy[Pay] = st.one_of(
    st.just(Bernoulli()),
    st.builds(Beta, st.sampled_from([0.05, 1.0, 4.0, 50.0])),
    st.builds(Normal, st.sampled_from([0.01, 0.3, 2.0])),
)


def moved_into(arms: Arms, rewards: RewardRange) -> tuple[float, ...]:
    return tuple(rewards.reward_of(mean) for mean in arms.means)


@st.composite
def changes_of(draw: st.DrawFn, means: tuple[float, ...], rewards: RewardRange) -> Changes:
    """Any way in which these means can change without leaving the range."""
    turned = (*means[1:], means[0])
    near = tuple(0.99 * min(rewards.high - mean, mean - rewards.low) for mean in means)
    return draw(
        st.one_of(
            st.sets(st.integers(0, HORIZON + 9), min_size=1, max_size=3).map(
                lambda slots: Switches(tuple((slot, turned) for slot in sorted(slots)))
            ),
            st.builds(Linear, st.just(turned), st.integers(0, 50), st.sampled_from([None, 60, 300]), st.just(7)),
            st.builds(Sinusoid, st.just(near), st.sampled_from([13.0, 90.0]), st.none(), st.sampled_from([None, 5])),
            st.builds(Walk, st.just(0.1 * rewards.width), st.sampled_from([None, 3]), st.integers(0, 5)),
        )
    )


@st.composite
def other_arms(draw: st.DrawFn, arms: Arms) -> Arms:
    """Arms that pay in any way, with means that may change."""
    rewards = draw(ranges)
    means = moved_into(arms, rewards)
    if draw(st.booleans()):
        changes = draw(changes_of(means, rewards)) if draw(st.booleans()) else None
        pays = tuple(draw(by_mean) for _ in means)
        return Arms(arms.names, means, rewards, pays, changes)
    low, middle, high = rewards.low, rewards.reward_of(0.3), rewards.high
    by_value: st.SearchStrategy[Discrete | Replay] = st.sampled_from(
        [
            Discrete((low, middle, high), (0.2, 0.5, 0.3)),
            Discrete((middle,), (1.0,)),
            Replay((low, high, middle, middle)),
        ]
    )
    return Arms.paying([draw(by_value) for _ in means], arms.names, rewards=rewards)


@st.composite
def paying_worlds(draw: st.DrawFn) -> Scenario:
    world = draw(st.one_of(worlds(), faulty_worlds()))
    return replace(world, arms=draw(other_arms(world.arms)))


@st.composite
def changing_worlds(draw: st.DrawFn) -> Scenario:
    """Worlds with relays or on a graph: two rewards, of any range, and means that change."""
    world, rewards = draw(connected_worlds()), draw(ranges)
    means = moved_into(world.arms, rewards)
    return replace(world, arms=Arms(world.arms.names, means, rewards, changes=draw(changes_of(means, rewards))))


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(world=paying_worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_the_kernel_pays_the_same(world: Scenario, seed: int, trial: int) -> None:
    check_both_tell_the_same(world, seed, trial)


@settings(max_examples=EXAMPLES // 4, deadline=None, derandomize=True)
@given(world=changing_worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_means_change_alike_with_relays_and_on_graphs(world: Scenario, seed: int, trial: int) -> None:
    check_both_tell_the_same(world, seed, trial)


AGENTS = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.2)))


def test_a_function_of_the_user_s_pays_the_same_in_both_engines() -> None:
    arms = Arms.of([20.0, 180.0], rewards=(0, 200), pays=OwnReward(skewed), changes=Walk(3.0))
    world = Scenario(400, arms, AGENTS)
    assert engine_for(world, "auto") == "compiled"
    check_both_tell_the_same(world, seed=5, trial=1)


def test_a_function_that_leaves_the_range_is_told_alike_by_both_engines() -> None:
    world = Scenario(400, Arms.of([0.5, 0.5], pays=OwnReward(too_much)), AGENTS)
    told = []
    for run in (reference.run, kernel.run):
        with pytest.raises(LocalError, match=r"reward function of arm '\d' returned 1\.\d+, but .* \[0, 1\]") as caught:
            run(world, seed=1)
        told.append(str(caught.value))
    assert told[0] == told[1]


def too_much(luck: float, slot: int, mean: float) -> float:
    return mean + luck + 0 * slot


@pytest.mark.parametrize(
    "unfit", [{"topology": Relays(2)}, {"sharing": plug_in(PeriodicHub, period=3)}], ids=["relays", "plug-in"]
)
def test_many_rewards_with_relays_or_a_plug_in_are_left_to_the_readable_engine(unfit: dict[str, object]) -> None:
    world = Scenario(200, Arms.of([0.2, 0.7], pays=Beta(3.0)), AGENTS, **unfit)  # type: ignore[arg-type]
    assert engine_for(world, "auto") == "reference"
    with pytest.raises(LocalError, match="knows two rewards, the lowest and the highest: use the readable engine"):
        kernel.run(world, seed=1)
    assert reference.run(world, seed=1).rewards.sum() > 0.0


@st.composite
def forgetful_worlds(draw: st.DrawFn) -> Scenario:
    """Worlds with a window, in which agents stay."""
    world = draw(worlds())
    policy = world.policy
    if isinstance(policy, BuiltIn) and policy.name == "aae":
        policy = BuiltIn("ucb", policy.alpha, policy.confidence)
    if draw(st.booleans()):
        world = replace(world, arms=draw(other_arms(world.arms)))
    agents = tuple(replace(agent, absences=()) for agent in world.agents)
    window = draw(st.sampled_from([1, 3, 8, 20, 44, 77, 1_000]))
    return replace(world, agents=agents, policy=policy, forgetting=Forgetting(window=window))


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(world=forgetful_worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_the_kernel_forgets_the_same(world: Scenario, seed: int, trial: int) -> None:
    check_both_tell_the_same(world, seed, trial)


@pytest.mark.parametrize(
    ("unfit", "told"),
    [
        ({"forgetting": Forgetting(half_life=20)}, "knows a window, and no half_life"),
        ({"topology": Relays(2)}, "knows a mesh of agents that stay, on a network without faults"),
        ({"faults": Faults(loss=0.1)}, "knows a mesh of agents that stay, on a network without faults"),
        ({"agents": (AgentSpec(Rate(0.5), absences=(Absence(9),)),)}, "knows a mesh of agents that stay"),
        ({"arms": Arms.of([0.5] * 600)}, "takes fewer arms"),
    ],
)
def test_other_windows_are_left_to_the_readable_engine(unfit: dict[str, object], told: str) -> None:
    world = replace(Scenario(200, Arms.of([0.2, 0.7]), AGENTS, forgetting=Forgetting(window=80)), **unfit)  # type: ignore[arg-type]
    assert engine_for(world, "auto") == "reference"
    with pytest.raises(LocalError, match=told):
        kernel.run(world, seed=1)
