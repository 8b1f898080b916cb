"""The command `python -m lab`: arguments and printing only."""

import sys
from collections.abc import Sequence

import lab
from cobandit.cli.parsing import Parser
from cobandit.values.errors import CobanditError
from lab.cli.corruptions import add_corruptions
from lab.cli.faults import add_faults
from lab.cli.restarts import add_restarts
from lab.cli.swarm import add_swarm

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = Parser(prog="python -m lab", description=lab.__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    add_swarm(commands.add_parser("swarm", help="let everything go wrong, seed by seed, and check every invariant"))
    add_faults(commands.add_parser("faults", help="live fleets of real processes under real faults, and what is lost"))
    add_corruptions(commands.add_parser("corruptions", help="damaged state files: refused or recovered, in words"))
    add_restarts(commands.add_parser("restarts", help="ten thousand restarts, and names: what each costs"))
    try:
        options = parser.parse_args(arguments)
        return int(options.command(options))
    except (CobanditError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return INTERRUPTED
