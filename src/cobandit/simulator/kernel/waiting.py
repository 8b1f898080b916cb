"""What is owed and for how long to wait, compiled: `Retransmit` and `Agenda`.

Functions carry the names of the readable methods, so that the two can be read side by side. Nobody restarts in a
simulated run, so there are no sessions and incarnations here.
"""

import numpy as np

from cobandit.core import retransmit
from cobandit.core.retransmit import first_wait, learned_deviation, learned_mean
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import borrow, compiled, inlined
from cobandit.simulator.kernel.tables import Record, Tables
from cobandit.simulator.kernel.talking import settled, threshold_at

for _formula in (retransmit.first_wait, retransmit.learned_mean, retransmit.learned_deviation):
    borrow(_formula)


@inlined
def eliminated(t: Tables, agent: int) -> int:
    """Return how many arms an agent no longer considers."""
    return t.agents[agent].arm_count - t.agents[agent].candidates


@inlined
def find_urgent(t: Tables, link: Record, agent: int, peer: int) -> None:
    """Find out up to which number of the log there is something urgent for a peer."""
    link.urgent = t.agents[agent].presence_at
    if t.bonds[agent, peer].common > 0:
        link.urgent = max(link.urgent, t.agents[agent].own_eliminated_at)


@inlined
def owes(t: Tables, link: Record, agent: int, peer: int) -> bool:
    """Return whether the peer must acknowledge something."""
    if not link.present:
        return t.agents[agent].presence_at > link.acknowledged
    is_waiting = link.phase == codes.WAITING and not settled(t, agent, peer)
    return is_waiting or link.urgent > link.acknowledged


@compiled
def has_unsaid(t: Tables, link: Record, agent: int, peer: int) -> bool:
    """Return whether the peer can use observations that it has not acknowledged."""
    if not link.present or settled(t, agent, peer):
        return False
    if t.world.same_arms:
        return t.agents[agent].own_pulls > link.confirmed
    for arm in range(t.world.arms):
        if t.seen[peer, arm].position >= 0 and t.changed[agent, arm] > link.confirmed:
            return True
    return False


@inlined
def flush_at(t: Tables, link: Record, agent: int) -> float:
    """Return when to send what is not acknowledged if nothing is observed until then."""
    quiet_since = max(link.sent_at, t.agents[agent].last_observed)
    return max(link.retry_at, quiet_since + t.world.tick)


@inlined
def wake_by(t: Tables, agent: int, time: float) -> None:
    """Wake an agent no later than this."""
    t.agents[agent].wake_at = min(t.agents[agent].wake_at, time)
    t.world.next_wake = min(t.world.next_wake, t.agents[agent].wake_at)


@inlined
def schedule(t: Tables, link: Record, agent: int) -> None:
    """Note that something is expected of a peer."""
    t.agents[agent].next_retry = min(t.agents[agent].next_retry, link.retry_at)
    wake_by(t, agent, flush_at(t, link, agent))


@inlined
def expect(t: Tables, link: Record, now: float) -> None:
    """Wait for something new to be acknowledged, as for an answer (`Retransmit.expect`)."""
    link.wait = first_wait(link.mean_wait, link.deviation, link.filled, t.world.first, t.world.least, t.world.longest)
    link.sent_at = now
    link.retry_at = now + link.wait


@inlined
def shared(t: Tables, link: Record, pair: Record, agent: int, peer: int, now: float) -> None:
    """Wait for the answer to a fresh share, which has its number (`Retransmit.shared`)."""
    link.phase = codes.WAITING
    link.shared_at = now
    link.filled = np.float64(threshold_at(t, agent, peer, max(1, pair.share_number - 1)))
    link.attempts = 0
    link.can_be_timed = True
    expect(t, link, now)
    schedule(t, link, agent)


@compiled
def expect_from_all(t: Tables, agent: int, now: float) -> None:
    """Give every peer the usual time to acknowledge something new; a wait that is under way goes on."""
    for peer in range(t.world.agents):
        if peer != agent:
            link = t.links[agent, peer]
            if link.retry_at <= now:
                expect(t, link, now)
            schedule(t, link, agent)


@inlined
def answered(link: Record, now: float) -> None:
    """Learn how long an answer took (`Retransmit.answered`)."""
    if link.phase == codes.OPEN or not link.can_be_timed:
        return
    wait = max(0.0, now - link.shared_at) / link.filled
    link.deviation = learned_deviation(link.mean_wait, link.deviation, wait)
    link.mean_wait = learned_mean(link.mean_wait, wait)
