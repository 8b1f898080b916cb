"""What is heard where messages may be lost, compiled: `Endpoint._receive_share` and its kin."""

import numpy as np

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import compiled
from cobandit.simulator.kernel.lossy import CURRENT, new_letter
from cobandit.simulator.kernel.saying import repeat, share, write_receipt
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Table
from cobandit.simulator.kernel.talking import demand, merge, settled, share_received
from cobandit.simulator.kernel.waiting import answered, eliminated, find_urgent, has_unsaid, owes, schedule


@compiled
def is_heeded(link: Record, letter: Record) -> bool:
    """Return whether it is known which arms the sender serves (`credibility.is_heeded`). There is one session here."""
    is_vouched_for = link.peer_notice == 0 and not link.is_heard and not letter.is_introduced
    return is_vouched_for or link.peer_notice > 0 or link.is_heard or letter.notice > 0


@compiled
def learn_elimination(bonds: Table, believed: Table, agent: int, peer: int, arm: int) -> bool:
    """Note that a peer no longer considers an arm. Return whether that is new (`Replica.merge`)."""
    if believed.shape[0] == 0:
        return True  # all have the same arms, and nothing is acknowledged: nobody needs to know who said it
    if not believed[agent, peer, arm]:
        return False
    believed[agent, peer, arm] = False
    bonds[agent, peer].believed_candidates -= 1
    return True


@compiled
def follow(world: Record, agents: Table, seen: Table, own_arms: Table, gone: Table, agent: int, arm: int) -> None:
    """Drop an arm that a peer has dropped, if all have the same arms (`Candidates.follow`)."""
    if not world.same_arms:
        return
    own = own_arms[agent, seen[agent, arm].position]
    if own.candidate and agents[agent].candidates > 1:
        gone[agent, eliminated(agents, agent)] = arm
        own.candidate = False
        agents[agent].candidates -= 1
        agents[agent].number += 1
        agents[agent].eliminated_at = agents[agent].number


@compiled
def follow_known(
    world: Record, agents: Table, seen: Table, own_arms: Table, believed: Table, gone: Table, agent: int, peer: int
) -> None:
    """Drop all that a peer has dropped, now that it has said which arms it serves."""
    for arm in range(world.arms if believed.shape[0] > 0 else 0):
        if seen[peer, arm].position >= 0 and not believed[agent, peer, arm]:
            follow(world, agents, seen, own_arms, gone, agent, arm)


@compiled
def receive_elimination(
    world: Record,
    agents: Table,
    bonds: Table,
    seen: Table,
    own_arms: Table,
    links: Table,
    believed: Table,
    gone: Table,
    letter: Record,
) -> None:
    """Take the notice of an elimination (`Endpoint._receive_notice`)."""
    agent, peer, arm = letter.receiver, letter.sender, letter.since
    if learn_elimination(bonds, believed, agent, peer, arm):
        agents[agent].number += 1
        if not world.tolerant or is_heeded(links[agent, peer], letter):
            follow(world, agents, seen, own_arms, gone, agent, arm)


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
    """A known peer is here again (`Endpoint._greet`)."""
    demand(demanded, agent, peer)
    link = links[agent, peer]
    link.present = True
    if world.tolerant:
        link.phase = codes.OPEN
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
    """Add what a share lists to what the receiver knows, though shares before it may be missing (`Replica.merge`).

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
    """Take the current letter, a share (`Endpoint._receive_share`)."""
    letter = letters[CURRENT]
    agent, peer = letter.receiver, letter.sender
    link, number = links[agent, peer], letter.number
    if not world.tolerant:
        if number <= link.seen:
            return
        merge_listed(agents, knowledge, seen, history, counted, peer, agent, letter.since, letter.version)
        link.seen = number
        if share_received(world, agents, pairs, bonds, demanded, usable, thresholds, agent, peer):
            share(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, peer, True, now)
        return
    heeded = is_heeded(link, letter)
    if heeded:
        hear(world, agents, pairs, bonds, demanded, seen, links, letter)
    if letter.version > link.held_version:
        known = agents[agent].observed
        merge(world, agents, knowledge, seen, history, peer, agent, np.int64(link.held_version), letter.version)
        link.held_version = letter.version
        agents[agent].number += agents[agent].observed - known
    is_new = False
    for place in range(letter.gone):
        is_new = learn_elimination(bonds, believed, agent, peer, gone[peer, place]) or is_new
    agents[agent].number += is_new
    if letter.notice > link.peer_notice:
        link.peer_notice = letter.notice
        agents[agent].number += 1
        greet(world, agents, bonds, demanded, seen, links, agent, peer)
        follow_known(world, agents, seen, own_arms, believed, gone, agent, peer)
    if not heeded:
        return
    for place in range(letter.gone if is_new else 0):
        follow(world, agents, seen, own_arms, gone, agent, gone[peer, place])
    # Nobody forgets anything here, so what a share builds on is always held: the base need not be asked for.
    link.held = max(link.held, letter.claim_upto)
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
    """Take a fresh share: it asks for one of this agent's (`Endpoint._take_turn`)."""
    link = links[agent, peer]
    if seen_by_peer >= pairs[agent, peer].shares:
        answered(link, now)
    link.seen = number
    if settled(world, agents, bonds, agent, peer):
        if agents[agent].eliminated_at > link.acknowledged:
            repeat(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, peer, now, True)
    elif share_received(world, agents, pairs, bonds, demanded, usable, thresholds, agent, peer):
        share(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, peer, True, now)
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
    """Answer what was said again (`Endpoint._take_repetition`)."""
    link = links[agent, peer]
    is_missing = link.phase == codes.WAITING and seen_by_peer < pairs[agent, peer].shares
    if settled(world, agents, bonds, agent, peer):
        is_missing = agents[agent].eliminated_at > link.acknowledged
    if is_missing and not is_to_an_answer:
        repeat(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, peer, now, True)
    else:
        write_receipt(link, new_letter(world, agents, letters, codes.ACKNOWLEDGEMENT, agent, peer))


@compiled
def receive_acknowledgement(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    letter: Record,
) -> None:
    """Take a bare acknowledgement (`Endpoint._receive_acknowledgement`)."""
    link = links[letter.receiver, letter.sender]
    if not is_heeded(link, letter):
        return
    is_seen = letter.seen >= pairs[letter.receiver, letter.sender].shares
    if is_seen and link.phase == codes.WAITING and link.attempts == 1:
        link.can_be_timed = True
    hear(world, agents, pairs, bonds, demanded, seen, links, letter)


@compiled
def hear(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    letter: Record,
) -> None:
    """Take what every message says: what its sender has of the receiver's (`Endpoint._hear`)."""
    agent, peer = letter.receiver, letter.sender
    link = links[agent, peer]
    if not link.present and link.peer_notice % 2 == 0:
        greet(world, agents, bonds, demanded, seen, links, agent, peer)
    link.seen_by_peer = max(link.seen_by_peer, letter.seen)
    link.confirmed = max(link.confirmed, letter.held_version)
    link.acknowledged = max(link.acknowledged, letter.held)
    is_first, link.is_heard = not link.is_heard, True
    if link.seen_by_peer >= pairs[agent, peer].shares and link.phase == codes.WAITING:
        link.phase = codes.TRUSTING
    if is_first:
        find_urgent(agents, bonds, link, agent, peer)
        if owes(world, agents, bonds, link, agent, peer) or has_unsaid(world, agents, bonds, seen, link, agent, peer):
            schedule(world, agents, link, agent)
