"""One process: a real member, made as `cobandit.live.drive.starting` makes it, on a computer of this world.

It leaves out what a process has besides: options and their errors, threads, signals, and a state file's lock, of which
a disk models the mark (`computer.py`).
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

from cobandit.live.decide.allocation import Allocation
from cobandit.live.decide.clock import Clock
from cobandit.live.drive.background import Background
from cobandit.live.drive.declaring import Said, declared
from cobandit.live.drive.member import Member
from cobandit.live.drive.node import Node
from cobandit.live.machine.controls import Setting
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import Step, Terms
from cobandit.live.store.restoring import restore
from cobandit.policies import Policy
from cobandit.policies.registry import BuiltIn
from cobandit.values.tally import Arm
from lab.live_swarm.computer import AFTER_WRITE, Disk, DiskJournal
from lab.live_swarm.insides import View, settings_of, throw_away, view_of
from lab.live_swarm.leaf_worlds import relays_of
from lab.live_swarm.network import Door, Network
from lab.live_swarm.plan import GROUP, Plan
from lab.live_swarm.timeline import Killed, ProcessLoop, Timeline

T = TypeVar("T")


class Fuse:
    """Where in its program a process will end."""

    def __init__(self, point: str, passes: int) -> None:
        self.point = point
        self.passes = passes
        """So often it gets past that point before."""


class Process:
    """A process that runs."""

    machine: Machine
    node: Node
    member: Member
    view: View
    """What its member knew after the last step."""
    settings: tuple[Setting, ...]
    """The controls that it had heard of then."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        *,
        timeline: Timeline,
        network: Network,
        disk: Disk,
        clock: Clock,
        arms: Sequence[Arm],
        bandits: Sequence[Said],
        number: int,
        stepped: Callable[["Process", Step], None],
        wrote: Callable[["Process"], None],
        killed: Callable[["Process"], None],
    ) -> None:
        self.name = name
        self.disk = disk
        self.number = number
        """Which start of all it is."""
        self.is_up = False
        """Whether it takes part, so that people can use it."""
        self.fuse: Fuse | None = None
        self.settled: set[int] = set()
        """The numbers of decisions that it has settled."""
        self.promises: list[str] = []
        """Tokens of rewards for others that it has taken, and not yet written down."""
        self.others: dict[str, tuple[Process, tuple[Setting, ...]]] = {}
        """Who was there when it started, and what those had heard that operators had set."""
        self.subjects: dict[str, Arm] = {}
        """Which arm it gave to whom."""
        self.loop = ProcessLoop(timeline, disk_seconds=lambda: plan.disk_seconds)
        self._plan = plan
        self._clock = clock
        self._arms = tuple(arms)
        self._bandits = tuple(bandits)
        """What it declares when it starts."""
        self._stepped = stepped
        self._wrote = wrote
        self._killed = killed
        """Whom to tell what it has done; the last, when its fuse has burnt down."""
        self._door = Door(network, self.loop, self._point)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Let the process do something on its loop."""
        _ = self.loop.create_task(work)

    async def start(self, restored: Callable[["Process"], None]) -> None:
        """Start the member, as `cobandit.live.drive.starting` does.

        Args:
            restored: Called when it is as its disk knows it, before it has done anything.
        """
        plan, name = self._plan, self.name
        journal = DiskJournal(self.disk, self.number, lambda: self.view, self._point)
        found = restore(
            journal,
            name=name,
            group=GROUP,
            arms=self._arms,
            build=lambda arms: _policy(plan, name, arms),
            sharing=plan.sharing,
            clock=self._clock,
            is_leaf=name in plan.leaves,
        )
        default = None
        if plan.default_reward is not None and found.agent.has_plain:
            default = found.agent.policy.quantum.units(plan.default_reward)
        terms = Terms(
            name,
            GROUP,
            plan.sharing,
            lambda arms: _policy(plan, name, arms),
            plan.expire_after,
            default_units=default,
            is_relay=name in plan.relays,
            forget_after=plan.forget_after,
            relays=relays_of(plan, name),
        )
        self.machine = Machine(terms, found, self._clock)
        self.view, self.settings = view_of(self.machine), settings_of(self.machine)
        restored(self)
        self._watch_steps()
        self.node = Node(self.machine, journal, self._door, executor=cast("Any", self))
        self.machine.make_decider(
            Allocation(plan.floors) if plan.floors else None,
            seed=self.number,
            wake=lambda: cast("None", self.loop.call_soon_threadsafe(self.node.wake)),
        )
        await self.node.start()
        self.member = Member(self.node, cast("Background", _Home(self.loop)))
        for said in self._bandits:
            await self.declare(said)
        self.is_up = True

    async def declare(self, said: Said) -> None:
        """Declare a bandit, as `Member.bandit` does."""
        await self.node.declare(declared(said, GROUP, self.name))

    async def stop(self) -> None:
        """Stop it as a program stops."""
        self.is_up = False
        await self.member.aclose()
        self.kill()

    def kill(self) -> None:
        """End it here and now."""
        self.is_up = False
        self._door.shut()
        self.loop.die()
        if hasattr(self, "member"):
            throw_away(self.member)

    def _watch_steps(self) -> None:
        take_step = self.machine.step

        def step(*arguments: Any, **options: Any) -> Step:  # noqa: ANN401  # handed on as they come
            done = take_step(*arguments, **options)
            self.view, self.settings = view_of(self.machine), settings_of(self.machine)
            self._stepped(self, done)
            return done

        self.machine.step = step  # type: ignore[method-assign]

    def _point(self, point: str) -> None:
        """Come past a point of the program."""
        if not self.loop.is_alive:
            raise Killed
        if point == AFTER_WRITE:
            self._wrote(self)
        if self.fuse is not None and self.fuse.point == point:
            self.fuse.passes -= 1
            if self.fuse.passes < 0:
                self.kill()
                self._killed(self)
                raise Killed


class _Home:
    """Stands where the background thread is: this process has one thread."""

    def __init__(self, loop: ProcessLoop) -> None:
        self.loop = loop

    def submit(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        return self.loop.create_task(work)


def _policy(plan: Plan, name: str, arms: Sequence[Arm]) -> Policy:
    return BuiltIn(plan.policy)(arms, sum(name.encode()), plan.quantum)
