"""Statements that must always hold, in a form that every test can call.

Each function returns the statements that are false right now; an empty list means that all is well.
"""

from cobandit.core.endpoint import Endpoint
from cobandit.core.messages import Cells
from cobandit.core.places import PLAIN, At
from cobandit.values.tally import Tally


def total(endpoint: Endpoint, at: At = PLAIN) -> Tally:
    """Return all that is known of a place: own observations and those of all other agents, each counted once."""
    tally = Tally(endpoint.replica.arms_of(at[0]))
    tally.add_all(entry for key, entry in endpoint.replica.cells() if key[3:5] == at and entry.arm in tally.counts)
    tally.add_all(one.tally for one in endpoint.totals.all() if one[:2] == at and one.tally.arm in tally.counts)
    return tally


def endpoint_violations(endpoint: Endpoint) -> list[str]:
    """Return what is wrong with one agent, looked at alone."""
    wrong: list[str] = []
    replica, name = endpoint.replica, endpoint.name
    if bool(endpoint.candidates.own) != bool(endpoint.arms) or not endpoint.candidates.own <= set(endpoint.arms):
        wrong.append(f"the candidates of {name} are not some of its arms: {sorted(endpoint.candidates.own)}")
    own = replica.dropped + sum(count for _, _, count in replica.own_counts())
    if own != replica.observations:
        wrong.append(f"{name} has cells of {own} own observations and counts {replica.observations}")
    for key, entry in replica.cells():
        if not (entry.observations and entry.can_be(replica.units_of(key.bandit))):
            wrong.append(f"{name} holds impossible tallies of {key.agent}: {entry}")
        if not replica.is_served(Cells(key.agent, key.incarnation, (), *key[3:])):
            wrong.append(f"{name} holds a cell of {key.agent} that is outside its window: {key}")
    return wrong + _link_violations(endpoint)


def _link_violations(endpoint: Endpoint) -> list[str]:
    """Return what is wrong with an agent's links to its peers."""
    wrong: list[str] = []
    for name, link in endpoint.links.items():
        # A relay buffers what leaves have observed, for other relays.
        most = endpoint.replica.number if endpoint.members.is_relay else endpoint.replica.observations
        if not 0 <= link.exchange.buffered <= most:
            wrong.append(f"{endpoint.name} buffers {link.exchange.buffered} observations for {name}: it made fewer")
        # Where messages may be lost, a repetition advances c too (`Exchange.repeat`), so only the paper's counts agree.
        fewest_sent = link.exchange.c - 1 if link.retransmit is None else 0
        if link.exchange.c < 1 or link.exchange.shares_sent < fewest_sent:
            wrong.append(f"{endpoint.name} miscounts its shares to {name}")
        if not (0 <= link.acknowledged <= endpoint.replica.number and link.urgent <= endpoint.replica.number):
            wrong.append(f"{endpoint.name} thinks that {name} holds more of its log than there is")
        if link.peer.common != tuple(arm for arm in endpoint.arms if arm in link.peer.arms):
            wrong.append(f"{endpoint.name} does not know which arms it has in common with {name}")
    return wrong
