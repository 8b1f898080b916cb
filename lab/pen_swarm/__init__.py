"""Fleets of relays and of pods that have neither a name nor a disk, in virtual time, in which everything goes wrong.

Real machines of live members (`cobandit.live.machine`) run over real packets and real journals. Nothing of a loop, a
thread or a socket is here: `lab.live_swarm` has those. `pod.py` does what a driver must do for a process without a
name.
"""

from lab.pen_swarm.running import run_seed, run_seeds

__all__ = ["run_seed", "run_seeds"]
