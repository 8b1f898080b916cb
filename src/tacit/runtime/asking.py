"""Asking a fleet how it is, without being a member: one announcement, and whoever hears it answers.

This file owns the asking and when to stop waiting. It does not know how the answers are shown.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tacit.checks import check_name, check_positive
from tacit.errors import PeerError
from tacit.runtime.background import background
from tacit.runtime.fleet import Fleet, fleet_of
from tacit.runtime.letters import ControlWanted, StatusAsked, StatusTold, pack, unpack
from tacit.runtime.networks import guest_transport_for
from tacit.runtime.statistics import Statistics, decode_statistics
from tacit.runtime.transports.base import Refusal
from tacit.tally import LONGEST_NAME

WAIT = 4.0
"""Seconds to wait for those who do not answer, unless told otherwise."""

QUIET = 0.4
"""When everybody known has answered, this long without another answer is enough."""

ASK_AGAIN_EVERY = 0.5
"""Seconds; the network may have lost the question, or the answer."""

MOST_ANSWERS = 10_000
"""Members that are listened to in one round."""


class Asker:
    """Somebody who asks, under a name of its own; use it with `with`.

    Args:
        url: As members have it; for `tls` and `udp` the address of any one member.
        group: The group to ask.
        peers: For `tls` and `udp`: addresses of further members.
        keys: The asker's own key file: one that no member uses.
        secret: The group's secret, if its members have one.
    """

    def __init__(
        self,
        url: str,
        *,
        group: str,
        peers: Sequence[str] = (),
        keys: str | Path | None = None,
        secret: str | None = None,
    ) -> None:
        check_name("the name of a group", group, LONGEST_NAME)
        self._transport = guest_transport_for(url, peers=peers, keys=keys, secret=secret)
        self.group = group
        self.name = f"status-{secrets.token_hex(4)}"
        if keys is not None:
            from tacit.runtime.identity import Identity  # noqa: PLC0415  # needs the extra `keys`

            self.name = Identity.load(keys).name  # nobody can prove another
        self.refusals: Counter[Refusal] = Counter()
        """What came in and was not let in."""
        self.network_trouble: str | None = None
        """Why the network does not work, if it does not."""
        self._answers: dict[str, Statistics] = {}
        self._answered = asyncio.Event()
        self._question = pack(StatusAsked(self.name), group)

    def ask(self, wait_s: float = WAIT, *, expected: Collection[str] = ()) -> Fleet:
        """Ask everybody, and return what they said.

        It returns early if everybody has answered whom a member takes to be present.

        Args:
            wait_s: How long to wait at most.
            expected: Who must have answered before it returns early.
        """
        check_positive("wait", wait_s)
        return background().submit(self._ask(wait_s, frozenset(expected))).result()

    def turn(self, key: str, value: str | None) -> None:
        """Ask everybody to turn a switch (`tacit.runtime.controls`). Ask then how they are, to see who has."""
        wanted = pack(ControlWanted(self.name, key, value), self.group)

        async def announce() -> None:
            self._transport.announce(wanted)

        background().submit(announce()).result()

    def __enter__(self) -> Self:
        background().submit(self._transport.open(self.name, self.group, self)).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        background().submit(self._transport.close()).result()

    async def _ask(self, wait_s: float, expected: frozenset[str]) -> Fleet:
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline, ask_again_at = now + wait_s, now + ASK_AGAIN_EVERY
        self._answers = {}
        self._transport.announce(self._question)
        while (now := loop.time()) < deadline:
            fleet = fleet_of(self.group, self._answers.values())
            has_all = bool(self._answers) and not fleet.silent and expected <= self._answers.keys()
            if now >= ask_again_at and not has_all:
                self._transport.announce(self._question)
                ask_again_at = now + ASK_AGAIN_EVERY
            self._answered.clear()
            try:
                async with asyncio.timeout(min(deadline - now, QUIET)):
                    await self._answered.wait()
            except TimeoutError:
                if has_all:
                    break
        return fleet_of(self.group, self._answers.values())

    # The transport's inbox.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take an answer; members say other things too, which are not for a guest."""
        try:
            content = unpack(frame, self.group)
            if not isinstance(content, StatusTold) or (sender is not None and content.sender != sender):
                return
            statistics = decode_statistics(content.statistics)
        except PeerError:
            self.refusals[Refusal.MALFORMED] += 1
            return
        if statistics.name == content.sender and len(self._answers) < MOST_ANSWERS:
            if content.sender not in self._answers:
                self._answered.set()
            self._answers[content.sender] = statistics

    def reachable(self, peer: str | None) -> None:
        """Ask whoever can be reached now."""
        if peer is None:
            self._transport.announce(self._question)
        else:
            self._transport.send(peer, self._question)

    def refused(self, reason: Refusal, sender: str | None) -> None:
        """Count something that was not let in."""
        del sender
        self.refusals[reason] += 1

    def trouble(self, what: str | None) -> None:
        """Take it that the network does not work, or works again."""
        self.network_trouble = what
