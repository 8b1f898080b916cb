"""The world as data, with the randomness and the record of a run in it."""

from cobandit.policies.registry import BuiltIn
from cobandit.scenario.arms import Arms
from cobandit.scenario.changes import Linear, Sinusoid, Switches, Walk
from cobandit.scenario.faults import Faults, Partition
from cobandit.scenario.file import ScenarioFile, read_scenario, scenario_from_mapping
from cobandit.scenario.forgetting import Forgetting
from cobandit.scenario.paying import Bernoulli, Beta, Discrete, Normal, OwnReward, Replay
from cobandit.scenario.scenario import Absence, AgentSpec, BuildPolicy, IndexFunction, Scenario
from cobandit.scenario.schedules import Halving, OnOff, Rate, Schedule, Sine, Slots, schedules_from_csv
from cobandit.scenario.tape import Tape
from cobandit.scenario.topology import Graph, RelayAbsence, Relays, Topology
from cobandit.scenario.trace import Kind, Row, transcript
from cobandit.scenario.writing import scenario_to_mapping, scenario_to_toml
from cobandit.values.reward_range import RewardRange

__all__ = [
    "Absence",
    "AgentSpec",
    "Arms",
    "Bernoulli",
    "Beta",
    "BuildPolicy",
    "BuiltIn",
    "Discrete",
    "Faults",
    "Forgetting",
    "Graph",
    "Halving",
    "IndexFunction",
    "Kind",
    "Linear",
    "Normal",
    "OnOff",
    "OwnReward",
    "Partition",
    "Rate",
    "RelayAbsence",
    "Relays",
    "Replay",
    "RewardRange",
    "Row",
    "Scenario",
    "ScenarioFile",
    "Schedule",
    "Sine",
    "Sinusoid",
    "Slots",
    "Switches",
    "Tape",
    "Topology",
    "Walk",
    "read_scenario",
    "scenario_from_mapping",
    "scenario_to_mapping",
    "scenario_to_toml",
    "schedules_from_csv",
    "transcript",
]
