"""What a member does about its guardrail: it looks at the reports, and freezes an arm that violates it, everywhere.

An arm is frozen as an operator would freeze it, so the setting spreads as any other. Who gives it back has the last
word: an arm that was ever set is not frozen again. This file owns when to look. The rule is in
`cobandit.live.status.guardrail`.
"""

import logging

from cobandit.agent import Agent
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.controls import Controls, freezing
from cobandit.live.machine.operations import Operations
from cobandit.live.status.guardrail import GuardrailStatistics, GuardrailTerms, standing_of, words
from cobandit.values.errors import LocalError

LOOK_EVERY = 1.0
"""Seconds between two looks, at least."""


class Guardrails:
    """The guardrail of one member."""

    def __init__(
        self, terms: GuardrailTerms, agent: Agent, controls: Controls, operations: Operations, alerts: Alerts
    ) -> None:
        self.terms = terms
        self._agent, self._controls, self._operations, self._alerts = agent, controls, operations, alerts
        self._looked_at: float | None = None
        self.due_at: float | None = None
        """When to look next; `None` if there is nothing new."""

    def heard(self, now: float) -> None:
        """Take that there are reports, own or of others."""
        if self.due_at is None:
            self.due_at = now if self._looked_at is None else max(now, self._looked_at + LOOK_EVERY)

    def look(self, now: float) -> None:
        """Freeze what violates the guardrail, if it is time to look."""
        if self.due_at is None or now < self.due_at:
            return
        self.due_at, self._looked_at = None, now
        ever_set = {setting.key for setting in self._controls.settings}
        for found in self.standing().arms:
            if not found.is_violated or found.arm not in self._operations.offered or freezing(found.arm) in ever_set:
                continue
            text = words(found.arm, found, self.terms)
            try:
                self._operations.set_frozen(found.arm, is_frozen=True)
            except LocalError as error:
                self._alerts.say_once(logging.ERROR, LogEvent.GUARDRAIL_VIOLATED, f"{text}. It is not frozen: {error}")
            else:
                self._alerts.say(
                    logging.ERROR,
                    LogEvent.GUARDRAIL_VIOLATED,
                    f"{text}. It is frozen, here and everywhere; `cobandit control URL unfreeze ARM` gives it back, "
                    "and the guardrail then leaves it alone",
                )

    def standing(self) -> GuardrailStatistics:
        """Return how all arms stand."""
        return standing_of(self._agent, self.terms)
