"""Invariant 12: after the faults, what a relay holds of anybody, here or gone, everyone has who can use it.

A leaf has it as a total, exactly: of each of its relays the newest word, and of those the larger one.
"""

from collections.abc import Sequence

from cobandit.agent import Agent
from cobandit.values.tally import ArmTally


def not_passed_on(agents: Sequence[Agent]) -> list[str]:
    """Return what relays hold and others do not."""
    known = {agent.name: {key: entry.observations for key, entry in agent.endpoint.replica.cells()} for agent in agents}
    wrong: list[str] = []
    for relay in agents:
        endpoint = relay.endpoint
        others = [agent for agent in agents if agent is not relay] if endpoint.members.is_relay else []
        for other in others:
            if other.endpoint.members.is_leaf and relay.name not in other.endpoint.links:
                continue  # another relay is its home
            if other.name not in endpoint.links:
                wrong.append(f"{relay.name} does not have {other.name} in mind, which talks to it")
                continue
            if endpoint.candidates.are_settled(endpoint.links[other.name].peer):
                continue  # they have nothing left to say
            if other.endpoint.members.is_leaf:
                wrong += _wrong_total(relay, other)
                continue
            wrong += [
                f"{relay.name} is a relay and holds {count} of {key}: {other.name} has {known[other.name].get(key, 0)}"
                for key, count in known[relay.name].items()
                if endpoint.links[other.name].peer.serves(key.bandit, key.arm) and known[other.name].get(key, 0) < count
            ]
    return wrong


def _wrong_total(relay: Agent, leaf: Agent) -> list[str]:
    """Return in which arms a leaf does not know what a relay knows."""
    heard = {(*one[4:], one.tally.arm): one.tally for one in leaf.endpoint.totals.state() if one.relay == relay.name}
    wrong: list[str] = []
    totals = relay.endpoint.replica.totals
    assert totals is not None  # every relay keeps them
    peer = leaf.endpoint.links[relay.name].peer
    held = {(*key[3:], key.arm) for key, _ in relay.endpoint.replica.cells() if peer.serves(key.bandit, key.arm)}
    for place in sorted(held):
        ours, used = totals.but(leaf.name, place[3], *place[:3]), leaf.endpoint.totals.at(place)
        theirs = heard.get(place, ArmTally(place[3], 0, 0, 0))
        if not ours.observations:
            continue  # it has forgotten all, and says nothing that would be newer than what it once said
        if theirs != ours or used.observations < ours.observations:
            wrong.append(f"{leaf.name} has heard {theirs} from its relay {relay.name} and uses {used}: it holds {ours}")
    return wrong
