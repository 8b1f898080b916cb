"""Notices that only successes are reported: many rewards, none of them zero, and as many decisions without one.

This file owns the counts since the start and what people are told. It does not know what a reward tells of its arm.
"""

import logging
from collections.abc import Iterable

from cobandit.live.decide.common import Settled
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts

MANY_REWARDS = 100
"""After so many rewards, none of them zero, and as many decisions without one, it seems that only clicks are told."""


class ZeroWatch:
    """Watches the rewards of one member.

    Args:
        alerts: Where a trouble is told.
        has_default: Whether a decision without a reward counts with a default: then zeros need not be reported.
    """

    def __init__(self, alerts: Alerts, *, has_default: bool) -> None:
        self._alerts, self._has_default = alerts, has_default
        self._rewards = self._zeros = self._never_rewarded = 0

    def count(self, settled: Iterable[Settled]) -> None:
        """Take decisions that got their reward, or will not get one."""
        for entry in settled:
            if entry.is_expired:
                self._never_rewarded += 1
            elif entry.units is not None:
                self._rewards += 1
                self._zeros += entry.units == 0

    def look(self, open_decisions: int) -> None:
        """Say what is found, given how many decisions wait for their reward."""
        if self._rewards < MANY_REWARDS or self._has_default:
            return
        without = open_decisions + self._never_rewarded
        self._alerts.trouble(
            LogEvent.NO_ZERO_REWARDS,
            "many rewards were reported, none of them zero, and as many decisions have none: so only successes are "
            "learned, and all arms look alike. Report 0 for the others, or set default_reward = 0 and expire_after"
            if not self._zeros and without >= MANY_REWARDS
            else None,
            logging.WARNING,
        )
