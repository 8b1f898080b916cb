"""Invariant 7: an owner knows as much of its earlier incarnations as its peers do, and so does everyone here.

What only one of them says of an incarnation that the owner has forgotten is not believed, and stays with that one.
"""

from collections.abc import Sequence

from cobandit.agent import Agent
from cobandit.core.facts import CellKey
from cobandit.core.places import difference


def unknown_earlier_incarnations(agents: Sequence[Agent]) -> list[str]:
    """Return who knows less of an earlier incarnation than another, for the owners that are here."""
    known = {agent.name: {key: entry.observations for key, entry in agent.endpoint.replica.cells()} for agent in agents}
    best: dict[CellKey, int] = {}
    for agent in agents:
        for key, count in known[agent.name].items():
            if _serves(agent, key):  # or it keeps what it knows to itself
                best[key] = max(best.get(key, 0), count)
    wrong: list[str] = []
    for owner in agents:
        unproved = {claim.told.incarnation for claim in owner.endpoint.witnesses.claims}
        for key, count in best.items():
            if key.agent != owner.name or key.incarnation == owner.incarnation or not _serves(owner, key):
                continue  # only an owner that has the arm can pass on what is known of it
            if key.incarnation in unproved:
                continue
            wrong += [
                f"{agent.name} knows {known[agent.name].get(key, 0)} of {key}: others {count}"
                for agent in agents
                if _serves(agent, key) and _declare_alike(agent, owner, key.bandit)
                if known[agent.name].get(key, 0) != count
                if agent is owner or not agent.endpoint.members.is_leaf
            ]
    return wrong


def _serves(agent: Agent, key: CellKey) -> bool:
    arms = (
        agent.arms if not key.bandit else [arm for one in agent.bandits if one.name == key.bandit for arm in one.arms]
    )
    return key.arm in arms


def _declare_alike(one: Agent, other: Agent, name: str) -> bool:
    definitions = [bandit for agent in (one, other) for bandit in agent.bandits if bandit.name == name]
    return difference(definitions[0], definitions[-1]) is None if definitions else True
