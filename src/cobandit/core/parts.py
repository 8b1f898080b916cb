"""What a message carries if there is more than fits: the oldest changes, and what must stay together.

The observations of a pen and the decisions that they belong to must arrive together. A peer that knew an observation
but not that its decision is settled could count it again; the other way round, it would be lost. So one message carries
all that is wanted of one pen, including later changes, and however small packets are: the number of decisions of a pen
is limited (`pens.MAX_NUMBERS`). A part may therefore carry more than it claims, which does no harm. What was
acknowledged is left out, so a message counts for pens only where that is held (`credibility.continues`). This file does
not know who wants what.
"""

from collections import Counter
from typing import TYPE_CHECKING

from cobandit.core.facts import CellKey, Fact, PresenceKey, SettledKey
from cobandit.core.messages import AgentId
from cobandit.core.pen_names import lender_of

if TYPE_CHECKING:
    from cobandit.core.replica import Replica


def part_of(replica: "Replica", wanted: list[Fact], most: int) -> tuple[list[Fact], int]:
    """Return the facts for one message, and the number of the log up to which they are complete.

    Args:
        replica: What is known.
        wanted: What the receiver wants, the newest first.
        most: How many facts fit. A sender's introduction goes in any case: without it nothing else would be heeded.
    """
    if len(wanted) <= most:
        return wanted, replica.number
    chosen = _chosen(wanted, most)
    taken = set(chosen)
    pens = {fact.key.agent for fact in chosen if _is_of_pen(fact)}
    along = [
        fact
        for fact in wanted
        if fact not in taken and (isinstance(fact.key, PresenceKey) or (_is_of_pen(fact) and fact.key.agent in pens))
    ]
    return along + chosen[::-1], chosen[-1].number


def _chosen(wanted: list[Fact], most: int) -> list[Fact]:
    """Return the oldest facts, oldest first, that fit together with what they bring along; at least one."""
    of_each = Counter(fact.key.agent for fact in wanted if _is_of_pen(fact))
    brought: set[AgentId] = set()
    chosen: list[Fact] = []
    for fact in reversed(wanted):
        agent = fact.key.agent
        is_brought = _is_of_pen(fact) and agent in brought
        most -= 0 if is_brought else of_each[agent] if _is_of_pen(fact) else 1
        if most < 0 and chosen:
            break
        if _is_of_pen(fact):
            brought.add(agent)
        chosen.append(fact)
    return chosen


def _is_of_pen(fact: Fact) -> bool:
    return isinstance(fact.key, CellKey | SettledKey) and lender_of(fact.key.agent) is not None
