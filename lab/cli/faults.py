"""The command `python -m lab faults`: arguments and printing."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.faults.verdict import Verdict

QUICK_JOBS = 4
"""Small fleets wait more than they work, so several run at the same time."""

HEADER = (
    f"{'scenario':22}{'members':>8}{'faults':>8}{'handed':>9}{'synced':>9}{'counted':>9}{'lost':>6}{'twice':>7}"
    f"{'talking':>10}{'seconds':>9}"
)


def add_faults(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios, or how they begin; all unless named")
    parser.add_argument("--quick", action="store_true", help="each small: seconds instead of minutes")
    parser.add_argument("--seed", type=int, default=1, help="what chance is made of (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, help=f"how many at the same time (default: 1, or {QUICK_JOBS} with --quick)"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from lab.faults.running import chosen, try_scenarios  # noqa: PLC0415  # needs the extra `live`

    names = chosen(options.names)
    jobs = max(1, options.jobs or (QUICK_JOBS if options.quick else 1))
    print(HEADER, flush=True)
    verdicts = []
    for verdict in try_scenarios(names, seed=options.seed, is_quick=options.quick, jobs=jobs):
        verdicts.append(verdict)
        print(line(verdict), flush=True)
        for violation in verdict.violations:
            print(f"    VIOLATION: {violation}")
        if verdict.violations:
            quick = " --quick" if options.quick else ""
            print(f"    python -m lab faults {verdict.scenario} --seed {options.seed}{quick}", flush=True)
    skipped = [verdict.scenario for verdict in verdicts if verdict.skipped is not None]
    failed = [verdict.scenario for verdict in verdicts if not verdict.is_good]
    print(
        f"{len(verdicts) - len(skipped)} scenarios, {sum(verdict.faults for verdict in verdicts):,} faults, "
        f"{sum(verdict.counted for verdict in verdicts):,} observations: "
        + ("no violation" if not failed else f"violations in {', '.join(failed)}")
        + (f"; NOT TRIED: {', '.join(skipped)}" if skipped else "")
    )
    return 1 if failed else 0


def line(verdict: "Verdict") -> str:
    """Return a verdict as a line of the table."""
    if verdict.skipped is not None:
        return f"{verdict.scenario:22}NOT TRIED: {verdict.skipped}"
    return (
        f"{verdict.scenario:22}{verdict.members:>8}{verdict.faults:>8,}{verdict.handed:>9,}{verdict.synced:>9,}"
        f"{verdict.counted:>9,}{verdict.lost:>6,}{verdict.twice:>7,}{verdict.talking:>6}/{verdict.pairs:<3}"
        f"{verdict.seconds:>9.1f}" + (f"  {verdict.notes}" if verdict.notes else "")
    )
