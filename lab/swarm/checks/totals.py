"""Invariant 2: what an agent decides by is everything it holds, each observation counted once, and nothing else."""

from cobandit.agent import Agent
from lab.swarm.history import History


def wrong_totals(agent: Agent, history: History) -> list[str]:
    """Return in which arms an agent's total is not the sum of its parts, or more than anybody ever observed."""
    parts, total = agent.endpoint.replica.total(), agent.policy.tally
    if parts.counts != total.counts or parts.sums != total.sums or parts.squares != total.squares:
        return [f"{agent.name} decides by {total}, but its parts sum up to {parts}"]
    wrong: list[str] = []
    for arm, count in total.counts.items():
        observed, rewarded = history.total(arm)
        if count > observed or total.sums[arm] > rewarded or count - total.sums[arm] > observed - rewarded:
            wrong.append(
                f"{agent.name} knows {total.sums[arm]}/{count} of arm {arm}: {rewarded}/{observed} were ever observed"
            )
    return wrong
