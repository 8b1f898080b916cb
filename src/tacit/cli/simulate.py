"""The command `tacit simulate`: arguments, a progress bar and printing."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from tacit.simulator.results import Results

_BAR = 30


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("scenario", type=Path, help="a scenario file (see docs/scenario-files.md)")
    parser.add_argument("--trials", type=int, help="how many trials (default: as the file says, or 30)")
    parser.add_argument("--seed", type=int, help="the seed of all chance (default: as the file says, or 1)")
    parser.add_argument("--json", action="store_true", help="print a summary for programs")
    parser.add_argument("--out", type=Path, metavar="DIR", help="a folder for the results; an interrupted run goes on")
    parser.add_argument("--engine", choices=("auto", "compiled", "reference"), default="auto")
    parser.add_argument(
        "--checkpoints", type=int, metavar="N", default=0, help="keep regret and shares at N slots, evenly spaced"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="how many threads (default: one for each core)")
    where.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler, such as tcp://scheduler:8786")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from tacit.simulator.cluster import cluster  # noqa: PLC0415  # frames take long to load
    from tacit.simulator.simulate import simulate  # noqa: PLC0415

    progress = Progress(sys.stderr)
    try:
        with ExitStack() as stack:
            stack.callback(progress.clear)
            executor = None if options.cluster is None else stack.enter_context(cluster(options.cluster))
            results = simulate(
                options.scenario,
                trials=options.trials,
                seed=options.seed,
                workers=options.workers,
                executor=executor,
                engine=options.engine,
                checkpoints=options.checkpoints,
                out=options.out,
                progress=progress,
            )
    except KeyboardInterrupt:
        how = (
            "nothing is kept; with --out DIR it could go on"
            if options.out is None
            else "run the same command again to go on"
        )
        print(f"tacit: interrupted with {progress.done} of {progress.total} trials done: {how}", file=sys.stderr)
        return 130  # as `tacit.cli.INTERRUPTED`
    _print(results, options)
    return 0


def _print(results: "Results", options: argparse.Namespace) -> None:
    about = results.about
    ((name, summary),) = results.summary().items()
    if options.json:
        content = {"scenario": name, "trials": about.trials, "seed": about.seed, "engine": about.engine}
        print(json.dumps({**content, "summary": summary}, indent=2))
        return
    print(f"{name}: trials {about.trials}, seed {about.seed}, engine {about.engine}\n")
    print(f"{'':14}{'mean':>16}{'sd':>16}{'95 % interval':>35}")
    for quantity, estimate in summary.items():
        mean, sd, low, high = (_number(estimate[key]) for key in ("mean", "sd", "low", "high"))
        interval = "" if not low else f"{low} to {high}"
        print(f"{quantity.replace('_', ' '):14}{mean:>16}{sd:>16}{interval:>35}".rstrip())
    if options.out is not None:
        print(f"\nThe results are in {options.out}.")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


class Progress:
    """A bar with an estimate of the time left. It is silent where nobody is looking."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic, what: str = "trials") -> None:
        self._stream = stream
        self._clock = clock
        self._what = what
        self._shown = stream.isatty()
        self._began: tuple[float, int] | None = None
        self.done = self.total = 0

    def __call__(self, done: int, total: int) -> None:
        """Show how many trials are done."""
        self.done, self.total = done, total
        self._began = self._began or (self._clock(), done)
        if self._shown:
            filled = _BAR * done // total
            left = self._left()
            self._stream.write(f"\r\x1b[K[{'#' * filled:{_BAR}}] {done} of {total} {self._what}{left}")
            self._stream.flush()

    def clear(self) -> None:
        """Take the bar away."""
        if self._shown and self._began is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _left(self) -> str:
        assert self._began is not None
        since, before = self._began
        if self.done in (before, self.total):
            return ""
        seconds = round((self._clock() - since) / (self.done - before) * (self.total - self.done))
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f", about {f'{hours}:{minutes:02}' if hours else minutes}:{seconds:02} left"
