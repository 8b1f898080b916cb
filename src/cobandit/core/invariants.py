"""The sentences that must always hold, in a form that every test can call.

Each function returns the sentences that are false right now: an empty list is what everybody wants to see.
"""

from collections.abc import Sequence

from cobandit.core.endpoint import Endpoint
from cobandit.core.exchange import ON_DEMAND
from cobandit.core.messages import Share
from cobandit.core.thresholds import Threshold
from cobandit.values.tally import Tally


def endpoint_violations(endpoint: Endpoint) -> list[str]:
    """Return what is wrong with one agent, looked at alone."""
    wrong: list[str] = []
    ledger = endpoint.ledger
    if not endpoint.candidates or not endpoint.candidates <= set(endpoint.roster.arms):
        wrong.append(f"the candidates of {endpoint.name} are not some of its arms: {sorted(endpoint.candidates)}")
    if any(not 0 <= version <= ledger.version for version in ledger.changed_at.values()):
        wrong.append(f"an arm of {endpoint.name} changed after its last observation")
    if any((ledger.changed_at[arm] > 0) != (count > 0) for arm, count in ledger.own.counts.items()):
        wrong.append(f"{endpoint.name} does not know when it observed an arm")
    if not _plausible(ledger.own, ledger.units_per_reward):
        wrong.append(f"{endpoint.name} has a reward sum that its own observations cannot have")
    for origin, holding in ledger.held.items():
        if tuple(holding.tally.counts) != endpoint.roster.arms:
            wrong.append(f"{endpoint.name} holds tallies of {origin.agent} for other arms than its own")
        if origin == ledger.origin:
            wrong.append(f"{endpoint.name} holds its own observations as somebody else's")
        if not _plausible(holding.tally, ledger.units_per_reward) or holding.tally.observations > holding.version:
            wrong.append(f"{endpoint.name} holds impossible tallies of {origin.agent}")
    return wrong + _link_violations(endpoint)


def _link_violations(endpoint: Endpoint) -> list[str]:
    """Return what is wrong with what an agent keeps for its peers."""
    wrong: list[str] = []
    ledger = endpoint.ledger
    for name, link in endpoint.links.items():
        since_shared = ledger.version - link.shared_version
        if not 0 <= link.exchange.buffered <= since_shared:
            wrong.append(f"{endpoint.name} buffers {link.exchange.buffered} of {since_shared} observations for {name}")
        # Where messages may be lost a repetition moves c on too (`Exchange.repeat`), so only the paper's counts agree.
        fewest_sent = link.exchange.share_number - 1 if link.delivery is None else 0
        if link.exchange.share_number < 1 or link.exchange.shares_sent < fewest_sent:
            wrong.append(f"{endpoint.name} miscounts its shares to {name}")
        if link.peer.common != tuple(arm for arm in endpoint.roster.arms if arm in link.peer.arms):
            wrong.append(f"{endpoint.name} does not know which arms it has in common with {name}")
        if not link.peer.candidates <= set(link.peer.arms):
            wrong.append(f"{endpoint.name} thinks that {name} considers arms that it does not have")
    return wrong


def pair_violations(
    one: Endpoint, other: Endpoint, in_flight: Sequence[Share] = (), *, rejoins: int = 0, absent: bool = False
) -> list[str]:
    """Return what is wrong between two agents that talk on demand over a network that loses nothing.

    Args:
        one: An agent.
        other: Another agent.
        in_flight: The shares between the two, both ways, that were sent and have not arrived.
        rejoins: How often either of them joined again.
        absent: Whether a leave notice is in force, in which case the pair may be silent.
    """
    wrong: list[str] = []
    for sender, receiver in ((one, other), (other, one)):
        under_way = [share for share in in_flight if share.sender == sender.name]
        wrong += _inexact(sender, receiver, under_way)
        wrong += _beyond_theorem_2(sender, receiver, rejoins)
    there, back = one.links[other.name], other.links[one.name]
    tokens = there.exchange.demanded + back.exchange.demanded + len(in_flight)
    may_be_silent = absent or one.settled(there) or other.settled(back) or there.exchange.rules != ON_DEMAND
    if not (may_be_silent or 1 <= tokens <= 2 + rejoins):
        wrong.append(f"{one.name} and {other.name} have {tokens} demands and shares in flight, not 1 or 2")
    return wrong


def largest_share_count(threshold: Threshold, pulls: int, candidate_count: int) -> int:
    """Return C_j of Theorem 2: how often an agent with this many pulls can fill its buffer."""
    shares = needed = 0
    while (needed := needed + threshold.at(shares + 1, candidate_count)) <= pulls:
        shares += 1
    return shares


def _inexact(sender: Endpoint, receiver: Endpoint, under_way: Sequence[Share]) -> list[str]:
    """Own pulls = delivered + in flight + buffered, arm by arm, for the arms that both can use."""
    link = sender.links[receiver.name]
    if sender.settled(link):
        return []  # a settled pair has stopped buffering
    holding = receiver.ledger.held.get(sender.ledger.origin)
    arrived = Tally(receiver.roster.arms) if holding is None else holding.tally.copy()
    for share in under_way:
        for record in share.records:
            for arm, count, reward_sum in record.tallies:
                arrived.add(arm, count - arrived.counts[arm], reward_sum - arrived.sums[arm])
    own = sender.ledger.own
    missing = 0
    for arm in link.peer.common:
        if own.counts[arm] < arrived.counts[arm] or own.sums[arm] < arrived.sums[arm]:
            return [f"{receiver.name} has more of arm {arm} from {sender.name} than {sender.name} has itself"]
        missing += own.counts[arm] - arrived.counts[arm]
    if missing != link.exchange.buffered:
        return [f"{receiver.name} lacks {missing} of {sender.name}, which buffers {link.exchange.buffered} for it"]
    return []


def _beyond_theorem_2(sender: Endpoint, receiver: Endpoint, rejoins: int) -> list[str]:
    """Theorem 2: no more than min(C_j, C_j') + 1 shares one way; every return of an agent may add one."""
    exchange = sender.links[receiver.name].exchange
    if exchange.rules != ON_DEMAND or not exchange.threshold.answers_advance:
        return []
    bound = (
        1
        + rejoins
        + min(
            largest_share_count(exchange.threshold, side.ledger.version, len(side.candidates))
            for side in (sender, receiver)
        )
    )
    if exchange.shares_sent > bound:
        return [f"{sender.name} sent {exchange.shares_sent} shares to {receiver.name}; Theorem 2 allows {bound}"]
    return []


def _plausible(tally: Tally, units_per_reward: int) -> bool:
    return all(0 <= tally.sums[arm] <= count * units_per_reward for arm, count in tally.counts.items())
