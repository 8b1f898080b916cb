"""What is heard where messages may be lost, compiled: `_receive_share` and its kin, of either endpoint."""

import numpy as np

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import compiled
from cobandit.simulator.kernel.lossy import CURRENT, new_letter
from cobandit.simulator.kernel.saying import repeat, share, write_receipt
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Table
from cobandit.simulator.kernel.talking import demand, merge, settled, share_received
from cobandit.simulator.kernel.waiting import answered, eliminated, has_unsaid, owes, schedule


@compiled
def follow(
    world: Record,
    agents: Table,
    bonds: Table,
    seen: Table,
    own_arms: Table,
    believed: Table,
    gone: Table,
    agent: int,
    peer: int,
    arm: int,
) -> None:
    """Take it that a peer no longer considers an arm (`Endpoint._follow`)."""
    if not world.same_arms:
        bond = bonds[agent, peer]
        if bond.believed_candidates > 1 and believed[agent, peer, arm]:
            believed[agent, peer, arm] = False
            bond.believed_candidates -= 1
        return
    own = own_arms[agent, seen[agent, arm].position]
    if own.candidate and agents[agent].candidates > 1:
        gone[agent, eliminated(agents, agent)] = arm
        own.candidate = False
        agents[agent].candidates -= 1


@compiled
def greet(
    world: Record,
    agents: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    agent: int,
    peer: int,
) -> None:
    """Take it that a known peer is here again (`_greet` of either endpoint)."""
    demand(demanded, agent, peer)
    link = links[agent, peer]
    link.present = True
    if world.tolerant:
        link.phase = codes.OPEN
        link.is_unheard = link.acknowledged_notice < agents[agent].notices
        if owes(world, agents, bonds, link, agent, peer) or has_unsaid(world, agents, bonds, seen, link, agent, peer):
            schedule(world, agents, link, agent)


@compiled
def merge_listed(
    agents: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    counted: Table,
    sender: int,
    receiver: int,
    base: int,
    version: int,
) -> None:
    """Add what a share lists to what the receiver knows, though shares before it may be missing (`Ledger.merge`).

    A share lists cumulative tallies of the arms that changed after its base. So of an arm that is listed everything is
    known up to the share's version, and an arm that is not listed is as it was.
    """
    begin = agents[sender].history
    for place in range(begin + base, begin + version):
        arm = history[place] >> 1
        position = seen[receiver, arm].position
        if position < 0:
            continue
        by_then = ONE_OBSERVATION * seen[sender, arm].pulls + seen[sender, arm].rewards
        for later in range(begin + version, begin + agents[sender].own_pulls):
            if history[later] >> 1 == arm:
                by_then -= ONE_OBSERVATION + np.int64(history[later] & 1)
        news = by_then - counted[receiver, sender, arm]
        counted[receiver, sender, arm] = by_then
        knowledge[receiver, position] += news
        agents[receiver].observed += news >> 32


@compiled
def receive_share(
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
    own_arms: Table,
    links: Table,
    letters: Table,
    counted: Table,
    believed: Table,
    gone: Table,
    now: float,
) -> None:
    """Take the current letter, a share (`_receive_share` of either endpoint)."""
    letter = letters[CURRENT]
    agent, peer = letter.receiver, letter.sender
    link, number = links[agent, peer], letter.number
    if not world.tolerant:
        if number <= link.seen:
            return
        merge_listed(agents, knowledge, seen, history, counted, peer, agent, letter.since, letter.version)
        link.seen = number
        if share_received(world, agents, pairs, bonds, demanded, usable, thresholds, agent, peer):
            share(world, agents, pairs, links, usable, thresholds, letters, agent, peer, True, now)
        return
    hear(world, agents, pairs, bonds, demanded, seen, links, believed, letter)
    # Nobody forgets anything here, so what a share builds on is always held: `Ledger.is_usable` need not be asked.
    if letter.version > link.held:
        merge(world, agents, knowledge, seen, history, peer, agent, np.int64(link.held), letter.version)
        link.held = letter.version
    for place in range(letter.gone):
        follow(world, agents, bonds, seen, own_arms, believed, gone, agent, peer, gone[peer, place])
    link.peer_gone = max(link.peer_gone, letter.gone)
    if number > link.seen:
        take_turn(
            world, agents, pairs, bonds, demanded, usable, thresholds, links, letters,
            agent, peer, number, letter.seen, now,
        )  # fmt: skip
    elif letter.attempt > 0:
        take_repetition(
            world, agents, pairs, bonds, usable, thresholds, links, letters,
            agent, peer, letter.seen, letter.is_answer, now,
        )  # fmt: skip


@compiled
def take_turn(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    usable: Table,
    thresholds: Table,
    links: Table,
    letters: Table,
    agent: int,
    peer: int,
    number: int,
    seen_by_peer: int,
    now: float,
) -> None:
    """Take a fresh share: it asks for one of this agent's (`TolerantEndpoint._take_turn`)."""
    link = links[agent, peer]
    if seen_by_peer >= pairs[agent, peer].shares:
        answered(link, now)
    link.seen = number
    if settled(world, agents, bonds, agent, peer):
        if link.acknowledged_gone < eliminated(agents, agent):
            repeat(world, agents, pairs, links, usable, thresholds, letters, agent, peer, now, True)
    elif share_received(world, agents, pairs, bonds, demanded, usable, thresholds, agent, peer):
        share(world, agents, pairs, links, usable, thresholds, letters, agent, peer, True, now)
    else:
        link.phase = codes.OPEN


@compiled
def take_repetition(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    usable: Table,
    thresholds: Table,
    links: Table,
    letters: Table,
    agent: int,
    peer: int,
    seen_by_peer: int,
    is_to_an_answer: bool,
    now: float,
) -> None:
    """Answer what was said again (`TolerantEndpoint._take_repetition`)."""
    link = links[agent, peer]
    is_missing = link.phase == codes.WAITING and seen_by_peer < pairs[agent, peer].shares
    if settled(world, agents, bonds, agent, peer):
        is_missing = link.acknowledged_gone < eliminated(agents, agent)
    if is_missing and not is_to_an_answer:
        repeat(world, agents, pairs, links, usable, thresholds, letters, agent, peer, now, True)
    else:
        write_receipt(link, new_letter(world, letters, codes.ACKNOWLEDGEMENT, agent, peer))


@compiled
def receive_acknowledgement(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    believed: Table,
    letter: Record,
) -> None:
    """Take a bare acknowledgement (`TolerantEndpoint._receive_acknowledgement`)."""
    link = links[letter.receiver, letter.sender]
    is_seen = letter.seen >= pairs[letter.receiver, letter.sender].shares
    if is_seen and link.phase == codes.WAITING and link.attempts == 1:
        link.can_be_timed = True
    hear(world, agents, pairs, bonds, demanded, seen, links, believed, letter)


@compiled
def hear(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    believed: Table,
    letter: Record,
) -> None:
    """Take what every message says: what its sender has of the receiver's (`TolerantEndpoint._hear`)."""
    agent, peer = letter.receiver, letter.sender
    link = links[agent, peer]
    if not link.present and link.peer_notice % 2 == 0:
        greet(world, agents, bonds, demanded, seen, links, agent, peer)
    link.acknowledged_number = max(link.acknowledged_number, letter.seen)
    link.acknowledged_version = max(link.acknowledged_version, letter.held)
    link.acknowledged_gone = max(link.acknowledged_gone, letter.known_gone)
    link.acknowledged_notice = max(link.acknowledged_notice, letter.known_notice)
    is_new, link.is_heard = not link.is_heard, True
    if is_new and believed.shape[0] > 0:  # what notices said until now may have been said by another boot
        bonds[agent, peer].believed_candidates = agents[peer].arm_count
        for arm in range(world.arms):
            believed[agent, peer, arm] = seen[peer, arm].position >= 0
    link.is_unheard = (link.is_unheard or is_new) and link.acknowledged_notice < agents[agent].notices
    if link.acknowledged_number >= pairs[agent, peer].shares and link.phase == codes.WAITING:
        link.phase = codes.TRUSTING
    if is_new and (
        owes(world, agents, bonds, link, agent, peer) or has_unsaid(world, agents, bonds, seen, link, agent, peer)
    ):
        schedule(world, agents, link, agent)
