"""One fast and many slow agents as real processes over a real network: what they learn, and what they say for it.

This file owns the run: it starts the processes, watches them as `cobandit status` would, and counts. The processes are
in `live_demo_agent.py`. However it ends, no process and no file is left: the processes stop when this one is gone.
"""

import contextlib
import json
import math
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cobandit.live.drive.asking import Asker
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import KINDS
from cobandit.policies import UCB
from cobandit.studies.live_demo_agent import DEMO_SHARING, MEANS, Spec, reward_of
from cobandit.theory.communication import immediate_share_count, total_share_bound, ucb_share_counts
from cobandit.values.errors import LocalError

FAST_PER_SECOND, SLOW_PER_SECOND = 200.0, 5.0
MOST_AGENTS = 100
HOST = "127.0.0.1"

LOOK_EVERY = 1.0
START_WITHIN, MEET_WITHIN, DECIDE_WITHIN, SETTLE_WITHIN, STOP_WITHIN = 60.0, 30.0, 30.0, 30.0, 15.0
"""Seconds, on a machine that has other things to do too. Deciding has the seconds of the plan besides."""


class Plan(msgspec.Struct, frozen=True):
    """What to run."""

    seconds: float = 60.0
    agents: int = 10
    url: str | None = None
    """A NATS or MQTT server; `None` for TLS on this machine."""
    seed: int = 1


class Known(msgspec.Struct, frozen=True):
    """One agent, at the end."""

    name: str
    decisions: int
    known: int
    """Observations that it knows of."""


class DemoResult(msgspec.Struct, frozen=True):
    """What was counted."""

    plan: Plan
    members: tuple[Known, ...]
    observations: int
    """What there is to know."""
    settled_s: float | None
    """How long it took, after the last decision, until everybody knew everything; `None` if that did not happen."""
    sent: dict[str, int]
    """Packets by kind, of all agents."""
    share_bound: int
    """What Theorem 2 allows of fresh shares."""
    immediate: int
    """What immediate broadcast would have sent."""
    regret: float
    regret_alone: float
    """Of the same agents without any communication, with the same rewards for the same pulls."""
    ungraceful: tuple[str, ...] = ()
    """Agents that did not stop as asked."""

    @property
    def missing(self) -> int:
        """How many observations are not known, over all agents."""
        return sum(self.observations - member.known for member in self.members)

    @property
    def decisions(self) -> int:
        """Of all agents."""
        return sum(member.decisions for member in self.members)


Look = Callable[[float, Fleet], None]
"""Called about once a second, with the seconds since the first decision."""


def check_plan(plan: Plan) -> None:
    """Refuse a plan that cannot be, and one whose keys cannot be made here."""
    if not (plan.seconds > 0 and math.isfinite(plan.seconds)) or not 2 <= plan.agents <= MOST_AGENTS:
        raise LocalError(f"a demo takes a positive number of seconds and 2 to {MOST_AGENTS} agents")
    if plan.url is None:
        import cobandit.live.auth.keys  # noqa: F401, PLC0415  # needs an extra


def run_demo(plan: Plan, look: Look = lambda _seconds, _fleet: None) -> DemoResult:
    """Run a fleet and count.

    Raises:
        LocalError: The plan cannot be, or an agent did not start.
    """
    check_plan(plan)
    with tempfile.TemporaryDirectory(prefix="cobandit-demo-", ignore_cleanup_errors=True) as folder:
        specs, asker = _prepared(plan, Path(folder))
        with _processes(specs, Path(folder)) as fleet, asker:
            names = [spec.name for spec in specs]
            fleet.expect("ready", START_WITHIN)
            _until(asker, names, lambda seen: _have_met(seen, plan.agents), MEET_WITHIN, "did not all meet")
            fleet.tell("go")
            began = time.monotonic()
            while (passed := time.monotonic() - began) < plan.seconds:
                look(passed, asker.ask(LOOK_EVERY, expected=names))
                next_look = min(began + plan.seconds, began + passed + LOOK_EVERY)
                time.sleep(max(0.0, next_look - time.monotonic()))
            fleet.expect("done", DECIDE_WITHIN)
            done_at = time.monotonic()
            final, is_settled = _settled(asker, names)
            settled_s = time.monotonic() - done_at if is_settled else None
            look(time.monotonic() - began, final)
            fleet.stop()
        return _result(plan, final, settled_s, fleet.ungraceful)


# Before.


def _prepared(plan: Plan, folder: Path) -> tuple[list[Spec], Asker]:
    """Return what each agent is to do, and an asker that may ask them all."""
    group = f"demo-{secrets.token_hex(3)}"
    names = [f"{'fast' if number == 0 else 'slow'}-{number:02}" for number in range(plan.agents)]
    for name in names:
        (folder / name).mkdir()
    secret = secrets.token_hex(16)
    common: dict[str, Any] = {"group": group, "seed": plan.seed, "seconds": plan.seconds}
    rates = [FAST_PER_SECOND if number == 0 else SLOW_PER_SECOND for number in range(plan.agents)]
    if plan.url is not None:
        specs = [
            Spec(name, number, str(folder / name), per_second=rate, url=plan.url, secret=secret, **common)
            for number, (name, rate) in enumerate(zip(names, rates, strict=True))
        ]
        return specs, Asker(plan.url, group=group, secret=secret)
    from cobandit.live.auth.keys import issue, make_group  # noqa: PLC0415  # needs the extra `keys`

    make_group(group, folder / "authority")
    first = f"{HOST}:{_free_port()}"
    specs = []
    for number, (name, rate) in enumerate(zip(names, rates, strict=True)):
        keys = issue(name, folder / "authority", out=folder / name / "keys.pem")
        where = {"url": f"tls://{first}"} if number == 0 else {"url": f"tls://{HOST}:0", "peers": (first,)}
        specs.append(Spec(name, number, str(folder / name), per_second=rate, keys=str(keys), **where, **common))
    own = issue("spectator", folder / "authority")
    asker = Asker(f"tls://{first}", group=group, keys=own)
    for file in (folder / "authority").iterdir():  # what nobody needs any more shall not be left, whatever happens
        file.unlink()
    (folder / "authority").rmdir()
    return specs, asker


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port


# The processes.


class _Processes:
    """The agents. Each reads orders from its standard input, and stops when that ends."""

    def __init__(self, specs: Sequence[Spec], folder: Path) -> None:
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._folder = folder
        self.ungraceful: tuple[str, ...] = ()
        for spec in specs:
            with (folder / spec.name / "log").open("w", encoding="utf-8") as log:
                self._running[spec.name] = subprocess.Popen(  # this very program
                    [sys.executable, "-m", "cobandit", "demo-agent"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    start_new_session=True,  # Ctrl-C is for this process, which stops the others one by one
                )
            self._write(spec.name, msgspec.json.encode(spec).decode())

    def tell(self, order: str) -> None:
        """Give all an order."""
        for name in self._running:
            self._write(name, order)

    def expect(self, word: str, within_s: float) -> None:
        """Wait until each has said a word."""
        deadline = time.monotonic() + within_s
        for name, process in self._running.items():
            heard = _line_within(process, deadline)
            if heard != word:
                log = (self._folder / name / "log").read_text(encoding="utf-8")[-2000:].strip()
                how = "ended before it said" if process.poll() is not None else f"has not said for {within_s:g} seconds"
                raise LocalError(f"{name} {how} {word!r}: {log or 'its log is empty'}")

    def stop(self) -> None:
        """Stop all, as an operator would; kill who does not in time. Harmless if they have stopped."""
        running, self._running = self._running, {}
        for process in running.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_WITHIN
        for name, process in running.items():
            try:
                code = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            if code != 0:
                self.ungraceful += (name,)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()

    def _write(self, name: str, line: str) -> None:
        pipe = self._running[name].stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; `expect` says so, with its log
            pipe.write(line + "\n")
            pipe.flush()


@contextlib.contextmanager
def _processes(specs: Sequence[Spec], folder: Path) -> Iterator[_Processes]:
    processes = _Processes(specs, folder)
    try:
        yield processes
    finally:
        processes.stop()


def _line_within(process: "subprocess.Popen[str]", deadline: float) -> str:
    """Return the next line of a process, or what there is when time is up."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    heard = ""
    while not heard.endswith("\n") and time.monotonic() < deadline:
        more = process.stdout.readline()
        heard += more or ""
        if not more:
            if process.poll() is not None:
                break
            time.sleep(0.01)
    return heard.strip()


# While they run.


def _have_met(fleet: Fleet, agents: int) -> bool:
    return len(fleet.members) == agents and all(len(member.peers) == agents - 1 for member in fleet.members)


def _until(
    asker: Asker, names: Sequence[str], is_so: Callable[[Fleet], bool], within_s: float, otherwise: str
) -> Fleet:
    deadline = time.monotonic() + within_s
    while True:
        fleet = asker.ask(LOOK_EVERY, expected=names)
        if is_so(fleet):
            return fleet
        if time.monotonic() > deadline:
            found = ", ".join(member.name for member in fleet.members) or "nobody"
            raise LocalError(f"the agents {otherwise} within {within_s:g} seconds; {found} answered")


def _settled(asker: Asker, names: Sequence[str]) -> tuple[Fleet, bool]:
    """Wait until everybody knows everything. Return the last that was seen, and whether it is so."""
    deadline = time.monotonic() + SETTLE_WITHIN
    while True:
        fleet = asker.ask(LOOK_EVERY, expected=names)
        is_so = len(fleet.members) == len(names) and not any(fleet.missing(member) for member in fleet.members)
        if is_so or time.monotonic() > deadline:
            return fleet, is_so


# After.


def _result(plan: Plan, fleet: Fleet, settled_s: float | None, ungraceful: tuple[str, ...]) -> DemoResult:
    observed = [member.own_observations for member in fleet.members]
    pulls = {arm.arm: arm.observations for arm in fleet.arms()}
    best = max(MEANS.values())
    return DemoResult(
        plan=plan,
        members=tuple(Known(member.name, member.decisions, member.observations) for member in fleet.members),
        observations=fleet.observations,
        settled_s=settled_s,
        sent={kind: sum(getattr(member.communication, kind) for member in fleet.members) for kind in KINDS},
        share_bound=total_share_bound(ucb_share_counts(observed, DEMO_SHARING.threshold)),
        immediate=immediate_share_count(observed),
        regret=sum((best - MEANS[arm]) * count for arm, count in pulls.items()),
        regret_alone=sum(_regret_alone(plan.seed, number, count) for number, count in enumerate(observed)),
        ungraceful=ungraceful,
    )


def _regret_alone(seed: int, number: int, decisions: int) -> float:
    """Return the regret of an agent that hears of nobody."""
    policy, regret, best = UCB(list(MEANS)), 0.0, max(MEANS.values())
    for decision in range(decisions):
        arm = policy.select_arm()
        policy.update(arm, reward_of(seed, number, decision, arm))
        regret += best - MEANS[arm]
    return regret


def result_as_json(result: DemoResult) -> str:
    """Return what was counted, for programs."""
    content = msgspec.to_builtins(result)
    return json.dumps({**content, "missing": result.missing, "decisions": result.decisions})
