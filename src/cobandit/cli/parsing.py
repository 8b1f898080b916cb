"""Argument parsing: options need their full names, and errors come with the usage of the command they belong to."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from cobandit.cli.terminal import beside

_NAMES = 18
"""Columns for the names of commands."""


_NO_COMMAND = re.compile(r"argument command: invalid choice: '([^']*)'")
_NONE_GIVEN = "the following arguments are required: command"


class Parser(argparse.ArgumentParser):
    """A parser, also of a subcommand, that guesses nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  # handed on as they come
        super().__init__(*arguments, **{**options, "allow_abbrev": False})

    def parse_known_args(  # type: ignore[override]  # the parent has overloads for other kinds of namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse unknown arguments here: the parent parser would report them with its own usage."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Report an error. For no command, list them all; for an unknown one, suggest the closest, if one is close."""
        commands, found = getattr(self, "commands", None), _NO_COMMAND.search(message)
        if commands is not None and message == _NONE_GIVEN:
            self.exit(2, self.format_help())
        if commands is not None and found is not None and (near := get_close_matches(found[1], commands.names, n=1)):
            message = f"there is no command {found[1]!r}: did you mean {near[0]!r}?"
        super().error(message)

    def add_commands(self, dest: str) -> "Commands":
        """Let it have commands, in groups."""
        return Commands(self, dest)

    def format_help(self) -> str:
        """Return the help, with the commands after it."""
        commands = getattr(self, "commands", None)
        return super().format_help() + ("" if commands is None else commands.listed())


class Commands:
    """The commands of a program, in groups that its help tells apart."""

    def __init__(self, parser: Parser, dest: str) -> None:
        parser.commands = self  # type: ignore[attr-defined]
        self._parsers = parser.add_subparsers(
            required=True, metavar="command", dest=dest, prog=parser.prog, help=argparse.SUPPRESS
        )
        self._groups: dict[str, dict[str, str]] = {}

    def group(self, title: str) -> None:
        """Begin a group: what is added from now on is in it."""
        self._groups[title] = {}

    def add(self, name: str, does: str) -> Parser:
        """Add a command, and say what it does."""
        list(self._groups.values())[-1][name] = does
        parser: Parser = self._parsers.add_parser(name, description=f"{does[0].upper()}{does[1:]}.")
        return parser

    @property
    def names(self) -> list[str]:
        """What they are called."""
        return [name for commands in self._groups.values() for name in commands]

    def listed(self) -> str:
        """Return all of them, with what they do."""
        lines = []
        for title, commands in self._groups.items():
            lines += ["", f"{title}:"]
            lines += [beside(f"    {name:{_NAMES - 4}}", does) for name, does in commands.items()]
        return "\n".join([*lines, "", "Run `cobandit COMMAND --help` for its arguments."]) + "\n"


def positive(text: str) -> int:
    """Return a number of which there must be at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
