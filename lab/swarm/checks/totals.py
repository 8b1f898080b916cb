"""Invariant 2: what an agent decides by is everything it holds, each observation counted once, and nothing else.

So it is in every place: of each segment of each bandit, inside its window. Where observations fade, they do so by the
rule that is written down here again.
"""

from collections import defaultdict

from cobandit.agent import Agent
from cobandit.core.places import PLAIN, At
from cobandit.values.tally import Arm
from lab.swarm.history import History

Parts = dict[tuple[int, Arm], list[int]]
"""What is known of each arm in each period: how many observations, their rewards, and the squares of these."""


def wrong_totals(agent: Agent, history: History) -> list[str]:
    """Return in which arms an agent's total is not the sum of its parts, or more than anybody ever observed."""
    parts: defaultdict[At, Parts] = defaultdict(dict)
    replica = agent.endpoint.replica
    held = [(key[3:], entry) for key, entry in replica.cells() if replica.has(key.bandit, key.arm)]
    heard = [(one[:3], one.tally) for one in agent.endpoint.totals.all() if replica.has(one.bandit, one.tally.arm)]
    for (bandit, segment, period), entry in (*held, *heard):
        known = parts[bandit, segment].setdefault((period, entry.arm), [0, 0, 0])
        known[:] = [before + more for before, more in zip(known, entry[1:], strict=True)]
    served = [(bandit.name, segment) for bandit in agent.bandits for segment in agent.segments_of(bandit.name)]
    places = [*served, *((PLAIN,) if agent.has_plain else ())]
    wrong = [sentence for at in places for sentence in _not_the_sum(agent, at, parts[at])]
    return wrong + [sentence for at in places for sentence in _never_observed(agent.name, at, parts[at], history)]


def _not_the_sum(agent: Agent, at: At, parts: Parts) -> list[str]:
    policy = agent.policy if at == PLAIN else agent.policy_at(*at)
    bandit, present = agent.endpoint.replica.bandits[at[0]], agent.endpoint.replica.period_of(at[0])
    sums: dict[Arm, list[int]] = {arm: [0, 0, 0] for arm in policy.arms}
    for (period, arm), (count, units, squares) in parts.items():
        left = count
        if bandit.half_life and period < present:
            left = round(count * 0.5 ** ((present - period) * bandit.period / bandit.half_life))
        sums[arm][0] += left
        sums[arm][1] += units * left // count
        sums[arm][2] += squares * left // count
    tally = policy.tally
    read = {arm: [count, tally.sums[arm], tally.squares[arm]] for arm, count in tally.counts.items()}
    if read == sums:
        return []
    return [f"{agent.name} decides by {read}{_in(at)}, but its parts sum up to {sums}"]


def _never_observed(name: str, at: At, parts: Parts, history: History) -> list[str]:
    wrong: list[str] = []
    for (period, arm), (count, units, _) in parts.items():
        observed, rewarded = history.total((arm, *at, period))
        if count > observed or units > rewarded or count - units > observed - rewarded:
            wrong.append(
                f"{name} knows {units}/{count} of arm {arm}{_in(at)}: {rewarded}/{observed} were ever observed"
            )
    return wrong


def _in(at: At) -> str:
    return "" if at == PLAIN else f" of {at[0]}/{at[1]}"
