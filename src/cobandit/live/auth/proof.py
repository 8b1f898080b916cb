"""What a member uses to prove who it is: a key file, or a secret that all members share, or nothing.

This file owns which options go together, and turns them into an identity or a seal. The extra `keys` is loaded only
where it is needed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cobandit.live.auth.seal import GroupSeal, Seal
from cobandit.live.auth.shared_secrets import Secrets, checked_secrets, read_secrets
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.live.auth.identity import Identity


class Proof(NamedTuple):
    """A member's options for proving who it is."""

    keys: str | Path | None = None
    """The member's key file, made by `cobandit keys agent`."""
    trust: str | Path | None = None
    """The group's trust file, beside keys."""
    secret: Secrets | None = None
    """A secret that all members share, instead of keys. Of two, the first is used to send, and both are accepted."""
    secret_file: str | Path | None = None
    """A file with it, or with two, one on each line."""

    @property
    def is_given(self) -> bool:
        """Whether any proof is given."""
        return self.keys is not None or self.has_secret

    @property
    def has_secret(self) -> bool:
        """Whether there is a secret."""
        return self.secret is not None or self.secret_file is not None

    def check(self) -> None:
        """Raise `LocalError` if options conflict."""
        if self.keys is not None and self.has_secret:
            raise LocalError("give keys or a secret, not both")
        if self.secret is not None and self.secret_file is not None:
            raise LocalError("secret and secret_file are both given: keep one of them")
        if self.trust is not None and self.keys is None:
            raise LocalError("a trust file says which keys count: give keys with it, or leave it out")

    def identity(self) -> "Identity":
        """Return the identity in the key file."""
        from cobandit.live.auth.identity import Identity  # noqa: PLC0415  # needs the extra `keys`

        assert self.keys is not None
        return Identity.load(self.keys)

    def lasting_secret(self) -> bytes | None:
        """Return a secret that this member or its group has even after losing its state; `None` if there is none."""
        if self.keys is not None:
            return self.identity().private_bytes
        if not self.has_secret:
            return None
        given = read_secrets(Path(self.secret_file)) if self.secret is None else self.secret  # type: ignore[arg-type]
        return checked_secrets(given)[0]

    def seal(self) -> Seal | None:
        """Return the seal that authenticates packets; `None` if there is no proof."""
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
