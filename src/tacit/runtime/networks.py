"""From an address to a transport: `nats://`, `mqtt://`, `tls://`, `udp://`, `memory://`."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tacit.errors import LocalError
from tacit.runtime.transports.base import Transport
from tacit.runtime.transports.memory import MemoryTransport, hub

SCHEMES = ("memory", "tls", "nats", "mqtt", "mqtts", "udp")


def transport_for(
    url: str, *, peers: Sequence[str] = (), keys: str | Path | None = None, secret: str | None = None
) -> Transport:
    """Return the transport for an address.

    Args:
        url: `memory://name` (members of one process), `tls://host:port` and `udp://host:port` (listen there, no server
            needed), `nats://host:port`, `mqtt://host:port` or `mqtts://host:port` (through a server).
        peers: For `tls` and `udp`: addresses of some other members, `host:port`. One that runs is enough.
        keys: The member's key file, made by `tacit keys agent`. Needed for `tls`; proves identities on the others.
        secret: Instead of keys, for `nats`, `mqtt` and `udp`: a secret that all members share. It proves that a packet is
            from a member, not from which.
    """
    scheme = urlsplit(url).scheme if isinstance(url, str) else ""
    if scheme not in SCHEMES:
        raise LocalError(f"{url!r} is not an address: it must begin with {', '.join(f'{s}://' for s in SCHEMES)}")
    if keys is not None and secret is not None:
        raise LocalError("give keys or a secret, not both")
    if peers and scheme not in ("tls", "udp"):
        raise LocalError(f"{scheme}:// finds the other members by itself: peers are for tls:// and udp://")
    if scheme == "memory":
        if keys is not None or secret is not None:
            raise LocalError("memory:// stays in this process: it needs no keys and no secret")
        return MemoryTransport(hub(url.removeprefix("memory://")))
    address = _address(url, scheme)
    if scheme == "tls":
        from tacit.runtime.keys import Identity  # noqa: PLC0415  # each network loads only what it needs
        from tacit.runtime.transports.tls import TlsTransport  # noqa: PLC0415

        if keys is None:
            raise LocalError("tls:// needs keys: make them with `tacit keys group` and `tacit keys agent`")
        return TlsTransport(address, [_bare(peer) for peer in peers], Identity.load(keys))
    if scheme == "udp":
        from tacit.runtime.transports.udp import UdpTransport  # noqa: PLC0415

        seal = _seal(keys, secret)
        if seal is None:
            raise LocalError("udp:// needs keys or a secret: anybody can send a datagram")
        return UdpTransport(address, [_bare(peer) for peer in peers], seal)
    if scheme == "nats":
        from tacit.runtime.transports.nats import NatsTransport  # noqa: PLC0415

        return _sealed(NatsTransport(url), keys, secret)
    from tacit.runtime.transports.mqtt import MqttTransport  # noqa: PLC0415

    return _sealed(MqttTransport(url), keys, secret)


def _seal(keys: str | Path | None, secret: str | None):  # noqa: ANN202
    if keys is None and secret is None:
        return None
    from tacit.runtime.seal import GroupSeal, IdentitySeal  # noqa: PLC0415

    if secret is not None:
        return GroupSeal(secret)
    from tacit.runtime.keys import Identity  # noqa: PLC0415

    assert keys is not None
    return IdentitySeal(Identity.load(keys))


def _sealed(transport: Transport, keys: str | Path | None, secret: str | None) -> Transport:
    seal = _seal(keys, secret)
    if seal is None:
        return transport
    from tacit.runtime.seal import Sealed  # noqa: PLC0415

    return Sealed(transport, seal)


def _address(url: str, scheme: str) -> str:
    return url.removeprefix(f"{scheme}://").rstrip("/")


def _bare(peer: str) -> str:
    return peer.split("://", 1)[-1].rstrip("/")
