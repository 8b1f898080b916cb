"""What on-demand communication does, in one table and one picture.

Twenty agents, two of them 25 times as fast as the rest, face the same 16 arms. They learn alone, by immediate
broadcast, and on demand; regret and messages are set side by side, on the same tapes.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cobandit.core import Geometric, Sharing, immediate, on_demand, silent
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.core.protocols.on_demand import ON_DEMAND
from cobandit.core.protocols.silent import SILENT
from cobandit.scenario import AgentSpec, BuiltIn, Rate, Scenario
from cobandit.simulator.canvas import Picture, picture, series
from cobandit.simulator.interval import estimate, half_width
from cobandit.simulator.simulate import Progress, World, simulate
from cobandit.studies.paper import surrogate_arms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HORIZON = 20_000
SEED = 1
FAST, SLOW = 0.5, 0.02
AGENTS = (AgentSpec(Rate(FAST)),) * 2 + (AgentSpec(Rate(SLOW)),) * 18

WAYS: dict[str, Callable[[], Sharing]] = {
    SILENT.title: silent,
    f"{IMMEDIATE.title} ({IMMEDIATE.label})": immediate,
    f"{ON_DEMAND.title} ({ON_DEMAND.label})": on_demand,
    f"{ON_DEMAND.title}, doubling to 64": lambda: on_demand(Geometric(2, cap=64)),
    f"{ON_DEMAND.title}, doubling": lambda: on_demand(Geometric(2)),
}


@dataclass(frozen=True)
class Line:
    """One way of sharing, over all trials."""

    way: str
    shares: tuple[int, ...]
    regrets: tuple[float, ...]
    decisions: int

    @property
    def mean_shares(self) -> float:
        """Messages in a run, on average."""
        return statistics.fmean(self.shares)

    @property
    def mean_regret(self) -> float:
        """Group regret of a run, on average."""
        return statistics.fmean(self.regrets)

    @property
    def regret_half(self) -> float:
        """Half of the 95 % interval of the mean regret; 0 if there is one trial."""
        return half_width(estimate(self.regrets)) or 0.0


def scenario(way: str) -> Scenario:
    """Return the demonstration's world with one way of sharing."""
    return Scenario(HORIZON, surrogate_arms(), AGENTS, BuiltIn("ucb"), WAYS[way]())


def measure(*, trials: int, workers: int | None = None, progress: Progress | None = None) -> list[Line]:
    """Run every way of sharing on the same tapes."""
    worlds: dict[str, World] = {way: scenario(way) for way in WAYS}
    results = simulate(worlds, trials=trials, seed=SEED, workers=workers, progress=progress)
    lines = []
    for way in WAYS:
        rows = results.trials[results.trials["scenario"] == way]
        decisions = round(statistics.fmean(rows["decisions"]))
        lines.append(Line(way, tuple(map(int, rows["shares"])), tuple(map(float, rows["group_regret"])), decisions))
    return lines


def drawn(lines: list[Line]) -> Picture:
    """Draw regret against messages.

    Raises:
        LocalError: matplotlib is not installed.
    """
    caption = f"20 agents, {lines[0].decisions:,} decisions, 16 arms, UCB: group regret by messages per decision."
    return picture("regret-and-messages", caption, 4.2, partial(_draw, lines=lines))


def _draw(figure: "Figure", lines: list[Line]) -> None:
    axes = figure.subplots()
    for number, (line, marker) in enumerate(zip(lines, "osDv^", strict=True), 1):
        messages = line.mean_shares / line.decisions
        axes.errorbar(
            messages,
            line.mean_regret,
            yerr=line.regret_half,
            fmt=marker,
            color=series(number),
            capsize=3,
            markersize=8,
            label=f"{line.way}: {messages:.2f}",
        )
    axes.set_xscale("symlog", linthresh=0.01)
    axes.set_xlim(left=-0.002, right=100)
    axes.set_ylim(bottom=0, top=1.2 * max(line.mean_regret for line in lines))
    axes.legend(title="messages per decision", loc="lower left")
    axes.set_xlabel("messages per decision")
    axes.set_ylabel("group regret (mean, 95 % interval)")
