"""The command `cobandit swarm`: arguments, progress and printing."""

import argparse
import os
import sys
import time

from cobandit.cli.progress import Progress
from cobandit.testing.swarm import Transcript, Verdict, run_seed, run_seeds

MOST_SHOWN = 20
"""So many failing seeds are printed; the others are counted."""


def add_swarm(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "--seeds", type=_seeds, default=range(1000), metavar="FROM:TO", help="which seeds, or one (default: 0:1000)"
    )
    parser.add_argument(
        "--workers", type=_positive, default=os.cpu_count() or 1, help="how many processes (default: one for each core)"
    )
    parser.add_argument("--transcript", action="store_true", help="show what happens, line by line")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.transcript:
        return _tell(options.seeds)
    workers = min(options.workers, len(options.seeds))
    progress = Progress(sys.stderr, what="seeds")
    began = time.monotonic()
    verdicts: list[Verdict] = []
    failed = 0
    try:
        for verdict in run_seeds(options.seeds, workers=workers):
            verdicts.append(verdict)
            if verdict.violations:
                failed += 1
                progress.clear()
                if failed <= MOST_SHOWN:
                    _accuse(verdict)
            progress(len(verdicts), len(options.seeds))
    finally:
        progress.clear()
    _sum_up(verdicts, failed, seconds=time.monotonic() - began, workers=workers)
    return 1 if failed else 0


def _tell(seeds: range) -> int:
    is_wrong = False
    for seed in seeds:
        transcript = Transcript(keep=True)
        verdict = run_seed(seed, transcript)
        print(*transcript.lines or (), sep="\n")
        found = "" if verdict.violations else ", no violation"
        print(f"seed {seed}: {verdict.events} events, fingerprint {verdict.fingerprint}{found}")
        if verdict.violations:
            is_wrong = True
            _accuse(verdict)
    return 1 if is_wrong else 0


def _accuse(verdict: Verdict) -> None:
    print(f"seed {verdict.seed}: {verdict.violations[0]}")
    print(f"    cobandit swarm --seeds {verdict.seed} --transcript", flush=True)


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
