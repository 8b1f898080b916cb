"""Three hundred worlds in which everything goes wrong, and nothing may be wrong. `make swarm` runs ten thousand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cobandit
import lab
from lab.swarm import Transcript, run_seed, run_seeds

SEEDS, CHUNK = 300, 20


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_invariant_is_violated(first: int) -> None:
    violated = {verdict.seed: verdict.violations for verdict in run_seeds(range(first, first + CHUNK))}
    assert {seed: sentences for seed, sentences in violated.items() if sentences} == {}


@pytest.mark.parametrize("seed", [4947])
def test_what_was_wrong_once_is_right_now(seed: int) -> None:
    """4947: an agent without its disk forgot a boot that had other arms than the boots around it."""
    assert run_seed(seed).violations == ()


def test_the_same_seed_does_the_same_in_another_process() -> None:
    paths = (Path(module.__file__ or "").parent.parent for module in (cobandit, lab))
    program = "from lab.swarm import run_seed; print(*(run_seed(seed).fingerprint for seed in range(12)))"
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert told == {" ".join(run_seed(seed).fingerprint for seed in range(12)) + "\n"}


def test_keeping_the_lines_changes_nothing() -> None:
    transcript = Transcript(keep=True)
    told = run_seed(3, transcript)
    assert told == run_seed(3)
    assert transcript.lines is not None
    assert len(transcript.lines) > told.messages


def test_many_workers_find_the_same_as_one() -> None:
    assert list(run_seeds(range(20), workers=2)) == list(run_seeds(range(20)))


def test_the_seeds_of_this_suite_see_every_kind_of_trouble() -> None:
    lines: list[str] = []
    for seed in range(60):
        transcript = Transcript(keep=True)
        run_seed(seed, transcript)
        lines += transcript.lines or ()
    text = "\n".join(lines)
    for what in (
        "crashes\n",
        "crashes in the middle of sending",
        "crashes, and its disk is rolled back",
        "crashes, and its disk is lost",
        "stops in good order",
        "leaves\n",
        "has its clock set",
        "is started a second time",
        "stops, to come back with more arms",
        "crashes, to come back with more arms",
        "it has its first arms again",
        "has arms a",
        "is superseded by boot",
        "wakes",
        "which is lost",
        "again (",
        "acknowledges",
        "formers",
        "no more",
    ):
        assert what in text, f"no seed shows: {what}"
