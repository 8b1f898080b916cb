"""All the chance of one run, from one seed.

A tape stores nothing: every number on it is a hash of where it stands (`cobandit.values.chance`). Two algorithms that
run on the same tape meet the same decision times and the same luck, which is what makes a comparison a paired one.
"""

from enum import IntEnum

from cobandit.scenario.schedules import ClockKeys
from cobandit.values.chance import stream, uniform
from cobandit.values.checks import check_whole

LARGEST_SEED = 2**63 - 1


class Stream(IntEnum):
    """What a stream of chance is for."""

    DECISIONS = 1
    TOGGLES = 2
    REWARDS = 3
    POLICY = 4
    NETWORK = 5
    PROTOCOL = 6


class Tape:
    """The chance of one trial of one scenario."""

    def __init__(self, seed: int, trial: int = 0) -> None:
        check_whole("seed", seed, 0, LARGEST_SEED)
        check_whole("trial", trial, 0, LARGEST_SEED)
        self.trial_key = stream(seed, trial)
        """What the keys of all streams are made from."""

    def key(self, agent: int, purpose: Stream) -> int:
        """Return the key of one agent's stream."""
        return stream(self.trial_key, agent, purpose)

    def clock_keys(self, agent: int, horizon: int) -> ClockKeys:
        """Return what an agent's decision times depend on."""
        return ClockKeys(self.key(agent, Stream.DECISIONS), self.key(agent, Stream.TOGGLES), horizon)

    def policy_seed(self, agent: int) -> int:
        """Return the seed of an agent's policy."""
        return self.key(agent, Stream.POLICY)


def bernoulli_reward(key: int, pull: int, mean: float) -> int:
    """Return the reward of an agent's pull with this number, from 0: 1 with probability `mean`, else 0."""
    return 1 if uniform(key, pull) < mean else 0
