"""Frames through an MQTT broker: one topic for each member, one for the announcements of each group.

This file owns the connection by aiomqtt (MQTT 5, quality of service 0) and its errors. Who a frame is from, MQTT does
not prove.
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
"""The default limit of a frame, in bytes. A broker closes the connection if it gets more than it likes, and libraries
do not say how much that is."""

ANSWER_WITHIN = 5.0
"""Seconds that the broker has for each answer, and to take a frame."""

KEEP_ALIVE = 15
"""Seconds without a word after which each side asks whether the other is there."""

LONGEST_IDENTIFIER = 23
"""Characters of a client's name that every broker must take. Some take no more."""

_silent = logging.getLogger("cobandit.live.transports.mqtt.library")
_silent.setLevel(logging.CRITICAL + 1)  # what is wrong is said by `Inbox.trouble`

_leaving: set[asyncio.Task[None]] = set()
"""Connections that were made only after nobody wanted them any more, on their way out."""


def own_identifier() -> str:
    """Return a name that no other client has: a broker throws out the older of two that are equal."""
    ours = "cobandit"
    return ours + secrets.token_hex((LONGEST_IDENTIFIER - len(ours)) // 2)


class MqttTransport(BrokerTransport):
    """Carries frames through an MQTT broker that speaks version 5.

    Args:
        url: `mqtt://host:port` or `mqtts://host:port` (TLS), with `user:password@` before the host if the broker asks
            for it.
        ssl_context: Whom to trust and what to show, for `mqtts`; the system's trust if `None`.
        largest_frame: Bytes of the largest frame that the broker takes.
        keep_alive: Seconds without a word after which each side asks whether the other is there. More for devices that
            live on a battery.

    Raises:
        LocalError: The URL cannot be right, or aiomqtt is not installed.
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
            """Hands each message over when it is read: so nothing waits here, and what is too much waits in TCP."""

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

        # Nobody hears its own announcements, nor what was left at the broker before.
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
        """Wait until the connection ends, and say so. There is nothing to iterate over: see `Door`."""
        from aiomqtt import MqttError  # noqa: PLC0415

        try:
            async for _ in self._client.messages:
                pass
        except MqttError as error:
            self._ended = str(error.__cause__ or error)
            self._transport.wake()


async def _enter(client: "Client") -> None:
    """Connect. Its library does that on a thread, which cannot be cancelled: then it is left as soon as it is made."""
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
