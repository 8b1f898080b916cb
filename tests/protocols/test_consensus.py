"""coop-UCB2 and DDUCB: the numbers that they average, beside the matrices of the papers."""

import math

import numpy as np
import pytest
from tests.protocols.conversations import node_at, played, world

from cobandit.protocols import plug_in
from cobandit.protocols.consensus import places_of, second_eigenvalue, step_of
from cobandit.protocols.coop_ucb2 import CoopUcb2
from cobandit.protocols.dducb import Dducb
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario import AgentSpec, Arms, Graph, Kind, Rate, Scenario, Tape
from cobandit.scenario.trace import Row
from cobandit.simulator import reference
from cobandit.simulator.reference import ReferenceRun
from cobandit.testing import check_protocol
from cobandit.values.errors import LocalError

RING = Graph.ring(5)
NEIGHBOURS = tuple(map(tuple, RING.neighbours(5)))


def matrix(graph: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Return P = I - L / (d_max + 1)."""
    p = np.eye(len(graph))
    for one, others in enumerate(graph):
        for other in others:
            p[one, other] += step_of(graph)
            p[one, one] -= step_of(graph)
    return p


@pytest.mark.parametrize("graph", [Graph.ring(5), Graph.ring(12), Graph.grid(9), Graph.random(10, 3)])
def test_the_second_eigenvalue_is_that_of_the_matrix(graph: Graph) -> None:
    neighbours = tuple(map(tuple, graph.neighbours(1 + max(map(max, graph.edges)))))
    values = sorted(np.abs(np.linalg.eigvalsh(matrix(neighbours))))
    assert second_eigenvalue(neighbours) == pytest.approx(values[-2], rel=1e-6)


def test_with_everybody_connected_one_round_is_an_average() -> None:
    complete = tuple(tuple(other for other in range(4) if other != one) for one in range(4))
    assert second_eigenvalue(complete) == 0.0


@pytest.mark.parametrize("build", [CoopUcb2, Dducb])
def test_vectors_are_averaged_arm_by_arm(build: type) -> None:
    """So agents need the same arms. Before, the vectors of an agent with other arms were taken for those of its own."""
    assert places_of(node_at(arms=("C", "A", "B"))) == {"C": 2, "A": 0, "B": 1}
    same = (AgentSpec(Rate(1.0)), AgentSpec(Rate(1.0), arms=("1", "0")))
    averaged = Scenario(400, Arms.of([0.0, 1.0]), same, sharing=plug_in(build))
    assert reference.run(averaged, seed=1).pulls[:, 1].min() > 300
    other = (AgentSpec(Rate(1.0)), AgentSpec(Rate(1.0), arms=("1",)))
    with pytest.raises(LocalError, match="agents that average their estimates need the same arms"):
        Scenario(400, Arms.of([0.0, 1.0]), other, sharing=plug_in(build))


def test_a_spread_of_any_size_ends_no_run() -> None:
    scenario = world(plug_in(Dducb, sigma=1e300), [range(40)] * 3)
    assert sum(reference.run(scenario, seed=1).decisions) == 120


def pulls_by_slot(rows: list[Row], slots: int, agents: int, arms: int) -> tuple[np.ndarray, np.ndarray]:
    xi, rewards = np.zeros((2, slots, agents, arms))
    for row in rows:
        if row.kind == Kind.DECISION:
            xi[row.slot, row.agent, row.other] += 1
            rewards[row.slot, row.agent, row.other] += row.a
    return xi, rewards


def test_running_consensus_is_n_and_s_times_p() -> None:
    """n(t+1) = P (n(t) + xi(t)), s(t+1) = P (s(t) + r(t)): with the matrix, from the trace."""
    slots = [range(0, 30, 1 + agent) for agent in range(5)]
    scenario = world(plug_in(CoopUcb2), slots, means=(0.3, 0.8), topology=RING, horizon=31)
    engine, rows = played(scenario)
    xi, rewards = pulls_by_slot(rows, 31, 5, 2)
    n, s, p = np.zeros((5, 2)), np.zeros((5, 2)), matrix(NEIGHBOURS)
    for slot in range(30):
        n, s = p @ (n + xi[slot]), p @ (s + rewards[slot])
    got = np.array([node.protocol._estimates() for node in engine.nodes])
    assert got == pytest.approx(np.hstack((n, s)), rel=1e-12)
    assert got[:, :2].sum() == pytest.approx(sum(engine.result().decisions[:]) - xi[30].sum(), rel=1e-12)


def test_the_index_of_coop_ucb2_is_the_printed_one() -> None:
    protocol = CoopUcb2(node_at(agents=4), gamma=1.5, eta=2.0, sigma=0.5)
    protocol.node.slot = 100
    n, s = 7.5, 3.0
    spread = 2 * 1.5 / (1 - 4 / 16)
    printed = s / n + 0.5 * math.sqrt(spread * (n + math.sqrt(math.log(100))) / (4 * n) * math.log(100) / n)
    assert protocol._index(n, s) == pytest.approx(printed, rel=1e-12)
    assert protocol._index(0.0, 0.0) == math.inf


def test_a_stage_mixes_by_chebyshev_and_ends_with_an_average() -> None:
    """What all observed in stage 0 is known after stage 1: the polynomial of the paper, with the matrix."""
    plugged = plug_in(Dducb)
    slots = [range(100)] * 5
    probe = ReferenceRun(world(plugged, slots, topology=RING), Tape(1), None)
    stage = probe.nodes[0].protocol.stage
    eigenvalue = second_eigenvalue(NEIGHBOURS)
    assert stage == math.ceil(math.log(2 * 5 * 22) / math.sqrt(2 * math.log(1 / eigenvalue)))
    horizon = 2 * stage + 1
    engine, rows = played(world(plugged, slots, means=(0.3, 0.8), topology=RING, horizon=horizon))
    xi, rewards = pulls_by_slot(rows, horizon, 5, 2)
    first = np.hstack((xi[:stage].sum(axis=0), rewards[:stage].sum(axis=0)))
    p, w, old_w, y, old_y = matrix(NEIGHBOURS), 0.5, 0.0, first / 2, np.zeros_like(first)
    for step in range(stage):  # as the authors print it, without their shortcut
        new_w, new_y = 2 * w / eigenvalue - old_w, 2 / eigenvalue * p @ y - old_y
        old_w, w, old_y, y = w * (2 if step == 0 else 1), new_w, y * (2 if step == 0 else 1), new_y
    known = np.array([node.protocol._known for node in engine.nodes])
    assert known == pytest.approx(y / w, rel=1e-9)
    assert known == pytest.approx(np.tile(first.mean(axis=0), (5, 1)), abs=stage / 22)


def test_the_index_of_dducb_is_the_printed_one() -> None:
    protocol = Dducb(node_at(agents=4))
    protocol._known, protocol._counted = [2.0, 0.0, 1.5, 0.0], 50
    printed = 1.5 / 2.0 + math.sqrt(2 * 2.0 * 0.25 * math.log(4 * 50) / (4 * 2.0))
    assert protocol._index("A") == pytest.approx(printed, rel=1e-12)
    assert protocol._index("B") == math.inf


@pytest.mark.parametrize("build", [CoopUcb2, Dducb])
def test_every_slot_everybody_tells_its_neighbours(build: type) -> None:
    engine, _ = played(world(plug_in(build), [[3], [], [], [], []], topology=RING, horizon=11))
    assert (engine.result().shares, engine.result().communication.agent_rounds) == (10 * 5 * 2, 10 * 5)


@pytest.mark.parametrize(
    ("build", "given", "why"),
    [
        (CoopUcb2, {"gamma": 1.0}, "gamma must be above 1"),
        (CoopUcb2, {"eta": 4.0}, "eta must be between 0 and 4"),
        (Dducb, {"eta": 1.0}, "eta must be above 1"),
        (Dducb, {"epsilon": 1.0}, "epsilon must be between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused(build: type, given: dict[str, float], why: str) -> None:
    with pytest.raises(LocalError, match=why):
        build(node_at(), **given)


@pytest.mark.parametrize("plugged", [plug_in(CoopUcb2), plug_in(Dducb)])
def test_it_keeps_every_promise(plugged: PlugIn) -> None:
    check_protocol(plugged)
