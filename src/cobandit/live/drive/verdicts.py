"""Verdicts on one member's bandit: computed when somebody asks and something has changed, beside decisions and steps.

This file owns when to compute. What a verdict is, is in `cobandit.live.status.verdict`.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from cobandit.live.drive.background import Breaks
from cobandit.live.machine.machine import Machine
from cobandit.live.status.verdict import Judgement, Standing, judged, standing_of

NOTHING = Judgement(None, {})


class Verdicts:
    """What can be said of one bandit.

    Args:
        machine: The member.
        matcher: Where it is computed; on the loop if there is none.
        found: Called when a verdict is there.
    """

    def __init__(self, machine: Machine, matcher: Executor | None, found: Callable[[], None]) -> None:
        self._machine, self._matcher, self._found = machine, matcher, found
        self.last = NOTHING
        self._judged: Standing | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_thinking(self) -> bool:
        """Whether a verdict is being computed."""
        return self._task is not None and not self._task.done()

    def look(self) -> None:
        """Let a verdict be computed if what is known has changed, unless one just is."""
        standing = self._standing()
        if standing == self._judged or self.is_thinking:
            return
        if self._matcher is None:
            self._take(standing, _judged(standing, lambda: None))
        else:
            name = f"cobandit verdict of {self._machine.terms.name}"
            self._task = asyncio.create_task(self._run(standing, self._matcher), name=name)

    async def fresh(self) -> None:
        """Return when the last verdict is on what was known when this was called, or later."""
        for _ in range(2):  # the first may have been begun before
            self.look()
            if self._task is not None:
                await asyncio.shield(self._task)

    def _standing(self) -> Standing:
        if not self._machine.agent.has_plain:
            return Standing((), (), 0, is_of_policy=False)
        policy, withheld = self._machine.agent.policy, self._machine.operations.withheld
        return standing_of(policy, [arm for arm in policy.candidates if arm not in withheld])

    async def _run(self, standing: Standing, matcher: Executor) -> None:
        loop = asyncio.get_running_loop()
        self._take(standing, await loop.run_in_executor(matcher, _judged, standing, Breaks()))

    def _take(self, standing: Standing, judgement: Judgement) -> None:
        self.last, self._judged = judgement, standing
        self._found()


def _judged(standing: Standing, rest: Callable[[], object]) -> Judgement:
    try:
        return judged(standing, rest)
    except (ArithmeticError, ValueError):  # posteriors of a user's own policy that cannot be; odds tell of it
        return NOTHING
