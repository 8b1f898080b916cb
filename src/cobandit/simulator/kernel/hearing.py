"""What is heard where messages may be lost, compiled: `Endpoint._receive_share` and its kin."""

import numpy as np

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.lossy import new_letter
from cobandit.simulator.kernel.saying import repeat, share, write_receipt
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Tables
from cobandit.simulator.kernel.talking import JOINED, merge, settled, share_received, take
from cobandit.simulator.kernel.waiting import answered, eliminated, find_urgent, has_unsaid, owes, schedule


@inlined
def is_heeded(link: Record, letter: Record) -> bool:
    """Return whether it is known which arms the sender serves (`credibility.is_heeded`). There is one session here."""
    return not letter.is_introduced or letter.notice > 0 or link.peer_notice > 0 or link.is_heard


@inlined
def learn_elimination(t: Tables, agent: int, peer: int, arm: int) -> bool:
    """Note that a peer no longer considers an arm. Return whether that is new (`Replica.merge`)."""
    if t.believed.shape[0] == 0:
        return True  # all have the same arms, and nothing is acknowledged: nobody needs to know who said it
    if not t.believed[agent, peer, arm]:
        return False
    t.believed[agent, peer, arm] = False
    t.bonds[agent, peer].believed_candidates -= 1
    return True


@inlined
def follow(t: Tables, agent: int, arm: int) -> None:
    """Drop an arm that a peer has dropped, if all have the same arms (`Candidates.follow`)."""
    if not t.world.same_arms:
        return
    own = t.own_arms[agent, t.seen[agent, arm].position]
    if own.candidate and t.agents[agent].candidates > 1:
        t.gone[agent, eliminated(t, agent)] = arm
        own.candidate = False
        t.agents[agent].candidates -= 1
        t.agents[agent].number += 1
        t.agents[agent].eliminated_at = t.agents[agent].number


@compiled
def receive_elimination(t: Tables, letter: Record) -> None:
    """Take the notice of an elimination (`Endpoint._receive_notice`)."""
    agent, peer, arm = letter.receiver, letter.sender, letter.since
    if t.world.tolerant and not is_heeded(t.links[agent, peer], letter):
        return
    if learn_elimination(t, agent, peer, arm):
        t.agents[agent].number += 1
        follow(t, agent, arm)


@compiled
def greet(t: Tables, agent: int, peer: int) -> None:
    """A known peer is here again (`Peers.greet`)."""
    take(t, JOINED, agent, peer, False)
    link = t.links[agent, peer]
    link.present = True
    if t.world.tolerant:
        link.phase = codes.OPEN
        if owes(t, link, agent, peer) or has_unsaid(t, link, agent, peer):
            schedule(t, link, agent)


@compiled
def merge_listed(t: Tables, sender: int, receiver: int, base: int, version: int) -> None:
    """Add what a share lists to what the receiver knows, though shares before it may be missing (`Replica.merge`).

    A share lists cumulative tallies of the arms that changed after its base. So of an arm that is listed everything is
    known up to the share's version, and an arm that is not listed is as it was.
    """
    begin = t.agents[sender].history
    for place in range(begin + base, begin + version):
        arm = t.history[place] >> 1
        position = t.seen[receiver, arm].position
        if position < 0:
            continue
        by_then = ONE_OBSERVATION * t.seen[sender, arm].pulls
        by_then += 0 if t.world.graded else t.seen[sender, arm].rewards
        for later in range(begin + version, begin + t.agents[sender].own_pulls):
            if t.history[later] >> 1 == arm:
                by_then -= ONE_OBSERVATION + np.int64(t.history[later] & 1)
        if t.world.graded:
            merge_rewards(t, sender, receiver, arm, version)
        news = by_then - t.counted[receiver, sender, arm]
        t.counted[receiver, sender, arm] = by_then
        t.knowledge[receiver, position] += news
        t.agents[receiver].observed += news >> 32


@compiled
def merge_rewards(t: Tables, sender: int, receiver: int, arm: int, version: int) -> None:
    """Add the rewards of an arm that a share lists, where they are not only 0 and 1."""
    begin, theirs = t.agents[sender].history, t.seen[sender, arm]
    rewards, squares = theirs.rewards, theirs.squares
    for later in range(begin + version, begin + t.agents[sender].own_pulls):
        if t.history[later] >> 1 == arm:
            units = np.int64(t.units[later])
            rewards -= units
            squares -= units * units // t.world.square_unit
    counted, known = t.counted_sums[receiver, sender, arm], t.sums[receiver, t.seen[receiver, arm].position]
    known.rewards += rewards - counted.rewards
    known.squares += squares - counted.squares
    counted.rewards, counted.squares = rewards, squares


@compiled
def receive_share(t: Tables, now: float) -> None:
    """Take the current letter, a share (`Endpoint._receive_share`)."""
    letter = t.letters[t.world.current]
    agent, peer = letter.receiver, letter.sender
    link, number = t.links[agent, peer], letter.number
    if not t.world.tolerant:
        if number <= link.seen:
            return
        merge_listed(t, peer, agent, letter.since, letter.version)
        link.seen = number
        if share_received(t, agent, peer):
            share(t, agent, peer, True, now)
        return
    hear(t, letter)  # a share is always heeded: its sender says who it is until that is acknowledged
    if letter.version > link.held_version:
        known = t.agents[agent].observed
        merge(t, peer, agent, np.int64(link.held_version), letter.version)
        link.held_version = letter.version
        t.agents[agent].number += t.agents[agent].observed - known
    is_new = False
    for place in range(letter.gone):
        is_new = learn_elimination(t, agent, peer, t.gone[peer, place]) or is_new
    t.agents[agent].number += is_new
    if letter.notice > link.peer_notice:
        link.peer_notice = letter.notice
        t.agents[agent].number += 1
        greet(t, agent, peer)
    for place in range(letter.gone if is_new else 0):
        follow(t, agent, t.gone[peer, place])
    # Nobody forgets anything here, so what a share builds on is always held: the base need not be asked for.
    link.held = max(link.held, letter.claim_upto)
    if number > link.seen:
        take_turn(t, agent, peer, number, letter.seen, now)
    elif letter.attempt > 0:
        take_repetition(t, agent, peer, letter.seen, letter.is_answer, now)


@compiled
def take_turn(t: Tables, agent: int, peer: int, number: int, seen_by_peer: int, now: float) -> None:
    """Take a fresh share: it asks for one of this agent's (`Endpoint._take_turn`)."""
    link = t.links[agent, peer]
    if seen_by_peer >= t.pairs[agent, peer].shares:
        answered(link, now)
    link.seen = number
    if settled(t, agent, peer):
        if t.agents[agent].eliminated_at > link.acknowledged:
            repeat(t, agent, peer, now, True)
    elif share_received(t, agent, peer):
        share(t, agent, peer, True, now)
    else:
        link.phase = codes.OPEN


@compiled
def take_repetition(t: Tables, agent: int, peer: int, seen_by_peer: int, is_to_an_answer: bool, now: float) -> None:
    """Answer what was said again (`Endpoint._take_repetition`)."""
    link = t.links[agent, peer]
    is_missing = link.phase == codes.WAITING and seen_by_peer < t.pairs[agent, peer].shares
    if settled(t, agent, peer):
        is_missing = t.agents[agent].eliminated_at > link.acknowledged
    if is_missing and not is_to_an_answer:
        repeat(t, agent, peer, now, True)
    else:
        write_receipt(link, new_letter(t, codes.ACKNOWLEDGEMENT, agent, peer))


@compiled
def receive_acknowledgement(t: Tables, letter: Record) -> None:
    """Take a bare acknowledgement (`Endpoint._receive_acknowledgement`)."""
    link = t.links[letter.receiver, letter.sender]
    if not is_heeded(link, letter):
        return
    is_seen = letter.seen >= t.pairs[letter.receiver, letter.sender].shares
    if is_seen and link.phase == codes.WAITING and link.attempts == 1:
        link.can_be_timed = True
    hear(t, letter)


@compiled
def hear(t: Tables, letter: Record) -> None:
    """Take what every message says: what its sender has of the receiver's (`Peers.hear`)."""
    agent, peer = letter.receiver, letter.sender
    link = t.links[agent, peer]
    if not link.present and link.peer_notice % 2 == 0:
        greet(t, agent, peer)
    link.seen_by_peer = max(link.seen_by_peer, letter.seen)
    link.confirmed = max(link.confirmed, letter.held_version)
    link.acknowledged = max(link.acknowledged, letter.held)
    is_first, link.is_heard = not link.is_heard, True
    if link.seen_by_peer >= t.pairs[agent, peer].shares and link.phase == codes.WAITING:
        link.phase = codes.TRUSTING
    if is_first:
        find_urgent(t, link, agent, peer)
        if owes(t, link, agent, peer) or has_unsaid(t, link, agent, peer):
            schedule(t, link, agent)
