"""The seal with which every member proves its own name, and cannot impersonate another. This needs the extra `keys`.

Announcements are signed, and carry the certificate. Packets for one member carry a code under a key that only the two
members can compute (ECDH on the keys in their certificates, then HKDF). That is a hundred times cheaper than a
signature. Such a packet is signed as well, but only if the receiver's certificate is not known yet. So a member that
receives a signed packet for itself alone learns that the sender does not know it. From then on it attaches its
certificate, until a packet with a code shows that it is known.

A certificate for a prefix proves every name with that prefix. Members that share one have the same shared key with any
other member. So they can impersonate each other, but no other member. They cannot impersonate a relay whose name has
that prefix either: its own certificate takes precedence while it is known, and relays are the last to be forgotten.

A member's own certificate may be replaced while it runs. Until another member has seen the new one, its packets are
still opened with the previous key. This file owns those packets, and which members are known. It does not know their
content.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path

from cobandit.live.auth.anti_replay import ReplayWindows
from cobandit.live.auth.certificates import Verified
from cobandit.live.auth.credentials import Credentials
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.seal import (
    HEADER,
    MAC_SIZE,
    Opened,
    Rejected,
    Seal,
    group_digest,
    name_with_length,
    read_name,
)
from cobandit.live.auth.veil import unveiled, veiled
from cobandit.live.auth.watched import Reread
from cobandit.values.errors import NotNowError
from cobandit.values.extras import needed_by
from cobandit.values.tally import LONGEST_NAME

with needed_by("a key"):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MOST_PEERS = 4096
"""How many members' certificates are remembered. Beyond that, the one that was silent longest must present its own
again."""
INTRODUCTIONS_A_SECOND = 20
"""Answers to unknown senders. With more, a stranger could keep this member busy with signing."""
SIGNATURE_SIZE = 64

TO_ALL = b"\x51"
TO_ONE_SIGNED = b"\x52"
TO_ONE_WITH_CERTIFICATE = b"\x53"
TO_ONE = b"\x54"

_SIGNED = (TO_ALL, TO_ONE_SIGNED)
_CERTIFIED = (TO_ALL, TO_ONE_SIGNED, TO_ONE_WITH_CERTIFICATE)
_ALGORITHM = ec.ECDSA(hashes.SHA256())


class _Peer:
    """A member whose certificate is known."""

    __slots__ = ("_keyed", "_keys", "_own_name", "certificate", "knows_me", "name", "verified")

    def __init__(self, name: str, certificate: bytes, verified: Verified) -> None:
        self.name, self.certificate, self.verified = name, certificate, verified
        self.knows_me = False
        """Whether it knows the present certificate of this member."""
        self._own_name = ""
        self._keys: tuple[EllipticCurvePrivateKey, ...] = ()
        self._keyed: dict[int, blake2b] = {}

    def agree(self, own_name: str, keys: Sequence[EllipticCurvePrivateKey]) -> None:
        """Prepare a shared key for each of this member's keys. It is computed when it is first needed.

        So a member with a new key does not stall while it computes shared keys with a thousand others.
        """
        self.knows_me = False
        self._own_name, self._keys = own_name, tuple(keys)
        self._keyed.clear()

    @property
    def keys(self) -> range:
        """The numbers of this member's keys, the present one first."""
        return range(len(self._keys))

    def mac(self, to: bytes, rest: bytes, key: int = 0) -> bytes:
        keyed = self._keyed.get(key)
        if keyed is None:
            keyed = self._keyed[key] = self._computed(self._keys[key])
        keyed = keyed.copy()
        keyed.update(to)
        keyed.update(rest)
        return keyed.digest()

    def _computed(self, own: EllipticCurvePrivateKey) -> blake2b:
        return blake2b(digest_size=MAC_SIZE, key=self._derived(own, b"cobandit pair"), person=b"cobandit packet")

    def veil_keys(self) -> Iterator[bytes]:
        """Yield the shared keys for veils, for each of this member's keys, the present one first."""
        return (self._derived(own, b"cobandit veil") for own in self._keys)

    def _derived(self, own: EllipticCurvePrivateKey, use: bytes) -> bytes:
        between = b"".join(sorted((name_with_length(self.name), name_with_length(self._own_name))))
        common = own.exchange(ec.ECDH(), self.verified.public_key)
        return HKDF(hashes.SHA256(), 32, salt=None, info=use + between).derive(common)


class IdentitySeal(Seal):
    """Proves the name of a packet's sender.

    Args:
        identity: The proof of this member's name.
        trust: The group's trust file.
        now: Returns the time.
    """

    def __init__(
        self, identity: Identity, *, trust: str | Path | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._credentials, self._now = Credentials(identity, trust), now
        self.own_may_relay = identity.may_relay
        self._own = identity.name
        self._name = self._to_me = self._certificate = b""
        self._group = group_digest(identity.group)
        self._keys: list[EllipticCurvePrivateKey] = []
        """The present key, and the previous one."""
        self._peers: dict[str, _Peer] = {}
        self._shunned: dict[str, None] = {}
        """Formerly known members whose certificates no longer count; at most `MOST_PEERS`, the earliest first."""
        self._windows = {is_prefix: ReplayWindows() for is_prefix in (False, True)}
        """By kind of certificate, so that holders of a prefix certificate cannot use up the numbers of a name's own
        holder."""
        self._sequence = 0
        self._introduced: tuple[int, int] = (0, 0)
        self._show(identity)
        self.overhead += (4 * LONGEST_NAME - len(identity.name.encode())) * identity.is_prefix

    def begin(self, name: str, group: str) -> None:
        self._credentials.begin(name, group, self._now())
        self._own = name
        self._show(self._credentials.identity)
        self._sequence = time.time_ns()

    @property
    def has_files(self) -> bool:
        return True

    @property
    def trust_number(self) -> int | None:
        return self._credentials.trust.number or None

    def refresh(self) -> Reread:
        credentials = self._credentials
        found = credentials.refresh()
        if found.is_renewed:
            self._show(credentials.identity)
            for peer in self._peers.values():
                peer.agree(self._own, self._keys)
        if found.changes:
            for name, peer in tuple(self._peers.items()):
                if credentials.refusal(peer.verified, name) is not None:
                    del self._peers[name]
                    self._shunned[name] = None
            for name in tuple(self._shunned)[:-MOST_PEERS]:
                del self._shunned[name]
        return found

    def shuns(self, receiver: str) -> bool:
        return receiver in self._shunned

    def _show(self, identity: Identity) -> None:
        """Use an identity for sending, and the previous one for what still arrives."""
        self.valid_until = identity.valid_until
        if identity.private_key not in self._keys:
            self._keys = [identity.private_key, *self._keys[:1]]
        self._name, self._to_me = self._own.encode(), name_with_length(self._own)
        self._certificate = len(identity.certificate_der).to_bytes(2) + identity.certificate_der
        self.overhead = 1 + SIGNATURE_SIZE + HEADER.size + len(self._name) + len(self._certificate)

    def wrap(self, receiver: str | None, payload: bytes) -> bytes:
        peer = self._peers.get(receiver) if receiver is not None else None
        if receiver is None or peer is None:
            return self._signed(receiver, payload)
        to = name_with_length(receiver)
        if peer.knows_me:
            rest = self._header() + payload
            return TO_ONE + peer.mac(TO_ONE + to, rest) + rest
        rest = self._header() + self._certificate + payload
        return TO_ONE_WITH_CERTIFICATE + peer.mac(TO_ONE_WITH_CERTIFICATE + to, rest) + rest

    def veil(self, receiver: str, about: bytes, secret: bytes) -> bytes:
        peer = self._peers.get(receiver)
        if peer is None:
            raise NotNowError(f"{receiver} has not shown its certificate lately")
        return veiled(next(peer.veil_keys()), about, secret)

    def unveil(self, sender: str, about: bytes, said: bytes) -> bytes | None:
        peer = self._peers.get(sender)
        found = (unveiled(key, about, said) for key in (() if peer is None else peer.veil_keys()))
        return next((secret for secret in found if secret is not None), None)

    def introduction(self, receiver: str) -> bytes | None:
        second = int(self._now())
        before, count = self._introduced
        count = count + 1 if second == before else 1
        self._introduced = second, count
        return self._signed(receiver, b"") if count <= INTRODUCTIONS_A_SECOND else None

    def may_relay(self, sender: str) -> bool:
        peer = self._peers.get(sender)
        return peer is not None and peer.verified.may_relay

    def unwrap(self, packet: bytes) -> Opened | Rejected:  # noqa: PLR0911, PLR0912  # each is one reason to refuse
        kind = packet[:1]
        begin = 1 + (SIGNATURE_SIZE if kind in _SIGNED else MAC_SIZE)
        names = begin + HEADER.size
        if len(packet) < names or (kind != TO_ONE and kind not in _CERTIFIED):
            return Rejected(Refusal.MALFORMED)
        sequence, group, length = HEADER.unpack_from(packet, begin)
        if group != self._group:
            return Rejected(Refusal.FOREIGN_GROUP)
        at = names + length
        encoded = packet[names:at]
        sender = read_name(encoded, length)
        if sender is None:
            return Rejected(Refusal.MALFORMED)
        if encoded == self._name:
            return Rejected(Refusal.REPLAYED, sender)
        peer = self._peers.get(sender)
        if kind != TO_ONE:
            size = int.from_bytes(packet[at : at + 2])
            certificate = packet[at + 2 : at + 2 + size]
            at += 2 + size
            if len(certificate) != size or not size:
                return Rejected(Refusal.MALFORMED, sender)
            if peer is None or peer.certificate != certificate:
                met = self._meet(certificate, sender)
                if isinstance(met, Refusal):
                    return Rejected(met, sender)
                peer = met
        if peer is None:
            return Rejected(Refusal.STRANGER, sender, introduce=True)
        if not peer.verified.valid_from <= self._now() <= peer.verified.valid_until:
            return Rejected(Refusal.STRANGER, sender)
        to = kind if kind == TO_ALL else kind + self._to_me
        key = self._opens(peer, kind, packet[1:begin], to, packet[begin:])
        if key is None:
            return Rejected(Refusal.FORGED, sender)
        if not self._windows[peer.verified.names.is_prefix].admit(sender, sequence):
            return Rejected(Refusal.REPLAYED, sender)
        if kind != TO_ALL:
            peer.knows_me = kind not in _SIGNED and key == 0
        self._remember(sender, peer)
        return Opened(sender, packet[at:])

    def _header(self) -> bytes:
        self._sequence += 1
        return HEADER.pack(self._sequence, self._group, len(self._name)) + self._name

    def _signed(self, receiver: str | None, payload: bytes) -> bytes:
        kind = TO_ALL if receiver is None else TO_ONE_SIGNED
        to = kind if receiver is None else kind + name_with_length(receiver)
        rest = self._header() + self._certificate + payload
        r, s = decode_dss_signature(self._keys[0].sign(b"cobandit packet" + to + rest, _ALGORITHM))
        return kind + r.to_bytes(SIGNATURE_SIZE // 2) + s.to_bytes(SIGNATURE_SIZE // 2) + rest

    def _opens(self, peer: _Peer, kind: bytes, proof: bytes, to: bytes, rest: bytes) -> int | None:
        """Return which of this member's keys proves that a packet is the peer's; `None` if none does."""
        if kind not in _SIGNED:
            return next((key for key in peer.keys if compare_digest(peer.mac(to, rest, key), proof)), None)
        half = SIGNATURE_SIZE // 2
        signature = encode_dss_signature(int.from_bytes(proof[:half]), int.from_bytes(proof[half:]))
        try:
            peer.verified.public_key.verify(signature, b"cobandit packet" + to + rest, _ALGORITHM)
        except InvalidSignature:
            return None
        return 0

    def _meet(self, certificate: bytes, claimed: str) -> _Peer | Refusal:
        """Return the member of a certificate. Remember it once a packet proves to be its own."""
        verified = self._credentials.verify(certificate)
        refusal = Refusal.STRANGER if verified is None else self._credentials.refusal(verified, claimed)
        if verified is None or refusal is not None:
            return refusal or Refusal.STRANGER
        if verified.names.is_prefix and self.may_relay(claimed):
            return Refusal.FORGED
        peer = _Peer(claimed, certificate, verified)
        peer.agree(self._own, self._keys)
        return peer

    def _remember(self, sender: str, peer: _Peer) -> None:
        self._shunned.pop(sender, None)
        self._peers.pop(sender, None)
        self._peers[sender] = peer
        if len(self._peers) > MOST_PEERS:
            plain = (name for name, known in self._peers.items() if not known.verified.may_relay)
            del self._peers[next(plain, next(iter(self._peers)))]
