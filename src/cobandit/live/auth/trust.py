"""The trust of a group's members: which authorities count, and which certificates no longer do.

The group's folder has it as a file, `group-trust.json`, beside its authority. The file is public, signed by every
authority in it, and the same for all members. `cobandit keys` writes it; members read it while they run. Each version
has a higher number than the previous one, so that an old one is not mistaken for the latest. A revocation is about
names: no certificate made until then proves that name, or any name with that prefix. So no list of certificates is
needed, and a later certificate is good.

This file owns the format, the signatures and those rules. It does not know where certificates are used.
"""

import base64
import binascii
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from cobandit.live.auth.certificates import BAD_CERTIFICATE, Names, Verified, names, verify
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

with needed_by("a key"):
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

TRUST = "group-trust.json"
"""The name of the file in a group's folder."""
MAX_AUTHORITIES = 2
"""The present one and, during a replacement, its predecessor."""
MAX_REVOKED = 10_000
MAX_TRUST_BYTES = 2**23

_ALGORITHM = ec.ECDSA(hashes.SHA256())
_PURPOSE = b"cobandit trust\n"
"""A prefix of the signed content, so that a signature is never valid for anything else."""
COPY_AGAIN = "copy the one from the group's folder again"
"""What to do about a trust file that cannot be used."""


class Revocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name for which older certificates no longer count."""

    name: str
    until: int
    """Seconds since 1970. Certificates made up to then are revoked."""
    is_prefix: bool = False
    """Whether it is about every name with this prefix."""


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    group: str
    number: int
    authorities: tuple[bytes, ...]
    revoked: tuple[Revocation, ...]


_read = msgspec.json.Decoder(_Content)


@dataclass(frozen=True)
class Trust:
    """Which certificates to believe."""

    group: str
    number: int
    """Increases with every change; 0 if there is no file."""
    authorities: tuple[bytes, ...]
    """Certificates, DER."""
    revoked: tuple[Revocation, ...] = ()

    def verify(self, certificate_der: bytes) -> Verified | None:
        """Return what a certificate proves if one of the authorities signed it, whether or not it is valid now."""
        for authority in self.authorities:
            verified = verify(certificate_der, authority)
            if verified is not None:
                return verified
        return None

    def is_revoked(self, name: str, made_at: float) -> bool:
        """Return whether a certificate made at this time no longer proves this name."""
        starts = ((name[:length], True) for length in range(1, len(name) + 1))
        return any(made_at <= self._until.get(key, -1) for key in ((name, False), *starts))

    @property
    def last_until(self) -> int:
        """The latest time up to which certificates were revoked; 0 if there are no revocations."""
        return max((one.until for one in self.revoked), default=0)

    @cached_property
    def _until(self) -> dict[tuple[str, bool], int]:
        """If a name is revoked twice, the later time counts, in whatever order they are written."""
        in_order = sorted(self.revoked, key=lambda one: one.until)
        return {(one.name, one.is_prefix): one.until for one in in_order}


def write_trust(trust: Trust, keys: Sequence[EllipticCurvePrivateKey]) -> bytes:
    """Return the file, signed with these keys: a line of JSON, and a line for each signature."""
    content = msgspec.json.encode(_Content(trust.group, trust.number, trust.authorities, trust.revoked))
    signatures = [base64.b64encode(key.sign(_PURPOSE + content, _ALGORITHM)) for key in keys]
    return b"\n".join((content, *signatures, b""))


def read_trust(path: Path, group: str, signers: Collection[bytes], remedy: str = COPY_AGAIN) -> Trust:
    """Return the content of the file, if one of these authorities signed it.

    Args:
        path: The file.
        group: The group that it must belong to.
        signers: Certificates of authorities that are already trusted, DER.
        remedy: What to do if the file cannot be used.

    Raises:
        LocalError: It cannot be read, is damaged or not signed. The message says what to do.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_TRUST_BYTES + 1)
    except OSError as error:
        raise LocalError(f"cannot read the trust file {path}: {error.strerror}") from error
    if len(raw) > MAX_TRUST_BYTES:
        raise LocalError(f"the trust file {path} is longer than {MAX_TRUST_BYTES:,} bytes, so it is another: {remedy}")
    first, *signatures = raw.split(b"\n", MAX_AUTHORITIES + 1)
    if not any(_has_signed(signer, first, signatures) for signer in signers):
        raise LocalError(
            f"the trust file {path} is damaged, or not signed by the authority of this member's key file: {remedy}; if "
            "the authority was replaced meanwhile, the member needs a new key file"
        )
    try:  # signed content can be wrong only if it is from a later version
        content = _read.decode(first)
        found = {names(x509.load_der_x509_certificate(authority)) for authority in content.authorities}
    except (msgspec.MsgspecError, *BAD_CERTIFICATE) as error:
        raise LocalError(f"the trust file {path} has content that this version does not understand: {error}") from error
    if len(content.authorities) > MAX_AUTHORITIES or found != {Names(group, None)} or content.group != group:
        raise LocalError(f"the trust file {path} does not name one or two authorities of {group!r}: {remedy}")
    if len(content.revoked) > MAX_REVOKED:
        raise LocalError(f"the trust file {path} has more than {MAX_REVOKED:,} revocations: {remedy}")
    return Trust(group, content.number, content.authorities, content.revoked)


def _has_signed(signer: bytes, content: bytes, signatures: Sequence[bytes]) -> bool:
    key = x509.load_der_x509_certificate(signer).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    for signature in signatures[:MAX_AUTHORITIES]:
        try:
            key.verify(base64.b64decode(signature, validate=True), _PURPOSE + content, _ALGORITHM)
        except (InvalidSignature, binascii.Error):
            continue
        return True
    return False
