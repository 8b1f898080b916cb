"""A protocol of one's own, which is a table and nothing else, is the same on both engines."""

from dataclasses import replace

import pytest

from cobandit.core import Constant, Geometric, RetryTimers, Sharing, immediate, on_demand, silent
from cobandit.core.protocols.rules import Input, Rule, Rules, rules
from cobandit.scenario import Absence, AgentSpec, Arms, BuiltIn, Faults, Rate, Row, Scenario
from cobandit.simulator import kernel, reference
from cobandit.simulator.kernel.filling import fill_world

OBSERVATION, SHARE, LEAVE, JOIN = Input
NOTICES = (
    Rule(LEAVE, demanded=None, reached=None, demanded_after=False, shares=False),
    Rule(JOIN, demanded=None, reached=None, demanded_after=True, shares=False),
)

LATER = rules(  # on demand, but nobody answers at once: only a pull brings about a share
    "later",
    Rule(OBSERVATION, demanded=True, reached=True, demanded_after=False, shares=True),
    Rule(OBSERVATION, demanded=True, reached=False, demanded_after=None, shares=False),
    Rule(OBSERVATION, demanded=False, reached=None, demanded_after=None, shares=False),
    Rule(SHARE, demanded=None, reached=None, demanded_after=True, shares=False),
    *NOTICES,
)

UNASKED = rules(  # on demand, but a full buffer is shared even if nobody asked, and asks
    "unasked",
    Rule(OBSERVATION, demanded=None, reached=True, demanded_after=False, shares=True),
    Rule(OBSERVATION, demanded=None, reached=False, demanded_after=None, shares=False),
    Rule(SHARE, demanded=None, reached=True, demanded_after=None, shares=True),
    Rule(SHARE, demanded=None, reached=False, demanded_after=True, shares=False),
    *NOTICES,
)

QUIET = Scenario(
    200,
    Arms.of([0.3, 0.5, 0.55]),
    (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.3)), AgentSpec(Rate(0.1))),
    BuiltIn("ucb"),
    on_demand(Constant(3)),
)
AWAY = replace(
    QUIET,
    agents=(*QUIET.agents[:2], AgentSpec(Rate(0.5), absences=(Absence(40, 90),))),
    policy=BuiltIn("aae", 1.0, "observed"),
    delay=2,
)
LOSSY = Faults(loss=0.3, duplication=0.2, jitter=3)
TIMERS = RetryTimers(first=5, tick=20, longest=50)

WORLDS = {
    "reliable": QUIET,
    "growing": replace(QUIET, sharing=on_demand(Geometric(2))),
    "away": AWAY,
    "lossy": replace(QUIET, faults=LOSSY),
    "tolerant": replace(QUIET, faults=LOSSY, sharing=on_demand(Constant(3), loss_tolerant=TIMERS)),
    "tolerant and away": replace(AWAY, faults=LOSSY, sharing=on_demand(Constant(3), loss_tolerant=TIMERS)),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("table", [LATER, UNASKED], ids=lambda table: table.name)
def test_both_engines_follow_a_table_of_ones_own(table: Rules, world: Scenario) -> None:
    told: list[Row] = []
    compiled: list[Row] = []
    usual: list[Row] = []
    own = replace(world, sharing=world.exchange._replace(rules=table))
    expected = reference.run(own, seed=5, trace=told)
    assert kernel.run(own, seed=5, trace=compiled) == expected
    assert compiled == told
    assert kernel.run(own, seed=5) == expected  # without a trace it may go the short way
    reference.run(world, seed=5, trace=usual)
    assert told != usual  # the difference between the tables is one that can be seen


@pytest.mark.parametrize(
    ("sharing", "ways"),
    [
        (on_demand(), ("plain",)),
        (Sharing(LATER, Constant(3)), ("plain",)),
        (Sharing(UNASKED, Constant(3)), ()),
        (silent(), ()),
        (immediate(), ("one_table", "plain")),
        (immediate(Constant(3)), ("plain",)),
    ],
    ids=str,
)
def test_which_tables_go_the_short_ways(sharing: Sharing, ways: tuple[str, ...]) -> None:
    world = fill_world(replace(QUIET, sharing=sharing), counts_sizes=True, traced=False)[0]
    assert tuple(way for way in ("one_table", "plain") if world[way]) == ways
