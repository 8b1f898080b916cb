"""The command line: argument parsing and printing only; each command calls one function."""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import cobandit
from cobandit.cli.bench import add_bench
from cobandit.cli.control import add_control
from cobandit.cli.demo import DEMO_AGENT, add_demo, run_agent_of_demo
from cobandit.cli.evaluate import add_evaluate
from cobandit.cli.explain import add_explain
from cobandit.cli.folder import make_folder
from cobandit.cli.forget import add_forget
from cobandit.cli.health import add_health
from cobandit.cli.keys import add_keys
from cobandit.cli.parsing import Parser, positive
from cobandit.cli.progress import Progress, notes
from cobandit.cli.protocols import add_protocols
from cobandit.cli.relay import add_relay
from cobandit.cli.reproduce import add_reproduce
from cobandit.cli.serve import add_serve
from cobandit.cli.simulate import add_simulate
from cobandit.cli.state_file import add_log, add_reward, add_snapshot
from cobandit.cli.status import add_status
from cobandit.cli.terminal import fitted
from cobandit.look.files import write_whole
from cobandit.values.cores import core_count
from cobandit.values.errors import CobanditError
from cobandit.values.extras import needed_by

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

UNREAD = 141
"""The exit code if the reader closes the pipe early, as `head` does: the same as if SIGPIPE had ended the program."""


def console() -> int:
    """Run the command line as a program. Ctrl-C ends it at once, even while threads and workers are computing."""
    code = main()
    if code == INTERRUPTED:
        for worker in multiprocessing.active_children():
            worker.terminate()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if given == [DEMO_AGENT]:  # no command for people, so no parser knows it
            return run_agent_of_demo()
        options = _parser().parse_args(given)
        is_read_by_programs = getattr(options, "json", False) or options.name_of_command == "log"
        with (
            fitted(folds=not is_read_by_programs),
            needed_by(f"'{options.name_of_command}'", getattr(options, "extra", None)),
        ):
            code = int(options.command(options))
        sys.stdout.flush()  # here, where a reader that is gone can still be told from other errors
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest is flushed when the program ends
        return UNREAD
    except CobanditError as error:
        return _refused(str(error))
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _refused(f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        print("cobandit: interrupted", file=sys.stderr)
        return INTERRUPTED
    return code


def _refused(why: str) -> int:
    with fitted():
        print(f"cobandit: {why}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # a full disk, perhaps: what is left cannot be written when the program ends either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 2


def _parser() -> Parser:
    parser = Parser(prog="cobandit", usage="cobandit [-h] [--version] command ...", description=cobandit.__doc__)
    parser.add_argument("--version", action="version", version=f"cobandit {cobandit.__version__}")
    commands = parser.add_commands("name_of_command")

    commands.group("Try it")
    add_demo(commands.add("demo", "run a fleet of real processes for a minute; count its messages"))
    _add_compare(commands.add("compare", "compare ways to communicate: print a table and draw a figure"))
    add_explain(commands.add("explain", "show how two agents of a scenario talk, as an animated page"))

    commands.group("Run a fleet")
    add_relay(commands.add("relay", "run a relay: the group's always-on memory and hub for leaves"))
    add_serve(commands.add("serve", "run a member with an HTTP API, for programs in any language"))
    add_keys(commands.add("keys", "create a group and the key files that identify its agents"))
    add_health(commands.add("health", "check whether a member on this machine is healthy"))

    commands.group("Operate a fleet")
    add_status(commands.add("status", "show the state of a fleet: arms, members, who talks to whom"))
    add_control(commands.add("control", "freeze arms or use the kill switch, across a whole fleet"))
    add_forget(commands.add("forget", "remove members that are gone for good; their observations stay"))
    add_log(commands.add("log", "print a member's decisions, with propensities and rewards"))
    add_evaluate(commands.add("evaluate", "estimate from a log how well another policy would have done"))
    add_reward(commands.add("reward", "reward a decision by its id"))
    add_snapshot(commands.add("snapshot", "save what a member knows, for other members to start from"))

    commands.group("Research")
    add_simulate(commands.add("simulate", "run trials of a scenario file, on one machine or a cluster"))
    add_protocols(commands.add("protocols", "list the protocols that scenario files can name"))
    add_bench(commands.add("bench", "benchmark protocols on fixed tasks and write a report"))
    add_reproduce(commands.add("reproduce", "run the paper's experiments and write a report with figures"))
    _add_messages(commands.add("messages", "compare our message counts with the paper's (readable engine)"))
    return parser


def _add_compare(parser: Parser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("comparison"), help="folder for the figure (default: comparison)"
    )
    _add_runs(parser, trials=4)
    parser.set_defaults(command=_compare)


def _add_messages(parser: Parser) -> None:
    parser.add_argument("experiment", nargs="*", default=[], help="3, 5, 6a, 6b or 7 (default: all)")
    _add_runs(parser, trials=None)
    parser.set_defaults(command=_messages)


def _add_runs(parser: argparse.ArgumentParser, *, trials: int | None) -> None:
    usual = "as many as a standard error of 0.4 %% needs" if trials is None else trials
    parser.add_argument("--trials", type=positive, default=trials, help=f"number of trials (default: {usual})")
    parser.add_argument(
        "--workers", type=positive, default=core_count(), help="number of processes (default: one per core)"
    )


def _compare(options: argparse.Namespace) -> int:
    from cobandit.studies import demonstration  # noqa: PLC0415  # needs the extra `sim`, as the next command

    make_folder(options.out)
    progress = Progress(sys.stderr)
    try:
        with notes(sys.stderr):
            lines = demonstration.measure(trials=options.trials, workers=options.workers, progress=progress)
    finally:
        progress.clear()
    print(f"{'':27}{'messages':>10}{'per decision':>14}{'group regret':>14}")
    for line in lines:
        sure = f" ± {line.regret_half:,.0f}" if options.trials > 1 else ""
        print(
            f"{line.way:27}{line.mean_shares:>10,.0f}{line.mean_shares / line.decisions:>14.3f}"
            f"{line.mean_regret:>14,.0f}{sure}"
        )
    picture = demonstration.drawn(lines)
    for name, content in picture.files().items():
        write_whole(options.out / name, content)
    trials, sure = f"{options.trials} trials", "± is half the width of the 95 % interval of the mean."
    if options.trials == 1:
        trials, sure = "1 trial", "One trial says nothing about chance: take more."
    print(
        f"\n{trials} of {lines[0].decisions:,} decisions by 20 agents, UCB.\n"
        f"{sure} The figure is\n"
        f"{options.out / picture.name}, as .svg and .pdf."
    )
    return 0


def _messages(options: argparse.Namespace) -> int:
    from cobandit.studies import messages, paper  # noqa: PLC0415

    names = options.experiment or list(paper.TABLES)
    for name in names:
        paper.experiment(name)
    heads = f"{'published':>11}{'sd':>8}{'trials':>7}{'counted':>11}{'off':>8}{'chance':>8}"
    print(f"{'':3}{'algorithm':24}{heads}")
    agree = True
    for row in messages.compare(names, trials=options.trials, workers=options.workers):
        print(
            f"{row.experiment:3}{row.algorithm:24}{row.published:>11,.0f}{row.published_sd:>8,.0f}"
            f"{len(row.counted):>7}{row.mean:>11,.0f}{row.difference:>+8.2%}{row.standard_error:>8.2%}",
            flush=True,
        )
        agree = agree and row.agrees
    print("\nOff: how far our count is from the published one. Chance: the standard error of that.")
    return 0 if agree else 1
