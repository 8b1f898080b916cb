"""Invariant 2: what an agent decides by is its own observations and everything it holds, each counted once."""

from cobandit.agent import Agent


def wrong_totals(agent: Agent) -> list[str]:
    """Return in which arms an agent's total is not the sum of its parts."""
    ledger, total = agent.endpoint.ledger, agent.policy.tally
    parts = [ledger.own, *(holding.tally for holding in ledger.held.values())]
    return [
        f"{agent.name} decides by {total.sums[arm]}/{count} of arm {arm}, but its parts sum up to "
        f"{sum(part.sums[arm] for part in parts)}/{sum(part.counts[arm] for part in parts)}"
        for arm, count in total.counts.items()
        if sum([part.counts[arm] for part in parts]) != count
        or sum([part.sums[arm] for part in parts]) != total.sums[arm]
    ]
