"""NATS and MQTT against real servers: they keep every promise, and outlive their server."""

import asyncio
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing

import pytest

from cobandit import LocalError
from cobandit.live.auth.refusal import Refusal
from cobandit.live.transports import broker
from cobandit.live.transports import mqtt as mqtt_transport
from cobandit.live.transports import nats as nats_transport
from cobandit.live.transports.base import LARGEST_FRAME, Transport
from cobandit.live.transports.broker import Address, token
from cobandit.live.transports.mqtt import MqttTransport, own_identifier
from cobandit.live.transports.nats import NatsTransport
from cobandit.testing import check_transport
from lab.diary import Diary
from lab.servers import HOST, Server, free_port

Build = Callable[[str], Transport]
BUILDS: dict[str, Build] = {"nats": NatsTransport, "mqtt": MqttTransport}


@pytest.fixture(params=list(BUILDS))
def scheme(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def build(scheme: str) -> Build:
    return BUILDS[scheme]


@pytest.fixture
def kind(scheme: str, request: pytest.FixtureRequest) -> tuple[Server, Build]:
    return request.getfixturevalue(scheme), BUILDS[scheme]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "LONGEST_PAUSE", 0.2)
    monkeypatch.setattr(mqtt_transport, "ANSWER_WITHIN", 1.0)
    monkeypatch.setattr(nats_transport, "CONNECT_WITHIN", 1)


async def opened(transport: Transport, name: str, group: str = "g") -> Diary:
    return await Diary.of(transport, name, group)


def test_every_promise_is_kept(kind: tuple[Server, Build]) -> None:
    server, build = kind
    asyncio.run(check_transport(lambda _: build(server.url)))


class Stuck(broker.BrokerTransport):
    """Whose first connection takes a frame and never says so, as a library does whose connection has ended."""

    server, separator, largest_frame = "server", ".", 1000

    def __init__(self) -> None:
        super().__init__("somewhere")
        self.connections, self.taken = 0, list[bytes]()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[broker.Connection]:
        self.connections += 1
        yield StuckConnection(self, is_stuck=self.connections == 1)


class StuckConnection(broker.Connection):
    def __init__(self, transport: Stuck, *, is_stuck: bool) -> None:
        self._transport, self._is_stuck = transport, is_stuck

    async def publish(self, topic: str, frame: bytes) -> None:
        if self._is_stuck:
            await asyncio.Event().wait()
        self._transport.taken.append(frame)

    def ended(self) -> str | None:
        return None


def test_a_connection_that_takes_nothing_any_more_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "PUBLISH_WITHIN", 0.05)

    async def scene() -> None:
        transport = Stuck()
        diary = await opened(transport, "ann")
        await diary.until(lambda d: d.reached == [None])
        assert transport.send("bob", b"lost")
        await diary.until(lambda d: d.reached == [None, None])
        assert transport.send("bob", b"taken")
        await transport.close()
        assert (transport.connections, transport.taken) == (2, [b"taken"])
        assert [trouble is None or "took nothing" in trouble for trouble in diary.troubles] == [True] * 3

    asyncio.run(scene())


def test_every_mqtt_broker_takes_our_identifiers_and_no_two_are_equal() -> None:
    """The standard lets a broker refuse more than 23 characters, and other characters than these."""
    made = {own_identifier() for _ in range(1000)}
    assert len(made) == 1000
    assert [name for name in made if not re.fullmatch("[0-9a-zA-Z]{20,23}", name)] == []


def test_any_characters_may_be_in_names(kind: tuple[Server, Build]) -> None:
    server, build = kind
    names = ["a.b", "a", "a.*", ">", "#", "+/x", "$SYS", "Zoë ☂", "a b\r\n", "\x00", "_", "_5f", "x" * 500]

    async def scene() -> None:
        members = {name: await opened(build(server.url), name, "group/*.>#") for name in names}
        for diary in members.values():
            await diary.until(lambda d: d.reached == [None])
        for name in names:
            assert members["a"].transport.send(name, name.encode())
        members["a"].transport.announce(b"all")
        for name in names:
            expected = [(b"all", None), (name.encode(), None)] if name != "a" else []
            await members[name].until(lambda d: len(d.frames) == len(expected))  # noqa: B023 - it is awaited here
            assert sorted(members[name].frames) == sorted(expected)
        for diary in members.values():
            await diary.transport.close()

    asyncio.run(scene())


def test_a_server_that_starts_later_is_found_and_its_absence_is_said_once(kind: tuple[Server, Build]) -> None:
    server, build = kind
    server.stop()

    async def scene() -> list[Diary]:
        ann = await opened(build(server.url), "ann")
        bob = await opened(build(server.url), "bob")
        assert not ann.transport.send("bob", b"too early")
        for diary in (ann, bob):
            await diary.until(lambda d: len(d.troubles) == 1)
            await _attempts(diary, 3)
        server.start()
        for diary in (ann, bob):
            await diary.until(lambda d: d.reached == [None])
        ann.transport.announce(b"here")
        assert bob.transport.send("ann", b"so am I")
        await ann.until(lambda d: d.frames == [(b"so am I", None)])
        await bob.until(lambda d: d.frames == [(b"here", None)])
        for diary in (ann, bob):
            await diary.transport.close()
        return [ann, bob]

    for diary in asyncio.run(scene()):
        said, works = diary.troubles
        assert said is not None
        assert f"at {server.url} cannot be reached" in said
        assert works is None
        assert diary.reached == [None]


async def _attempts(diary: Diary, count: int) -> None:
    """Wait until its transport has tried to connect so many times more."""
    transport = diary.transport
    assert isinstance(transport, broker.BrokerTransport)
    original, tried = transport.connect, asyncio.Semaphore(0)

    def counting() -> object:
        tried.release()
        return original()

    transport.connect = counting  # type: ignore[assignment, method-assign]
    for _ in range(count):
        await asyncio.wait_for(tried.acquire(), 30)


def test_frames_flow_again_after_every_restart_of_the_server(kind: tuple[Server, Build]) -> None:
    server, build = kind

    async def scene() -> list[Diary]:
        ann = await opened(build(server.url), "ann")
        bob = await opened(build(server.url), "bob")
        for diary in (ann, bob):
            await diary.until(lambda d: len(d.reached) == 1)
        for outage in (1, 2):
            server.stop()
            for diary in (ann, bob):
                await diary.until(lambda d: len(d.troubles) == 2 * outage)  # noqa: B023 - it is awaited here
                assert not diary.transport.send("ann", b"lost")
            server.start()
            for diary in (ann, bob):
                await diary.until(lambda d: len(d.reached) == 1 + outage)  # noqa: B023 - it is awaited here
        assert ann.transport.send("bob", b"again")
        await bob.until(lambda d: d.frames == [(b"again", None)])
        for diary in (ann, bob):
            await diary.transport.close()
        return [ann, bob]

    for diary in asyncio.run(scene()):
        assert [what is None for what in diary.troubles] == [True, False, True, False, True]
        assert diary.reached == [None] * 3


def test_what_was_sent_before_close_still_arrives(kind: tuple[Server, Build]) -> None:
    server, build = kind
    frames = [b"%d" % number for number in range(300)]

    async def scene() -> list[bytes]:
        ann = await opened(build(server.url), "ann")
        bob = await opened(build(server.url), "bob")
        for diary in (ann, bob):
            await diary.until(lambda d: d.reached == [None])
        for frame in frames:
            assert ann.transport.send("bob", frame)
        await ann.transport.close()
        await bob.until(lambda d: len(d.frames) == len(frames))
        await bob.transport.close()
        return [frame for frame, _ in bob.frames]

    assert asyncio.run(scene()) == frames


def test_two_hundred_members_of_one_process_hear_each_other(nats: Server) -> None:
    count = 200

    async def scene() -> list[set[bytes]]:
        members = [await opened(NatsTransport(nats.url), f"member {number}") for number in range(count)]
        for diary in members:
            await diary.until(lambda d: d.reached == [None])
        for number, diary in enumerate(members):
            diary.transport.announce(b"%d" % number)
        for diary in members:
            await diary.until(lambda d: len(d.frames) >= count - 1)
        await asyncio.gather(*(diary.transport.close() for diary in members))
        assert [len(diary.frames) for diary in members] == [count - 1] * count
        return [{frame for frame, _ in diary.frames} for diary in members]

    everybody = {b"%d" % number for number in range(count)}
    assert asyncio.run(scene()) == [everybody - {b"%d" % number} for number in range(count)]


def test_what_is_too_much_for_the_queue_is_lost_and_said_so(
    kind: tuple[Server, Build], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, build = kind
    monkeypatch.setattr(broker, "WAITING_FRAMES", 3)

    async def scene() -> None:
        ann = await opened(build(server.url), "ann")
        bob = await opened(build(server.url), "bob")
        for diary in (ann, bob):
            await diary.until(lambda d: d.reached == [None])
        assert [ann.transport.send("bob", b"%d" % n) for n in range(5)] == [True, True, True, False, False]
        await bob.until(lambda d: [frame for frame, _ in d.frames] == [b"0", b"1", b"2"])
        assert ann.transport.send("bob", b"5")
        await bob.until(lambda d: [frame for frame, _ in d.frames] == [b"0", b"1", b"2", b"5"])
        for diary in (ann, bob):
            await diary.transport.close()

    asyncio.run(scene())


def test_bytes_that_wait_have_a_limit_too(kind: tuple[Server, Build], monkeypatch: pytest.MonkeyPatch) -> None:
    server, build = kind
    monkeypatch.setattr(broker, "WAITING_BYTES", 10)

    async def scene() -> list[bool]:
        ann = await opened(build(server.url), "ann")
        bob = await opened(build(server.url), "bob")
        for diary in (ann, bob):
            await diary.until(lambda d: d.reached == [None])
        taken = [ann.transport.send("bob", frame) for frame in (b"12345", b"123456", b"12345", b"1")]
        await bob.until(lambda d: len(d.frames) == 2)
        taken.append(ann.transport.send("bob", b"1234567890"))
        for diary in (ann, bob):
            await diary.transport.close()
        return taken

    assert asyncio.run(scene()) == [True, False, True, False, True]


def test_a_server_that_accepts_and_says_nothing_is_trouble_and_closing_does_not_wait_for_it(
    build: Build, scheme: str
) -> None:
    async def scene() -> list[str | None]:
        with closing(socket.create_server((HOST, 0))) as mute:
            ann = await opened(build(f"{scheme}://{HOST}:{mute.getsockname()[1]}"), "ann")
            await ann.until(lambda d: len(d.troubles) == 1)
            async with asyncio.timeout(3 * broker.FAREWELL):
                await ann.transport.close()
        return ann.troubles

    (said,) = asyncio.run(scene())
    assert said is not None
    assert "cannot be reached" in said


def test_it_can_be_closed_while_it_tries_to_connect(build: Build, scheme: str) -> None:
    async def scene() -> list[str | None]:
        ann = await opened(build(f"{scheme}://{HOST}:{free_port()}"), "ann")
        await ann.transport.close()
        await ann.transport.close()
        assert not ann.transport.send("bob", b"")
        return ann.troubles

    assert asyncio.run(scene()) == []


def test_the_server_says_how_large_a_frame_may_be(nats: Server) -> None:
    async def scene() -> int:
        ann = await opened(NatsTransport(nats.url), "ann")
        await ann.until(lambda d: d.reached == [None])
        await ann.transport.close()
        return ann.transport.largest_frame

    assert asyncio.run(scene()) == 2**20


def test_different_names_are_different_topics() -> None:
    names = [
        "",
        "_",
        "__",
        "a",
        "A",
        "a.b",
        "a_2eb",
        "a-b",
        "a b",
        "é",
        "e\u0301",
        "\ud800",
        "h",
        "_h",
        "x" * 201,
        "x" * 202,
    ]
    tokens = [token(name) for name in names]
    assert len(set(tokens)) == len(names)
    assert all(t and t.replace("-", "").replace("_", "").replace("", "a").isascii() for t in tokens)
    assert all(len(t) <= broker.LONGEST_TOKEN for t in tokens)


@pytest.mark.parametrize(
    "url", ["", "localhost", "http://localhost", "nats://", "nats://h:x", "nats://h/path", "nats://h:0x1"]
)
def test_an_address_that_cannot_be_right_is_refused(url: str) -> None:
    with pytest.raises(LocalError):
        NatsTransport(url)
    with pytest.raises(LocalError):
        MqttTransport(url.replace("nats", "mqtt"))


def test_secrets_are_read_from_an_address_and_never_shown() -> None:
    address = Address.read("nats://us%40er:p%3Ass@[::1]", {"nats": 4222})
    assert address == Address("nats", "::1", 4222, "us@er", "p:ss")
    assert str(address) == "nats://[::1]:4222"


def test_a_transport_is_opened_once(build: Build, scheme: str) -> None:
    async def scene() -> None:
        ann = await opened(build(f"{scheme}://{HOST}:{free_port()}"), "ann")
        with pytest.raises(LocalError, match="was opened before"):
            await ann.transport.open("ann", "g", ann)
        await ann.transport.close()

    asyncio.run(scene())


def test_what_comes_in_is_let_in_only_if_it_is_not_too_much_and_the_member_is_there_and_can_answer(
    kind: tuple[Server, Build],
) -> None:
    server, build = kind

    async def scene() -> Diary:
        transport = build(server.url)
        assert isinstance(transport, broker.BrokerTransport)
        ann = await opened(transport, "ann")
        transport.hear(b"too early")
        await ann.until(lambda d: d.reached == [None])
        transport.hear(bytes(LARGEST_FRAME + 1))
        transport.overflow()
        transport.hear(b"fits")
        await transport.close()
        transport.hear(b"too late")
        transport.overflow()
        return ann

    ann = asyncio.run(scene())
    assert ann.refusals == [(Refusal.OVERSIZED, None), (Refusal.FLOOD, None)]
    assert ann.frames == [(b"fits", None)]


def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("nats", "nats.aio.client", "aiomqtt"):
        monkeypatch.setitem(sys.modules, module, None)
    said = rf"{scheme.upper()} needs the extra \"{scheme}\": pip install 'cobandit\[{scheme}\]'"
    with pytest.raises(LocalError, match=said):
        BUILDS[scheme](f"{scheme}://{HOST}")
