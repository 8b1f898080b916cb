"""The command `python -m lab corruptions`: arguments and printing."""

import argparse
import tempfile
from pathlib import Path


def add_corruptions(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("--seeds", type=int, default=300, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="only this one, with what was said")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from lab.corruptions import counts, try_seeds  # noqa: PLC0415  # needs the extra `live`

    seeds = range(options.seeds) if options.seed is None else range(options.seed, options.seed + 1)
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for outcome in try_seeds(seeds, Path(folder)):
            outcomes.append(outcome)
            if outcome.violation is not None:
                print(f"seed {outcome.seed}: {outcome.what}\n    VIOLATION: {outcome.violation}", flush=True)
            elif options.seed is not None:
                print(f"seed {outcome.seed}: {outcome.what}\n    {outcome.result}: {outcome.said}")
    failed = sum(outcome.violation is not None for outcome in outcomes)
    found = ", ".join(f"{count} {result}" for result, count in sorted(counts(outcomes).items()))
    print(f"{len(outcomes)} damaged files: {found}; {failed} violations")
    return 1 if failed else 0
