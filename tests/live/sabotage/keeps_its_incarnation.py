"""Breaks the start after a crash: it goes on in the old incarnation as if nothing had happened. Run inside a worker."""

from collections.abc import Sequence

from cobandit.agent import Agent
from cobandit.core import Bandit, Outcome
from cobandit.live.store import restoring
from cobandit.values.tally import Arm


class Stubborn(Agent):
    def begin(
        self,
        session: int,
        now: float,
        *,
        incarnation: int | None = None,
        arms: Sequence[Arm] | None = None,
        bandits: Sequence[Bandit] | None = None,
    ) -> Outcome:
        del session, now, incarnation, arms, bandits
        return Outcome()


setattr(restoring, "Agent", Stubborn)  # noqa: B010  # it is only imported there
