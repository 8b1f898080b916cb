"""What worlds do not do yet, because the present product does not stand it: each with the reason, and a name.

`python -m lab swarm --live --allow NAME` lets worlds do it all the same. Who mends the product removes the name here
and the restriction that asks for it.
"""

from typing import NamedTuple


class Allowed(NamedTuple):
    """What a world may do besides."""

    late_rewards_after_forgetting: bool = False
    """A disk that was rolled back, copied or lost its last writes has forgotten which decisions were rewarded. Until a
    peer has returned what it knows, a reward that comes again, or a default at expiry, counts twice."""
    controls_outlive_disks: bool = False
    """What an operator said is acknowledged by one member alone. If its disk is lost, or it goes for good, before the
    others have heard, it is lost."""
    idle_after_healing: bool = False
    """Who has lost its disk, and observes nothing after that, is told nothing by members that are idle too: a greeting
    alone does not tell them that it has forgotten what they had told it. So everybody decides once more."""
    nobody_restarts_the_superseded: bool = False
    """A member that hears of a later incarnation of its own is silent until it is started again, also if that process
    is gone: two under one name may outbid each other, and the wrong one be stopped. It must be killed for that: after a
    stop in good order it goes on in the incarnation that is over. So an operator does."""
    steady_delays: bool = False
    """After healing, every packet takes exactly as long as any other. Then two members whose waits are equally long can
    go on for an hour: what one says again comes at the moment when the other would speak, and puts that off."""
    slow_relays: bool = False
    """Relays are further away than a leaf waits for a greeting, which is two seconds there and back. Then it takes the
    one that it prefers for silent just before that answers, and tries it again every minute."""
    new_arms_with_floors: bool = False
    """A decider that has floors and gets an arm goes on drawing from its old arms, and fails (`Decider._take_over`)."""


AS_IT_IS = Allowed()
"""Nothing that the present product does not stand."""
