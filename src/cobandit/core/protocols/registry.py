"""Which protocols there are. One more is one more file and one more name here; `register` takes one of your own."""

from cobandit.core.exchange import Sharing
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.core.protocols.on_demand import ON_DEMAND
from cobandit.core.protocols.rules import Protocol, Rules
from cobandit.core.protocols.silent import SILENT
from cobandit.core.retransmit import RetryTimers, check_notices
from cobandit.core.thresholds import Constant, Threshold
from cobandit.values.errors import LocalError

PROTOCOLS: dict[str, Protocol] = {}
"""By their words in scenario files."""


def register(protocol: Protocol) -> None:
    """Add a protocol: from now on scenario files may name it, and reports and explanations know its words.

    Raises:
        LocalError: Its word or its table is another protocol's.
    """
    for known in PROTOCOLS.values():
        if protocol.word == known.word or protocol.table == known.table:
            raise LocalError(f"{protocol.name} has the word or the table of {known.name}, which is there already")
    PROTOCOLS[protocol.word] = protocol


def protocol_of(table: Rules) -> Protocol:
    """Return the protocol that a table belongs to. A table that nobody registered gets general words."""
    for protocol in PROTOCOLS.values():
        if protocol.table == table:
            return protocol
    own = "a table of your own"
    return Protocol(table, word="", title=f"the table {table.name}", told=f"They talk by {own}", rule=(f"By {own}.",))


def sharing_by(
    protocol: Protocol, threshold: Threshold, retry: RetryTimers | None = None, *, literal_notices: bool = False
) -> Sharing:
    """Return how to talk by a protocol. Where nothing is ever shared, every threshold is the same one.

    Raises:
        LocalError: Literal notices are asked for where messages are repeated.
    """
    check_notices(literal=literal_notices, retry=retry)
    return Sharing(protocol.table, threshold if protocol.table.talks else Constant(1), retry, literal_notices)


for _protocol in (ON_DEMAND, IMMEDIATE, SILENT):
    register(_protocol)
