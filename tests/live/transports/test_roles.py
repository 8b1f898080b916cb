"""Which senders may pass on what others observed: what a transport says of the last certificate that it has seen."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cobandit.live.auth import identity_seal
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.identity_seal import IdentitySeal
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.seal import GroupSeal, Opened, Rejected
from cobandit.live.status.roles import Role
from cobandit.live.transports import mesh as mesh_module
from cobandit.live.transports import tls as tls_module
from cobandit.live.transports.base import Transport
from cobandit.live.transports.connection import Connection, Word
from cobandit.live.transports.memory import Hub, MemoryTransport
from cobandit.live.transports.sealed import Sealed
from cobandit.live.transports.tls import TlsTransport
from cobandit.live.transports.udp import UdpTransport
from lab.diary import Diary

HERE = "127.0.0.1:0"
SECRET = "a secret of a group"
Build = Callable[[Identity, list[str]], Transport]


class Cast:
    """A relay, called r, a plain member, called p, and pods, whose names begin with r-."""

    def __init__(self, folder: Path) -> None:
        make_group("g", folder)
        self.relay = Identity.load(issue("r", folder, may_relay=True))
        self.plain = Identity.load(issue("p", folder))
        self.pods = Identity.load(issue("r-", folder, is_prefix=True))
        self.folder = folder

    def again(self, name: str, *, may_relay: bool) -> Identity:
        """Return a new identity of a member."""
        return Identity.load(issue(name, self.folder, out=self.folder / "new" / f"{name}.pem", may_relay=may_relay))


@pytest.fixture
def them(tmp_path: Path) -> Cast:
    return Cast(tmp_path)


def proving(kind: str) -> Build:
    hub = Hub()
    builds: dict[str, Build] = {
        "tls": lambda identity, peers: TlsTransport(HERE, peers, identity),
        "udp": lambda identity, peers: UdpTransport(HERE, peers, IdentitySeal(identity)),
        "sealed": lambda identity, _: Sealed(MemoryTransport(hub), IdentitySeal(identity)),
    }
    return builds[kind]


def address(transport: Transport) -> list[str]:
    return [transport.address] if isinstance(transport, TlsTransport | UdpTransport) else []


def test_who_is_alone_depends_on_who_talks_to_whom() -> None:
    hub, made = Hub(), list[MemoryTransport]()

    async def alone(role: Role) -> bool:
        transport = MemoryTransport(hub)
        transport.role = role
        made.append(transport)
        await transport.open(f"{len(made)}", "g", Diary(transport))
        return transport.is_alone

    async def scene() -> list[bool]:
        return [await alone(role) for role in (Role.LEAF, Role.LEAF, Role.MEMBER, Role.LEAF, Role.RELAY, Role.LEAF)]

    assert asyncio.run(scene()) == [True, True, True, True, False, False]


async def hears(ear: Diary, transport: Transport, receiver: str, frame: bytes) -> None:
    """Send until it is heard: the first may meet somebody who is not known."""
    ear.frames.clear()
    while not ear.frames:
        ear.refusals.clear()
        transport.send(receiver, frame)
        await ear.until(lambda _: ear.frames or ear.refusals)
    assert {heard for heard, _ in ear.frames} == {frame}


@pytest.mark.parametrize("kind", ["tls", "udp", "sealed"])
def test_a_transport_says_of_a_proved_sender_whether_it_may_relay(kind: str, them: Cast) -> None:
    async def main() -> None:
        build = proving(kind)
        r, ears = build(them.relay, []), (Diary(), Diary())
        await r.open("r", "g", ears[0])
        p = build(them.plain, address(r))
        await p.open("p", "g", ears[1])
        assert (r.own_may_relay, p.own_may_relay) == (True, False)
        assert (r.may_relay("p"), p.may_relay("r")) == (False, False)  # nothing is proved yet
        if address(r):
            await ears[0].until(lambda _: "p" in ears[0].reached)
            await ears[1].until(lambda _: "r" in ears[1].reached)
        await hears(ears[0], p, "r", b"from p")
        await hears(ears[1], r, "p", b"from r")
        assert (r.may_relay("p"), p.may_relay("r"), p.may_relay("nobody")) == (False, True, False)
        await r.close()
        assert p.may_relay("r")  # what it said before may be looked at later
        later, ear = build(them.again("r", may_relay=False), address(p)), Diary()
        await later.open("r", "g", ear)
        if address(p):
            await ear.until(lambda _: "p" in ear.reached)
        await hears(ears[1], later, "p", b"without the role")
        assert p.may_relay("r") is False
        await later.close()
        await p.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "transport",
    [
        MemoryTransport(Hub()),
        Sealed(MemoryTransport(Hub()), GroupSeal(SECRET)),
        UdpTransport(HERE, [], GroupSeal(SECRET)),
    ],
)
def test_where_names_are_not_proved_nothing_is_said_of_a_role(transport: Transport) -> None:
    assert (transport.own_may_relay, transport.may_relay("a")) == (None, None)


def test_relays_that_are_remembered_are_bounded(them: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        p, ear = TlsTransport(HERE, [], them.plain), Diary()
        await p.open("p", "g", ear)
        monkeypatch.setattr(tls_module, "MOST_REMEMBERED", 1)
        other = Identity.load(issue("s", them.folder, may_relay=True))
        for identity, known in ((them.relay, (True, False)), (other, (False, True))):
            relay = TlsTransport(HERE, [p.address], identity)
            await relay.open(identity.name, "g", Diary())
            await ear.until(lambda _, name=identity.name: name in ear.reached)  # type: ignore[misc]
            await relay.close()
            assert (p.may_relay("r"), p.may_relay("s")) == known
        await p.close()

    asyncio.run(main())


class Obstinate(TlsTransport):
    """A transport that closes no connection because the other end asks for it."""

    def _take_word(self, connection: Connection, word: Word, content: bytes) -> None:
        if word is not Word.RETIRE:
            super()._take_word(connection, word, content)


def test_tls_gives_a_relay_s_name_to_no_pod_whose_name_begins_so(them: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_module, "RETIRING_SECONDS", 3600.0)

    async def main() -> None:
        p, ear = TlsTransport(HERE, [], them.plain), Diary()
        await p.open("p", "g", ear)
        relay = Identity.load(issue("r-1", them.folder, may_relay=True))
        # A pod that is earlier has the name until the relay comes. It does not go when it is asked to.
        pod: TlsTransport = Obstinate(None, [p.address], them.pods)
        early = Diary()
        await pod.open("r-1", "g", early)
        await early.until(lambda _: "p" in early.reached)
        assert not p.may_relay("r-1")
        r, ear_of_r = TlsTransport(HERE, [p.address], relay), Diary()
        await r.open("r-1", "g", ear_of_r)
        await ear_of_r.until(lambda _: "p" in ear_of_r.reached)
        await ear.until(lambda _: (Refusal.FORGED, "r-1") in ear.refusals)
        await ear.until(lambda _: [one.may_relay for to, one in p._proved.items() if to.peer == "r-1"] == [True])
        assert p.may_relay("r-1")
        await pod.close()
        # A later one is refused, while the relay is there and after it has gone.
        for is_there in (True, False):
            ear.refusals.clear()
            if not is_there:
                await r.close()
            pod = TlsTransport(None, [p.address], them.pods)
            await pod.open("r-1", "g", Diary())
            await ear.until(lambda _: (Refusal.FORGED, None) in ear.refusals)
            assert p.may_relay("r-1")
            await pod.close()
        await p.close()

    asyncio.run(main())


def test_a_seal_gives_a_relay_s_name_to_no_pod_whose_name_begins_so(
    them: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay, pod, other, p = (
        IdentitySeal(Identity.load(issue("r-1", them.folder, may_relay=True))),
        IdentitySeal(them.pods),
        IdentitySeal(them.pods),
        IdentitySeal(them.plain),
    )
    for seal, name in ((relay, "r-1"), (pod, "r-1"), (other, "r-2"), (p, "p")):
        seal.begin(name, "g")
    assert p.unwrap(pod.wrap(None, b"early")) == Opened("r-1", b"early")
    assert p.unwrap(relay.wrap(None, b"from the relay")) == Opened("r-1", b"from the relay")
    assert p.unwrap(pod.wrap(None, b"as the relay")) == Rejected(Refusal.FORGED, "r-1")
    # Nor does it help to push the relay out of the memory of others.
    monkeypatch.setattr(identity_seal, "MOST_PEERS", 1)
    assert p.unwrap(other.wrap(None, b"another name")) == Opened("r-2", b"another name")
    assert p.unwrap(pod.wrap(None, b"as the relay")) == Rejected(Refusal.FORGED, "r-1")
    assert p.may_relay("r-1")
