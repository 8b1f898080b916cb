"""Graphs: how many messages, and how many extra pulls, where agents pass on what they hear. None of it is in the paper.

Every agent observes, talks to its neighbours on demand, and keeps for each neighbour what did not come from it.
docs/bounds.md has the arguments. In short: an observation is news to an agent once, by whatever way it comes first, so
it counts in each of its buffers at most once.
"""

from collections.abc import Sequence
from itertools import pairwise

from cobandit.core.thresholds import Threshold
from cobandit.theory.communication import ucb_share_counts
from cobandit.theory.gaps import aae_observations, ucb_observations
from cobandit.values.checks import check_positive, check_whole, plain_arguments
from cobandit.values.errors import LocalError

Edge = tuple[int, int]


@plain_arguments
def graph_share_bounds(edges: Sequence[Edge], decisions: Sequence[int], threshold: Threshold) -> list[int]:
    """Return the most shares on each edge, both ways together: 2 min{C(n), C(n')} + 1.

    n and n' are the observations that one end can have that are new to the other: all except the receiving end's own
    or, if the edge is the only connection between two parts of the graph, those of the sending part.

    Raises:
        LocalError: An edge names an agent that there is not, or leads nowhere, or is there twice.

    >>> from cobandit.core import Constant
    >>> graph_share_bounds([(0, 1), (1, 2)], [10, 3, 4], Constant(1))  # a path: 10 against 7, and 13 against 4
    [15, 9]
    >>> graph_share_bounds([(0, 1), (1, 2), (0, 2)], [10, 3, 4], Constant(1))  # a ring: 7 against 14, 13 and 13
    [15, 27, 15]
    """
    _check_edges(edges, len(decisions))
    total = sum(decisions)
    sides = []
    for one, other in edges:
        part = _part(edges, one, other)
        if other in part:  # there is another way
            sides.append((total - decisions[other], total - decisions[one]))
        else:
            here = sum(decisions[agent] for agent in part)
            sides.append((here, total - here))
    counts = ucb_share_counts([count for pair in sides for count in pair], threshold)
    return [2 * min(counts[place], counts[place + 1]) + 1 for place in range(0, len(counts), 2)]


@plain_arguments
def graph_share_bound(edges: Sequence[Edge], decisions: Sequence[int], threshold: Threshold) -> int:
    """Return the most shares of all agents in a graph together.

    >>> from cobandit.core import Constant
    >>> graph_share_bound([(0, 1), (1, 2)], [10, 3, 4], Constant(1))
    24
    """
    return sum(graph_share_bounds(edges, decisions, threshold))


def _check_edges(edges: Sequence[Edge], agents: int) -> None:
    seen: set[Edge] = set()
    for one, other in edges:
        for agent in (one, other):
            check_whole("an agent of an edge", agent, 0, agents - 1)
        if one == other:
            raise LocalError(f"agent {one} cannot have an edge to itself")
        edge = (min(one, other), max(one, other))
        if edge in seen:
            raise LocalError(f"the edge between {edge[0]} and {edge[1]} is given twice: name it once")
        seen.add(edge)


def _part(edges: Sequence[Edge], one: int, other: int) -> set[int]:
    """Return who is connected to one end of an edge without that edge."""
    lists: dict[int, list[int]] = {}
    for a, b in edges:
        if {a, b} != {one, other}:
            lists.setdefault(a, []).append(b)
            lists.setdefault(b, []).append(a)
    reached, waiting = {one}, [one]
    while waiting:
        for near in lists.get(waiting.pop(), ()):
            if near not in reached:
                reached.add(near)
                waiting.append(near)
    return reached


@plain_arguments
def graph_arrival(
    path: Sequence[int], slots: Sequence[Sequence[int]], largest: Sequence[int] | int, start: int, *, delay: int = 0
) -> int | None:
    """Return the slot by which the last agent of a path knows everything that the first had observed before a slot.

    Knowledge has passed from a to b once both have made as many decisions as their thresholds require: whichever may
    send first does so, which asks the other, and the other then has enough. A share already under way, its answer and
    the answer to that add at most 3d slots.

    Args:
        path: Agents, each a neighbour of the next.
        slots: The slots in which each agent decides, in order.
        largest: The largest threshold of the run; or one for each agent.
        start: The slot.
        delay: How many slots a message takes.

    Returns:
        The slot; `None` if the agents do not decide often enough.

    Raises:
        LocalError: The path names an agent that has no slots, or a threshold is below one.

    >>> graph_arrival([0, 1, 2], [[0, 1, 2, 3], [5, 6, 7, 8], [0, 9, 10]], 2, start=0)  # 6 for the first hop, then 10
    10
    """
    check_whole("delay", delay, 0)
    for agent in path:
        check_whole("an agent of the path", agent, 0, len(slots) - 1)
    for threshold in (largest,) if isinstance(largest, int) else largest:
        check_whole("the largest threshold", threshold, 1)
    now = start
    for here, there in pairwise(path):
        needed = [(agent, largest if isinstance(largest, int) else largest[agent]) for agent in (here, there)]
        ends = []
        for agent, count in needed:
            later = [slot for slot in slots[agent] if slot >= now]
            if len(later) < count:
                return None
            ends.append(later[count - 1])
        now = max(ends) + 3 * delay
    return now


@plain_arguments
def graph_extra_pulls(
    gap: float, waits: Sequence[float], *, alpha: float, total_decisions: int, delay: int = 0, eliminates: bool = False
) -> float:
    """Return how often an agent of a graph pulls an arm, at most, after the group has seen enough of it: F_i^j.

    It is min{sum of waits + 3Hd, 2 alpha log(N) / Delta^2}, H being the number of waits.

    Args:
        gap: Delta_i.
        waits: For each hop of the longest of the shortest paths to the agent, the most decisions that the agent makes
            while both ends of the hop decide as often as their thresholds require. With equal speeds, that is about f.
        alpha: How much the agents explore.
        total_decisions: N.
        delay: How many slots a message takes.
        eliminates: Whether the policy is AAE, which has 16 instead of 2.

    >>> graph_extra_pulls(0.5, [8, 8, 4], alpha=3.0, total_decisions=1000, delay=2)  # 20 + 18
    38
    """
    for wait in waits:
        check_positive("a wait", wait)
    check_whole("delay", delay, 0)
    observations = aae_observations if eliminates else ucb_observations
    enough = observations(gap, alpha=alpha, total_decisions=total_decisions)
    return min(sum(waits) + 3 * len(waits) * delay, enough)
