"""Many peers in one process, for the benchmarks of live members: real agents and real packets, through a NATS server.

Each is an agent as any other, with a threshold of one, but knows nobody except the member under test; all of them
together use one connection. So one process can say as much as a large fleet, and leave the machine to whom it is said.

    python benchmarks/live_load.py nats://127.0.0.1:4222 homepage web-1 --agents 8 --rate 2500

It says `ready` when the member has met every agent, speaks until its input ends, and then says how many shares it sent.
"""

import argparse
import asyncio
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cobandit import UCB, Agent
from cobandit.core import Changes, Constant, Message, Notice, Outcome, Presence, Share, on_demand
from cobandit.live.drive.clock import SystemClock
from cobandit.live.machine.control_messages import ControlMessage, Hello, pack, unpack
from cobandit.live.machine.sharing import LIVE_TIMERS
from cobandit.live.transports.broker import token
from cobandit.values.errors import StrangerError

SHARING = on_demand(Constant(1), loss_tolerant=LIVE_TIMERS)
TICK_S = 0.002
HELLO_EVERY_S = 0.5
READY_WITHIN_S = 60.0


def arms(count: int) -> list[str]:
    """Return the arms of the benchmarks."""
    return [f"arm-{place}" for place in range(count)]


class Load:
    """Agents that all talk with one member.

    Args:
        client: A connection to the NATS server.
        group: Their group.
        member: The member that they talk with.
        agents: How many they are.
        arm_count: How many arms all have.
    """

    def __init__(self, client: Any, group: str, member: str, agents: int, arm_count: int) -> None:  # noqa: ANN401
        self._client, self._group, self._member = client, group, member
        self._now = SystemClock().now
        self._arms = arms(arm_count)
        start = int(self._now() * 1000)
        self.agents = {
            name: Agent(name, UCB(self._arms), SHARING, incarnation=start)
            for name in (f"load-{i}" for i in range(agents))
        }
        self._strangers = dict.fromkeys(self.agents)
        """Agents that the member has not answered yet."""
        self._asked: deque[str] = deque()
        """Agents that may share, because they were asked or have not begun."""
        self._outbox: deque[bytes] = deque()
        self.shares = 0

    async def meet(self) -> None:
        """Introduce every agent until the member has answered it."""
        await self._client.subscribe(f"cobandit.{token(self._group)}.to.*", cb=self._hear)
        deadline = self._now() + READY_WITHIN_S
        while self._strangers:
            if self._now() > deadline:
                raise SystemExit(f"{self._member} did not answer {len(self._strangers)} agents")
            for name in tuple(self._strangers):
                agent = self.agents[name]
                me = agent.presence
                hello = Hello(
                    name,
                    me.arms,
                    me.units_per_reward,
                    me.session,
                    me.number,
                    controls=b"",
                    wants_answer=True,
                    incarnation=me.incarnation,
                )
                self._outbox.append(pack(hello, self._group))
            await self._flush()
            await asyncio.sleep(HELLO_EVERY_S)

    async def speak(self, rate: float, until: asyncio.Event) -> None:
        """Observe so many rewards a second, each by an agent that may share it at once."""
        began, made = self._now(), 0
        while not until.is_set():
            wanted = int((self._now() - began) * rate) - made
            made += wanted
            for _ in range(min(wanted, len(self._asked))):
                self._observe(self._asked.popleft(), made)
            for name, agent in self.agents.items():
                if agent.wake_at is not None and self._now() >= agent.wake_at:
                    self._take(name, agent.wake(self._now()))
            await self._flush()
            await asyncio.sleep(TICK_S)

    def _observe(self, name: str, made: int) -> None:
        self._take(name, self.agents[name].update(self._arms[made % len(self._arms)], made % 2, self._now()))

    async def _hear(self, packet: Any) -> None:  # noqa: ANN401  # nats-py calls it
        name = packet.subject.rsplit(".", 1)[-1]
        agent = self.agents.get(name)
        if agent is None:
            return
        content = unpack(packet.data, self._group)
        if isinstance(content, Hello):
            member = Presence(
                content.sender,
                content.session,
                content.notice,
                content.incarnation,
                is_present=True,
                arms=content.arms,
                units_per_reward=content.units_per_reward,
            )
            notice = Notice(content.sender, name, Changes(presences=(member,)), content.session)
            self._take(name, agent.receive(notice, self._now()))
            if name in self._strangers:
                del self._strangers[name]
                self._asked.append(name)
        elif not isinstance(content, ControlMessage):
            self._receive(name, agent, content)

    def _receive(self, name: str, agent: Agent, message: Message) -> None:
        try:
            outcome = agent.receive(message, self._now())
        except StrangerError:
            return  # its introduction was not answered yet
        self._take(name, outcome)
        if isinstance(message, Share) and not any(isinstance(answer, Share) for answer in outcome.outgoing):
            self._asked.append(name)

    def _take(self, name: str, outcome: Outcome) -> None:  # noqa: ARG002
        for message in outcome.outgoing:
            self.shares += isinstance(message, Share)
            self._outbox.append(pack(message, self._group))

    async def _flush(self) -> None:
        subject = f"cobandit.{token(self._group)}.to.{token(self._member)}"
        while self._outbox:
            await self._client.publish(subject, self._outbox.popleft())


async def run(options: argparse.Namespace) -> None:
    """Load a member until standard input ends."""
    import nats  # noqa: PLC0415

    client = await nats.connect(options.url, no_echo=True)
    load = Load(client, options.group, options.member, options.agents, options.arms)
    await load.meet()
    print("ready", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await load.speak(options.rate, ended)
    await client.close()
    print(load.shares, flush=True)


@contextmanager
def load(url: str, group: str, member: str, *, agents: int, rate: float, arm_count: int) -> Iterator[None]:
    """Load a member from another process, as long as this lasts."""
    command = [sys.executable, str(Path(__file__)), url, group, member]
    command += ["--agents", str(agents), "--rate", str(rate), "--arms", str(arm_count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        if process.stdout.readline().strip() != "ready":
            raise SystemExit("the load did not start: see above")
        try:
            yield
        finally:
            process.stdin.close()
            process.stdout.read()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("group")
    parser.add_argument("member")
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2500.0, help="shares a second, of all together")
    parser.add_argument("--arms", type=int, default=16)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
