"""Invariant 14: nobody holds what another observed of a bandit that the two declare differently."""

from collections.abc import Mapping, Sequence

from cobandit.agent import Agent
from cobandit.core import AgentId, Bandit
from cobandit.core.places import difference


def held_of_another(agent: Agent, definitions: Mapping[AgentId, Sequence[Bandit]]) -> list[str]:
    """Return which cells an agent holds that mean something else to those who observed them."""
    mine = {bandit.name: bandit for bandit in definitions.get(agent.name, ())}
    wrong: list[str] = []
    for key, _ in agent.endpoint.replica.cells():
        theirs = next((one for one in definitions.get(key.agent, ()) if one.name == key.bandit), None)
        what = None if theirs is None else difference(mine[key.bandit], theirs)
        if what is not None:
            wrong.append(f"{agent.name} holds {key}, and the two declare that bandit differently ({what})")
    return wrong
