"""What a certificate proves: names, times and a role, if the group signed it. This needs the extra `keys`.

The names are in a URI, `cobandit://<group>/<member>`, percent-encoded, because a common name ends at 64 characters. A
star at the end, which no encoded name has, means that the certificate proves every name with that prefix. A role is an
organizational unit in the subject. It is not among the names, because it is not one, and so readers that do not know
the role see the same names as before. `trust.py` decides whose certificates count.
"""

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from cobandit.values.extras import needed_by

with needed_by("a key"):
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

RELAY = "relay"
"""The role of a member that may pass on observations of others."""

CLOCK_SKEW = 3600
"""Seconds. A new certificate is valid from this long ago, for computers whose clocks are behind."""

BAD_CERTIFICATE = (
    ValueError,
    TypeError,
    LookupError,
    InvalidSignature,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
    UserWarning,  # where warnings are errors: the library warns of certificates that break the rules
)
"""What reading something that is not a certificate may raise."""


class Names(NamedTuple):
    """The names in a certificate."""

    group: str
    member: str | None
    """`None` in the group's own certificate."""
    is_prefix: bool = False
    """Whether the member's name only has this prefix."""

    def proves(self, name: str) -> bool:
        """Return whether a member may have this name.

        >>> [Names("g", "pod-", is_prefix=True).proves(name) for name in ("pod-x7f3", "pod-", "web-1")]
        [True, False, False]
        >>> [Names("g", "web-1").proves(name) for name in ("web-1", "web-12")]
        [True, False]
        """
        if self.member is None:
            return False
        return name.startswith(self.member) and (name != self.member) == self.is_prefix

    def __str__(self) -> str:
        """Format the names for people."""
        return f"names that begin with {self.member!r}" if self.is_prefix else repr(self.member)


@dataclass(frozen=True, slots=True)
class Verified:
    """A member's certificate that the group signed."""

    names: Names
    valid_from: float
    valid_until: float
    public_key: EllipticCurvePublicKey
    authority: bytes
    """The certificate of the authority that signed it, DER."""
    may_relay: bool = False
    """Whether the member may pass on observations of others."""

    @property
    def made_at(self) -> float:
        """When it was made, in whole seconds since 1970."""
        return self.valid_from + CLOCK_SKEW


def verify(certificate_der: bytes, group_der: bytes) -> Verified | None:
    """Return what a certificate proves if this group's authority signed it, whether or not it is valid now."""
    try:
        certificate = x509.load_der_x509_certificate(certificate_der)
        certificate.verify_directly_issued_by(x509.load_der_x509_certificate(group_der))
        found = names(certificate)
        key = certificate.public_key()
    except BAD_CERTIFICATE:
        return None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        return None
    may_relay = _has_role(certificate, RELAY)
    if found.member is None or (found.is_prefix and may_relay):  # a relay needs a name of its own
        return None
    begin, end = certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()
    return Verified(found, begin, end, key, group_der, may_relay)


def uri(of: Names) -> str:
    """Return the names as they are written in a certificate.

    >>> uri(Names("home page", "pod-", is_prefix=True))
    'cobandit://home%20page/pod-*'
    """
    member = "" if of.member is None else f"/{quote(of.member, safe='')}"
    return f"cobandit://{quote(of.group, safe='')}{member}{'*' if of.is_prefix else ''}"


def names(certificate: x509.Certificate) -> Names:
    """Return the names in a certificate.

    Raises:
        LookupError: It contains none.
    """
    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError) as error:
        raise LookupError("no names") from error
    found = alternative.get_values_for_type(x509.UniformResourceIdentifier)
    scheme, _, rest = found[0].partition("://") if len(found) == 1 else ("", "", "")
    group, *members = rest.split("/")
    is_prefix = bool(members) and members[-1].endswith("*")
    members = [member.removesuffix("*") for member in members]
    if scheme != "cobandit" or not group or len(members) > 1 or not all(members) or "*" in "".join((group, *members)):
        raise LookupError("no names")
    try:
        group, *members = (unquote_to_bytes(part).decode() for part in (group, *members))
    except UnicodeDecodeError as error:
        raise LookupError("no names") from error
    return Names(group, members[0] if members else None, is_prefix)


def _has_role(certificate: x509.Certificate, role: str) -> bool:
    units = certificate.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATIONAL_UNIT_NAME)
    return any(unit.value == role for unit in units)
