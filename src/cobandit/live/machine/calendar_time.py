"""By which time a member counts the periods of its windows: the time of day, as far as it is believed.

A clock that is set for a moment must not end all windows. Waits have a time that does not change when a clock is set
(`Clock.now`). While the two disagree, periods go on as before. A time of day is believed after a minute. It is believed
sooner if it has stood as long as the one before it: a clock may be wrong when a member starts. This file does not know
what a calendar does with a time.
"""

import logging

from cobandit.live.decide.clock import Clock
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts

BELIEVED_AFTER = 60.0
"""Seconds after which a time is believed that has jumped."""

TOLERATED = 0.1
"""The time of day may jump by this fraction of the shortest period, and is believed at once."""


class CalendarTime:
    """The time of one member's calendar.

    Args:
        clock: What time it is.
        alerts: Where doubts are said.
        reached: What the calendar says that a start has found. A clock that is behind it is doubted.
    """

    def __init__(self, clock: Clock, alerts: Alerts, reached: float) -> None:
        self._clock, self._alerts, self._reached = clock, alerts, reached
        now, told = clock.now(), clock.time_of_day()
        self._ahead = max(told, reached) - now
        """By how much the time of day is ahead of that for waits, as is believed."""
        self._believed_since = now if told >= reached else now - BELIEVED_AFTER
        self._doubted = (self._ahead, now)
        """By how much it would be ahead, and since when that has been said."""

    def at(self, now: float, shortest: float) -> float:
        """Return the time, which goes back only if the clock was set back and that is believed.

        Args:
            now: The time for waits.
            shortest: How long the shortest period lasts; infinity if there is none.
        """
        told, tolerated = self._clock.time_of_day(), TOLERATED * shortest
        ahead, (doubted, since) = told - now, self._doubted
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
