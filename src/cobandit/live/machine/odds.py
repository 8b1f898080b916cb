"""How likely each arm is the best: what must be computed, and the odds that apply until then.

This file owns the last odds and what they were computed from. It computes none: that takes long, and happens in the
background (`cobandit.live.drive.matching`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.core.places import PLAIN, At
from cobandit.live.decide.allocation import Allocation, Draw, drawn_by
from cobandit.policies.matching import Posterior
from cobandit.values.tally import Arm


class Question(NamedTuple):
    """Asks how likely each of these arms is the best. `best_odds` answers, beside decisions and steps."""

    arms: tuple[Arm, ...]
    posteriors: list[Posterior]
    at: At = PLAIN
    """The place in question."""


class Odds:
    """The odds of one member's arms."""

    def __init__(self, agent: Agent, at: At = PLAIN) -> None:
        self._agent, self._at = agent, at
        self.allocation: Allocation | None = None
        """Floors and ceilings, if there are any."""
        self.last: Mapping[Arm, float] | None = None
        """`None` if decisions are not drawn by odds."""
        self._answered: Question | None = None
        """The question that they answer."""

    def question(self, withheld: Collection[Arm]) -> Question | None:
        """Return what to compute because knowledge or arms changed; `None` if nothing changed or nothing is drawn.

        Args:
            withheld: The arms that must not be chosen, whatever is known about them.
        """
        policy = self._agent.policy_at(*self._at)
        posteriors = policy.posteriors()
        if posteriors is None:
            return None
        known = {arm: one for arm, one in zip(policy.candidates, posteriors, strict=True) if arm not in withheld}
        question = Question(tuple(known), list(known.values()), self._at)
        # Comparing the number of observations would not do: a window may drop as many as have arrived.
        return None if question == self._answered else question

    def take(self, question: Question, odds: Sequence[float]) -> None:
        """Take the answer to a question."""
        self.last = dict(zip(question.arms, odds, strict=True))
        self._answered = question

    def draw(self, candidates: tuple[Arm, ...]) -> Draw | None:
        """Return the draw over these candidates, within floors and ceilings."""
        return None if self.last is None else drawn_by(self.last, candidates, self.allocation)
