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
    nobody_restarts_the_superseded: bool = False
    """A member that hears of a later incarnation of its own is silent until it is started again, also if that process
    is gone: two under one name may outbid each other, and the wrong one be stopped. It must be killed for that: after a
    stop in good order it goes on in the incarnation that is over. So an operator does."""


AS_IT_IS = Allowed()
"""Nothing that the present product does not stand."""
