"""A witness of a network: it knows what every member said, so it can judge whatever anybody hears.

It owns members that are under test and the record of what they said. It knows nothing of how frames travel, and asks
for nothing to be heard: that is for `check_transport`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cobandit.live.auth.refusal import Refusal
from cobandit.live.transports.base import Inbox, Transport

BuildTransport = Callable[[str], Transport]

PATIENCE = 15.0
"""Seconds until something that has not happened counts as something that will not."""

SAY_AGAIN_AFTER = 0.2
"""Seconds after which a frame that may have been lost is sent again."""

HELLO = b"hello "
"""How frames begin that are sent only until one arrives: they may come late and twice, and are left out of counts."""


@dataclass(slots=True)
class Member(Inbox):
    """One member: its transport, and all that this told it."""

    name: str
    group: str
    transport: Transport
    witness: "Witness"
    heard: list[bytes] = field(default_factory=list)
    greeted: set[bytes] = field(default_factory=set)
    reached: list[str | None] = field(default_factory=list)
    closed: bool = False

    def frame(self, frame: bytes, sender: str | None) -> None:
        self.witness.judge(self, frame, sender)
        if frame.startswith(HELLO):
            self.greeted.add(frame)
        else:
            self.heard.append(frame)
        self.witness.bell.set()

    def reachable(self, peer: str | None) -> None:
        self.reached.append(peer)
        self.witness.bell.set()

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Ignore it: what a transport refuses is not what these members say."""

    def trouble(self, what: str | None) -> None:
        """Ignore it: if the trouble lasts, something that must be heard is not."""


@dataclass(frozen=True, slots=True)
class Saying:
    """Who said a frame to whom."""

    sender: Member
    receivers: tuple[str, ...]
    announced: bool


class Witness:
    """Lets members join, speaks for them, and complains of everything that should not have been heard."""

    def __init__(self, build: BuildTransport) -> None:
        self.bell = asyncio.Event()
        """Rings whenever anything was heard."""
        self.members: list[Member] = []
        self._build = build
        self._said: dict[bytes, list[Saying]] = {}
        self._complaints: list[str] = []

    async def join(self, name: str, group: str) -> Member:
        """Return a new member, opened."""
        transport = self._build(name)
        member = Member(name, group, transport, self)
        self.members.append(member)
        await self._soon(f"open of {name!r}", transport.open(name, group, member))
        return member

    async def leave(self, member: Member) -> None:
        """Close a member. It may hear nothing from then on."""
        await self._soon(f"close of {member.name!r}", member.transport.close())
        member.closed = True

    def send(self, sender: Member, receiver: str, frame: bytes) -> bool:
        """Send and remember it. Return what the transport returned."""
        self._said.setdefault(frame, []).append(Saying(sender, (receiver,), announced=False))
        on_its_way = _without_raising(
            f"send({receiver!r}, {len(frame)} bytes)", lambda: sender.transport.send(receiver, frame)
        )
        assert isinstance(on_its_way, bool), f"send must return whether the frame is on its way, not {on_its_way!r}"
        return on_its_way

    def announce(self, sender: Member, frame: bytes) -> None:
        """Announce and remember it."""
        others = tuple(m.name for m in self.members if m.group == sender.group and m.name != sender.name)
        self._said.setdefault(frame, []).append(Saying(sender, others, announced=True))
        _without_raising(f"announce({len(frame)} bytes)", lambda: sender.transport.announce(frame))

    def judge(self, hearer: Member, frame: bytes, sender: str | None) -> None:
        """Complain if this member should not have heard this frame from this sender. Raised by the next `until`."""
        complaint = self._complaint(hearer, frame, sender)
        if complaint is not None:
            self._complaints.append(complaint)

    async def until(
        self, complaint: str, happened: Callable[[], bool], say: Callable[[], object] | None = None
    ) -> None:
        """Wait until it happened, saying something again and again meanwhile; complain when patience ends.

        Raises:
            AssertionError: It did not happen, or one heard what it should not have heard.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while True:
            assert not self._complaints, self._complaints[0]
            if happened():
                return
            assert loop.time() < deadline, f"{complaint}, after {PATIENCE:g} seconds"
            if say is not None:
                say()
            self.bell.clear()
            try:
                async with asyncio.timeout(SAY_AGAIN_AFTER):
                    await self.bell.wait()
            except TimeoutError:
                continue

    async def introduce(self, *members: Member) -> None:
        """Wait until each of these hears each other. Finding one another may take a network some time."""
        for sender in members:
            for receiver in members:
                if sender is not receiver:
                    await self._first_frame(sender, receiver)

    async def _first_frame(self, sender: Member, receiver: Member) -> None:
        said = HELLO + f"from {sender.name} to {receiver.name} at visit {len(self.members)}".encode()
        await self.until(
            f"{sender.name!r} sent frames to {receiver.name!r} again and again, and none arrived",
            lambda: said in receiver.greeted,
            lambda: self.send(sender, receiver.name, said),
        )

    def _complaint(self, hearer: Member, frame: bytes, sender: str | None) -> str | None:
        who = f"{hearer.name!r} of group {hearer.group!r}"
        if type(frame) is not bytes:
            return f"{who} heard a frame that is {type(frame).__name__}, not bytes"
        if hearer.closed:
            return f"{who} heard a frame after it had closed"
        sayings = self._said.get(frame)
        if sayings is None:
            return f"{who} heard {len(frame)} bytes that nobody said ({frame[:24]!r}...): {self._what_is_wrong(frame)}"
        meant = [s for s in sayings if hearer.name in s.receivers and hearer.group == s.sender.group]
        if not meant:
            return _heard_by_mistake(hearer, sayings[-1])
        if sender is not None and sender not in {s.sender.name for s in meant}:
            return f"{who} was told that a frame came from {sender!r}, but {meant[-1].sender.name!r} sent it"
        return None

    def _what_is_wrong(self, frame: bytes) -> str:
        if any(said and frame.startswith(said) and frame[len(said) :] in self._said for said in self._said):
            return "it is two frames glued together"
        if any(said.startswith(frame) for said in self._said if len(said) > len(frame)):
            return "it is the beginning of a frame"
        return "it is damaged or invented"

    @staticmethod
    async def _soon(what: str, doing: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await doing
        except TimeoutError:
            raise AssertionError(f"{what} did not return within {PATIENCE:g} seconds") from None


def _heard_by_mistake(hearer: Member, saying: Saying) -> str:
    sender = saying.sender
    if hearer is sender:
        return f"{hearer.name!r} heard what it had {'announced' if saying.announced else 'sent'} itself"
    if hearer.group != sender.group:
        return f"{hearer.name!r} of group {hearer.group!r} heard a frame of group {sender.group!r}"
    return f"{hearer.name!r} heard a frame that {sender.name!r} had sent to {', '.join(saying.receivers) or 'nobody'}"


def _without_raising(what: str, call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:
        raise AssertionError(f"{what} must not raise here, but raised {error!r}") from error
