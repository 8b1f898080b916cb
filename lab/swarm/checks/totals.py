"""Invariant 2: what an agent decides by is everything it holds, each observation counted once, and nothing else."""

from cobandit.agent import Agent
from cobandit.core.invariants import total
from lab.swarm.history import History, plainly


def wrong_totals(agent: Agent, history: History) -> list[str]:
    """Return in which arms an agent's total is not the sum of its parts, or more than anybody ever observed."""
    for bandit in agent.bandits:
        for segment in agent.segments_of(bandit.name):
            of_place, read = total(agent.endpoint, (bandit.name, segment)), agent.policy_at(bandit.name, segment).tally
            if of_place != read:
                return [f"{agent.name} decides by {read} in {bandit.name}/{segment}, whose parts sum up to {of_place}"]
    parts, known = total(agent.endpoint), agent.policy.tally
    if (parts.counts, parts.sums, parts.squares) != (known.counts, known.sums, known.squares):
        return [f"{agent.name} decides by {known}, but its parts sum up to {parts}"]
    wrong: list[str] = []
    for arm, count in known.counts.items():
        observed, rewarded = history.total(plainly(arm))
        if count > observed or known.sums[arm] > rewarded or count - known.sums[arm] > observed - rewarded:
            wrong.append(
                f"{agent.name} knows {known.sums[arm]}/{count} of arm {arm}: {rewarded}/{observed} were ever observed"
            )
    return wrong
