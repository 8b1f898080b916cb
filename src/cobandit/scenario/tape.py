"""All randomness of one run, from one seed.

A tape stores nothing: every number on it is a hash of its position (`cobandit.values.chance`). Two algorithms on the
same tape get the same decision times and the same luck, which makes their comparison a paired one. The luck of a reward
can belong to an agent's pull with this number, whatever the arm, or to its pull with this number of that arm. Only the
second is the same for two algorithms that choose differently.
"""

from enum import IntEnum
from typing import Literal

from cobandit.scenario.schedules import ClockKeys
from cobandit.values.chance import stream, uniform
from cobandit.values.checks import check_whole, plain_arguments

LARGEST_SEED = 2**63 - 1

Luck = Literal["pull", "arm"]
"""What the luck of a reward belongs to: the n-th pull of an agent, or its n-th pull of that arm."""


class Stream(IntEnum):
    """The purpose of a stream of randomness."""

    DECISIONS = 1
    TOGGLES = 2
    REWARDS = 3
    POLICY = 4
    NETWORK = 5
    PROTOCOL = 6


class Tape:
    """The randomness of one trial of one scenario."""

    @plain_arguments
    def __init__(self, seed: int, trial: int = 0) -> None:
        check_whole("seed", seed, 0, LARGEST_SEED)
        check_whole("trial", trial, 0, LARGEST_SEED)
        self.trial_key = stream(seed, trial)
        """The key from which those of all streams are derived."""

    def key(self, agent: int, purpose: Stream) -> int:
        """Return the key of one agent's stream."""
        return stream(self.trial_key, agent, purpose)

    def clock_keys(self, agent: int, horizon: int) -> ClockKeys:
        """Return the keys that an agent's decision times depend on."""
        return ClockKeys(self.key(agent, Stream.DECISIONS), self.key(agent, Stream.TOGGLES), horizon)

    def policy_seed(self, agent: int) -> int:
        """Return the seed of an agent's policy."""
        return self.key(agent, Stream.POLICY)


def luck_of_arm(key: int, arm: int) -> int:
    """Return the key of an agent's luck with one arm of the world, from the key of its rewards."""
    return stream(key, arm)


def bernoulli_reward(key: int, pull: int, mean: float) -> int:
    """Return the reward of the pull with this number, from 0: 1 with probability `mean`, else 0."""
    return 1 if uniform(key, pull) < mean else 0
