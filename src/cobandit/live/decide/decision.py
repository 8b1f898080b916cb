"""A decision, and the id under which it can be rewarded: now, next week, after a restart, from another process.

The id, a *token*, contains the member that decided, the number, the time and the arm. It ends in a keyed checksum that
only that member can compute. So a caller may hand it to a browser and get it back: a token that was made up or altered
is refused. This file does not know which decisions are still open.
"""

import base64
import binascii
from hashlib import blake2b
from hmac import compare_digest
from typing import Any, NamedTuple, Never

import msgspec

from cobandit.live.decide.full_names import prefix_of
from cobandit.live.decide.holdout import marked
from cobandit.values.errors import LocalError, UnknownError
from cobandit.values.tally import Arm

_CHECKSUM = 8
_PREFIX = "d1."
LONGEST_TOKEN = 2048
"""Characters. Two names of maximum length fit."""


class Signer:
    """Signs the tokens of one member."""

    __slots__ = ("key", "name")

    def __init__(self, name: str, key: bytes) -> None:
        self.name = name
        self.key = key

    def token(self, decision: "Decision") -> str:
        """Return a decision's id."""
        arm = marked(decision.arm) if decision.is_held_out else decision.arm
        arm = prefix_of((decision.bandit, decision.segment)) + arm
        return sign(Claim(self.name, decision.number, arm, decision.at), self.key)

    def __reduce__(self) -> Never:
        raise LocalError("what signs decisions stays with its member: keep the decision itself, or decision.id")


class _Signed(NamedTuple):
    """Replaces the signer of a decision that was pickled or copied. It holds the id, not the key."""

    name: str
    id: str

    def token(self, _: "Decision") -> str:
        """Return the decision's id."""
        return self.id


class Decision(NamedTuple):
    """The arm to pull, and what is needed to reward it.

    `id` is a string that you can store in a cookie, a queue or a database. `Member.update` takes either.
    """

    arm: Arm
    propensity: float | None
    """The probability of this arm, given what was known; `None` if the policy draws at random without giving it."""
    number: int
    at: float
    """When it was made, in seconds since 1970."""
    signer: Signer | _Signed
    bandit: str = ""
    segment: str = ""
    is_held_out: bool = False
    """Whether the decision belongs to the hold-out: drawn evenly over the arms on offer, and not learned from."""

    @property
    def id(self) -> str:
        """This decision's id, as a URL-safe string."""
        return self.signer.token(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy with the id instead of the key. `Member.update` accepts that too."""
        return Decision, (*self[:4], _Signed(self.signer.name, self.id), *self[5:])

    def __repr__(self) -> str:
        return f"Decision(arm={self.arm!r}, propensity={self.propensity!r}, id={self.id!r})"


class Claim(NamedTuple):
    """What a token says."""

    member: str
    number: int
    arm: Arm
    """The arm: with bandit and segment if the bandit has a name (`full_names.py`), with a mark if held out."""
    at: float


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Claim).decode


def sign(claim: Claim, key: bytes) -> str:
    """Return a claim as a token.

    >>> read(sign(Claim("edge-7", 3, "A", 12.5), b"secret"))
    Claim(member='edge-7', number=3, arm='A', at=12.5)
    """
    content = _encode(claim)
    return _PREFIX + base64.urlsafe_b64encode(content + _checksum(content, key)).decode().rstrip("=")


def read(token: str) -> Claim:
    """Return what a token says, whether or not it is genuine.

    Raises:
        UnknownError: It is not a token.
    """
    return _decoded(_content(token)[:-_CHECKSUM], token)


def is_genuine(token: str, key: bytes) -> bool:
    """Return whether a token was signed with this key."""
    content = _content(token)
    return compare_digest(content[-_CHECKSUM:], _checksum(content[:-_CHECKSUM], key))


def _checksum(content: bytes, key: bytes) -> bytes:
    return blake2b(content, key=key, digest_size=_CHECKSUM).digest()


def _content(token: str) -> bytes:
    if not isinstance(token, str) or not token.startswith(_PREFIX) or len(token) > LONGEST_TOKEN:
        raise UnknownError(f"{str(token)[:80]!r} is not the id of a decision: pass decision.id, or the decision itself")
    body = token[len(_PREFIX) :]
    try:
        content = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError) as error:
        raise UnknownError(f"{token[:80]!r} is not the id of a decision: it is damaged") from error
    if base64.urlsafe_b64encode(content).decode().rstrip("=") != body:  # the decoder skips non-letters
        raise UnknownError(f"{token[:80]!r} is not the id of a decision: it is damaged")
    return content


def _decoded(content: bytes, token: str) -> Claim:
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnknownError(f"{token[:80]!r} is not the id of a decision: it is damaged") from error
