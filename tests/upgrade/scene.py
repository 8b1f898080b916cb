"""Members of both versions on one network, all on one loop; and every frame that anybody sent."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from cobandit import UCB, Constant, RetryTimers, on_demand
from cobandit.codec.format import version_of
from cobandit.live.drive.clock import SystemClock
from cobandit.live.drive.node import Node
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import Terms
from cobandit.live.machine.versions import Versions
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.live.transports.memory import Hub, MemoryTransport

QUICK = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.2, longest=1.0))
GROUP = "tested"
WITHIN = 60.0


class Sent(NamedTuple):
    """A frame on its way."""

    sender: str
    receiver: str | None
    version: int
    content: object


class Watched(MemoryTransport):
    """A network that writes down what is sent, as who reads both versions would read it."""

    def __init__(self, hub: Hub, sender: str, sent: list[Sent], decode: Callable[[bytes, str], object]) -> None:
        super().__init__(hub)
        self._sender, self._sent, self._decode = sender, sent, decode
        self.loses_announcements = False

    def send(self, receiver: str, frame: bytes) -> bool:
        self._note(receiver, frame)
        return super().send(receiver, frame)

    def announce(self, frame: bytes) -> None:
        self._note(None, frame)
        if not self.loses_announcements:
            super().announce(frame)

    def _note(self, receiver: str | None, frame: bytes) -> None:
        self._sent.append(Sent(self._sender, receiver, version_of(frame), self._decode(frame, GROUP)))


class Scene:
    """Some members."""

    def __init__(self, decode: Callable[[bytes, str], object]) -> None:
        self.hub = Hub()
        self.nodes: dict[str, Node] = {}
        self.transports: dict[str, Watched] = {}
        self._started: list[Node] = []
        self.sent: list[Sent] = []
        self._decode = decode

    async def node(self, name: str, versions: Versions, *, loses_announcements: bool = False) -> Node:
        journal, clock = MemoryJournal(), SystemClock()
        build: Callable[[Any], UCB] = UCB
        restored = restore(
            journal,
            name=name,
            group=GROUP,
            arms=["A", "B"],
            build=build,
            sharing=QUICK,
            clock=clock,
            layout=versions.layout,
        )
        machine = Machine(Terms(name, GROUP, QUICK, build, 1e6, None, versions), restored, clock)
        self.transports[name] = Watched(self.hub, name, self.sent, self._decode)
        self.transports[name].loses_announcements = loses_announcements
        self.nodes[name] = made = Node(machine, journal, self.transports[name])
        machine.make_decider(None, seed=1, wake=made.wake)
        await made.start()
        self._started.append(made)
        return made

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(WITHIN):
            while not is_so():  # noqa: ASYNC110  # it may be anything, and nobody tells
                await asyncio.sleep(0.01)

    async def end(self) -> None:
        for made in self._started:
            await made.stop()


def played(decode: Callable[[bytes, str], object], scene_of: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    """Run a scene."""

    async def run() -> None:
        scene = Scene(decode)
        try:
            await scene_of(scene)
        finally:
            await scene.end()

    asyncio.run(run())


def pull(made: Node, times: int = 1) -> None:
    for _ in range(times):
        decision = made.machine.decider.select_arm()
        made.machine.decider.settle(decision.number, 1.0)


def known(made: Node) -> int:
    return made.machine.agent.policy.tally.observations


def written_to(made: Node) -> dict[str, int]:
    """In which version a member writes to each peer."""
    return {peer.name: peer.wire_version for peer in made.statistics().peers}
