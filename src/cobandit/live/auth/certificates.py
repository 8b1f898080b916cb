"""What a certificate proves: names, times and a role, if the group has signed it. It needs the extra `keys`.

The names stand in it as a URI, `cobandit://<group>/<member>`, percent-encoded, because a common name ends at 64
characters. A role stands in the subject as an organizational unit: a role is not a name, so it has no place among the
names, and a reader that does not know the role sees the same names as before.
"""

from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from cobandit.values.extras import needed_by

with needed_by("a key"):
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

RELAY = "relay"
"""The role of a member that may pass on what others observed."""

_BAD_CERTIFICATE = (
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


@dataclass(frozen=True, slots=True)
class Verified:
    """A member's certificate that the group has signed."""

    name: str
    group: str
    valid_from: float
    valid_until: float
    public_key: EllipticCurvePublicKey
    may_relay: bool = False
    """Whether it may pass on what others observed."""


def verify(certificate_der: bytes, group_der: bytes) -> Verified | None:
    """Return what a certificate proves if this group's authority has signed it, valid at present or not."""
    try:
        certificate = x509.load_der_x509_certificate(certificate_der)
        certificate.verify_directly_issued_by(x509.load_der_x509_certificate(group_der))
        group, agent = names(certificate)
        key = certificate.public_key()
    except _BAD_CERTIFICATE:
        return None
    if agent is None or not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        return None
    begin, end = certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()
    return Verified(agent, group, begin, end, key, _has_role(certificate, RELAY))


def names(certificate: x509.Certificate) -> tuple[str, str | None]:
    """Return the names of the group and of the member (`None` in the group's own certificate).

    Raises:
        LookupError: There are none.
    """
    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError) as error:
        raise LookupError("no names") from error
    found = alternative.get_values_for_type(x509.UniformResourceIdentifier)
    scheme, _, rest = found[0].partition("://") if len(found) == 1 else ("", "", "")
    group, *agents = rest.split("/")
    if scheme != "cobandit" or not group or len(agents) > 1 or not all(agents):
        raise LookupError("no names")
    try:
        return unquote_to_bytes(group).decode(), unquote_to_bytes(agents[0]).decode() if agents else None
    except UnicodeDecodeError as error:
        raise LookupError("no names") from error


def _has_role(certificate: x509.Certificate, role: str) -> bool:
    units = certificate.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATIONAL_UNIT_NAME)
    return any(unit.value == role for unit in units)
