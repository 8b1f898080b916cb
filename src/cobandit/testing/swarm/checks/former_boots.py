"""Invariant 7: an owner knows at least as much of its former boots as its peers do, and so does everyone here."""

from collections.abc import Sequence

from cobandit.agent import Agent
from cobandit.core.ledger import Origin
from cobandit.values.tally import Arm


def unknown_former_boots(agents: Sequence[Agent]) -> list[str]:
    """Return who knows less of a former boot than somebody else, for the owners that are here."""
    wrong: list[str] = []
    for owner in agents:
        best: dict[tuple[int, Arm], int] = {}
        for agent in agents:
            for boot, holding in agent.endpoint.ledger.former_boots(*owner.endpoint.ledger.origin):
                for arm, count, _ in holding.tally.entries():
                    best[boot, arm] = max(best.get((boot, arm), 0), count)
        for (boot, arm), count in best.items():
            for agent in agents:
                if arm not in agent.arms or arm not in owner.arms:
                    continue  # and only an owner that has the arm can pass on what is known of it
                holding_here = agent.endpoint.ledger.held.get(Origin(owner.name, boot))
                known = 0 if holding_here is None else holding_here.tally.counts[arm]
                if known != count:
                    wrong.append(
                        f"{agent.name} knows {known} of arm {arm} of {owner.name}, boot {boot}: others {count}"
                    )
    return wrong
