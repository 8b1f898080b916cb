"""What every policy must do, checked: put your own through it.

The suite knows nothing about how a policy chooses. It checks the promises on which agents, snapshots and engines rest.
"""

import json
import math
from collections.abc import Callable, Sequence

from cobandit.agent import Agent
from cobandit.policies import IndexPolicy, Policy
from cobandit.policies.base import State
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm, ArmTally

BuildPolicy = Callable[[Sequence[Arm]], Policy]

ARMS = ("A", "B", "C")
ROUNDS = 200


def check_policy(build: BuildPolicy) -> None:
    """Raise `AssertionError` unless the policies that `build` returns keep every promise.

    Args:
        build: Returns a fresh policy for these arms, identical each time, for rewards of 0, 0.5 and 1.

    >>> from cobandit import UCB
    >>> check_policy(lambda arms: UCB(arms))
    """
    for check in (
        _is_a_policy,
        _has_an_index_that_is_a_number,
        _has_a_state_that_can_be_written,
        _choosing_changes_nothing,
        _is_deterministic,
        _depends_only_on_tallies,
        _does_the_same_inside_an_agent,
        _takes_a_batch_as_it_takes_one,
        _can_get_more_arms,
        _counts_own_and_received,
        _respects_eliminations,
        _refuses_bad_input_and_changes_nothing,
        _works_with_one_arm,
    ):
        check(build)


def _is_a_policy(build: BuildPolicy) -> None:
    policy = build(ARMS)
    assert isinstance(policy, Policy), f"{policy!r} is no Policy"
    is_begun = hasattr(policy, "tally")
    assert is_begun, f"{type(policy).__qualname__} has no tally: its __init__ must call super().__init__(arms)"


def _reward(arm: Arm, pull: int) -> float:
    return (0.0, 0.5, 1.0)[int(3 * uniform(stream(ARMS.index(arm)), pull))]


def _played(build: BuildPolicy, rounds: int = ROUNDS) -> tuple[Policy, list[Arm]]:
    policy = build(ARMS)
    chosen = []
    for pull in range(rounds):
        arm = policy.select_arm()
        assert arm in ARMS, f"select_arm returned {arm!r}, not one of the arms {ARMS}"
        policy.update(arm, _reward(arm, pull))
        chosen.append(arm)
    return policy, chosen


def _has_an_index_that_is_a_number(build: BuildPolicy) -> None:
    """Nothing compares with NaN: an arm with such an index would never be chosen, or hide the others."""
    policy = build(ARMS)
    if not isinstance(policy, IndexPolicy):
        return
    for mean in (0.0, 0.5, 1.0):
        for count in (1, 2, 3, 10, 1_000, 1_000_000):
            for budget in (0.5, 3.0, 60.0):
                index = policy.index(mean, count, budget)
                case = f"mean {mean:g} over {count} observations with budget {budget:g}"
                assert not math.isnan(index), f"the index of {case} is not a number (NaN): let index return one"


def _has_a_state_that_can_be_written(build: BuildPolicy) -> None:
    """State is kept as JSON, and read again."""
    policy, _ = _played(build, 20)
    state = policy.state()
    if not policy.stateful:
        assert state == {}, "a policy with state says so: stateful = True"
        return
    assert _written(policy) == state, f"the state {state!r} is not plain: use numbers, texts, lists and tables by text"
    before = _written(policy)
    policy.select_arm()
    assert _written(policy) == before, "select_arm changed the state: change it in noticed"


def _written(policy: Policy) -> State:
    """Return the state of a policy as it is written, and read again."""
    try:
        read: State = json.loads(json.dumps(policy.state(), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"the state cannot be written as JSON: {error}") from error
    return read


def _choosing_changes_nothing(build: BuildPolicy) -> None:
    policy, _ = _played(build, 20)
    answers = {policy.select_arm() for _ in range(5)}
    assert len(answers) == 1, f"select_arm, asked five times with nothing new, answered {sorted(answers)}"


def _is_deterministic(build: BuildPolicy) -> None:
    _, first = _played(build)
    _, second = _played(build)
    assert first == second, "two fresh policies with the same input chose differently: make chance an argument"


def _depends_only_on_tallies(build: BuildPolicy) -> None:
    """A policy is rebuilt after a restart from what was counted, so nothing else may matter."""
    for rounds in (1, 7, 61):
        _can_be_rebuilt_after(build, rounds)


def _can_be_rebuilt_after(build: BuildPolicy, rounds: int) -> None:
    played, _ = _played(build, rounds)
    rebuilt = build(ARMS)
    rebuilt.learn(played.tally.entries(), own=True)
    for arm in ARMS:
        if arm not in played.candidates:
            rebuilt.eliminate(arm)
    rebuilt.set_state(_written(played))
    assert rebuilt.tally == played.tally
    assert rebuilt.own_pulls == played.own_pulls, "learn(..., own=True) must count own pulls"
    for pull in range(rounds, rounds + 60):
        expected, got = played.select_arm(), rebuilt.select_arm()
        assert got == expected, (
            f"rebuilt from its tallies{' and its state' if played.stateful else ''}, the policy chose {got} instead of "
            f"{expected}: what else it depends on belongs into state, and stateful must be True"
        )
        played.update(expected, _reward(expected, pull))
        rebuilt.update(expected, _reward(expected, pull))


def _does_the_same_inside_an_agent(build: BuildPolicy) -> None:
    """An agent counts rewards in quanta and calls `update_units`: what a policy adds to an update belongs there."""
    _, expected = _played(build, 60)
    agent = Agent("j", build(ARMS))
    for pull, arm in enumerate(expected):
        got = agent.select_arm()
        assert got == arm, f"inside an agent the policy chose {got} instead of {arm}: override update_units, not update"
        agent.update(arm, _reward(arm, pull))


def _takes_a_batch_as_it_takes_one(build: BuildPolicy) -> None:
    """An agent may take many observations at once, by `update_all`: what a policy rules out belongs in `survivors`."""
    one, many = build(ARMS), build(ARMS)
    for pull in range(60):
        arm = one.select_arm()
        units = one.quantum.units(_reward(arm, pull))
        one.update_units(arm, units)
        many.update_all((ArmTally(arm, 1, units, many.quantum.square(units)),))
        same = (many.tally, many.own_pulls, many.candidates) == (one.tally, one.own_pulls, one.candidates)
        assert same, "update_all did not do what update_units does: rule arms out in survivors, count in learn"


def _can_get_more_arms(build: BuildPolicy) -> None:
    """An agent may start again with more arms: what a policy needs to know of its arms is in `self.arms`."""
    policy, few = build(ARMS), build(ARMS[:2])
    policy.change_arms(ARMS[:2])
    for pull in range(20):
        arm, expected = policy.select_arm(), few.select_arm()
        assert arm == expected, f"with arms taken away again, the policy chose {arm} instead of {expected}"
        policy.update(arm, _reward(arm, pull))
        few.update(arm, _reward(arm, pull))
    candidates = policy.candidates
    policy.change_arms(ARMS)
    assert policy.candidates == (*candidates, *ARMS[2:]), "change_arms must make new arms candidates, and only those"
    policy.update(policy.select_arm(), 1.0)


def _counts_own_and_received(build: BuildPolicy) -> None:
    teacher, _ = _played(build, 10)
    policy = build(ARMS)
    policy.update("A", 1.0)
    policy.learn(teacher.tally.entries())
    assert policy.own_pulls == 1, "observations of other agents are not own pulls"
    assert policy.tally.observations == 11, "learn must add the observations of other agents to the tally"


def _respects_eliminations(build: BuildPolicy) -> None:
    policy, _ = _played(build, 20)
    if len(policy.candidates) == 1:
        return
    gone = policy.select_arm()
    policy.eliminate(gone)
    assert gone not in policy.candidates, "eliminate must remove the arm from the candidates"
    for pull in range(20, 60):
        arm = policy.select_arm()
        assert arm != gone, f"select_arm returned {arm}, which was eliminated"
        policy.update(arm, _reward(arm, pull))


def _refuses_bad_input_and_changes_nothing(build: BuildPolicy) -> None:
    policy, _ = _played(build, 20)
    tally, pulls, answer = policy.tally.copy(), policy.own_pulls, policy.select_arm()
    for arm, reward in (("nobody", 1.0), ("A", 1.5), ("A", -0.1), ("A", float("nan")), ("A", float("inf"))):
        try:
            policy.update(arm, reward)
        except LocalError:
            pass
        else:
            raise AssertionError(f"update({arm!r}, {reward}) must raise LocalError")
    assert (policy.tally, policy.own_pulls, policy.select_arm()) == (tally, pulls, answer), (
        "a refused update left a mark"
    )


def _works_with_one_arm(build: BuildPolicy) -> None:
    policy = build(("only",))
    for _ in range(3):
        assert policy.select_arm() == "only"
        policy.update("only", 0.5)
