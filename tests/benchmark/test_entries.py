"""Entries: which there are, on which tasks they make sense, and those of one's own."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from cobandit.benchmark.entries import Entry, chosen_entries, entries, entry_from, own_entry
from cobandit.benchmark.tasks import tasks
from cobandit.core import RetryTimers, Sharing
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.registry import PLUG_INS
from cobandit.values.errors import LocalError


def test_a_protocol_that_refuses_a_world_says_why_and_the_others_play() -> None:
    why = "LF-Relay needs agents that all talk to each other: leave the topology out"
    assert {task: entries()["lf-relay"].why_not(tasks()[task]) for task in ("ring", "grid")} == {
        "ring": why,
        "grid": why,
    }
    assert [name for name, entry in entries().items() if not entry.why_not(tasks()["ring"])] != []


def test_every_protocol_has_an_entry() -> None:
    assert Counter(entry.protocol for entry in entries().values()) == {"odc": 12, "ibc": 4, "none": 1} | dict.fromkeys(
        PLUG_INS, 1
    )


@pytest.mark.parametrize(
    ("entry", "task", "why"),
    [
        ("odc-ucb", "loss-30", ""),
        ("odc-ucb", "paper-5", ""),
        ("odc-ucb", "relays-1000", ""),
        ("gossip", "loss-30", ""),
        ("gossip", "paper-3", ""),
        ("gossip", "paper-5", ""),
        ("comex", "paper-5", "the task is too long for the readable engine, and it has no compiled form"),
        ("gossip", "relays-1000", "it does not talk over relays"),
        ("event-hub", "relays-1000", ""),
        ("event-hub", "ring", "it needs a hub, and agents in a graph have neighbours only"),
        ("aac", "loss-1", "it does not survive lost messages"),
        ("aac", "delay-20", ""),
        ("dducb", "delay-20", "it needs messages that come in at once"),
        ("dducb", "churn", "it needs everybody to be there"),
        ("dducb", "ring", ""),
        ("dducb", "sync-100", "it tells everybody all in every slot, which is too much here for the readable engine"),
        ("dpe2", "arm-sets", "it needs the same arms for all"),
    ],
)
def test_an_entry_says_why_it_does_not_play(entry: str, task: str, why: str) -> None:
    assert entries()[entry].why_not(tasks()[task]) == why


def test_what_is_only_too_slow_plays_if_asked() -> None:
    assert entries()["comex"].why_not(tasks()["paper-5"], slow=True) == ""


def test_on_demand_repeats_what_is_lost_only_where_something_is_lost() -> None:
    retries = [entries()["odc-ucb"].scenario(tasks()[task]).exchange.retry for task in ("sync-10", "loss-10")]
    assert retries == [None, RetryTimers()]


def test_a_hub_takes_the_place_of_relays() -> None:
    scenario = entries()["periodic-hub"].scenario(tasks()["relays-1000"])
    assert (scenario.topology, scenario.relay_count, len(scenario.agents)) == (None, 1, 1000)


def test_entries_are_chosen_by_name_or_by_protocol() -> None:
    assert [entry.name for entry in chosen_entries(["ibc", "gossip"])] == [
        "ibc-ucb",
        "ibc-kl-ucb",
        "ibc-thompson",
        "ibc-aae",
        "gossip",
    ]


def test_an_unknown_protocol_is_told_with_the_nearest() -> None:
    with pytest.raises(LocalError, match=r"there is no protocol 'gosip': did you mean gossip\?"):
        chosen_entries(["gosip"])


def test_ones_own_is_played_beside_those_that_are_chosen() -> None:
    own = own_entry(Gossip, name="mine", period=2)
    assert [entry.name for entry in chosen_entries(["dpe2"], [own])] == ["dpe2", "mine"]


def test_ones_own_may_not_have_the_name_of_another() -> None:
    with pytest.raises(LocalError, match="there is an entry 'gossip' already: give yours another name"):
        own_entry(Gossip, period=2)


def test_a_class_is_found_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "quiet_ones.py").write_text(
        "class Quiet:\n    def __init__(self, node):\n        pass\n\n    def observed(self, arm, reward):\n"
        "        pass\n\n    def received(self, sender, message):\n        pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = entry_from("quiet_ones:Quiet")
    del sys.modules["quiet_ones"]
    assert (found.name, found.told["protocol"], len(found.told["source"])) == ("quiet", "quiet_ones.Quiet", 32)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("quiet", "name your own protocol as module:Class"),
        ("no_such_module:Quiet", "cannot find no_such_module:Quiet: No module named"),
        ("json:Quiet", "cannot find json:Quiet: module 'json' has no attribute 'Quiet'"),
        ("json:JSONDecoder", "a protocol is a class with the methods observed and received"),
    ],
)
def test_what_is_no_protocol_is_refused(text: str, why: str) -> None:
    with pytest.raises(LocalError, match=why):
        entry_from(text)


def test_an_entry_tells_what_it_is() -> None:
    entry = entries()["odc-double64-thompson"]
    assert isinstance(entry, Entry)
    assert isinstance(entry.sharing, Sharing)
    assert entry.told == {
        "protocol": "odc",
        "parameters": {"threshold": "Geometric(base=2, cap=64, answers_advance=True, answers_wait=True, phases=False)"},
        "policy": "BuiltIn(name='thompson', alpha=None, confidence='observed')",
    }
