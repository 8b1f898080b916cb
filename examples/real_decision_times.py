"""Replay when the agents of a real system decided: a CSV file of times becomes a scenario, and a run a transcript."""

from pathlib import Path

from cobandit.scenario import AgentSpec, Arms, Row, Scenario, schedules_from_csv, transcript
from cobandit.simulator import run

schedules = schedules_from_csv(Path(__file__).with_name("real_decision_times.csv"), seconds_per_slot=0.1)
world = Scenario(
    horizon=60,
    arms=Arms(("blue", "green"), (0.3, 0.6)),
    agents=tuple(AgentSpec(schedule) for schedule in schedules.values()),
)
rows: list[Row] = []
run(world, seed=1, trace=rows)
print(transcript(rows, agents=list(schedules), arms=world.arms.names))
