"""Asking a fleet how it is, without being a member: one announcement, and all who hear it answer.

`Answers` knows who has answered, `rounds.py` when to stop waiting. This file does not know how the answers are shown.
"""

import secrets
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from cobandit.live.auth.proof import Proof
from cobandit.live.auth.refusal import Refusal
from cobandit.live.drive.background import background
from cobandit.live.drive.rounds import Rounds
from cobandit.live.machine.answers import Answers
from cobandit.live.machine.control_messages import OLDEST, ControlsTold, StatusAsked, StatusTold, pack, unpack
from cobandit.live.machine.controls import Setting, stamp_at
from cobandit.live.machine.guard import reason_of
from cobandit.live.status.fleet import Fleet
from cobandit.live.transports.urls import guest_transport_for
from cobandit.values.checks import check_name, check_positive
from cobandit.values.errors import PeerError
from cobandit.values.tally import LONGEST_NAME

WAIT = 4.0
"""The default number of seconds to wait for those who do not answer."""

QUIET = 0.4
"""When everybody known has answered, this long without another answer is enough."""


class Asker:
    """An asker, under a name of its own; use it with `with`.

    Args:
        url: As members have it; for `tls` and `udp` the address of any one member.
        group: The group to ask.
        peers: For `tls` and `udp`: addresses of further members.
        keys: The asker's own key file: one that no member uses.
        trust: The group's trust file, beside keys.
        secret: The group's secret, if its members have one.
        secret_file: Instead, a file with it.
    """

    def __init__(
        self,
        url: str,
        *,
        group: str,
        peers: Sequence[str] = (),
        keys: str | Path | None = None,
        trust: str | Path | None = None,
        secret: str | None = None,
        secret_file: str | Path | None = None,
    ) -> None:
        check_name("the name of a group", group, LONGEST_NAME)
        proof = Proof(keys, trust, secret, secret_file)
        self._transport = guest_transport_for(url, peers=peers, proof=proof)
        self.group = group
        self.name = f"status-{secrets.token_hex(4)}"
        if keys is not None:
            identity = proof.identity()
            self.name = f"{identity.name}{self.name}" if identity.is_prefix else identity.name  # none else is proved
        self.refusals: Counter[Refusal] = Counter()
        """What came in and was not let in."""
        self.network_trouble: str | None = None
        """Why the network does not work, if it does not."""
        self._answers = Answers(group)
        self._rounds = Rounds(self._answers)
        self._question = pack(StatusAsked(self.name), group, OLDEST)

    def ask(self, wait_s: float = WAIT, *, expected: Collection[str] = ()) -> Fleet:
        """Ask everybody, and return what they said.

        It returns early if everybody has answered whom a member takes to be present.

        Args:
            wait_s: How long to wait at most.
            expected: Who must have answered before it returns early, from a round before: then nobody is waited for
                who was not known there.
        """
        check_positive("wait", wait_s)
        return background().submit(self._ask(wait_s, frozenset(expected))).result()

    def setting(self, key: str, value: str | None, fleet: Fleet) -> Setting:
        """Return how a control is to be set from now on, whatever these members have heard before."""
        last = max((member.latest_setting for member in fleet.members), default=0)
        return Setting(key, value, stamp_at(time.time(), last), self.name)

    def tell(self, *settings: Setting) -> None:
        """Tell everybody how controls are to be set. Ask then how they are, to see who has heard it."""
        wanted = pack(ControlsTold(self.name, settings), self.group, OLDEST)

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
        self._transport.refresh()
        return await self._rounds.collect(
            lambda _: self._transport.announce(self._question),
            wait_s,
            quiet_s=0.0 if expected else QUIET,  # who else is here was found by the round before
            expected=expected,
        )

    # The transport's inbox.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take an answer; members say other things too, which are not for a guest."""
        try:
            content = unpack(frame, self.group)
            if isinstance(content, StatusTold) and sender in {None, content.sender}:
                self._answers.take(content)
        except PeerError as error:
            self.refusals[reason_of(error)] += 1

    def reachable(self, peer: str | None) -> None:
        """Ask all who can be reached now."""
        if peer is None:
            self._transport.announce(self._question)
        else:
            self._transport.send(peer, self._question)

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Count something that was not let in."""
        del sender, host
        self.refusals[reason] += 1

    def trouble(self, what: str | None) -> None:
        """Note that the network does not work, or works again."""
        self.network_trouble = what
