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
from cobandit.cli.terminal import cut, left
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.scenario import Scenario, read_scenario

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from cobandit.simulator.results import Results


REPORT = "report.html"
"""The page beside the results."""

BASELINES = "baselines"
"""The folder for the baselines' results, inside the results folder."""

USUAL_CHECKPOINTS = 50
"""So that a report has curves."""

EVERY = {"constant": 1}
BROADCAST_WAITS = (
    "broadcast uses the threshold in the file, so it waits until that is reached. Leave out `sharing.threshold` to "
    "send every observation at once, as the paper's broadcast does"
)


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("scenario", type=Path, help="scenario file (see docs/scenario-files.md)")
    parser.add_argument("--trials", type=int, help="number of trials (default: from the file, or 30)")
    parser.add_argument("--seed", type=int, help="random seed (default: from the file, or 1)")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the results and a report; resumes an interrupted run"
    )
    parser.add_argument(
        "--engine", choices=("auto", "compiled", "reference"), default="auto", help="engine to use (default: auto)"
    )
    parser.add_argument(
        "--checkpoints",
        type=int,
        metavar="N",
        help="record regret and messages at N evenly spaced slots (default: 50 with --out, else none)",
    )
    parser.add_argument(
        "--alone", action="store_true", help="skip the baselines: the same world without communication, and broadcast"
    )
    parser.add_argument(
        "--keep",
        action="append",
        choices=("pulls", "links", "agents_over_time"),
        default=[],
        help="also keep a larger table; repeatable",
    )
    add_own(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="number of threads (default: one per core)")
    where.add_argument("--cluster", metavar="ADDRESS", help="Dask scheduler, such as tcp://scheduler:8786")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.simulator.cluster import cluster  # noqa: PLC0415  # frames take long to load
    from cobandit.simulator.simulate import simulate  # noqa: PLC0415

    register_own(options)
    file = read_scenario(options.scenario)
    if options.checkpoints is None:
        options.checkpoints = () if options.out is None else min(USUAL_CHECKPOINTS, file.scenario.horizon)
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
            progress.clear()
            compared = results if options.alone else _beside(results, file.scenario, options, executor)
    except KeyboardInterrupt:
        how = (
            "nothing is kept; use --out DIR to be able to resume"
            if options.out is None
            else "run the same command again to resume"
        )
        print(f"cobandit: interrupted with {progress.done} of {progress.total} trials done: {how}", file=sys.stderr)
        return 130  # as `cobandit.cli.INTERRUPTED`
    if options.out is not None:
        compared.report(options.out / REPORT, subject=next(iter(results.about.scenarios)))
    _print(results, compared, file.scenario, options)
    for name, scenario in results.about.scenarios.items():
        if _waits_to_broadcast(scenario.get("sharing", {})):
            print(f"cobandit: {name}: {BROADCAST_WAITS}", file=sys.stderr)
    return 0


def _waits_to_broadcast(sharing: Mapping[str, Any]) -> bool:
    return sharing.get("protocol") == IMMEDIATE.word and sharing.get("threshold", EVERY) != EVERY


def _beside(
    results: "Results", scenario: Scenario, options: argparse.Namespace, executor: "Executor | None"
) -> "Results":
    """Return the results together with those of the baselines, which are kept in a folder of their own."""
    from cobandit.simulator.baselines import baselines, why_no_broadcast  # noqa: PLC0415  # frames take long to load
    from cobandit.simulator.results import Results  # noqa: PLC0415
    from cobandit.simulator.simulate import simulate  # noqa: PLC0415

    (name,) = results.about.scenarios
    decisions = results.estimate(name, "decisions").mean
    worlds = baselines(scenario, decisions, results.about.trials, results.about.engine)
    worlds.pop(name, None)
    too_long = why_no_broadcast(scenario, decisions, results.about.trials, results.about.engine)
    if too_long and scenario.topology is None and not options.json:
        print(f"cobandit: {too_long}", file=sys.stderr)
    if not worlds:
        return results
    beside = simulate(
        worlds,
        trials=results.about.trials,
        seed=results.about.seed,
        workers=options.workers,
        executor=executor,
        engine=options.engine,
        checkpoints=options.checkpoints,
        keep=options.keep,
        out=None if options.out is None else options.out / BASELINES,
    )
    return Results.merge(results, beside)


def _print(results: "Results", compared: "Results", scenario: Scenario, options: argparse.Namespace) -> None:
    from cobandit.simulator.kernel.refusing import why_not_compiled  # noqa: PLC0415  # the compiler takes long to load

    about = results.about
    ((name, summary),) = results.summary().items()
    summaries = compared.summary()
    if options.json:
        content = {"scenario": name, "trials": about.trials, "seed": about.seed, "engine": about.engine}
        others = {other: one for other, one in summaries.items() if other != name}
        print(json.dumps({**content, "summary": summary, "baselines": others}, indent=2))
        return
    print(f"{name}: trials {about.trials}, seed {about.seed}, engine {about.engine}")
    if options.engine == "auto" and (why := why_not_compiled(scenario)):
        print(f"Using the readable engine, because {why}.")
    print()
    print(f"{'':18}{'mean':>15}{'sd':>14}{'95 % interval':>33}")
    for quantity, estimate in summary.items():
        mean, sd, low, high = (_number(estimate[key]) for key in ("mean", "sd", "low", "high"))
        interval = "" if not low else f"{low} to {high}"
        print(f"{quantity.replace('_', ' '):18}{mean:>15}{sd:>14}{interval:>33}".rstrip())
    if len(summaries) > 1:
        print(f"\n{'':25}{'messages':>14}{'per decision':>14}{'group regret':>14}")
        for other, one in summaries.items():
            print(_line(other, one))
        print("All on the same tapes; ± is half of the 95 % interval.")
    if options.out is not None:
        print(f"\nThe results are in {options.out}. Open {options.out / REPORT} to see them.")


def _line(name: str, summary: "Mapping[str, Mapping[str, float | None]]") -> str:
    """Return a scenario in one line."""
    messages, decisions, regret = (summary[one]["mean"] or 0.0 for one in ("messages", "decisions", "group_regret"))
    high = summary["group_regret"]["high"]
    sure = "" if high is None else f" ± {high - regret:<8,.1f}"
    per_decision = messages / decisions if decisions else 0.0
    return f"{left(cut(name, 24), 25)}{messages:>14,.1f}{per_decision:>14.3f}{regret:>14,.1f}{sure}".rstrip()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"
