"""A transport whose frames are authenticated end to end, whatever carries them: any transport, and a seal."""

from collections.abc import Sequence

from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.seal import Opened, Seal
from cobandit.live.auth.watched import Reread
from cobandit.live.transports.base import Inbox, Transport

_FRAME = b"\x00"
"""Precedes every frame, so that an empty one is not mistaken for an introduction, which has no payload at all."""


class Sealed(Transport):
    """A transport whose frames are authenticated end to end, whatever carries them."""

    def __init__(self, transport: Transport, seal: Seal) -> None:
        self._transport, self._seal = transport, seal
        self.valid_until = seal.valid_until
        self.own_may_relay = seal.own_may_relay
        self.has_files, self.trust_number = seal.has_files, seal.trust_number
        self._inbox: Inbox | None = None

    @property
    def largest_frame(self) -> int:  # type: ignore[override]
        """The limit of the transport, less what the seal adds."""
        return self._transport.largest_frame - self._seal.overhead - len(_FRAME)

    @property
    def is_connecting(self) -> bool:
        return self._transport.is_connecting

    @property
    def is_alone(self) -> bool:
        return self._transport.is_alone

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        self._seal.begin(name, group)
        self._inbox, self._transport.role, self._transport.on_gone = inbox, self.role, self.on_gone
        await self._transport.open(name, group, self)

    def send(self, receiver: str, frame: bytes) -> bool:
        self.check_size(frame)
        if self._seal.shuns(receiver):
            return False
        return self._transport.send(receiver, self._seal.wrap(receiver, _FRAME + frame))

    def announce(self, frame: bytes) -> None:
        self.check_size(frame)
        self._transport.announce(self._seal.wrap(None, _FRAME + frame))

    async def close(self) -> None:
        await self._transport.close()

    def seek(self, places: Sequence[str]) -> None:
        self._transport.seek(places)

    def place_of(self, peer: str) -> str:
        return self._transport.place_of(peer)

    def may_relay(self, sender: str) -> bool | None:
        return self._seal.may_relay(sender)

    def veil(self, receiver: str, about: bytes, secret: bytes) -> bytes:
        return self._seal.veil(receiver, about, secret)

    def unveil(self, sender: str, about: bytes, said: bytes) -> bytes | None:
        return self._seal.unveil(sender, about, said)

    def refresh(self) -> Reread:
        found = self._seal.refresh()
        self.valid_until, self.trust_number = self._seal.valid_until, self._seal.trust_number
        if found.is_renewed and self._inbox is not None:
            self._inbox.reachable(None)  # shows the others the new certificate
        return found

    # Callbacks from the transport. This class does not rely on any proof of senders by the transport.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Open a packet and pass it on."""
        del sender
        if self._inbox is None:
            return
        result = self._seal.unwrap(frame)
        if isinstance(result, Opened):
            if result.payload:
                self._inbox.frame(result.payload[len(_FRAME) :], result.proved_sender)
            else:  # an introduction: the sender could not open the last packet, but can from now on
                self._inbox.reachable(result.sender)
            return
        self._inbox.refused(result.reason, result.sender)
        if result.introduce and result.sender is not None:
            introduction = self._seal.introduction(result.sender)
            if introduction is not None:
                self._transport.send(result.sender, introduction)

    def reachable(self, peer: str | None) -> None:
        """Pass the call on."""
        if self._inbox is not None:
            self._inbox.reachable(peer)

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Pass the call on."""
        if self._inbox is not None:
            self._inbox.refused(reason, sender, host)

    def trouble(self, what: str | None) -> None:
        """Pass the call on."""
        if self._inbox is not None:
            self._inbox.trouble(what)
