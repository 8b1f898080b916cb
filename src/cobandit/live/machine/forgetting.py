"""Who is gone: who has not been heard for long, or of whom an operator says so.

Who is gone is put aside (`Agent.forget`): no packet, no timer, no line in the status. What it observed stays, and it is
back with its first word. So it does no harm to be wrong, and members need not agree about it. Who says farewell is gone
at once; this file is about the others. It does not know who is put aside already.
"""

import math
from collections.abc import Iterator

from cobandit.agent import Agent
from cobandit.live.machine.controls import STAMPS_A_SECOND, Controls

LOOKS = 8
"""How often it is looked who is gone, within the time after which one is."""


class Forgetting:
    """When one member takes others to be gone.

    Args:
        after_s: Who was not heard for so many seconds is gone.
        started_at: When this member started: nobody is gone for what happened before.
    """

    def __init__(self, after_s: float, started_at: float) -> None:
        self._after_s = after_s
        self._started_at = started_at
        self.due_at: float | None = started_at + after_s if after_s < math.inf else None
        """When to look next; `None` for never."""

    def silent(self, agent: Agent, now: float) -> list[str]:
        """Return who has not been heard for long, if it is time to look. Others that are silent are looked at later."""
        if self.due_at is None or now < self.due_at:
            return []
        self.due_at = now + self._after_s / LOOKS
        heard = ((peer, self._heard_at(agent, peer, now)) for peer in agent.peers)
        return [peer for peer, heard_at in heard if now - heard_at >= self._after_s]

    def _heard_at(self, agent: Agent, peer: str, now: float) -> float:
        """Return when a peer was heard. If a clock was ahead before this start, it was not heard since."""
        heard = agent.peers.last_heard(peer)
        return self._started_at if heard is None or heard > now else heard


def dismissed(agent: Agent, controls: Controls) -> Iterator[str]:
    """Return of whom an operator said that it is gone, and who has not been heard since.

    A stamp is a whole number of milliseconds. Who was heard in the same one was heard before it, as far as one knows.
    """
    for name, stamp in controls.forgotten.items():
        heard = agent.peers.last_heard(name) if name in agent.peers else None
        if name in agent.peers and (heard is None or int(heard * STAMPS_A_SECOND) <= stamp):
            yield name
