"""Relays: how many messages, how many extra pulls, and when nobody waits for ever. None of it is in the paper.

A leaf observes and talks to one relay, with thresholds f_up; a relay observes nothing, holds what all its neighbours
observed, and talks to each leaf with thresholds f_down. docs/bounds.md has the arguments. In short: every observation
passes an edge once each way, a share takes f(c) of them, and each share asks for one the other way.
"""

from collections.abc import Sequence

from cobandit.core.thresholds import TABULATED_SHARES, Threshold
from cobandit.theory.communication import ucb_share_counts
from cobandit.theory.gaps import aae_observations, ucb_observations
from cobandit.values.checks import check_positive, check_whole, plain_arguments
from cobandit.values.errors import LocalError


@plain_arguments
def relay_share_bounds(decisions: Sequence[int], up: Threshold, down: Threshold) -> list[tuple[int, int]]:
    """Return the most shares up and down for each leaf of one relay: min{A_j, B_j + 1} and min{A_j + 1, B_j}.

    A_j is how often the leaf's N_j observations fill an upward buffer, and B_j how often the N - N_j observations of
    others fill a downward one.

    >>> from cobandit.core import Constant
    >>> relay_share_bounds([10, 3, 0], Constant(1), Constant(1))
    [(4, 3), (3, 4), (0, 1)]
    """
    total = sum(decisions)
    ups = ucb_share_counts(decisions, up)
    downs = ucb_share_counts([total - own for own in decisions], down)
    return [(min(a, b + 1), min(a + 1, b)) for a, b in zip(ups, downs, strict=True)]


@plain_arguments
def relay_share_bound(decisions: Sequence[int], up: Threshold, down: Threshold) -> int:
    """Return the most shares of all leaves and their relay together: the sum of 2 min{A_j, B_j} + 1.

    With thresholds of one, this is at most 2N + M, however many leaves there are.

    >>> from cobandit.core import Constant
    >>> relay_share_bound([10, 3, 0], Constant(1), Constant(1))
    15
    """
    total = sum(decisions)
    ups = ucb_share_counts(decisions, up)
    downs = ucb_share_counts([total - own for own in decisions], down)
    return sum(2 * min(a, b) + 1 for a, b in zip(ups, downs, strict=True))


@plain_arguments
def fleet_share_bound(decisions: Sequence[int], relays: int, threshold: Threshold, *, homes: int = 1) -> int:
    """Return the most shares of a fleet whose relays answer every share of a leaf at once, as this project's do.

    A leaf sends at most C(N_j) shares to each of its homes, and gets one answer to each. Two relays share on demand
    what their own leaves send them: at most 2 min{C(N_r), C(N_s)} + 1 shares, with N_r the decisions of r's leaves.
    Leaf j has the relays j, j + 1, ... modulo their number as homes, and no relay is ever away.

    >>> from cobandit.core import Constant
    >>> fleet_share_bound([10, 3, 5], 2, Constant(1))  # 2 x 18 for leaves, and 2 x 3 + 1 between 15 and 3
    43
    """
    check_whole("the number of relays", relays, 1)
    check_whole("homes", homes, 1, relays)
    told = [0] * relays
    for leaf, own in enumerate(decisions):
        for place in range(homes):
            told[(leaf + place) % relays] += own
    counts = ucb_share_counts(told, threshold)
    between = sum(2 * min(one, other) + 1 for place, one in enumerate(counts) for other in counts[:place])
    return 2 * homes * sum(ucb_share_counts(decisions, threshold)) + between


@plain_arguments
def tree_share_bound(below: Sequence[int], total_decisions: int, up: Threshold, down: Threshold) -> int:
    """Return the most shares in a tree of relays: the sum over its edges of 2 min{C(N_e), C(N - N_e)} + 1.

    Args:
        below: N_e for every edge: the decisions of all leaves below it.
        total_decisions: N, the decisions of all leaves.
        up: The thresholds of nodes below an edge.
        down: The thresholds of nodes above it.

    >>> from cobandit.core import Constant
    >>> tree_share_bound([10, 3, 13], 20, Constant(1), Constant(1))  # 2 x 10 + 1, 2 x 3 + 1, 2 x 7 + 1
    43
    """
    for count in below:
        check_whole("the decisions below an edge", count, 0, total_decisions)
    ups = ucb_share_counts(below, up)
    downs = ucb_share_counts([total_decisions - count for count in below], down)
    return sum(2 * min(a, b) + 1 for a, b in zip(ups, downs, strict=True))


@plain_arguments
def relay_extra_pulls(
    gap: float,
    others_up: Sequence[float],
    own: float,
    *,
    alpha: float,
    total_decisions: int,
    delay: int = 0,
    eliminates: bool = False,
) -> float:
    """Return the most pulls of an arm by a leaf after the group has seen enough of it: F_i^j with a relay in between.

    It is min{sum of f_up(c_j') over the others + max{f_up(c_j), f_down(c'_j)} + 4d, 2 alpha log(N) / Delta^2}: one more
    hop costs one more threshold, and 4d once instead of 2d for each peer. It holds under `check_relay_liveness`.

    Args:
        gap: Delta_i.
        others_up: f_up(c_j') of every other leaf when the group has seen enough.
        own: The larger of the leaf's own threshold up and the relay's threshold down to it.
        alpha: How much the agents explore.
        total_decisions: N.
        delay: How many slots a message takes.
        eliminates: Whether the policy is AAE, which has 16 instead of 2.

    >>> relay_extra_pulls(0.5, [1, 4, 2], 8, alpha=3.0, total_decisions=1000, delay=10)  # 7 + 8 + 40
    55
    """
    for threshold in (*others_up, own):
        check_positive("a threshold", threshold)
    check_whole("delay", delay, 0)
    observations = aae_observations if eliminates else ucb_observations
    return min(sum(others_up) + own + 4 * delay, observations(gap, alpha=alpha, total_decisions=total_decisions))


@plain_arguments
def check_relay_liveness(up: Threshold, down: Threshold, *, candidate_count: int = 1) -> bool:
    """Return whether there is a proof that at most one leaf waits for its relay at any time.

    A relay has no observations of its own. If it needs more than a leaf sends, all leaves can wait forever: five leaves
    with thresholds of 1 up and 8 down send five messages and fall silent. If every f_down is at most the smallest f_up,
    this provably cannot happen. If f_down(c) is at most f_up(c), we have never seen it happen, but there is no proof.

    >>> from cobandit.core import Constant, Geometric
    >>> check_relay_liveness(Geometric(2), Constant(1)), check_relay_liveness(Geometric(2), Geometric(2))
    (True, False)

    Raises:
        LocalError: Some f_down(c) is above f_up(c): choose a smaller threshold for the relay.
    """
    for share_number in range(1, TABULATED_SHARES + 1):
        most, enough = (one.at(share_number, candidate_count) for one in (down, up))
        if most > enough:
            raise LocalError(
                f"the relay's threshold {most} is above the leaves' {enough} for share {share_number}: all could wait "
                "for ever, so give the relay a threshold of at most the leaves'"
            )
    return down.at(TABULATED_SHARES, candidate_count) <= up.at(1, candidate_count)
