"""Gossip: the rule by hand."""

import pytest
from tests.protocols.conversations import Spoken, spoken, world

from cobandit.protocols import plug_in
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario import Graph, Tape
from cobandit.scenario.tape import Stream
from cobandit.testing import check_protocol
from cobandit.values.chance import uniform


def test_after_every_period_it_tells_a_neighbour_at_random() -> None:
    told = spoken(world(plug_in(Gossip, period=2), [range(9), [], [], []]))
    key = Tape(1).key(0, Stream.PROTOCOL)
    assert [(one.slot, one.receiver) for one in told] == [
        (slot, 1 + int(3 * uniform(key, draw))) for draw, slot in enumerate((1, 3, 5, 7))
    ]


def test_who_is_told_passes_it_on_but_not_back() -> None:
    """On a line 0 - 1 - 2, agent 1 tells 2 what it heard from 0, and tells 0 only its own."""
    slots = range(5, 25)
    scenario = world(plug_in(Gossip, period=1), [[0], slots, []], topology=Graph(((0, 1), (1, 2))), means=(1.0,))
    by_one = [one for one in spoken(scenario) if one.sender == 1]
    assert {one.receiver for one in by_one} == {0, 2}
    first = [next(one for one in by_one if one.receiver == receiver) for receiver in (0, 2)]
    pulls = [one.slot - 4 for one in first]
    assert [one.observations for one in first] == [pulls[0], pulls[1] + 1]


def test_with_pull_the_other_answers_with_its_news() -> None:
    told = spoken(world(plug_in(Gossip, period=2, pull=True), [[0, 5], [1, 2], []][:2], means=(1.0,)))
    assert told == [
        Spoken(2, 1, 0, 2),
        Spoken(2, 0, 1, 1),
        Spoken(5, 0, 1, 2),  # agent 1 has no news, and does not answer
    ]


@pytest.mark.parametrize("plugged", [plug_in(Gossip, period=1), plug_in(Gossip, period=3, pull=True)])
def test_it_keeps_every_promise(plugged: PlugIn) -> None:
    check_protocol(plugged)
