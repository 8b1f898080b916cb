"""What is owed and for how long to wait, compiled: `Retransmit` and `Agenda`.

Functions carry the names of the readable methods, so that the two can be read side by side. Nobody restarts in a
simulated run, so there are no sessions and incarnations here.
"""

from cobandit.core import retransmit
from cobandit.core.retransmit import first_wait, learned_deviation, learned_mean
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import borrow, compiled
from cobandit.simulator.kernel.tables import Record, Table
from cobandit.simulator.kernel.talking import buffered, settled, threshold_at

for _formula in (retransmit.first_wait, retransmit.learned_mean, retransmit.learned_deviation):
    borrow(_formula)


@compiled
def eliminated(agents: Table, agent: int) -> int:
    """Return how many arms an agent no longer considers."""
    return agents[agent].arm_count - agents[agent].candidates


@compiled
def find_urgent(agents: Table, bonds: Table, link: Record, agent: int, peer: int) -> None:
    """Find out up to which number of the log there is something urgent for a peer."""
    link.urgent = agents[agent].presence_at
    if bonds[agent, peer].common > 0:
        link.urgent = max(link.urgent, agents[agent].own_eliminated_at)


@compiled
def owes(world: Record, agents: Table, bonds: Table, link: Record, agent: int, peer: int) -> bool:
    """Return whether the peer must acknowledge something."""
    if not link.present:
        return agents[agent].presence_at > link.acknowledged
    is_waiting = link.phase == codes.WAITING and not settled(world, agents, bonds, agent, peer)
    return is_waiting or link.urgent > link.acknowledged


@compiled
def has_unsaid(world: Record, agents: Table, bonds: Table, seen: Table, link: Record, agent: int, peer: int) -> bool:
    """Return whether the peer can use observations that it has not acknowledged."""
    if not link.present or settled(world, agents, bonds, agent, peer):
        return False
    for arm in range(world.arms):
        if seen[peer, arm].position >= 0 and seen[agent, arm].changed_at > link.confirmed:
            return True
    return False


@compiled
def has_reached(
    world: Record, agents: Table, pairs: Table, usable: Table, thresholds: Table, agent: int, peer: int
) -> bool:
    """Return whether the buffer holds enough for a share (`Exchange.has_reached`)."""
    pair = pairs[agent, peer]
    enough = threshold_at(world, agents, thresholds, agent, pair.share_number)
    return buffered(world, agents, pair, usable, agent, peer) >= enough


@compiled
def flush_at(world: Record, agents: Table, link: Record, agent: int) -> float:
    """Return when to send what is not acknowledged if nothing is observed until then."""
    quiet_since = max(link.sent_at, agents[agent].last_observed)
    return max(link.retry_at, quiet_since + world.tick)


@compiled
def wake_by(world: Record, agents: Table, agent: int, time: float) -> None:
    """Wake an agent no later than this."""
    agents[agent].wake_at = min(agents[agent].wake_at, time)
    world.next_wake = min(world.next_wake, agents[agent].wake_at)


@compiled
def schedule(world: Record, agents: Table, link: Record, agent: int) -> None:
    """Note that something is expected of a peer."""
    agents[agent].next_retry = min(agents[agent].next_retry, link.retry_at)
    wake_by(world, agents, agent, flush_at(world, agents, link, agent))


@compiled
def expect(world: Record, link: Record, now: float) -> None:
    """Wait for something new to be acknowledged, as for an answer (`Retransmit.expect`)."""
    link.wait = first_wait(link.mean_wait, link.deviation, link.filled, world.first, world.least, world.longest)
    link.sent_at = now
    link.retry_at = now + link.wait


@compiled
def expect_from_all(world: Record, agents: Table, links: Table, agent: int, now: float) -> None:
    """Give every peer the usual time to acknowledge something new; a wait that is under way goes on."""
    for peer in range(world.agents):
        if peer != agent:
            link = links[agent, peer]
            if link.retry_at <= now:
                expect(world, link, now)
            schedule(world, agents, link, agent)


@compiled
def answered(link: Record, now: float) -> None:
    """Learn how long an answer took (`Retransmit.answered`)."""
    if link.phase == codes.OPEN or not link.can_be_timed:
        return
    wait = max(0.0, now - link.shared_at) / link.filled
    link.deviation = learned_deviation(link.mean_wait, link.deviation, wait)
    link.mean_wait = learned_mean(link.mean_wait, wait)
