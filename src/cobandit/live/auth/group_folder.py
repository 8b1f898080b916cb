"""A group's folder: the authority that signs its members, its predecessor during a replacement, and the trust file.

`group-authority.pem` can admit any member, and belongs on no server. During a replacement, the former key is in
`group-authority-former.pem`. Both sign the trust file, so that members with certificates from either can read it.

This file owns those files and the operations on them. It does not know how certificates are made (`keys`).
"""

import datetime as dt
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cobandit.live.auth.certificates import CLOCK_SKEW, names
from cobandit.live.auth.identity import read
from cobandit.live.auth.private_files import replace_public
from cobandit.live.auth.trust import MAX_REVOKED, TRUST, Revocation, Trust, read_trust, write_trust
from cobandit.values.checks import check_name
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by
from cobandit.values.tally import LONGEST_NAME

with needed_by("a key"):
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding

AUTHORITY = "group-authority.pem"
FORMER = "group-authority-former.pem"
NEXT = "group-authority-next.pem"
"""Exists only while `rotate` runs, or after it was interrupted."""


class Authority(NamedTuple):
    """A key that signs members, and its certificate."""

    key: EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def der(self) -> bytes:
        """The certificate as bytes."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def made_at(self) -> float:
        """When it was made, in seconds since 1970."""
        return self.certificate.not_valid_before_utc.timestamp() + CLOCK_SKEW


class GroupFolder:
    """A group's folder.

    Raises:
        LocalError: There is no authority in it, or it cannot be used.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.trust_path = self.path / TRUST
        self.next_path = self.path / NEXT
        file = self.path / AUTHORITY
        if not file.exists():
            raise LocalError(f"there is no {file}: make the group first with `cobandit keys group NAME --out {path}`")
        self.name, self.present = _authority(file)
        self.former = _authority(self.path / FORMER)[1] if (self.path / FORMER).exists() else None

    def trust(self) -> Trust:
        """Return the trust in the folder's file, or an initial one if there is no file."""
        authorities = self._authorities()
        if not self.trust_path.exists():
            return Trust(self.name, 0, tuple(one.der for one in authorities))
        remedy = "put a copy in its place, from a member or a backup"
        return read_trust(self.trust_path, self.name, [one.der for one in authorities], remedy)

    @property
    def is_written(self) -> bool:
        """Whether the trust file names the folder's authorities. If not, a command was interrupted."""
        return self.trust_path.exists() and self.trust().authorities == tuple(one.der for one in self._authorities())

    def write_trust(self, trust: Trust | None = None) -> Path:
        """Write the trust file with these revocations, the folder's authorities, and the next number."""
        present = self.trust() if trust is None else trust
        authorities = self._authorities()
        made = replace(present, number=present.number + 1, authorities=tuple(one.der for one in authorities))
        replace_public(self.trust_path, write_trust(made, [one.key for one in authorities]))
        return self.trust_path

    def next_time(self, now: dt.datetime) -> dt.datetime:
        """Return the creation time for a certificate made now: later than everything that was revoked.

        Raises:
            LocalError: Something was revoked in the future, or the authority has expired.
        """
        if self.present.certificate.not_valid_after_utc < now:
            raise LocalError(
                f"the group in {self.path / AUTHORITY} has expired: make a new one, and new files for all its agents"
            )
        last = dt.datetime.fromtimestamp(self.trust().last_until, dt.UTC)
        if last > now + dt.timedelta(seconds=CLOCK_SKEW):
            raise LocalError(
                f"{self.trust_path} has a revocation of {last:%Y-%m-%d %H:%M} UTC, which is in the future: set this "
                "computer's clock, or wait"
            )
        return max(now, last + dt.timedelta(seconds=1))

    def revoke(self, name: str, *, is_prefix: bool = False) -> Path:
        """Revoke every certificate made for a name until now, and return the trust file.

        Args:
            name: The name that they no longer prove. A later certificate does.
            is_prefix: Whether to revoke every name with this prefix.

        Raises:
            LocalError: The name is invalid, or there are too many revocations.
        """
        check_name("the agent's name", name, LONGEST_NAME)
        trust = self.trust()
        until = max(int(time.time()), trust.last_until + 1)
        others = tuple(one for one in trust.revoked if (one.name, one.is_prefix) != (name, is_prefix))
        if len(others) >= MAX_REVOKED:
            raise LocalError(
                f"{MAX_REVOKED:,} names are revoked already: replace the authority with `cobandit keys rotate`, after "
                "which they need not be named"
            )
        return self.write_trust(replace(trust, revoked=(*others, Revocation(name, until, is_prefix))))

    def take_next(self) -> Path:
        """Make the next authority the present one, and trust both. Return the trust file.

        Each step leaves a folder on which this can be called again.
        """
        former, present = self.path / FORMER, self.path / AUTHORITY
        try:
            if not former.exists():
                os.link(present, former)
            self.next_path.replace(present)
        except OSError as error:
            raise LocalError(f"cannot replace {present}: {error.strerror}") from error
        return GroupFolder(self.path).write_trust()

    def finish(self) -> Path:
        """Trust only the present authority from now on, remove the former one, and return the trust file.

        Raises:
            LocalError: The authority is not being replaced.
        """
        if self.next_path.exists():
            raise LocalError(f"`cobandit keys rotate` was interrupted in {self.path}: call it again first")
        if self.former is None and self.is_written:
            raise LocalError(f"the authority in {self.path} is not being replaced: begin with `cobandit keys rotate`")
        trust, self.former = self.trust(), None
        try:
            (self.path / FORMER).unlink(missing_ok=True)
        except OSError as error:
            raise LocalError(f"cannot remove {self.path / FORMER}: {error.strerror}") from error
        # Revocations from before the present authority concern certificates of the former one.
        left = tuple(one for one in trust.revoked if one.until >= self.present.made_at)
        return self.write_trust(replace(trust, revoked=left))

    def _authorities(self) -> list[Authority]:
        return [self.present, *([] if self.former is None else [self.former])]


def _authority(path: Path) -> tuple[str, Authority]:
    key, certificates = read(path, what="group's file", remedy="cobandit keys group")
    try:
        found = names(certificates[0])
    except LookupError:
        found = None
    if found is None or found.member is not None or len(certificates) != 1:
        raise LocalError(f"{path} is not a group's file: make a group with `cobandit keys group NAME --out FOLDER`")
    return found.group, Authority(key, certificates[0])
