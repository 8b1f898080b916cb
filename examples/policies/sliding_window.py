"""UCB over the last so many observations (Garivier and Moulines, 2011), own and received, as a policy with state.

This window is each agent's own, in the order in which it heard. For one that a whole fleet has in common, by the time
at which something was observed, use `Forgetting(window=...)`. `python sliding_window.py` tries it.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import cobandit
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario, Switches
from cobandit.testing import check_policy
from cobandit.values.tally import Arm, ArmTally, Tally


class SlidingWindowUCB(cobandit.Policy):
    """Pulls the arm with the highest upper confidence bound over the last `window` observations."""

    stateful = True

    def __init__(self, arms: Sequence[Arm], *, window: int = 500, alpha: float = 1.0, quantum: float = 1e-6) -> None:
        super().__init__(arms, quantum=quantum)
        self.window, self.alpha = window, alpha
        self.recent: deque[tuple[Any, ...]] = deque()

    def noticed(self, tallies: Sequence[ArmTally], *, own: bool) -> None:
        """Add what was counted, and drop what is too old; what came together goes together."""
        del own
        self.recent.extend(tuple(entry) for entry in tallies)
        while sum(entry[1] for entry in self.recent) > self.window and len(self.recent) > 1:
            self.recent.popleft()

    def select_arm(self) -> Arm:
        """Return the candidate with the highest bound; one that is not in the window first."""
        known = Tally(self.arms)
        known.add_all(ArmTally(*entry) for entry in self.recent)
        budget = self.alpha * math.log(max(2, known.observations))
        return max(self.candidates, key=lambda arm: self._bound(known.counts[arm], known.sums[arm], budget))

    def _bound(self, count: int, units: int, budget: float) -> float:
        return units / (count * self.quantum.per_reward) + math.sqrt(budget / (2 * count)) if count else math.inf

    def state(self) -> dict[str, Any]:
        """Return the window."""
        return {"recent": [list(entry) for entry in self.recent]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take the window."""
        self.recent = deque(tuple(entry) for entry in state.get("recent", []))


if __name__ == "__main__":
    check_policy(lambda arms: SlidingWindowUCB(arms, window=50))
    arms = Arms.of([0.2, 0.8], changes=Switches(((1_000, (0.8, 0.2)),)))
    world = Scenario(
        2_000, arms, (AgentSpec(Rate(0.5)),) * 2, policy=lambda arms, _: SlidingWindowUCB(arms, window=200)
    )
    print(cobandit.simulate(world, trials=3, seed=1).summary()["scenario"]["dynamic_regret"])
