"""The command `cobandit simulate`: arguments and printing."""

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobandit.cli.own_protocols import add_own, register_own
from cobandit.cli.progress import Progress, notes
from cobandit.core.protocols.immediate import IMMEDIATE

if TYPE_CHECKING:
    from cobandit.simulator.results import Results


REPORT = "report.html"
"""The page beside the results."""

EVERY = {"constant": 1}
BROADCAST_WAITS = (
    "broadcast keeps to the threshold of the file, so it waits until that is reached. Leave `sharing.threshold` out to "
    "send every observation at once, as the paper's broadcast does"
)


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("scenario", type=Path, help="a scenario file (see docs/scenario-files.md)")
    parser.add_argument("--trials", type=int, help="how many trials (default: as the file says, or 30)")
    parser.add_argument("--seed", type=int, help="the seed of all chance (default: as the file says, or 1)")
    parser.add_argument("--json", action="store_true", help="print a summary for programs")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="a folder for the results and a report; an interrupted run goes on"
    )
    parser.add_argument("--engine", choices=("auto", "compiled", "reference"), default="auto")
    parser.add_argument(
        "--checkpoints", type=int, metavar="N", default=(), help="keep regret and messages at N slots, evenly spaced"
    )
    parser.add_argument(
        "--keep",
        action="append",
        choices=("pulls", "links", "agents_over_time"),
        default=[],
        help="keep a larger table as well; may be repeated",
    )
    add_own(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="how many threads (default: one for each core)")
    where.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler, such as tcp://scheduler:8786")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.simulator.cluster import cluster  # noqa: PLC0415  # frames take long to load
    from cobandit.simulator.simulate import simulate  # noqa: PLC0415

    register_own(options)
    progress = Progress(sys.stderr)
    try:
        with ExitStack() as stack:
            stack.callback(progress.clear)
            stack.enter_context(notes(sys.stderr))
            executor = None if options.cluster is None else stack.enter_context(cluster(options.cluster))
            results = simulate(
                options.scenario,
                trials=options.trials,
                seed=options.seed,
                workers=options.workers,
                executor=executor,
                engine=options.engine,
                checkpoints=options.checkpoints,
                keep=options.keep,
                out=options.out,
                progress=progress,
            )
    except KeyboardInterrupt:
        how = (
            "nothing is kept; with --out DIR it could go on"
            if options.out is None
            else "run the same command again to go on"
        )
        print(f"cobandit: interrupted with {progress.done} of {progress.total} trials done: {how}", file=sys.stderr)
        return 130  # as `cobandit.cli.INTERRUPTED`
    if options.out is not None:
        results.report(options.out / REPORT)
    _print(results, options)
    for name, scenario in results.about.scenarios.items():
        if _waits_to_broadcast(scenario.get("sharing", {})):
            print(f"cobandit: {name}: {BROADCAST_WAITS}", file=sys.stderr)
    return 0


def _waits_to_broadcast(sharing: Mapping[str, Any]) -> bool:
    return sharing.get("protocol") == IMMEDIATE.word and sharing.get("threshold", EVERY) != EVERY


def _print(results: "Results", options: argparse.Namespace) -> None:
    about = results.about
    ((name, summary),) = results.summary().items()
    if options.json:
        content = {"scenario": name, "trials": about.trials, "seed": about.seed, "engine": about.engine}
        print(json.dumps({**content, "summary": summary}, indent=2))
        return
    print(f"{name}: trials {about.trials}, seed {about.seed}, engine {about.engine}\n")
    print(f"{'':18}{'mean':>15}{'sd':>14}{'95 % interval':>33}")
    for quantity, estimate in summary.items():
        mean, sd, low, high = (_number(estimate[key]) for key in ("mean", "sd", "low", "high"))
        interval = "" if not low else f"{low} to {high}"
        print(f"{quantity.replace('_', ' '):18}{mean:>15}{sd:>14}{interval:>33}".rstrip())
    if options.out is not None:
        print(f"\nThe results are in {options.out}, and {options.out / REPORT} shows them.")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"
