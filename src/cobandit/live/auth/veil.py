"""Something short that only its receiver can read, in a packet that others can: the standard library has no cipher.

A keyed BLAKE2b is a function that nobody without the key can tell from chance. It makes a code of the secret and of
what that is about; of the code, with another use of the key, it makes as many bytes as the secret has, which are added
to the secret. This is the idea of RFC 5297 (SIV). So nothing must be unique: the same secret about the same thing gives
the same bytes, and anything else gives others. The code shows whether a key is the right one and nothing was changed.

This file owns the construction. Which key two members have in common is for their seals.
"""

from hashlib import blake2b
from hmac import compare_digest

CODE_SIZE = 16

LONGEST = 64
"""Bytes of a secret."""


def veiled(key: bytes, about: bytes, secret: bytes) -> bytes:
    """Return a secret as it may be sent.

    >>> unveiled(bytes(32), b"a to b", veiled(bytes(32), b"a to b", b"a key"))
    b'a key'
    """
    assert len(secret) <= LONGEST
    code = _code(key, about, secret)
    return code + _added(key, code, secret)


def unveiled(key: bytes, about: bytes, said: bytes) -> bytes | None:
    """Return the secret; `None` if it was not made with this key, about this, or was changed."""
    code, rest = said[:CODE_SIZE], said[CODE_SIZE:]
    if len(rest) > LONGEST:
        return None
    secret = _added(key, code, rest)
    return secret if compare_digest(_code(key, about, secret), code) else None


def _code(key: bytes, about: bytes, secret: bytes) -> bytes:
    text = len(about).to_bytes(8) + about + secret
    return blake2b(text, digest_size=CODE_SIZE, key=key, person=b"cobandit veil").digest()


def _added(key: bytes, code: bytes, text: bytes) -> bytes:
    stream = blake2b(code, digest_size=LONGEST, key=key, person=b"cobandit stream").digest()
    return bytes(one ^ other for one, other in zip(text, stream, strict=False))
