"""A mesh of TCP connections with TLS 1.3, in which every member proves its name with its group's certificates.

This file owns sockets and certificates. It accepts only certificates that the group's own authority signed, and trusts
no other authority. Host names prove nothing here; the name in the certificate does. If a certificate proves only a
prefix, the other end gives its full name in its hello. `mesh` owns the rest.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from pathlib import Path

from cobandit.live.auth.certificates import Verified
from cobandit.live.auth.credentials import Credentials
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.watched import Reread
from cobandit.live.status.roles import Role
from cobandit.live.transports.addresses import Address, parse_address
from cobandit.live.transports.base import Inbox, Transport
from cobandit.live.transports.connection import Connection, Word
from cobandit.live.transports.door import Door
from cobandit.live.transports.listening import listening_socket, listening_to, why
from cobandit.live.transports.mesh import Mesh, Refused
from cobandit.values.errors import LocalError

HANDSHAKE_SECONDS = 10.0
"""Time limit for dialling a member and proving both names."""
PROOF_SECONDS = 5.0
"""Time limit for the proof on an incoming connection."""
CLOSING_SECONDS = 1.0
BACKLOG = 128
"""Incoming connections that the operating system holds until they are accepted."""
MOST_REMEMBERED = 4096
"""How many relays are remembered after their connections have ended. Beyond that, the oldest is forgotten."""
BREATH_SECONDS = 0.1
"""Pause when the operating system has no more sockets."""

_SILENCE = (
    (getattr(socket, "TCP_KEEPIDLE", None), 10),
    (getattr(socket, "TCP_KEEPINTVL", None), 5),
    (getattr(socket, "TCP_KEEPCNT", None), 3),
    (getattr(socket, "TCP_USER_TIMEOUT", None), 25_000),
)
"""Detects after 25 seconds that a peer's computer has gone, where the operating system has these options."""


class TlsTransport(Transport):
    """Carries frames over connections whose ends are proved.

    Args:
        listen: Where others can dial this member, `host:port`; port 0 picks a free one. `None` for a guest, which
            dials and is never dialled. Other members do not hear of a guest, so none looks for it when it has gone.
        peers: Addresses of some other members. One that runs is enough; the others are found from there.
        identity: The proof of this member's name.
        advertise: Where others should dial, if that is not `listen`, as behind a load balancer.
        trust: The group's trust file.
    """

    has_files = True

    def __init__(
        self,
        listen: str | None,
        peers: Sequence[str],
        identity: Identity,
        advertise: str | None = None,
        trust: str | Path | None = None,
    ) -> None:
        self._listen = None if listen is None else parse_address(listen, what="listen")
        self._peers = [str(parse_address(peer, what="a peer's address")) for peer in peers]
        self._advertise = None if advertise is None else str(parse_address(advertise, what="advertise"))
        self._credentials = Credentials(identity, trust)
        self.valid_until, self.trust_number = identity.valid_until, self._credentials.trust.number or None
        self.own_may_relay = identity.may_relay
        self._relays: dict[str, None] = {}
        """Names whose latest certificate allows relaying. Their messages may be processed after they have gone."""
        self._socket: socket.socket | None = None
        self._mesh: Mesh | None = None
        self._inbox: Inbox | None = None
        self._admitting: set[asyncio.Task[None]] = set()
        self._door: Door[asyncio.Task[None]] = Door(self._turn_away)
        self._address: Address | None = None
        self._proved: dict[Connection, Verified] = {}
        """What the other end of each connection has proved."""
        self._is_stale = False
        """Whether the identity has changed, and TLS does not present it yet."""
        self._server, self._client = _contexts(self._credentials)

    @property
    def address(self) -> str:
        """Where this member listens; after `open`, with the actual port."""
        return str(self._address or self._listen or "")

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        self._credentials.begin(name, group, time.time())
        if self._listen is not None:
            self._socket = await _listen(self._listen)
            self._address = Address(self._listen.host, self._socket.getsockname()[1])
        self._inbox = inbox
        address, is_leaf = self._advertise or self.address, self.role is Role.LEAF
        self._mesh = Mesh(name, time.time_ns(), address, inbox, self._dial, why, self._claim, is_leaf=is_leaf)
        for peer in self._peers:
            self._mesh.dial(peer)
        if self._socket is not None:
            self._listen_for_others()

    def send(self, receiver: str, frame: bytes) -> bool:
        self.check_size(frame)
        link = self._mesh.link(receiver) if self._mesh is not None else None
        return link is not None and link.send(frame)

    def announce(self, frame: bytes) -> None:
        self.check_size(frame)
        if self._mesh is not None:
            for link in self._mesh.links():
                link.send(frame)

    def seek(self, places: Sequence[str]) -> None:
        if self._mesh is not None:
            self._mesh.seek(places)

    def place_of(self, peer: str) -> str:
        link = self._mesh.link(peer) if self._mesh is not None else None
        return peer if link is None or link.place is None else link.place

    def may_relay(self, sender: str) -> bool:
        return sender in self._relays

    async def close(self) -> None:
        mesh, self._mesh = self._mesh, None
        if mesh is None:
            return
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
        await asyncio.sleep(0)  # a task cancelled before its first step would leak its socket
        for task in tuple(self._admitting):
            task.cancel()
        await asyncio.gather(*self._admitting, return_exceptions=True)
        await mesh.close(CLOSING_SECONDS)

    def refresh(self) -> Reread:
        credentials = self._credentials
        found = credentials.refresh()
        if found.changes or self._is_stale:
            try:
                self._server, self._client = _contexts(credentials)
                self._is_stale = False
            except LocalError as error:
                self._is_stale = True
                found = found._replace(troubles=(*found.troubles, str(error)))
        if found.changes:
            self.valid_until, self.trust_number = credentials.identity.valid_until, credentials.trust.number or None
            for connection, verified in tuple(self._proved.items()):
                refusal = credentials.refusal(verified, connection.peer)
                if refusal is not None:
                    self._refuse(refusal, connection.peer, connection.host)
                    connection.abort()
        if found.is_renewed and self._mesh is not None:
            self._mesh.renew()
        return found

    # Incoming connections.

    def _listen_for_others(self) -> None:
        if self._mesh is not None and self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._accept, self._socket)

    def _accept(self, listening: socket.socket) -> None:
        """Accept a connection. A task cancelled in `sock_accept` just as one arrives would leak its socket."""
        loop = asyncio.get_running_loop()
        try:
            incoming, there = listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # it has gone already
        except OSError:
            loop.remove_reader(listening)
            loop.call_later(BREATH_SECONDS, self._listen_for_others)
            return
        incoming.setblocking(False)
        task = loop.create_task(self._admit(incoming, str(there[0])))
        self._admitting.add(task)
        self._door.come(task, str(there[0]))
        task.add_done_callback(self._has_come)

    def _has_come(self, task: asyncio.Task[None]) -> None:
        self._admitting.discard(task)
        self._door.leave(task)

    def _turn_away(self, task: asyncio.Task[None], host: str) -> None:
        self._refuse(Refusal.FLOOD, None, host)
        # Not before it has started: a task that never runs would leak its socket.
        asyncio.get_running_loop().call_soon(task.cancel)

    async def _admit(self, incoming: socket.socket, host: str) -> None:
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
                self._refuse(Refusal.STRANGER if _is_about_certificates(error) else Refusal.MALFORMED, None, host)
            return
        except OSError:
            return  # it hung up, or was silent for too long, so nothing was refused
        if (task := asyncio.current_task()) is not None:
            self._door.leave(task)
        if self._mesh is not None:
            await self._mesh.settle(connection)

    # Outgoing connections.

    async def _dial(self, there: str) -> Connection:
        address, identity = parse_address(there), self._credentials.identity
        try:
            identity.check_time(time.time())
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: self._connection(there),
                    address.host,
                    address.port,
                    ssl=self._client,
                    server_hostname="",  # certificates name agents, not hosts
                    ssl_handshake_timeout=HANDSHAKE_SECONDS,
                    ssl_shutdown_timeout=CLOSING_SECONDS,
                )
        except ssl.SSLCertVerificationError as error:
            self._refuse(Refusal.STRANGER, None, address.host)
            raise Refused(_what_to_do(there, error.verify_message, identity.group)) from error
        except LocalError as error:
            raise Refused(str(error)) from error
        except UnicodeError as error:
            raise OSError(f"{address.host!r} is not a host's name") from error
        if connection.refusal is Refusal.REVOKED:
            raise OSError("the certificate there is revoked")  # intended; that it still runs is its own trouble
        if connection.refusal is not None:
            raise Refused(
                f"the certificate at {there} is none of an agent of {identity.group!r}: "
                "make one for it with `cobandit keys agent`"
            )
        return connection

    # Both.

    def _connection(self, dialled: str | None = None) -> Connection:
        connection = Connection(
            on_made=self._prove,
            on_frame=self._take_frame,
            on_word=self._take_word,
            on_refused=lambda connection, reason: self._refuse(reason, connection.peer, connection.host),
            on_lost=self._lose,
        )
        connection.place = dialled
        return connection

    def _prove(self, connection: Connection) -> None:
        """Set the peer of a connection to the name in its certificate. TLS has checked that the group signed it."""
        if self._mesh is None:
            connection.abort()  # its handshake ended while this member closed, so nothing else would end it
            return
        certificate = connection.certificate
        verified = self._credentials.verify(certificate) if certificate is not None else None
        if verified is None:
            connection.refusal = Refusal.STRANGER
        else:
            name = None if verified.names.is_prefix else verified.names.member
            connection.refusal = self._credentials.refusal(verified, name)
        if verified is None or connection.refusal is not None:
            self._refuse(connection.refusal or Refusal.STRANGER, None, connection.host)
            connection.abort()
            return
        connection.peer = name
        if name is not None:
            self._remember(name, may_relay=verified.may_relay)
        self._proved[connection] = verified
        connection.watch_silence(_SILENCE)
        # A connection must not outlive the certificate that admitted it.
        expiry = asyncio.get_running_loop().call_later(max(0.0, verified.valid_until - time.time()), connection.abort)
        connection.lost.add_done_callback(lambda _: expiry.cancel())
        self._mesh.greet(connection, verified.names.member if verified.names.is_prefix else None)

    def _claim(self, connection: Connection, name: str) -> Refusal | None:
        """Return why the other end may not have this name. Its certificate contains only a prefix.

        A relay's name belongs to the relay. While it is remembered, the holder of a mere prefix cannot take it.
        """
        verified = self._proved.get(connection)
        if verified is None or not verified.names.proves(name) or name in self._relays:
            return Refusal.FORGED
        return self._credentials.refusal(verified, name)

    def _remember(self, name: str, *, may_relay: bool) -> None:
        """Note the role in a certificate for exactly this name. End connections of this name with another role."""
        self._relays.pop(name, None)
        if may_relay:
            self._relays[name] = None
        if len(self._relays) > MOST_REMEMBERED:
            del self._relays[next(iter(self._relays))]
        for other, verified in tuple(self._proved.items()):
            if other.peer == name and verified.may_relay != may_relay:
                self._refuse(Refusal.FORGED, name, other.host)
                other.abort()

    def _take_frame(self, connection: Connection, frame: bytes) -> None:
        if self._mesh is not None and self._inbox is not None:
            self._inbox.frame(frame, connection.peer)

    def _take_word(self, connection: Connection, word: Word, content: bytes) -> None:
        if self._mesh is not None and connection in self._proved:
            self._mesh.take_word(connection, word, content)

    def _lose(self, connection: Connection, _error: Exception | None) -> None:
        self._proved.pop(connection, None)
        if not connection.is_ready:
            connection.complaint = self._credentials.is_being_replaced()
        if self._mesh is not None:
            self._mesh.lose(connection)

    def _refuse(self, reason: Refusal, sender: str | None, host: str) -> None:
        if self._mesh is not None and self._inbox is not None:
            self._inbox.refused(reason, sender, host)


def _contexts(credentials: Credentials) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return what a server and a client trust and present: only the group's authorities, and this identity."""
    made, identity = [], credentials.identity
    for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(cadata=b"".join(credentials.trust.authorities))
            context.load_cert_chain(identity.path)
        except OSError as error:
            raise LocalError(f"{identity.path} can no longer be used for TLS: {error.strerror}") from error
        made.append(context)
    made[0].num_tickets = 0  # no session resumption
    return made[0], made[1]


async def _listen(address: Address) -> socket.socket:
    with listening_to(address, "url"):
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
    return (
        f"who is at {there} is not of this group {group!r} ({verdict}): use files of one group on both sides. If the "
        "group's authority was replaced (`cobandit keys rotate`), one of the two has an old file: make a new one for "
        "it with `cobandit keys agent`, and give both the group's new trust file"
    )
