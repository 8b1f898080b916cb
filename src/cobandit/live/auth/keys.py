"""Making keys: a group is a certificate authority, and a member has one file that proves its name.

This file owns making those files and refuses to know what they are used for; `identity` reads them. A group's file
`group-authority.pem` can admit anybody and belongs on no server. A member's bundle holds its private key, its
certificate and the group's certificate. Keys are of the curve P-256: TLS 1.3 signs with them, and packets are
authenticated with what two of them have in common (ECDH).
"""

import contextlib
import datetime as dt
import os
import re
import secrets
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from cobandit.live.auth.certificates import RELAY
from cobandit.live.auth.identity import names_or_blame, read
from cobandit.values.checks import check_name, check_whole
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

with needed_by("a key"):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

LONGEST_NAME = 200
AUTHORITY = "group-authority.pem"
DAYS_OF_A_GROUP = 3650
DAYS_OF_AN_AGENT = 365
MOST_DAYS = 36500
CLOCK_SKEW = dt.timedelta(hours=1)
"""A new certificate is valid from this long ago, for computers whose clocks are behind."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def make_group(name: str, folder: str | Path) -> Path:
    """Make a group's authority in a folder; return its file, which is secret.

    Raises:
        LocalError: The name cannot be one, or the folder holds an authority already.
    """
    check_name("the group's name", name, LONGEST_NAME)
    path = Path(folder) / AUTHORITY
    _check_free(path, "it can admit members to its group; choose another folder with --out")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(name, None, key, days=DAYS_OF_A_GROUP, issuer=None)
    _write(path, _pem(key) + _pem(certificate))
    return path


def issue(
    agent: str,
    folder: str | Path,
    *,
    days: int = DAYS_OF_AN_AGENT,
    out: str | Path | None = None,
    may_relay: bool = False,
) -> Path:
    """Make a member's bundle with the authority in a folder; return the file, which is secret.

    Args:
        agent: The member's name.
        folder: Where the group's authority is.
        days: How long it is valid.
        out: The file to write, if not in the folder.
        may_relay: Whether the member may pass on what others observed.

    Raises:
        LocalError: There is no authority, the name cannot be one, or the file is there already.
    """
    check_name("the agent's name", agent, LONGEST_NAME)
    check_whole("days", days, 1, MOST_DAYS)
    authority = Path(folder) / AUTHORITY
    if not authority.exists():
        raise LocalError(
            f"there is no {authority}: make the group first with `cobandit keys group NAME --out {folder}`"
        )
    group_key, certificates = read(authority, what="group's file", remedy="cobandit keys group")
    group, none = names_or_blame(certificates[0], authority) if certificates else ("", "")
    if none is not None:
        raise LocalError(
            f"{authority} is not a group's file: make a group with `cobandit keys group NAME --out FOLDER`"
        )
    if certificates[0].not_valid_after_utc < dt.datetime.now(dt.UTC):
        raise LocalError(f"the group in {authority} has expired: make a new one, and new files for all its agents")
    path = Path(out) if out is not None else Path(folder) / file_name(agent)
    _check_free(path, "remove it first if the agent shall get a new key, or name another with --out")
    key = ec.generate_private_key(ec.SECP256R1())
    own = _certificate(group, agent, key, days=days, issuer=(certificates[0], group_key), may_relay=may_relay)
    _write(path, _pem(key) + _pem(own) + _pem(certificates[0]))
    return path


def file_name(agent: str) -> str:
    """Return the name of a member's bundle: its own name where a file may be called so.

    >>> file_name("edge-7")
    'edge-7.pem'
    >>> file_name("../etc")
    'agent-f922cd081f456e6b.pem'
    """
    if _PLAIN_NAME.fullmatch(agent) and f"{agent}.pem" != AUTHORITY:
        return f"{agent}.pem"
    return f"agent-{blake2b(agent.encode(), digest_size=8).hexdigest()}.pem"


def _certificate(
    group: str,
    agent: str | None,
    key: EllipticCurvePrivateKey,
    *,
    days: int,
    issuer: tuple[x509.Certificate, EllipticCurvePrivateKey] | None,
    may_relay: bool = False,
) -> x509.Certificate:
    is_group = issuer is None
    about = [x509.NameAttribute(x509.NameOID.COMMON_NAME, f"{'a group' if is_group else 'an agent'} of cobandit")]
    if may_relay:
        about.append(x509.NameAttribute(x509.NameOID.ORGANIZATIONAL_UNIT_NAME, RELAY))
    subject = x509.Name(about)
    signing = key if issuer is None else issuer[1]
    uri = f"cobandit://{quote(group, safe='')}" + ("" if agent is None else f"/{quote(agent, safe='')}")
    now = dt.datetime.now(dt.UTC)
    usage = dict.fromkeys(
        ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"], False
    ) | dict.fromkeys(["key_cert_sign", "crl_sign", "encipher_only", "decipher_only"], False)
    usage |= {"key_cert_sign": True} if is_group else {"digital_signature": True, "key_agreement": True}
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer[0].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_group, path_length=0 if is_group else None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
    )
    return builder.sign(signing, hashes.SHA256())


def _check_free(path: Path, remedy: str) -> None:
    if path.exists():
        raise LocalError(f"{path} is there already: {remedy}")


def _write(path: Path, content: bytes) -> None:
    """Write a secret so that nobody else can ever read it, sees half of it, or loses an earlier one."""
    draft = path.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename, this fails if the file was made meanwhile
    except FileExistsError as error:
        raise LocalError(f"{path} is there already: remove it first, or name another with --out") from error
    except OSError as error:
        raise LocalError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _pem(thing: EllipticCurvePrivateKey | x509.Certificate) -> bytes:
    if isinstance(thing, x509.Certificate):
        return thing.public_bytes(Encoding.PEM)
    return thing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
