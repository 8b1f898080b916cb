"""Every transport keeps every promise, on a real network, with and without seals."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cobandit.live.auth.identity import Identity
from cobandit.live.auth.identity_seal import IdentitySeal
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.auth.seal import GroupSeal, Seal
from cobandit.live.transports.base import Transport
from cobandit.live.transports.memory import Hub, MemoryTransport
from cobandit.live.transports.mqtt import MqttTransport
from cobandit.live.transports.nats import NatsTransport
from cobandit.live.transports.sealed import Sealed
from cobandit.live.transports.tls import TlsTransport
from cobandit.live.transports.udp import UdpTransport
from cobandit.testing import check_transport, witness
from cobandit.testing.check_transport import FOREIGN_GROUP, GROUP, NAMES
from lab.servers import Server, free_port

Identities = Callable[[str], Identity]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other tests a real network may be slow."""
    monkeypatch.setattr(witness, "PATIENCE", 60.0)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    """Keys for the names of the suite: the last two are of another group."""
    folders: dict[str, Path] = {}
    for group in (GROUP, FOREIGN_GROUP):
        folders[group] = tmp_path_factory.mktemp(group)
        make_group(group, folders[group])
    made = {name: Identity.load(issue(name, folders[FOREIGN_GROUP if name in NAMES[3:] else GROUP])) for name in NAMES}
    return made.__getitem__


def addresses() -> dict[str, str]:
    return {name: f"127.0.0.1:{free_port()}" for name in NAMES}


def others(of: dict[str, str], name: str) -> list[str]:
    return [address for other, address in of.items() if other != name]


def test_tls(identity: Identities) -> None:
    at = addresses()
    asyncio.run(check_transport(lambda name: TlsTransport(at[name], others(at, name), identity(name))))


@pytest.mark.parametrize("sealed_by", ["keys", "secret"])
def test_udp(identity: Identities, sealed_by: str) -> None:
    at = addresses()

    def build(name: str) -> Transport:
        seal: Seal = GroupSeal("a secret of the group") if sealed_by == "secret" else IdentitySeal(identity(name))
        return UdpTransport(at[name], others(at, name), seal)

    asyncio.run(check_transport(build, lossy=True))


@pytest.mark.parametrize("network", ["memory", "nats", "mqtt"])
@pytest.mark.parametrize("sealed_by", ["keys", "secret"])
def test_a_sealed_transport(identity: Identities, network: str, sealed_by: str, request: pytest.FixtureRequest) -> None:
    hub = Hub()
    server: Server | None = None if network == "memory" else request.getfixturevalue(network)

    def build(name: str) -> Transport:
        inner: Transport = MemoryTransport(hub)
        if server is not None:
            inner = NatsTransport(server.url) if network == "nats" else MqttTransport(server.url)
        seal: Seal = GroupSeal("a secret of the group") if sealed_by == "secret" else IdentitySeal(identity(name))
        return Sealed(inner, seal)

    asyncio.run(check_transport(build, lossy=network == "mqtt" or sealed_by == "keys"))
