"""The mesh over TLS: who is let in, who is not, and that it heals."""

import asyncio
import contextlib
import datetime as dt
import gc
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from pathlib import Path

import pytest

from cobandit.live.auth import keys
from cobandit.live.auth import trust as trust_module
from cobandit.live.auth.certificates import Verified, verify
from cobandit.live.auth.credentials import Credentials
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.refusal import Refusal
from cobandit.live.transports import connection as connection_module
from cobandit.live.transports import door as door_module
from cobandit.live.transports import mesh as mesh_module
from cobandit.live.transports import tls as tls_module
from cobandit.live.transports.base import LARGEST_FRAME
from cobandit.live.transports.connection import Connection
from cobandit.live.transports.tls import TlsTransport
from cobandit.values.errors import LocalError
from lab.diary import PATIENCE, Diary
from lab.servers import free_port

Identities = Callable[[str], Identity]
HERE = "127.0.0.1:0"


def free_address() -> str:
    """Where a node can listen, stop, and listen again."""
    return f"127.0.0.1:{free_port()}"


class Node:
    """A transport with the inbox it tells."""

    def __init__(self, identity: Identity, *peers: str, listen: str | None = None) -> None:
        self.name, self.group = identity.name, identity.group
        self.ear = Diary()
        self.transport = TlsTransport(listen or free_address(), peers, identity)

    @property
    def address(self) -> str:
        return self.transport.address

    async def meets(self, *names: str) -> None:
        await self.ear.until(lambda _: set(names) <= set(self.ear.reached))


@contextlib.asynccontextmanager
async def running(*nodes: Node) -> AsyncIterator[None]:
    try:
        for node in nodes:
            await node.transport.open(node.name, node.group, node.ear)
        yield
    finally:
        for node in nodes:
            await node.transport.close()


def run(main: Coroutine[None, None, None]) -> None:
    """Run a test; nothing may be left behind, and nothing may go to the loop's handler of last resort."""

    async def watched() -> None:
        complaints: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        await main
        await asyncio.sleep(0)
        assert not complaints
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(watched())


async def two(member: Identities) -> tuple[Node, Node]:
    a = Node(member("a"))
    await a.transport.open("a", a.group, a.ear)
    b = Node(member("b"), a.address)
    await b.transport.open("b", b.group, b.ear)
    await a.meets("b")
    await b.meets("a")
    return a, b


async def closed(*nodes: Node) -> None:
    for node in nodes:
        await node.transport.close()


def test_frames_arrive_in_both_directions_with_the_proved_sender(member: Identities) -> None:
    async def main() -> None:
        a, b = await two(member)
        frames = [b"", b"x", bytes(LARGEST_FRAME), *(bytes([n]) * 300 for n in range(100))]
        for frame in frames:
            assert a.transport.send("b", frame)
        assert b.transport.send("a", b"back")
        b.transport.announce(b"to all")
        await b.ear.until(lambda _: len(b.ear.frames) == len(frames))
        assert b.ear.frames == [(frame, "a") for frame in frames]
        await a.ear.until(lambda _: a.ear.frames == [(b"back", "b"), (b"to all", "b")])
        assert not a.transport.send("nobody", b"x")
        with pytest.raises(LocalError, match="use fewer arms"):
            a.transport.send("b", bytes(LARGEST_FRAME + 1))
        await closed(a, b)
        assert not a.transport.send("b", b"x")
        assert (a.ear.refusals, a.ear.troubles) == ([], [])
        await closed(a, b)

    run(main())


def test_what_was_sent_before_the_end_is_handed_over(member: Identities) -> None:
    async def main() -> None:
        a, b = await two(member)
        a.transport.send("b", b"last" + bytes(2**20))
        await a.transport.close()
        await b.ear.hears(b"last" + bytes(2**20))
        await b.transport.close()

    run(main())


def test_five_members_find_each_other_from_one_address(member: Identities) -> None:
    async def main() -> None:
        seed = Node(member("m"))
        async with running(seed):
            others = [Node(member(name), seed.address) for name in "azky"]  # all at once, lesser and greater names
            async with running(*others):
                nodes = [seed, *others]
                for node in nodes:
                    await node.meets(*(other.name for other in nodes if other is not node))
                for node in nodes:
                    node.transport.announce(node.name.encode())
                for node in nodes:
                    await node.ear.hears(*(other.name.encode() for other in nodes if other is not node))
                    assert all(frame == (sender or "").encode() for frame, sender in node.ear.frames)
                    assert not node.ear.refusals

    run(main())


def test_a_chain_of_addresses_becomes_a_mesh(member: Identities) -> None:
    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            b = Node(member("b"), a.address)
            async with running(b):
                c = Node(member("c"), b.address)
                async with running(c):
                    await a.meets("b", "c")
                    await c.meets("a", "b")

    run(main())


def test_two_that_dial_each_other_at_once_keep_a_link(member: Identities) -> None:
    async def main() -> None:
        here = [free_address(), free_address()]
        a = Node(member("a"), here[1], listen=here[0])
        b = Node(member("b"), here[0], listen=here[1])
        async with running(a, b):
            await a.meets("b")
            await b.meets("a")
            for number in range(50):
                frame = number.to_bytes(1)
                assert a.transport.send("b", frame)
                assert b.transport.send("a", frame)
                await a.ear.hears(frame)
                await b.ear.hears(frame)

    run(main())


def test_it_connects_again_when_the_other_side_is_back(member: Identities) -> None:
    async def main() -> None:
        a = Node(member("a"))
        await a.transport.open("a", a.group, a.ear)
        address, dead = a.address, free_address()
        b = Node(member("b"), address, dead)
        await b.transport.open("b", b.group, b.ear)
        await b.ear.until(lambda _: "a" in b.ear.reached)
        b.ear.troubles.clear()  # it may have begun with the dead one
        await a.transport.close()
        await b.ear.until(lambda _: b.ear.troubles)
        assert b.ear.troubles[0] in {
            f"nobody at {there}: connection refused; still trying" for there in (address, dead)
        }
        again = Node(member("a"), listen=address)
        async with running(again):
            await again.meets("b")
            await b.ear.until(lambda _: b.ear.troubles[-1] is None)
            assert len(b.ear.troubles) == 2  # once each, however often it tried
            assert b.ear.reached == ["a", "a"]
            assert b.transport.send("a", b"again")
            await again.ear.hears(b"again")
            await b.transport.close()

    run(main())


def test_one_that_was_dialled_dials_when_the_other_is_back_elsewhere(member: Identities) -> None:
    async def main() -> None:
        a, b = await two(member)
        address = b.address
        await b.transport.close()
        again = Node(member("b"), listen=address)  # it has no peers now: a must come to it
        async with running(again):
            await again.meets("a")
            assert again.transport.send("a", b"back")
            await a.ear.hears(b"back")
            assert a.ear.troubles == []  # one of many being away is no trouble of the network
            await a.transport.close()

    run(main())


def test_its_own_address_among_the_peers_does_no_harm(member: Identities) -> None:
    async def main() -> None:
        port = free_port()
        a = Node(member("a"), f"127.0.0.1:{port}", f"localhost:{port}", listen=f"127.0.0.1:{port}")
        async with running(a):
            b = Node(member("b"), a.address)
            async with running(b):
                await a.meets("b")
                assert a.ear.reached == ["b"]

    run(main())


def test_of_two_processes_with_one_name_the_newer_is_heard(member: Identities) -> None:
    async def main() -> None:
        a, b = await two(member)
        twin = Node(member("b"), a.address)
        async with running(twin):
            await twin.meets("a")
            await a.ear.until(lambda _: a.ear.reached == ["b", "b"])
            a.transport.send("b", b"for the newer")
            await twin.ear.hears(b"for the newer")
            assert not b.ear.frames
            await closed(a, b)

    run(main())


def test_a_port_that_is_taken_is_said(member: Identities) -> None:
    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            b = Node(member("b"), listen=a.address)
            host, _, port = a.address.partition(":")
            with pytest.raises(LocalError, match=f"^url: port {port} on {host} is taken: "):
                await b.transport.open("b", b.group, b.ear)
            await b.transport.close()

    run(main())


@pytest.mark.parametrize("listen", ["7000", "host", "host:x", "::1:70", "h:70000", "a b:1"])
def test_an_address_that_is_none_is_refused(listen: str, member: Identities) -> None:
    with pytest.raises(LocalError, match="must be like"):
        TlsTransport(listen, [], member("a"))
    with pytest.raises(LocalError, match="must be like"):
        TlsTransport(HERE, [listen], member("a"))


def test_a_host_that_is_none_here_is_said(member: Identities) -> None:
    async def main() -> None:
        with pytest.raises(LocalError, match=r"cannot listen on 192\.0\.2\.1:0: "):
            await TlsTransport("192.0.2.1:0", [], member("a")).open("a", "homepage", Diary())

    run(main())


def test_an_identity_that_does_not_fit_is_said(member: Identities) -> None:
    async def main() -> None:
        with pytest.raises(LocalError, match="proves the name"):
            await TlsTransport(HERE, [], member("a")).open("b", "homepage", Diary())
        with pytest.raises(LocalError, match="is for the group"):
            await TlsTransport(HERE, [], member("a")).open("a", "shop", Diary())

    run(main())


def test_a_group_of_the_same_name_with_other_keys_is_refused_on_both_sides(
    member: Identities, stranger: Identities
) -> None:
    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            x = Node(stranger("x"), a.address)
            async with running(x):
                await x.ear.until(lambda _: x.ear.troubles)
                assert x.ear.troubles[0] is not None
                assert f"who is at {a.address} is not of this group 'homepage'" in x.ear.troubles[0]
                await x.ear.until(lambda _: len(x.ear.refusals) >= 3)
                assert set(x.ear.reasons()) == {Refusal.STRANGER}
                assert len(x.ear.troubles) == 1  # said once, however often it was tried
            # That one hung up as soon as it saw our certificate. One that does not look at it is seen through here.
            assert await knock(a.address, b"x", client(stranger("x"))) == b""
            await a.ear.until(lambda _: a.ear.refusals)
            assert (a.ear.refusals, a.ear.hosts) == ([(Refusal.STRANGER, None)], ["127.0.0.1"])
            assert (a.ear.reached, x.ear.reached, a.ear.troubles) == ([], [], [])

    run(main())


def expired(member: Identities, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Identity:
    """Return an identity that has expired, as it is when its process runs on."""

    class Another(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Another":
            return super().now(tz) - dt.timedelta(days=30)

    class Module:
        datetime, timedelta, UTC = Another, dt.timedelta, dt.UTC

    with monkeypatch.context() as patch:
        patch.setattr(keys, "dt", Module)
        path = keys.issue("late", member("a").path.parent, days=5, out=folder / "late.pem")
    with monkeypatch.context() as patch:
        patch.setattr(Identity, "check_time", lambda _self, _now: None)
        return Identity.load(path)


def test_an_expired_certificate_is_refused_and_both_sides_say_so(
    member: Identities, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = expired(member, tmp_path, monkeypatch)
    with pytest.raises(LocalError, match="expired on"):
        asyncio.run(TlsTransport(HERE, [], late).open("late", "homepage", Diary()))
    with monkeypatch.context() as patch:
        patch.setattr(Identity, "check_time", lambda _self, _now: None)

        async def main() -> None:
            x = Node(late)
            async with running(x):
                a = Node(member("a"), x.address)
                async with running(a):
                    await a.ear.until(lambda _: a.ear.troubles)
                    assert a.ear.troubles == [
                        f"the certificate at {x.address} has expired: make a new one for it with `cobandit keys agent`"
                    ]
                    again = Node(late, a.address)
                    async with running(again):
                        await a.ear.until(lambda _: (Refusal.STRANGER, None) in a.ear.refusals)
                        assert a.ear.reached == []

        run(main())


def test_a_connection_ends_when_the_certificate_of_its_peer_does(
    member: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    def soon(certificate: bytes, group: bytes) -> Verified | None:
        verified = verify(certificate, group)
        return None if verified is None else replace(verified, valid_until=time.time() + 0.05)

    monkeypatch.setattr(trust_module, "verify", soon)

    async def main() -> None:
        a, b = await two(member)
        await b.ear.until(lambda _: len(b.ear.reached) >= 2)
        await closed(a, b)

    run(main())


async def knock(address: str, data: bytes, context: ssl.SSLContext | None = None) -> bytes:
    """Connect, send, and return what comes until the other side hangs up."""
    host, _, port = address.partition(":")
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        try:
            writer.write(data)
            return await reader.read()
        except (OSError, ssl.SSLError):
            return b""
        finally:
            writer.transport.abort()


def client(identity: Identity | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if identity is not None:
        context.load_cert_chain(identity.path)
    return context


def test_a_client_without_a_certificate_is_a_stranger(member: Identities) -> None:
    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            assert await knock(a.address, b"x", client(None)) == b""
            await a.ear.until(lambda _: a.ear.refusals == [(Refusal.STRANGER, None)])
            assert not a.ear.reached

    run(main())


def test_nobody_is_trusted_but_the_group(member: Identities) -> None:
    for context in tls_module._contexts(Credentials(member("a"))):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.get_ca_certs(binary_form=True) == [member("a").group_der]
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3


def test_an_older_tls_is_refused(member: Identities) -> None:
    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            context = client(member("b"))
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await knock(a.address, b"x", context)
            await a.ear.until(lambda _: a.ear.refusals == [(Refusal.MALFORMED, None)])

    run(main())


def test_garbage_is_malformed_and_the_members_do_not_notice(member: Identities) -> None:
    async def main() -> None:
        a, b = await two(member)
        await knock(a.address, b"GET / HTTP/1.1\r\n\r\n")
        await knock(a.address, bytes(range(1, 256)))
        await a.ear.until(lambda _: a.ear.reasons() == [Refusal.MALFORMED] * 2)
        assert b.transport.send("a", b"still here")
        await a.ear.hears(b"still here")
        await closed(a, b)

    run(main())


def word(kind: int, content: bytes) -> bytes:
    return (0x80000000 | 1 + len(content)).to_bytes(4) + bytes([kind]) + content


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x7f\xff\xff\xff", Refusal.OVERSIZED),
        (b"\xff\xff\xff\xff", Refusal.OVERSIZED),
        ((LARGEST_FRAME + 1).to_bytes(4), Refusal.OVERSIZED),
        (b"\x00\x00\x00\x01x", Refusal.MALFORMED),  # a frame before hello
        (word(1, b"no hello"), Refusal.MALFORMED),
        (word(1, b"\x93\x01\xa1x\x80"), Refusal.MALFORMED),
    ],
)
def test_a_member_that_speaks_nonsense_is_refused_by_name(data: bytes, reason: Refusal, member: Identities) -> None:
    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            await knock(a.address, data, client(member("b")))
            await a.ear.until(lambda _: a.ear.refusals == [(reason, "b")])
            assert (a.ear.reached, a.ear.frames) == ([], [])

    run(main())


def test_one_that_says_no_hello_is_hung_up_on(member: Identities, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_module, "HELLO_SECONDS", 0.05)

    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            await knock(a.address, b"", client(member("b")))
            assert a.ear.reached == []

    run(main())


def test_one_that_says_nothing_at_all_is_hung_up_on(member: Identities, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_module, "PROOF_SECONDS", 0.05)

    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            assert await knock(a.address, b"") == b""

    run(main())


def test_those_who_say_nothing_give_way_to_a_member_at_once(
    member: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_module, "MAX_UNPROVED", 3)
    monkeypatch.setattr(tls_module, "PROOF_SECONDS", 10 * PATIENCE)

    async def main() -> None:
        a = Node(member("a"))
        async with running(a):
            host, _, port = a.address.partition(":")
            held = [await asyncio.open_connection(host, int(port)) for _ in range(3)]
            b = Node(member("b"), a.address)
            async with running(b):
                await a.meets("b")
                assert await held[0][0].read() == b""  # who came first, and has proved nothing since
                assert a.ear.reasons() == [Refusal.FLOOD]
            for _, writer in held:
                writer.close()

    run(main())


def test_it_ends_while_some_are_about_to_come_in(member: Identities) -> None:
    async def main() -> None:
        a = Node(member("a"))
        await a.transport.open("a", a.group, a.ear)
        host, _, port = a.address.partition(":")
        held = [await asyncio.open_connection(host, int(port)) for _ in range(10)]
        await a.transport.close()
        for reader, writer in held:
            with contextlib.suppress(ConnectionError):  # what nobody had taken yet is reset
                assert await reader.read() == b""
            writer.close()

    run(main())


def test_a_peer_that_does_not_read_costs_bounded_memory(member: Identities, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 2**20
    monkeypatch.setattr(connection_module, "LARGEST_BACKLOG", limit)

    async def main() -> None:
        a, b = await two(member)
        link = b.transport._mesh.link("a")  # type: ignore[union-attr]
        assert link is not None
        assert link._transport is not None
        link._transport.pause_reading()
        sent = 0
        while a.transport.send("b", bytes(2**16)):
            sent += 2**16
            await asyncio.sleep(0)
            assert sent < 100 * limit
        back = a.transport._mesh.link("b")  # type: ignore[union-attr]
        assert back is not None
        assert back._transport is not None
        assert back._transport.get_write_buffer_size() < 2 * limit
        link._transport.resume_reading()
        await b.ear.until(lambda _: len(b.ear.frames) == sent // 2**16)  # what was accepted comes
        assert a.transport.send("b", b"again")
        await b.ear.hears(b"again")
        await closed(a, b)

    run(main())


def test_frames_are_cut_out_of_any_chunks() -> None:
    async def main() -> None:
        got: list[bytes] = []
        stream = b"".join(len(frame).to_bytes(4) + frame for frame in (b"", b"one", b"x" * 1000, b"end"))
        for size in (1, 2, 3, 5, 7, 100, 5000):
            got.clear()
            one = connection_module.Connection(
                on_made=lambda _: None,
                on_frame=lambda _, frame: got.append(frame),
                on_word=lambda *_: None,
                on_refused=lambda *_: None,
                on_lost=lambda *_: None,
            )
            one.is_ready = True
            one._transport = Still()
            for at in range(0, len(stream), size):
                one.data_received(stream[at : at + size])
            assert got == [b"", b"one", b"x" * 1000, b"end"]

    run(main())


class Still(asyncio.Transport):
    def is_closing(self) -> bool:
        return False


@pytest.mark.filterwarnings("always::ResourceWarning")
@pytest.mark.parametrize("steps", range(8))
def test_a_connection_that_comes_while_a_member_closes_leaves_no_socket(
    steps: int, member: Identities, recwarn: pytest.WarningsRecorder
) -> None:
    async def main() -> None:
        a = Node(member("a"))
        await a.transport.open("a", a.group, a.ear)
        await asyncio.sleep(0)  # it waits for connections now
        host, _, port = a.address.rpartition(":")
        with socket.create_connection((host, int(port))):
            for _ in range(steps):
                await asyncio.sleep(0)
            await a.transport.close()

    run(main())
    gc.collect()
    assert [str(one.message) for one in recwarn if one.category is ResourceWarning] == []


@pytest.mark.filterwarnings("always::ResourceWarning")
def test_a_handshake_that_ends_while_a_member_closes_leaves_no_socket(
    member: Identities, recwarn: pytest.WarningsRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member closes between the end of a handshake and the moment in which it looks at the certificate."""
    prove = TlsTransport._prove
    closing: asyncio.Future[None]

    def closes_first(self: TlsTransport, connection: Connection) -> None:
        mesh, self._mesh = self._mesh, None  # as `close` begins
        prove(self, connection)
        self._mesh = mesh
        if not closing.done():
            closing.set_result(None)

    async def main() -> None:
        nonlocal closing
        closing = asyncio.get_running_loop().create_future()
        a = Node(member("a"))
        await a.transport.open("a", a.group, a.ear)
        b = Node(member("b"), a.address)
        with monkeypatch.context() as patch:
            patch.setattr(TlsTransport, "_prove", closes_first)
            await b.transport.open("b", b.group, b.ear)
            await asyncio.wait_for(closing, PATIENCE)
            await b.transport.close()
            await a.transport.close()

    run(main())
    gc.collect()
    assert [str(one.message) for one in recwarn if one.category is ResourceWarning] == []
