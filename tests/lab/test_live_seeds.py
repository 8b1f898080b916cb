"""Twenty live fleets in which everything goes wrong, and nothing may be wrong. `make swarm` runs five thousand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cobandit
import lab
from lab.live_swarm import run_seed, run_seeds
from lab.live_swarm.plan import Kind, plan
from lab.swarm import Transcript

SEEDS, CHUNK = 20, 10

SMALL = (0, 2, 3, 4, 6, 7)
"""Fleets to which little happens: seconds, all together."""


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_seed_violates_an_invariant(first: int) -> None:
    failed = {
        verdict.seed: verdict.violations for verdict in run_seeds(range(first, first + CHUNK)) if verdict.violations
    }
    assert failed == {}


def test_the_same_seed_does_the_same_in_another_process() -> None:
    program = f"from lab.live_swarm import run_seed; print(*(run_seed(seed).fingerprint for seed in {SMALL}))"
    paths = (Path(module.__file__ or "").parent.parent for module in (cobandit, lab))
    path = os.pathsep.join(map(str, paths))
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert told == {" ".join(run_seed(seed).fingerprint for seed in SMALL) + "\n"}


def test_keeping_the_lines_changes_nothing() -> None:
    transcript = Transcript(keep=True)
    told = run_seed(3, transcript)
    assert told == run_seed(3)
    assert transcript.lines is not None
    assert len(transcript.lines) > told.messages


def test_these_worlds_have_everything_in_them() -> None:
    kinds = {incident.kind for seed in range(SEEDS) for incident in plan(seed).incidents}
    assert kinds == set(Kind) - {Kind.DECLARE, Kind.UNDECLARE}  # which fleets do: see test_live_bandit_seeds.py
