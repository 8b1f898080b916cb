"""The route of a reward that arrives with the id of its decision, and the answer to it.

This file owns the route. The member that decided counts the reward. For a pen, that is its holder or its lender
(`lending`). For others, the reward is kept until they have it (`rewards_for_others`).
"""

from typing import TYPE_CHECKING

from cobandit.core.pen_names import lender_of
from cobandit.live.decide.decision import read
from cobandit.live.decide.taken import Taken
from cobandit.live.machine.rewards_for_others import counts_for

if TYPE_CHECKING:
    from cobandit.live.machine.machine import Machine


def take_reward(machine: "Machine", token: str, reward: float, *, is_brought: bool = False) -> Taken:
    """Take a reward for any decision of the group.

    Args:
        machine: The member that the reward was brought to.
        token: The id of the decision.
        reward: The reward.
        is_brought: Whether another member brings it, and keeps it until it is taken.

    Raises:
        UnknownError: The id is not valid.
        NotNowError: Too many rewards wait for members that cannot be reached. Nothing changed.
    """
    claim, name, holding = read(token), machine.terms.name, machine.holding
    if holding is not None and claim.member == name:
        return holding.reward(token, float(reward), claim)
    if claim.member == name:
        return machine.settling.settle_token(token, reward)
    lender = lender_of(claim.member)
    if lender == name and machine.lending is not None:
        taken = machine.lending.gate(token, float(reward), machine.clock.now(), claim)
        is_kept = taken is Taken.NOT_YET and not is_brought
        return machine.lending.keep(claim.member, token, float(reward)) if is_kept else taken
    machine.rewards_for_others.offer(counts_for(claim.member), token, float(reward))
    return Taken.ON_ITS_WAY
