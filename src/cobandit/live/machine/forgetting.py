"""Which members are gone: those that have been silent for long, and those that an operator dismissed.

A member that is gone is put aside (`Agent.forget`): no packets, no timers, no line in the status. Its observations
stay, and it is back with its first message. So mistakes do no harm, and members need not agree. A member that says
farewell is gone at once; this file covers the others. It does not know which members are put aside already.
"""

import math
from collections.abc import Iterator

from cobandit.agent import Agent
from cobandit.live.machine.controls import STAMPS_A_SECOND, Controls

LOOKS = 8
"""How often to check for silent members within the time after which they are gone."""


class Forgetting:
    """Decides when one member takes others to be gone.

    Args:
        after_s: Seconds of silence after which a member is gone.
        started_at: When this member started. Earlier silence does not count.
    """

    def __init__(self, after_s: float, started_at: float) -> None:
        self._after_s = after_s
        self._started_at = started_at
        self.due_at: float | None = started_at + after_s if after_s < math.inf else None
        """When to check next; `None` for never."""

    def silent(self, agent: Agent, now: float) -> list[str]:
        """Return the members that have been silent for long, if a check is due."""
        if self.due_at is None or now < self.due_at:
            return []
        self.due_at = now + self._after_s / LOOKS
        heard = ((peer, self._heard_at(agent, peer, now)) for peer in agent.peers)
        return [peer for peer, heard_at in heard if now - heard_at >= self._after_s]

    def _heard_at(self, agent: Agent, peer: str, now: float) -> float:
        """Return when a peer was last heard. Times from a clock that was ahead count as the start."""
        heard = agent.peers.last_heard(peer)
        return self._started_at if heard is None or heard > now else heard


def dismissed(agent: Agent, controls: Controls) -> Iterator[str]:
    """Yield the members that an operator dismissed and that have not been heard since.

    Stamps are whole milliseconds. A member heard in the same millisecond is taken to have been heard before it.
    """
    for name, stamp in controls.forgotten.items():
        heard = agent.peers.last_heard(name) if name in agent.peers else None
        if name in agent.peers and (heard is None or int(heard * STAMPS_A_SECOND) <= stamp):
            yield name
