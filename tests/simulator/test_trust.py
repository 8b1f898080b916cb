"""Agents of one simulation trust each other: nothing that they say is looked at, and nothing else changes."""

from dataclasses import replace
from pathlib import Path

import pytest

from cobandit import UCB, Agent
from cobandit.core import credibility
from cobandit.core.peers import Peers
from cobandit.scenario import AgentSpec, Arms, Rate, Row, Scenario
from cobandit.scenario.file import read_scenario
from cobandit.simulator import Result, run
from cobandit.values.errors import PeerError

WORLDS = sorted((Path(__file__).parents[1] / "golden" / "worlds").glob("*.toml"))
PLAIN = Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.2))))


def traced(world: Scenario) -> tuple[Result, list[Row]]:
    rows: list[Row] = []
    return run(world, seed=1, trace=rows), rows


@pytest.mark.parametrize("path", WORLDS[::9], ids=lambda path: path.stem)
def test_who_trusts_nobody_sees_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = read_scenario(path).scenario
    world = replace(world, horizon=min(world.horizon, 400))
    trusting = traced(world)
    monkeypatch.setattr(Peers, "trusts", property(lambda _: False, lambda _self, _value: None), raising=False)
    checking = traced(world)
    assert trusting[1] == checking[1]
    assert trusting[0].communication.bytes == checking[0].communication.bytes
    assert trusting[0].communication.definition_bits == checking[0].communication.definition_bits


def test_in_a_simulation_nothing_is_checked_and_elsewhere_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **_others: object) -> None:
        raise PeerError("it was checked")

    monkeypatch.setattr(credibility, "check_words", never)
    monkeypatch.setattr(credibility, "check_share", never)
    assert run(PLAIN, seed=1).shares > 0
    j, p = (Agent(name, UCB(["A"])) for name in "jp")
    j.peer_joined("p", p.arms)
    p.peer_joined("j", j.arms)
    with pytest.raises(PeerError, match="it was checked"):
        p.receive(j.update("A", 1.0).outgoing[0])


def test_agents_that_count_in_different_steps_are_told_so() -> None:
    mixed = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.2), policy=lambda arms, _seed: UCB(arms, quantum=0.01)))
    with pytest.raises(PeerError, match="do both sides declare the same quantum"):
        run(replace(PLAIN, agents=mixed), seed=1)
