"""Every promise that the conformance suite checks is one that some broken policy breaks."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import count

import pytest

from cobandit import UCB, LocalError, Policy
from cobandit.policies.from_index import FromIndex
from cobandit.testing import check_policy
from cobandit.values.quantum import Quantum
from cobandit.values.tally import Arm, ArmTally


def test_a_policy_that_keeps_its_promises_passes() -> None:
    check_policy(UCB)


class ForgetsItsBase(Policy):
    def __init__(self, arms: Iterable[Arm]) -> None:
        self.arms = tuple(arms)

    def select_arm(self) -> Arm:
        return self.arms[0]


def test_a_policy_whose_base_was_not_begun_is_told_what_to_call() -> None:
    with pytest.raises(AssertionError, match=r"ForgetsItsBase has no tally: its __init__ must call super\(\)"):
        check_policy(ForgetsItsBase)


class ChoosesAForeignArm(UCB):
    def select_arm(self) -> Arm:
        return super().select_arm() if self.own_pulls < 150 else "Z"

    def update(self, arm: Arm, reward: float) -> None:
        super().update("A" if arm == "Z" else arm, reward)


def test_a_policy_that_chooses_a_foreign_arm_is_caught() -> None:
    with pytest.raises(AssertionError, match="select_arm returned 'Z', not one of the arms"):
        check_policy(ChoosesAForeignArm)


class TakesTurnsWhenAsked(UCB):
    asked = 0

    def select_arm(self) -> Arm:
        self.asked += 1
        return self.arms[self.asked % len(self.arms)]


def test_a_policy_that_changes_its_mind_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"select_arm, asked five times with nothing new, answered \['A', 'B'"):
        check_policy(TakesTurnsWhenAsked)


class EachOneIsDifferent(UCB):
    built = count()

    def __init__(self, arms: Iterable[Arm]) -> None:
        super().__init__(tuple(arms))
        self.favourite = self.arms[next(self.built) % len(self.arms)]

    def select_arm(self) -> Arm:
        return self.favourite


def test_a_policy_with_chance_of_its_own_is_caught() -> None:
    with pytest.raises(AssertionError, match="two fresh policies with the same input chose differently"):
        check_policy(EachOneIsDifferent)


class CountsItsUpdates(UCB):
    updates = 0

    def select_arm(self) -> Arm:
        return self.arms[self.updates // 7 % len(self.arms)]

    def update(self, arm: Arm, reward: float) -> None:
        super().update(arm, reward)
        self.updates += 1


def test_a_policy_with_a_memory_beside_its_tallies_is_caught() -> None:
    with pytest.raises(AssertionError, match="rebuilt from its tallies, the policy chose A instead of B"):
        check_policy(CountsItsUpdates)


class ForgetsOwnPulls(UCB):
    def learn(self, news: Iterable[ArmTally], *, own: bool = False) -> None:
        super().learn(news)


def test_a_policy_that_forgets_own_pulls_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"learn\(\.\.\., own=True\) must count own pulls"):
        check_policy(ForgetsOwnPulls)


class TakesAllPullsForOwn(UCB):
    def learn(self, news: Iterable[ArmTally], *, own: bool = False) -> None:
        super().learn(news, own=True)


def test_a_policy_that_takes_the_pulls_of_others_for_its_own_is_caught() -> None:
    with pytest.raises(AssertionError, match="observations of other agents are not own pulls"):
        check_policy(TakesAllPullsForOwn)


class LearnsNothingFromOthers(UCB):
    def learn(self, news: Iterable[ArmTally], *, own: bool = False) -> None:
        if own:
            super().learn(news, own=True)


def test_a_policy_that_ignores_what_it_received_is_caught() -> None:
    with pytest.raises(AssertionError, match="learn must add the observations of other agents to the tally"):
        check_policy(LearnsNothingFromOthers)


class LearnsNothing(UCB):
    def learn(self, news: Iterable[ArmTally], *, own: bool = False) -> None:
        pass


def test_a_policy_that_cannot_be_rebuilt_is_caught() -> None:
    with pytest.raises(AssertionError) as caught:
        check_policy(LearnsNothing)
    assert caught.traceback[-1].name == "_can_be_rebuilt_after"


class KeepsEliminatedArms(UCB):
    def eliminate(self, arm: Arm) -> None:
        pass


def test_a_policy_that_keeps_an_eliminated_arm_is_caught() -> None:
    with pytest.raises(AssertionError, match="eliminate must remove the arm from the candidates"):
        check_policy(KeepsEliminatedArms)


class PullsEliminatedArms(UCB):
    def select_arm(self) -> Arm:
        return min(self.arms, key=self.tally.counts.__getitem__)


def test_a_policy_that_pulls_an_eliminated_arm_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"select_arm returned [ABC], which was eliminated"):
        check_policy(PullsEliminatedArms)


class TakesAnyReward(UCB):
    def update(self, arm: Arm, reward: float) -> None:
        self._check_arm(arm)
        self.update_units(arm, self.quantum.per_reward if reward > 1 else self.quantum.units(reward))


def test_a_policy_that_takes_any_reward_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"update\('A', 1\.5\) must raise LocalError"):
        check_policy(TakesAnyReward)


class TakesAnyArm(UCB):
    def update(self, arm: Arm, reward: float) -> None:
        if arm in self.arms:
            super().update(arm, reward)


def test_a_policy_that_takes_any_arm_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"update\('nobody', 1\.0\) must raise LocalError"):
        check_policy(TakesAnyArm)


class CountsBeforeItLooks(UCB):
    def update(self, arm: Arm, reward: float) -> None:
        self.own_pulls += 1
        self._check_arm(arm)
        units = self.quantum.units(reward)
        self.tally.add(arm, 1, units, self.quantum.square(units))


def test_a_policy_that_is_marked_by_a_refused_update_is_caught() -> None:
    with pytest.raises(AssertionError, match="a refused update left a mark"):
        check_policy(CountsBeforeItLooks)


class NeedsTwoArms(UCB):
    def select_arm(self) -> Arm:
        return super().select_arm() if len(self.arms) > 1 else "nobody"


def test_a_policy_that_needs_two_arms_is_caught() -> None:
    with pytest.raises(AssertionError) as caught:
        check_policy(NeedsTwoArms)
    assert caught.traceback[-1].name == "_works_with_one_arm"


def test_a_policy_for_other_rewards_is_an_error_of_the_caller() -> None:
    """The suite pays 0, 0.5 and 1, so a policy that declares rewards of 0 or 1 says so itself."""
    with pytest.raises(LocalError, match=r"reward 0\.5 is neither 0 nor 1"):
        check_policy(lambda arms: UCB(arms, quantum=Quantum(1.0).step))


class AddsToTheWrongMethod(UCB):
    """Takes rewards upside down, but only in `update`, which an agent does not call."""

    def update(self, arm: str, reward: float) -> None:
        super().update(arm, 1.0 - reward)


def test_a_policy_that_overrides_update_instead_of_update_units_is_caught() -> None:
    with pytest.raises(AssertionError, match="override update_units, not update"):
        check_policy(AddsToTheWrongMethod)


class TakesTurns(UCB):
    """Counts by itself, in steps that fit the number of arms."""

    def __init__(self, arms: Sequence[str]) -> None:
        super().__init__(arms)
        self.turn = 0

    def select_arm(self) -> str:
        return self.arms[self.turn % len(self.arms)]

    def update_units(self, arm: str, units: int) -> None:
        super().update_units(arm, units)
        self.turn += 1


def test_a_policy_that_takes_turns_by_a_counter_of_its_own_is_caught() -> None:
    with pytest.raises(AssertionError, match="rebuilt from its tallies"):
        check_policy(TakesTurns)


def test_an_index_that_is_not_a_number_is_found() -> None:
    def index(mean: float, observations: int, budget: float) -> float:
        return math.nan if observations == 1_000 else mean + budget

    said = "the index of mean 0 over 1000 observations with budget 0.5 is not a number"
    with pytest.raises(AssertionError, match=re.escape(said)):
        check_policy(lambda arms: FromIndex(arms, index=index))


def test_a_policy_says_which_index_is_not_a_number() -> None:
    policy = FromIndex(["A", "B"], index=lambda mean, times, budget: math.nan if times == 2 else 1.0 + mean - budget)
    for arm in ("A", "B", "A"):
        policy.update(arm, 1.0)
    with pytest.raises(LocalError, match="the index of arm 'A' with 2 observations is not a number"):
        policy.select_arm()
