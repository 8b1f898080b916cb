"""The command `cobandit explain`: arguments and printing; `cobandit.studies.explanation` makes the page."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cobandit.cli.own_protocols import add_own, register_own
from cobandit.look.files import write_whole
from cobandit.scenario import ScenarioFile, read_scenario
from cobandit.scenario.words import count_of
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.studies.explanation import Explanation, PluggedExplanation

DEFAULT_SEED = 1


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "scenario", type=Path, nargs="?", help="scenario file (default: the two agents of the paper's Figure 1)"
    )
    parser.add_argument(
        "--figure",
        choices=("1a", "1b"),
        help="figure to show without a file: 1a has a threshold of one, 1b doubling thresholds (default: 1b)",
    )
    parser.add_argument(
        "--agents",
        type=int,
        nargs=2,
        metavar=("UPPER", "LOWER"),
        help="the two agents to show, counted from 0 (default: the most and the least active)",
    )
    parser.add_argument(
        "--slots", type=int, metavar="N", help="number of slots to show (default: until a dozen shares are sent)"
    )
    parser.add_argument("--seed", type=int, help="random seed (default: from the file, or 1)")
    parser.add_argument("--trial", type=int, default=0, help="trial to show for that seed (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write (default: named after the scenario)")
    add_own(parser)
    parser.set_defaults(command=_explain)


def _explain(options: argparse.Namespace) -> int:
    register_own(options)
    if options.scenario is not None and options.figure is not None:
        raise LocalError("name a scenario file or a figure of the paper, not both")
    stem = f"figure-{options.figure or '1'}" if options.scenario is None else options.scenario.stem
    path = Path(f"{stem}-explanation.html") if options.out is None else options.out
    if path.is_dir():
        raise LocalError(f"{path} is a folder: name a file to write, such as {path / f'{stem}.html'}")
    if not path.parent.is_dir():
        raise LocalError(f"there is no folder {path.parent}: create it, or choose another file")
    explanation = _explanation(options)
    write_whole(path, explanation.html())
    one, other = explanation.names
    first, second = explanation.shares
    print(f"{explanation.title}: {one} sends {count_of(first, 'share')} and {other} sends {second:,}")
    print(f"The page is in {path}. Open it in a browser; it needs no network.")
    return 0


def _explanation(options: argparse.Namespace) -> "Explanation | PluggedExplanation":
    from cobandit.studies.explanation import (  # noqa: PLC0415  # the engine needs NumPy
        FIGURE_1_NAMES,
        FIGURES,
        explain,
        explain_plugged,
    )

    title, world = FIGURES[options.figure or "1b"]
    file = ScenarioFile(world)
    if options.scenario is not None:
        file, title = read_scenario(options.scenario), options.scenario.name
    seed = next(number for number in (options.seed, file.seed, DEFAULT_SEED) if number is not None)
    if file.scenario.plugged is not None:
        return explain_plugged(
            file.scenario, seed=seed, trial=options.trial, agents=options.agents, slots=options.slots, title=title
        )
    return explain(
        file.scenario,
        seed=seed,
        trial=options.trial,
        agents=options.agents,
        slots=options.slots,
        title=title,
        names=FIGURE_1_NAMES if options.scenario is None and options.agents is None else None,
        command=_again(options),
    )


def _again(options: argparse.Namespace) -> list[str]:
    """Return what was typed, but for where to write."""
    typed = ["cobandit", "explain", *([] if options.scenario is None else [str(options.scenario)])]
    for name in ("figure", "agents", "slots", "seed"):
        if (given := getattr(options, name)) is not None:
            typed += [f"--{name}", *map(str, given if isinstance(given, list) else [given])]
    return [*typed, "--trial", str(options.trial)] if options.trial else typed
