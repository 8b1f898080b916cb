"""How arguments are taken: by their whole names; what is wrong is said with the usage of the command that it is for."""

import argparse
from collections.abc import Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser, also of a subcommand, that guesses nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  # handed on as they come
        super().__init__(*arguments, **{**options, "allow_abbrev": False})

    def parse_known_args(  # type: ignore[override]  # the parent has overloads for other kinds of namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse what is not known here: left to the parent, it would be said with the parent's usage."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown
