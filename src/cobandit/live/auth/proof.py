"""What a member is given to prove who it is: a key file, or a secret that all share, or nothing.

This file owns what goes together and what comes of it: an identity or a seal. Nothing of the extra `keys` is loaded
where it is not needed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cobandit.live.auth.seal import GroupSeal, Seal
from cobandit.live.auth.shared_secrets import Secrets, checked_secrets, read_secrets
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.live.auth.identity import Identity


class Proof(NamedTuple):
    """What proves who a member is."""

    keys: str | Path | None = None
    """The member's key file, made by `cobandit keys agent`."""
    trust: str | Path | None = None
    """The group's trust file, beside keys."""
    secret: Secrets | None = None
    """Instead of keys: a secret that all members share. Of two, the first is sent with, and both are accepted."""
    secret_file: str | Path | None = None
    """A file with it, or with two, a line each."""

    @property
    def is_given(self) -> bool:
        """Whether there is any."""
        return self.keys is not None or self.has_secret

    @property
    def has_secret(self) -> bool:
        """Whether there is a secret."""
        return self.secret is not None or self.secret_file is not None

    def check(self) -> None:
        """Raise `LocalError` if something does not go together."""
        if self.keys is not None and self.has_secret:
            raise LocalError("give keys or a secret, not both")
        if self.secret is not None and self.secret_file is not None:
            raise LocalError("secret and secret_file are both given: keep one of them")
        if self.trust is not None and self.keys is None:
            raise LocalError("a trust file says which keys count: give keys with it, or leave it out")

    def identity(self) -> "Identity":
        """Return what is in the key file."""
        from cobandit.live.auth.identity import Identity  # noqa: PLC0415  # needs the extra `keys`

        assert self.keys is not None
        return Identity.load(self.keys)

    def lasting_secret(self) -> bytes | None:
        """Return what only this member, or its group, knows and finds again without its state; `None` if nothing is."""
        if self.keys is not None:
            return self.identity().private_bytes
        if not self.has_secret:
            return None
        given = read_secrets(Path(self.secret_file)) if self.secret is None else self.secret  # type: ignore[arg-type]
        return checked_secrets(given)[0]

    def seal(self) -> Seal | None:
        """Return what authenticates packets; `None` if nothing is to."""
        self.check()
        if self.secret_file is not None:
            return GroupSeal(file=Path(self.secret_file))
        if self.secret is not None:
            return GroupSeal(self.secret)
        if self.keys is None:
            return None
        from cobandit.live.auth.identity_seal import IdentitySeal  # noqa: PLC0415

        return IdentitySeal(self.identity(), trust=self.trust)


NO_PROOF = Proof()
