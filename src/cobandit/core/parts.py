"""What one message tells if there is more to tell than fits: the oldest changes, and what must not come apart.

What a pen observed and which of its decisions that was must come together: who knew of an observation and not that its
decision is settled could count it again, and the other way round it would be lost. So all that is wanted of one pen is
told in one message, also what changed later, and however small packets are: how many decisions a pen has is bounded
(`pens.MAX_NUMBERS`). A part may thus tell more than it claims, which does no harm. This file does not know who wants
what.
"""

from collections import Counter
from typing import TYPE_CHECKING

from cobandit.core.facts import CellKey, Fact, PresenceKey, SettledKey
from cobandit.core.messages import AgentId
from cobandit.core.pen_names import lender_of

if TYPE_CHECKING:
    from cobandit.core.replica import Replica


def part_of(replica: "Replica", wanted: list[Fact], most: int) -> tuple[list[Fact], int]:
    """Return which facts a message tells, and up to which number of the log that is all.

    Args:
        replica: What is known.
        wanted: What the receiver wants, the newest first.
        most: So many facts fit. Who introduces itself does so in any case, or nothing else would be heeded.
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
    """Return the oldest facts, oldest first, for which there is room with what they bring along; one at least."""
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
