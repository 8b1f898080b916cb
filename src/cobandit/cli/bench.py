"""The command `cobandit bench`: list, run and report the benchmark of protocols."""

import argparse
import sys
from pathlib import Path

from cobandit.cli.parsing import Parser
from cobandit.cli.progress import Progress, notes
from cobandit.cli.terminal import beside


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    verbs = parser.add_subparsers(required=True, metavar="verb", parser_class=Parser)

    listing = verbs.add_parser("list", help="list the tasks and the entries")
    listing.add_argument("what", nargs="?", choices=("tasks", "protocols"), help="what to list (default: both)")
    listing.set_defaults(command=_list)

    running = verbs.add_parser("run", help="run tasks; run the same command again to resume")
    running.add_argument("task", nargs="*", help="tasks to run (default: all)")
    running.add_argument(
        "--protocol", nargs="+", default=[], metavar="NAME", help="entries or protocols to run (default: all)"
    )
    running.add_argument(
        "--own", action="append", default=[], metavar="MODULE:CLASS", help="also run your own protocol; repeatable"
    )
    running.add_argument("--quick", action="store_true", help="run 10 trials instead of 30")
    running.add_argument("--trials", type=int, metavar="N", help="number of trials (default: 30)")
    running.add_argument("--slow", action="store_true", help="also run what takes long on the readable engine")
    running.add_argument(
        "--out", type=Path, default=Path("benchmark"), metavar="DIR", help="output folder (default: benchmark)"
    )
    running.add_argument("--workers", type=int, metavar="N", help="number of processes (default: one per core)")
    running.set_defaults(command=_run)

    reporting = verbs.add_parser("report", help="write a page, figures, tables and entries from a run")
    reporting.add_argument("folder", type=Path, help="output folder of a run")
    reporting.set_defaults(command=_report)


def _list(options: argparse.Namespace) -> int:
    from cobandit.benchmark import VERSION, entries, tasks  # noqa: PLC0415  # the compiler takes long to load

    if options.what != "protocols":
        print(f"Tasks of benchmark version {VERSION}:")
        for task in tasks().values():
            print(beside(f"  {task.name:14}", task.why))
    if options.what != "tasks":
        print("Entries and their protocols:")
        for entry in entries().values():
            print(beside(f"  {entry.name:24}{entry.protocol:14}", entry.title))
    return 0


def _run(options: argparse.Namespace) -> int:
    from cobandit.benchmark.entries import entry_from  # noqa: PLC0415  # as above
    from cobandit.benchmark.running import run  # noqa: PLC0415

    sys.path.insert(0, "")  # where a protocol of one's own is looked for, as `python -m` does
    own = [entry_from(text) for text in options.own]
    bars: dict[str, Progress] = {}

    def progress(task: str, done: int, count: int) -> None:
        bar = bars.setdefault(task, Progress(sys.stderr))
        bar(done, count)
        if done == count:
            bar.clear()
            print(f"{task}: {count} trials done", file=sys.stderr, flush=True)

    try:
        with notes(sys.stderr):
            played = run(
                options.task,
                out=options.out,
                protocols=options.protocol,
                own=own,
                quick=options.quick,
                trials=options.trials,
                slow=options.slow,
                workers=options.workers,
                progress=progress,
            )
    except KeyboardInterrupt:
        print("cobandit: interrupted; run the same command again to resume", file=sys.stderr)
        return 130  # as `cobandit.cli.INTERRUPTED`
    finally:
        for bar in bars.values():
            bar.clear()
    failures = [(one.task.name, entry, why) for one in played for entry, why in one.failures.items()]
    for task, entry, why in failures:
        print(f"cobandit: {entry} failed on {task}: {why}", file=sys.stderr)
    print(f"The trials are in {options.out}. Run `cobandit bench report {options.out}` to see the results.")
    return 1 if failures else 0


def _report(options: argparse.Namespace) -> int:
    from cobandit.benchmark.report import write_report  # noqa: PLC0415  # as above

    print(f"The report is in {write_report(options.folder)}.")
    return 0
