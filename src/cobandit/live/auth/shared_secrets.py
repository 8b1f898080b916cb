"""Secrets that all members of a group share: one, or two while one replaces the other.

A member sends with the first and accepts both. So a group can change its secret without members ever refusing each
other: first all accept the new one, then all send with it, then none accepts the old one.
"""

from collections.abc import Sequence
from pathlib import Path

from cobandit.live.auth.private_files import read_private
from cobandit.values.errors import LocalError

SHORTEST_SECRET = 16
"""Bytes. With one recorded packet, an attacker can try out secrets, and finds short ones."""
MAX_SECRETS = 2

Secrets = str | bytes | Sequence[str] | Sequence[bytes]
"""A secret; or two: the one to send with, and another to accept."""


def checked_secrets(given: Secrets) -> tuple[bytes, ...]:
    """Return one or two secrets, the one to send with first.

    Raises:
        LocalError: There are none or too many, or one is too short. The message shows none of them.

    >>> checked_secrets(["a secret of a group", "the one before it"])
    (b'a secret of a group', b'the one before it')
    """
    several: Sequence[str | bytes] = (given,) if isinstance(given, str | bytes) else given
    if not 0 < len(several) <= MAX_SECRETS or not all(isinstance(one, str | bytes) for one in several):
        raise LocalError(
            f"a group has one secret, or {MAX_SECRETS} while one replaces the other, as strings; {len(several)} are "
            "given: keep the one to send with, and at most one more to accept"
        )
    try:
        secrets = tuple(one.encode() if isinstance(one, str) else one for one in several)
    except UnicodeEncodeError:
        raise LocalError("a group's secret is no text: it has half of a character, which UTF-8 cannot write") from None
    for secret in secrets:
        if len(secret) < SHORTEST_SECRET:
            raise LocalError(
                f"a group's secret needs at least {SHORTEST_SECRET} bytes, not {len(secret)}: "
                "make one with `openssl rand -hex 32`"
            )
    return secrets


def read_secrets(path: Path) -> tuple[str, ...]:
    """Return the secrets in a file, one on each line. The first is the one to send with.

    Raises:
        LocalError: The file cannot be read or used.
    """
    try:
        lines = read_private(path, "the secret").decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LocalError(f"cannot read {path}: {reason}") from error
    found = tuple(line.strip() for line in lines if line.strip())
    try:
        checked_secrets(found)
    except LocalError as error:
        raise LocalError(f"{path}: {error}") from error
    return found
