"""Runs seeds of live fleets: one, or many on all cores."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from lab.live_swarm.allowed import AS_IT_IS, Allowed
from lab.live_swarm.bandit_worlds import bandit_plan
from lab.live_swarm.leaf_worlds import leaf_plan
from lab.live_swarm.plan import Plan, plan
from lab.live_swarm.world import World
from lab.swarm.running import Verdict, judged
from lab.swarm.transcript import Transcript

PlanOf = Callable[[int, Allowed], Plan]
WORLDS: dict[str, PlanOf] = {"mesh": plan, "leaves": leaf_plan, "bandits": bandit_plan}
"""The kinds of worlds that there are, each with its plans."""


def run_seed(
    seed: int,
    transcript: Transcript | None = None,
    allowed: Allowed = AS_IT_IS,
    plan_of: PlanOf = plan,
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


def run_seeds(
    seeds: Sequence[int], *, workers: int = 1, allowed: Allowed = AS_IT_IS, plan_of: PlanOf = plan
) -> Iterator[Verdict]:
    """Run many seeds, on so many processes, and yield what came of each, in order."""
    yield from judged(partial(run_seed, allowed=allowed, plan_of=plan_of), seeds, workers)
