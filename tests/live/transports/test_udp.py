"""Datagrams: pieces, discovery, and that nothing is believed before its seal is opened."""

import socket
from collections.abc import Callable
from typing import Any

import pytest
from tests.live.transports.test_tls import run

from cobandit.live.auth.identity import Identity
from cobandit.live.auth.identity_seal import IdentitySeal
from cobandit.live.auth.keys import issue
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.seal import GroupSeal, Seal
from cobandit.live.transports import fragments
from cobandit.live.transports import udp as udp_module
from cobandit.live.transports.fragments import MOST_UNFINISHED, REASSEMBLY_SECONDS, Reassembly, cut
from cobandit.live.transports.hearsay import MAX_UNANSWERED
from cobandit.live.transports.hello import Hello, write_hello
from cobandit.live.transports.udp import DATAGRAM, LARGEST_UDP_FRAME, UdpTransport
from cobandit.values.errors import LocalError
from lab.diary import Diary
from lab.servers import free_port

Identities = Callable[[str], Identity]
SECRET = "a secret of a group"
HERE = "127.0.0.1:0"


class Node:
    def __init__(self, name: str, *peers: str, seal: Seal | None = None, listen: str | None = None) -> None:
        self.name = name
        self.ear = Diary()
        here = listen or f"127.0.0.1:{free_port()}"  # where it can listen, stop, and listen again
        self.transport = UdpTransport(here, peers, seal or GroupSeal(SECRET))

    @property
    def address(self) -> str:
        return self.transport.address

    async def open(self) -> "Node":
        await self.transport.open(self.name, "homepage", self.ear)
        return self

    async def meets(self, *names: str) -> None:
        await self.ear.until(lambda _: set(names) <= set(self.ear.reached))


async def closed(*nodes: Node) -> None:
    for node in nodes:
        await node.transport.close()


@pytest.fixture(params=["group", "identity"])
def seal_of(request: pytest.FixtureRequest, member: Identities) -> Callable[[str], Seal]:
    if request.param == "group":
        return lambda _: GroupSeal(SECRET)
    return lambda name: IdentitySeal(member(name))


async def two(seal_of: Callable[[str], Seal]) -> tuple[Node, Node]:
    a = await Node("a", seal=seal_of("a")).open()
    b = await Node("b", a.address, seal=seal_of("b")).open()
    await a.meets("b")
    await b.meets("a")
    return a, b


def test_frames_of_any_size_arrive_in_both_directions(seal_of: Callable[[str], Seal]) -> None:
    async def main() -> None:
        a, b = await two(seal_of)
        is_proved = isinstance(a.transport._seal, IdentitySeal)
        for size in (0, 1, 500, DATAGRAM, 5000, LARGEST_UDP_FRAME):
            frame = bytes(size)
            b.ear.frames.clear()
            a.ear.frames.clear()
            assert a.transport.send("b", frame)
            await b.ear.until(lambda _, frame=frame: b.ear.frames == [(frame, "a" if is_proved else None)])  # type: ignore[misc]
            b.transport.announce(frame)
            await a.ear.until(lambda _, frame=frame: a.ear.frames == [(frame, "b" if is_proved else None)])  # type: ignore[misc]
        assert not a.transport.send("nobody", b"x")
        with pytest.raises(LocalError, match="use fewer arms"):
            a.transport.send("b", bytes(LARGEST_UDP_FRAME + 1))
        await closed(a, b)
        assert not a.transport.send("b", b"x")
        await closed(a, b)
        assert (a.ear.refusals, b.ear.refusals, a.ear.troubles) == ([], [], [])

    run(main())


def test_no_datagram_is_larger_than_networks_carry(
    seal_of: Callable[[str], Seal], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    put = UdpTransport._put

    def measured(self: UdpTransport, packet: bytes, where: tuple[Any, ...]) -> None:
        sizes.append(len(packet))
        put(self, packet, where)

    monkeypatch.setattr(UdpTransport, "_put", measured)

    async def main() -> None:
        a, b = await two(seal_of)
        a.transport.announce(bytes(20_000))
        await b.ear.hears(bytes(20_000))
        await closed(a, b)

    run(main())
    assert DATAGRAM - 10 < max(sizes) <= DATAGRAM


def test_five_members_find_each_other_from_one_address(seal_of: Callable[[str], Seal]) -> None:
    async def main() -> None:
        seed = await Node("m", seal=seal_of("m")).open()
        others = [await Node(name, seed.address, seal=seal_of(name)).open() for name in "azky"]
        nodes = [seed, *others]
        for node in nodes:
            await node.meets(*(other.name for other in nodes if other is not node))
        for node in nodes:
            node.transport.announce(node.name.encode())
        for node in nodes:
            await node.ear.hears(*(other.name.encode() for other in nodes if other is not node))
        await closed(*nodes)

    run(main())


def test_many_members_are_told_in_several_hellos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp_module, "MOST_TOLD_AT_ONCE", 1)
    monkeypatch.setattr(udp_module, "HELLO_SECONDS", 0.02)

    async def main() -> None:
        seed = await Node("m").open()
        nodes = [seed, *[await Node(name, seed.address).open() for name in "abcdef"]]
        for node in nodes:
            await node.meets(*(other.name for other in nodes if other is not node))
        await closed(*nodes)

    run(main())


def test_nobody_there_is_said_once_and_over_when_somebody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp_module, "ALONE_SECONDS", 0.05)

    async def main() -> None:
        a = await Node("a").open()
        address = a.address
        await a.transport.close()
        b = await Node("b", address).open()
        await b.ear.until(lambda _: b.ear.troubles)
        again = await Node("a", listen=address).open()
        await again.meets("b")
        await b.meets("a")
        assert b.ear.troubles == [f"nobody answers at {address}; still trying", None]
        await closed(b, again)

    run(main())


def test_one_that_is_gone_cannot_be_sent_to_and_is_met_again(
    seal_of: Callable[[str], Seal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(udp_module, "HELLO_SECONDS", 0.05)
    monkeypatch.setattr(udp_module, "GONE_SECONDS", 2.0)  # nobody is, because a computer stood still for a moment
    monkeypatch.setattr(udp_module, "ALONE_SECONDS", 0.05)

    async def main() -> None:
        a, b = await two(seal_of)
        address = a.address
        await a.transport.close()
        await b.ear.until(lambda _: b.ear.troubles)
        assert not b.transport.send("a", b"x")
        again = await Node("a", listen=address, seal=seal_of("a")).open()
        await again.meets("b")
        await b.ear.until(lambda _: b.ear.reached == ["a", "a"])
        assert b.transport.send("a", b"again")
        await again.ear.hears(b"again")
        await closed(b, again)

    run(main())


def test_one_that_restarts_at_once_is_met_again(seal_of: Callable[[str], Seal]) -> None:
    async def main() -> None:
        a, b = await two(seal_of)
        await b.transport.close()
        again = await Node("b", a.address, listen=b.address, seal=seal_of("b")).open()
        await again.meets("a")
        await a.ear.until(lambda _: a.ear.reached == ["b", "b"])
        assert a.transport.send("b", b"again")
        await again.ear.hears(b"again")
        await closed(a, again)

    run(main())


def test_a_port_that_is_taken_is_said() -> None:
    async def main() -> None:
        a = await Node("a").open()
        port = a.address.partition(":")[2]
        with pytest.raises(LocalError, match=f"^url: port {port} on 127.0.0.1 is taken"):
            await Node("b", listen=a.address).open()
        await closed(a)

    run(main())


def test_names_that_leave_no_room_in_a_datagram_are_said(member: Identities) -> None:
    name = "ü" * 100
    identity = Identity.load(issue(name, member("a").path.parent))

    async def main() -> None:
        with pytest.raises(LocalError, match="too long for datagrams"):
            await UdpTransport(HERE, [], IdentitySeal(identity)).open(name, "homepage", Diary())

    run(main())


def throw(address: str, *packets: bytes) -> None:
    host, _, port = address.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thrower:
        for packet in packets:
            thrower.sendto(packet, (host, int(port)))


def test_strangers_change_nothing(seal_of: Callable[[str], Seal]) -> None:
    async def main() -> None:
        a, b = await two(seal_of)
        foreign = GroupSeal("another secret of a group")
        foreign.begin("b", "homepage")
        hello = b.transport._hello()
        packets = [
            b"",
            b"garbage",
            bytes(DATAGRAM + 1),
            foreign.wrap("a", hello),
            foreign.wrap(None, b"\x02" + next(cut(bytes(9000), 1, 1000))),
        ]
        members = {name: one.where for name, one in a.transport._members.items()}
        throw(a.address, *packets)
        await a.ear.until(lambda _: len(a.ear.refusals) == len(packets))
        assert {name: one.where for name, one in a.transport._members.items()} == members
        assert a.transport._pieces.waiting == 0
        assert Refusal.OVERSIZED in a.ear.reasons()
        assert not a.ear.frames
        await closed(a, b)

    run(main())


def test_what_is_recorded_and_sent_again_is_a_replay(seal_of: Callable[[str], Seal]) -> None:
    async def main() -> None:
        a, b = await two(seal_of)
        recorded = b.transport._seal.wrap("a", b"\x02" + next(cut(b"once", 1, 1000)))
        throw(a.address, recorded, recorded)
        await a.ear.until(lambda _: a.ear.refusals == [(Refusal.REPLAYED, "b")])
        assert [frame for frame, _ in a.ear.frames] == [b"once"]
        await closed(a, b)

    run(main())


def test_a_member_that_speaks_nonsense_is_refused_by_name() -> None:
    async def main() -> None:
        a = await Node("a").open()
        seal = GroupSeal(SECRET)
        seal.begin("b", "homepage")
        throw(a.address, *(seal.wrap("a", payload) for payload in (b"\x01x", b"\x02x", b"\x02\0\0\0\1\0\5\0\2x")))
        await a.ear.until(lambda _: a.ear.refusals == [(Refusal.MALFORMED, "b")] * 3)
        assert a.ear.hosts == ["127.0.0.1"] * 3
        throw(a.address, seal.wrap("a", b"\x09"), seal.wrap("a", b""), seal.wrap("c", b""))  # two of a later version
        await a.ear.until(lambda _: a.ear.reasons()[3:] == [Refusal.FORGED])
        await closed(a)

    run(main())


def test_a_member_that_tells_many_addresses_or_says_something_else_each_time_costs_little() -> None:
    async def main() -> None:
        a = await Node("a").open()
        where = ("127.0.0.1", 9)
        for number in range(300):
            others = {f"m{n}": f"127.0.0.1:{1000 + 12 * number + n}" for n in range(12)}
            hello = write_hello(Hello(number, f"127.0.0.1:{50_000 + number}", others))
            a.transport._take_hello("eve", hello, where, is_call=False)
        assert len(a.transport._wanted) == MAX_UNANSWERED
        assert a.transport._members["eve"].address == "127.0.0.1:50000"
        assert a.ear.reached == ["eve"]
        for address in a.transport._hearsay.gone("eve", 0.0):
            a.transport._forget(address)
        assert a.transport._wanted == {}
        await closed(a)

    run(main())


def test_a_lost_piece_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    put = UdpTransport._put
    lost: list[bytes] = []

    def losing(self: UdpTransport, packet: bytes, where: tuple[Any, ...]) -> None:
        if len(packet) == DATAGRAM and not lost:
            lost.append(packet)
        else:
            put(self, packet, where)

    monkeypatch.setattr(UdpTransport, "_put", losing)

    async def main() -> None:
        a, b = await two(lambda _: GroupSeal(SECRET))
        a.transport.send("b", b"1" * 5000)
        a.transport.send("b", b"2" * 5000)
        await b.ear.hears(b"2" * 5000)
        assert [frame for frame, _ in b.ear.frames] == [b"2" * 5000]
        assert len(lost) == 1
        await closed(a, b)

    run(main())


def test_pieces_come_in_any_order_and_twice() -> None:
    frame = bytes(range(256)) * 40
    whole = Reassembly(len(frame), lambda: 0.0)
    pieces = list(cut(frame, 7, 1000))
    for piece in pieces[:0:-1]:
        assert whole.add("a", piece) is None
        assert whole.add("a", piece) is None
    assert whole.add("b", pieces[0]) is None  # of somebody else
    assert whole.add("a", pieces[0]) == frame
    assert whole.waiting == len(pieces[0]) - 8


def test_pieces_are_forgotten_after_a_while_and_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    whole = Reassembly(LARGEST_UDP_FRAME, lambda: clock[0])
    first = list(cut(bytes(3000), 0, 1000))
    whole.add("a", first[0])
    for number in range(1, MOST_UNFINISHED):
        whole.add("a", next(cut(bytes(3000), number, 1000)))
    assert whole.waiting == 992 * MOST_UNFINISHED
    whole.add("a", next(cut(bytes(3000), 99, 1000)))  # takes the place of the first
    assert whole.waiting == 992 * MOST_UNFINISHED
    clock[0] = REASSEMBLY_SECONDS + 1.0
    whole.add("b", first[0])
    assert whole.waiting == 992
    monkeypatch.setattr(fragments, "LARGEST_UNFINISHED", 5000)
    for sender in range(100):
        whole.add(str(sender), first[0])
    assert whole.waiting <= 5000
    assert len(whole._unfinished) == len(whole._count) == 5


def test_a_sender_of_endless_pieces_pushes_out_its_own_and_not_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "LARGEST_UNFINISHED", 5000)
    whole = Reassembly(LARGEST_UDP_FRAME, lambda: 0.0)
    first, second = cut(bytes(1500), 1, 1000)
    assert whole.add("ann", first) is None
    for number in range(10):
        assert whole.add("eve", next(cut(bytes(2000), number, 1000))) is None
    assert whole.waiting == 992 * 5
    assert whole.add("ann", second) == bytes(1500)
    assert whole.waiting == 992 * 4


def test_pieces_that_do_not_fit_each_other_are_refused() -> None:
    whole = Reassembly(2000, lambda: 0.0)
    whole.add("a", fragments.PIECE_HEADER.pack(1, 0, 3) + bytes(1500))
    with pytest.raises(ValueError, match="do not fit"):
        whole.add("a", fragments.PIECE_HEADER.pack(1, 1, 3) + bytes(1500))
    whole.add("a", fragments.PIECE_HEADER.pack(2, 0, 3) + b"x")
    with pytest.raises(ValueError, match="do not fit"):
        whole.add("a", fragments.PIECE_HEADER.pack(2, 1, 4) + b"x")
    assert whole.waiting == 0
