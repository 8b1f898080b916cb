"""Sixty worlds in which everything goes wrong, and nothing may be wrong. `make swarm` runs ten thousand."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import cobandit
import lab
from cobandit.values.errors import LocalError
from lab.swarm import Transcript, Verdict, run_seed, run_seeds
from lab.swarm.plan import Kind
from lab.swarm.running import judged

SEEDS = 60


class World(NamedTuple):
    """What came of a seed, and what happened."""

    verdict: Verdict
    text: str


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    transcripts = [Transcript(keep=True) for _ in range(SEEDS)]
    verdicts = [run_seed(seed, transcript) for seed, transcript in enumerate(transcripts)]
    texts = ("\n".join(transcript.lines or ()) for transcript in transcripts)
    return [World(verdict, text) for verdict, text in zip(verdicts, texts, strict=True)]


def test_no_invariant_is_violated(worlds: list[World]) -> None:
    assert {world.verdict.seed: world.verdict.violations for world in worlds if world.verdict.violations} == {}


@pytest.mark.parametrize("seed", [4947, 975, 2816, 3902, 6365, 7182, 9199])
def test_what_was_wrong_once_is_right_now(seed: int) -> None:
    """Seeds that found something.

    4947: an agent without its disk forgot an incarnation that had other arms than those around it.
    975: an agent that was rolled back returned to a peer what it had heard of the peer's present incarnation.
    The others: an agent forgot an incarnation, and began a session above it before it heard of that.
    """
    assert run_seed(seed).violations == ()


@pytest.mark.parametrize("size", [1, 3])
def test_no_invariant_is_violated_by_small_messages(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.core.replica.MAX_FACTS_PER_MESSAGE", size)
    violated = {verdict.seed: verdict.violations for verdict in run_seeds(range(size, 10 + size))}
    assert {seed: sentences for seed, sentences in violated.items() if sentences} == {}


def test_the_same_seed_does_the_same_in_another_process(worlds: list[World]) -> None:
    paths = [Path(module.__file__ or "").parent.parent for module in (cobandit, lab)]
    program = "from lab.swarm import run_seed; print(*(run_seed(seed).fingerprint for seed in range(5)))"
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
    assert told == {" ".join(world.verdict.fingerprint for world in worlds[:5]) + "\n"}


def test_keeping_the_lines_changes_nothing(worlds: list[World]) -> None:
    assert [run_seed(seed) for seed in range(3, 6)] == [world.verdict for world in worlds[3:6]]
    assert worlds[3].text.count("\n") > worlds[3].verdict.messages


def test_many_workers_find_the_same_as_one(worlds: list[World]) -> None:
    assert list(run_seeds(range(8), workers=2)) == [world.verdict for world in worlds[:8]]


def _ends_badly(seed: int) -> Verdict:
    if seed == 2:
        raise LocalError("a record does not fit")
    return Verdict(seed, (), 1, 1, 0, "same")


def test_what_a_world_raises_is_said_of_its_seed_and_the_others_go_on() -> None:
    verdicts = list(judged(_ends_badly, range(1, 4), workers=1))
    assert [(verdict.seed, verdict.violations) for verdict in verdicts] == [
        (1, ()),
        (2, ("it raised LocalError: a record does not fit",)),
        (3, ()),
    ]


def test_the_seeds_of_this_suite_see_every_kind_of_trouble(worlds: list[World]) -> None:
    expected = [
        *(kind.value for kind in Kind if kind is not Kind.FUSE),
        "crashes in the middle of sending",
        "has arms a",
        "is superseded by session",
        "wakes",
        "which is lost",
        "again (",
        "acknowledges",
        "considers no more",
        "goes away as",
        "THE WORLD HEALS",
    ]
    text = "\n".join(world.text for world in worlds)
    assert [what for what in expected if what not in text] == []
