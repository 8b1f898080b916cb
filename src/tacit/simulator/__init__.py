"""Virtual time: engines that run a scenario."""

from tacit.simulator.reference import run
from tacit.simulator.result import Communication, Result

__all__ = ["Communication", "Result", "run"]
