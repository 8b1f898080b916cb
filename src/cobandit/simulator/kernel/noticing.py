"""Notices, compiled: arms are eliminated, agents leave and join, and messages that wait are handed over."""

from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.choosing import budget, highest_lower_bound, is_dominated
from cobandit.simulator.kernel.jit import compiled
from cobandit.simulator.kernel.mail import KEPT, keep, post, tell
from cobandit.simulator.kernel.sizes import notice_size
from cobandit.simulator.kernel.tables import Record, Table
from cobandit.simulator.kernel.talking import demand, merge, send_share, share_received, withdraw

_ELIMINATION, _DELIVERY, _LEAVE = int(Kind.ELIMINATION), int(Kind.DELIVERY), int(Kind.LEAVE)


@compiled
def eliminate(
    world: Record,
    agents: Table,
    knowledge: Table,
    own_arms: Table,
    dropped: Table,
    trace: Table,
    slot: int,
    agent: int,
) -> None:
    """Drop every candidate that is surely worse (`AAE.survivors`); the last one stays."""
    row, count = agents[agent].row, agents[agent].arm_count
    world.dropped = 0
    spend = budget(world, agents, agent)
    if spend == 0.0 or agents[row].candidates == 1:
        return
    highest = highest_lower_bound(knowledge[row], count, spend)
    for position in range(count):
        own = own_arms[row, position]
        if own.candidate and agents[row].candidates > 1 and is_dominated(knowledge[row, position], spend, highest):
            own.candidate = False
            agents[row].candidates -= 1
            dropped[world.dropped] = own.arm
            world.dropped += 1
            tell(world, trace, slot, _ELIMINATION, agent, own.arm, agents[row].candidates, 0, 0)


@compiled
def announce_eliminations(
    world: Record,
    agents: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    mail: Table,
    own_arms: Table,
    dropped: Table,
    slot: int,
    agent: int,
) -> None:
    """Broadcast the arms that this decision dropped to everyone with an arm in common."""
    for place in range(world.dropped):
        for peer in range(world.agents):
            if peer != agent and bonds[agent, peer].common > 0:
                notify(
                    world, agents, bonds, demanded, seen, mail, own_arms,
                    slot, codes.ELIMINATED, agent, peer, dropped[place],
                )  # fmt: skip


@compiled
def notify(
    world: Record,
    agents: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    mail: Table,
    own_arms: Table,
    slot: int,
    kind: int,
    sender: int,
    receiver: int,
    arm: int,
) -> None:
    """Send a notice: an arm was eliminated, or an agent joins or leaves."""
    bonds[sender, receiver].notices += 1
    if world.counts_sizes:
        number = agents[sender].notices + (1 if kind == codes.LEAVE else 0)
        world.bytes += notice_size(agents, seen, kind, sender, receiver, arm, number, 0, 0)
    if world.delay > 0:
        post(world, mail, slot + world.delay, kind, sender, receiver, arm, 0, 0)
    elif agents[receiver].away:
        keep(world, mail, kind, sender, receiver, arm, 0, 0)
    else:
        receive_notice(world, agents, bonds, demanded, seen, own_arms, kind, sender, receiver, arm)


@compiled
def receive_notice(
    world: Record,
    agents: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    own_arms: Table,
    kind: int,
    sender: int,
    receiver: int,
    arm: int,
) -> None:
    """Take a notice (`Endpoint.receive`)."""
    if kind == codes.JOIN:
        demand(demanded, receiver, sender)
    elif kind == codes.LEAVE:
        withdraw(demanded, receiver, sender)
    elif world.same_arms:
        row = agents[receiver].row
        own = own_arms[row, seen[receiver, arm].position]
        if own.candidate and agents[row].candidates > 1:
            own.candidate = False
            agents[row].candidates -= 1
    else:
        bonds[receiver, sender].believed_candidates -= 1


@compiled
def deliver(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    usable: Table,
    thresholds: Table,
    mail: Table,
    trace: Table,
    own_arms: Table,
    slot: int,
    message: Record,
) -> None:
    """Hand a message over, or keep it if its receiver is away."""
    kind, sender, receiver = message.kind, message.sender, message.receiver
    base, version, number = message.since, message.version, message.number
    if agents[receiver].away:
        keep(world, mail, kind, sender, receiver, base, version, number)
    elif kind == codes.SHARE:
        tell(world, trace, slot, _DELIVERY, receiver, sender, number, 0, 0)
        merge(world, agents, knowledge, seen, history, sender, receiver, base, version)
        if share_received(world, agents, pairs, bonds, demanded, usable, thresholds, receiver, sender):
            send_share(
                world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                slot, receiver, sender, True,
            )  # fmt: skip
    else:
        receive_notice(world, agents, bonds, demanded, seen, own_arms, kind, sender, receiver, base)


@compiled
def move(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    usable: Table,
    thresholds: Table,
    mail: Table,
    trace: Table,
    own_arms: Table,
    slot: int,
    agent: int,
    kind: int,
) -> None:
    """Leave, or join again (`ReferenceRun._move`): what was kept for an agent that is back is handed over in order."""
    leaves = kind == _LEAVE
    tell(world, trace, slot, kind, agent, 0, 0, 0, 0)
    agents[agent].away = leaves
    agents[agent].notices += 0 if leaves else 2
    for peer in range(world.agents):
        if peer != agent:
            said = codes.LEAVE if leaves else codes.JOIN
            notify(world, agents, bonds, demanded, seen, mail, own_arms, slot, said, agent, peer, 0)
    if leaves:
        return
    before = world.kept_end
    for place in range(before):
        if mail[KEPT, place].receiver == agent:
            deliver(
                world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail,
                trace, own_arms, slot, mail[KEPT, place],
            )  # fmt: skip
    left = 0
    for place in range(world.kept_end):
        if place >= before or mail[KEPT, place].receiver != agent:
            mail[KEPT, left] = mail[KEPT, place]
            left += 1
    world.kept_end = left
