"""ComEx: agents share only what they observe while they explore.

Madhushani and Leonard, "When to call your neighbor? Strategic communication in cooperative stochastic bandits", arXiv
2110.04396, 2021.

    source                                                    here
    agent i explores at t if its arm is not the one with the  `select_arm`: the policy's choice is not the arm with the
    highest estimated mean                                    highest mean of all that is known
    when it explores, it sends (arm, reward) to neighbours    `observed`
    estimates use own and received observations               the policy's tally

Deviations: the scenario's policy provides the index (the paper has UCB). An arm without observations counts as
explored; of equal means the first is the best. Messages carry single observations and not sums, because those made
without exploring are never shared. So a message that arrives twice would count twice.
"""

from typing import Any

from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.tally import Arm, ArmTally


class ComEx:
    """Share an observation with neighbours if it was made while exploring."""

    about = About(
        word="comex",
        title="ComEx",
        told="They tell what they observe only while they explore (ComEx)",
        rule=(
            "An agent **explores** when it pulls another arm than the one with the highest mean so far.",
            "What it observes then it tells its neighbours at once. What it observes otherwise it keeps.",
        ),
        paper="Madhushani and Leonard 2021",
        survives=frozenset({"delay", "loss", "reordering"}),
    )

    def __init__(self, node: Node) -> None:
        self.node = node
        self._explores = False

    def select_arm(self) -> Arm:
        """Return the policy's choice, and note whether it explores."""
        policy = self.node.policy
        arm = policy.select_arm()
        self._explores = policy.tally.counts[arm] == 0 or arm != max(policy.candidates, key=policy.mean)
        return arm

    def observed(self, arm: Arm, reward: float) -> None:
        """Share it, if it was made while exploring."""
        if self._explores:
            units = self.node.policy.quantum.units(reward)
            for neighbour in self.node.neighbours:
                self.node.send(neighbour, (arm, units), observations=1)

    def received(self, sender: int, message: Any) -> None:
        """Learn one observation."""
        arm, units = message
        if arm in self.node.arms:
            self.node.policy.learn([ArmTally(arm, 1, units, self.node.policy.quantum.square(units))])
