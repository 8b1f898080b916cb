"""End-to-end authentication on untrusted networks: a seal on every packet, checked before anything else.

This file owns what a seal guarantees, and the seal of a group with a shared secret (standard library only).
`identity_seal` has the seal with which members cannot impersonate each other; `shared_secrets` reads secrets from
files; `cobandit.live.transports.sealed` puts a seal on any transport. A packet is valid for one receiver (or for all),
in one group, once. It does not contain its receiver: each receiver puts its own name into the authentication code, with
everything else. Packets are not secret. Content that only one member may read is veiled before (`veil.py`).

Limits: a receiver that has just started has no memory, so a recorded packet is accepted once more. That does no harm to
the protocol, because what its messages said was true and stays true. If a sender's clock was set back across a restart,
its packets count as replays until the clock has caught up. With a shared secret, a sender whose clock is more than an
hour ahead is not heard.
"""

import struct
import time
from abc import ABC, abstractmethod
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import NamedTuple

from cobandit.live.auth.anti_replay import ReplayWindows
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.shared_secrets import Secrets, checked_secrets, read_secrets
from cobandit.live.auth.veil import unveiled, veiled
from cobandit.live.auth.watched import Reread, Watched
from cobandit.values.errors import LocalError
from cobandit.values.tally import LONGEST_NAME

MAC_SIZE = 16

HEADER = struct.Struct(">Q8sH")
"""The sequence number, a digest of the group's name, and the length of the sender's name."""

LARGEST_CLOCK_DIFFERENCE = 3600 * 10**9
"""Nanoseconds. Packets are numbered from the sender's clock. A number further ahead of this member's clock is refused.
Otherwise, where members can impersonate each other, one such packet would turn all later ones of its sender into
replays."""

TO_ALL = 0x41
TO_ONE = 0x42
"""The first byte of a packet. Other seals use other bytes, so that their packets cannot be confused."""


class Opened(NamedTuple):
    """A packet that was accepted."""

    sender: str
    payload: bytes
    is_proved: bool = True
    """Whether no other member of the group can have sent it."""

    @property
    def proved_sender(self) -> str | None:
        """The sender, if it can be held accountable for the packet's content."""
        return self.sender if self.is_proved else None


class Rejected(NamedTuple):
    """A packet that was refused."""

    reason: Refusal
    sender: str | None = None
    """The sender's name as claimed."""
    introduce: bool = False
    """Whether it may be accepted next time if the sender hears an introduction now."""


class Seal(ABC):
    """Authenticates packets. One seal works for one member."""

    overhead: int
    """Maximum bytes by which a packet is longer than its payload; exact after `begin`."""

    valid_until: float | None = None
    """When it expires, in seconds since 1970; `None` if it never does."""

    own_may_relay: bool | None = None
    """Whether the proof of this member's name allows it to pass on observations of others; `None` if there is no
    proof."""

    @abstractmethod
    def begin(self, name: str, group: str) -> None:
        """Start to work for this member.

        Raises:
            LocalError: The seal is not for this member.
        """

    @abstractmethod
    def wrap(self, receiver: str | None, payload: bytes) -> bytes:
        """Return a packet for this member, or (`None`) for all."""

    @abstractmethod
    def unwrap(self, packet: bytes) -> Opened | Rejected:
        """Return the content of a packet, or why it is refused. Never raises."""

    def introduction(self, receiver: str) -> bytes | None:
        """Return a packet without payload that lets the receiver be understood afterwards; `None` if not needed."""
        del receiver
        return None

    def may_relay(self, sender: str) -> bool | None:
        """Return whether the last proof of this sender's name allows it to pass on observations of others.

        `None` where names are not proved. A sender that has proved nothing yet may not.
        """
        del sender
        return None

    @abstractmethod
    def veil(self, receiver: str, about: bytes, secret: bytes) -> bytes:
        """Return a short secret in a form that only this member, or at least no outsider, can read in a packet.

        Args:
            receiver: The member that can read it.
            about: The context: what it is, who sends it and who receives it.
            secret: The secret.

        Raises:
            NotNowError: The receiver is not known at present.
        """

    @abstractmethod
    def unveil(self, sender: str, about: bytes, said: bytes) -> bytes | None:
        """Return what a sender veiled for this member; `None` if it is unreadable, or the context differs."""

    def shuns(self, receiver: str) -> bool:
        """Return whether to send this member nothing, because its proof no longer counts."""
        del receiver
        return False

    @property
    def has_files(self) -> bool:
        """Whether there are files for `refresh` to check."""
        return False

    @property
    def trust_number(self) -> int | None:
        """The number of the group's trust file in use; `None` if there is none."""
        return None

    def refresh(self) -> Reread:
        """Read changed files again, and return the result."""
        return Reread()


class GroupSeal(Seal):
    """Proves that the sender of a packet knows a secret of the group. The sender's name is only claimed.

    Args:
        secret: The group's secret. Of two, the first is used to send, and both are accepted.
        file: A file with them instead, one on each line. It is read again when it changes.
    """

    def __init__(self, secret: Secrets | None = None, *, file: Path | None = None) -> None:
        self._file = None if file is None else Watched(file)
        if self._file is not None and self._file.is_due:
            secret = read_secrets(self._file.path)
            self._file.use()
        self._secrets = checked_secrets(() if secret is None else secret)
        self.overhead = 1 + MAC_SIZE + HEADER.size + 4 * LONGEST_NAME
        self._group_name = ""
        self._own = self._group = self._to_me = b""
        self._keyed: list[blake2b] = []
        """One for each secret, with the key already hashed."""
        self._veils: list[bytes] = []
        self._sequence = 0
        self._windows = ReplayWindows()

    def begin(self, name: str, group: str) -> None:
        self._own, self._group, self._group_name = name.encode(), group_digest(group), group
        self._use(self._secrets)
        self._to_me = name_with_length(name)
        self._sequence = time.time_ns()
        self.overhead = 1 + MAC_SIZE + HEADER.size + len(self._own)

    @property
    def has_files(self) -> bool:
        return self._file is not None

    def refresh(self) -> Reread:
        if self._file is None or not self._file.is_due:
            return Reread()
        try:
            found = checked_secrets(read_secrets(self._file.path))
        except LocalError as error:
            return Reread(troubles=(f"{error}; the secrets that were there before stay in use",))
        self._file.use()
        if found == self._secrets:
            return Reread()
        self._use(found)
        return Reread((f"goes by {len(found)} secrets of {self._file.path}, and sends with the first",))

    def _use(self, secrets: tuple[bytes, ...]) -> None:
        self._secrets = secrets
        self._keyed = [_keyed(secret, self._group_name) for secret in secrets]
        self._veils = [_derived(secret, self._group_name, b"cobandit veil") for secret in secrets]

    def veil(self, receiver: str, about: bytes, secret: bytes) -> bytes:
        del receiver  # every member of the group can read it
        return veiled(self._veils[0], about, secret)

    def unveil(self, sender: str, about: bytes, said: bytes) -> bytes | None:
        del sender
        found = (unveiled(key, about, said) for key in self._veils)
        return next((secret for secret in found if secret is not None), None)

    def wrap(self, receiver: str | None, payload: bytes) -> bytes:
        self._sequence += 1
        rest = HEADER.pack(self._sequence, self._group, len(self._own)) + self._own + payload
        if receiver is None:
            return b"\x41" + _mac(self._keyed[0], b"\x41", rest) + rest
        return b"\x42" + _mac(self._keyed[0], b"\x42" + name_with_length(receiver), rest) + rest

    def unwrap(self, packet: bytes) -> Opened | Rejected:  # noqa: PLR0911  # each is one reason to refuse
        begin = 1 + MAC_SIZE
        names = begin + HEADER.size
        if len(packet) < names or packet[0] not in {TO_ALL, TO_ONE}:
            return Rejected(Refusal.MALFORMED)
        sequence, group, length = HEADER.unpack_from(packet, begin)
        if group != self._group:
            return Rejected(Refusal.FOREIGN_GROUP)
        encoded = packet[names : names + length]
        sender = read_name(encoded, length)
        if sender is None:
            return Rejected(Refusal.MALFORMED)
        to = b"\x41" if packet[0] == TO_ALL else b"\x42" + self._to_me
        if not any(compare_digest(_mac(keyed, to, packet[begin:]), packet[1:begin]) for keyed in self._keyed):
            return Rejected(Refusal.FORGED, sender)
        if sequence > time.time_ns() + LARGEST_CLOCK_DIFFERENCE:
            return Rejected(Refusal.ABSURD, sender)
        if encoded == self._own or not self._windows.admit(sender, sequence):
            return Rejected(Refusal.REPLAYED, sender)
        return Opened(sender, packet[names + length :], is_proved=False)


def _keyed(secret: bytes, group: str) -> blake2b:
    return blake2b(digest_size=MAC_SIZE, key=_derived(secret, group), person=b"cobandit packet")


def _derived(secret: bytes, group: str, use: bytes = b"") -> bytes:
    hashed = blake2b(secret, digest_size=64, person=b"cobandit secret").digest()
    return blake2b(group.encode(), digest_size=32, key=hashed, person=use).digest()


def _mac(keyed: blake2b, to: bytes, rest: bytes) -> bytes:
    one = keyed.copy()
    one.update(to)
    one.update(rest)
    return one.digest()


def group_digest(group: str) -> bytes:
    """Return the digest that represents a group in packets."""
    return blake2b(group.encode(), digest_size=8, person=b"cobandit group").digest()


def name_with_length(name: str) -> bytes:
    """Return a name with its length, so that nothing after it can be taken for a part of it."""
    encoded = name.encode(errors="replace")
    return len(encoded).to_bytes(2) + encoded


def read_name(encoded: bytes, length: int) -> str | None:
    """Return a sender's name, or `None` if it is invalid."""
    if not 0 < length <= 4 * LONGEST_NAME or len(encoded) != length:
        return None
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        return None
