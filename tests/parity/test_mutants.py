"""The parity proof can fail: every broken kernel of `mutants.py` is caught, without a compiler, in a few small worlds.

One process without a compiler judges them all (`differences.py`). What the readable engine does in a world is computed
once; a broken kernel is compared with that until a world differs, beginning with the one that noticed it once.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.parity.mutants import MUTANTS, Mutant

Judge = Callable[[str], str]
"""Takes the place of a mutant in the list, or a minus for the kernel as it is, and returns where it differs."""


PLACES = range(0, len(MUTANTS), 1 if os.environ.get("COBANDIT_ALL_MUTANTS") else 3)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    command = [sys.executable, "-m", "tests.parity.differences"]
    with subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None

        def ask(question: str) -> str:
            asked.write(f"{question}\n")
            answer = told.readline()
            assert answer, "the judge has ended: its error is above"
            return answer.strip()

        yield ask


def test_the_kernel_as_it_is_differs_nowhere(judge: Judge) -> None:
    assert judge("-") == "the same in every world"


@pytest.mark.parametrize("place", PLACES, ids=[f"{MUTANTS[one].where}-{MUTANTS[one].right[:30]}" for one in PLACES])
def test_a_broken_kernel_is_caught(judge: Judge, place: int) -> None:
    assert judge(str(place)) != "the same in every world", f"nobody noticed: {MUTANTS[place].wrong!r}"


@pytest.mark.parametrize(
    ("where", "right", "places"),
    [
        ("talking.number_share", "pair.shares -= 1", 0),
        ("talking.no_such_function", "pair.shares += 1", 0),
        ("sizes.integer_size", "value", 4),
    ],
)
def test_a_mutant_that_does_not_apply_is_reported(where: str, right: str, places: int) -> None:
    with pytest.raises(AssertionError, match=f"has {places} times"):
        Mutant(where, right, "0").source()
