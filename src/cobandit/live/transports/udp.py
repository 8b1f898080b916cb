"""Datagrams between all members, each authenticated separately.

The seal is an argument here, rather than wrapped around this transport as around others, because anyone can send a
datagram with any address on it. If only whole frames were sealed, pieces, hellos and addresses would be believed before
anything is proved. A stranger could then fill the memory for pieces, spoil a frame with one wrong piece, or lead
members astray. So nothing is processed before the seal has opened it.

A member says hello to its configured addresses and to every member that it knows, and names the members that it knows.
A member that has not said hello for a while is gone. If a member listens on all addresses of a computer, it is answered
at the origin of its hello. A computer in between could then divert (never change or forge) what is sent to it, which
such a computer always can. Frames are neither ordered nor repeated if lost; the protocol does that.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import Sequence
from typing import Any, cast

from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.seal import Opened, Seal
from cobandit.live.auth.watched import Reread
from cobandit.live.status.roles import Role
from cobandit.live.transports.addresses import Address, parse_address, pause
from cobandit.live.transports.base import Inbox, Transport
from cobandit.live.transports.fragments import PIECE_HEADER, Reassembly, cut
from cobandit.live.transports.hearsay import Hearsay
from cobandit.live.transports.hello import Hello, read_hello, write_hello
from cobandit.live.transports.listening import listening_to
from cobandit.live.transports.troubles import Troubles
from cobandit.values.errors import LocalError

DATAGRAM = 1200
"""Bytes that every network carries in one piece, according to QUIC."""
LARGEST_UDP_FRAME = 2**16
SMALLEST_PIECE = 256
"""If a seal leaves less room in a datagram, its member has a very long name."""
HELLO_SECONDS = 5.0
GONE_SECONDS = 18.0
"""A member without a hello for this long, three intervals, is unreachable."""
ALONE_SECONDS = 2.0
"""If no member has answered for this long, operators are told."""
MOST_MEMBERS = 4096
MOST_ATTEMPTS = 300
MIN_MEETING_SECONDS = 1.0
"""Minimum interval between new meetings with a member that changes its hello. It says hello again."""
RESOLVING_SECONDS = 2.0
SYSTEM_BUFFER = 2**21
"""Requested buffer of the operating system, in bytes; it may give less. A large frame arrives in a hundred
datagrams."""
MOST_TOLD_AT_ONCE = 12
"""Members named in one hello, which must fit a datagram. Each hello names the next ones."""
LONGEST_TOLD = 48
"""Bytes of a name and an address. Members with longer ones are met only where they say hello themselves."""

_HELLO, _PIECE, _CALL = b"\x01", b"\x02", b"\x03"
"""A call is a hello to an address. Its receiver answers with a hello, whether it knows the sender or not."""


class _Member:
    """A member that has said hello."""

    __slots__ = ("address", "boot", "due", "heard", "is_leaf", "met", "seen_at", "told", "where")

    def __init__(self, hello: Hello, where: tuple[Any, ...], seen_at: str, now: float) -> None:
        self.boot, self.address, self.is_leaf = hello.boot, hello.address, hello.is_leaf
        self.where, self.seen_at = where, seen_at
        self.heard, self.met, self.due = now, now, now + HELLO_SECONDS
        self.told = 0


class _Wanted:
    """An address at which to look for a member."""

    __slots__ = ("attempt", "due", "has_turn", "is_configured")

    def __init__(self, *, is_configured: bool) -> None:
        self.attempt, self.due, self.is_configured = 0, 0.0, is_configured
        self.has_turn = False
        """Whether it has already waited because many addresses were reported."""


class UdpTransport(Transport, asyncio.DatagramProtocol):
    """Carries frames in authenticated datagrams.

    Args:
        listen: Where others find this member, `host:port`; port 0 picks a free one.
        peers: Addresses of some other members. One that runs is enough.
        seal: Authenticates datagrams.
        advertise: Where others should send to, if that is not `listen`.
    """

    largest_frame = LARGEST_UDP_FRAME

    def __init__(self, listen: str, peers: Sequence[str], seal: Seal, advertise: str | None = None) -> None:
        self._listen = parse_address(listen, what="listen")
        self._peers = [str(parse_address(peer, what="a peer's address")) for peer in peers]
        self._advertise = None if advertise is None else str(parse_address(advertise, what="advertise"))
        self._seal = seal
        self.valid_until = seal.valid_until
        self.own_may_relay = seal.own_may_relay
        self.has_files, self.trust_number = seal.has_files, seal.trust_number
        self._name = self._own = ""
        self._boot = self._number = 0
        self._inbox: Inbox | None = None
        self._troubles: Troubles | None = None
        self._transport: asyncio.DatagramTransport | None = None
        self._family = socket.AF_INET
        self._is_paused = False
        self._room = DATAGRAM
        self._address: Address | None = None
        self._members: dict[str, _Member] = {}
        self._wanted: dict[str, _Wanted] = {}
        self._hearsay = Hearsay("")
        self._calling: asyncio.Task[None] | None = None
        self._call_now = asyncio.Event()
        self._pieces = Reassembly(LARGEST_UDP_FRAME, time.monotonic)

    @property
    def address(self) -> str:
        """Where this member listens; after `open`, with the actual port."""
        return str(self._address or self._listen)

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        self._seal.begin(name, group)
        self._fit()
        if self._room - PIECE_HEADER.size < SMALLEST_PIECE:
            raise LocalError(
                f"the names of {name!r} and its group are too long for datagrams: use shorter ones, or TLS"
            )
        loop = asyncio.get_running_loop()
        with listening_to(self._listen, "url"):
            found = await loop.getaddrinfo(
                self._listen.host or None, self._listen.port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE
            )
            transport, _ = await loop.create_datagram_endpoint(
                lambda: self, local_addr=(str(found[0][4][0]), self._listen.port), family=found[0][0]
            )
        raw = transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SYSTEM_BUFFER)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BUFFER)
        self._transport, self._family = transport, raw.family
        self._address = Address(self._listen.host, transport.get_extra_info("sockname")[1])
        self._own = self._advertise or str(self._address)
        self._hearsay = Hearsay(name)
        self._name, self._boot, self._inbox, self._troubles = name, time.time_ns(), inbox, Troubles(inbox)
        for peer in self._peers:
            self._want(peer, is_configured=True)
        self._calling = loop.create_task(self._call())

    def send(self, receiver: str, frame: bytes) -> bool:
        self.check_size(frame)
        member = self._members.get(receiver)
        if member is None or self._is_congested() or self._seal.shuns(receiver):
            return False
        self._number += 1
        for piece in cut(frame, self._number, self._room):
            self._put(self._seal.wrap(receiver, _PIECE + piece), member.where)
        return True

    def announce(self, frame: bytes) -> None:
        self.check_size(frame)
        if not self._members or self._is_congested():
            return
        self._number += 1
        for piece in cut(frame, self._number, self._room):
            packet = self._seal.wrap(None, _PIECE + piece)
            for member in self._members.values():
                self._put(packet, member.where)

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is None or self._calling is None:
            return
        self._calling.cancel()
        await asyncio.gather(self._calling, return_exceptions=True)
        transport.close()
        self._members.clear()

    def seek(self, places: Sequence[str]) -> None:
        for name, member in tuple(self._members.items()):
            if self._place(member) not in places:
                del self._members[name]
        for address in set(self._wanted).difference(places):
            del self._wanted[address]
        self._peers = list(places)
        for place in places:
            self._want(place, is_configured=True)

    def place_of(self, peer: str) -> str:
        member = self._members.get(peer)
        return peer if member is None else self._place(member) or peer

    def _place(self, member: _Member) -> str | None:
        """Return the configured address that a member is at, if any."""
        return next((place for place in (member.seen_at, member.address) if place in self._peers), None)

    def may_relay(self, sender: str) -> bool | None:
        return self._seal.may_relay(sender)

    def veil(self, receiver: str, about: bytes, secret: bytes) -> bytes:
        return self._seal.veil(receiver, about, secret)

    def unveil(self, sender: str, about: bytes, said: bytes) -> bytes | None:
        return self._seal.unveil(sender, about, said)

    def refresh(self) -> Reread:
        found = self._seal.refresh()
        self.valid_until, self.trust_number = self._seal.valid_until, self._seal.trust_number
        if found.is_renewed and self._inbox is not None:
            self._inbox.reachable(None)  # shows the others the new certificate
        self._fit()
        return found

    def _fit(self) -> None:
        """Compute how much fits a datagram beside the seal, whose certificate may have changed."""
        self._room = DATAGRAM - self._seal.overhead - 1

    # Incoming datagrams.

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Open a datagram before processing it."""
        if self._transport is None or self._inbox is None:
            return
        if len(data) > DATAGRAM:
            self._inbox.refused(Refusal.OVERSIZED, None, str(addr[0]))
            return
        result = self._seal.unwrap(data)
        if not isinstance(result, Opened):
            self._inbox.refused(result.reason, result.sender, str(addr[0]))
            introduction = self._seal.introduction(result.sender) if result.introduce and result.sender else None
            if introduction is not None:
                self._put(introduction, addr)
            return
        sender, payload = result.sender, result.payload
        kind, content = payload[:1], payload[1:]
        if not payload:  # an introduction by a member that could not open the last hello
            self._put(self._seal.wrap(sender, self._hello(self._members.get(sender))), addr)
        elif kind in (_HELLO, _CALL):
            self._take_hello(sender, content, addr, is_call=kind == _CALL)
        elif kind == _PIECE:
            try:
                frame = self._pieces.add(sender, content)
            except ValueError:
                self._inbox.refused(Refusal.MALFORMED, sender, str(addr[0]))
                return
            if frame is not None:
                self._inbox.frame(frame, result.proved_sender)

    def pause_writing(self) -> None:
        """Drop frames from now on, because the operating system accepts no more and they must not accumulate here."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Resume sending."""
        self._is_paused = False

    def error_received(self, exc: Exception) -> None:
        """Do nothing: unreachable members are noticed by their silence."""

    def _take_hello(self, sender: str, content: bytes, where: tuple[Any, ...], *, is_call: bool) -> None:
        assert self._inbox is not None
        assert self._troubles is not None
        hello = read_hello(content, seen_at=str(where[0]))
        if hello is None or not hello.address:
            self._inbox.refused(Refusal.MALFORMED, sender, str(where[0]))
            return
        now = time.monotonic()
        for address in hello.others.values() if self.role is not Role.LEAF else ():
            is_tried = address in self._wanted and address not in self._hearsay
            if not (is_tried or self._is_known(address)) and self._hearsay.told(sender, address, now):
                self._want(address)
        self._wanted.pop(hello.address, None)
        self._hearsay.answered(hello.address)
        member = self._members.get(sender)
        if member is not None and (member.boot, member.address) == (hello.boot, hello.address):
            member.heard = now
            if is_call:  # it does not know this member yet, so the answer to its first call was lost
                self._put(self._seal.wrap(sender, self._hello(member)), member.where)
            return
        if member is not None and now - member.met < MIN_MEETING_SECONDS:
            return
        if member is None and len(self._members) >= MOST_MEMBERS:
            self._inbox.refused(Refusal.FLOOD, sender, str(where[0]))
            return
        there = parse_address(hello.address)
        # A host name would need a lookup, which blocks. The address that it was seen at will do anyway.
        there = there if there.is_number else Address(str(where[0]), there.port)
        self._members[sender] = member = _Member(hello, there, str(Address(str(where[0]), where[1])), now)
        self._put(self._seal.wrap(sender, self._hello(member)), member.where)
        self._troubles.end("alone")
        self._inbox.reachable(sender)

    # Outgoing hellos.

    def _want(self, address: str, *, is_configured: bool = False) -> None:
        if address not in self._wanted and len(self._wanted) < MOST_MEMBERS and not self._is_known(address):
            self._wanted[address] = _Wanted(is_configured=is_configured)
            self._call_now.set()
        elif address not in self._wanted:
            self._hearsay.answered(address)

    def _is_known(self, address: str) -> bool:
        return address == self._own or any(address in (one.address, one.seen_at) for one in self._members.values())

    async def _call(self) -> None:
        """Say hello to all that are due for one, for ever."""
        began = time.monotonic()
        while True:
            now = time.monotonic()
            for name, member in tuple(self._members.items()):
                if now - member.heard > GONE_SECONDS:
                    del self._members[name]
                    for address in self._hearsay.gone(name, now):
                        self._forget(address)
                    self._want(member.address, is_configured=member.address in self._peers)
                elif now >= member.due:
                    member.due = now + HELLO_SECONDS
                    self._put(self._seal.wrap(name, self._hello(member)), member.where)
            if not self._members:
                self._say_if_alone(now - began)
            for address, wanted in tuple(self._wanted.items()):
                if now >= wanted.due:
                    await self._look_for(address, wanted)
            due = [x.due for x in self._members.values()] + [x.due for x in self._wanted.values()]
            self._call_now.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.01, min(due, default=now + HELLO_SECONDS) - time.monotonic())):
                    await self._call_now.wait()

    async def _look_for(self, address: str, wanted: _Wanted) -> None:
        now, is_hearsay = time.monotonic(), address in self._hearsay and not wanted.is_configured
        if is_hearsay and not wanted.has_turn and (wait := self._hearsay.wait(address, now)):
            wanted.due, wanted.has_turn = now + wait, True
            return
        wanted.attempt, wanted.has_turn = wanted.attempt + 1, False
        rest: float | None = pause(wanted.attempt, me=self._name, there=address)
        if is_hearsay:
            rest = self._hearsay.failed(address, now)
        if rest is None or (wanted.attempt > MOST_ATTEMPTS and not wanted.is_configured):
            self._forget(address)
            return
        wanted.due = now + rest
        there = parse_address(address)
        with contextlib.suppress(OSError, UnicodeError):
            async with asyncio.timeout(RESOLVING_SECONDS):
                found = await asyncio.get_running_loop().getaddrinfo(
                    there.host, there.port, type=socket.SOCK_DGRAM, family=self._family
                )
            self._put(self._seal.wrap(None, _CALL + self._hello()[1:]), found[0][4])

    def _forget(self, address: str) -> None:
        self._hearsay.answered(address)
        if address in self._wanted and not self._wanted[address].is_configured:
            del self._wanted[address]

    def _say_if_alone(self, seconds: float) -> None:
        assert self._troubles is not None
        if seconds > ALONE_SECONDS and self._peers and not self._troubles.has("alone"):
            self._troubles.begin("alone", f"nobody answers at {', '.join(self._peers)}; still trying")

    def _hello(self, to: _Member | None = None) -> bytes:
        """Return a hello that names some members. For a given member, the next hello names the next ones."""
        told = [
            (name, member.address)
            for name, member in self._members.items()
            if len(name.encode()) + len(member.address) <= LONGEST_TOLD and not member.is_leaf
        ]
        count = min(MOST_TOLD_AT_ONCE, self._room // (2 * LONGEST_TOLD))
        at = to.told % len(told) if to is not None and told else 0
        if to is not None:
            to.told += count
        others = dict((told[at:] + told[:at])[:count])
        return _HELLO + write_hello(Hello(self._boot, self._own, others, is_leaf=self.role is Role.LEAF))

    def _is_congested(self) -> bool:
        return self._transport is None or self._is_paused

    def _put(self, packet: bytes, where: tuple[Any, ...]) -> None:
        if self._transport is not None:
            self._transport.sendto(packet, cast("tuple[str, int]", where))
