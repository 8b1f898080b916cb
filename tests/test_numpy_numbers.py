"""Numbers, strings and arrays of NumPy are taken wherever Python's are, and become Python's at the door."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cobandit
from cobandit import (
    AAE,
    KLUCB,
    UCB,
    Agent,
    Constant,
    FromFunction,
    Geometric,
    Horizon,
    LocalError,
    PerCandidate,
    RetryTimers,
    Thompson,
    on_demand,
    theory,
)
from cobandit.codec import encode_record, encode_snapshot
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Graph,
    Halving,
    IndexFunction,
    OnOff,
    Partition,
    Rate,
    RelayAbsence,
    Relays,
    Scenario,
    Sine,
    Slots,
    Tape,
    scenario_to_mapping,
    schedules_from_csv,
)
from cobandit.simulator import run
from cobandit.values.checks import plain
from cobandit.values.quantum import Quantum

TIMES = Path(__file__).parent.parent / "examples" / "real_decision_times.csv"
TWO = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.5)))

DOORS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "absence": (Absence, (3, 7)),
    "agent": (lambda start, stop: AgentSpec(Rate(0.5), start=start, stop=stop), (1, 9)),
    "agent's arms": (lambda *arms: AgentSpec(Rate(0.5), arms=arms), ("A", "B")),
    "arms": (lambda *means: Arms(("A", "B"), means), (0.25, 0.5)),
    "arms of": (lambda *means: Arms.of(means), (0.25, 0.5)),
    "arms drawn": (lambda count, low, high, seed: Arms.uniform(count, low, high, seed=seed), (3, 0.25, 0.5, 2**62)),
    "names of arms": (lambda *names: Arms(names, (0.25, 0.5)), ("A", "B")),
    "policy": (lambda alpha, decisions: BuiltIn("ucb", alpha=alpha, confidence=Horizon(decisions)), (2.5, 100)),
    "index": (lambda alpha: IndexFunction(max, alpha=alpha), (2.5,)),
    "constant": (Constant, (3,)),
    "geometric": (Geometric, (3, 2**40)),
    "per candidate": (PerCandidate, (64,)),
    "function": (lambda size: FromFunction(lambda c: size if c == 1 else 2**40).values, (3,)),
    "timers": (RetryTimers, (16.0, 2.0, 1.5, 64.0, 1024.0)),
    "rate": (Rate, (0.25,)),
    "halving": (Halving, (0.25,)),
    "sine": (Sine, (0.5, 30.0)),
    "on and off": (OnOff, (0.5, 0.25)),
    "slots": (lambda *slots: Slots(slots), (1, 5, 9)),
    "times": (lambda seconds: schedules_from_csv(TIMES, seconds_per_slot=seconds), (0.125,)),
    "faults": (lambda loss, jitter, held: Faults(loss=loss, jitter=jitter, held_back=held), (0.25, 4, 8)),
    "partition": (lambda start, stop, one, other: Partition(start, stop, (one,), (other,)), (1, 5, 0, 1)),
    "relays": (Relays, (3, 2)),
    "relay that is away": (RelayAbsence, (1, 5, 9)),
    "edges": (lambda one, two, three: Graph(((one, two), (two, three))), (0, 1, 2)),
    "ring": (Graph.ring, (5,)),
    "grid": (Graph.grid, (6,)),
    "random graph": (lambda agents, degree, seed: Graph.random(agents, degree, seed=seed), (8, 3, 2**62)),
    "scenario": (lambda horizon, delay: Scenario(horizon, Arms.of([0.5]), TWO, delay=delay), (50, 3)),
    "tape": (lambda seed, trial: Tape(seed, trial).trial_key, (2**62, 5)),
    "Thompson's seed": (lambda seed: Thompson(["A", "B"], seed=seed).seed, (2**63 - 1,)),
    "quantum": (Quantum, (0.5,)),
    "alpha": (lambda alpha: [kind(["A"], alpha=alpha).alpha for kind in (UCB, AAE, KLUCB)], (2.5,)),
    "reward": (lambda reward: Quantum(0.5).units(reward), (0.5,)),
    "theorem 1": (
        lambda gap, alpha, n: theory.ucb_regret_bound([0.0, gap], alpha=alpha, agent_count=2, total_decisions=n),
        (0.25, 3.0, 1000),
    ),
    "theorem 2": (lambda one, two: theory.total_share_bound(theory.ucb_share_counts([one, two], Constant(1))), (9, 4)),
    "corollary 1": (lambda one, two, size: theory.constant_order([one, two], size), (1000, 30, 4)),
    "corollary 2": (lambda one, two, base: theory.geometric_order([one, two], base), (1000, 30, 2)),
    "lower bound": (lambda low, high: theory.lower_bound_slope([low, high]), (0.25, 0.5)),
}


def as_numpy(value: Any) -> Any:
    return {int: np.int64, float: np.float64, str: np.str_}[type(value)](value)


@pytest.mark.parametrize("door", DOORS)
def test_numbers_of_numpy_are_taken_and_become_plain(door: str) -> None:
    build, arguments = DOORS[door]
    ref, got = build(*arguments), build(*map(as_numpy, arguments))
    assert repr(got) == repr(ref)  # np.int64(3) == 3, but it does not look like it
    assert type(got) is type(ref)


@pytest.mark.parametrize("door", DOORS)
def test_booleans_are_refused(door: str) -> None:
    build, arguments = DOORS[door]
    for boolean in (True, np.True_):
        with pytest.raises(LocalError):
            build(boolean, *arguments[1:])


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint16, np.int64, np.uint64])
def test_every_integer_of_numpy_is_one(kind: type[np.integer[Any]]) -> None:
    assert repr(Constant(plain(kind(3)))) == repr(Constant(kind(3))) == repr(Constant(3))  # type: ignore[arg-type]


def test_arrays_are_taken_for_tuples() -> None:
    got = Scenario(
        np.int64(40),  # type: ignore[arg-type]
        Arms(np.array(["A", "B"]), np.array([0.25, 0.5], np.float32)),  # type: ignore[arg-type]
        (AgentSpec(Slots(np.arange(0, 40, 2))), AgentSpec(Rate(np.float32(0.5)))),  # type: ignore[arg-type]
    )
    ref = Scenario(40, Arms(("A", "B"), (0.25, 0.5)), (AgentSpec(Slots(tuple(range(0, 40, 2)))), AgentSpec(Rate(0.5))))
    assert repr(got) == repr(ref)
    assert json.dumps(scenario_to_mapping(got)) == json.dumps(scenario_to_mapping(ref))
    assert run(got, seed=np.int64(3), trial=np.int32(1), checkpoints=np.array([10, 20])) == run(  # type: ignore[arg-type]
        ref, seed=3, trial=1, checkpoints=[10, 20]
    )


def test_simulate_takes_numbers_of_numpy_and_keeps_plain_ones(tmp_path: Path) -> None:
    world = Scenario(40, Arms.of([0.25, 0.5]), TWO)
    got = cobandit.simulate(
        world,
        trials=np.int64(2),  # type: ignore[arg-type]
        seed=np.int64(2**62),  # type: ignore[arg-type]
        workers=np.int16(1),  # type: ignore[arg-type]
        checkpoints=np.array([10, 30]),  # type: ignore[arg-type]
        engine="reference",
        out=tmp_path / "out",
    )
    ref = cobandit.simulate(world, trials=2, seed=2**62, checkpoints=(10, 30), engine="reference")
    assert (got.about, got.summary()) == (ref.about, ref.summary())
    counted = cobandit.simulate(world, trials=1, checkpoints=np.int64(4), engine="reference")  # type: ignore[arg-type]
    assert counted.about.checkpoints == (10, 20, 30, 40)


def test_an_agent_takes_rewards_times_and_arms_of_numpy_and_writes_plain_ones() -> None:
    names = np.array(["A", "B"])
    timers = RetryTimers(np.float64(256.0))
    got = Agent("j", UCB(names), on_demand(loss_tolerant=timers), incarnation=np.int64(3))  # type: ignore[arg-type]
    ref = Agent("j", UCB(["A", "B"]), on_demand(loss_tolerant=RetryTimers(256.0)), incarnation=3)
    for agent, time in ((got, np.int64(5)), (ref, 5)):
        agent.peer_joined("p", names if agent is got else ("A", "B"), now=time)  # type: ignore[arg-type]
        agent.limit_facts(np.int64(7) if agent is got else 7)  # type: ignore[arg-type]
    outcomes = [
        got.update(names[0], np.float32(1.0), np.int64(6)),  # type: ignore[arg-type]
        ref.update("A", 1.0, 6),
    ]
    written = [[encode_record(record) for record in outcome.records] for outcome in outcomes]
    assert written[0] == written[1]
    assert repr(outcomes[0]) == repr(outcomes[1])
    assert encode_snapshot(got.snapshot()) == encode_snapshot(ref.snapshot())


def test_a_live_member_takes_numbers_of_numpy() -> None:
    with cobandit.connect(
        "memory://numpy",
        group="g",
        name="a",
        arms=np.array(["A", "B"]),  # type: ignore[arg-type]
        expire_after=np.float32(3600),  # type: ignore[arg-type]
        forget_after=np.int64(86_400),  # type: ignore[arg-type]
    ) as member:
        decision = member.select_arm()
        assert type(decision.arm) is str
        assert member.update(decision, np.float32(1.0))  # type: ignore[arg-type]
