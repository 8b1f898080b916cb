"""Frames through a NATS server: one subject for each member, and one for each group's announcements.

When a subject has no subscriber, a NATS server reports this at once to senders that name a subject for replies. Leaves
do so, and therefore know within a moment that a relay is gone. If the server does not let a leaf receive those replies,
the leaf notices by the relay's silence instead.

This file owns the connection through nats-py and its errors. NATS does not prove the sender of a frame.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from cobandit.live.transports.base import LARGEST_FRAME
from cobandit.live.transports.broker import FAREWELL, Address, BrokerTransport, Connection, NotConnectedError, token
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

PORTS = {"nats": 4222, "tls": 4222}

USUAL_PAYLOAD = 2**20
"""Bytes. A NATS server's default limit. Once the server is reached, its own value replaces this.

NATS counts only the payload, and a payload here is exactly one frame, so no margin is needed.
"""

CONNECT_WITHIN = 2
PING_EVERY = 10
"""Seconds. A server that answers neither of two pings counts as gone."""

WAITING_IN_LIBRARY = 2**20
"""Bytes that nats-py buffers before it waits for the network."""

NOBODY_HEARS = "503"
"""The status of a NATS server's reply to a frame for a subject without subscribers."""

INCOMING_FRAMES = 8192
INCOMING_BYTES = 16 * 2**20
"""The most that may wait for processing, for each subject. Anything beyond is lost, and counted as a flood."""


class NatsTransport(BrokerTransport):
    """Carries frames through a NATS server.

    Args:
        url: `nats://host:port` or `tls://host:port`, with `user:password@` or `token@` before the host if the server
            requires it. Several, for the servers of one cluster; the first credentials given are used for all.
        ssl_context: What to trust and to present, if the server requires TLS; the system's trust if `None`.
        tls_first: Begin with TLS before the server has said anything. Without it, the server decides whether there is
            TLS, even for `tls://`. The server must be configured for it (`handshake_first`).

    Raises:
        LocalError: A URL is invalid, or nats-py is not installed.
    """

    server = "NATS server"
    separator = "."
    largest_frame = USUAL_PAYLOAD

    def __init__(
        self, url: str | Sequence[str], *, ssl_context: ssl.SSLContext | None = None, tls_first: bool = False
    ) -> None:
        with needed_by("NATS"):
            import nats.aio.client  # noqa: F401, PLC0415
        addresses = [Address.read(one, PORTS) for one in ((url,) if isinstance(url, str) else url)]
        if not addresses:
            raise LocalError("give the address of at least one NATS server")
        super().__init__(", ".join(map(str, addresses)))
        self._addresses = addresses
        self._ssl_context = ssl_context
        self._tls_first = tls_first

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        from nats import errors  # noqa: PLC0415
        from nats.aio.client import Client  # noqa: PLC0415

        client = Client()
        last_error: Exception | None = None

        async def note(error: Exception) -> None:
            nonlocal last_error
            last_error = error
            if isinstance(error, errors.SlowConsumerError):
                self.overflow()
            elif "permissions violation" in str(error).lower() and self.unheard.lower() not in str(error).lower():
                self.complain(error, refused=True)

        async def closed() -> None:
            self.wake()

        async def hear(message: "Msg") -> None:
            self.hear(message.data)

        async def hear_of_nobody(message: "Msg") -> None:
            if message.headers and message.headers.get("Status") == NOBODY_HEARS:
                self.nobody_hears(self.topic_at(message.subject.removeprefix(self.unheard)))

        secret = next((a for a in self._addresses if a.user is not None), self._addresses[0])
        try:
            await client.connect(
                servers=[str(address) for address in self._addresses],
                user=None if secret.password is None else secret.user,
                password=secret.password,
                token=secret.user if secret.password is None else None,
                name=token(self._name),
                tls=self._ssl_context,
                tls_handshake_first=self._tls_first,
                no_echo=True,  # members do not receive their own announcements
                error_cb=note,
                closed_cb=closed,
                # One attempt at each server, and no reconnection: nats-py would replay what waited during an outage.
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=CONNECT_WITHIN,
                ping_interval=PING_EVERY,
                pending_size=WAITING_IN_LIBRARY,
            )
            for subject in self.heard:
                await client.subscribe(
                    subject, cb=hear, pending_msgs_limit=INCOMING_FRAMES, pending_bytes_limit=INCOMING_BYTES
                )
            if self.on_gone is not None:
                await client.subscribe(f"{self.unheard}*", cb=hear_of_nobody, pending_msgs_limit=INCOMING_FRAMES)
            # The server must know this member's subscriptions before the member announces itself. nats-py's ping may
            # overtake the subscriptions, which its own task writes; the second ping cannot.
            for _ in range(2):
                await client.flush(CONNECT_WITHIN)
            self.largest_frame = min(client.max_payload, LARGEST_FRAME)
            yield _NatsConnection(client, lambda: last_error, self._answers_to)
        except (errors.NoServersError, errors.TimeoutError, errors.ConnectionClosedError) as error:
            raise NotConnectedError(last_error or error, refused=_refuses(last_error)) from error
        except (errors.Error, OSError, TimeoutError) as error:
            raise NotConnectedError(error, refused=_refuses(error)) from error
        finally:
            with suppress(Exception):  # otherwise the other side closes it, or it is gone
                async with asyncio.timeout(FAREWELL):
                    await client.close()

    @property
    def unheard(self) -> str:
        """The prefix of the subjects for the server's reports about members without a subscriber; a token follows."""
        return f"{self.topic_of(self._name)}.unheard."

    def _answers_to(self, topic: str) -> str:
        """Return the subject for the server's reply to a frame, if one is wanted."""
        members = self.topic_at("")
        is_wanted = self.on_gone is not None and topic.startswith(members)
        return self.unheard + topic.removeprefix(members) if is_wanted else ""


class _NatsConnection(Connection):
    def __init__(
        self, client: "Client", last_error: Callable[[], Exception | None], answers_to: Callable[[str], str]
    ) -> None:
        self._client = client
        self._last_error = last_error
        self._answers_to = answers_to

    async def publish(self, topic: str, frame: bytes) -> None:
        from nats import errors  # noqa: PLC0415

        try:
            await self._client.publish(topic, frame, self._answers_to(topic))
        except errors.MaxPayloadError:
            return  # the server was replaced by one with a lower limit: this frame is lost
        except (errors.Error, OSError) as error:
            raise NotConnectedError(self._last_error() or error) from error

    def ended(self) -> str | None:
        if self._client.is_closed:
            return str(self._last_error() or "the connection was closed")
        return None


def _refuses(error: Exception | None) -> bool:
    """Return whether the server itself refuses, rather than being unreachable."""
    return isinstance(error, ssl.SSLError) or "authorization" in str(error).lower()
