"""What is compiled is compiled once: for all constants, by one process, and without the functions of users."""

import fcntl
import math
from typing import Any

import pytest

from cobandit.core import on_demand
from cobandit.scenario import AgentSpec, Arms, IndexFunction, Rate, Scenario
from cobandit.simulator import kernel, reference
from cobandit.simulator.kernel import jit
from cobandit.simulator.kernel.keeping import lock_of
from cobandit.values.errors import LocalError


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


def test_one_process_compiles_and_others_wait() -> None:
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
