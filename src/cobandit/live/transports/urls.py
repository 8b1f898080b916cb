"""From an address to a transport: `nats://`, `mqtt://`, `tls://`, `udp://`, `memory://`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cobandit.live.auth.seal import GroupSeal, Seal
from cobandit.live.transports.addresses import parse_address
from cobandit.live.transports.base import Transport
from cobandit.live.transports.memory import MemoryTransport, hub
from cobandit.live.transports.sealed import Sealed
from cobandit.values.errors import LocalError
from cobandit.values.masking import masked

if TYPE_CHECKING:
    from cobandit.live.auth.identity import Identity

SCHEMES = ("memory", "tls", "nats", "mqtt", "mqtts", "udp")


def transport_for(
    url: str, *, peers: Sequence[str] = (), keys: str | Path | None = None, secret: str | None = None
) -> Transport:
    """Return the transport for an address.

    Args:
        url: `memory://name` (members of one process), `tls://host:port` and `udp://host:port` (listen there, no server
            needed), `nats://host:port`, `mqtt://host:port` or `mqtts://host:port` (through a server).
        peers: For `tls` and `udp`: addresses of some other members, `host:port`. One that runs is enough.
        keys: The member's key file, made by `cobandit keys agent`. Needed for `tls`; proves identities on the others.
        secret: Instead of keys, for `nats`, `mqtt` and `udp`: a secret that all members share. It proves that a packet
            is from a member, not from which.
    """
    scheme = urlsplit(url).scheme if isinstance(url, str) else ""
    if scheme not in SCHEMES:
        shown = masked(url) if isinstance(url, str) else url
        raise LocalError(f"{shown!r} is not an address: it must begin with {', '.join(f'{s}://' for s in SCHEMES)}")
    if keys is not None and secret is not None:
        raise LocalError("give keys or a secret, not both")
    _check_peers(peers)
    if peers and scheme not in ("tls", "udp"):
        raise LocalError(f"{scheme}:// finds the other members by itself: peers are for tls:// and udp://")
    if scheme == "memory":
        if keys is not None or secret is not None:
            raise LocalError("memory:// stays in this process: it needs no keys and no secret")
        return MemoryTransport(hub(url.removeprefix("memory://")))
    address = _address(url, scheme)
    if scheme == "tls":
        if keys is None:
            raise LocalError("tls:// needs keys: make them with `cobandit keys group` and `cobandit keys agent`")
        identity = _identity(keys)
        from cobandit.live.transports.tls import TlsTransport  # noqa: PLC0415  # each network loads only what it needs

        return TlsTransport(address, [_bare(peer) for peer in peers], identity)
    if scheme == "udp":
        from cobandit.live.transports.udp import UdpTransport  # noqa: PLC0415

        seal = _seal(keys, secret)
        if seal is None:
            raise LocalError("udp:// needs keys or a secret: anybody can send a datagram")
        return UdpTransport(address, [_bare(peer) for peer in peers], seal)
    if scheme == "nats":
        from cobandit.live.transports.nats import NatsTransport  # noqa: PLC0415

        return _sealed(NatsTransport(url), keys, secret)
    from cobandit.live.transports.mqtt import MqttTransport  # noqa: PLC0415

    return _sealed(MqttTransport(url), keys, secret)


def unproved(url: str | Transport, *, keys: object, secret: object) -> str | None:
    """Return in words what is wrong with members that talk through a server and prove nothing; `None` if they do."""
    scheme = urlsplit(url).scheme if isinstance(url, str) else ""
    if scheme not in ("nats", "mqtt", "mqtts") or keys is not None or secret is not None:
        return None
    return (
        "it talks through a server without keys and without a secret: whoever can publish there can make up "
        "observations and turn the kill switch. Give it keys (`cobandit keys`) or a secret"
    )


def guest_transport_for(
    url: str, *, peers: Sequence[str] = (), keys: str | Path | None = None, secret: str | None = None
) -> Transport:
    """Return a transport for an asker that is no member.

    Args:
        url: As members have it; for `tls` and `udp` it is the address of any one member.
        peers: Addresses of further members, in case that one does not run.
        keys: As for `transport_for`; the guest's own file.
        secret: As for `transport_for`.
    """
    scheme = urlsplit(url).scheme if isinstance(url, str) else ""
    if scheme not in ("tls", "udp"):
        return transport_for(url, peers=peers, keys=keys, secret=secret)
    _check_peers(peers)
    here = parse_address(_address(url, scheme), what=f"the address after {scheme}://")
    dialled = [*([] if here.is_wildcard or not here.port else [str(here)]), *(_bare(peer) for peer in peers)]
    if not dialled:
        raise LocalError(f"{masked(url)} is nobody's address: name a member's, such as {scheme}://10.0.0.1:7000")
    if scheme == "udp":  # answers come as datagrams, so even a guest listens
        everywhere = "[::]:0" if ":" in parse_address(dialled[0]).host else "0.0.0.0:0"
        return transport_for(f"udp://{everywhere}", peers=dialled, keys=keys, secret=secret)
    if keys is None or secret is not None:
        raise LocalError("tls:// needs keys: make a file for yourself with `cobandit keys agent`, as for a member")
    identity = _identity(keys)
    from cobandit.live.transports.tls import TlsTransport  # noqa: PLC0415

    return TlsTransport(None, dialled, identity)


def _check_peers(peers: Sequence[str]) -> None:
    if isinstance(peers, str):  # which is a sequence of strings too, each one letter
        raise LocalError(f"peers must be a list of addresses, such as [{peers!r}], not {peers!r}")


def _seal(keys: str | Path | None, secret: str | None) -> Seal | None:
    if secret is not None:
        return GroupSeal(secret)
    if keys is None:
        return None
    from cobandit.live.auth.identity_seal import IdentitySeal  # noqa: PLC0415

    return IdentitySeal(_identity(keys))


def _identity(keys: str | Path) -> "Identity":
    from cobandit.live.auth.identity import Identity  # noqa: PLC0415

    return Identity.load(keys)


def _sealed(transport: Transport, keys: str | Path | None, secret: str | None) -> Transport:
    seal = _seal(keys, secret)
    return transport if seal is None else Sealed(transport, seal)


def _address(url: str, scheme: str) -> str:
    return url.removeprefix(f"{scheme}://").rstrip("/")


def _bare(peer: str) -> str:
    return peer.split("://", 1)[-1].rstrip("/")
