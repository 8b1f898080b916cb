"""A scenario in words: every kind of schedule, policy, threshold and network has some."""

from dataclasses import replace

import pytest

from cobandit import UCB, Constant, FromFunction, Geometric, PerCandidate, immediate, on_demand, silent
from cobandit.core import Sharing
from cobandit.core.thresholds import Threshold
from cobandit.policies import Horizon
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Halving,
    IndexFunction,
    OnOff,
    Partition,
    Rate,
    Scenario,
    Schedule,
    Sine,
    Slots,
)
from cobandit.scenario.words import MOST_KINDS_TOLD, scenario_in_words, threshold_in_words

WORLD = Scenario(2000, Arms.of([0.2, 0.8]), (AgentSpec(Rate(1.0)), AgentSpec(Rate(0.5))))


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Rate(1.0), "decides in every slot"),
        (Rate(0.25), "decides in each slot with probability 0.25"),
        (Halving(0.5), "decides with probability 0.5, halved after each decision with which it sends"),
        (Sine(0.2), "decides with a probability that follows a sine"),
        (OnOff(0.8, 0.1), "decides with probability 0.8 while online (on or off with probability 0.1 in each slot)"),
        (Slots((1, 2)), "decides in 2 given slots"),
    ],
)
def test_schedules(schedule: Schedule, words: str) -> None:
    assert scenario_in_words(replace(WORLD, agents=(AgentSpec(schedule),)))[1] == f"1 agent: 1 {words}."


def test_agents_of_a_kind_are_told_together_and_not_all_kinds() -> None:
    late = AgentSpec(Rate(0.5), start=10, stop=1000, arms=("0",), absences=(Absence(20),))
    assert scenario_in_words(replace(WORLD, agents=(*WORLD.agents, late, late)))[1] == (
        "4 agents: 1 decides in every slot; 1 decides in each slot with probability 0.5; 2 decide in each slot with "
        "probability 0.5 from slot 10 until slot 1,000, with 1 arm of the world's, away 1 time."
    )
    many = tuple(AgentSpec(Rate(0.01 * number)) for number in range(1, MOST_KINDS_TOLD + 4))
    assert scenario_in_words(replace(WORLD, agents=many))[1].endswith("; and 3 other kinds.")


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (Constant(2), "a threshold of 2 observations"),
        (Geometric(2), "thresholds 1, 2, 4, ..."),
        (Geometric(3, cap=9, answers_advance=False), "thresholds 1, 3, 9, ..., at most 9 (answers do not advance)"),
        (Geometric(2, answers_wait=False), "thresholds 1, 2, 4, ... (answers need one observation)"),
        (Geometric(2, cap=64, phases=True), "thresholds 1, 2, 4, ..., at most 64, with a phase for each pair"),
        (PerCandidate(cap=64), "thresholds of 1, 2, 4, ... times the candidate arms left, at most 64"),
        (FromFunction(lambda c: c * c), "thresholds 1, 4, 9, 16, ..."),
    ],
)
def test_thresholds(threshold: Threshold, words: str) -> None:
    assert threshold_in_words(threshold) == words


@pytest.mark.parametrize(
    ("sharing", "words"),
    [
        (on_demand(Geometric(2)), "They talk on demand (ODC), with thresholds 1, 2, 4, ..."),
        (
            immediate(literal_notices=True),
            (
                "They talk by immediate broadcast (IBC), with a threshold of 1 observation; an elimination is "
                "announced only to agents that have the arm."
            ),
        ),
        (
            on_demand(loss_tolerant=True),
            "They talk on demand (ODC), with a threshold of 1 observation; what is lost is repeated (loss-tolerant).",
        ),
        (immediate(), "They talk by immediate broadcast (IBC), with a threshold of 1 observation."),
        (silent(), "They do not talk: each learns alone."),
    ],
)
def test_ways_to_talk(sharing: Sharing, words: str) -> None:
    assert scenario_in_words(replace(WORLD, sharing=sharing))[3] == words


def test_policies() -> None:
    told = [
        scenario_in_words(replace(WORLD, policy=policy))[2]
        for policy in (
            BuiltIn("aae", confidence=Horizon(1000)),
            BuiltIn("thompson"),
            IndexFunction(lambda mean, _count, _budget: mean),
            lambda arms, _seed: UCB(arms),
        )
    ]
    assert told == [
        "They choose by AAE (alpha 3, confidence 1,000 decisions).",
        "They choose by Thompson sampling.",
        "They choose by an index of your own.",
        "They choose by a policy of your own.",
    ]


def test_networks() -> None:
    rough = Faults(loss=0.1, duplication=0.05, jitter=1, reordering=0.2, partitions=(Partition(1, 2, (0,), (1,)),))
    assert scenario_in_words(replace(WORLD, delay=3, faults=rough))[4] == (
        "Messages arrive after 3 slots, 10 % are lost, 5 % arrive twice, each may take up to 1 slot more, 20 % are "
        "held back, the network is cut 1 time."
    )
