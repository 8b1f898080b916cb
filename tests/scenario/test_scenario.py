"""A scenario that cannot be run cannot be written down."""

import pytest

from cobandit import AAE, KLUCB, UCB, Horizon, LocalError, Thompson, immediate, on_demand
from cobandit.scenario import Absence, AgentSpec, Arms, BuiltIn, Rate, Scenario
from cobandit.scenario.scenario import LONGEST_DELAY, LONGEST_HORIZON, MOST_AGENTS

ARMS = Arms(("x", "y", "z"), (0.1, 0.2, 0.3))
ALWAYS = AgentSpec(Rate(1.0))


def test_a_scenario_is_ucb_on_demand_without_delay_unless_told_otherwise() -> None:
    scenario = Scenario(10, ARMS, (ALWAYS,))
    assert (scenario.policy, scenario.sharing, scenario.delay) == (BuiltIn("ucb"), on_demand(), 0)


def test_equal_descriptions_are_equal_scenarios() -> None:
    assert Scenario(10, ARMS, (ALWAYS,), sharing=immediate()) == Scenario(10, ARMS, (ALWAYS,), sharing=immediate())
    assert Scenario(10, ARMS, (ALWAYS,)) != Scenario(11, ARMS, (ALWAYS,))


def test_an_agent_has_all_arms_unless_told_otherwise() -> None:
    scenario = Scenario(10, ARMS, (ALWAYS, AgentSpec(Rate(1.0), arms=("z", "x"))))
    assert [scenario.arms_of(agent) for agent in (0, 1)] == [("x", "y", "z"), ("z", "x")]


@pytest.mark.parametrize("arms", [(), ("x", "x"), "xy", 3])
def test_an_agent_has_a_usable_arm_set(arms: tuple[str, ...]) -> None:
    with pytest.raises(LocalError, match="arm"):
        AgentSpec(Rate(1.0), arms=arms)


@pytest.mark.parametrize("arms", [("w",), ("x", "w")])
def test_an_agent_has_some_arms_of_the_world_once_each(arms: tuple[str, ...]) -> None:
    with pytest.raises(LocalError, match=r"agent 1 has arms .*: name some of x, y, z"):
        Scenario(10, ARMS, (ALWAYS, AgentSpec(Rate(1.0), arms=arms)))


@pytest.mark.parametrize("horizon", [0, -1, 1.5, LONGEST_HORIZON + 1, True])
def test_a_horizon_is_a_whole_number_of_slots(horizon: int) -> None:
    with pytest.raises(LocalError, match=f"horizon must be a whole number from 1 to {LONGEST_HORIZON}, not {horizon}"):
        Scenario(horizon, ARMS, (ALWAYS,))


@pytest.mark.parametrize("delay", [-1, 0.5, LONGEST_DELAY + 1])
def test_a_delay_is_a_whole_number_of_slots(delay: int) -> None:
    with pytest.raises(LocalError, match=f"delay must be a whole number from 0 to {LONGEST_DELAY}, not {delay}"):
        Scenario(10, ARMS, (ALWAYS,), delay=delay)


def test_a_scenario_has_agents_and_not_too_many() -> None:
    for agents in ((), (ALWAYS,) * (MOST_AGENTS + 1)):
        with pytest.raises(LocalError, match=f"the number of agents must be .* not {len(agents)}"):
            Scenario(10, ARMS, agents)


@pytest.mark.parametrize("value", [-1, 1.5, LONGEST_HORIZON + 1])
def test_start_stop_leave_and_rejoin_are_slots(value: int) -> None:
    with pytest.raises(LocalError, match=f"start must be a whole number from 0 to {LONGEST_HORIZON}, not {value}"):
        AgentSpec(Rate(1.0), start=value)
    with pytest.raises(LocalError, match=f"stop must be a whole number from 1 to {LONGEST_HORIZON}, not {value}"):
        AgentSpec(Rate(1.0), stop=value)
    with pytest.raises(LocalError, match=f"leave must be a whole number from 0 to {LONGEST_HORIZON}, not {value}"):
        Absence(value)
    with pytest.raises(LocalError, match=f"rejoin must be a whole number from 0 to {LONGEST_HORIZON}, not {value}"):
        Absence(0, value)


@pytest.mark.parametrize("rejoin", [4, 5])
def test_an_agent_comes_back_after_it_left(rejoin: int) -> None:
    with pytest.raises(LocalError, match=f"an agent that leaves in slot 5 cannot rejoin in slot {rejoin}"):
        Absence(5, rejoin)


@pytest.mark.parametrize("first", [Absence(5), Absence(5, 9)])
def test_an_agent_that_is_away_cannot_leave_again(first: Absence) -> None:
    with pytest.raises(LocalError, match="an agent away since slot 5 cannot leave again in slot 8"):
        AgentSpec(Rate(1.0), absences=(first, Absence(8, 20)))


def test_an_agent_may_leave_in_the_slot_in_which_it_came_back() -> None:
    absences = (Absence(5, 8), Absence(8))
    assert AgentSpec(Rate(1.0), absences=absences).absences == absences


@pytest.mark.parametrize(("name", "kind", "alpha"), [("ucb", UCB, 3.0), ("aae", AAE, 3.0), ("kl-ucb", KLUCB, 1.0)])
def test_a_built_in_policy_is_built_for_rewards_of_zero_or_one(
    name: str, kind: type[UCB | AAE | KLUCB], alpha: float
) -> None:
    policy = BuiltIn(name, confidence=Horizon(9))(["x", "y"], seed=1)
    assert isinstance(policy, kind)
    assert (policy.arms, policy.alpha, policy.confidence, policy.quantum.per_reward) == (
        ("x", "y"),
        alpha,
        Horizon(9),
        1,
    )
    told = BuiltIn(name, alpha=0.5)(["x"], seed=1)
    assert isinstance(told, kind)
    assert (told.alpha, told.confidence) == (0.5, "observed")


def test_a_built_in_thompson_sampler_gets_the_seed_of_its_agent() -> None:
    policy = BuiltIn("thompson")(["x", "y"], seed=77)
    assert isinstance(policy, Thompson)
    assert (policy.seed, policy.quantum.per_reward) == (77, 1)


def test_every_build_is_a_fresh_policy() -> None:
    build = BuiltIn("ucb")
    build(["x"], seed=1).update("x", 1.0)
    assert build(["x"], seed=1).tally.observations == 0


def test_a_policy_has_one_name_however_it_is_spelled() -> None:
    assert BuiltIn("klucb") == BuiltIn("kl-ucb")
    assert BuiltIn("klucb").name == "kl-ucb"


@pytest.mark.parametrize("name", ["exp3", "UCB", ""])
def test_an_unknown_policy_is_refused(name: str) -> None:
    with pytest.raises(
        LocalError, match=f"policy '{name}' is not one of ucb, aae, kl-ucb, ucb-v, thompson, normal-thompson"
    ):
        BuiltIn(name)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan")])
def test_a_policy_with_an_impossible_alpha_is_refused(alpha: float) -> None:
    with pytest.raises(LocalError, match=f"alpha must be a positive number, not {alpha}"):
        BuiltIn("ucb", alpha=alpha)


def test_a_policy_with_an_unknown_confidence_is_refused() -> None:
    with pytest.raises(LocalError, match="confidence 'sure' is not 'own', 'own\\+2', 'observed' or Horizon"):
        BuiltIn("ucb", confidence="sure")  # type: ignore[arg-type]
