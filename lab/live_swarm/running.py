"""Runs seeds of live fleets: one, or many on all cores."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from lab.live_swarm.allowed import AS_IT_IS, Allowed
from lab.live_swarm.plan import Plan, plan
from lab.live_swarm.world import World
from lab.swarm.checks import difference
from lab.swarm.running import REPEATED, Verdict
from lab.swarm.transcript import Transcript


def run_seed(
    seed: int,
    transcript: Transcript | None = None,
    allowed: Allowed = AS_IT_IS,
    plan_of: Callable[[int, Allowed], Plan] = plan,
) -> Verdict:
    """Run the world of a seed, and return what came of it. There are several kinds of worlds, each with its plans.

    >>> run_seed(1).violations
    ()
    """
    transcript = transcript or Transcript()
    world = World(plan_of(seed, allowed), transcript)
    world.run()
    return Verdict(
        seed,
        tuple(world.inspector.violations),
        world.timeline.events,
        world.network.packets,
        world.starts,
        transcript.fingerprint,
    )


def run_seeds(seeds: Sequence[int], *, workers: int = 1, allowed: Allowed = AS_IT_IS) -> Iterator[Verdict]:
    """Run many seeds, on so many processes, and yield what came of each, in order."""
    checked = partial(_checked, allowed=allowed)
    if workers == 1:
        yield from map(checked, seeds)
        return
    with ProcessPoolExecutor(workers) as executor:
        yield from executor.map(checked, seeds, chunksize=8)


def _checked(seed: int, allowed: Allowed) -> Verdict:
    """Run a seed, and one in `REPEATED` twice."""
    verdict = run_seed(seed, allowed=allowed)
    if seed % REPEATED or verdict.violations:
        return verdict
    wrong = difference(seed, verdict.fingerprint, run_seed(seed, allowed=allowed).fingerprint)
    return Verdict(seed, tuple(wrong), verdict.events, verdict.messages, verdict.restarts, verdict.fingerprint)
