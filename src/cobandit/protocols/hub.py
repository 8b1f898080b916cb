"""A synchronisation with a hub: own news go up, and what everybody else has observed comes down.

Sums are cumulative, and the total that comes down leaves out the agent's own part: so a message may come late, twice or
never, and nothing counts twice. When to synchronise is in `periodic_hub.py` and `event_hub.py`.
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
    """Take what came from the hub; or, as the hub, take what came from an agent and answer with all others' totals."""
    node.learn(cells, sender)
    if node.is_hub:
        total = node.ledger.total(node.position, node.arms, without=sender)
        node.send(sender, total, observations=sum(cell.observations for cell in total))
