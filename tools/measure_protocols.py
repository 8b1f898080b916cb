"""Every protocol on the same tapes, in a small world: `python tools/measure_protocols.py` (three minutes of one core).

It writes docs/protocols/small-world.json and the table of docs/protocols.md between its two marks. A test runs some
rows again and compares every number.
"""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from cobandit import immediate, on_demand, silent
from cobandit.core import Geometric
from cobandit.policies.registry import BuiltIn
from cobandit.protocols.plug_in import plug_in
from cobandit.protocols.registry import PLUG_INS
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.simulator.interval import estimate, half_width
from cobandit.simulator.trials import jobs_for, run_jobs

ROOT = Path(__file__).parent.parent
NUMBERS = ROOT / "docs" / "protocols" / "small-world.json"
PAGE = ROOT / "docs" / "protocols.md"
MARKS = ("<!-- measured: begin -->\n", "<!-- measured: end -->\n")

SLOTS, TRIALS, SEED = 3_000, 5, 1
RATES = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02)
MEANS = (0.3, 0.4, 0.5, 0.6, 0.7)
COLUMNS = ("group_regret", "shares", "notices", "agent_rounds", "bytes", "staleness")

WORLD = Scenario(SLOTS, Arms.of(MEANS), tuple(AgentSpec(Rate(rate)) for rate in RATES), BuiltIn("ucb"))


def worlds() -> dict[str, Scenario]:
    """Return a world for every protocol, by its name in the table."""
    tables = {
        "none": silent(),
        "ibc (CO-UCB)": immediate(),
        "odc": on_demand(),
        "odc, thresholds 1, 2, ..., 64": on_demand(Geometric(2, 64)),
    }
    found = {name: replace(WORLD, sharing=sharing) for name, sharing in tables.items()}
    found["ibc, AAE (CO-AAE)"] = replace(WORLD, sharing=immediate(), policy=BuiltIn("aae"))
    return found | {word: replace(WORLD, sharing=plug_in(build)) for word, build in PLUG_INS.items()}


def measure(names: list[str] | None = None) -> dict[str, dict[str, list[float]]]:
    """Return what every trial of some protocols, or of all, measured."""
    wanted = {name: world for name, world in worlds().items() if names is None or name in names}
    rows: dict[str, dict[str, list[float]]] = {name: {column: [] for column in COLUMNS} for name in wanted}
    jobs = jobs_for(wanted, trials=TRIALS, seed=SEED, engine="reference")
    done = sorted(run_jobs(jobs, workers=1), key=lambda trial: trial.trial)
    for trial in done:
        for column in COLUMNS:
            rows[trial.name][column].append(trial.totals[column])
    return rows


def table(rows: dict[str, dict[str, list[float]]]) -> str:
    """Return the table as Markdown."""
    heads = ("protocol", "group regret", "shares", "notices", "agent-rounds", "bytes", "staleness")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for name, row in rows.items():
        told = f"`{name}`" if name in PLUG_INS else name
        spread = f" ± {half_width(estimate(row['group_regret'])):.0f}"
        cells = [f"{fmean(row[column]):,.0f}" for column in COLUMNS]
        cells[-1] = "" if math.isnan(row["staleness"][0]) else f"{fmean(row['staleness']):,.1f}"
        lines.append(f"| {told} | {cells[0]}{spread} | {' | '.join(cells[1:])} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, and write the numbers and the table."""
    rows = measure()
    NUMBERS.parent.mkdir(exist_ok=True)
    about_it = {"slots": SLOTS, "trials": TRIALS, "seed": SEED, "rates": RATES, "means": MEANS}
    known = {
        name: {column: [None if math.isnan(one) else one for one in values] for column, values in row.items()}
        for name, row in rows.items()
    }
    NUMBERS.write_text(json.dumps({"world": about_it, "rows": known}, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n{table(rows)}\n{MARKS[1]}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
