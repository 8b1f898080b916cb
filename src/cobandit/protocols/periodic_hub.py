"""A periodic hub: after a fixed number of pulls an agent sends its news to the hub, and gets what all others observed.

The form that federated averaging has for bandits: McMahan, Moore, Ramage, Hampson and Aguera y Arcas,
"Communication-efficient learning of deep networks from decentralized data", AISTATS 2017 (E local steps between two
synchronisations); Shi and Shen, "Federated multi-armed bandits", AAAI 2021 (clients, a server, synchronisation in
phases).

    source                                         here
    every P rounds all agents synchronise          after every `period` own pulls an agent does (`observed`): agents are
                                                   asynchronous, so each has a period of its own
    each sends what it observed since the last     `upload`: its own cells that changed
    the server adds up, and sends the sum to all   `synchronise` at the hub: the total of the others, to who asked

Deviations: `hub.py` says in which form sums travel. While the hub is away, news waits, and goes with the first pull
after that.
"""

from typing import Any

from cobandit.protocols.hub import SURVIVES, synchronise, upload
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_whole
from cobandit.values.tally import Arm


class PeriodicHub:
    """Synchronise with the hub after every `period` own pulls.

    Args:
        node: The node.
        period: How many own pulls lie between two synchronisations.
    """

    about = About(
        word="periodic-hub",
        title="a periodic hub",
        told="They synchronise with a hub after every so many pulls",
        rule=(
            "After every `period` own pulls an agent sends its own news to the hub.",
            "The hub answers with what all others have observed.",
        ),
        paper="federated averaging: McMahan et al. 2017; for bandits Shi and Shen 2021",
        hubs=1,
        survives=SURVIVES,
        compiled=True,
    )

    def __init__(self, node: Node, *, period: int = 8) -> None:
        check_whole("period", period, 1)
        self.node, self.period = node, period
        self._fresh = 0

    def observed(self, arm: Arm, reward: float) -> None:
        """Upload when it is time and the hub is there."""
        self._fresh += 1
        if self._fresh >= self.period and upload(self.node):
            self._fresh = 0

    def received(self, sender: int, message: Any) -> None:
        """Handle a download, or at the hub an upload."""
        synchronise(self.node, sender, message)
