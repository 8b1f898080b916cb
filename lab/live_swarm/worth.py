"""What the rewards of a world are worth: how many quanta they have, what people say for them, what a default counts.

Arms are known here by their full names (`cobandit.live.decide.full_names`): one of the plain bandit by its own.
"""

from cobandit.live.decide.full_names import split
from cobandit.live.drive.declaring import Said
from cobandit.values.tally import Arm
from lab.live_swarm.plan import Plan


class Worth:
    """The rewards of one world."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._said = {(member.name, said.name): said for member in plan.members for said in member.definitions}

    def quanta(self, member: str, arm: Arm) -> int:
        """Return how many quanta the range of an arm's rewards has."""
        said = self._of(member, arm)
        if said is None or said.quantum is None:
            return round(1.0 / self._plan.quantum)
        return round((said.rewards[1] - said.rewards[0]) / said.quantum)

    def said(self, member: str, arm: Arm, units: int) -> float:
        """Return what people say for a reward of so many quanta."""
        low, high = (0.0, 1.0) if (said := self._of(member, arm)) is None else said.rewards
        return low + (high - low) * units / self.quanta(member, arm)

    def default(self, member: str, arm: Arm) -> int | None:
        """Return with how many quanta a decision counts that was never rewarded; `None` for not at all."""
        said = self._of(member, arm)
        if said is None:
            default = self._plan.default_reward
            return None if default is None else round(default * self.quanta(member, arm))
        if said.default_reward is None:
            return None
        low, high = said.rewards
        return round((said.default_reward - low) / (high - low) * self.quanta(member, arm))

    def rules_out(self, member: str, bandit: str) -> bool:
        """Return whether the policy of a bandit rules arms out, so that a subject may have to change its arm."""
        return (self._said[member, bandit].policy if bandit else self._plan.policy) == "aae"

    def _of(self, member: str, arm: Arm) -> Said | None:
        (bandit, _), _ = split(arm)
        return self._said[member, bandit] if bandit else None
