"""Runs seeds of fleets with pens: one, or many on several processes."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cobandit.live.machine import holding, sessions
from cobandit.live.store import restoring
from lab.live_swarm.insides import SeededSecrets
from lab.pen_swarm.plan import plan
from lab.pen_swarm.world import World
from lab.swarm.dice import Dice
from lab.swarm.running import Verdict, judged
from lab.swarm.transcript import Transcript

_DICE_OF_SECRETS = 24
_SECRETS = "secrets"


def run_seed(seed: int, transcript: Transcript | None = None) -> Verdict:
    """Run the world of a seed, and return what came of it.

    >>> run_seed(1).violations
    ()
    """
    transcript = transcript or Transcript()
    world = World(plan(seed), transcript)
    with _chance(Dice(seed, _DICE_OF_SECRETS)):
        world.run()
    network = world.network
    return Verdict(seed, tuple(world.violations), network.events, network.packets, world.starts, transcript.fingerprint)


def run_seeds(seeds: Sequence[int], *, workers: int = 1) -> Iterator[Verdict]:
    """Run many seeds, on so many processes, and yield what came of each, in order."""
    yield from judged(run_seed, seeds, workers)


@contextmanager
def _chance(dice: Dice) -> Iterator[None]:
    """Let a seed decide what machines draw by chance, and let them say nothing of what they do."""
    places = (holding, sessions, restoring)
    before = [getattr(module, _SECRETS) for module in places]
    log = logging.getLogger("cobandit")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        for module in places:
            setattr(module, _SECRETS, SeededSecrets(dice))
        yield
    finally:
        log.setLevel(level)
        for module, value in zip(places, before, strict=True):
            setattr(module, _SECRETS, value)
