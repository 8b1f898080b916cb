"""Hubs: the rule by hand."""

import pytest
from tests.protocols.conversations import Spoken, played, spoken, world

from cobandit.protocols import plug_in
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.protocols.plug_in import PlugIn
from cobandit.testing import check_protocol

HUB = 2


def test_after_every_period_news_go_up_and_the_total_of_others_comes_down() -> None:
    told = spoken(world(plug_in(PeriodicHub, period=2), [[0, 1, 2, 3, 4], [10, 11]], means=(1.0,)))
    assert told == [
        Spoken(1, 0, HUB, 2),
        Spoken(1, HUB, 0, 0),
        Spoken(3, 0, HUB, 4),  # cells are cumulative
        Spoken(3, HUB, 0, 0),
        Spoken(11, 1, HUB, 2),
        Spoken(11, HUB, 1, 4),  # all but its own
    ]


def test_an_agent_learns_what_others_uploaded_and_nothing_twice() -> None:
    engine, _ = played(world(plug_in(PeriodicHub, period=1), [[0, 1, 2], [10], [11]], means=(0.0,)))
    assert [node.policy.tally.observations for node in engine.nodes[:3]] == [3, 4, 5]


@pytest.mark.parametrize(("alpha", "slots"), [(1.0, [1, 5]), (0.4, [0, 1, 3, 6, 10])])
def test_news_go_up_when_the_product_exceeds_one_plus_alpha(alpha: float, slots: list[int]) -> None:
    """With one arm the product is 1 + fresh / (known + 1): for alpha = 1 more than known + 1 news are needed."""
    told = spoken(world(plug_in(EventHub, alpha=alpha), [range(12), []], means=(1.0,)))
    assert [one.slot for one in told if one.sender == 0] == slots


def test_the_product_is_over_arms() -> None:
    """Two arms, once each: (1 + 1/1)(1 + 1/1) = 4 > 1 + 2.5 after two pulls; one arm alone would need four."""
    told = spoken(world(plug_in(EventHub, alpha=2.5), [range(2), []]))
    assert [one.slot for one in told] == [1, 1]


@pytest.mark.parametrize("plugged", [plug_in(PeriodicHub, period=3), plug_in(EventHub, alpha=0.1)])
def test_it_keeps_every_promise(plugged: PlugIn) -> None:
    check_protocol(plugged)
