"""Baselines for a simulation: the same world without communication, and with immediate broadcast.

This file decides which baselines a world has, and which would take too long. They run on the tapes of the run itself,
so in each trial all have the same decision times and the same luck.
"""

from dataclasses import replace

from cobandit.core import immediate, silent
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.core.protocols.silent import SILENT
from cobandit.scenario.scenario import Scenario
from cobandit.values.errors import LocalError

MOST_SHARES = {"compiled": 1_000_000_000, "reference": 2_000_000}
"""Maximum number of shares that a broadcast may send in all trials, by engine: under a minute or two."""


def baselines(scenario: Scenario, decisions: float, trials: int, engine: str) -> dict[str, Scenario]:
    """Return the worlds to compare a scenario with, by name.

    Args:
        scenario: The world.
        decisions: The average number of decisions in a trial.
        trials: The number of trials.
        engine: The engine, which determines how long a broadcast takes.
    """
    ways = {SILENT.title: silent()}
    if scenario.topology is None and not why_no_broadcast(scenario, decisions, trials, engine):
        ways[IMMEDIATE.title] = immediate()
    found = {}
    for title, sharing in ways.items():
        try:
            world = replace(scenario, sharing=sharing)
        except LocalError:
            continue  # this world requires its own way to talk
        if world != scenario:
            found[title] = world
    return found


def why_no_broadcast(scenario: Scenario, decisions: float, trials: int, engine: str) -> str:
    """Return in words why a broadcast would take too long; empty if it would not. Arguments are as of `baselines`."""
    shares, most = decisions * (len(scenario.agents) - 1) * trials, MOST_SHARES[engine]
    if shares <= most:
        return ""
    return (
        f"{IMMEDIATE.title} is left out: it would send {shares:,.0f} shares, and more than {most:,} take "
        f"minutes on the {engine} engine"
    )
