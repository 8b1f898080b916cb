"""A mesh of TCP connections with TLS 1.3, in which every member proves its name with its group's certificates.

This file owns sockets and certificates: it lets nobody in whom the group's own authority has not signed, and nobody
else's authority counts. Host names prove nothing here; the name in the certificate does. `mesh` owns the rest.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence

from cobandit.live.auth.certificates import Verified, verify
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.refusal import Refusal
from cobandit.live.transports.addresses import Address, parse_address
from cobandit.live.transports.base import Inbox, Transport
from cobandit.live.transports.connection import Connection, Word
from cobandit.live.transports.door import Door
from cobandit.live.transports.listening import listening_socket, listening_to, why
from cobandit.live.transports.mesh import Mesh, Refused
from cobandit.values.errors import LocalError

HANDSHAKE_SECONDS = 10.0
"""How long it may take to dial a member, and to prove who both are."""
PROOF_SECONDS = 5.0
"""How long an incoming connection may take to prove who it is."""
CLOSING_SECONDS = 1.0
BACKLOG = 128
"""Incoming connections that the operating system holds until they are taken."""
MOST_REMEMBERED = 4096
"""Members whose role is remembered after their connection has ended; then the one that came first is forgotten."""
BREATH_SECONDS = 0.1
"""How long to wait when the operating system has no more sockets to give."""

_SILENCE = (
    (getattr(socket, "TCP_KEEPIDLE", None), 10),
    (getattr(socket, "TCP_KEEPINTVL", None), 5),
    (getattr(socket, "TCP_KEEPCNT", None), 3),
    (getattr(socket, "TCP_USER_TIMEOUT", None), 25_000),
)
"""A peer whose computer has gone is noticed after 25 seconds, where the operating system can be told so."""


class TlsTransport(Transport):
    """Carries frames over connections whose ends are proved.

    Args:
        listen: Where others can dial this member, `host:port`; port 0 picks a free one. `None` for a guest, who dials
            and is never dialled: nobody is told of it, so nobody looks for it when it has gone.
        peers: Where some other members are. One that runs is enough; the others are found from there.
        identity: What proves this member's name.
        advertise: Where others shall dial, if that is not `listen`, as behind a load balancer.
    """

    def __init__(
        self, listen: str | None, peers: Sequence[str], identity: Identity, advertise: str | None = None
    ) -> None:
        self._listen = None if listen is None else parse_address(listen, what="listen")
        self._peers = [str(parse_address(peer, what="a peer's address")) for peer in peers]
        self._advertise = None if advertise is None else str(parse_address(advertise, what="advertise"))
        self._identity = identity
        self.valid_until = identity.valid_until
        self.own_may_relay = identity.may_relay
        self._roles: dict[str, bool] = {}
        """Whether a peer may relay, from its last certificate. What it said may be looked at after it has gone."""
        self._socket: socket.socket | None = None
        self._mesh: Mesh | None = None
        self._inbox: Inbox | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._admitting: set[asyncio.Task[None]] = set()
        self._door: Door[asyncio.Task[None]] = Door(self._turn_away)
        self._address: Address | None = None
        self._server, self._client = _contexts(identity)

    @property
    def address(self) -> str:
        """Where this member listens; after `open`, with the port that it got."""
        return str(self._address or self._listen or "")

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        self._identity.check_member(name, group)
        self._identity.check_time(time.time())
        if self._listen is not None:
            self._socket = await _listen(self._listen)
            self._address = Address(self._listen.host, self._socket.getsockname()[1])
        self._inbox = inbox
        self._mesh = Mesh(name, time.time_ns(), self._advertise or self.address, inbox, self._dial, why)
        for peer in self._peers:
            self._mesh.dial(peer)
        if self._socket is not None:
            self._accepting = asyncio.get_running_loop().create_task(self._accept(self._socket))

    def send(self, receiver: str, frame: bytes) -> bool:
        self.check_size(frame)
        link = self._mesh.link(receiver) if self._mesh is not None else None
        return link is not None and link.send(frame)

    def announce(self, frame: bytes) -> None:
        self.check_size(frame)
        if self._mesh is not None:
            for link in self._mesh.links():
                link.send(frame)

    def may_relay(self, sender: str) -> bool:
        return self._roles.get(sender, False)

    async def close(self) -> None:
        mesh, self._mesh = self._mesh, None
        if mesh is None:
            return
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.gather(self._accepting, return_exceptions=True)
        if self._socket is not None:
            self._socket.close()
        await asyncio.sleep(0)  # a task that is cancelled before its first step would leave its socket to nobody
        for task in tuple(self._admitting):
            task.cancel()
        await asyncio.gather(*self._admitting, return_exceptions=True)
        await mesh.close(CLOSING_SECONDS)

    # Who comes in.

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                incoming, there = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(BREATH_SECONDS)
                continue
            task = loop.create_task(self._admit(incoming))
            self._admitting.add(task)
            self._door.come(task, str(there[0]))
            task.add_done_callback(self._has_come)

    def _has_come(self, task: asyncio.Task[None]) -> None:
        self._admitting.discard(task)
        self._door.leave(task)

    def _turn_away(self, task: asyncio.Task[None]) -> None:
        self._refuse(Refusal.FLOOD, None)
        # Not before it has begun: a task that never runs would leave its socket to nobody.
        asyncio.get_running_loop().call_soon(task.cancel)

    async def _admit(self, incoming: socket.socket) -> None:
        try:
            _, connection = await asyncio.get_running_loop().connect_accepted_socket(
                self._connection,
                incoming,
                ssl=self._server,
                ssl_handshake_timeout=PROOF_SECONDS,
                ssl_shutdown_timeout=CLOSING_SECONDS,
            )
        except ssl.SSLError as error:
            if not isinstance(error, ssl.SSLEOFError):
                self._refuse(Refusal.STRANGER if _is_about_certificates(error) else Refusal.MALFORMED, None)
            return
        except OSError:
            return  # it hung up, or said nothing for too long: nothing was refused
        if (task := asyncio.current_task()) is not None:
            self._door.leave(task)
        if self._mesh is not None:
            await self._mesh.settle(connection)

    # Whom to dial.

    async def _dial(self, there: str) -> Connection:
        address = parse_address(there)
        try:
            self._identity.check_time(time.time())
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    self._connection,
                    address.host,
                    address.port,
                    ssl=self._client,
                    server_hostname="",  # names in certificates are of agents, not of hosts
                    ssl_handshake_timeout=HANDSHAKE_SECONDS,
                    ssl_shutdown_timeout=CLOSING_SECONDS,
                )
        except ssl.SSLCertVerificationError as error:
            self._refuse(Refusal.STRANGER, None)
            raise Refused(_what_to_do(there, error.verify_message, self._identity.group)) from error
        except LocalError as error:
            raise Refused(str(error)) from error
        except UnicodeError as error:
            raise OSError(f"{address.host!r} is not a host's name") from error
        if connection.peer is None:
            raise Refused(
                f"the certificate at {there} is none of an agent of {self._identity.group!r}: "
                "make one for it with `cobandit keys agent`"
            )
        return connection

    # Both.

    def _connection(self) -> Connection:
        return Connection(
            on_made=self._prove,
            on_frame=self._take_frame,
            on_word=self._take_word,
            on_refused=lambda connection, reason: self._refuse(reason, connection.peer),
            on_lost=self._lose,
        )

    def _prove(self, connection: Connection) -> None:
        """Set the peer of a connection to the name in its certificate. TLS has checked that the group signed it."""
        certificate = connection.certificate
        verified = verify(certificate, self._identity.group_der) if certificate is not None else None
        if verified is None or verified.group != self._identity.group:
            self._refuse(Refusal.STRANGER if verified is None else Refusal.FOREIGN_GROUP, None)
            connection.abort()
            return
        connection.peer = verified.name
        self._remember(verified)
        connection.watch_silence(_SILENCE)
        # A connection does not outlive what it was let in for.
        expiry = asyncio.get_running_loop().call_later(max(0.0, verified.valid_until - time.time()), connection.abort)
        connection.lost.add_done_callback(lambda _: expiry.cancel())
        if self._mesh is not None:
            self._mesh.greet(connection)

    def _remember(self, verified: Verified) -> None:
        self._roles.pop(verified.name, None)
        self._roles[verified.name] = verified.may_relay
        if len(self._roles) > MOST_REMEMBERED:
            del self._roles[next(iter(self._roles))]

    def _take_frame(self, connection: Connection, frame: bytes) -> None:
        if self._mesh is not None and self._inbox is not None:
            self._inbox.frame(frame, connection.peer)

    def _take_word(self, connection: Connection, word: Word, content: bytes) -> None:
        if self._mesh is not None:
            self._mesh.take_word(connection, word, content)

    def _lose(self, connection: Connection, _error: Exception | None) -> None:
        if self._mesh is not None:
            self._mesh.lose(connection)

    def _refuse(self, reason: Refusal, sender: str | None) -> None:
        if self._mesh is not None and self._inbox is not None:
            self._inbox.refused(reason, sender)


def _contexts(identity: Identity) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return what a server and what a client trusts and shows: the group's authority alone, and this identity."""
    made = []
    for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(cadata=identity.group_der)
            context.load_cert_chain(identity.path)
        except OSError as error:
            raise LocalError(f"{identity.path} can no longer be used for TLS: {error.strerror}") from error
        made.append(context)
    made[0].num_tickets = 0  # nobody resumes
    return made[0], made[1]


async def _listen(address: Address) -> socket.socket:
    with listening_to(address):
        found = await asyncio.get_running_loop().getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listening = listening_socket(found[0], BACKLOG)
    listening.setblocking(False)
    return listening


def _is_about_certificates(error: ssl.SSLError) -> bool:
    return isinstance(error, ssl.SSLCertVerificationError) or any(
        word in (error.reason or "") for word in ("CERT", "UNKNOWN_CA")
    )


def _what_to_do(there: str, verdict: str, group: str) -> str:
    if "expired" in verdict:
        return f"the certificate at {there} has expired: make a new one for it with `cobandit keys agent`"
    if "not yet valid" in verdict:
        return f"the certificate at {there} is not valid yet: set the clocks of both computers"
    return f"who is at {there} is not of this group {group!r} ({verdict}): use files of one group on both sides"
