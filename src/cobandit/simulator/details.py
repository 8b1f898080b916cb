"""The measurements of one run as columns: by checkpoint, by arm, and further ones on request.

Columns are plain lists, so that a trial is small and can be sent anywhere. `frames.py` turns them into frames.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from cobandit.scenario.scenario import Scenario
from cobandit.simulator.result import Result
from cobandit.values.errors import LocalError

Detail = Literal["pulls", "links", "agents_over_time"]
"""A frame that is kept only on request."""

MAX_DETAIL_ROWS = 200_000
"""Maximum rows of one trial in such a frame."""

Columns = dict[str, list[Any]]


def check_details(scenario: Scenario, keep: Sequence[str], checkpoints: int) -> None:
    """Raise unless these frames can be kept for a scenario.

    Raises:
        LocalError: There is no such frame, it needs checkpoints, or it would be too large.
    """
    agents = len(scenario.agents)
    for name in keep:
        if name not in get_args(Detail):
            raise LocalError(f"keep {name!r} is not one of {', '.join(get_args(Detail))}")
        if name == "agents_over_time" and not checkpoints:
            raise LocalError("agents_over_time has a row for each checkpoint: give checkpoints=50, say")
        pairs = agents**2 if scenario.topology is None else 0  # other topologies have few links
        rows = {"pulls": agents * len(scenario.arms.names), "links": pairs, "agents_over_time": checkpoints * agents}
        if rows[name] > MAX_DETAIL_ROWS:
            raise LocalError(
                f"{name} would have up to {rows[name]:,} rows per trial, more than {MAX_DETAIL_ROWS:,}: "
                "leave it out of keep, or use fewer agents"
            )


def over_time_of(result: Result) -> Columns:
    """Return the columns of `over_time`."""
    return {
        "slot": result.checkpoints.tolist(),
        "decisions": result.decisions_at,
        "group_regret": result.group_regret_at,
        "dynamic_regret": result.dynamic_regret_at,
        "shares": result.shares_at.tolist(),
        "messages": result.messages_at.tolist(),
        "agent_rounds": result.agent_rounds_at.tolist(),
        "bytes": result.bytes_at.tolist(),
        "staleness": result.staleness_at,
    }


def arms_of(result: Result) -> Columns:
    """Return the columns of `arms`. Arms are given by position until they are in a frame."""
    pulls = result.pulls.sum(axis=0).tolist()
    return {"arm": list(range(len(pulls))), "pulls": pulls, "rewards": result.rewards.sum(axis=0).tolist()}


def details_of(result: Result, keep: Sequence[str]) -> dict[str, Columns]:
    """Return the columns of the requested frames."""
    return {name: _DETAILS[name](result) for name in keep}


def _pulls(result: Result) -> Columns:
    agent, arm = np.nonzero(result.pulls)
    return {
        "agent": agent.tolist(),
        "arm": arm.tolist(),
        "pulls": result.pulls[agent, arm].tolist(),
        "rewards": result.rewards[agent, arm].tolist(),
    }


def _links(result: Result) -> Columns:
    """Return the links over which anything was sent."""
    said = result.communication
    kinds = {name: getattr(said, name) for name in ("shares", "notices", "retries", "acknowledgements")}
    used = np.nonzero(sum(kinds.values()))
    ends = used if said.links is None else (said.links[used[0], 0], said.links[used[0], 1])
    columns = {name: counts[used].tolist() for name, counts in kinds.items()}
    return {"sender": ends[0].tolist(), "receiver": ends[1].tolist(), **columns}


def _agents_over_time(result: Result) -> Columns:
    agents, slots = len(result.agents), len(result.checkpoints)
    return {
        "slot": np.repeat(result.checkpoints, agents).tolist(),
        "agent": list(range(agents)) * slots,
        "decisions": result.pulls_at.sum(axis=2).ravel().tolist(),
        "regret": result.regrets_at.ravel().tolist(),
    }


_DETAILS = {"pulls": _pulls, "links": _links, "agents_over_time": _agents_over_time}
