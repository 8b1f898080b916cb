"""Small worlds in which protocols talk: who says what to whom, and when."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cobandit.policies.registry import BuiltIn
from cobandit.protocols.node import Node, Place
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario import AgentSpec, Arms, Kind, Row, Scenario, Slots, Tape
from cobandit.scenario.scenario import BuildPolicy
from cobandit.simulator.reference import ReferenceRun


class Spoken(NamedTuple):
    slot: int
    sender: int
    receiver: int
    observations: int = 0


def world(
    plugged: PlugIn,
    slots: Sequence[Sequence[int]],
    *,
    means: Sequence[float] = (1.0, 0.0),
    policy: BuildPolicy | None = None,
    horizon: int = 200,
    **more: Any,
) -> Scenario:
    """Return a world in which agents decide in these slots, and arms pay always or never."""
    agents = tuple(AgentSpec(Slots(tuple(one))) for one in slots)
    return Scenario(horizon, Arms.of(means), agents, policy or BuiltIn("ucb"), plugged, **more)


def played(scenario: Scenario, *, seed: int = 1) -> tuple[ReferenceRun, list[Row]]:
    """Return a run that is over, and its trace."""
    rows: list[Row] = []
    engine = ReferenceRun(scenario, Tape(seed), rows)
    engine.run()
    return engine, rows


def spoken(scenario: Scenario, *, seed: int = 1) -> list[Spoken]:
    """Return the shares of a run."""
    _, rows = played(scenario, seed=seed)
    return [Spoken(row.slot, row.agent, row.other, row.b) for row in rows if row.kind == Kind.SHARE]


def node_at(
    position: int = 0,
    *,
    agents: int = 3,
    neighbours: tuple[int, ...] | None = None,
    arms: tuple[str, ...] = ("A", "B"),
) -> Node:
    """Return a node that nobody drives."""
    names = [str(place) for place in range(agents)]
    others = tuple(place for place in range(agents) if place != position) if neighbours is None else neighbours
    place = Place(position, names, agents, others, arms, 100, chance_key=7)
    return Node(place, BuiltIn("ucb")(arms, 0))
