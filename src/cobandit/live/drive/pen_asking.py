"""Asks relays for a pen: a name for a process that has none, with all that it must know before it decides.

It asks one relay after another, in random order, until one lends. This file owns which relay to ask, and for how long.
`cobandit.live.machine.holding` processes the answer, and `pens.py` owns how the process continues.
"""

import asyncio
import random
import secrets
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from cobandit.core.pen_names import SEPARATOR
from cobandit.core.places import Bandit
from cobandit.live.auth.proof import Proof
from cobandit.live.auth.refusal import Refusal
from cobandit.live.drive.relay_places import addresses_of
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import (
    OLDEST,
    AnyControlMessage,
    PenAsked,
    PenLent,
    PenRefused,
    pack,
    unpack,
)
from cobandit.live.machine.holding import question
from cobandit.live.machine.homes import ANY_RELAY
from cobandit.live.status.roles import Role
from cobandit.live.transports.base import Transport
from cobandit.live.transports.urls import relay_places, transport_for
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import Arm

ASK_AGAIN_EVERY = 0.3
"""Seconds. The network may have lost the question, or the answer."""

EACH_WITHIN = 1.5
"""Seconds that each relay has to answer before the next one is asked."""

MAX_FOUND = 1000
"""How many relays that announced themselves are remembered."""


class Lent(NamedTuple):
    """A pen, and where it came from."""

    asked: PenAsked
    answer: PenLent
    place: str
    """The place of its lender."""


class Wanted(NamedTuple):
    """What a process wants a pen for."""

    url: str | Transport
    group: str
    relays: tuple[str, ...]
    proof: Proof
    arms: tuple[Arm, ...]
    units_per_reward: int
    bandits: tuple[Bandit, ...] = ()
    """The named bandits that it has declared so far."""


class PenAsker:
    """One process that asks for a pen. It is the inbox of a transport of its own, under a temporary name."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._places, self._are_names = relay_places(wanted.url, wanted.relays)
        self.prefix = _prefix(wanted.proof)
        """The prefix of the names that this process can prove."""
        name = f"{self.prefix}asks-{secrets.token_hex(8)}"
        prefix = self.prefix.rstrip(SEPARATOR)
        asked = question(name, wanted.arms, wanted.units_per_reward, prefix, wanted.bandits)
        self._question = msgspec.structs.replace(asked, reads_veiled=True)
        self._found: dict[str, None] = {}
        """Relays that announced themselves."""
        self._place = ""
        self._answer: PenLent | None = None
        self._came = asyncio.Event()
        self._transport: Transport | None = None
        self.refusal: str | None = None
        """Why a relay refused to lend a pen, if one did."""

    async def ask(self, within: float, avoided: Collection[str] = ()) -> Lent | None:
        """Ask until a relay lends; `None` if none does within this many seconds.

        Args:
            within: Seconds.
            avoided: Places of relays that are asked last.

        Raises:
            LocalError: Something on this side is wrong, such as an address or a key.
        """
        wanted, loop = self._wanted, asyncio.get_running_loop()
        deadline = loop.time() + within
        transport = wanted.url
        if not isinstance(transport, Transport):
            transport = transport_for(transport, proof=wanted.proof, relays=wanted.relays)
        transport.role = Role.LEAF
        self._transport = transport
        try:
            await transport.open(self._question.sender, wanted.group, self)
            while (now := loop.time()) < deadline:
                places = await self._look(avoided)
                if not places:
                    await self._wait(min(deadline - now, ASK_AGAIN_EVERY))
                for place in places:
                    if (lent := await self._ask_one(place, deadline)) is not None:
                        return lent
            return None
        finally:
            await transport.close()

    async def _look(self, avoided: Collection[str]) -> list[str]:
        """Return the places of relays, in random order."""
        assert self._transport is not None
        places = [place for place in self._places if place != ANY_RELAY]
        if not self._are_names:
            looked_up = [await addresses_of(place) for place in places]
            places = [place for found in looked_up for place in found]
        if ANY_RELAY in self._places:
            self._transport.announce(self._packed(control_messages.RelaySought(self._question.sender)))
            places += self._found
        places = list(dict.fromkeys(places))
        _CHANCE.shuffle(places)
        return sorted(places, key=lambda place: place in avoided)

    async def _ask_one(self, place: str, deadline: float) -> Lent | None:
        loop = asyncio.get_running_loop()
        assert self._transport is not None
        until = min(deadline, loop.time() + EACH_WITHIN)
        self._place, self._answer, said = place, None, self.refusal
        self._transport.seek((place,))
        while (now := loop.time()) < until:
            self._say()
            await self._wait(min(until - now, ASK_AGAIN_EVERY))
            if (answer := self._taken_answer()) is not None:  # possibly late, from a relay asked earlier
                return Lent(self._question, answer, self._transport.place_of(answer.sender))
            if self.refusal != said:
                return None
        return None

    def _taken_answer(self) -> PenLent | None:
        return self._answer

    async def _wait(self, seconds: float) -> None:
        self._came.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._came.wait()
        except TimeoutError:
            pass

    def _say(self) -> None:
        """Ask the relay whose turn it is, if it can be reached."""
        assert self._transport is not None
        if self._are_names and self._place:
            self._transport.send(self._place, self._packed(self._question))

    def _packed(self, message: AnyControlMessage) -> bytes:
        return pack(message, self._wanted.group, OLDEST)

    # The transport's inbox.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take a relay's answer."""
        assert self._transport is not None
        try:
            content = unpack(frame, self._wanted.group)
        except PeerError:
            return
        if sender is not None and (content.sender != sender or self._transport.may_relay(sender) is False):
            return
        match content:
            case PenLent() if content.nonce == self._question.nonce:
                if content.is_key_veiled:
                    about = control_messages.about_key(content, self._question.sender)
                    key = self._transport.unveil(content.sender, about, content.key)
                    if key is None:
                        return  # a certificate may have just changed; it asks again
                    content = msgspec.structs.replace(content, key=key, is_key_veiled=False)
                self._answer = content
            case PenRefused() if content.nonce == self._question.nonce:
                self.refusal = content.why
            case control_messages.Hello() if content.is_relay and len(self._found) < MAX_FOUND:
                self._found[content.sender] = None
            case _:
                return
        self._came.set()

    def reachable(self, peer: str | None) -> None:
        """Ask a relay that is now reachable, if it is its turn."""
        assert self._transport is not None
        if peer is None:
            self._came.set()
        elif self._are_names or self._transport.place_of(peer) == self._place:
            self._transport.send(peer, self._packed(self._question))

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Ignore it: only an answer is wanted."""

    def trouble(self, what: str | None) -> None:
        """Ignore it: only an answer is wanted."""


_CHANCE = random.SystemRandom()


def _prefix(proof: Proof) -> str:
    """Return the prefix of the names that this process can prove.

    Raises:
        LocalError: It can prove only one name.
    """
    if proof.keys is None:
        return ""
    identity = proof.identity()
    if not identity.is_prefix:
        raise LocalError(
            f"{identity.path} proves the name {identity.name!r}: give the member that name, or, for processes without "
            "a name, a file that proves a prefix (`cobandit keys agent pods --prefix`)"
        )
    return identity.name
