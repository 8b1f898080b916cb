"""Messages of plug-ins, compiled: how they are counted, and their bytes on the wire (`cobandit.protocols.node`)."""

import math

from cobandit.protocols.node import ENVELOPE
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.mail import speak, tell
from cobandit.simulator.kernel.sizes import integer_size, tally_size
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Tables

_SHARE, _DELIVERY = int(Kind.SHARE), int(Kind.DELIVERY)


@inlined
def send_share(t: Tables, slot: int, place: int, observations: int, size: int) -> None:
    """Count a share over an edge, which arrives at once (`ReferenceRun._count_note`)."""
    edge = t.edges[place]
    sender, receiver = edge.sender, edge.receiver
    edge.shares += 1
    t.world.shares += 1
    speak(t, t.agents[sender], slot)
    if t.world.counts_sizes:
        t.world.bytes += ENVELOPE + size
        t.world.bits += 2 * t.world.arms * (1.0 if observations == 1 else math.log2(observations + 1))
    tell(t, slot, _SHARE, sender, receiver, edge.shares, observations, t.agents[sender].own_pulls)
    tell(t, slot, _DELIVERY, receiver, sender, edge.shares, 0, 0)


@inlined
def send_notice(t: Tables, slot: int, place: int) -> None:
    """Count a notice that says nothing more over an edge."""
    edge = t.edges[place]
    edge.notices += 1
    speak(t, t.agents[edge.sender], slot)
    if t.world.counts_sizes:
        t.world.bytes += ENVELOPE + 1


@inlined
def own_value(t: Tables, agent: int, arm: int) -> int:
    """Return all that an agent has observed of an arm itself, as one integer."""
    return t.seen[agent, arm].pulls * ONE_OBSERVATION + t.seen[agent, arm].rewards


@inlined
def learn(t: Tables, agent: int, arm: int, news: int) -> None:
    """Add observations of others to what an agent knows (`Policy.learn`)."""
    t.knowledge[agent, arm] += news
    t.agents[agent].observed += news >> 32


@inlined
def cell_size(t: Tables, source: int, arm: int, value: int) -> int:
    """Return the bytes of a cell."""
    return integer_size(source) + tally_size(t, arm, value)


@inlined
def list_size(length: int) -> int:
    """Return the bytes of the head of a list."""
    if length < 16:
        return 1
    return 3 if length < 65536 else 5
