"""Runs seeds: one, or many on all cores."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from lab.swarm.checks import difference
from lab.swarm.plan import plan
from lab.swarm.transcript import Transcript
from lab.swarm.world import World

REPEATED = 16
"""One in so many seeds is run twice, because the same seed must do the same."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one seed."""

    seed: int
    violations: tuple[str, ...]
    events: int
    messages: int
    restarts: int
    fingerprint: str


def run_seed(seed: int, transcript: Transcript | None = None) -> Verdict:
    """Run the world of a seed, and return what came of it.

    >>> run_seed(1).violations
    ()
    """
    transcript = transcript or Transcript()
    world = World(plan(seed), transcript)
    world.run()
    return Verdict(
        seed, tuple(world.inspector.violations), world.events, world.messages, world.restarts, transcript.fingerprint
    )


def run_seeds(seeds: Sequence[int], *, workers: int = 1) -> Iterator[Verdict]:
    """Run many seeds, on so many processes, and yield what came of each, in order."""
    if workers == 1:
        yield from map(_checked, seeds)
        return
    with ProcessPoolExecutor(workers) as executor:
        yield from executor.map(_checked, seeds, chunksize=8)


def _checked(seed: int) -> Verdict:
    """Run a seed, and one in `REPEATED` twice."""
    verdict = run_seed(seed)
    if seed % REPEATED or verdict.violations:
        return verdict
    wrong = difference(seed, verdict.fingerprint, run_seed(seed).fingerprint)
    return Verdict(seed, tuple(wrong), verdict.events, verdict.messages, verdict.restarts, verdict.fingerprint)
