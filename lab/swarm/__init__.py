"""A swarm of seeds: each is a small world in which everything goes wrong, and every invariant is checked all the time.

The protocol runs as in a live fleet (real agents, real bytes, disks and timers), only time is virtual. A seed that
fails is the whole bug report: `python -m lab swarm --seeds 4711 --transcript` shows what happened, line by line.
"""

from lab.swarm.running import Verdict, run_seed, run_seeds
from lab.swarm.transcript import Transcript

__all__ = ["Transcript", "Verdict", "run_seed", "run_seeds"]
