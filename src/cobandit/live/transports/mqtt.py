"""Frames through an MQTT broker: one topic for each member, and one for each group's announcements.

This file owns the connection through aiomqtt (MQTT 5, quality of service 0) and its errors. MQTT does not prove the
sender of a frame.
"""

import asyncio
import logging
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from cobandit.live.transports.broker import Address, BrokerTransport, Connection, NotConnectedError
from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from aiomqtt import Client, Message

PORTS = {"mqtt": 1883, "mqtts": 8883}

LARGEST_PACKET = 2**20
"""The default maximum size of a frame, in bytes. A broker closes the connection if a packet exceeds its limit, and
libraries do not report the limit."""

ANSWER_WITHIN = 5.0
"""Seconds that the broker has for each answer, and for accepting a frame."""

KEEP_ALIVE = 15
"""Seconds of silence after which each side checks whether the other is there."""

LONGEST_IDENTIFIER = 23
"""Characters of a client's identifier that every broker must accept. Some accept no more."""

_silent = logging.getLogger("cobandit.live.transports.mqtt.library")
_silent.setLevel(logging.CRITICAL + 1)  # `Inbox.trouble` reports what is wrong

_leaving: set[asyncio.Task[None]] = set()
"""Connections that were made after they were cancelled, and are being closed."""


def own_identifier() -> str:
    """Return a unique identifier: of two clients with the same one, a broker disconnects the older."""
    ours = "cobandit"
    return ours + secrets.token_hex((LONGEST_IDENTIFIER - len(ours)) // 2)


class MqttTransport(BrokerTransport):
    """Carries frames through an MQTT broker that speaks version 5.

    Args:
        url: `mqtt://host:port` or `mqtts://host:port` (TLS), with `user:password@` before the host if the broker
            requires it.
        ssl_context: What to trust and to present for `mqtts`; the system's trust if `None`.
        largest_frame: Maximum bytes of a frame that the broker accepts.
        keep_alive: Seconds of silence after which each side checks whether the other is there. Use more for devices on
            battery power.

    Raises:
        LocalError: The URL is invalid, or aiomqtt is not installed.
    """

    server = "MQTT broker"
    separator = "/"

    def __init__(
        self,
        url: str,
        *,
        ssl_context: ssl.SSLContext | None = None,
        largest_frame: int = LARGEST_PACKET,
        keep_alive: int = KEEP_ALIVE,
    ) -> None:
        with needed_by("MQTT"):
            import aiomqtt  # noqa: F401, PLC0415
        self._address = Address.read(url, PORTS)
        super().__init__(str(self._address))
        secure = self._address.scheme == "mqtts"
        if ssl_context is not None and not secure:
            raise LocalError("a TLS context needs an address that begins with mqtts://")
        self._ssl_context = ssl.create_default_context() if secure and ssl_context is None else ssl_context
        self.largest_frame = largest_frame
        check_whole("keep_alive", keep_alive, 1, 65_535)
        self._keep_alive = keep_alive

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        from aiomqtt import MqttCodeError, MqttError  # noqa: PLC0415

        client = self._client()
        try:
            await _enter(client)
        except MqttCodeError as error:
            raise NotConnectedError(error, refused=True) from error
        except MqttError as error:
            raise NotConnectedError(error) from error
        connection = _MqttConnection(client, self)
        watch = asyncio.create_task(connection.watch())
        try:
            await self._subscribe(client)
            yield connection
        finally:
            watch.cancel()
            await asyncio.wait({watch})
            with suppress(MqttError):
                await client.__aexit__(None, None, None)

    def _client(self) -> "Client":
        from aiomqtt import Client, Message, ProtocolVersion  # noqa: PLC0415

        deliver = self.hear

        class Door(asyncio.Queue[Message]):
            """Delivers each message as it is read, so that nothing waits here and excess traffic waits in TCP."""

            def put_nowait(self, item: "Message") -> None:
                deliver(item.payload)

        return Client(
            self._address.host,
            self._address.port,
            username=self._address.user,
            password=self._address.password,
            tls_context=self._ssl_context,
            protocol=ProtocolVersion.V5,
            clean_start=True,
            identifier=own_identifier(),
            queue_type=Door,
            timeout=ANSWER_WITHIN,
            keepalive=self._keep_alive,
            logger=_silent,
        )

    async def _subscribe(self, client: "Client") -> None:
        from aiomqtt import MqttError  # noqa: PLC0415
        from paho.mqtt.reasoncodes import ReasonCode  # noqa: PLC0415
        from paho.mqtt.subscribeoptions import SubscribeOptions  # noqa: PLC0415

        # No member receives its own announcements, nor messages that were retained at the broker.
        options = SubscribeOptions(qos=0, noLocal=True, retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND)
        for topic in self.heard:
            try:
                codes = await client.subscribe(topic, options=options)
            except MqttError as error:
                raise NotConnectedError(error) from error
            for code in codes:
                if isinstance(code, ReasonCode) and code.is_failure:
                    raise NotConnectedError(f"subscription: {code}", refused=True)


class _MqttConnection(Connection):
    def __init__(self, client: "Client", transport: MqttTransport) -> None:
        self._client = client
        self._transport = transport
        self._ended: str | None = None

    async def publish(self, topic: str, frame: bytes) -> None:
        from aiomqtt import MqttError  # noqa: PLC0415

        try:
            await self._client.publish(topic, frame, qos=0)
        except MqttError as error:
            raise NotConnectedError(self._ended or error) from error

    def ended(self) -> str | None:
        return self._ended

    async def watch(self) -> None:
        """Wait until the connection ends, and report it. There is nothing to iterate over: see `Door`."""
        from aiomqtt import MqttError  # noqa: PLC0415

        try:
            async for _ in self._client.messages:
                pass
        except MqttError as error:
            self._ended = str(error.__cause__ or error)
            self._transport.wake()


async def _enter(client: "Client") -> None:
    """Connect. The library does this on a thread, which cannot be cancelled; a late connection is closed at once."""
    connecting = asyncio.ensure_future(client.__aenter__())
    try:
        await asyncio.shield(connecting)
    except asyncio.CancelledError:
        leaving = asyncio.create_task(_leave(connecting, client))
        _leaving.add(leaving)
        leaving.add_done_callback(_leaving.discard)
        raise


async def _leave(connecting: "asyncio.Future[Client]", client: "Client") -> None:
    from aiomqtt import MqttError  # noqa: PLC0415

    with suppress(MqttError):
        await connecting
        await client.__aexit__(None, None, None)
