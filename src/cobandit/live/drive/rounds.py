"""Rounds of status questions: when to ask again, and when a round is over. `Answers` tracks the answers."""

import asyncio
from collections.abc import Callable, Collection

from cobandit.live.drive.sending import Sending
from cobandit.live.machine.answers import Answers
from cobandit.live.machine.control_messages import FleetAsked, StatusAsked
from cobandit.live.machine.machine import Machine
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import Statistics

ASK_AGAIN_EVERY = 0.3
"""Seconds. The network may have lost the question, or the answer."""


class Rounds:
    """Runs one round after another, with the same `Answers`."""

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
        """Ask, ask again, and return the fleet as the answers describe it.

        Returns early if all expected members have answered: for a member, those that it takes to be present itself; for
        a guest, which knows no members, those that any member takes to be present.

        Args:
            ask: Asks all members except those that have answered.
            wait_s: How long to wait at most.
            quiet_s: Once all known members have answered, this many seconds without another answer end the wait.
            expected: Further members that must answer before it returns early.
            own: The asker's own status, if it is a member.
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
    """The rounds of a member, which asks the present members."""

    def __init__(self, machine: Machine, sending: Sending) -> None:
        self._machine, self._sending = machine, sending
        self._rounds = Rounds(machine.answers)
        self._round: asyncio.Task[Fleet] | None = None

    async def fleet(self, wait_s: float, statistics: Callable[[], Statistics]) -> Fleet:
        """Ask the present members for their status. A call during a round that is under way gets that round's answer.

        Args:
            wait_s: How long to wait at most.
            statistics: Returns the member's own status.
        """
        if self._round is None or self._round.done():
            name = f"cobandit fleet of {self._machine.terms.name}"
            self._round = asyncio.create_task(self._ask(wait_s, statistics), name=name)
        return await asyncio.shield(self._round)

    async def end(self) -> None:
        """End the current round with the answers so far, and every further round at once."""
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
                is_leaf = said is not None and said.is_leaf  # this member answers for its leaves
                if agent.peers.is_present(peer) and not is_leaf and peer not in answered:
                    self._sending.ask(peer, question)

        return await self._rounds.collect(ask, wait_s, quiet_s=0.0, own=statistics())
