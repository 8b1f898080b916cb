"""What is compiled is compiled once: for all constants, by one process, and without the functions of users."""

import fcntl
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cobandit.core import on_demand
from cobandit.scenario import AgentSpec, Arms, IndexFunction, Rate, Scenario
from cobandit.simulator import kernel, reference
from cobandit.simulator.kernel import jit
from cobandit.simulator.kernel.custom import address_of
from cobandit.simulator.kernel.keeping import lock_of
from cobandit.values.errors import LocalError
from cobandit.values.provenance import source_hash


def optimist(mean: float, count: int, budget: float) -> float:
    return mean + budget / (count + 1)


def refuser(mean: float, count: int, budget: float) -> float:
    if count > 3:
        raise ValueError("an index of my own")
    return mean + budget


def world(policy: IndexFunction) -> Scenario:
    return Scenario(200, Arms.of([0.2, 0.5, 0.7]), (AgentSpec(Rate(0.5)),) * 3, policy, on_demand())


def test_a_function_is_compiled_once_for_all_constants_that_it_is_called_with() -> None:
    @jit.compiled
    def twice(number: int) -> int:
        return 2 * number

    @jit.entrance
    def call(number: int) -> int:
        return twice(1) + twice(2) + twice(number)

    assert call(3) == 12
    assert len(twice.signatures) == 1  # type: ignore[attr-defined]


def test_one_process_compiles_and_others_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "FOLDER", tmp_path)  # for which no other test compiles

    class Dispatcher:
        def compile(self, signature: str) -> str:
            with lock_of(jit.FOLDER).open() as mine, pytest.raises(BlockingIOError):
                fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return f"compiled for {signature}"

    dispatcher: Any = Dispatcher()
    assert jit.in_turn(dispatcher).compile("tables") == "compiled for tables"
    with lock_of(jit.FOLDER).open() as mine:
        fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_engine_is_not_compiled_anew_for_an_index_of_ones_own() -> None:
    own = world(IndexFunction(optimist, 1.0, "own"))
    assert kernel.run(own, seed=1) == reference.run(own, seed=1)
    run: Any = kernel.engine.run
    assert len(run.signatures) == 1


def test_an_error_of_ones_own_index_is_raised() -> None:
    with pytest.raises(ValueError, match="an index of my own"):
        kernel.run(world(IndexFunction(refuser, 1.0, "own")), seed=1)


def nothing_at_four(mean: float, count: int, budget: float) -> float:
    return math.nan if count == 4 else mean + budget / count


@pytest.mark.parametrize("run", [kernel.run, reference.run], ids=["compiled", "readable"])
def test_an_index_that_is_not_a_number_is_named_by_both_engines(run: Any) -> None:
    own = IndexFunction(nothing_at_four, 1.0, "own")
    with pytest.raises(LocalError) as refused:
        run(world(own), seed=1)
    assert str(refused.value) == (
        "the index of arm '2' with 4 observations is not a number (NaN): let the index function return one"
    )


def looks_up(mean: float, count: int, budget: float) -> float:  # noqa: ARG001  # as all of them
    return mean + {"one": budget}["one"]


def asks(mean: float, count: int, budget: float) -> float:  # noqa: ARG001
    return mean.largest + budget  # type: ignore[attr-defined, no-any-return]


def forgets(mean: float, count: int) -> float:  # noqa: ARG001
    return mean


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="there is no compiler to refuse anything")
@pytest.mark.parametrize(
    ("index", "line", "why"),
    [
        (looks_up, 'return mean + {"one": budget}["one"]', "it makes a list, a text, a dictionary or an array"),
        (asks, "return mean.largest + budget", "Unknown attribute 'largest' of type float64"),
        (forgets, "def forgets(mean: float, count: int)", "3 argument types given, but function takes 2 arguments"),
    ],
)
def test_an_index_that_cannot_be_compiled_is_told_by_name_line_and_way_out(index: Any, line: str, why: str) -> None:
    with pytest.raises(LocalError) as refused:
        kernel.run(world(IndexFunction(index)), seed=1)
    said = str(refused.value)
    assert said.startswith(f"the function {index.__name__} cannot be compiled (test_compiling.py, line ")
    assert f": {line}" in said
    assert why in said
    assert said.endswith('or run it with engine="reference", which takes any Python')


def kept(mean: float, count: int, budget: float) -> float:
    return mean - budget / (count + 1)


COUNTED = """
import sys
from numba.core import compiler
from tests.parity.test_compiling import optimist
from cobandit.simulator.kernel.custom import address_of

made = []
compile_extra = compiler.compile_extra
compiler.compile_extra = lambda *args, **options: made.append(1) or compile_extra(*args, **options)
address_of(optimist)
print(len(made))
"""


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="there is no compiler")
def test_an_index_of_ones_own_is_compiled_once_for_all_processes() -> None:
    address_of(optimist)
    found = subprocess.run(
        [sys.executable, "-c", COUNTED], cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True
    )
    assert found.stdout == "0\n"


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="there is no compiler")
def test_an_index_whose_source_is_not_known_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "FOLDER", tmp_path)  # where no other test keeps anything
    address_of(lambda mean, count, budget: mean + budget * count)
    assert list(tmp_path.iterdir()) == []
    address_of(kept)
    assert [path.name for path in (tmp_path / "own").iterdir()] == [source_hash(kept)]
