"""Synchronisation with a hub: own news goes up, and the observations of all other agents come down.

Sums are cumulative, and the total that comes down leaves out the agent's own part. So a message may arrive late, twice
or never, and nothing counts twice. `periodic_hub.py` and `event_hub.py` decide when to synchronise.
"""

from typing import Any

from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import Fault

SURVIVES: frozenset[Fault] = frozenset({"delay", "loss", "duplication", "reordering"})


def upload(node: Node) -> bool:
    """Send own news to the hub. Return whether it is there."""
    for hub in node.here:
        node.tell(hub, node.news_for(hub, source=node.position))
    return bool(node.here)


def synchronise(node: Node, sender: int, cells: Any) -> None:
    """Handle cells from the hub; or, as the hub, handle an agent's cells and answer with the total of all others."""
    node.learn(cells, sender)
    if node.is_hub:
        total = node.ledger.total(node.position, node.arms, without=sender)
        node.send(sender, total, observations=sum(cell.observations for cell in total))
