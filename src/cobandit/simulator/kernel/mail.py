"""Messages under way, messages kept for agents that are away, and the rows of the trace, compiled."""

from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.tables import Record, Tables

UNDER_WAY, KEPT = range(2)
"""The two halves of the mail."""


@inlined
def write(
    row: Record, arrival: int, kind: int, sender: int, receiver: int, base: int, version: int, number: int
) -> None:
    """Fill a message."""
    row.arrival = arrival
    row.kind = kind
    row.sender = sender
    row.receiver = receiver
    row.since = base
    row.version = version
    row.number = number


@inlined
def place_of(t: Tables, number: int) -> int:
    """Return where in the ring a message under way stands."""
    return number & (t.mail.shape[1] - 1)


@inlined
def first_mail(t: Tables) -> Record:
    """Return the message that is to arrive next, if there is one."""
    return t.mail[UNDER_WAY, place_of(t, t.world.mail_first)]


@inlined
def post(t: Tables, arrival: int, kind: int, sender: int, receiver: int, base: int, version: int, number: int) -> None:
    """Put a message on its way (`Network.send`)."""
    if t.world.mail_end - t.world.mail_first == t.mail.shape[1]:
        t.world.overflow = True
        return
    write(t.mail[UNDER_WAY, place_of(t, t.world.mail_end)], arrival, kind, sender, receiver, base, version, number)
    t.world.mail_end += 1


@inlined
def keep(t: Tables, kind: int, sender: int, receiver: int, base: int, version: int, number: int) -> None:
    """Keep a message whose receiver is away (`Network.keep`)."""
    if t.world.kept_end == t.mail.shape[1]:
        t.world.overflow = True
        return
    write(t.mail[KEPT, t.world.kept_end], 0, kind, sender, receiver, base, version, number)
    t.world.kept_end += 1


@inlined
def speak(t: Tables, agent: Record, slot: int) -> None:
    """Count a slot in which an agent or a relay sends something, once."""
    if agent.spoke_at != slot:
        agent.spoke_at = slot
        t.world.agent_rounds += 1


@inlined
def tell(t: Tables, slot: int, kind: int, agent: int, other: int, a: int, b: int, c: int) -> None:
    """Write a row of the trace, if there is to be one."""
    if t.trace.shape[0] == 0:
        return
    if t.world.trace_end == t.trace.shape[0]:
        t.world.overflow = True
        return
    row = t.trace[t.world.trace_end]
    row[0], row[1], row[2], row[3], row[4], row[5], row[6] = slot, kind, agent, other, a, b, c
    t.world.trace_end += 1
