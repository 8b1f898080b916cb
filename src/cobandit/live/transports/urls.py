"""Creates the transport for an address: `nats://`, `mqtt://`, `tls://`, `udp://`, `memory://`."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from cobandit.live.auth.proof import NO_PROOF, Proof
from cobandit.live.transports.addresses import parse_address
from cobandit.live.transports.base import Transport
from cobandit.live.transports.memory import MemoryTransport, hub
from cobandit.live.transports.sealed import Sealed
from cobandit.values.errors import LocalError
from cobandit.values.masking import masked

SCHEMES = ("memory", "tls", "nats", "mqtt", "mqtts", "udp")


DIALLED = ("tls", "udp")
"""The schemes in which members are dialled at addresses. Elsewhere they are found by name."""


def scheme_of(url: object) -> str:
    """Return what an address begins with; nothing if it is none.

    >>> scheme_of("nats://10.0.0.1:4222"), scheme_of("nats://[::1"), scheme_of(None)
    ('nats', '', '')
    """
    try:
        return urlsplit(url).scheme if isinstance(url, str) else ""
    except ValueError:  # a bracket that is not closed, say
        return ""


def transport_for(
    url: str, *, peers: Sequence[str] = (), proof: Proof = NO_PROOF, relays: Sequence[str] = ()
) -> Transport:
    """Return the transport for an address.

    Args:
        url: `memory://name` (members of one process), `tls://host:port` and `udp://host:port` (listen there, no server
            needed), `nats://host:port`, `mqtt://host:port` or `mqtts://host:port` (through a server).
        peers: For `tls` and `udp`: addresses of some other members, `host:port`. One that runs is enough.
        proof: What proves who the member is. `tls` needs keys. On `nats`, `mqtt` and `udp`, keys prove the sender of a
            packet, and a secret proves only that it was some member.
        relays: The configured places of a leaf's relays. For `tls` and `udp`, a leaf needs no address of its own: it
            dials, and is not dialled.
    """
    scheme = scheme_of(url)
    if scheme not in SCHEMES:
        shown = masked(url) if isinstance(url, str) else url
        raise LocalError(f"{shown!r} is not an address: it must begin with {', '.join(f'{s}://' for s in SCHEMES)}")
    proof.check()
    _check_peers(peers)
    if peers and relays:
        raise LocalError("peers and relays are both given: a leaf talks to its relays only, so leave out peers")
    if peers and scheme not in ("tls", "udp"):
        raise LocalError(f"{scheme}:// finds the other members by itself: peers are for tls:// and udp://")
    if scheme == "memory":
        if proof.is_given:
            raise LocalError("memory:// stays in this process: it needs no keys and no secret")
        return MemoryTransport(hub(url.removeprefix("memory://")))
    address = _address(url, scheme)
    if relays and scheme in DIALLED:
        check_relay_addresses(relays)
    if scheme == "tls":
        if proof.keys is None:
            raise LocalError("tls:// needs keys: make them with `cobandit keys group` and `cobandit keys agent`")
        identity = proof.identity()
        from cobandit.live.transports.tls import TlsTransport  # noqa: PLC0415  # each network loads only what it needs

        listen = None if relays else address
        return TlsTransport(listen, [_bare(peer) for peer in peers], identity, trust=proof.trust)
    if scheme == "udp":
        from cobandit.live.transports.udp import UdpTransport  # noqa: PLC0415

        seal = proof.seal()
        if seal is None:
            raise LocalError("udp:// needs keys or a secret: anybody can send a datagram")
        if relays and not address:  # answers come as datagrams, so even a leaf listens
            address = _everywhere(_bare(relays[0]))
        return UdpTransport(address, [_bare(peer) for peer in peers], seal)
    if scheme == "nats":
        from cobandit.live.transports.nats import NatsTransport  # noqa: PLC0415

        return _sealed(NatsTransport(url), proof)
    from cobandit.live.transports.mqtt import MqttTransport  # noqa: PLC0415

    return _sealed(MqttTransport(url), proof)


def unproved(url: str | Transport, proof: Proof) -> str | None:
    """Return in words what is wrong with using a server without proof; `None` if nothing is."""
    scheme = scheme_of(url)
    if scheme not in ("nats", "mqtt", "mqtts") or proof.is_given:
        return None
    return (
        "it talks through a server without keys and without a secret: anyone who can publish there can make up "
        "observations and turn the kill switch. Give it keys (`cobandit keys`) or a secret"
    )


def guest_transport_for(url: str, *, peers: Sequence[str] = (), proof: Proof = NO_PROOF) -> Transport:
    """Return a transport for an asker that is not a member.

    Args:
        url: The address that members use; for `tls` and `udp`, that of any one member.
        peers: Addresses of further members, in case that one does not run.
        proof: As for `transport_for`; keys are the guest's own.
    """
    scheme = scheme_of(url)
    if scheme not in ("tls", "udp"):
        return transport_for(url, peers=peers, proof=proof)
    _check_peers(peers)
    here = parse_address(_address(url, scheme), what=f"the address after {scheme}://")
    dialled = [*([] if here.is_wildcard or not here.port else [str(here)]), *(_bare(peer) for peer in peers)]
    if not dialled:
        raise LocalError(f"{masked(url)} is not a member's address: name one, such as {scheme}://10.0.0.1:7000")
    if scheme == "udp":  # answers come as datagrams, so even a guest listens
        return transport_for(f"udp://{_everywhere(dialled[0])}", peers=dialled, proof=proof)
    if proof.keys is None or proof.has_secret:
        raise LocalError("tls:// needs keys: make a file for yourself with `cobandit keys agent`, as for a member")
    identity = proof.identity()
    from cobandit.live.transports.tls import TlsTransport  # noqa: PLC0415

    return TlsTransport(None, dialled, identity, trust=proof.trust)


def check_relay_addresses(relays: Sequence[str]) -> None:
    """Refuse relays that cannot be dialled.

    Raises:
        LocalError: One is not a valid address.
    """
    for relay in relays:
        if ":" not in relay:
            raise LocalError(
                f"the relay {relay!r} is no address: for tls:// and udp:// relays are given as host:port, where host "
                "may be a name of the DNS that stands for several"
            )
        parse_address(_bare(relay), what="a relay's address")


def relay_places(url: str | Transport, relays: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the places of a leaf's relays, and whether they are names, for the transport of an address."""
    scheme = scheme_of(url)
    if scheme not in DIALLED:
        return tuple(relays), True
    return tuple(map(_bare, relays)), False


def _everywhere(dialled: str) -> str:
    """Return where to listen for answers from a dialled address."""
    return "[::]:0" if ":" in parse_address(dialled).host else "0.0.0.0:0"


def _check_peers(peers: Sequence[str]) -> None:
    if isinstance(peers, str):  # a string is itself a sequence of strings
        raise LocalError(f"peers must be a list of addresses, such as [{peers!r}], not {peers!r}")


def _sealed(transport: Transport, proof: Proof) -> Transport:
    seal = proof.seal()
    return transport if seal is None else Sealed(transport, seal)


def _address(url: str, scheme: str) -> str:
    return url.removeprefix(f"{scheme}://").rstrip("/")


def _bare(peer: str) -> str:
    return peer.split("://", 1)[-1].rstrip("/")
