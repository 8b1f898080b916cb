"""Results as tables for papers: Markdown and LaTeX. ± always means half of the 95 % interval of the mean.

This file owns layout. All numbers are estimates from `Results`.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cobandit.simulator.interval import Estimate, half_width
from cobandit.simulator.numbers import UNKNOWN, decimals
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.simulator.results import Results

PRINTED = ("group_regret", "messages", "agent_rounds", "bytes", "staleness")
"""The default columns of a table: what was lost, and what was sent, by both counts that are common in the
literature."""

MEANING = "Mean over {trials} trials; ± is half of the 95 % interval of the mean (Student's t)."
_SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def markdown_table(results: "Results", quantities: Sequence[str]) -> str:
    """Return a Markdown table, with the meaning of ± below it."""
    heads, rows = _cells(results, quantities, "±")
    lines = [_markdown(heads), _markdown(["---"] * _names(results) + ["---:"] * len(quantities))]
    lines += [_markdown([cell.replace("|", "\\|") for cell in row]) for row in rows]
    return "\n".join([*lines, "", _meaning(results)]) + "\n"


def latex_table(results: "Results", quantities: Sequence[str]) -> str:
    """Return a LaTeX tabular with the rules of booktabs, and the meaning of ± as a comment above it."""
    heads, rows = _cells(results, quantities, r"$\pm$")
    columns = "l" * _names(results) + "r" * len(quantities)
    body = [_latex([_escaped(head) for head in heads]), r"\midrule"]
    body += [_latex([*map(_escaped, row[: _names(results)]), *row[_names(results) :]]) for row in rows]
    begin = [f"% {_meaning(results)}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    return "\n".join([*begin, *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _cells(results: "Results", quantities: Sequence[str], sign: str) -> tuple[list[str], list[list[str]]]:
    for quantity in quantities:
        if quantity not in results.quantities:
            raise LocalError(f"{quantity!r} was not measured: there is {', '.join(results.quantities)}")
    varied = results.about.varied
    rows = []
    for name in results.about.scenarios:
        names = [str(results.about.parameters[name][column]) for column in varied] if varied else [name]
        rows.append([*names, *(_cell(results.estimate(name, quantity), sign) for quantity in quantities)])
    return [*(varied or ["scenario"]), *(quantity.replace("_", " ") for quantity in quantities)], rows


def _cell(one: Estimate, sign: str) -> str:
    half = half_width(one)
    if math.isnan(one.mean):
        return UNKNOWN
    if half is None:
        return f"{one.mean:,.{decimals(one.mean)}f}"
    digits = decimals(one.mean, half)
    return f"{one.mean:,.{digits}f} {sign} {half:,.{digits}f}"


def _names(results: "Results") -> int:
    return len(results.about.varied) or 1


def _meaning(results: "Results") -> str:
    return MEANING.format(trials=results.about.trials)


def _markdown(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
