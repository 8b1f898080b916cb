"""Which senders may pass on what others observed: what a transport says of the last certificate that it has seen."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cobandit.live.auth.identity import Identity
from cobandit.live.auth.identity_seal import IdentitySeal
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.auth.seal import GroupSeal
from cobandit.live.transports import tls as tls_module
from cobandit.live.transports.base import Transport
from cobandit.live.transports.memory import Hub, MemoryTransport
from cobandit.live.transports.sealed import Sealed
from cobandit.live.transports.tls import TlsTransport
from cobandit.live.transports.udp import UdpTransport
from lab.diary import Diary

HERE = "127.0.0.1:0"
SECRET = "a secret of a group"
Build = Callable[[Identity, list[str]], Transport]


class Cast:
    """A relay, called r, and a plain member, called p."""

    def __init__(self, folder: Path) -> None:
        make_group("g", folder)
        self.relay = Identity.load(issue("r", folder, may_relay=True))
        self.plain = Identity.load(issue("p", folder))
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


def test_roles_that_are_remembered_are_bounded(them: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        r = TlsTransport(HERE, [], them.relay)
        await r.open("r", "g", Diary())
        p, ear = TlsTransport(HERE, [r.address], them.plain), Diary()
        await p.open("p", "g", ear)
        await ear.until(lambda _: "r" in ear.reached)
        assert p.may_relay("r")
        other = TlsTransport(HERE, [p.address], Identity.load(issue("o", them.folder)))
        monkeypatch.setattr(tls_module, "MOST_REMEMBERED", 1)
        await other.open("o", "g", Diary())
        await ear.until(lambda _: "o" in ear.reached)
        assert not p.may_relay("r")
        for transport in (other, p, r):
            await transport.close()

    asyncio.run(main())
