"""Invariant 12: after the faults, what a relay holds of anybody, here or gone, everyone has who can use it."""

from collections.abc import Sequence

from cobandit.agent import Agent


def not_passed_on(agents: Sequence[Agent]) -> list[str]:
    """Return what relays hold and others do not."""
    known = {agent.name: {key: entry.observations for key, entry in agent.endpoint.replica.cells()} for agent in agents}
    wrong: list[str] = []
    for relay in agents:
        endpoint = relay.endpoint
        others = [agent for agent in agents if agent is not relay] if endpoint.members.is_relay else []
        for other in others:
            if endpoint.candidates.are_settled(endpoint.links[other.name].peer):
                continue  # they have nothing left to say
            wrong += [
                f"{relay.name} is a relay and holds {count} of {key}: {other.name} has {known[other.name].get(key, 0)}"
                for key, count in known[relay.name].items()
                if key.arm in other.arms and known[other.name].get(key, 0) < count
            ]
    return wrong
