"""Rounds of "how are you": when to ask again, and when a round is over. `Answers` knows who has answered."""

import asyncio
from collections.abc import Callable, Collection

from cobandit.live.drive.sending import Sending
from cobandit.live.machine.answers import Answers
from cobandit.live.machine.control_messages import FleetAsked, StatusAsked
from cobandit.live.machine.machine import Machine
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import Statistics

ASK_AGAIN_EVERY = 0.3
"""Seconds; the network may have lost the question, or the answer."""


class Rounds:
    """One round after another, with the same answers."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._came = asyncio.Event()
        answers.on_news = self._came.set

    async def collect(
        self,
        ask: Callable[[Collection[str]], None],
        wait_s: float,
        *,
        quiet_s: float,
        expected: Collection[str] = (),
        own: Statistics | None = None,
    ) -> Fleet:
        """Ask, ask again, and return what was told.

        It returns early if everybody has answered who is expected: for a member, those whom it takes to be present
        itself; for a guest, who knows nobody, those whom a member takes to be present.

        Args:
            ask: Asks everybody but those who have answered.
            wait_s: How long to wait at most.
            quiet_s: When everybody known has answered, this long without another answer is enough.
            expected: Who else must have answered before it returns early.
            own: How the asker itself is, if it is a member.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline, ask_again_at = now + wait_s, now + ASK_AGAIN_EVERY
        answers = self._answers
        answers.begin(expected, own)
        try:
            ask(answers.answered)
            while (now := loop.time()) < deadline and not answers.has_ended:
                has_all = answers.has_all
                if has_all and not quiet_s:
                    break
                if now >= ask_again_at and not has_all:
                    ask(answers.answered)
                    ask_again_at = now + ASK_AGAIN_EVERY
                self._came.clear()
                try:
                    async with asyncio.timeout(min(deadline - now, quiet_s if has_all else ASK_AGAIN_EVERY)):
                        await self._came.wait()
                except TimeoutError:
                    if has_all:
                        break
        finally:
            answers.close()
        return answers.fleet()


class MemberRounds:
    """The rounds of a member, which asks those who are here."""

    def __init__(self, machine: Machine, sending: Sending) -> None:
        self._machine, self._sending = machine, sending
        self._rounds = Rounds(machine.answers)
        self._round: asyncio.Task[Fleet] | None = None

    async def fleet(self, wait_s: float, statistics: Callable[[], Statistics]) -> Fleet:
        """Ask the members that are here how they are. Who asks while a round is under way gets the same answer.

        Args:
            wait_s: How long to wait at most.
            statistics: Says how the member itself is.
        """
        if self._round is None or self._round.done():
            name = f"cobandit fleet of {self._machine.terms.name}"
            self._round = asyncio.create_task(self._ask(wait_s, statistics), name=name)
        return await asyncio.shield(self._round)

    async def end(self) -> None:
        """End the round that is under way, with what was told so far, and every further one at once."""
        self._machine.answers.end()
        if self._round is not None:
            await self._round

    async def _ask(self, wait_s: float, statistics: Callable[[], Statistics]) -> Fleet:
        machine, agent = self._machine, self._machine.agent
        name = machine.terms.name
        question = StatusAsked(name) if machine.leaf is None else FleetAsked(name)

        def ask(answered: Collection[str]) -> None:
            for peer in agent.peers:
                said = agent.peers.presence_of(peer)
                is_leaf = said is not None and said.is_leaf  # for it this member answers
                if agent.peers.is_present(peer) and not is_leaf and peer not in answered:
                    self._sending.ask(peer, question)

        return await self._rounds.collect(ask, wait_s, quiet_s=0.0, own=statistics())
