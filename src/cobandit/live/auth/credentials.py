"""What a member presents and which certificates it believes at present: its identity and its trust, reread on change.

This file owns the rules for adopting a new file while a member runs. If a file is wrong in any way, the last good
content stays in use. It does not know packets and connections: `identity_seal` and `transports.tls` ask it about
certificates.
"""

from pathlib import Path

from cobandit.live.auth.certificates import Verified
from cobandit.live.auth.identity import Identity, day
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.trust import Trust, read_trust
from cobandit.live.auth.watched import Reread, Watched
from cobandit.values.errors import LocalError


class Credentials:
    """A member's identity and its trust.

    Args:
        identity: What proves this member's name.
        trust: The group's trust file. Without it, the authority that signed the identity counts, and nothing is
            revoked.

    Raises:
        LocalError: The trust file cannot be used, or does not trust the authority of the identity.
    """

    def __init__(self, identity: Identity, trust: str | Path | None = None) -> None:
        self.identity = identity
        self.trust = Trust(identity.group, 0, (identity.group_der,))
        self.name: str | None = None
        """The member's name, set by `begin`."""
        self._bundle = Watched(identity.path)
        self._trust_file = None if trust is None else Watched(Path(trust))
        if self._trust_file is not None and self._trust_file.is_due:
            self.trust = read_trust(self._trust_file.path, identity.group, (identity.group_der,))
            self._trust_file.use()
        if identity.group_der not in self.trust.authorities:
            raise LocalError(self._is_outdated())

    def begin(self, name: str, group: str, now: float) -> None:
        """Start to work for this member.

        Raises:
            LocalError: The certificate is not for this member, not valid now, or revoked.
        """
        self.identity.check_member(name, group)
        self.identity.check_time(now)
        self.name = name
        wrong = self._standing()
        if wrong is not None:
            raise LocalError(wrong)

    def verify(self, certificate_der: bytes) -> Verified | None:
        """Return what a certificate proves if the group signed it. `refusal` says whether to believe it."""
        return self.trust.verify(certificate_der)

    def refusal(self, verified: Verified, name: str | None) -> Refusal | None:
        """Return why a certificate is not accepted as proof of this name; `None` if it is.

        Args:
            verified: The certificate's content.
            name: The name; `None` if its owner has not given one yet.
        """
        if verified.names.group != self.identity.group:
            return Refusal.FOREIGN_GROUP
        if verified.authority not in self.trust.authorities or not (name is None or verified.names.proves(name)):
            return Refusal.STRANGER
        if name is not None and self.trust.is_revoked(name, verified.made_at):
            return Refusal.REVOKED
        return None

    def refresh(self) -> Reread:
        """Read changed files again, and return the result."""
        before, changes, troubles = self.identity, [], []
        for reread in (self._reread_trust, self._reread_identity):
            try:
                change = reread()
            except LocalError as error:
                troubles.append(str(error))
            else:
                changes += [] if change is None else [change]
        standing = self._standing()
        troubles += [] if standing is None else [standing]
        return Reread(tuple(changes), tuple(troubles), is_renewed=self.identity is not before)

    def is_being_replaced(self) -> str | None:
        """Return what to do if the identity is from the older of two authorities, which others may soon distrust."""
        if len(self.trust.authorities) < 2 or self.identity.group_der == self.trust.authorities[0]:
            return None
        return (
            f"the certificate in {self.identity.path} is of the authority that was replaced (`cobandit keys rotate`), "
            "and others no longer trust that once it is finished: make a new one with `cobandit keys agent`"
        )

    def _reread_trust(self) -> str | None:
        file = self._trust_file
        if file is None or not file.is_due:
            return None
        found = read_trust(file.path, self.identity.group, {self.identity.group_der, *self.trust.authorities})
        if found != self.trust and found.number <= self.trust.number:
            raise LocalError(
                f"the trust file {file.path} has the number {found.number}, and number {self.trust.number} is in use "
                "here: copy the latest one from the group's folder"
            )
        file.use()
        if found == self.trust:
            return None
        self.trust = found
        return f"goes by number {found.number} of the group's trust file, with {len(found.revoked)} revocations"

    def _reread_identity(self) -> str | None:
        if not self._bundle.is_due:
            return None
        before, found = self.identity, Identity.load(self._bundle.path)
        if self.name is not None:
            found.check_member(self.name, before.group)
        if found.may_relay != before.may_relay:
            raise LocalError(
                f"the new certificate in {found.path} says that {self.name!r} is no relay, and it runs as one: make it "
                "again with --relay, or start the member again to be no relay"
                if before.may_relay
                else f"the new certificate in {found.path} says that {self.name!r} is a relay, and it runs as none: "
                "make it again with --plain, or start the member again to be a relay"
            )
        if found.group_der not in self.trust.authorities:
            raise LocalError(
                f"the new certificate in {found.path} is of an authority that is not trusted here: first give all "
                "members the group's new trust file"
            )
        self._bundle.use()
        if found.certificate_der == before.certificate_der:
            return None
        self.identity = found
        return f"shows its new certificate, valid until {day(found.valid_until)}"

    def _standing(self) -> str | None:
        """Return why the others do not believe this member, as far as can be known here."""
        if self.identity.group_der not in self.trust.authorities:
            return self._is_outdated()
        if self.name is not None and self.trust.is_revoked(self.name, self.identity.made_at):
            return (
                f"the certificate of {self.name!r} in {self.identity.path} is revoked, and the others refuse what it "
                "says: if it may be a member, make a new one with `cobandit keys agent`"
            )
        return None

    def _is_outdated(self) -> str:
        return (
            f"the certificate in {self.identity.path} is of an authority that the group no longer trusts: make a new "
            "one with `cobandit keys agent`"
        )
