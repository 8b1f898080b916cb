"""The command `tacit faults`: arguments and printing."""

import argparse

from tacit.testing.faults import SCENARIOS, Verdict, chosen, try_scenario

HEADER = (
    f"{'scenario':22}{'members':>8}{'faults':>8}{'handed':>9}{'synced':>9}{'counted':>9}{'lost':>6}{'twice':>7}"
    f"{'talking':>10}{'seconds':>9}"
)


def add_faults(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(SCENARIOS)}, or how they begin; all unless named"
    )
    parser.add_argument("--quick", action="store_true", help="each small: seconds instead of minutes")
    parser.add_argument("--seed", type=int, default=1, help="what chance is made of (default: %(default)s)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    print(HEADER)
    verdicts = []
    for name in chosen(options.names):
        verdict = try_scenario(name, seed=options.seed, is_quick=options.quick)
        verdicts.append(verdict)
        print(_line(verdict), flush=True)
        for violation in verdict.violations:
            print(f"    VIOLATION: {violation}")
        if verdict.violations:
            quick = " --quick" if options.quick else ""
            print(f"    tacit faults {name} --seed {options.seed}{quick}", flush=True)
    skipped = [verdict.scenario for verdict in verdicts if verdict.skipped is not None]
    failed = [verdict.scenario for verdict in verdicts if not verdict.is_good]
    print(
        f"{len(verdicts) - len(skipped)} scenarios, {sum(verdict.faults for verdict in verdicts):,} faults, "
        f"{sum(verdict.counted for verdict in verdicts):,} observations: "
        + ("no violation" if not failed else f"violations in {', '.join(failed)}")
        + (f"; NOT TRIED: {', '.join(skipped)}" if skipped else "")
    )
    return 1 if failed else 0


def _line(verdict: Verdict) -> str:
    if verdict.skipped is not None:
        return f"{verdict.scenario:22}NOT TRIED: {verdict.skipped}"
    return (
        f"{verdict.scenario:22}{verdict.members:>8}{verdict.faults:>8,}{verdict.handed:>9,}{verdict.synced:>9,}"
        f"{verdict.counted:>9,}{verdict.lost:>6,}{verdict.twice:>7,}{verdict.talking:>6}/{verdict.pairs:<3}"
        f"{verdict.seconds:>9.1f}" + (f"  {verdict.notes}" if verdict.notes else "")
    )
