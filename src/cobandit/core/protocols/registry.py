"""Which protocols there are. To add one, add a file and a name here; for one of your own, call `register`."""

from cobandit.core.exchange import Sharing
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.core.protocols.on_demand import ON_DEMAND
from cobandit.core.protocols.rules import Protocol, Rules
from cobandit.core.protocols.silent import SILENT
from cobandit.core.retransmit import RetryTimers, check_notices
from cobandit.core.thresholds import Constant, Threshold
from cobandit.values.errors import LocalError

PROTOCOLS: dict[str, Protocol] = {}
"""By their names in scenario files."""


def register(protocol: Protocol) -> None:
    """Add a protocol: from now on scenario files may name it, and reports and explanations know its texts.

    Raises:
        LocalError: Another protocol has the same word or table.
    """
    for known in PROTOCOLS.values():
        if protocol.word == known.word or protocol.table == known.table:
            raise LocalError(f"{protocol.name} has the word or the table of {known.name}, which is there already")
    PROTOCOLS[protocol.word] = protocol


def protocol_of(table: Rules) -> Protocol:
    """Return the protocol that a table belongs to. An unregistered table gets general texts."""
    for protocol in PROTOCOLS.values():
        if protocol.table == table:
            return protocol
    own = "a table of your own"
    return Protocol(table, word="", title=f"the table {table.name}", told=f"They talk by {own}", rule=(f"By {own}.",))


def sharing_by(
    protocol: Protocol, threshold: Threshold, retry: RetryTimers | None = None, *, literal_notices: bool = False
) -> Sharing:
    """Return a `Sharing` for a protocol. If it never shares, its threshold makes no difference and is always the same.

    Raises:
        LocalError: Literal notices are requested where messages are repeated.
    """
    check_notices(literal=literal_notices, retry=retry)
    return Sharing(protocol.table, threshold if protocol.table.talks else Constant(1), retry, literal_notices)


for _protocol in (ON_DEMAND, IMMEDIATE, SILENT):
    register(_protocol)
