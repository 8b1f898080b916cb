"""The command `python -m lab restarts`: arguments and printing."""

import argparse

from cobandit.values.errors import LocalError
from lab.restarts import Way, restarts

WORDS = {way.name.lower().replace("_", "-"): way for way in Way}


def add_restarts(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "way", nargs="*", default=[], metavar="WAY", help=f"how it goes and comes back: {', '.join(WORDS)} (all)"
    )
    parser.add_argument("--count", type=int, default=10_000, help="how often it starts (default: %(default)s)")
    parser.add_argument("--arms", type=int, default=1, help="how many arms each life observes (default: %(default)s)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if unknown := [way for way in options.way if way not in WORDS]:
        raise LocalError(f"{unknown[0]!r} is none of {', '.join(WORDS)}")
    is_wrong = False
    for way in [WORDS[name] for name in options.way] or list(Way):
        print(f"{way.value}:")
        print(f"{'starts':>9}{'rows':>9}{'links':>7}{'state':>12}{'packets':>9}{'bytes':>12}{'largest':>9}{'ms':>9}")
        for look in restarts(way, options.count, options.arms):
            print(
                f"{look.starts:>9,}{look.rows:>9,}{look.links:>7,}{look.state_bytes:>12,}{look.packets:>9,}"
                f"{look.packet_bytes:>12,}{look.largest:>9,}{1000.0 * look.seconds:>9,.1f}",
                flush=True,
            )
            for wrong in look.wrong:
                print(f"    {wrong}")
            is_wrong = is_wrong or bool(look.wrong)
    print("something is lost, doubled or refused" if is_wrong else "nothing is lost, doubled or refused")
    return 1 if is_wrong else 0
