"""Live fleets of real processes under real faults. `tacit faults` runs them.

In each scenario every member writes down, outside its state, which rewards it was handed and which a sync has called
safe. When the faults are over and all is quiet, everybody must know the same: nothing that was synced is lost, nothing
counts twice, and every pair talks again.
"""

from tacit.testing.faults.fleet import Plan
from tacit.testing.faults.running import SCENARIOS, chosen, try_scenario, try_scenarios
from tacit.testing.faults.verdict import Verdict

__all__ = ["SCENARIOS", "Plan", "Verdict", "chosen", "try_scenario", "try_scenarios"]
