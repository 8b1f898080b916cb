"""Live fleets of real processes under real faults. `python -m lab faults` runs them; `running.py` is the door.

In each scenario every member writes down, outside its state, which rewards it was handed and which a sync has called
safe. When the faults are over and all is quiet, everybody must know the same: nothing that was synced is lost, nothing
counts twice, and every pair talks again. This file imports nothing, because every worker process reads it.
"""
