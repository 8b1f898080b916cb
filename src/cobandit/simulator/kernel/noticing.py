"""Notices, compiled: arms are eliminated, agents leave and join, and messages that wait are handed over."""

from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.choosing import budget, highest_lower_bound, is_dominated, may_drop
from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.mail import KEPT, keep, post, speak, tell
from cobandit.simulator.kernel.sizes import notice_size
from cobandit.simulator.kernel.tables import Record, Tables
from cobandit.simulator.kernel.talking import JOINED, LEFT, is_told, merge, send_share, share_received, take

_ELIMINATION, _DELIVERY = int(Kind.ELIMINATION), int(Kind.DELIVERY)


@inlined
def eliminate(t: Tables, slot: int, agent: int) -> None:
    """Drop every candidate that is surely worse (`AAE.survivors`); the last one stays."""
    row, count = t.agents[agent].row, t.agents[agent].arm_count
    t.world.dropped = 0
    spend = budget(t, agent)
    if spend == 0.0 or t.agents[row].candidates == 1:
        return
    if not t.world.graded and not may_drop(t, row, count, spend):
        return
    highest = highest_lower_bound(t, row, count, spend)
    for position in range(count):
        own = t.own_arms[row, position]
        if own.candidate and t.agents[row].candidates > 1 and is_dominated(t, row, position, spend, highest):
            own.candidate = False
            t.agents[row].candidates -= 1
            t.dropped[t.world.dropped] = own.arm
            t.world.dropped += 1
            tell(t, slot, _ELIMINATION, agent, own.arm, t.agents[row].candidates, 0, 0)


@inlined
def announce_eliminations(t: Tables, slot: int, agent: int) -> None:
    """Broadcast the arms that this decision dropped to everyone who is told (`Endpoint.eliminate`)."""
    for place in range(t.world.dropped):
        for peer in range(t.world.agents):
            if peer != agent and is_told(t, agent, peer, t.dropped[place]):
                notify(t, slot, codes.ELIMINATED, agent, peer, t.dropped[place])


@inlined
def notify(t: Tables, slot: int, kind: int, sender: int, receiver: int, arm: int) -> None:
    """Send a notice: an arm was eliminated, or an agent joins or leaves."""
    t.bonds[sender, receiver].notices += 1
    speak(t, t.agents[sender], slot)
    if t.world.counts_sizes:
        number = t.agents[sender].notices + (1 if kind == codes.LEAVE else 0)
        t.world.bytes += notice_size(t, kind, sender, receiver, arm, number, (0, 0))
    if t.world.delay > 0:
        post(t, slot + t.world.delay, kind, sender, receiver, arm, 0, 0)
    elif t.agents[receiver].away:
        keep(t, kind, sender, receiver, arm, 0, 0)
    else:
        receive_notice(t, kind, sender, receiver, arm)


@inlined
def receive_notice(t: Tables, kind: int, sender: int, receiver: int, arm: int) -> None:
    """Take a notice (`Endpoint.receive`)."""
    if kind == codes.JOIN:
        take(t, JOINED, receiver, sender, False)
    elif kind == codes.LEAVE:
        take(t, LEFT, receiver, sender, False)
    elif t.world.same_arms:
        row = t.agents[receiver].row
        own = t.own_arms[row, t.seen[receiver, arm].position]
        if own.candidate and t.agents[row].candidates > 1:
            own.candidate = False
            t.agents[row].candidates -= 1
    else:
        t.bonds[receiver, sender].believed_candidates -= 1


@inlined
def deliver(t: Tables, slot: int, message: Record) -> None:
    """Hand a message over, or keep it if its receiver is away."""
    kind, sender, receiver = message.kind, message.sender, message.receiver
    base, version, number = message.since, message.version, message.number
    if t.agents[receiver].away:
        keep(t, kind, sender, receiver, base, version, number)
    elif kind == codes.SHARE:
        tell(t, slot, _DELIVERY, receiver, sender, number, 0, 0)
        merge(t, sender, receiver, base, version)
        if share_received(t, receiver, sender):
            send_share(t, slot, receiver, sender, True)
    else:
        receive_notice(t, kind, sender, receiver, base)


@inlined
def notify_all(t: Tables, slot: int, agent: int, leaves: bool) -> None:
    """Tell everybody that an agent leaves or is back."""
    t.agents[agent].notices += 0 if leaves else 2
    for peer in range(t.world.agents):
        if peer != agent:
            notify(t, slot, codes.LEAVE if leaves else codes.JOIN, agent, peer, 0)


@inlined
def deliver_kept(t: Tables, slot: int, agent: int) -> None:
    """Hand over, in order, what was kept for an agent that is back."""
    before = t.world.kept_end
    for place in range(before):
        if t.mail[KEPT, place].receiver == agent:
            deliver(t, slot, t.mail[KEPT, place])
    left = 0
    for place in range(t.world.kept_end):
        if place >= before or t.mail[KEPT, place].receiver != agent:
            t.mail[KEPT, left] = t.mail[KEPT, place]
            left += 1
    t.world.kept_end = left
