"""Virtual time: engines that run a scenario."""

from cobandit.values.extras import needed_by

with needed_by("the simulator"):
    from cobandit.simulator.reference import run
    from cobandit.simulator.result import Communication, Result

__all__ = ["Communication", "Result", "run"]
