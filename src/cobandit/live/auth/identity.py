"""The proof of a member's name: its bundle. This needs the extra `keys`.

This file owns reading and checking bundles. `keys` makes them, `certificates` says what a certificate proves, and
`transports.tls` and `identity_seal` use both.
"""

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path

from cobandit.live.auth.certificates import CLOCK_SKEW, Names, names, verify
from cobandit.live.auth.private_files import read_private
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

with needed_by("a key"):
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

LARGEST_FILE = 2**20
"""Bytes. A bundle has about two thousand; a larger file is something else."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The proof of a member's name. The private key is not shown when this is printed."""

    name: str
    """The member's name, or its prefix."""
    group: str
    certificate_der: bytes = field(repr=False)
    group_der: bytes = field(repr=False)
    """The group's certificate."""
    valid_from: float
    """Seconds since 1970."""
    valid_until: float
    path: Path
    """The bundle, from which a TLS library reads the private key."""
    private_key: EllipticCurvePrivateKey = field(repr=False)
    may_relay: bool = False
    """Whether the certificate allows this member to pass on observations of others."""
    is_prefix: bool = False
    """Whether it is for every name with the prefix `name`. Members that share it can impersonate each other."""

    @classmethod
    def load(cls, path: str | Path) -> "Identity":
        """Read a bundle.

        Raises:
            LocalError: It cannot be used. The message says what to do.
        """
        path = Path(path)
        key, certificates = read(path, what="key file", remedy="cobandit keys agent")
        if len(certificates) != 2:
            raise LocalError(
                f"{path} holds {len(certificates)} certificates where a key file has two, the agent's and the group's: "
                "make a new one with `cobandit keys agent`"
            )
        own, authority = certificates
        found = names_or_blame(own, path)
        group, agent = found.group, found.member
        if agent is None:
            raise LocalError(f"{path} is for the group {group!r} itself: make a key file with `cobandit keys agent`")
        if own.public_key() != key.public_key():
            raise LocalError(
                f"the key and the certificate in {path} do not fit: make a new one with `cobandit keys agent`"
            )
        der = _der(authority)
        verified = verify(_der(own), der)
        if verified is None or names_or_blame(authority, path) != Names(group, None):
            raise LocalError(
                f"the certificate in {path} is not of the group in it: make a new one with `cobandit keys agent`"
            )
        times = verified.valid_from, verified.valid_until
        identity = cls(agent, group, _der(own), der, *times, path, key, verified.may_relay, found.is_prefix)
        identity.check_time(dt.datetime.now(dt.UTC).timestamp())
        return identity

    @property
    def names(self) -> Names:
        """The names in the certificate."""
        return Names(self.group, self.name, self.is_prefix)

    @property
    def private_bytes(self) -> bytes:
        """The private key, for deriving secrets that stay on this side."""
        return self.private_key.private_numbers().private_value.to_bytes(32)

    @property
    def made_at(self) -> float:
        """When the certificate was made, in seconds since 1970."""
        return self.valid_from + CLOCK_SKEW

    def check_time(self, now: float) -> None:
        """Raise `LocalError` unless the certificate is valid at this time."""
        if now > self.valid_until:
            raise LocalError(
                f"the certificate of {self.name!r} in {self.path} expired on {day(self.valid_until)}: make "
                "a new one with `cobandit keys agent`"
            )
        if now < self.valid_from:
            raise LocalError(
                f"the certificate of {self.name!r} in {self.path} is valid only from {day(self.valid_from)}: "
                "set this computer's clock, or wait"
            )

    def check_member(self, name: str, group: str) -> None:
        """Raise `LocalError` unless this proves that name in that group."""
        if self.group != group:
            raise LocalError(
                f"{self.path} is for the group {self.group!r}, not {group!r}: name the file that was made in its folder"
            )
        if not self.names.proves(name):
            if self.is_prefix:
                raise LocalError(f"{self.path} proves {self.names} and go on, not {name!r}: use another name or file")
            raise LocalError(f"{self.path} proves the name {self.name!r}, not {name!r}: every agent has its own file")


def read(path: Path, *, what: str, remedy: str) -> tuple[EllipticCurvePrivateKey, list[x509.Certificate]]:
    """Return the private key and the certificates in a file, or raise `LocalError` that says what to do."""
    try:
        content = read_private(path, f"the {what}", LARGEST_FILE)
    except OSError as error:
        raise LocalError(f"cannot read the {what} {path}: {error.strerror}") from error
    if b"PRIVATE KEY-----" not in content:
        raise LocalError(f"{path} holds no private key: take the whole file that `{remedy}` made")
    try:
        key = load_pem_private_key(content, password=None)
        certificates = x509.load_pem_x509_certificates(content)
    except (ValueError, TypeError) as error:
        raise LocalError(f"{path} is damaged: copy it again, or make a new one with `{remedy}`") from error
    if not (isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1)):
        raise LocalError(f"the key in {path} is not of the curve P-256: make a new one with `{remedy}`")
    return key, certificates


def names_or_blame(certificate: x509.Certificate, path: Path) -> Names:
    """Return the names in a certificate, or raise `LocalError` that says what to do."""
    try:
        return names(certificate)
    except LookupError as error:
        raise LocalError(
            f"the certificate in {path} is not of cobandit: make one with `cobandit keys agent`"
        ) from error


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def day(seconds: float) -> str:
    """Format a time for people."""
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%d}"
