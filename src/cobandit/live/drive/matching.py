"""The task that computes how likely each arm is the best when knowledge or arms have changed, in the background.

This file owns when to compute, and how much of a core that may take. The machine (`cobandit.live.machine.odds`) owns
the questions, and what an answer does.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from time import thread_time

from cobandit.live.drive.background import Breaks
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.odds import Question
from cobandit.policies.matching import Posterior, best_odds

MATCHING_REST = 9.0
"""After computing odds, the task rests this many times as long, so that it takes at most a tenth of a core."""

MAX_AT_ONCE = 2048
"""How many arms, over all segments, get their odds at once when a member starts or declares a bandit."""


class Matching:
    """Computes the odds of one member.

    Args:
        machine: The member.
        matcher: Computes odds. Without one, the loop does.
    """

    def __init__(self, machine: Machine, matcher: Executor | None) -> None:
        self._machine, self._matcher = machine, matcher
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Compute odds if something has changed, unless that is under way."""
        if (self._task is None or self._task.done()) and (question := self._machine.question()) is not None:
            name = f"cobandit odds of {self._machine.terms.name}"
            self._task = asyncio.create_task(self._run(question), name=name)

    def match_at_once(self) -> None:
        """Compute all changed odds here and now, so that what a state knows is used at once."""
        left = MAX_AT_ONCE
        while left > 0 and (question := self._machine.question()) is not None:
            try:
                odds = best_odds(question.posteriors)
            except Exception as error:  # noqa: BLE001
                self._note_failure(error)
                return
            self._machine.answer(question, odds)
            left -= len(question.arms)

    def cancel(self) -> None:
        """Stop computing."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, question: Question) -> None:
        asked = question
        while True:
            try:
                odds, worked_s = await self._odds(asked)
            except Exception as error:  # noqa: BLE001
                self._note_failure(error)
                return
            self._machine.alerts.trouble(LogEvent.ODDS_FAILED, None)
            self._machine.answer(asked, odds)
            await asyncio.sleep(MATCHING_REST * worked_s)
            if (changed := self._machine.question()) is None:
                return
            asked = changed

    def _note_failure(self, error: Exception) -> None:
        """Report that a user's own policy has impossible posteriors."""
        self._machine.alerts.trouble(
            LogEvent.ODDS_FAILED, f"the policy's posteriors have no odds, so the last ones stay: {error!r}"
        )

    async def _odds(self, question: Question) -> tuple[list[float], float]:
        """Return the odds, and the seconds of work, not counting waits."""
        if self._matcher is None:
            return best_odds(question.posteriors), 0.0
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._matcher, _odds_and_seconds, question.posteriors)


def _odds_and_seconds(posteriors: Sequence[Posterior]) -> tuple[list[float], float]:
    started_at = thread_time()
    return best_odds(posteriors, Breaks()), thread_time() - started_at
