"""Runs seeds: one, or many on all cores."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from lab.swarm.checks import difference
from lab.swarm.place_worlds import world_of
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
    world = World(world_of(seed), transcript)
    world.run()
    return Verdict(
        seed, tuple(world.inspector.violations), world.events, world.messages, world.restarts, transcript.fingerprint
    )


def run_seeds(seeds: Sequence[int], *, workers: int = 1) -> Iterator[Verdict]:
    """Run many seeds, on so many processes, and yield what came of each, in order."""
    yield from judged(run_seed, seeds, workers)


def judged(run: Callable[[int], Verdict], seeds: Sequence[int], workers: int) -> Iterator[Verdict]:
    """Run seeds of any kind of world, and yield what came of each, in order: each is run once, some twice."""
    judge = partial(_judge, run)
    if workers == 1:
        yield from map(judge, seeds)
        return
    with ProcessPoolExecutor(workers) as executor:
        yield from executor.map(judge, seeds, chunksize=8)


def _judge(run: Callable[[int], Verdict], seed: int) -> Verdict:
    """Run a seed, and one in `REPEATED` twice. What a world raises is a violation of that seed; the others go on."""
    try:
        verdict = run(seed)
        if seed % REPEATED or verdict.violations:
            return verdict
        wrong = difference(seed, verdict.fingerprint, run(seed).fingerprint)
    except Exception as error:  # noqa: BLE001  # whatever it is, it names its seed
        return Verdict(seed, (f"it raised {type(error).__name__}: {error}",), 0, 0, 0, "")
    return replace(verdict, violations=tuple(wrong))
