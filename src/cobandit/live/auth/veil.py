"""A short secret that only its receiver can read, in a packet that others can read. The standard library has no cipher.

A keyed BLAKE2b is indistinguishable from random for those without the key. It computes a code from the secret and its
context. From the code, with another use of the key, it computes a stream of bytes, and the secret is sent XOR that
stream. This is the idea of RFC 5297 (SIV), where the code is called the tag. So no nonce is needed: the same secret in
the same context gives the same bytes, and anything else gives others. The code shows whether the key is right and
nothing was changed.

This file owns the construction. The seals of two members determine the key that they share.
"""

from hashlib import blake2b
from hmac import compare_digest

CODE_SIZE = 16
"""Bytes of a code, the tag of SIV."""

LONGEST = 64
"""Bytes of a secret."""


def veiled(key: bytes, about: bytes, secret: bytes) -> bytes:
    """Return a secret in the form in which it is sent: its code, and the secret XOR a stream from the code.

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
    """Return the secret; `None` if the key or context differ, or it was changed."""
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
