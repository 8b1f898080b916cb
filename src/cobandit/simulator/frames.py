"""The measurements of many trials, as tidy frames: which frames and columns exist, and how trials become frames.

Every frame begins with the scenario, the varied parameters of a sweep, and the trial. Four frames always exist, because
they are small: a row per trial, per agent, per checkpoint and per arm. Three are kept only on request, because they
grow with agents times arms, with pairs, or with checkpoints times agents.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

TOTALS = {
    "decisions": "int64",
    "shares": "int64",
    "notices": "int64",
    "retries": "int64",
    "acknowledgements": "int64",
    "messages": "int64",
    "agent_rounds": "int64",
    "bytes": "int64",
    "definition_bits": "float64",
    "staleness": "float64",
    "group_regret": "float64",
    "realised_regret": "float64",
    "dynamic_regret": "float64",
}
BY_AGENT = {
    "decisions": "int64",
    "regret": "float64",
    "realised_regret": "float64",
    "dynamic_regret": "float64",
    "shares_sent": "int64",
    "shares_received": "int64",
    "notices_sent": "int64",
}
OVER_TIME = {
    "slot": "int64",
    "decisions": "int64",
    "group_regret": "float64",
    "dynamic_regret": "float64",
    "shares": "int64",
    "messages": "int64",
    "agent_rounds": "int64",
    "bytes": "int64",
    "staleness": "float64",
}
COLUMNS: dict[str, dict[str, str]] = {
    "trials": TOTALS,
    "agents": {"agent": "int64", **BY_AGENT},
    "over_time": OVER_TIME,
    "arms": {"arm": "str", "pulls": "int64", "rewards": "float64"},
    "pulls": {"agent": "int64", "arm": "str", "pulls": "int64", "rewards": "float64"},
    "links": {
        "sender": "int64",
        "receiver": "int64",
        "shares": "int64",
        "notices": "int64",
        "retries": "int64",
        "acknowledgements": "int64",
    },
    "agents_over_time": {"slot": "int64", "agent": "int64", "decisions": "int64", "regret": "float64"},
}
"""The columns of each frame after the scenario and the trial."""


def frame_of(
    name: str,
    parts: Sequence[tuple[str, int, Mapping[str, Sequence[Any]]]],
    arm_names: Mapping[str, Sequence[str]],
    parameters: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Return the columns of all trials, stacked.

    Args:
        name: The frame's name.
        parts: For each trial its scenario, its number and its columns.
        arm_names: The names of the arms, by scenario.
        parameters: The varied parameters of a sweep, by scenario: columns after the scenario's.
    """
    kinds = COLUMNS[name]
    scenarios: list[str] = []
    trials: list[int] = []
    columns: dict[str, list[Any]] = {column: [] for column in kinds}
    for scenario, trial, part in parts:
        rows = len(part[next(reversed(kinds))])
        scenarios += [scenario] * rows
        trials += [trial] * rows
        for column in kinds:
            if column == "arm":
                columns[column] += [arm_names[scenario][place] for place in part[column]]
            else:
                columns[column] += part[column] if column in part else range(rows)
    varied = {
        column: [parameters[scenario][column] for scenario in scenarios]
        for column in next(iter(parameters.values()), {})
    }
    frame = pd.DataFrame({"scenario": pd.Series(scenarios, dtype="str"), **varied, "trial": trials, **columns})
    return frame.astype({"trial": "int64", **kinds})


def empty(name: str, parameters: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return a frame without rows."""
    return frame_of(name, (), {}, parameters)
