"""What a member does about its guardrails: it checks the reports, and freezes an arm that violates one, everywhere.

An arm is frozen as an operator would freeze it, so the setting spreads like any other. Operators have the last word: an
arm that was ever set is not frozen again. This file owns when to check. `cobandit.live.status.guardrail` owns the rule.
"""

import logging
import shlex
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.controls import Controls, freezing_in
from cobandit.live.status.guardrail import GuardrailStatistics, GuardrailTerms, standings_of, words
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

LOOK_EVERY = 1.0
"""Minimum seconds between two checks."""


def unfreezing(group: str, arm: Arm | None = None, bandit: str = "") -> str:
    """Return the command that unfreezes an arm. The network's address is left out, because it may contain a password.

    >>> unfreezing("shop", "a b", "home")
    "cobandit control URL unfreeze 'a b' --group shop --bandit home"
    """
    words = ["unfreeze", "ARM" if arm is None else arm, "--group", group, *(["--bandit", bandit] if bandit else [])]
    return f"cobandit control URL {shlex.join(words)}"


class Freezer(NamedTuple):
    """The actions that a guardrail can take on the arms of one bandit."""

    offered: Callable[[], tuple[Arm, ...]]
    """Returns the arms that this member serves."""
    freeze: Callable[[Arm], None]
    """Freezes an arm, here and everywhere."""


class Guardrails:
    """The guardrails of one member, at most one for each bandit. The plain bandit has the empty name."""

    def __init__(self, agent: Agent, controls: Controls, alerts: Alerts) -> None:
        self._agent, self._controls, self._alerts = agent, controls, alerts
        self.terms: dict[str, GuardrailTerms] = {}
        """The metric that each bandit's guardrail watches. May be read on any thread."""
        self._freezers: dict[str, Freezer] = {}
        self._looked_at: float | None = None
        self._new: set[str] = set()
        """The bandits with reports since the last check."""
        self.due_at: float | None = None
        """When to check next; `None` if there is nothing new."""

    def watch(self, bandit: str, terms: GuardrailTerms | None, freezer: Freezer, now: float) -> None:
        """Watch a bandit's metric from now on, or stop watching."""
        self._freezers[bandit] = freezer
        if terms is None:
            self.terms.pop(bandit, None)
        elif self.terms.get(bandit) != terms:
            self.terms[bandit] = terms
            self.heard([bandit], now)

    def heard(self, bandits: Iterable[str], now: float) -> None:
        """Note that there are new reports, from here or from others."""
        new = {bandit for bandit in bandits if bandit in self.terms}
        self._new |= new
        if new and self.due_at is None:
            self.due_at = now if self._looked_at is None else max(now, self._looked_at + LOOK_EVERY)

    def look(self, now: float) -> None:
        """Freeze arms that violate a guardrail, if a check is due."""
        if self.due_at is None or now < self.due_at:
            return
        watched = {bandit: self.terms[bandit] for bandit in sorted(self._new) if bandit in self.terms}
        self.due_at, self._looked_at = None, now
        self._new.clear()
        ever_set = {setting.key for setting in self._controls.settings}
        for bandit, standing in standings_of(self._agent, watched).items():
            offered = self._freezers[bandit].offered()
            for found in standing.arms:
                if found.is_violated and found.arm in offered and freezing_in(bandit, found.arm) not in ever_set:
                    self._freeze(bandit, found.arm, words(found, watched[bandit], bandit))

    def standings(self) -> dict[str, GuardrailStatistics]:
        """Return the standing of all arms, for each bandit with a guardrail."""
        return standings_of(self._agent, self.terms)

    def _freeze(self, bandit: str, arm: Arm, text: str) -> None:
        try:
            self._freezers[bandit].freeze(arm)
        except LocalError as error:
            self._alerts.say_once(logging.ERROR, LogEvent.GUARDRAIL_VIOLATED, f"{text}. It is not frozen: {error}")
            return
        self._alerts.say(
            logging.ERROR,
            LogEvent.GUARDRAIL_VIOLATED,
            f"{text}. It is frozen, here and everywhere; `{unfreezing(self._alerts.group, arm, bandit)}` gives it "
            "back, and the guardrail then leaves it alone",
        )
