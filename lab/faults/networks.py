"""How the members of a fleet reach each other: a mesh with keys, or a broker. It starts nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cobandit.live.auth.keys import issue, make_group
from lab.servers import HOST, free_port

GROUP = "faults"


class Place(NamedTuple):
    """Where one member is."""

    url: str
    peers: tuple[str, ...] = ()
    keys: str | None = None
    inside: tuple[str, ...] = ()
    """The command that runs a program there, if it is not here."""
    relays: tuple[str, ...] = ()
    """Where the relays are, of a leaf."""
    is_relay: bool = False


def broker(url: str, names: Sequence[str]) -> dict[str, Place]:
    """Return places at a broker, which proves nothing."""
    return {name: Place(url) for name in names}


def mesh(
    scheme: str,
    names: Sequence[str],
    folder: Path,
    hosts: Mapping[str, tuple[str, tuple[str, ...]]] | None = None,
) -> dict[str, Place]:
    """Return places in a mesh without a server, with keys.

    Args:
        scheme: `tls` or `udp`.
        names: The members.
        folder: Where the keys go.
        hosts: For each member its machine's address and the command that runs a program there; this machine unless
            given.
    """
    make_group(GROUP, folder)
    addresses = {name: f"{HOST if hosts is None else hosts[name][0]}:{free_port()}" for name in names}
    return {
        name: Place(
            url=f"{scheme}://{address}",
            peers=tuple(other for other in addresses.values() if other != address)[:2],
            keys=str(issue(name, folder)),
            inside=() if hosts is None else hosts[name][1],
        )
        for name, address in addresses.items()
    }


def behind_relays(relays: Sequence[str], leaves: Sequence[str], folder: Path) -> dict[str, Place]:
    """Return places of relays that form a TLS mesh, and of leaves that dial them."""
    make_group(GROUP, folder)
    addresses = {name: f"{HOST}:{free_port()}" for name in relays}
    places = {
        name: Place(
            url=f"tls://{address}",
            peers=tuple(other for other in addresses.values() if other != address),
            keys=str(issue(name, folder, may_relay=True)),
            is_relay=True,
        )
        for name, address in addresses.items()
    }
    for name in leaves:
        places[name] = Place("tls://", keys=str(issue(name, folder)), relays=tuple(addresses.values()))
    return places
