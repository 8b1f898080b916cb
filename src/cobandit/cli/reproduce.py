"""The command `cobandit reproduce`: the whole paper, or some of it, as a report."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cobandit.cli.folder import make_folder
from cobandit.cli.parsing import positive
from cobandit.cli.progress import Progress, notes
from cobandit.scenario import Arms
from cobandit.scenario.words import count_of
from cobandit.studies import paper
from cobandit.values.cores import core_count
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.studies.report import Report
    from cobandit.studies.reproduction import Reproduced


def add_reproduce(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "experiment",
        nargs="*",
        help="1, 2, 3, 4, 5, 6a, 6b, 7, easy (default: all of these); also loss, phases, spread, fleets",
    )
    parser.add_argument(
        "--quick", action="store_true", help="run fewer points and trials in experiments 1, 2, 4 and beyond"
    )
    parser.add_argument(
        "--trials", type=positive, help="number of trials of each experiment (default: 30; 60 for experiment 5)"
    )
    parser.add_argument("--out", type=Path, default=Path("reproduction"), help="folder for the report")
    parser.add_argument("--arms", type=Path, help="CSV file with the columns arm and mean (default: surrogate arms)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    parser.add_argument(
        "--workers", type=positive, default=core_count(), help="number of threads (default: one per core)"
    )
    parser.add_argument(
        "--largest",
        type=positive,
        help="for fleets: most agents behind relays (default: 100,000; 1,000,000 takes minutes and 6 GiB)",
    )
    parser.set_defaults(command=_reproduce)


FLEETS = "fleets"
"""The study that differs from the paper's experiments: it has hubs."""


def _reproduce(options: argparse.Namespace) -> int:
    from cobandit.studies.report import COMPLETE, Report, write  # noqa: PLC0415  # the compiler takes long to load
    from cobandit.studies.reproduction import BEYOND, STUDIES, reproduce, studies  # noqa: PLC0415

    names = [*STUDIES, *BEYOND, FLEETS]
    for name in options.experiment:
        if name not in names:
            raise LocalError(f"experiment {name!r} is not one of {', '.join(names)}")
    experiments = [name for name in options.experiment if name != FLEETS]
    if FLEETS in options.experiment:
        _reproduce_fleets(options)
        if not experiments:
            return 0
    chosen = studies(experiments, quick=options.quick)
    arms = None if options.arms is None else Arms.from_csv(options.arms)
    make_folder(options.out)
    bars: dict[str, Progress] = {}

    def progress(experiment: str, trials_done: int, count: int) -> None:
        bars.setdefault(experiment, Progress(sys.stderr))(trials_done, count)

    done: list[Reproduced] = []
    try:
        with notes(sys.stderr) as told:
            for one in reproduce(
                chosen,
                trials=options.trials,
                quick=options.quick,
                arms=arms,
                workers=options.workers,
                seed=options.seed,
                progress=progress,
            ):
                bars[one.study.name].clear()
                compiled = ", including compiling the engine" if told else ""
                told.clear()
                took = f"{count_of(one.trials, 'trial')} in {one.seconds:.1f} s{compiled}"
                print(f"{one.study.name}: {took}", file=sys.stderr, flush=True)
                done.append(one)
    finally:
        for bar in bars.values():
            bar.clear()
    report = Report(done, options.seed, arms or paper.surrogate_arms(), options.arms, options.quick)
    page = write(report, options.out)
    _print_cells(report)
    print(f"The report is in {page}.")
    if not report.complete:
        print(f"This is a part of the paper. `{COMPLETE}` runs all of it, 30 trials each (60 of experiment 5).")
    return 0


def _reproduce_fleets(options: argparse.Namespace) -> None:
    from cobandit.studies import fleets, fleets_report  # noqa: PLC0415  # the compiler takes long to load

    if options.arms is not None:
        raise LocalError("the fleets study has its own arms: leave --arms out")
    plan = fleets.Plan.quick() if options.quick else fleets.Plan()
    plan = replace(plan, trials=options.trials or plan.trials, largest=options.largest or plan.largest)
    make_folder(options.out)
    progress = Progress(sys.stderr)
    try:
        points = fleets.measure(plan, seed=options.seed, workers=options.workers, progress=progress)
    finally:
        progress.clear()
    page = fleets_report.write(points, plan, options.seed, options.out)
    print(fleets_report.as_text(points))
    print(f"\n{fleets_report.verdict(points)}\nThe report is in {page}.")


def _print_cells(report: "Report") -> None:
    cells = report.cells
    compared = {cell.experiment for cell in cells}
    for one in report.reproduced:
        if one.study.name not in compared:
            print("\n".join(_without_cells(one)))
    if not cells:
        return
    print(f"{'':26}{'published':>20}{'as printed':>17}{'best reading':>17}")
    print(f"{'':26}{'mean':>12}{'sd':>8}{'mean':>11}{'err.':>6}{'mean':>11}{'err.':>6}")
    for cell in cells:
        quantity = "messages" if cell.quantity == "communications" else "regret"
        print(
            f"{cell.experiment:4}{cell.algorithm:13}{quantity:9}{cell.published:>12,.0f}{cell.published_sd:>8,.0f}"
            f"{cell.printed.mean:>11,.0f}{cell.printed.errors:>+6.1f}{cell.best.mean:>11,.0f}{cell.best.errors:>+6.1f}"
        )
    print(
        "\nErr.: how many standard errors ours is above theirs. The report has our sd and\n"
        "a sentence on each. Our regrets are pseudo-regrets; the published sd is for\n"
        "realised regret."
    )


def _without_cells(one: "Reproduced") -> list[str]:
    """Return an experiment for which the paper has figures but no table: our means, if it has a single world."""
    if len(one.study.worlds) > 1:
        return [f"{one.study.name}: {len(one.study.worlds)} worlds, drawn in the report"]
    return [
        f"{one.study.name}: {algorithm}: {run.mean('messages'):,.0f} messages, regret {run.mean('group_regret'):,.0f}"
        for (_, algorithm), run in one.runs.items()
    ]
