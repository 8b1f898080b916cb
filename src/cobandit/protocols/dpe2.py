"""DPE2: one leader explores, and announces its best arm when that changes.

Wang, Proutiere, Ariu, Jedra and Russo, "Optimal algorithms for multiplayer multi-armed bandits", AISTATS 2020. The
authors' program (rssalessio/DPE, class GraphDPE) was read beside the paper.

    source                                                    here
    leader: a round is the best arm once, then each arm of B  `select_arm`: `_round`
    B: arms whose KL-UCB index is above the best mean;        `_next_round`
    index: n kl(mean, q) <= ln t + 4 ln ln t
    when a round is over: best = highest mean; if it changed  `observed`: (stamp, arm)
    send it
    follower: plays the best arm that it heard of             `select_arm`
    follower: passes on what has a later stamp                `received`, to its neighbours but the sender

Deviations: t is the leader's number of pulls. The program looks for B before it looks for the best arm, and has the
best arm in B, so that arm is played twice in a round; here the best arm comes first, as in the paper. Its followers
send in every round; here they pass a stamp on once, and not at all where all hear the leader. No agent learns from
followers' pulls.
"""

import math
from typing import Any

from cobandit.policies.kl_ucb import kl_ucb_index
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_whole
from cobandit.values.tally import Arm


class LeaderFollower:
    """One leader, and followers that play its best arm.

    Args:
        node: The node.
        leader: The position of the leader.
    """

    about = About(
        word="dpe2",
        title="leader and followers (DPE2)",
        told="One leader explores, and tells the others its best arm when that changes (DPE2)",
        rule=(
            "The leader plays its best arm in turn with all arms that may be better, by KL-UCB.",
            "When its best arm changes, it tells everybody. The others play that arm.",
        ),
        paper="Wang, Proutiere et al. 2020",
        observations=False,
        survives=frozenset({"delay", "duplication", "reordering"}),
    )

    def __init__(self, node: Node, *, leader: int = 0) -> None:
        check_whole("leader", leader, 0, node.agents - 1)
        self.node = node
        self.leads = node.position == leader
        self.best, self.stamp = node.arms[0], 0
        self._round = list(node.arms)
        """What the leader still plays in this round; at first every arm."""
        self.totals: dict[Arm, list[float]] = {arm: [0.0, 0.0] for arm in node.arms}
        """What leaders observed of each arm: the number of pulls, and the sum of the rewards."""

    def take_over(self, totals: dict[Arm, list[float]]) -> None:
        """Lead from now on, with the observations of earlier leaders."""
        self.leads, self.totals = True, totals
        unknown = [arm for arm, (count, _) in totals.items() if not count]
        if unknown:
            self._round = unknown
        else:
            self.best = self._next_round()

    def select_arm(self) -> Arm:
        """Return the next arm of the leader's round; a follower plays the best arm."""
        return self._round[0] if self.leads else self.best

    def observed(self, arm: Arm, reward: float) -> None:
        """Continue the round; after it, look for the best arm again."""
        if not self.leads:
            return
        self.totals[arm][0] += 1.0
        self.totals[arm][1] += reward
        self._round.pop(0)
        if not self._round:
            best = self._next_round()
            if best != self.best:
                self.best, self.stamp = best, self.stamp + 1
                self._pass_on()

    def received(self, sender: int, message: Any) -> None:
        """Follow a message that is later than what is known, and pass it on."""
        stamp, arm = message
        if stamp > self.stamp and arm in self.node.arms:
            self.best, self.stamp = arm, stamp
            if not self.node.is_mesh:
                self._pass_on(but=sender)

    def _next_round(self) -> Arm:
        means = {arm: reward_sum / count for arm, (count, reward_sum) in self.totals.items()}
        best = max(means, key=means.__getitem__)
        pulls = max(3.0, sum(count for count, _ in self.totals.values()))
        budget = max(0.0, math.log(pulls) + 4.0 * math.log(math.log(pulls)))
        indices = {arm: kl_ucb_index(means[arm], self.totals[arm][0], budget) for arm in means if arm != best}
        worth = [arm for arm, index in indices.items() if index > means[best]]
        self._round = [best, *sorted(worth, key=indices.__getitem__, reverse=True)]
        return best

    def _pass_on(self, but: int | None = None) -> None:
        for neighbour in self.node.neighbours:
            if neighbour != but:
                self.node.send(neighbour, (self.stamp, self.best))
