"""Thousands of restarts of one member, or thousands of names, in virtual time: what each costs, and what counts.

Two members, with real packets and a real journal: one that always runs, and one that observes something, is gone, and
starts again. This file owns who starts and goes, and what was really observed; it does not know how members talk.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from cobandit.codec import facts_that_fit
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.machine.batch import encode_state
from cobandit.live.machine.control_messages import pack
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.machine.step import Terms
from cobandit.live.store.journal import Journal, MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.live.store.sqlite_journal import SqliteJournal
from cobandit.live.transports.base import LARGEST_FRAME
from cobandit.policies import UCB

GROUP = "restarts"
MEMORY, WEB = "memory", "web"
EXPIRE_AFTER = FORGET_AFTER = 86_400.0
AT_REST_WITHIN = 600.0
"""Seconds of virtual time in which everything must have been said."""

LOOKS = 10
"""So often it is checked that everything counts once, and told what a start costs."""


class Way(Enum):
    """How a member goes and comes back."""

    NO_DISK = "killed, without a disk"
    DISK = "killed, with a disk"
    CLEAN = "stopped in order, with a disk"
    NAMES = "stopped in order, and the next one has a new name"
    DEAD_NAMES = "killed, and the next one has a new name"


class Look(NamedTuple):
    """What a start costs, after so many."""

    starts: int
    rows: int
    """Cells that the member which always runs holds."""
    links: int
    """Of those that it keeps in mind."""
    state_bytes: int
    """Of its state, as it is written."""
    packets: int
    packet_bytes: int
    largest: int
    """Of this one start, both ways: how many packets, how many bytes, and how large the largest was."""
    seconds: float
    """Of computing, for this one start, until all is said."""
    wrong: tuple[str, ...]
    """What is lost, doubled or refused."""


def restarts(way: Way, count: int, arms: int = 1, between: float = 60.0) -> Iterator[Look]:
    """Let a member start so often, and look at it now and then.

    Most of its lives are short: it says what it has observed, and goes. Before a look it stays until all is said.

    Args:
        way: How it goes and comes back.
        count: How often it starts.
        arms: How many arms it observes in each of its lives, once each.
        between: Seconds of virtual time between two starts.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield from _Fleet(way, arms, between, Path(folder)).run(count)


class _Computer:
    """A member, its journal and its name."""

    def __init__(self, name: str, arms: tuple[str, ...], journal: Journal, clock: VirtualClock) -> None:
        self.name, self.journal, self.clock = name, journal, clock
        restored = restore(journal, name=name, group=GROUP, arms=arms, build=UCB, sharing=LIVE_SHARING, clock=clock)
        terms = Terms(name, GROUP, LIVE_SHARING, UCB, EXPIRE_AFTER, None, forget_after=FORGET_AFTER)
        self.machine = Machine(terms, restored, clock)
        self.machine.limit_facts(facts_that_fit(LARGEST_FRAME, arms))
        self.machine.make_decider(None, seed=1, wake=lambda: None)
        journal.replace(self.machine.state(is_clean=False))
        self.machine.introduction.introduce()

    def step(self, packets: list[bytes]) -> list[tuple[str, bytes]]:
        """Take a step, write, and return what is to be sent, and to whom."""
        step = self.machine.step([(packet, None) for packet in packets])
        if not step.is_empty:
            self.journal.write((step.batch,), step.mail_done)
        return [(receiver, pack(content, GROUP)) for receiver, content in step.outgoing]

    def observe(self, arms: tuple[str, ...]) -> None:
        """Reward a decision for each of these arms."""
        for arm in arms:
            decision = self.machine.decider.select_arm(among=[arm])
            self.machine.decider.settle(decision.number, 1.0)

    def is_done_with(self, other: str) -> bool:
        """Return whether it has nothing to say to another one."""
        agent = self.machine.agent
        return not (other in agent.peers and agent.peers.link(other).owes) and other not in agent.peers.lacking


class _Fleet:
    def __init__(self, way: Way, arms: int, between: float, folder: Path) -> None:
        self._way, self._folder, self._between = way, folder, between
        self._arms = tuple(f"arm-{number}" for number in range(arms))
        self._clock = VirtualClock()
        self._clock.time = 1_800_000_000.0
        self._memory = _Computer(MEMORY, self._arms, MemoryJournal(), self._clock)
        self._observed: Counter[str] = Counter()
        self._sizes: list[int] = []
        self._said_to_gone = 0

    def run(self, count: int) -> Iterator[Look]:
        every = max(1, count // LOOKS)
        for start in range(1, count + 1):
            self._sizes.clear()
            began = time.process_time()
            web = self._start(start)
            self._live(web)
            if start % every == 0 or start == count:
                wrong = self._rest(web)
                seconds = time.process_time() - began
                yield self._look(start, seconds, wrong + self._wrong(web))
            self._end(web)

    def _start(self, start: int) -> _Computer:
        is_named_anew = self._way in (Way.NAMES, Way.DEAD_NAMES)
        name = f"{WEB}-{start}" if is_named_anew else WEB
        has_disk = self._way in (Way.DISK, Way.CLEAN)
        journal: Journal = SqliteJournal(self._folder / "web.db", log_limit=0) if has_disk else MemoryJournal()
        self._clock.time += self._between
        return _Computer(name, self._arms, journal, self._clock)

    def _live(self, web: _Computer) -> None:
        """Let it meet the other one, observe, and say so."""
        web.machine.introduction.greet(MEMORY)
        self._talk(web)
        web.observe(self._arms)
        self._observed.update(self._arms)
        web.machine.flush()
        self._talk(web)

    def _rest(self, web: _Computer) -> list[str]:
        """Let both go on until all is said. Return what is wrong if it never is."""
        deadline = self._clock.time + AT_REST_WITHIN
        while not (web.is_done_with(MEMORY) and self._memory.is_done_with(web.name)):
            if self._clock.time > deadline:
                return ["they are not at rest"]
            self._clock.time += 1.0
            self._talk(web)
        return []

    def _talk(self, web: _Computer) -> None:
        """Carry packets until there are none."""
        computers = {MEMORY: self._memory, web.name: web}
        on_the_way: dict[str, list[bytes]] = {name: [] for name in computers}
        is_first = True
        while is_first or any(on_the_way.values()):
            is_first, arriving = False, on_the_way
            on_the_way = {name: [] for name in computers}
            for name, computer in computers.items():
                for receiver, packet in computer.step(arriving[name]):
                    if receiver in on_the_way:
                        on_the_way[receiver].append(packet)
                        self._sizes.append(len(packet))
                    else:
                        self._said_to_gone += 1
            self._clock.time += 0.001

    def _end(self, web: _Computer) -> None:
        if self._way in (Way.CLEAN, Way.NAMES):
            web.machine.take_leave()
            self._talk(web)
            web.journal.replace(web.machine.state(is_clean=True))
        web.journal.close()

    def _wrong(self, web: _Computer) -> list[str]:
        """Return what does not count once at one of the two, and what was refused."""
        wrong = []
        for computer in (self._memory, web):
            machine = computer.machine
            is_told_all = computer is self._memory or self._way not in (Way.NAMES, Way.DEAD_NAMES)
            wanted = self._observed if is_told_all else Counter(self._arms)
            known = {arm: count for arm, count in machine.agent.policy.tally.counts.items() if count}
            if known != dict(wanted):
                wrong.append(f"{computer.name} counts {known}, and {dict(wanted)} were observed")
            if machine.guard.refusals:
                wrong.append(f"{computer.name} refused {dict(machine.guard.refusals)}")
        if self._said_to_gone and self._way is Way.NAMES:
            wrong.append(f"{self._said_to_gone} packets went to members that had said farewell")
        return wrong

    def _look(self, start: int, seconds: float, wrong: list[str]) -> Look:
        agent = self._memory.machine.agent
        return Look(
            starts=start,
            rows=sum(1 for _ in agent.endpoint.replica.cells()),
            links=len(agent.peers),
            state_bytes=len(encode_state(self._memory.machine.state(is_clean=True))),
            packets=len(self._sizes),
            packet_bytes=sum(self._sizes),
            largest=max(self._sizes, default=0),
            seconds=seconds,
            wrong=tuple(wrong),
        )
