"""Sending and delivering where messages may be lost, compiled: the outbox of `ReferenceRun` at work."""

import numpy as np

from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.hearing import (
    follow_known,
    greet,
    receive_acknowledgement,
    receive_elimination,
    receive_share,
)
from cobandit.simulator.kernel.jit import compiled
from cobandit.simulator.kernel.lossy import CURRENT, SCRATCH, account, delays, keep_letter, send, tell_loss, turn_round
from cobandit.simulator.kernel.mail import KEPT, tell
from cobandit.simulator.kernel.tables import Record, Table
from cobandit.simulator.kernel.talking import withdraw

_DELIVERY = int(Kind.DELIVERY)


@compiled
def deliver_current(
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
    links: Table,
    letters: Table,
    counted: Table,
    believed: Table,
    gone: Table,
    slot: int,
) -> None:
    """Hand the current letter over, or keep it if its receiver is away (`ReferenceRun._deliver`)."""
    letter = letters[CURRENT]
    sender, receiver = letter.sender, letter.receiver
    if agents[receiver].away:
        keep_letter(world, mail, letter)
        return
    below = world.letters_end
    if letter.kind == codes.SHARE:
        tell(world, trace, slot, _DELIVERY, receiver, sender, letter.number, 0, 0)
        receive_share(
            world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, own_arms, links,
            letters, counted, believed, gone, np.float64(slot),
        )  # fmt: skip
    elif letter.kind == codes.ACKNOWLEDGEMENT:
        receive_acknowledgement(world, agents, pairs, bonds, demanded, seen, links, letter)
    elif letter.kind == codes.ELIMINATED:
        receive_elimination(world, agents, bonds, seen, own_arms, links, believed, gone, letter)
    else:
        link = links[receiver, sender]
        if letter.notice > link.peer_notice:
            link.peer_notice = letter.notice
            agents[receiver].number += 1
            if letter.kind == codes.JOIN:
                greet(world, agents, bonds, demanded, seen, links, receiver, sender)
            else:
                withdraw(demanded, receiver, sender)
                link.present = False
            follow_known(world, agents, seen, own_arms, believed, gone, receiver, sender)
        if letter.claim_from <= link.held:
            link.held = max(link.held, letter.claim_upto)
    turn_round(world, letters, below)


@compiled
def send_all(
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
    links: Table,
    letters: Table,
    counted: Table,
    believed: Table,
    gone: Table,
    cuts: Table,
    cut_from: Table,
    cut_until: Table,
    slot: int,
) -> None:
    """Send what is on the stack, and what comes of it (`ReferenceRun._send_all`)."""
    while world.letters_end > SCRATCH and not world.overflow:
        letters[CURRENT] = letters[world.letters_end]
        world.letters_end -= 1
        letter = letters[CURRENT]
        account(world, agents, bonds, seen, history, gone, letter, trace, slot)
        first, second = delays(world, agents, bonds, cuts, cut_from, cut_until, slot, letter.sender, letter.receiver)
        if first < 0:
            tell_loss(world, trace, slot, letter.sender, letter.receiver)
        for delay in (first, second):
            if delay > 0:
                send(world, mail, letter, slot + delay)
            elif delay == 0:
                deliver_current(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                    own_arms, links, letters, counted, believed, gone, slot,
                )  # fmt: skip


@compiled
def take_kept(world: Record, mail: Table, letters: Table, agent: int) -> bool:
    """Take the next message that was kept for an agent that is back; it is the current one then."""
    for place in range(world.kept_end):
        if mail[KEPT, place].receiver == agent:
            letters[CURRENT] = mail[KEPT, place]
            world.kept_end -= 1
            for later in range(place, world.kept_end):
                mail[KEPT, later] = mail[KEPT, later + 1]
            return True
    return False
