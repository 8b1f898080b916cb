"""The report of a reproduction: one HTML page that needs nothing else, and the same numbers as JSON.

This file owns words and layout. All numbers come from `cobandit.studies.comparison` and the runs.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import cobandit
from cobandit.look import report_page
from cobandit.look.files import write_whole
from cobandit.scenario import Arms
from cobandit.simulator.canvas import Picture
from cobandit.studies.bounds import is_bounded, regret_allowed, shares_allowed
from cobandit.studies.comparison import FAR, NEAR, Cell, Measured, Quantity, cells
from cobandit.studies.figures import overview, pictures
from cobandit.studies.loss_figures import grouped_table, loss_table, phase_table
from cobandit.studies.readings import is_second
from cobandit.studies.reproduction import STUDIES, Reproduced, Run
from cobandit.studies.sentences import sentence, unexplained

COMPLETE = "cobandit reproduce"
"""The command that runs everything."""


@dataclass(frozen=True)
class Report:
    """A reproduction, ready to be written."""

    reproduced: Sequence[Reproduced]
    seed: int
    arms: Arms
    arms_file: Path | None = None
    """Where the arms come from, if they are not the surrogate ones."""
    quick: bool = False

    @property
    def cells(self) -> list[Cell]:
        """Every published cell among the experiments, beside ours."""
        return list(cells(self.reproduced))

    def sentence(self, cell: Cell) -> str:
        """Return what there is to say about a cell."""
        return sentence(cell, surrogate=self.arms_file is None)

    @property
    def unexplained(self) -> list[str]:
        """What no reading explains, if the experiments are there and the arms are the surrogate ones."""
        return unexplained(self.cells) if self.cells and self.arms_file is None else []

    def agreeing(self, quantity: Quantity, errors: float) -> tuple[int, int]:
        """Return how many cells of a quantity are within so many standard errors, and of how many."""
        sides = [cell.best for cell in self.cells if cell.quantity == quantity]
        return sum(abs(one.errors) <= errors for one in sides), len(sides)

    @property
    def complete(self) -> bool:
        """Whether all experiments were run whole."""
        return not self.quick and {one.study.name for one in self.reproduced} == set(STUDIES)


def write(report: Report, folder: Path) -> Path:
    """Write `report.html`, `report.json` and every picture as SVG and PDF, and return the path of the page.

    A file is complete or absent: each is written beside its place and then moved there.
    """
    drawn = {one.study.name: list(pictures(one)) for one in report.reproduced}
    summary = [overview(report.cells)] if report.cells else []
    for picture in (*summary, *(picture for several in drawn.values() for picture in several)):
        for name, content in picture.files().items():
            write_whole(folder / name, content)
    write_whole(folder / "report.json", json.dumps(as_json(report), indent=1))
    page = folder / "report.html"
    write_whole(page, as_html(report, summary, drawn))
    return page


def as_json(report: Report) -> dict[str, object]:
    """Return the report for programs."""
    return {
        "cobandit": cobandit.__version__,
        "seed": report.seed,
        "complete": report.complete,
        "arms": {"file": None if report.arms_file is None else report.arms_file.name, "means": report.arms.means},
        "cells": [
            {
                "experiment": cell.experiment,
                "algorithm": cell.algorithm,
                "quantity": cell.quantity,
                "published": {"mean": cell.published, "sd": cell.published_sd},
                "printed": _measured_as_json(cell.printed),
                "best_reading": _measured_as_json(cell.best),
                **({"realised": _measured_as_json(cell.realised)} if cell.quantity == "group regret" else {}),
                "sentence": report.sentence(cell),
            }
            for cell in report.cells
        ],
        "unexplained": report.unexplained,
        "experiments": [
            {
                "experiment": one.study.name,
                "trials": one.trials,
                "seconds": round(one.seconds, 2),
                "runs": [_run_as_json(point, run) for (point, _), run in one.runs.items()],
            }
            for one in report.reproduced
        ],
    }


def as_html(report: Report, summary: Iterable[Picture], drawn: dict[str, list[Picture]]) -> str:
    """Return the page."""
    is_beyond = all(one.study.name in _OWN_TABLES for one in report.reproduced)
    title, lead = _BEYOND if is_beyond else _OF_THE_PAPER
    contents = "".join(_link(report, one) for one in report.reproduced)
    body = (
        f"{_verdict(report, summary)}<nav aria-label='Experiments'>{contents}</nav>"
        f'<section class="card"><h2>How this was made</h2>{_made(report)}</section>'
        + "".join(_section(report, one, drawn[one.study.name]) for one in report.reproduced)
    )
    return report_page(title, lead, body)


def _measured_as_json(one: Measured) -> dict[str, object]:
    return {
        "mean": one.mean,
        "sd": one.sd,
        "trials": len(one.values),
        "standard_errors": one.errors,
        "relative": one.relative,
        "differs": one.differs,
    }


def _verdict(report: Report, summary: Iterable[Picture]) -> str:
    count = len(report.cells)
    near, as_printed = (
        sum(abs((cell.best if best else cell.printed).errors) <= FAR for cell in report.cells) for best in (True, False)
    )
    parts = []
    if count:
        messages = "{} of {}".format(*report.agreeing("communications", FAR))
        regrets, close = ("{} of {}".format(*report.agreeing("group regret", errors)) for errors in (FAR, NEAR))
        parts.append(
            f'<p class="figure-number"><strong>{near} of {count} cells</strong> agree</p>'
            f"<p>In their best reading, {messages} message counts and {regrets} regrets in the paper's tables are "
            f"within {FAR:.0f} standard errors of the published values, and {close} regrets within {NEAR:.0f}. The "
            f"algorithm as printed, with one draw of arms for everything, has {as_printed} of {count} within "
            f"{FAR:.0f}. Each cell has a sentence below. The readings were chosen after looking at the published "
            "numbers, so they fit the data; they do not predict it.</p>"
        )
        if report.unexplained:
            items = "".join(f"<li>{escape(one)}</li>" for one in report.unexplained)
            parts.append(f"<h3>What remains unexplained</h3><ul>{items}</ul>")
    if not report.complete:
        parts.append(f"<p>This is a partial run. <code>{COMPLETE}</code> runs everything, 30 trials each.</p>")
    drawn = "".join(picture.html() for picture in summary)
    return f'<section class="card verdict">{"".join(parts)}{drawn}</section>' if parts or drawn else ""


def _link(report: Report, one: Reproduced) -> str:
    """Return a link to an experiment, with how many of its cells agree."""
    rows = [cell for cell in report.cells if cell.experiment == one.study.name]
    far = sum(cell.best.differs for cell in rows)
    said = f'<span class="soft">{len(rows) - far} of {len(rows)} agree</span>' if rows else ""
    return f'<a href="#{one.study.name}">{escape(_name(one))}{said}</a>'


def _made(report: Report) -> str:
    seconds = sum(one.seconds for one in report.reproduced)
    if report.arms_file is None:
        arms = (
            "The paper drew its 16 arms from a data set that cannot be shipped. This report uses <em>surrogate "
            "arms</em> instead: 16 means fitted to the IBC regrets of Experiments 5 and 7 and, for the second reading "
            "of Experiment 3, another 16 fitted to that experiment's regrets. Every other regret is a prediction. "
            "UCB's message counts do not depend on the arms at all. If you have the data set, pass your own arms with "
            "<code>--arms file.csv</code>."
        )
    else:
        arms = f"The arms come from <code>{escape(report.arms_file.name)}</code>, as you passed them."
    readings, errors = (f"<p>{_READINGS}</p>", _ERRORS) if report.cells else ("", "")
    return (
        f"<p>{arms}</p>{readings}<p>alpha = 3 throughout. Compiled engine of cobandit "
        f"{escape(cobandit.__version__)}, seed {report.seed}, run time {seconds:,.0f} seconds.{errors}</p>"
    )


def _section(report: Report, one: Reproduced, drawn: Sequence[Picture]) -> str:
    rows = [cell for cell in report.cells if cell.experiment == one.study.name]
    titles = [world.title for world in one.study.worlds.values()]
    about = titles[0] if len(titles) == 1 else f"{len(titles)} worlds, from {titles[0]} to {titles[-1]}"
    note = _NOTES.get(one.study.name, "")
    return (
        f'<section class="card" id="{one.study.name}"><h2>{escape(_heading(one))}</h2>'
        f'<p class="soft">{escape(about[0].upper() + about[1:])}. {one.trials} trials, {one.seconds:,.1f} s.</p>'
        + (f"<p>{note}</p>" if note else "")
        + "".join(picture.html() for picture in drawn)
        + (_table(report, rows) if rows else _OWN_TABLES.get(one.study.name, _plain_table)(one))
        + "</section>"
    )


def _heading(one: Reproduced) -> str:
    table = _TABLES.get(one.study.name)
    return _name(one) if table is None else f"{_name(one)} (Table {table} of the paper)"


def _name(one: Reproduced) -> str:
    return _HEADINGS.get(one.study.name, f"Experiment {one.study.name}")


def _table(report: Report, rows: Sequence[Cell]) -> str:
    lines = []
    for cell in rows:
        kind = ' class="far"' if cell.best.differs else ""
        lines.append(
            f"<tr{kind}><th>{escape(cell.title)}<span>{cell.quantity}</span>{_mark(cell)}</th>"
            f"<td>{_number(cell.published, cell.published_sd)}</td>{_side(cell.printed)}{_side(cell.best)}"
            f"<td>{'' if cell.quantity == 'communications' else f'{cell.realised.sd:,.0f}'}</td></tr>"
            f'<tr class="word"><td colspan="7"><div>{escape(report.sentence(cell))}</div></td></tr>'
        )
    return (
        '<div class="wide"><table><thead><tr><th></th><th>published</th><th>as printed</th><th>errors</th>'
        f"<th>best reading</th><th>errors</th><th>realised sd</th></tr></thead><tbody>{''.join(lines)}</tbody>"
        "</table></div><p class='soft'>Means over trials; sd is the standard deviation of one trial. "
        "Errors: how many standard errors the number is above the published one. Our regrets are pseudo-regrets: "
        "the sum of the gaps of the arms pulled. The paper reports realised regret: what the best arm pays on "
        "average, minus the rewards received. Both have the same mean. The published sd is for realised regret, so "
        "compare it with the last column, not with the sd beside our means.</p>"
    )


def _side(one: Measured) -> str:
    return f"<td>{_number(one.mean, one.sd)}</td><td>{_signed(f'{one.errors:+.1f}')}</td>"


def _mark(cell: Cell) -> str:
    kind, said = ("warn", "differs") if cell.best.differs else ("good", "agrees")
    return f'<span class="mark {kind}">{said}</span>'


def _signed(number: str) -> str:
    return number.replace("-", "−")  # noqa: RUF001  # a minus, not a hyphen


def _plain_table(one: Reproduced) -> str:
    """Return the numbers of an experiment that the paper shows as a figure only."""
    heads = ("communications, sd", "Theorem 2 allows", "group regret, sd", "Theorem 1 allows")
    groups: dict[str, list[tuple[str, str]]] = {}
    for run in one.runs.values():
        cells = (
            f"<td>{_number(run.mean('shares'), run.sd('shares'))}</td><td>{_bound(_theorem_2(run))}</td>"
            f"<td>{_number(run.mean('group_regret'), run.sd('group_regret'))}</td><td>{_bound(_theorem_1(run))}</td>"
        )
        title = run.world.title
        groups.setdefault(title[0].upper() + title[1:], []).append((run.algorithm, cells))
    table = grouped_table(groups, heads)
    if len(groups) == 1:
        return table
    return f"<details><summary>All numbers of the figures</summary>{table}</details>"


def _number(mean: float, sd: float) -> str:
    return f"{mean:,.0f}<small> sd {sd:,.0f}</small>"


def _bound(most: float | None) -> str:
    return "" if most is None else f"{most:,.0f}"


def _theorem_1(run: Run) -> float | None:
    return regret_allowed(run) if is_bounded(run, 1) and _is_as_printed(run) else None


def _theorem_2(run: Run) -> float | None:
    return sum(shares_allowed(run).values()) if is_bounded(run, 2) and _is_as_printed(run) else None


def _is_as_printed(run: Run) -> bool:
    """Whether the run shares as the paper prints it, on a network as the paper assumes it."""
    is_other = is_second(run.algorithm) or {"LT", "P"} & set(run.algorithm.split("-"))
    return not is_other and run.world.faults.are_none


def _run_as_json(point: int, run: Run) -> dict[str, object]:
    return {
        "point": point,
        "world": run.world.title,
        "algorithm": run.algorithm,
        "totals": {name: {"mean": run.mean(name), "sd": run.sd(name)} for name in run.trials[0].totals},
        "theorem_1": _theorem_1(run),
        "theorem_2": _theorem_2(run),
    }


_BOUNDS = (
    "The dashed lines show what Theorem 2 allows ODC to send; the text gives the regret that Theorem 1 allows. "
    "Theorem 1, and for AAE also Theorem 2, assume delta = 1/N (UCB) or 1/N² (AAE) with N known. These runs use "
    "1/n<sub>j</sub>, so take both bounds as a yardstick. Theorem 1 is loose where gaps are small: each arm "
    "contributes one over its gap, and AAE's bound can exceed the cost of always pulling the worst arm."
)

_OF_THE_PAPER = (
    "On-demand communication for asynchronous multi-agent bandits, reproduced",
    (
        "<p>The experiments of the AISTATS 2023 paper by Chen, Yang, Wang, Liu, Hajiesmaili, Lui and Towsley, rerun "
        "with cobandit: the published numbers next to the reproduced ones.</p>"
    ),
)
_BEYOND = (
    "On-demand communication, beyond the paper",
    (
        "<p>Worlds that are not in the AISTATS 2023 paper, with its arms and its protocol. There are no published "
        "numbers to compare with.</p>"
    ),
)
"""Title and first sentences of a report."""

_ERRORS = (
    " A standard error combines both sides: the published deviation over √30, and ours over the square root of our "
    "number of trials. By chance alone, one cell in 370 is off by more than three of them, and one in 22 by more than "
    "two."
)

_READINGS = (
    "Every table was run twice. <em>As printed</em>: Algorithm 1, delta = 1/n<sub>j</sub>, an agent eliminates arms "
    "only after two pulls of its own, one draw of arms for all experiments. <em>Best reading</em>: delta = "
    "1/(n<sub>j</sub> + 2) for AAE, without that guard; all gaps 1.074 times as large; in Experiment 3, an answer "
    "needs one buffered observation and the arms are its own. The paper leaves some details open. We tried 24 readings "
    "of AAE, 8 of the answer path, 7 of UCB and 15 fits of the arms, and chose these after looking at the results."
)

_HEADINGS = {
    "easy": "Easy instance",
    "loss": "Loss (beyond the paper)",
    "phases": "Phases (beyond the paper)",
    "spread": "Rates that differ (beyond the paper)",
}

_TABLES = {"3": 2, "5": 3, "6a": 4, "6b": 5, "7": 6}
"""Which table of the paper has which experiment."""

_OWN_TABLES = {"loss": loss_table, "phases": phase_table, "spread": phase_table}

_NOTES = {
    "1": f"At a ratio of 25, the mean rate calls for 12.5 fast agents; here there are 13. {_BOUNDS} With doubling "
    "thresholds, the bound depends on the buffers at a moment of the run. The table uses the largest thresholds that "
    "the run can reach, which is looser still.",
    "2": "60,000 slots, not the 80,000 of the paper's setup: with 80,000, the five agents at 0.8 alone would make "
    "320,000 decisions, more than the stated total of 300,000. The dashed lines are as in Experiment 1.",
    "4": "The paper shows this only as a figure.",
    "5": "Agents go offline silently: none says that it leaves or comes back.",
    "loss": "The paper assumes that no message is lost. As printed, ODC falls silent pair by pair: a lost share is "
    "also a lost request. The loss-tolerant protocol repeats what is not acknowledged. In brackets: the number "
    "divided by the same algorithm's number when nothing is lost. In immediate broadcast, the next share that names "
    "the same arm makes up for a lost one, because shares are cumulative here; the paper's would be lost for good.",
    "phases": "Agents of one speed double in step: all exchange at the same moments, and just before each of them "
    "all explore the same arms again. With a phase for each pair (P), the same exchanges are spread out. ± is half "
    "the width of the 95 % interval of the mean. In brackets: relative to the first algorithm at the same loss.",
    "spread": "The ten fast agents have ten different rates, so nothing is in step to begin with: phases gain little "
    "here, and loss does not lower the regret.",
    "easy": "The paper does not say which arms it used. These are ours: the best arm at 0.9, the others at 0.05, 0.10, "
    "..., 0.75. The point to show is that AAE-ODC sends far fewer messages than UCB-ODC. " + _BOUNDS,
}
