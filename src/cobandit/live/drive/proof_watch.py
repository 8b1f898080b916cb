"""Regularly checks what proves a member's name: files that were replaced, a certificate that expires.

This file owns when to check, and the messages. The transport knows what to do with a new file.
"""

import logging
from datetime import UTC, datetime

from cobandit.live.decide.clock import Clock
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.transports.base import Transport

LOOK_EVERY = 10.0
"""Seconds between two checks. A replaced file may go unnoticed for this long."""

WARN_BEFORE_EXPIRY = 14 * 86_400.0
"""Seconds before the certificate expires from which that counts as a trouble."""


class ProofWatch:
    """Watches the proof of one member's name."""

    def __init__(self, transport: Transport, alerts: Alerts, clock: Clock) -> None:
        self._transport, self._alerts, self._clock = transport, alerts, clock
        self.due_at: float | None = 0.0 if transport.has_files or transport.valid_until is not None else None
        """When to check next; `None` if there is nothing to check."""

    def look(self) -> None:
        """Check, if it is time."""
        now = self._clock.now()
        if self.due_at is None or now < self.due_at:
            return
        self.due_at = now + LOOK_EVERY
        found = self._transport.refresh()
        for change in found.changes:
            self._alerts.say(logging.INFO, LogEvent.PROOF_CHANGED, change)
        self._alerts.trouble(LogEvent.PROOF_UNREADABLE, "; ".join(found.troubles) or None)
        self._look_at_expiry()

    def _look_at_expiry(self) -> None:
        """Report in time that the certificate expires. Peers that no longer accept it do not say so."""
        until, now = self._transport.valid_until, self._clock.time_of_day()
        if until is None:
            return
        day = datetime.fromtimestamp(until, UTC).date()
        cure = "make a new one with `cobandit keys agent`, and put it in the place of the old one"
        what = None
        if now >= until:
            what = f"the certificate of this member expired on {day}, and the others refuse what it says: {cure}"
        elif now >= until - WARN_BEFORE_EXPIRY:
            what = f"the certificate of this member expires on {day}, and then the others refuse what it says: {cure}"
        level = logging.ERROR if now >= until else logging.WARNING
        self._alerts.trouble(LogEvent.CERTIFICATE_EXPIRES, what, level)
