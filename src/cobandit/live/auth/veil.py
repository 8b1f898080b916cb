"""Something short that only its receiver can read, in a packet that others can: the standard library has no cipher.

A keyed BLAKE2b is a function that nobody without the key can tell from chance. It makes a code of the secret and of
what that is about; of the code, with another use of the key, it makes a stream of bytes, and the secret is sent XOR
that stream. This is the idea of RFC 5297 (SIV), where the code is called the tag. So nothing must be unique: the same
secret about the same thing gives the same bytes, and anything else gives others. The code shows whether a key is the
right one and nothing was changed.

This file owns the construction. Which key two members have in common is for their seals.
"""

from hashlib import blake2b
from hmac import compare_digest

CODE_SIZE = 16
"""Bytes of a code, the tag of SIV."""

LONGEST = 64
"""Bytes of a secret."""


def veiled(key: bytes, about: bytes, secret: bytes) -> bytes:
    """Return a secret as it may be sent: its code, and the secret XOR a stream that the code gives.

    Raises:
        ValueError: The secret is longer than a stream.

    >>> unveiled(bytes(32), b"a to b", veiled(bytes(32), b"a to b", b"a key"))
    b'a key'
    """
    if len(secret) > LONGEST:
        raise ValueError(f"a secret has at most {LONGEST} bytes, not {len(secret)}")
    code = _code(key, about, secret)
    return code + _xored(key, code, secret)


def unveiled(key: bytes, about: bytes, said: bytes) -> bytes | None:
    """Return the secret; `None` if it was not made with this key, about this, or was changed."""
    code, rest = said[:CODE_SIZE], said[CODE_SIZE:]
    if len(rest) > LONGEST:
        return None
    secret = _xored(key, code, rest)
    return secret if compare_digest(_code(key, about, secret), code) else None


def _code(key: bytes, about: bytes, secret: bytes) -> bytes:
    text = len(about).to_bytes(8) + about + secret
    return blake2b(text, digest_size=CODE_SIZE, key=key, person=b"cobandit veil").digest()


def _xored(key: bytes, code: bytes, text: bytes) -> bytes:
    stream = blake2b(code, digest_size=LONGEST, key=key, person=b"cobandit stream").digest()
    return bytes(one ^ other for one, other in zip(text, stream[: len(text)], strict=True))
