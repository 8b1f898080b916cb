"""The command `cobandit demo`: arguments and printing; `cobandit.studies.live_demo` runs the fleet."""

import argparse
import shutil
import signal
import sys
import textwrap
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cobandit.values.errors import MissingExtraError
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from cobandit.dashboard.demo_page import DemoPage
    from cobandit.live.status.fleet import Fleet
    from cobandit.studies.live_demo import DemoResult, Plan

DEMO_AGENT = "demo-agent"
"""The hidden command that `cobandit demo` runs once per agent. It is not for people: no help or error names it."""

WIDTH = 80

LINE_EVERY = 5.0
"""Seconds between two lines when the output is not a terminal."""


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="how long the agents decide, without start-up and settling (default: %(default)g)",
    )
    parser.add_argument(
        "--agents", type=int, default=10, help="number of agents; the first is fast (default: %(default)s)"
    )
    parser.add_argument(
        "--url", help="message server: nats://host:port or mqtt://host:port (default: TLS on this machine)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed for decision times and rewards (default: 1)")
    parser.add_argument("--json", action="store_true", help="print only the counts, as JSON, without a page")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:0",
        help="address of the live page (default: a free local port)",
    )
    parser.set_defaults(command=_demo, extra="live")  # it needs several packages, which are not named one by one


def _demo(options: argparse.Namespace) -> int:
    from cobandit.studies.live_demo import Plan, check_plan  # noqa: PLC0415  # loads only what is needed

    plan = Plan(options.seconds, options.agents, options.url, options.seed)
    check_plan(plan)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        return _run(plan, options)
    except KeyboardInterrupt as stopped:
        print(
            f"\ncobandit: the demo was stopped early, with all {plan.agents} processes; nothing is left behind",
            file=sys.stderr,
        )
        return int(stopped.args[0]) if stopped.args else 130  # as `cobandit.cli.INTERRUPTED`
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(number: int, _frame: object) -> None:
    """Let SIGTERM stop the demo as Ctrl-C does."""
    raise KeyboardInterrupt(128 + number)


def _run(plan: "Plan", options: argparse.Namespace) -> int:
    from cobandit.studies.live_demo import result_as_json, run_demo  # noqa: PLC0415

    with ExitStack() as stack:
        page = None if options.json else _page(options.listen, stack)
        screen = Screen(plan, is_silent=options.json, page=page)
        screen.begin()
        result = run_demo(plan, screen.look)
        if options.json:
            print(result_as_json(result))
        else:
            screen.end()
            print("\n".join(_told(result)))
    return 1 if result.missing or result.ungraceful or result.sent["shares"] > result.share_bound else 0


def _page(listen: str, stack: ExitStack) -> "DemoPage | None":
    try:
        with needed_by("the page"):
            from cobandit.dashboard.demo_page import DemoPage  # noqa: PLC0415
    except MissingExtraError as error:
        print(f"No page: {error}", file=sys.stderr)
        return None
    return stack.enter_context(DemoPage(listen))


def run_agent_of_demo() -> int:
    """Run one agent of the demo."""
    from cobandit.studies.live_demo_agent import run_demo_agent  # noqa: PLC0415

    run_demo_agent()
    return 0


class Screen:
    """Shows the fleet while it runs: a table redrawn on a terminal, otherwise a line every few seconds."""

    def __init__(self, plan: "Plan", *, is_silent: bool, page: "DemoPage | None" = None) -> None:
        self._plan = plan
        self._page = page
        self._is_silent = is_silent
        self._is_drawn = sys.stdout.isatty() and not is_silent
        self._line_at = LINE_EVERY

    def begin(self) -> None:
        """Say what is about to run."""
        where = self._plan.url or "TLS on this machine"
        if not self._is_silent:
            print(f"Starting {self._plan.agents} processes, one fast and the rest slow, over {where} ...", flush=True)
        if self._page is not None:
            print(f"Look at {self._page.url}", flush=True)

    def look(self, seconds: float, fleet: "Fleet") -> None:
        """Show the fleet."""
        if self._is_silent or not fleet.members:
            return
        if self._page is not None:
            self._page.show(fleet, is_last=seconds >= self._plan.seconds)
        behind = max(fleet.missing(member) for member in fleet.members)
        shares = sum(member.communication.shares for member in fleet.members)
        line = f"{fleet.decisions:>8,} decisions {shares:>7,} shares; at most {behind:,} observations missing"
        if self._is_drawn:
            where = "" if self._page is None else f"; live page: {self._page.url}"
            self._draw(f"{min(seconds, self._plan.seconds):.0f} of {self._plan.seconds:g} seconds{where}", fleet)
        elif seconds >= self._line_at or seconds >= self._plan.seconds:
            self._line_at = seconds + LINE_EVERY
            print(f"{seconds:>5.0f} s {line}", flush=True)

    def end(self) -> None:
        """Make room for what was counted."""
        print()

    def _draw(self, title: str, fleet: "Fleet") -> None:
        from cobandit.cli.fleet_table import brief_lines  # noqa: PLC0415

        size = shutil.get_terminal_size()
        lines = [title, *brief_lines(fleet, size.columns, size.lines - 2)]
        sys.stdout.write("\x1b[H\x1b[J" + "\n".join(lines) + "\n")
        sys.stdout.flush()


def _told(result: "DemoResult") -> list[str]:
    sent, bound, immediate = result.sent, result.share_bound, result.immediate
    missing = [(member.name, result.observations - member.known) for member in result.members]
    lacking = ", ".join(f"{name} lacks {count:,}" for name, count in missing if count)
    lines = [f"{'AGENT':16}{'DECISIONS':>12}{'KNOWS':>12}{'OF':>12}"]
    lines += [
        f"{member.name:16}{member.decisions:>12,}{member.known:>12,}{result.observations:>12,}"
        for member in result.members
    ]
    settled = "" if result.settled_s is None else f", {result.settled_s:.1f} s after the last decision"
    verdict = f"Some agents lack observations: {lacking}."
    if not lacking:
        verdict = f"All agents know all {result.observations:,} observations{settled}."
    lines += [
        "",
        *textwrap.wrap(verdict, WIDTH),
        "",
        f"{'PACKETS SENT':44}{'COUNT':>12}{'PER DECISION':>16}",
    ]
    meanings = {
        "shares": "shares: fresh observations and a request",
        "repetitions": "repeated shares, and what was left over",
        "acknowledgements": "acknowledgements",
        "notices": "notices: arrivals and departures",
        "letters": "control messages: hellos and answers",
    }
    lines += [
        f"{meaning:44}{sent[kind]:>12,}{sent[kind] / result.decisions:>16.3f}" for kind, meaning in meanings.items()
    ]
    lines += [
        "",
        f"{'SHARES COMPARED':44}{'COUNT':>12}{'PER DECISION':>16}",
        f"{'these agents':44}{sent['shares']:>12,}{sent['shares'] / result.decisions:>16.3f}",
        f"{'at most, by Theorem 2 for these counts':44}{bound:>12,}{bound / result.decisions:>16.3f}",
        f"{'immediate broadcast':44}{immediate:>12,}{immediate / result.decisions:>16.3f}",
        "",
        "Theorem 2 bounds fresh shares only: one agent sends another at most",
        "min(C_j, C_p) + 1, where j's observations fill C_j thresholds of",
        "1, 2, 4, ... 64, 64, ... Acknowledgements and repeats are the cost of a network",
        "that loses packets. To keep the run short, an agent that stops observing sends",
        "the rest unasked after 2 to 10 s; live members wait 60 to 600 s by default.",
        "",
        f"Group regret: {result.regret:,.0f}. The same agents without communication: {result.regret_alone:,.0f}.",
    ]
    if sent["shares"] > bound:
        lines.append("! More shares than Theorem 2 allows: this is a bug in cobandit, please report it.")
    if result.ungraceful:
        lines.append(f"! These agents did not stop when asked: {', '.join(result.ungraceful)}.")
    return lines
