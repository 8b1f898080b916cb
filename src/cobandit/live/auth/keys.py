"""Makes keys: a group is a certificate authority, and a member has one file that proves its name.

This file makes those files, and does not know what they are used for. `identity` reads them, and `group_folder` owns
the rest of a group's folder. A member's bundle contains its private key, its certificate, and the certificate of the
authority that signed it. Keys are on the curve P-256: TLS 1.3 signs with them, and packets are authenticated with the
shared key of two members (ECDH).
"""

import datetime as dt
import re
from hashlib import blake2b
from pathlib import Path

from cobandit.live.auth.certificates import CLOCK_SKEW, RELAY, Names, uri
from cobandit.live.auth.group_folder import AUTHORITY, Authority, GroupFolder
from cobandit.live.auth.issued import Issued, IssuedFiles
from cobandit.live.auth.private_files import check_free, write_private
from cobandit.values.checks import check_name, check_whole
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by
from cobandit.values.tally import LONGEST_NAME

with needed_by("a key"):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

DAYS_OF_A_GROUP = 3650
DAYS_OF_AN_AGENT = 365
MOST_DAYS = 36500

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def make_group(name: str, folder: str | Path) -> Path:
    """Make a group's authority in a folder, with its trust file. Return the authority's file, which is secret.

    Raises:
        LocalError: The name is invalid, or the folder already has an authority.
    """
    check_name("the group's name", name, LONGEST_NAME)
    path = Path(folder) / AUTHORITY
    check_free(path, "it can admit members to its group; choose another folder with --out")
    _make_authority(name, path)
    GroupFolder(folder).write_trust()
    return path


def issue(
    agent: str,
    folder: str | Path,
    *,
    days: int = DAYS_OF_AN_AGENT,
    out: str | Path | None = None,
    may_relay: bool = False,
    is_prefix: bool = False,
) -> Path:
    """Make a member's bundle with the authority in a folder. Return the file, which is secret.

    Args:
        agent: The member's name.
        folder: The folder of the group's authority.
        days: How long it is valid.
        out: The file to write, if not in the folder.
        may_relay: Whether the member may pass on observations of others.
        is_prefix: Whether the bundle is for every longer name with this prefix: for members that are started alike
            under random names. Members that share it can impersonate each other, but no other member.

    Raises:
        LocalError: There is no authority, the name is invalid, or the file exists already.
    """
    check_name("the agent's name", agent, LONGEST_NAME - is_prefix)
    check_whole("days", days, 1, MOST_DAYS)
    if may_relay and is_prefix:
        raise LocalError(
            "a relay needs its own name, because others must know which relay they trust to speak for all: "
            "make its file without --prefix"
        )
    group = GroupFolder(folder)
    path = Path(out) if out is not None else group.path / file_name(agent, is_prefix=is_prefix)
    check_free(path, "remove it first if the agent shall get a new key, or name another with --out")
    made_at = group.next_time(dt.datetime.now(dt.UTC))
    key = ec.generate_private_key(ec.SECP256R1())
    of = Names(group.name, agent, is_prefix)
    own = _certificate(of, key, made_at, days=days, issuer=group.present, may_relay=may_relay)
    IssuedFiles(group.path).add(Issued(agent, is_prefix, may_relay))  # first, so that no file exists that is not listed
    write_private(path, _pem(key) + _pem(own) + _pem(group.present.certificate))
    return path


def rotate(folder: str | Path) -> Path:
    """Begin to replace a group's authority: make a new one, and trust both. Return the trust file.

    From now on the new authority signs bundles. If an earlier call was interrupted, this completes it.

    Raises:
        LocalError: The authority is being replaced already.
    """
    group = GroupFolder(folder)
    if not group.next_path.exists():
        if group.former is not None and not group.is_written:
            return group.write_trust()
        if group.former is not None:
            raise LocalError(
                f"the authority in {folder} is being replaced already: when every member has a new file, end that "
                "with `cobandit keys rotate --finish`"
            )
        _make_authority(group.name, group.next_path)
    return group.take_next()


def file_name(agent: str, *, is_prefix: bool = False) -> str:
    """Return the file name of a member's bundle: its own name where that is a valid file name.

    >>> file_name("edge-7")
    'edge-7.pem'
    >>> file_name("pod-", is_prefix=True)
    'pod-any.pem'
    >>> file_name("../etc")
    'agent-f922cd081f456e6b.pem'
    """
    name = f"{agent}any" if is_prefix else agent
    if _PLAIN_NAME.fullmatch(name) and not name.startswith("group-authority"):
        return f"{name}.pem"
    return f"agent-{blake2b(name.encode(), digest_size=8).hexdigest()}.pem"


def _make_authority(group: str, path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    certificate = _certificate(Names(group, None), key, now, days=DAYS_OF_A_GROUP, issuer=None)
    write_private(path, _pem(key) + _pem(certificate))


def _certificate(
    of: Names,
    key: EllipticCurvePrivateKey,
    made_at: dt.datetime,
    *,
    days: int,
    issuer: Authority | None,
    may_relay: bool = False,
) -> x509.Certificate:
    is_group = issuer is None
    about = [x509.NameAttribute(x509.NameOID.COMMON_NAME, f"{'a group' if is_group else 'an agent'} of cobandit")]
    if may_relay:
        about.append(x509.NameAttribute(x509.NameOID.ORGANIZATIONAL_UNIT_NAME, RELAY))
    subject = x509.Name(about)
    signing = key if issuer is None else issuer.key
    usage = dict.fromkeys(
        ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"], False
    ) | dict.fromkeys(["key_cert_sign", "crl_sign", "encipher_only", "decipher_only"], False)
    usage |= {"key_cert_sign": True} if is_group else {"digital_signature": True, "key_agreement": True}
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(made_at - dt.timedelta(seconds=CLOCK_SKEW))
        .not_valid_after(made_at + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_group, path_length=0 if is_group else None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri(of))]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
    )
    return builder.sign(signing, hashes.SHA256())


def _pem(thing: EllipticCurvePrivateKey | x509.Certificate) -> bytes:
    if isinstance(thing, x509.Certificate):
        return thing.public_bytes(Encoding.PEM)
    return thing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
