"""The command `cobandit evaluate`: arguments and printing; `cobandit.evaluation` estimates."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cobandit.cli.state_file import add_place, place_of
from cobandit.scenario.words import count_of
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.evaluation import Estimate, Evaluation
    from cobandit.evaluation.estimators import Target


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "log",
        nargs="+",
        type=Path,
        help="output of `cobandit log`: JSON lines or a .parquet file; - reads JSON lines from standard input",
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--arm", help="evaluate always choosing this arm (default: each arm in turn)")
    other.add_argument("--arms", nargs="+", metavar="ARM", help="evaluate choosing among these arms evenly")
    other.add_argument(
        "--shares", nargs="+", metavar="ARM=SHARE", help="evaluate choosing these arms with these probabilities"
    )
    other.add_argument("--column", help="evaluate the arm, or arms and shares, in this column of the log")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="use only decisions with this value in this column; repeatable",
    )
    add_place(parser, "only decisions of")
    parser.add_argument(
        "--unrewarded",
        type=float,
        metavar="REWARD",
        help="reward to assume for decisions that have none (default: leave them out)",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON per policy")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from cobandit.evaluation import evaluate, read_decisions  # noqa: PLC0415  # loads only what is needed
    from cobandit.evaluation.logged import decisions_of  # noqa: PLC0415

    place = zip(("bandit", "segment"), place_of(options), strict=True)
    wanted = [(name, value) for name, value in place if value is not None]
    wanted += [_parted(text, "--where") for text in options.where]
    logs = [Path("/dev/stdin") if str(path) == "-" else path for path in options.log]
    rows = [row for row in read_decisions(*logs) if all(_text(row.get(name)) == value for name, value in wanted)]
    if wanted and not rows:
        raise LocalError(f"no decision in the log has {', '.join(f'{name}={value}' for name, value in wanted)}")
    log = decisions_of(rows, unrewarded=options.unrewarded)
    targets: list[Target] = list(log.arms) if (target := _target(options)) is None else [target]
    found = [evaluate(log, target) for target in targets]
    for line in [one.to_json().decode() for one in found] if options.json else _table(found):
        print(line)
    return 0


def _target(options: argparse.Namespace) -> "Target | None":
    from cobandit.evaluation import Column  # noqa: PLC0415

    if options.column is not None:
        return Column(options.column)
    if options.shares is None:
        chosen: Target | None = options.arms or options.arm
        return chosen
    shares = {}
    for arm, share in (_parted(text, "--shares") for text in options.shares):
        try:
            shares[arm] = float(share)
        except ValueError:
            raise LocalError(f"--shares needs numbers, such as A=0.25, not {arm}={share}") from None
    return shares


def _parted(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not (name and equals):
        raise LocalError(f"{option} needs NAME=VALUE, not {text!r}")
    return name, value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def _table(found: "list[Evaluation]") -> list[str]:
    first = found[0]
    lines = [f"{count_of(first.decisions, 'decision')}, as logged: {_words(first.logged)} per decision"]
    left_out = [
        f"{count:,} {why}"
        for count, why in (
            (first.unrewarded, "without a reward"),
            (first.certain, "with only one possible arm"),
            (first.untold, "without a propensity"),
        )
        if count
    ]
    lines += [f"Left out: {', '.join(left_out)}."] if left_out else []
    for one in found:
        lines += [
            "",
            f"{one.target}: effective sample size {one.effective:,.0f} of {one.decisions:,}",
            f"  inverse propensity  {_words(one.inverse_propensity)}",
            f"  self-normalised     {_words(one.self_normalised)}",
            f"  doubly robust       {_words(one.doubly_robust)}",
            *(f"  ! {caution}" for caution in one.cautions),
        ]
    but = ", except those with a warning (!)" if any(one.cautions for one in found) else ""
    return [*lines, "", f"Intervals contain the true value in {first.confidence:.0%} of such logs{but}."]


def _words(estimate: "Estimate") -> str:
    return f"{estimate.value:.4f} ({estimate.low:.4f} to {estimate.high:.4f})"
