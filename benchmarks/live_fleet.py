"""A thousand leaves on two relays: do they meet, what does each cost, and what happens when a relay is killed?

The relays are processes of their own (`cobandit relay`, with state files) on a NATS server; the leaves are spread over
a few processes, many in each, on one event loop. They meet, decide in turn, and are left alone; then they decide again
while one relay is killed with SIGKILL, and later started again. Each figure stands beside its bar.

    PYTHONPATH=. python benchmarks/live_fleet.py
    PYTHONPATH=. python benchmarks/live_fleet.py --leaves 100 --idle 10

They choose by UCB, which needs no odds computed beside. Memory is what the processes of the leaves have more than one
with a single leaf. Packets are those that members send;
what a server and its clients say to each other besides is not counted. The exit code is 1 if a bar is missed.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from cobandit import join
from cobandit.live.drive.asking import Asker
from cobandit.live.drive.background import background, result_of
from cobandit.live.drive.member import Member
from cobandit.live.status.statistics import Statistics
from lab.servers import nats_server

LEAVES, PROCESSES, IDLE_S = 1000, 4, 60.0
RATE = 40.0
"""Decisions of each leaf in a second, at most: so a buffer is full in less than two seconds."""
WARM_UP, DECISIONS, IN_OUTAGE = 192, 256, 384
"""Decisions of each leaf: until thresholds have reached their cap; while messages are counted; around a relay's end."""

ARMS = ["A", "B", "C", "D"]
MEANS = (0.45, 0.5, 0.55, 0.6)
GROUP, SECRET = "fleet", "a secret of the whole fleet"
RELAYS = ("relay-a", "relay-b")
WITHIN_S = 900.0
LOOK_EVERY_S = 0.05
TOLD = "TOLD "
"""Begins the lines in which a process of leaves answers; whatever else it prints is for people."""


class Figure(NamedTuple):
    """What was measured, beside what it must be."""

    what: str
    value: float
    unit: str
    bar: float | None = None
    """It must be below this; `None` if nothing is asked."""
    is_exact: bool = False
    """Whether it must be the bar."""

    @property
    def is_met(self) -> bool:
        """Whether it is as it must be."""
        return self.bar is None or (self.value == self.bar if self.is_exact else self.value < self.bar)

    def __str__(self) -> str:
        asked = "" if self.bar is None else f"{'must be' if self.is_exact else 'bar'} {self.bar:,.10g}"
        mark = "" if self.is_met else "  MISSED"
        return f"  {self.what:<58}{self.value:>14,.3f} {self.unit:<8} {asked}{mark}"


def main() -> int:
    """Print what was measured."""
    options = _options()
    if options.worker:
        Worker(options.url, options.worker, options.first, options.leaves, options.rate).run()
        return 0
    with nats_server() as hub, tempfile.TemporaryDirectory(prefix="cobandit-fleet-") as folder, ExitStack() as stack:
        relays = {name: stack.enter_context(Relay(name, hub.url, Path(folder))) for name in RELAYS}
        figures = measure(hub.url, relays, stack, options)
    print(f"{options.leaves} leaves in {options.processes} processes, {len(RELAYS)} relays, NATS")
    for figure in figures:
        print(figure)
    return 0 if all(figure.is_met for figure in figures) else 1


def measure(url: str, relays: "dict[str, Relay]", stack: ExitStack, options: argparse.Namespace) -> list[Figure]:
    """Let a fleet meet, decide, rest, and lose a relay."""
    count = options.leaves
    sizes = [count // options.processes + (place < count % options.processes) for place in range(options.processes)]
    workers = [
        stack.enter_context(LeafProcess(url, place + 1, sum(sizes[:place]), size, options.rate))
        for place, size in enumerate(sizes)
    ]
    ask_all(workers, "prepare")
    began = time.perf_counter()
    ask_all(workers, "meet")
    met_s = time.perf_counter() - began
    _progress(f"met in {met_s:.1f} s")
    asker = stack.enter_context(Asker(url, group=GROUP, secret=SECRET))
    ask_all(workers, "decide", count=WARM_UP)
    _progress("thresholds have reached their cap")
    before = _sent(workers, asker)
    began, worked = time.perf_counter(), sum(relay.cpu_s() for relay in relays.values())
    ask_all(workers, "decide", count=DECISIONS)
    decide_s = time.perf_counter() - began
    packets = _sent(workers, asker) - before
    worked = sum(relay.cpu_s() for relay in relays.values()) - worked
    _progress(f"{packets:,} packets for {count * DECISIONS:,} decisions")
    kilobytes = sum(answer["kilobytes"] for answer in ask_all(workers, "memory"))
    made = count * (WARM_UP + DECISIONS)
    known_s = _until_known(workers, asker, made)
    _until_quiet(workers, asker)
    before = _sent(workers, asker)
    time.sleep(options.idle)
    idle = _sent(workers, asker) - before
    _progress("now a relay is killed")
    for worker in workers:
        worker.tell("outage", count=IN_OUTAGE, relay=RELAYS[0])
    time.sleep(1.0)
    relays[RELAYS[0]].kill()
    killed_at = time.time()
    for worker in workers:
        worker.tell("killed", at=killed_at)
    outages = [worker.answer() for worker in workers]
    _progress("all leaves talk to the other one")
    made += count * IN_OUTAGE
    exact_s = _until_known(workers, asker, made, without=RELAYS[0])
    relays[RELAYS[0]].start()
    _until_known(workers, asker, made)
    known = [one for answer in ask_all(workers, "known") for one in answer["known"]]
    held = {one.name: one for one in asker.ask(10.0).members}
    minutes = count * options.idle / 60.0
    moved = sum(answer["moved"] for answer in outages)
    return [
        Figure("all leaves have met a relay", met_s, "s", 20.0),
        Figure("memory for each leaf", kilobytes / count, "KB", 150.0),
        Figure("memory of a relay", held[RELAYS[1]].observations and relays[RELAYS[1]].megabytes(), "MB"),
        Figure("decisions in all processes together", count * DECISIONS / decide_s, "/s"),
        Figure("work of both relays for a thousand decisions", 1e6 * worked / (count * DECISIONS), "ms"),
        Figure("messages for each decision, all members", packets / (count * DECISIONS), "", 0.05),
        Figure("idle packets for each leaf and minute, all members", idle / minutes, "", 2.0),
        Figure("everybody knows everything after being asked to catch up", known_s, "s"),
        Figure("leaves whose relay was killed", moved, ""),
        Figure("  the last one talks to the other relay after", max(one["last_s"] for one in outages), "s", 5.0),
        Figure("  leaves that did not decide meanwhile", sum(one["idle"] for one in outages), "", 0.0, is_exact=True),
        Figure("  slowest decision and reward", 1000.0 * max(one["slowest_s"] for one in outages), "ms"),
        Figure("everybody knows everything again", exact_s, "s"),
        Figure("observations known to the leaf that knows least", min(known), "", made, is_exact=True),
        Figure("  and to the one that knows most", max(known), "", made, is_exact=True),
        *(Figure(f"  and to {name}", held[name].observations, "", made, is_exact=True) for name in RELAYS),
    ]


def _sent(workers: "Sequence[LeafProcess]", asker: Asker) -> int:
    """Return how many packets all members have sent, relays too."""
    relays = sum(one.communication.sent for one in asker.ask(10.0, expected=RELAYS).members)
    return relays + sum(answer["sent"] for answer in ask_all(workers, "sent"))


def _until_known(workers: "Sequence[LeafProcess]", asker: Asker, total: int, without: str | None = None) -> float:
    """Wait until every leaf and every relay knows so many observations; the leaves ask for them. Return the seconds."""
    began = time.perf_counter()
    while time.perf_counter() < began + WITHIN_S:
        ask_all(workers, "catch up")
        time.sleep(3.0)
        known = [one for answer in ask_all(workers, "known") for one in answer["known"]]
        held = [one.observations for one in asker.ask(10.0).members if one.name != without]
        if set(known) == set(held) == {total}:
            break
        _progress(f"known: {min(known):,} to {max(known):,} at leaves, {held} at relays, of {total:,}")
    return time.perf_counter() - began


def _until_quiet(workers: "Sequence[LeafProcess]", asker: Asker) -> None:
    """Wait until next to nothing is said."""
    before, looks = -(10**9), 0
    while looks < 3:
        now = _sent(workers, asker)
        looks, before = looks + 1 if now - before < 10 * len(RELAYS) else 0, now
        time.sleep(2.0)


class Relay:
    """A relay as a process."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        self._file = folder / f"{name}.toml"
        self._file.write_text(
            f'group = "{GROUP}"\nname = "{name}"\nurl = "{url}"\narms = {json.dumps(ARMS)}\nstate = "{name}.db"\n'
            f'secret = "{SECRET}"\n',
            encoding="utf-8",
        )
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        command = [sys.executable, "-m", "cobandit", "relay", str(self._file)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # our own
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert "is ready" in said, said

    def kill(self) -> None:
        """Kill it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def cpu_s(self) -> float:
        """Return for how many seconds it has worked."""
        assert self._process is not None
        times = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Return what it takes now."""
        assert self._process is not None
        return _resident(self._process.pid) / 1024.0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()


class LeafProcess:
    """A process with many leaves, from outside."""

    def __init__(self, url: str, number: int, first: int, leaves: int, rate: float) -> None:
        given = ["--url", url, "--worker", str(number), "--first", str(first), "--leaves", str(leaves)]
        given += ["--rate", str(rate)]
        self._command = [sys.executable, __file__, *given]
        self._process: subprocess.Popen[str]

    def tell(self, what: str, **more: Any) -> None:  # noqa: ANN401  # whatever JSON has
        """Say what to do."""
        assert self._process.stdin is not None
        print(json.dumps({"do": what, **more}), file=self._process.stdin, flush=True)

    def answer(self) -> dict[str, Any]:
        """Return what it says when it is done."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(TOLD):
                answer: dict[str, Any] = json.loads(line.removeprefix(TOLD))
                return answer
        raise RuntimeError("a process of leaves has ended")

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # our own
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # what its leaves would say in farewell is not measured
        self._process.wait()


def ask_all(workers: Sequence[LeafProcess], what: str, **more: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # as `tell`
    """Let all processes do something at the same time."""
    for worker in workers:
        worker.tell(what, **more)
    return [worker.answer() for worker in workers]


# Inside a process of leaves.


class Worker:
    """Many leaves in one process."""

    def __init__(self, url: str, number: int, first: int, count: int, rate: float) -> None:
        self._url, self._number, self._first, self._count = url, number, first, count
        self._round_s = 1.0 / rate
        self._members: list[Member] = []
        self._chance = random.Random(number)
        self._before = 0
        _allow_sockets()

    def run(self) -> None:
        """Do what is said, until there is nothing more to do."""
        orders = _Orders(sys.stdin)
        for order in orders:
            answer = getattr(self, "_" + order.pop("do").replace(" ", "_"))(orders=orders, **order)
            print(TOLD + json.dumps(answer), flush=True)
        os._exit(0)

    def _prepare(self, **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        """Load everything, with a single leaf, and look at the memory."""
        (one,) = asyncio.run(self._joined([f"single-{self._number}"]))
        for _ in range(100):
            one.update(one.select_arm(), 1.0)
        one.close()
        # What it has learned is part of no total that is looked at: it was of another group.
        gc.collect()
        self._before = _resident(os.getpid())
        return {}

    def _meet(self, **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        names = [f"leaf-{self._first + place}" for place in range(self._count)]
        self._members = asyncio.run(self._joined(names))
        deadline = time.monotonic() + WITHIN_S
        while not all(member.statistics().homes for member in self._members):
            assert time.monotonic() < deadline
            time.sleep(LOOK_EVERY_S)
        return {}

    async def _joined(self, names: list[str]) -> list[Member]:
        group = GROUP if self._members or not names[0].startswith("single") else f"{GROUP}-alone"
        options: dict[str, Any] = {"group": group, "arms": ARMS, "policy": "ucb", "secret": SECRET, "relays": ["*"]}
        options["log_limit"] = 0  # the log of decisions is on disk elsewhere, or not wanted

        async def start(name: str) -> Member:
            return await join(self._url, name=name, **options)

        return list(await asyncio.gather(*map(start, names)))

    def _decide(self, count: int, **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        for _ in self._rounds(count):
            for member in self._members:
                self._decide_once(member)
        return {}

    def _rounds(self, count: int) -> Iterator[int]:
        """Count so many rounds, not more often than the rate says."""
        due = time.perf_counter()
        for number in range(count):
            time.sleep(max(0.0, due - time.perf_counter()))
            due = max(due, time.perf_counter() - 1.0) + self._round_s
            yield number

    def _decide_once(self, member: Member) -> None:
        decision = member.select_arm()
        member.update(decision, float(self._chance.random() < MEANS[ARMS.index(decision.arm)]))

    def _outage(self, count: int, relay: str, orders: "_Orders", **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        """Decide while a relay is killed, and look when its leaves talk to another one."""
        moving = [member for member in self._members if relay in member.statistics().homes]
        moved = len(moving)
        decided, slowest, is_over = dict.fromkeys((member.name for member in self._members), 0), 0.0, threading.Event()
        killed = threading.Event()

        def decide() -> None:
            nonlocal slowest
            for _ in self._rounds(count):
                for member in self._members:
                    began = time.perf_counter()
                    self._decide_once(member)
                    slowest = max(slowest, time.perf_counter() - began)
                    if killed.is_set() and not is_over.is_set():
                        decided[member.name] += 1

        thread = threading.Thread(target=decide)
        thread.start()
        killed_at = next(iter(orders))["at"]
        killed.set()
        last_s, deadline = 0.0, time.monotonic() + WITHIN_S
        while moving and time.monotonic() < deadline:
            moving = result_of(background().submit(_without_home(moving, relay)))
            last_s = time.time() - killed_at
            time.sleep(LOOK_EVERY_S)
        thread.join()
        is_over.set()
        return {
            "moved": moved,
            "last_s": last_s,
            "idle": sum(not times for times in decided.values()),
            "slowest_s": slowest,
        }

    def _sent(self, **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        return {"sent": sum(one.communication.sent for one in self._statistics())}

    def _known(self, **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        return {"known": [one.observations for one in self._statistics()]}

    def _memory(self, **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        gc.collect()
        return {"kilobytes": _resident(os.getpid()) - self._before}

    def _catch_up(self, **_: Any) -> dict[str, Any]:  # noqa: ANN401  # as said
        for member in self._members:
            member.flush(0.0)
            member.catch_up()
        return {}

    def _statistics(self) -> Iterator[Statistics]:
        return (member.statistics() for member in self._members)


async def _without_home(members: list[Member], gone: str) -> list[Member]:
    """Return who talks to no other relay than one that is gone: all in one look, and without a verdict for each."""
    homes = [(one, one._node.machine.leaf) for one in members]  # noqa: SLF001  # nobody else looks so often
    return [one for one, leaf in homes if leaf is None or not set(leaf.homes.talking) - {gone}]


class _Orders:
    """What a process of leaves is told, a line each."""

    def __init__(self, lines: IO[str]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for line in iter(self._lines.readline, ""):
            yield json.loads(line)


def _allow_sockets() -> None:
    """Ask for as many open files as this process may have: every leaf has a connection."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it


def _resident(pid: int) -> int:
    """Return how many kilobytes of memory a process has now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def _progress(what: str) -> None:
    print(f"  ... {what}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--leaves", type=int, default=LEAVES)
    parser.add_argument("--processes", type=int, default=PROCESSES, help="for the leaves")
    parser.add_argument("--rate", type=float, default=RATE, help="decisions of each leaf in a second, at most")
    parser.add_argument("--idle", type=float, default=IDLE_S, help="seconds")
    for hidden in ("--worker", "--first"):
        parser.add_argument(hidden, type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
