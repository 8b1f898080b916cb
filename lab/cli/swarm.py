"""The command `python -m lab swarm`: arguments, progress and printing."""

import argparse
import sys
import time
from collections.abc import Iterator

from cobandit.cli.progress import Progress
from cobandit.values.cores import core_count
from lab import live_swarm, pen_swarm, swarm
from lab.live_swarm import Allowed
from lab.swarm import Transcript, Verdict

MOST_SHOWN = 20
"""So many failing seeds are printed; the others are counted."""


def add_swarm(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "--seeds", type=_seeds, default=range(1000), metavar="FROM:TO", help="which seeds, or one (default: 0:1000)"
    )
    parser.add_argument(
        "--workers", type=_positive, default=core_count(), help="how many processes (default: one for each core)"
    )
    parser.add_argument("--transcript", action="store_true", help="show what happens, line by line")
    parser.add_argument("--live", action="store_true", help="whole live members instead of the protocol alone")
    parser.add_argument("--pens", action="store_true", help="relays and pods without names and disks")
    parser.add_argument(
        "--worlds",
        choices=tuple(live_swarm.WORLDS),
        default="mesh",
        help="with --live: what kind of fleets (default: mesh; leaves behind relays; bandits with names)",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=Allowed._fields,
        metavar="NAME",
        help=f"with --live: let the world do what members do not stand yet ({', '.join(Allowed._fields)})",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.transcript:
        return _tell(options)
    workers = min(options.workers, len(options.seeds))
    progress = Progress(sys.stderr, what="seeds")
    began = time.monotonic()
    verdicts: list[Verdict] = []
    failed = 0
    try:
        for verdict in _run_seeds(options, workers):
            verdicts.append(verdict)
            if verdict.violations:
                failed += 1
                progress.clear()
                if failed <= MOST_SHOWN:
                    _accuse(verdict, options)
            progress(len(verdicts), len(options.seeds))
    finally:
        progress.clear()
    _sum_up(verdicts, failed, seconds=time.monotonic() - began, workers=workers)
    return 1 if failed else 0


def _run_seeds(options: argparse.Namespace, workers: int) -> Iterator[Verdict]:
    if options.live:
        plan_of = live_swarm.WORLDS[options.worlds]
        return live_swarm.run_seeds(options.seeds, workers=workers, allowed=_allowed(options), plan_of=plan_of)
    if options.pens:
        return pen_swarm.run_seeds(options.seeds, workers=workers)
    return swarm.run_seeds(options.seeds, workers=workers)


def _tell(options: argparse.Namespace) -> int:
    is_wrong = False
    for seed in options.seeds:
        transcript = Transcript(keep=True)
        if options.live:
            verdict = live_swarm.run_seed(seed, transcript, _allowed(options), live_swarm.WORLDS[options.worlds])
        elif options.pens:
            verdict = pen_swarm.run_seed(seed, transcript)
        else:
            verdict = swarm.run_seed(seed, transcript)
        print(*transcript.lines or (), sep="\n")
        found = "" if verdict.violations else ", no violation"
        print(f"seed {seed}: {verdict.events} events, fingerprint {verdict.fingerprint}{found}")
        if verdict.violations:
            is_wrong = True
            _accuse(verdict, options)
    return 1 if is_wrong else 0


def _allowed(options: argparse.Namespace) -> Allowed:
    return Allowed(**dict.fromkeys(options.allow, True))


def _accuse(verdict: Verdict, options: argparse.Namespace) -> None:
    world = " --live" if options.live else " --pens" if options.pens else ""
    if options.live and options.worlds != "mesh":
        world += f" --worlds {options.worlds}"
    how = "".join((world, *(f" --allow {name}" for name in options.allow)))
    print(f"seed {verdict.seed}: {verdict.violations[0]}")
    print(f"    python -m lab swarm{how} --seeds {verdict.seed} --transcript", flush=True)


def _sum_up(verdicts: list[Verdict], failed: int, *, seconds: float, workers: int) -> None:
    minutes = max(seconds, 1e-9) / 60.0
    print(
        f"{len(verdicts):,} seeds, {sum(verdict.events for verdict in verdicts):,} events, "
        f"{sum(verdict.messages for verdict in verdicts):,} messages, "
        f"{sum(verdict.restarts for verdict in verdicts):,} restarts, {seconds:,.1f} seconds, "
        f"{len(verdicts) / minutes / workers:,.0f} seeds a minute a core"
    )
    print("no violation" if not failed else f"{failed:,} seeds with a violation")


def _seeds(text: str) -> range:
    low, colon, high = text.partition(":")
    if not low.isdecimal() or (colon and not high.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a seed such as 4711 nor a range such as 0:10000")
    seeds = range(int(low), int(high) if colon else int(low) + 1)
    if not seeds:
        raise argparse.ArgumentTypeError(f"there is no seed in {text!r}")
    return seeds


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
