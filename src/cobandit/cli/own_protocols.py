"""The option `--own MODULE:CLASS`: your own protocols, for commands that read scenario files."""

import argparse
import sys


def add_own(parser: argparse.ArgumentParser) -> None:
    """Give a parser the option."""
    parser.add_argument(
        "--own",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="your own protocol, for the file to name; repeatable",
    )


def register_own(options: argparse.Namespace) -> None:
    """Let files of this process name the protocols that were given, found as `python -m` finds them."""
    if not options.own:
        return
    from cobandit.protocols.registry import class_named, register  # noqa: PLC0415  # most commands need none

    sys.path.insert(0, "")
    for text in options.own:
        register(class_named(text))
