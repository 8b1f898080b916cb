"""The time by which a member counts the periods of its windows: the time of day, as far as it can be trusted.

A clock that is briefly set wrong must not end all windows. The time for waits (`Clock.now`) does not change when a
clock is set. While the two disagree, periods continue as before. A new time of day is trusted after a minute, or sooner
if it has lasted as long as the previous one, because a clock may be wrong when a member starts. This file does not know
what a calendar does with the time.
"""

import logging
import math

from cobandit.live.decide.clock import Clock
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts

BELIEVED_AFTER = 60.0
"""Seconds after which a time of day that has jumped is trusted."""

TOLERATED = 0.1
"""A jump by up to this fraction of the shortest period is trusted at once."""


class CalendarTime:
    """The time of one member's calendar.

    Args:
        clock: The clock.
        alerts: Where doubts are reported.
        reached: The time that the restored calendar had reached. A clock that is behind it is doubted.
    """

    def __init__(self, clock: Clock, alerts: Alerts, reached: float) -> None:
        self._clock, self._alerts, self._reached = clock, alerts, reached
        now, told = clock.now(), clock.time_of_day()
        self._ahead = max(told, reached) - now
        """How far the trusted time of day is ahead of the time for waits."""
        self._believed_since = now if told >= reached else now - BELIEVED_AFTER
        self._doubted = (self._ahead, now)
        """How far the doubted time would be ahead, and since when the clock has shown it."""

    def at(self, now: float, shortest: float) -> float:
        """Return the time. It goes back only if the clock was set back and the new time is trusted.

        Args:
            now: The time for waits.
            shortest: The length of the shortest period; infinity if there is none.
        """
        told, tolerated = self._clock.time_of_day(), TOLERATED * shortest
        ahead, (doubted, since) = told - now, self._doubted
        if shortest == math.inf:  # nothing has periods: no time that the clock has shown so far binds the first
            self._reached = told
        if abs(ahead - self._ahead) <= tolerated:
            self._ahead = ahead
            self._doubted = (ahead, now)
            self._alerts.trouble(LogEvent.CLOCK_DOUBTED, None)
        elif abs(ahead - doubted) > tolerated:
            self._doubted = (ahead, now)
            self._alerts.trouble(
                LogEvent.CLOCK_DOUBTED,
                f"this computer's clock was set by {ahead - self._ahead:+,.0f} s: windows go on as if it was not, "
                f"until that has stood for {BELIEVED_AFTER:.0f} s. Look whether it is right",
            )
        elif now - since >= min(BELIEVED_AFTER, since - self._believed_since):
            self._alerts.say(
                logging.WARNING,
                LogEvent.CLOCK_DOUBTED,
                f"this computer's clock was set by {ahead - self._ahead:+,.0f} s and has stayed so: windows follow it",
            )
            self._reached = min(self._reached, told)
            self._ahead, self._believed_since = ahead, since
        self._reached = max(self._reached, min(told, now + self._ahead))
        return self._reached
