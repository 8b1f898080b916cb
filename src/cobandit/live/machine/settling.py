"""How this member's decisions end on the network side: by a reward that arrives with a token, or by age.

This file owns which tokens are believed, when a decision is given up, and whether decisions of earlier starts still
count. The decider counts the rewards. This file does not know what they teach the agent.
"""

import logging
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.decider import Decider
from cobandit.live.decide.decision import is_genuine, read
from cobandit.live.decide.holdout import unmarked
from cobandit.live.decide.taken import Taken
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.guard import Guard
from cobandit.live.machine.open_decisions import MOST_OPEN, PLACES, OpenDecisions
from cobandit.live.machine.step import Terms
from cobandit.values.errors import LocalError, NotNowError
from cobandit.values.tally import Arm


class Start(NamedTuple):
    """This start of a member."""

    run: int
    """Its number."""
    secret: bytes
    """The key that signs decisions."""
    is_new: bool
    """Whether there was no state to start from."""


class Settling:
    """Ends the decisions of one member."""

    def __init__(
        self,
        terms: Terms,
        start: Start,
        agent: Agent,
        decider: Decider,
        open_decisions: OpenDecisions,
        *,
        guard: Guard,
        alerts: Alerts,
        clock: Clock,
    ) -> None:
        self._terms, self._start, self._agent = terms, start, agent
        self._decider, self._open_decisions = decider, open_decisions
        self._guard, self._alerts, self._clock = guard, alerts, clock
        self._has_new_trust = False

    def settle_token(self, token: str, reward: float) -> Taken:
        """Reward a decision of this member by its token. Invalid tokens and rewards are refused.

        Raises:
            NotNowError: Its bandit has not been declared here since the start.
        """
        try:
            claim = read(token)
            # First of all: a sender keeps a reward until its bandit is declared, and ids are easily made up.
            if claim.member != self._terms.name or not is_genuine(token, self._start.secret):
                self._guard.refuse(Refusal.FORGED, None, self._clock.now())
                return Taken.GIVEN_UP
            units = self._decider.units(reward, claim.arm)
        except NotNowError:
            raise
        except LocalError as error:
            self._alerts.say_once(logging.WARNING, LogEvent.REWARD_REFUSED, f"a reward was refused: {error}")
            return Taken.GIVEN_UP
        if self._decider.open_since(claim.number) == claim.at:
            is_open = self._decider.settle_elsewhere(claim.number, units)
            return Taken.COUNTED if is_open else Taken.COUNTED_BEFORE
        expires_at = self._open_decisions.expires_at(claim.number, claim.at, self._terms.expire_after)
        if expires_at < self._clock.now() or not self._agent.serves(*unmarked(claim.arm)):
            return Taken.GIVEN_UP
        if not self._open_decisions.claim_unwritten(claim.number, self._start.run):
            known, number = self._open_decisions, claim.number
            is_at_decider = number >> PLACES == self._start.run or number in known.open  # and it is not open there
            return Taken.COUNTED_BEFORE if is_at_decider or known.is_settled(number) else Taken.GIVEN_UP
        self._decider.add_unrecorded(claim.number, claim.arm, units)
        return Taken.COUNTED

    def expire(self, now: float) -> None:
        """Give up decisions that were not rewarded in time; if there are too many, also the oldest."""
        excess = len(self._open_decisions.open) - MOST_OPEN
        expired: list[int] = []
        for entry in self._open_decisions.open.items():
            if self._expires_at(entry) > now and len(expired) >= excess:
                break
            expired.append(entry[0])
        for number in expired:
            self._decider.expire(number)

    def due_at(self) -> float | None:
        """Return when the oldest open decision expires; `None` if none is open."""
        oldest = next(iter(self._open_decisions.open.items()), None)
        return None if oldest is None else self._expires_at(oldest)

    def returned(self, *, has_forgotten: bool) -> None:
        """Handle that others know observations of this member which it does not know itself.

        A member that forgot observations may also have forgotten their decisions, so decisions of earlier starts are
        given up. Observations from before this state existed belong to decisions that it never knew.
        """
        if self._start.is_new or not has_forgotten:
            before = "others know what this member observed before it had this state, or without one: that counts"
            self._alerts.say_once(logging.INFO, LogEvent.OBSERVATIONS_RETURNED, before)
            return
        if self._open_decisions.trusted_since >= self._start.run:
            return
        self._open_decisions.trusted_since, self._has_new_trust = self._start.run, True
        for number in [number for number in self._open_decisions.open if number >> PLACES < self._start.run]:
            self._decider.settle_elsewhere(number, None, is_expired=True)
        self._alerts.say(
            logging.WARNING,
            LogEvent.STATE_ROLLED_BACK,
            "the state file is older than what others know of this member, so it was rolled back or is a copy: what "
            "they know counts, and rewards for decisions before this start are taken no more",
        )

    def take_trust(self) -> int | None:
        """Return, for the batch, the first start whose decisions are trusted, if it changed since the last batch."""
        trusted_since = self._open_decisions.trusted_since if self._has_new_trust else None
        self._has_new_trust = False
        return trusted_since

    def _expires_at(self, entry: tuple[int, tuple[Arm, float]]) -> float:
        number, (_, at) = entry
        return self._open_decisions.expires_at(number, at, self._terms.expire_after)
