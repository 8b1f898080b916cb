"""The seal in which every member proves its own name, and none can pose as another. It needs the extra `keys`.

Announcements are signed, with the certificate attached. Packets for one member carry a code under a key that only the
two can compute (ECDH on the keys in their certificates, then HKDF), which is a hundred times cheaper than a signature.
Only if the receiver's certificate is not known yet, such a packet is signed too. So a receiver of a signed packet for
itself alone learns that the sender does not know it, and attaches its certificate from then on, until a packet with a
code shows that it is known.

This file owns those packets and who is known, and refuses to know what is in them.
"""

import time
from collections.abc import Callable
from hashlib import blake2b
from hmac import compare_digest

from cobandit.live.auth.anti_replay import ReplayWindows
from cobandit.live.auth.certificates import Verified, verify
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
from cobandit.values.extras import needed_by

with needed_by("a key"):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MOST_PEERS = 4096
"""Members whose certificates are remembered; then the one that was longest silent has to show its own again."""
INTRODUCTIONS_A_SECOND = 20
"""Answers to senders that are not known. More would let a stranger keep this member busy with signing."""
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

    __slots__ = ("certificate", "keyed", "knows_me", "verified")

    def __init__(self, certificate: bytes, verified: Verified, identity: Identity) -> None:
        self.certificate, self.verified = certificate, verified
        self.knows_me = False
        between = sorted((name_with_length(verified.name), name_with_length(identity.name)))
        key = HKDF(hashes.SHA256(), 32, salt=None, info=b"cobandit pair" + b"".join(between)).derive(
            identity.private_key.exchange(ec.ECDH(), verified.public_key)
        )
        self.keyed = blake2b(digest_size=MAC_SIZE, key=key, person=b"cobandit packet")

    def mac(self, to: bytes, rest: bytes) -> bytes:
        keyed = self.keyed.copy()
        keyed.update(to)
        keyed.update(rest)
        return keyed.digest()


class IdentitySeal(Seal):
    """Proves the name of a packet's sender."""

    def __init__(self, identity: Identity, *, now: Callable[[], float] = time.time) -> None:
        self._identity, self._now = identity, now
        self.valid_until = identity.valid_until
        self.own_may_relay = identity.may_relay
        self._name = identity.name.encode()
        self._certificate = len(identity.certificate_der).to_bytes(2) + identity.certificate_der
        self._group = group_digest(identity.group)
        self._to_me = name_with_length(identity.name)
        self._peers: dict[str, _Peer] = {}
        self._windows = ReplayWindows()
        self._sequence = 0
        self._introduced: tuple[int, int] = (0, 0)
        self.overhead = 1 + SIGNATURE_SIZE + HEADER.size + len(self._name) + len(self._certificate)

    def begin(self, name: str, group: str) -> None:
        self._identity.check_member(name, group)
        self._identity.check_time(self._now())
        self._sequence = time.time_ns()

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
                peer = self._meet(certificate, sender)
                if peer is None:
                    return Rejected(Refusal.STRANGER, sender)
        if peer is None:
            return Rejected(Refusal.STRANGER, sender, introduce=True)
        if not peer.verified.valid_from <= self._now() <= peer.verified.valid_until:
            return Rejected(Refusal.STRANGER, sender)
        to = kind if kind == TO_ALL else kind + self._to_me
        if not self._is_authentic(peer, kind, packet[1:begin], to, packet[begin:]):
            return Rejected(Refusal.FORGED, sender)
        if not self._windows.admit(sender, sequence):
            return Rejected(Refusal.REPLAYED, sender)
        if kind != TO_ALL:
            peer.knows_me = kind not in _SIGNED
        self._remember(sender, peer)
        return Opened(sender, packet[at:])

    def _header(self) -> bytes:
        self._sequence += 1
        return HEADER.pack(self._sequence, self._group, len(self._name)) + self._name

    def _signed(self, receiver: str | None, payload: bytes) -> bytes:
        kind = TO_ALL if receiver is None else TO_ONE_SIGNED
        to = kind if receiver is None else kind + name_with_length(receiver)
        rest = self._header() + self._certificate + payload
        r, s = decode_dss_signature(self._identity.private_key.sign(b"cobandit packet" + to + rest, _ALGORITHM))
        return kind + r.to_bytes(SIGNATURE_SIZE // 2) + s.to_bytes(SIGNATURE_SIZE // 2) + rest

    def _is_authentic(self, peer: _Peer, kind: bytes, proof: bytes, to: bytes, rest: bytes) -> bool:
        if kind not in _SIGNED:
            return compare_digest(peer.mac(to, rest), proof)
        half = SIGNATURE_SIZE // 2
        signature = encode_dss_signature(int.from_bytes(proof[:half]), int.from_bytes(proof[half:]))
        try:
            peer.verified.public_key.verify(signature, b"cobandit packet" + to + rest, _ALGORITHM)
        except InvalidSignature:
            return False
        return True

    def _meet(self, certificate: bytes, claimed: str) -> _Peer | None:
        """Return the member that a certificate is of; to be remembered once a packet proves to be its own."""
        verified = verify(certificate, self._identity.group_der)
        if verified is None or verified.group != self._identity.group or verified.name != claimed:
            return None
        return _Peer(certificate, verified, self._identity)

    def _remember(self, sender: str, peer: _Peer) -> None:
        self._peers.pop(sender, None)
        self._peers[sender] = peer
        if len(self._peers) > MOST_PEERS:
            del self._peers[next(iter(self._peers))]
