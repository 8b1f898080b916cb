"""What a task's tape is, as lines that a person can compare and as a hash: when agents decide, and what arms pay them.

The lines know nothing of protocols and policies: two programs with the same lines meet the same world by chance. Only
the beginning of a tape is looked at, of two trials; every number on it is a hash of where it stands, so that a change
of the rule would show at once.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Stream, Tape, bernoulli_reward, luck_of_arm

TRIALS = (0, 1)
SLOTS = 64
"""Decision slots of each agent that are looked at."""
REWARDS = 16
"""Rewards of each agent that are looked at: of each of its arms, or of its pulls."""

_DIGITS = 32


def tape_hash(scenario: Scenario, seed: int) -> str:
    """Return a hash of the tape of a scenario, whatever its protocol and its policy.

    >>> from cobandit import silent
    >>> from cobandit.scenario import AgentSpec, Arms, Rate
    >>> world = Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)),) * 2)
    >>> quiet = Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)),) * 2, sharing=silent())
    >>> tape_hash(world, 1) == tape_hash(quiet, 1), tape_hash(world, 1) == tape_hash(world, 2)
    (True, False)
    """
    return hashlib.sha256("\n".join(tape_lines(scenario, seed)).encode()).hexdigest()[:_DIGITS]


def file_hash(path: Path) -> str:
    """Return a hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


def tape_lines(scenario: Scenario, seed: int) -> Iterator[str]:
    """Yield the beginning of the tape: of each agent its first decision slots, and the first rewards of its arms.

    >>> from cobandit.scenario import AgentSpec, Arms, Slots
    >>> world = Scenario(9, Arms.of([0.5]), (AgentSpec(Slots((1, 4))),))
    >>> next(tape_lines(world, seed=1))
    'trial 0 agent 0 decides 1 4'
    """
    places = {arm: place for place, arm in enumerate(scenario.arms.names)}
    for trial in TRIALS:
        tape = Tape(seed, trial)
        for agent, spec in enumerate(scenario.agents):
            clock = spec.schedule.clock(tape.clock_keys(agent, scenario.horizon))
            slots: list[int] = []
            slot = clock.next_slot(spec.start - 1)
            while slot < scenario.horizon and len(slots) < SLOTS:
                slots.append(slot)
                clock.decided(sent=False)
                slot = clock.next_slot(slot)
            yield f"trial {trial} agent {agent} decides {' '.join(map(str, slots))}"
            key = tape.key(agent, Stream.REWARDS)
            for arm in scenario.arms_of(agent):
                luck = luck_of_arm(key, places[arm]) if scenario.luck == "arm" else key
                rewards = (bernoulli_reward(luck, pull, scenario.arms.mean(arm)) for pull in range(REWARDS))
                yield f"trial {trial} agent {agent} arm {arm} pays {''.join(map(str, rewards))}"
