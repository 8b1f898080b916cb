"""Messages under way, messages kept for agents that are away, and the rows of the trace, compiled."""

from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.tables import Record, Table

UNDER_WAY, KEPT = range(2)
"""The two halves of the mail."""


@compiled
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


@compiled
def post(
    world: Record,
    mail: Table,
    arrival: int,
    kind: int,
    sender: int,
    receiver: int,
    base: int,
    version: int,
    number: int,
) -> None:
    """Put a message on its way (`Network.send`)."""
    if world.mail_end - world.mail_first == mail.shape[1]:
        world.overflow = True
        return
    write(mail[UNDER_WAY, world.mail_end % mail.shape[1]], arrival, kind, sender, receiver, base, version, number)
    world.mail_end += 1


@compiled
def keep(
    world: Record, mail: Table, kind: int, sender: int, receiver: int, base: int, version: int, number: int
) -> None:
    """Keep a message whose receiver is away (`Network.keep`)."""
    if world.kept_end == mail.shape[1]:
        world.overflow = True
        return
    write(mail[KEPT, world.kept_end], 0, kind, sender, receiver, base, version, number)
    world.kept_end += 1


@inlined
def tell(world: Record, trace: Table, slot: int, kind: int, agent: int, other: int, a: int, b: int, c: int) -> None:
    """Write a row of the trace, if there is to be one."""
    if trace.shape[0] == 0:
        return
    if world.trace_end == trace.shape[0]:
        world.overflow = True
        return
    row = trace[world.trace_end]
    row[0], row[1], row[2], row[3], row[4], row[5], row[6] = slot, kind, agent, other, a, b, c
    world.trace_end += 1
