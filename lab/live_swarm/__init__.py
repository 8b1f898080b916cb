"""A swarm of seeds for whole live members: node, machine, decider, journal and packets as they ship, in virtual time.

Each seed is a small fleet whose computers are killed, lose power and disks, have wrong clocks and a bad network, while
people decide, reward, and turn switches. `python -m lab swarm --live --seeds 4711 --transcript` shows one line by line.
"""

from lab.live_swarm.allowed import Allowed
from lab.live_swarm.running import WORLDS, run_seed, run_seeds

__all__ = ["WORLDS", "Allowed", "run_seed", "run_seeds"]
