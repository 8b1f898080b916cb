"""Rounds of "how are you": when to ask again, and when a round is over. `Answers` knows who has answered."""

import asyncio
from collections.abc import Callable, Collection

from cobandit.live.machine.answers import Answers
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
