"""Other processes with this member's name: whether one has taken over, or this one must begin a session above it.

This file owns the verdict. It begins no session and stops no member.
"""

from cobandit.agent import Agent
from cobandit.core import Acknowledgement, Share
from cobandit.live.decide.clock import Clock
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.sessions import fresh_session


class Succession:
    """What one process knows about later processes of its member."""

    def __init__(self, agent: Agent, alerts: Alerts, clock: Clock) -> None:
        self._agent, self._alerts, self._clock = agent, alerts, clock
        self.superseded_by: int | None = None
        """A later session of this member that runs elsewhere. This process then stops sharing."""
        self.session_wanted: int | None = None
        """A session to begin, with an incarnation: because a peer knows a later session and none knows this one, or
        because time must go back."""

    def meet(self, session: int, message: Share | Acknowledgement) -> None:
        """Judge a later session or incarnation of this member that a peer knows, of an earlier or a running process.

        If the peer had heard of this session before, the other process has spoken since, so this one is the older.
        Otherwise the other may be long gone, and the clock here is behind or the disk has forgotten. Then this member
        continues above it. If the other process is running after all, it hears of that and stops.
        """
        if self.superseded_by is not None:
            return
        delivery, agent = message.delivery, self._agent
        link = agent.peers.link(message.sender) if message.sender in agent.peers.met else None
        is_later = delivery is not None and delivery.receipt.session > agent.session
        if link is None or not link.is_known or delivery is None or delivery.session != link.session or not is_later:
            self.want_incarnation(above=session)
            return
        self.superseded_by = session
        self._alerts.trouble(
            LogEvent.NAME_TAKEN,
            f"another process has started as {agent.name!r} since (session {session}, this is "
            f"{agent.session}): this one goes on deciding and shares nothing. Stop one of them, or give it a name "
            "and a state of its own",
        )

    def want_incarnation(self, *, above: int = 0) -> None:
        """Let another incarnation begin after this step, above all known sessions."""
        latest = max(above, self._agent.session, self.session_wanted or 0)
        self.session_wanted = fresh_session(latest, self._clock)
