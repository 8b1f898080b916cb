"""Notices that only successes are reported: many rewards, none of them zero, and as many decisions without a reward.

This file owns the counts since the start, and the message to operators. It does not know what a reward says about its
arm.
"""

import logging
from collections.abc import Iterable

from cobandit.live.decide.common import Settled
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts

MANY_REWARDS = 100
"""After this many rewards without a zero, and as many decisions without a reward, probably only clicks are reported."""


class ZeroWatch:
    """Watches the rewards of one member.

    Args:
        alerts: Where troubles are reported.
        has_default: Whether unrewarded decisions count with a default, so that zeros need not be reported.
    """

    def __init__(self, alerts: Alerts, *, has_default: bool) -> None:
        self._alerts, self._has_default = alerts, has_default
        self._rewards = self._zeros = self._never_rewarded = 0

    def count(self, settled: Iterable[Settled]) -> None:
        """Count decisions that got their reward, or will not get one."""
        for entry in settled:
            if entry.is_expired:
                self._never_rewarded += 1
            elif entry.units is not None:
                self._rewards += 1
                self._zeros += entry.units == 0

    def look(self, open_decisions: int) -> None:
        """Report the finding, given how many decisions wait for their reward."""
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
