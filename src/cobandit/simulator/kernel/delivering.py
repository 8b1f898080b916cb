"""Sending and delivering where messages may be lost, compiled: the outbox of `ReferenceRun` at work."""

import numpy as np

from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.hearing import (
    greet,
    receive_acknowledgement,
    receive_elimination,
    receive_share,
)
from cobandit.simulator.kernel.jit import compiled
from cobandit.simulator.kernel.lossy import (
    EMPTY,
    account,
    clear_letters,
    delays,
    keep_letter,
    send,
    take_copy,
    take_next,
    tell_loss,
    turn_round,
)
from cobandit.simulator.kernel.mail import KEPT, tell
from cobandit.simulator.kernel.tables import Tables
from cobandit.simulator.kernel.talking import LEFT, take

_DELIVERY = int(Kind.DELIVERY)


@compiled
def deliver_current(t: Tables, slot: int) -> None:
    """Hand the current letter over, or keep it if its receiver is away (`ReferenceRun._deliver`)."""
    letter = t.letters[t.world.current]
    sender, receiver = letter.sender, letter.receiver
    if t.agents[receiver].away:
        keep_letter(t, letter)
        return
    below = t.world.letters_end
    if letter.kind == codes.SHARE:
        tell(t, slot, _DELIVERY, receiver, sender, letter.number, 0, 0)
        receive_share(t, np.float64(slot))
    elif letter.kind == codes.ACKNOWLEDGEMENT:
        receive_acknowledgement(t, letter)
    elif letter.kind == codes.ELIMINATED:
        receive_elimination(t, letter)
    else:
        link = t.links[receiver, sender]
        if letter.notice > link.peer_notice:
            link.peer_notice = letter.notice
            t.agents[receiver].number += 1
            if letter.kind == codes.JOIN:
                greet(t, receiver, sender)
            else:
                take(t, LEFT, receiver, sender, False)
                link.present = False
        if letter.claim_from <= link.held:
            link.held = max(link.held, letter.claim_upto)
    turn_round(t, below)


@compiled
def send_all(t: Tables, slot: int) -> None:
    """Send what is on the stack, and what comes of it (`ReferenceRun._send_all`)."""
    while t.world.letters_end > EMPTY and not t.world.overflow:
        letter = take_next(t)
        account(t, letter, slot)
        first, second = delays(t, slot, letter.sender, letter.receiver)
        if first < 0:
            tell_loss(t, slot, letter.sender, letter.receiver)
        for delay in (first, second):
            if delay > 0:
                send(t, letter, slot + delay)
            elif delay == 0:
                deliver_current(t, slot)
    clear_letters(t)


@compiled
def take_kept(t: Tables, agent: int) -> bool:
    """Take the next message that was kept for an agent that is back; it is the current one then."""
    for place in range(t.world.kept_end):
        if t.mail[KEPT, place].receiver == agent:
            take_copy(t, t.mail[KEPT, place])
            t.world.kept_end -= 1
            for later in range(place, t.world.kept_end):
                t.mail[KEPT, later] = t.mail[KEPT, later + 1]
            return True
    return False
