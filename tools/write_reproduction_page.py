"""Write docs/reproduction.md from what `cobandit reproduce` measured.

    cobandit reproduce --out reproduction && python tools/write_reproduction_page.py reproduction

It keeps the measurement (report.json) and the figures in docs/reproduction, and makes the page of them. Without a
folder it makes the page again from the measurement that is kept. It measures nothing and rounds only for the eye.
"""

import json
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEPT = DOCS / "reproduction"
PAGE = DOCS / "reproduction.md"

FIGURES = {
    "overview": "How far each cell of the tables is from the published one; the band is three standard errors each way",
    "experiment-1": "Figure 2 of the paper, Experiment 1: messages and regret as the fast agents get faster",
    "experiment-1-thresholds": "Figure 4 of the paper, Experiment 1: constant and doubling thresholds",
    "experiment-2": "Figure 3 of the paper, Experiment 2: messages and regret as slow agents join",
    "experiment-2-thresholds": "Figure 6 of the paper, Experiment 2: constant and doubling thresholds",
    "experiment-4": "Figure 5 of the paper, Experiment 4: agents that slow down when they send",
    "easy": "Figure 9 of the paper, the easy instance: AAE stops talking, UCB does not",
}
"""The figures that the page shows, by file name, and what they show."""

NOTES = {
    "2": "60,000 slots instead of 80,000: the paper's numbers of slots and of decisions contradict each other here "
    "([why](decisions/0016-the-experiments.md)).",
    "3": "Algorithm 1 as printed cannot send more than 549 messages in this world, but 563 are published. If an answer "
    "needs only one buffered observation, the count matches ([why](decisions/0044-second-readings.md)).",
    "5": "Agents go offline in silence: none says that it leaves or comes back.",
    "easy": "The paper does not say which arms it used; these are ours. The point of the experiment is that AAE-ODC "
    "sends far fewer messages than UCB-ODC.",
}

FAR, NEAR = 3, 2

Report = dict[str, Any]


def main(arguments: list[str]) -> None:
    """Keep a new measurement if there is one, and write the page."""
    if arguments:
        keep(Path(arguments[0]))
    report = json.loads((KEPT / "report.json").read_text(encoding="utf-8"))
    PAGE.write_text(page(report), encoding="utf-8")
    print(f"{PAGE.name}: {len(report['experiments'])} experiments, {len(report['cells'])} published cells")


def keep(folder: Path) -> None:
    """Copy the measurement of a complete run, and the figures of the page."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    if not report["complete"] or report["arms"]["file"] is not None:
        sys.exit(
            f"{folder}: this is not all of the paper on the surrogate arms. Run `cobandit reproduce --out {folder}`."
        )
    KEPT.mkdir(exist_ok=True)
    for name in ("report.json", *(f"{figure}.svg" for figure in FIGURES)):
        shutil.copyfile(folder / name, KEPT / name)


def page(report: Report) -> str:
    """Return the page."""
    cells = report["cells"]
    regrets = [cell for cell in cells if cell["quantity"] == "group regret"]
    parts = [
        "# The paper, reproduced",
        (
            f"**{within(cells, FAR)} of {len(cells)} cells** of the paper's tables agree with our best reading within "
            f"{FAR} standard errors, and {within(regrets, NEAR)} of the {len(regrets)} regrets agree within {NEAR}. "
            "With the algorithm as printed, on one draw of arms for all experiments, "
            f"{within(cells, FAR, 'printed')} of {len(cells)} agree within {FAR}. Each cell has a comment below."
        ),
        (
            "We chose the readings after looking at the published numbers, and tried 24 readings of AAE, 8 of the "
            "answer path, 7 of UCB and 15 fits of arms ([what they are](decisions/0044-second-readings.md)). So the "
            "best reading is a fit, which is weaker evidence than a prediction. What remains unexplained:"
        ),
        "\n".join(f"- {one}" for one in report["unexplained"]),
        figure("overview"),
        (
            f"Measured by `cobandit reproduce --out reproduction` of version {report['cobandit']}, seed "
            f"{report['seed']}, on the compiled engine. `python tools/write_reproduction_page.py reproduction` made "
            "this page from that run's `report.json`. [The full report](reproduction/report.json) has more digits and "
            "more quantities."
        ),
        (
            "The paper drew its 16 arms from a data set that we cannot distribute. We use 16 surrogate means instead, "
            "fitted to the IBC regrets of Experiments 5 and 7 ([how](decisions/0016-the-experiments.md)). The best "
            "reading makes their gaps 1.074 times as large, and uses 16 other means, fitted to Experiment 3, for that "
            "experiment. Every other regret is a prediction. UCB's message counts do not depend on the arms at all. "
            "Brackets have the standard deviation between trials (sd). Standard errors combine both sides."
        ),
        (
            "Our regrets are pseudo-regrets: the gaps of the arms pulled, added up. The paper reports realised regret: "
            "what the best arm pays on average, minus the rewards received. Both have the same mean. The published sd "
            "is that of realised regret, so compare it with the last column and not with the sd beside our means."
        ),
        *(part for one in report["experiments"] for part in section(one, report)),
        "## Beyond the paper",
        (
            "[Loss tolerance](loss-tolerance.md) shows what happens when messages are lost, with "
            "`cobandit reproduce loss`."
        ),
    ]
    return "\n\n".join(wrapped(part) for part in parts) + "\n"


def wrapped(part: str) -> str:
    """Return a paragraph in lines of the usual length; tables, figures and headings keep theirs."""
    if part.startswith(("|", "[!", "#", "<")):
        return part
    return "\n".join(
        textwrap.fill(line, 120, subsequent_indent="  " * line.startswith("-"), break_on_hyphens=False)
        for line in part.splitlines()
    )


def section(one: Report, report: Report) -> list[str]:
    """Return what there is to say about one experiment."""
    name = one["experiment"]
    worlds = list(dict.fromkeys(run["world"] for run in one["runs"]))
    about = worlds[0] if len(worlds) == 1 else f"{len(worlds)} worlds, from {worlds[0]} to {worlds[-1]}"
    heading = title(name)
    parts = [f"## {heading[0].upper()}{heading[1:]}", f"{about[0].upper()}{about[1:]}. {one['trials']} trials."]
    parts += [NOTES[name]] if name in NOTES else []
    own = name if name == "easy" else f"experiment-{name}"
    parts += [figure(key) for key in FIGURES if key in {own, f"{own}-thresholds"}]
    cells = [cell for cell in report["cells"] if cell["experiment"] == name]
    return parts + (published_beside_ours(cells) if cells else [measured(one["runs"], single=len(worlds) == 1)])


def published_beside_ours(cells: list[Report]) -> list[str]:
    """Return a table of cells, and a sentence on each."""
    lines = [
        "| | | published | as printed | errors | best reading | errors | realised sd |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    sentences: dict[str, list[str]] = {}
    for cell in cells:
        far = " **differs**" if cell["best_reading"]["differs"] else ""
        realised = f"{cell['realised']['sd']:,.0f}" if "realised" in cell else ""
        sides = " | ".join(
            f"{number(cell[side])} | {cell[side]['standard_errors']:+.1f}" for side in ("printed", "best_reading")
        )
        lines.append(
            f"| {cell['algorithm']} | {cell['quantity']}{far} | {number(cell['published'])} | {sides} | {realised} |"
        )
        sentences.setdefault(cell["sentence"], []).append(f"{cell['algorithm']}, {cell['quantity']}")
    return ["\n".join(lines), "\n".join(f"- *{'; '.join(who)}*: {told}" for told, who in sentences.items())]


def within(cells: list[Report], errors: float, side: str = "best_reading") -> int:
    """Return how many cells are within so many standard errors."""
    return sum(abs(cell[side]["standard_errors"]) <= errors for cell in cells)


def measured(runs: list[Report], *, single: bool) -> str:
    """Return the numbers of an experiment that the paper shows as a figure only."""
    lines = [
        "| | "
        + ("" if single else "world | ")
        + "communications | Theorem 2 allows | group regret | Theorem 1 allows |",
        "| --- | " + ("" if single else "--- | ") + "---: | ---: | ---: | ---: |",
    ]
    for run in runs:
        world = "" if single else f"{run['world']} | "
        lines.append(
            f"| {run['algorithm']} | {world}{number(run['totals']['shares'])} | {bound(run['theorem_2'])} | "
            f"{number(run['totals']['group_regret'])} | {bound(run['theorem_1'])} |"
        )
    table = "\n".join(lines)
    if single:
        return table
    return f'<details markdown="1">\n<summary>All numbers of the figures</summary>\n\n{table}\n\n</details>'


def figure(name: str) -> str:
    """Return a figure of the page, which leads to itself: on a phone it is small."""
    return f"[![{FIGURES[name]}](reproduction/{name}.svg)](reproduction/{name}.svg)"


def title(experiment: str) -> str:
    """Return what an experiment is called."""
    return "the easy instance" if experiment == "easy" else f"Experiment {experiment}"


def number(measured: Report) -> str:
    """Return a mean and a deviation."""
    return f"{measured['mean']:,.0f} (sd {measured['sd']:,.0f})"


def bound(most: float | None) -> str:
    """Return what a theorem allows, if it says something."""
    return "" if most is None else f"{most:,.0f}"


if __name__ == "__main__":
    main(sys.argv[1:])
