"""Asks a fleet for its status without being a member: one announcement, which all members that hear it answer.

`Answers` tracks the answers, and `rounds.py` decides when to stop waiting. This file does not know how answers are
shown.
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
"""The default number of seconds to wait for members that do not answer."""

QUIET = 0.4
"""Once all known members have answered, this many seconds without another answer end the wait."""


class Asker:
    """Asks a group under a name of its own. Use it with `with`.

    Args:
        url: The address that members use; for `tls` and `udp`, that of any one member.
        group: The group to ask.
        peers: For `tls` and `udp`: addresses of further members.
        keys: The asker's own key file: one that no member uses.
        trust: The group's trust file, beside keys.
        secret: The group's secret, if it has one.
        secret_file: A file with the secret, instead.
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
            self.name = f"{identity.name}{self.name}" if identity.is_prefix else identity.name  # no other is proved
        self.refusals: Counter[Refusal] = Counter()
        """Counts of what came in and was refused."""
        self.network_trouble: str | None = None
        """Why the network does not work, or `None`."""
        self._answers = Answers(group)
        self._rounds = Rounds(self._answers)
        self._question = pack(StatusAsked(self.name), group, OLDEST)

    def ask(self, wait_s: float = WAIT, *, expected: Collection[str] = ()) -> Fleet:
        """Ask all members, and return their answers.

        Returns early once all members have answered that any member takes to be present.

        Args:
            wait_s: How long to wait at most.
            expected: Members from an earlier round that must have answered, too, before it returns early. It then
                returns at once, without waiting for members that no answer has named.
        """
        check_positive("wait", wait_s)
        return background().submit(self._ask(wait_s, frozenset(expected))).result()

    def setting(self, key: str, value: str | None, fleet: Fleet) -> Setting:
        """Return a setting of a control that overrides whatever these members have heard before."""
        last = max((member.latest_setting for member in fleet.members), default=0)
        return Setting(key, value, stamp_at(time.time(), last), self.name)

    def tell(self, *settings: Setting) -> None:
        """Send settings to all members. Call `ask` afterwards to see which members have them."""
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
            quiet_s=0.0 if expected else QUIET,  # the round before has found the others
            expected=expected,
        )

    # The transport's inbox.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take an answer. Members also send other messages, which are not for a guest."""
        try:
            content = unpack(frame, self.group)
            if isinstance(content, StatusTold) and sender in {None, content.sender}:
                self._answers.take(content)
        except PeerError as error:
            self.refusals[reason_of(error)] += 1

    def reachable(self, peer: str | None) -> None:
        """Ask all members that can be reached now."""
        if peer is None:
            self._transport.announce(self._question)
        else:
            self._transport.send(peer, self._question)

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Count something that was refused."""
        del sender, host
        self.refusals[reason] += 1

    def trouble(self, what: str | None) -> None:
        """Note that the network does not work, or works again (`None`)."""
        self.network_trouble = what
