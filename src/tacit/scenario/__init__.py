"""The world as data, and the chance and the record of a run in it."""

from tacit.scenario.arms import Arms
from tacit.scenario.scenario import Absence, AgentSpec, BuildPolicy, BuiltIn, IndexFunction, Scenario
from tacit.scenario.schedules import Halving, OnOff, Rate, Schedule, Sine, Slots, schedules_from_csv
from tacit.scenario.tape import Tape
from tacit.scenario.trace import Kind, Row, transcript

__all__ = [
    "Absence",
    "AgentSpec",
    "Arms",
    "BuildPolicy",
    "BuiltIn",
    "Halving",
    "IndexFunction",
    "Kind",
    "OnOff",
    "Rate",
    "Row",
    "Scenario",
    "Schedule",
    "Sine",
    "Slots",
    "Tape",
    "schedules_from_csv",
    "transcript",
]
