"""The world as data, and the chance and the record of a run in it."""

from tacit.scenario.arms import Arms
from tacit.scenario.faults import Faults, Partition
from tacit.scenario.file import ScenarioFile, read_scenario, scenario_from_mapping
from tacit.scenario.scenario import Absence, AgentSpec, BuildPolicy, BuiltIn, IndexFunction, Scenario
from tacit.scenario.schedules import Halving, OnOff, Rate, Schedule, Sine, Slots, schedules_from_csv
from tacit.scenario.tape import Tape
from tacit.scenario.trace import Kind, Row, transcript
from tacit.scenario.writing import scenario_to_mapping, scenario_to_toml

__all__ = [
    "Absence",
    "AgentSpec",
    "Arms",
    "BuildPolicy",
    "BuiltIn",
    "Faults",
    "Halving",
    "IndexFunction",
    "Kind",
    "OnOff",
    "Partition",
    "Rate",
    "Row",
    "Scenario",
    "ScenarioFile",
    "Schedule",
    "Sine",
    "Slots",
    "Tape",
    "read_scenario",
    "scenario_from_mapping",
    "scenario_to_mapping",
    "scenario_to_toml",
    "schedules_from_csv",
    "transcript",
]
