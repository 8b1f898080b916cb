"""Verdicts on one member's bandits: computed on request if something has changed, in the background.

A named bandit has one verdict, on the segment about which most is known. A relay has no policies for what its leaves
decide, so it judges by tallies. This file owns when to compute, and for what. `cobandit.live.status.verdict` defines
verdicts.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple

from cobandit.core.places import PLAIN, At
from cobandit.live.drive.background import Breaks
from cobandit.live.machine.machine import Machine
from cobandit.live.status.verdict import Judgement, Standing, Verdict, judged, standing_by, standing_of

NOTHING = Judgement(None, {})

MOST_JUDGED = 24
"""At most this many named bandits have a verdict: those with the most observations."""


class Question(NamedTuple):
    """What to judge: the standing of the arms of one place."""

    at: At
    standing: Standing
    rewards: tuple[float, float] = (0.0, 1.0)


class Verdicts:
    """The verdicts on the bandits of one member.

    Args:
        machine: The member.
        matcher: Computes verdicts. Without one, the loop does.
        found: Called when there is a new verdict.
    """

    def __init__(self, machine: Machine, matcher: Executor | None, found: Callable[[], None]) -> None:
        self._machine, self._matcher, self._found = machine, matcher, found
        self._judged: dict[At, tuple[Question, Judgement]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def last(self) -> Judgement:
        """The last judgement on the plain bandit."""
        return self._judged[PLAIN][1] if PLAIN in self._judged else NOTHING

    def on_bandits(self) -> dict[str, tuple[str, Verdict]]:
        """Return the last verdicts on named bandits, each with its segment."""
        said = ((at, judgement.verdict) for at, (_, judgement) in self._judged.items() if at != PLAIN)
        return {bandit: (segment, verdict) for (bandit, segment), verdict in said if verdict is not None}

    @property
    def is_thinking(self) -> bool:
        """Whether a verdict is being computed."""
        return self._task is not None and not self._task.done()

    def look(self) -> None:
        """Compute verdicts where knowledge has changed, unless that is under way."""
        if self.is_thinking:
            return
        asked = [*self._plain(), *self._named()]
        changed = [one for one in asked if one.at not in self._judged or self._judged[one.at][0] != one]
        self._judged = {one.at: self._judged[one.at] for one in asked if one.at in self._judged}
        if not changed:
            return
        if self._matcher is None:
            self._take(changed, _all_judged(changed, lambda: None))
        else:
            name = f"cobandit verdict of {self._machine.terms.name}"
            self._task = asyncio.create_task(self._run(changed, self._matcher), name=name)

    async def fresh(self) -> None:
        """Return when the last verdicts cover at least what was known when this was called."""
        for _ in range(2):  # the first may have started earlier
            self.look()
            if self._task is not None:
                await asyncio.shield(self._task)

    def _plain(self) -> Iterator[Question]:
        if self._machine.agent.has_plain:
            policy, withheld = self._machine.agent.policy, self._machine.operations.withheld
            arms = [arm for arm in policy.candidates if arm not in withheld]
            yield Question(PLAIN, standing_of(policy, arms))

    def _named(self) -> Iterator[Question]:
        """Yield the standing in each bandit's largest segment, for at most the `MOST_JUDGED` best known bandits."""
        machine, agent = self._machine, self._machine.agent
        if not agent.bandits:
            return
        known = agent.knowledge.by_bandit()[0]
        served = sorted((one for one in agent.bandits if known.get(one.name)), key=lambda one: -known[one.name])
        served = served[:MOST_JUDGED]
        undeclared = agent.knowledge.tallies_of({one.name for one in served if not agent.declares(one.name)})
        for bandit in served:
            if agent.declares(bandit.name):
                sizes = {one: agent.learners.observations((bandit.name, one)) for one in agent.segments_of(bandit.name)}
                segment = max(sorted(sizes), key=sizes.__getitem__)
                policy = agent.learners.seen((bandit.name, segment)).policy
                withheld = machine.bandits.withheld(bandit.name)
                standing = standing_of(policy, [arm for arm in policy.candidates if arm not in withheld])
            else:
                tallies = {segment: tally for (name, segment), tally in undeclared.items() if name == bandit.name}
                segment = max(sorted(tallies), key=lambda one: tallies[one].observations)
                frozen = machine.bandits.frozen(bandit.name)
                arms = [arm for arm in bandit.arms if arm not in frozen]
                standing = standing_by(tallies[segment], bandit.units_per_reward, arms)
            yield Question((bandit.name, segment), standing, bandit.rewards)

    async def _run(self, asked: list[Question], matcher: Executor) -> None:
        loop = asyncio.get_running_loop()
        self._take(asked, await loop.run_in_executor(matcher, _all_judged, asked, Breaks()))

    def _take(self, asked: list[Question], judgements: list[Judgement]) -> None:
        self._judged.update({one.at: (one, judgement) for one, judgement in zip(asked, judgements, strict=True)})
        self._found()


def _all_judged(asked: list[Question], rest: Callable[[], object]) -> list[Judgement]:
    return [_judged(one, rest) for one in asked]


def _judged(asked: Question, rest: Callable[[], object]) -> Judgement:
    try:
        return judged(asked.standing, rest, asked.rewards)
    except (ArithmeticError, ValueError):  # impossible posteriors of a user's own policy, which the odds report
        return NOTHING
