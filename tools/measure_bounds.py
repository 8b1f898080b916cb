"""Measure runs beside the bounds that go beyond the paper: relays and epochs.

    python tools/measure_bounds.py

It writes docs/bounds/bounds.json, in a few minutes. `python -m tools.pictures` draws the two figures of docs/bounds.md
from it: messages of a star and of a mesh beside what theory allows, and messages and regret by the length of an epoch.
"""

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobandit.core import Constant, Geometric, Threshold, on_demand
from cobandit.policies import Horizon
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Rate, Scenario
from cobandit.simulator import kernel
from cobandit.simulator.canvas import series
from cobandit.studies.trees import Tree, TreeRun
from cobandit.theory import (
    Epoch,
    epoch_regret_bound,
    epoch_share_bound,
    gaps_of,
    relay_share_bound,
    total_share_bound,
    ucb_share_counts,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "bounds"

TRIALS = 3
THRESHOLDS: dict[str, Threshold] = {"threshold 1": Constant(1), "doubling": Geometric(2)}

LEAVES = (5, 10, 20, 40, 80)
SLOTS = 400
"""Of a star or mesh: half of its agents decide at a rate of 0.5, half at 0.1."""

EPOCHS = (250, 500, 1_000, 2_000, 4_000)
"""Lengths of epochs in a world of three agents at 0.5 and seven at 0.05, whose eight arms change places every 4,000 of
16,000 slots: always between two epochs, never inside one."""
HORIZON, CHANGE = 16_000, 4_000
MEANS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)

Row = dict[str, Any]


def main() -> None:
    """Measure, write and draw."""
    FOLDER.mkdir(exist_ok=True)
    relays, epochs = measure_relays(), measure_epochs()
    text = json.dumps({"trials": TRIALS, "relays": relays, "epochs": epochs}, indent=1)
    (FOLDER / "bounds.json").write_text(text + "\n", encoding="utf-8")
    print(f"{text}\npython -m tools.pictures draws it.")


def measure_relays() -> list[Row]:
    """Return messages of a star and of a mesh, and what is allowed to each, by threshold and number of agents."""
    rows = []
    for name, threshold in THRESHOLDS.items():
        for leaves in LEAVES:
            rates = [0.5] * (leaves // 2) + [0.1] * (leaves - leaves // 2)
            stars = [
                TreeRun(Tree.star(rates), (0.2, 0.6, 0.8), SLOTS, threshold, threshold, seed).run()
                for seed in range(TRIALS)
            ]
            world = Scenario(
                SLOTS,
                Arms.of([0.2, 0.6, 0.8]),
                tuple(AgentSpec(Rate(rate)) for rate in rates),
                BuiltIn("ucb"),
                on_demand(threshold),
            )
            meshes = [kernel.run(world, seed=1, trial=trial, sizes=False) for trial in range(TRIALS)]
            rows.append(
                {
                    "threshold": name,
                    "agents": leaves,
                    "star": statistics.fmean(one.shares for one in stars),
                    "star_allowed": statistics.fmean(
                        relay_share_bound(one.decisions, threshold, threshold) for one in stars
                    ),
                    "mesh": statistics.fmean(one.shares for one in meshes),
                    "mesh_allowed": statistics.fmean(
                        total_share_bound(ucb_share_counts(one.decisions, threshold)) for one in meshes
                    ),
                }
            )
    return rows


def measure_epochs() -> list[Row]:
    """Return messages and regret by the length of an epoch, and what is allowed."""
    rows = []
    agents = (AgentSpec(Rate(0.5)),) * 3 + (AgentSpec(Rate(0.05)),) * 7
    for name, threshold in THRESHOLDS.items():
        for length in EPOCHS:
            shares, allowed, regret, regret_allowed = [], [], [], []
            for trial in range(TRIALS):
                epochs, sent, lost = _epochs(agents, threshold, length, trial)
                shares.append(sent)
                regret.append(lost)
                allowed.append(epoch_share_bound(epochs, threshold))
                if isinstance(threshold, Constant):
                    regret_allowed.append(epoch_regret_bound(epochs, alpha=3.0, thresholds=threshold.size))
            rows.append(
                {
                    "threshold": name,
                    "length": length,
                    "shares": statistics.fmean(shares),
                    "shares_allowed": statistics.fmean(allowed),
                    "regret": statistics.fmean(regret),
                    "regret_allowed": statistics.fmean(regret_allowed) if regret_allowed else None,
                }
            )
    return rows


def _epochs(
    agents: tuple[AgentSpec, ...], threshold: Threshold, length: int, trial: int
) -> tuple[list[Epoch], int, float]:
    """Run one world epoch by epoch: each begins anew, so each is a run of its own."""
    epochs, shares, regret = [], 0, 0.0
    for start in range(0, HORIZON, length):
        moved = start // CHANGE
        means = tuple(MEANS[(arm + moved) % len(MEANS)] for arm in range(len(MEANS)))
        world = Scenario(length, Arms.of(means), agents, BuiltIn("ucb"), on_demand(threshold))
        decisions = sum(kernel.run(world, seed=1, trial=_trial(trial, start), sizes=False).decisions)
        known = replace(world, policy=BuiltIn("ucb", alpha=3.0, confidence=Horizon(decisions)))
        result = kernel.run(known, seed=1, trial=_trial(trial, start), sizes=False)
        epochs.append(Epoch(tuple(result.decisions), tuple(gaps_of(means))))
        shares += result.shares
        regret += result.group_regret
    return epochs, shares, regret


def _trial(trial: int, start: int) -> int:
    return HORIZON * trial + start


def draw_relays(figure: "Figure", rows: list[Row]) -> None:
    """Draw messages of a star and of a mesh against the number of agents, with what is allowed to each."""
    for axes, name in zip(figure.subplots(1, 2), THRESHOLDS, strict=True):
        shown = [row for row in rows if row["threshold"] == name]
        agents = [row["agents"] for row in shown]
        for kind, colour, marker in (("mesh", 3, "^"), ("star", 1, "o")):
            axes.plot(agents, [row[f"{kind}_allowed"] for row in shown], color=series(colour), linestyle="dashed")
            axes.plot(
                agents,
                [row[kind] for row in shown],
                color=series(colour),
                linestyle="none",
                marker=marker,
                label="every pair" if kind == "mesh" else "one relay",
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(agents, [str(count) for count in agents])
        axes.minorticks_off()
        axes.set_title(f"messages, {name}")
        axes.set_xlabel("agents")
        axes.legend(loc="upper left")


def draw_epochs(figure: "Figure", rows: list[Row]) -> None:
    """Draw messages and regret against the length of an epoch, with what is allowed."""
    left, right = figure.subplots(1, 2)
    for name, colour, marker in (("threshold 1", 1, "o"), ("doubling", 2, "s")):
        shown = [row for row in rows if row["threshold"] == name]
        lengths = [row["length"] for row in shown]
        for axes, quantity in ((left, "shares"), (right, "regret")):
            limits = [row[f"{quantity}_allowed"] for row in shown]
            if None not in limits:
                axes.plot(lengths, limits, color=series(colour), linestyle="dashed")
            axes.plot(
                lengths,
                [row[quantity] for row in shown],
                color=series(colour),
                linestyle="none",
                marker=marker,
                label=name,
            )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
            axes.minorticks_off()
            axes.set_xlabel("slots in an epoch")
    left.set_title("messages")
    right.set_title("group regret")
    left.legend(loc="best")
    right.legend(loc="best")


FIGURES = {"relays": (3.2, draw_relays), "epochs": (3.2, draw_epochs)}
"""Of docs/bounds.md: their heights, and what draws them from the rows of their name."""


if __name__ == "__main__":
    main()
