"""What a simulation is set beside: the same world in which nobody talks, and in which everybody is told everything.

This file owns which baselines a world has and when one would take too long. They run on the tapes of the run itself, so
trial by trial all meet the same decision times and the same luck.
"""

from dataclasses import replace

from cobandit.core import immediate, silent
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.core.protocols.silent import SILENT
from cobandit.scenario.scenario import Scenario
from cobandit.values.errors import LocalError

MOST_SHARES = {"compiled": 1_000_000_000, "reference": 2_000_000}
"""The most shares that a broadcast may send in all trials, by engine: under a minute or two."""


def baselines(scenario: Scenario, decisions: float, trials: int, engine: str) -> dict[str, Scenario]:
    """Return the worlds to set beside a scenario, by their names.

    Args:
        scenario: The world.
        decisions: How many decisions a trial has, on average.
        trials: How many trials are run.
        engine: The engine, which says how long a broadcast takes.
    """
    ways = {SILENT.title: silent()}
    if scenario.topology is None and not why_no_broadcast(scenario, decisions, trials, engine):
        ways[IMMEDIATE.title] = immediate()
    found = {}
    for title, sharing in ways.items():
        try:
            world = replace(scenario, sharing=sharing)
        except LocalError:
            continue  # it is about a world that needs its own way to talk
        if world != scenario:
            found[title] = world
    return found


def why_no_broadcast(scenario: Scenario, decisions: float, trials: int, engine: str) -> str:
    """Return why a broadcast would take too long, in words; nothing if it does not. Arguments are as of `baselines`."""
    shares, most = decisions * (len(scenario.agents) - 1) * trials, MOST_SHARES[engine]
    if shares <= most:
        return ""
    return (
        f"{IMMEDIATE.title} is left out: it would send {shares:,.0f} shares, and more than {most:,} take "
        f"minutes on the {engine} engine"
    )
