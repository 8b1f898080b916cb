"""A member whose frames go through a server: one permanent connection, with a short queue in front of it.

This file owns what NATS and MQTT have in common: topics, the queue, reconnecting, and reporting what is wrong. It knows
neither of them; a subclass makes a connection and translates its library's errors.

While there is no connection, frames are lost and `send` says so. They are not kept, because the protocol repeats what
matters, and a flood of old frames does not help a member that has just come back.
"""

import asyncio
import string
from abc import ABC, abstractmethod
from collections import deque
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from cobandit.live.auth.refusal import Refusal
from cobandit.live.status.roles import Role
from cobandit.live.transports.addresses import pause
from cobandit.live.transports.base import LARGEST_FRAME, Inbox, Transport
from cobandit.values.errors import LocalError
from cobandit.values.masking import masked

WAITING_FRAMES = 4096
WAITING_BYTES = 8 * 2**20
"""The most that may wait for the connection, in frames and in bytes. Anything beyond is lost."""

LONGEST_PAUSE = 2.0
"""Maximum seconds between two attempts to connect (see `addresses.pause`)."""

LOOK_EVERY = 1.0
"""Seconds between checks of a connection, in case its library did not report its end."""

PUBLISH_WITHIN = 10.0
"""Seconds in which a connection must accept a frame. A library may wait for ever for a connection that has ended."""

FAREWELL = 1.0
"""Seconds that `close` allows for sending the rest."""

MOST_TOPICS = 10_000
"""How many topics are remembered."""

LONGEST_TOKEN = 200
"""Characters of a name in a topic. Longer ones are hashed, because servers limit the length of topics."""


PLAIN = frozenset((string.ascii_letters + string.digits + "-").encode())
"""The bytes of a name that appear unchanged in a topic."""


class NotConnectedError(Exception):
    """There is no connection (any more). If `refused`, the server is there but rejects us."""

    def __init__(self, reason: object, *, refused: bool = False) -> None:
        super().__init__(str(reason) or type(reason).__name__)
        self.refused = refused


class Connection(ABC):
    """An open connection to a server. Its frames go to `BrokerTransport.hear`."""

    @abstractmethod
    async def publish(self, topic: str, frame: bytes) -> None:
        """Hand a frame to the server, or to a bounded buffer. Raises `NotConnectedError`."""

    @abstractmethod
    def ended(self) -> str | None:
        """Return why the connection has ended, if it has."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and the credentials for it."""

    scheme: str
    host: str
    port: int
    user: str | None
    password: str | None

    def __str__(self) -> str:
        """Return the address without secrets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @classmethod
    def read(cls, url: str, ports: dict[str, int]) -> "Address":
        """Read a URL with one of these schemes, each with its default port."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise LocalError(f"an address of a server cannot be read: {error}") from None
        if parts.scheme not in ports or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
            wanted = " or ".join(f"{scheme}://host:port" for scheme in ports)
            raise LocalError(f"the address of the server must be {wanted}, optionally with user:password@ before host")
        user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
        return cls(parts.scheme, parts.hostname, port or ports[parts.scheme], user, password)


def token(name: str) -> str:
    """Return a name as letters, digits, hyphens and underscores. Different names give different tokens.

    >>> token("till-4"), token("a.b"), token("")
    ('till-4', 'a_2eb', '_')
    """
    data = name.encode("utf-8", "surrogatepass")
    text = "".join(chr(b) if b in PLAIN else f"_{b:02x}" for b in data)
    if len(text) > LONGEST_TOKEN:
        return "_h" + sha256(data).hexdigest()  # no other token has an h after an underscore
    return text or "_"


class BrokerTransport(Transport):
    """Carries frames through a server. A subclass connects to it."""

    server: ClassVar[str]
    """The server's name in messages about troubles."""

    separator: ClassVar[str]
    """The separator between the parts of a topic."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._name = self._group = ""
        self._inbox: Inbox | None = None
        self._task: asyncio.Task[None] | None = None
        self._bell = asyncio.Event()
        self._closing = asyncio.Event()
        self._connected = False
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._waiting_bytes = 0
        self._said: set[bool] = set()
        self._topics: dict[str, str] = {}
        """By member, because spelling a topic takes longer than sending a frame."""

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        if self._inbox is not None:
            raise LocalError("this transport was opened before: make a new one for each member and each opening")
        self._name, self._group, self._inbox = name, group, inbox
        self._task = asyncio.create_task(self._stay_connected(), name=f"cobandit {self.server} {name}")

    def send(self, receiver: str, frame: bytes) -> bool:
        self.check_size(frame)
        return self._put(self.topic_of(receiver), frame)

    def announce(self, frame: bytes) -> None:
        self.check_size(frame)
        self._put(self.announcements, frame)
        if self.role is Role.RELAY:
            self._put(self.announcements_to_leaves, frame)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        self._closing.set()
        self._bell.set()
        if self._connected:
            await asyncio.wait({task}, timeout=FAREWELL)
        while not task.done():  # repeatedly, because a library may swallow a cancellation
            task.cancel()
            await asyncio.wait({task}, timeout=FAREWELL)

    def topic_of(self, member: str) -> str:
        """Return the topic on which a member of this group receives frames."""
        topic = self._topics.get(member)
        if topic is None:
            if len(self._topics) >= MOST_TOPICS:
                self._topics.clear()
            topic = self._topics[member] = self.topic_at(token(member))
        return topic

    def topic_at(self, spelled: str) -> str:
        """Return the topic of the member whose name is spelled like this."""
        return self.separator.join(("cobandit", token(self._group), "to", spelled))

    @property
    def announcements(self) -> str:
        """The topic for announcements in this group."""
        return self.separator.join(("cobandit", token(self._group), "all"))

    @property
    def announcements_to_leaves(self) -> str:
        """The topic for announcements of relays to the leaves of this group. Leaves hear no other announcements."""
        return self.separator.join(("cobandit", token(self._group), "leaves"))

    @property
    def heard(self) -> tuple[str, str]:
        """The topics that this member subscribes to: its own, and announcements."""
        is_leaf = self.role is Role.LEAF
        return self.topic_of(self._name), self.announcements_to_leaves if is_leaf else self.announcements

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """Return a connection that is subscribed to the `heard` topics.

        Called again after each connection that ended. Raises `NotConnectedError`.
        """

    @property
    def is_connecting(self) -> bool:
        return not self._connected

    def hear(self, frame: bytes) -> None:
        """Take a frame from the server. Ignored until this member can answer: it announces itself then."""
        if self._inbox is None or self._closing.is_set() or not self._connected:
            return
        if len(frame) > LARGEST_FRAME:
            self._inbox.refused(Refusal.OVERSIZED, None)
        else:
            self._inbox.frame(frame, None)

    def nobody_hears(self, topic: str) -> None:
        """Handle the server's report that a topic has no subscriber. It is a member's, to which something was sent."""
        member = next((member for member, spelled in self._topics.items() if spelled == topic), None)
        if member is not None and self.on_gone is not None and not self._closing.is_set():
            self.on_gone(member)

    def overflow(self) -> None:
        """Note that a frame was lost because a buffer was full."""
        if self._inbox is not None and not self._closing.is_set():
            self._inbox.refused(Refusal.FLOOD, None)

    def wake(self) -> None:
        """Check the connection now: it may have ended."""
        self._bell.set()

    def complain(self, reason: object, *, refused: bool) -> None:
        """Report what is wrong, unless it was reported since the last connection."""
        if refused in self._said or self._inbox is None or self._closing.is_set():
            return
        self._said.add(refused)
        reason = masked(str(reason))
        self._inbox.trouble(
            f"the {self.server} at {self._where} refuses {self._name!r} ({reason}): correct the credentials or the"
            " permissions; it is tried again until it accepts"
            if refused
            else f"the {self.server} at {self._where} cannot be reached ({reason}): start it, or correct the address;"
            " it is tried again until it answers"
        )

    def _put(self, topic: str, frame: bytes) -> bool:
        full = len(self._waiting) >= WAITING_FRAMES or self._waiting_bytes + len(frame) > WAITING_BYTES
        if full or not self._connected or self._closing.is_set():
            return False
        self._waiting.append((topic, frame))
        self._waiting_bytes += len(frame)
        self._bell.set()
        return True

    async def _stay_connected(self) -> None:
        loop = asyncio.get_running_loop()
        attempt = 0
        while not self._closing.is_set():
            began = loop.time()
            try:
                async with self.connect() as connection:
                    self._greet()
                    await self._carry(connection)
            except NotConnectedError as error:
                self.complain(error, refused=error.refused)
            except Exception as error:  # noqa: BLE001 - whatever a library raises, the member keeps trying
                self.complain(repr(error), refused=False)
            finally:
                self._connected = False
                self._waiting.clear()
                self._waiting_bytes = 0
            # A server that accepts us and at once disconnects us must not be contacted again without a pause.
            attempt = 0 if loop.time() - began > LONGEST_PAUSE else attempt + 1
            with suppress(TimeoutError):
                async with asyncio.timeout(pause(attempt, me=self._name, there="", longest=LONGEST_PAUSE)):
                    await self._closing.wait()

    def _greet(self) -> None:
        self._connected = True
        self._said.clear()
        if self._inbox is not None and not self._closing.is_set():
            self._inbox.trouble(None)
            self._inbox.reachable(None)

    async def _carry(self, connection: Connection) -> None:
        """Publish what waits, until the connection ends, or this transport is closed and nothing waits."""
        while True:
            while self._waiting:
                topic, frame = self._waiting.popleft()
                self._waiting_bytes -= len(frame)
                try:
                    async with asyncio.timeout(PUBLISH_WITHIN):
                        await connection.publish(topic, frame)
                except TimeoutError:
                    raise NotConnectedError(f"it took nothing for {PUBLISH_WITHIN:g} seconds") from None
            reason = connection.ended()
            if reason is not None:
                raise NotConnectedError(reason)
            if self._closing.is_set():
                return
            self._bell.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self._bell.wait()
