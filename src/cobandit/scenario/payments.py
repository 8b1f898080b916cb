"""What a pull pays, slot by slot: combines the ways to pay, the course of the means and the tape.

This is the readable form. The compiled engine has the same tables (`cobandit.simulator.kernel.payment`) and the same
formulas (`cobandit.scenario.drawing`). It counts nothing: the caller says which agent's pull it is, and its number.
"""

from bisect import bisect_right

from cobandit.scenario.changes import Course, step_at
from cobandit.scenario.drawing import drawn_share, first_place, quanta_of
from cobandit.scenario.paying import Discrete, OwnReward, Replay, bad_reward
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Stream, Tape, luck_of_arm
from cobandit.values.chance import uniform
from cobandit.values.quantum import Quantum


class Payments:
    """The payments of all arms in one run."""

    def __init__(self, scenario: Scenario, tape: Tape) -> None:
        arms = scenario.arms
        self.arms = arms
        self.per_reward = Quantum(arms.quantum).per_reward
        self.course: Course = scenario.course or Course((0,), (arms.means,))
        self.expected = [arms.expected_of(means) for means in self.course.means]
        """By step and arm: the average payment."""
        self.step = 0
        """The step of the course in which the last pull was."""
        self._by_arm = scenario.luck == "arm"
        self._keys = [tape.key(agent, Stream.REWARDS) for agent in range(len(scenario.agents))]
        self._pays = arms.each_pays
        self._shares = [[arms.rewards.share_of(mean) for mean in means] for means in self.course.means]
        self._spreads = [0.0 if isinstance(pay, Discrete | Replay) else pay.spread(arms.rewards) for pay in self._pays]

    def draw(self, agent: int, arm: int, slot: int, pull: int, arm_pull: int) -> int:
        """Return the reward of a pull, in quanta.

        Args:
            agent: The agent that pulls.
            arm: The arm's position in the world.
            slot: The slot. Slots must not go back.
            pull: How often the agent has pulled before.
            arm_pull: How often it has pulled this arm before.

        Raises:
            LocalError: A function of the user's returned a reward outside the range.
        """
        self.step = step_at(self.course.starts, slot, self.step)
        key, number = self._keys[agent], pull
        if self._by_arm:
            key, number = luck_of_arm(key, arm), arm_pull
        return quanta_of(self._share(agent, arm, slot, key, number, arm_pull), self.per_reward)

    def reward_of(self, units: int) -> float:
        """Return a number of quanta as a reward."""
        return self.arms.rewards.reward_of(units / self.per_reward)

    def _share(self, agent: int, arm: int, slot: int, key: int, number: int, arm_pull: int) -> float:
        pay, rewards = self._pays[arm], self.arms.rewards
        if isinstance(pay, Replay):
            start = first_place(luck_of_arm(self._keys[agent], arm), len(pay.log))
            return rewards.share_of(pay.log[(start + arm_pull) % len(pay.log)])
        if isinstance(pay, Discrete):
            return rewards.share_of(pay.values[bisect_right(pay.cumulative, uniform(key, number))])
        if isinstance(pay, OwnReward):
            reward = pay.function(uniform(key, number), slot, self.course.means[self.step][arm])
            if not rewards.holds(reward):
                raise bad_reward(self.arms.names[arm], reward, rewards)
            return rewards.share_of(reward)
        return drawn_share(pay.law, self._shares[self.step][arm], self._spreads[arm], key, number)
