"""Every golden world does again what it did: see `golden.py` for how it is written down and judged.

Both engines are compared with the files. A file is rewritten only with a decision record that says why
(`tools/write_golden_traces.py`). With COBANDIT_GOLDEN_ALL=1 in the environment the readable engine adds up as many
trials as the compiled one in worlds that are judged by counts, which takes minutes.
"""

import os
import tomllib
from collections import Counter
from typing import Any

import pytest
from tests.golden.golden import (
    READABLE_TRIALS,
    TRACES,
    WORLDS,
    Run,
    World,
    all_worlds,
    counts,
    first_difference,
    run_readable,
    story,
    totals,
    written_story,
    written_totals,
)

from cobandit.scenario.scenario import Scenario
from cobandit.scenario.trace import Kind, Row
from cobandit.simulator import kernel
from cobandit.simulator.result import Result
from cobandit.simulator.trials import engine_for

ALL = all_worlds()
EXACT = [world for world in ALL if world.judged == "exact"]
COUNTED = [world for world in ALL if world.judged == "counts"]


def run_compiled(scenario: Scenario, seed: int, trial: int, trace: list[Row] | None) -> Result:
    if engine_for(scenario, "auto") != "compiled":
        pytest.skip("the compiled engine cannot run this world")
    return kernel.run(scenario, seed=seed, trial=trial, trace=trace)


each_world = pytest.mark.parametrize("world", ALL, ids=lambda world: world.name)
each_exact_world = pytest.mark.parametrize("world", EXACT, ids=lambda world: world.name)
each_counted_world = pytest.mark.parametrize("world", COUNTED, ids=lambda world: world.name)
each_engine = pytest.mark.parametrize("run", [run_readable, run_compiled], ids=["readable", "compiled"])


@each_engine
@each_exact_world
def test_an_exact_world_tells_its_story_again(world: World, run: Run) -> None:
    assert first_difference(written_story(world), story(world, run)) == ""


@each_engine
@each_counted_world
def test_a_counted_world_tells_the_story_that_was_written_anew(world: World, run: Run) -> None:
    """Decision record 0032 explains what changed in it; from here on nothing may."""
    assert first_difference(written_story(world), story(world, run)) == ""


@each_engine
@each_counted_world
def test_a_counted_world_has_its_counts(world: World, run: Run) -> None:
    if run is run_compiled and os.environ.get("NUMBA_DISABLE_JIT"):
        pytest.skip("too slow without a compiler")
    adds_few = run is run_readable and not os.environ.get("COBANDIT_GOLDEN_ALL")
    trials = READABLE_TRIALS if adds_few else world.trials
    got = totals(world, run, trials)
    judged = [total for total in written_totals(world) if total.trials == trials]
    assert [total.what for total in judged] == list(got)
    off = {
        total.what: (total, got[total.what]) for total in judged if abs(got[total.what] - total.value) > total.allowed
    }
    assert off == {}


@each_world
def test_without_a_trace_the_compiled_engine_counts_the_same(world: World) -> None:
    bare = counts(world, run_compiled(world.scenario, world.seed, 0, None))
    traced = counts(world, run_compiled(world.scenario, world.seed, 0, []))
    assert first_difference(traced, bare) == ""


def test_every_world_has_a_trace_and_every_trace_a_world() -> None:
    worlds, traces = (sorted(path.name for path in folder.iterdir()) for folder in (WORLDS, TRACES))
    assert traces == [f"{world.name}.txt" for world in ALL]
    assert worlds == [f"{world.name}.toml" for world in ALL]


def test_a_trace_is_of_the_seed_that_its_world_has() -> None:
    assert {world.name: written_story(world)[0] for world in ALL} == {world.name: f"seed {world.seed}" for world in ALL}


def test_worlds_with_eliminations_or_churn_under_faults_are_counted_and_no_others() -> None:
    changing = [world.name for world in ALL if {"tolerant faults"} < words(world) & MAY_CHANGE]
    assert [world.name for world in COUNTED] == changing


def test_a_counted_world_has_hundreds_of_messages_of_every_kind() -> None:
    kinds = ("shares", "retries", "acknowledgements", "notices")
    few = [
        (world.name, total)
        for world in COUNTED
        for total in written_totals(world)
        if total.what in kinds and total.value < 200
    ]
    assert few == []


def test_there_is_a_world_of_every_kind() -> None:
    assert set().union(*map(words, ALL)) == WANTED


def test_exact_worlds_have_every_kind_of_row_many_times() -> None:
    found = Counter[int]()
    for world in EXACT:
        lines = written_story(world)
        first = 1 + next(number for number, line in enumerate(lines) if line.startswith("rows "))
        found.update(int(line.split()[1]) for line in lines[first:])
    assert {kind: found[kind] for kind in Kind if found[kind] < 20} == {}


MAY_CHANGE = {"tolerant faults", "aae", "churn faults"}
"""Who has the first of these and another one may come to tell another story."""

WANTED = {
    *("ucb own", "ucb observed", "ucb horizon", "aae own", "aae observed", "aae horizon", "ucb", "aae", "kl-ucb"),
    *("kl-ucb own", "kl-ucb observed", "kl-ucb horizon", "thompson", "thompson observed"),
    *("odc", "ibc", "none", "tolerant quiet", "tolerant faults", "delay 0", "delay 1", "delay 2 or more"),
    *("constant 1", "constant above 1", "geometric", "geometric capped", "per-candidate", "per-candidate capped"),
    *("answers advance", "answers do not advance", "same arms", "other arms", "churn quiet", "churn faults"),
    *("rate", "on_off", "sine", "halving", "slots", "start", "stop"),
    *("loss", "duplication", "jitter", "reordering", "partition both ways", "partition one way"),
}
"""What golden worlds are about, in the words of `words`."""


def words(world: World) -> set[str]:
    """Return what is in a world, from its file alone: files stay what they are, whatever becomes of the code."""
    content: dict[str, Any] = tomllib.loads((WORLDS / f"{world.name}.toml").read_text(encoding="utf-8"))
    agents, policy, sharing = content["agents"], content["policy"], content["sharing"]
    confidence, delay = policy.get("confidence", "observed"), sharing.get("delay", 0)
    is_faulty = not FAULTS.isdisjoint(sharing)
    network = "faults" if is_faulty else "quiet"
    found = {
        policy["name"],
        f"{policy['name']} {'horizon' if isinstance(confidence, dict) else confidence}",
        sharing["protocol"],
        f"delay {delay}" if delay < 2 else "delay 2 or more",
        threshold_word(sharing.get("threshold", {"constant": 1})),
        "answers advance" if sharing.get("answers_advance", True) else "answers do not advance",
        "same arms" if len({frozenset(agent.get("arms", ["all"])) for agent in agents}) == 1 else "other arms",
        *(next(iter(agent.get("schedule", {"rate": None}))) for agent in agents),
        *({"start", "stop"} & {key for agent in agents for key in agent}),
        *(FAULTS & set(sharing) - {"partitions"}),
        *(f"partition {'one way' if cut.get('one_way') else 'both ways'}" for cut in sharing.get("partitions", [])),
    }
    if any("absences" in agent for agent in agents):
        found.add(f"churn {network}")
    if sharing.get("loss_tolerant"):
        found.add(f"tolerant {network}")
    return found


FAULTS = {"loss", "duplication", "jitter", "reordering", "partitions"}


def threshold_word(threshold: Any) -> str:
    if isinstance(threshold, str):
        return threshold
    kind, size = next(iter(threshold.items()))
    if kind == "constant":
        return "constant 1" if size == 1 else "constant above 1"
    is_capped = "cap" in threshold or (isinstance(size, dict) and "cap" in size)
    return f"{kind} capped" if is_capped else str(kind)
