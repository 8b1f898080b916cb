"""On-demand communication (ODC): Algorithm 1 of the paper, and the last paragraph of Section 3.1 for the notices.

A share is itself a request for one. So an agent that decides rarely asks rarely and is told rarely.
"""

from cobandit.core.exchange import Sharing
from cobandit.core.protocols.rules import Input, Protocol, Rule, rules
from cobandit.core.retransmit import RetryTimers, check_notices
from cobandit.core.thresholds import Threshold, checked_threshold
from cobandit.values.errors import LocalError

ON_DEMAND = Protocol(
    rules(
        "on_demand",
        Rule(Input.OBSERVATION, demanded=True, reached=True, demanded_after=False, shares=True, lines="lines 8 to 11"),
        Rule(Input.OBSERVATION, demanded=True, reached=False, demanded_after=None, shares=False, lines="line 7"),
        Rule(Input.OBSERVATION, demanded=False, reached=None, demanded_after=None, shares=False, lines="line 7"),
        Rule(Input.SHARE, demanded=None, reached=True, demanded_after=None, shares=True, lines="lines 17 to 19"),
        Rule(Input.SHARE, demanded=None, reached=False, demanded_after=True, shares=False, lines="line 21"),
        Rule(Input.LEAVE, demanded=None, reached=None, demanded_after=False, shares=False),
        Rule(Input.JOIN, demanded=None, reached=None, demanded_after=True, shares=False),
    ),
    word="odc",
    title="on demand",
    told="They talk on demand (ODC)",
    rule=(
        "What an agent observes **waits**, separately for each other agent, until it is shared.",
        "It is shared once two things hold: the other **has asked**, and enough waits to reach the **threshold**.",
        (
            "A share carries everything that waits, and **is itself the request** for a share in return. "
            "So an agent that decides rarely asks rarely and is told rarely."
        ),
    ),
    says={
        (Input.OBSERVATION, True, True): (
            "{pulled}. {Asked} and {wait}, which reaches the threshold of {needed}: it shares {them}, "
            "which also asks {other} for a share."
        ),
        (Input.OBSERVATION, True, False): "{pulled}. {Other} has asked, but only {of}, so it keeps collecting.",
        (Input.OBSERVATION, False, True): (
            "{pulled}. {Wait}, enough for a share, but {other} has not asked since the last one, "
            "so it keeps collecting."
        ),
        (Input.OBSERVATION, False, False): (
            "{pulled}. {Other} has not asked since the last share, and {of}, so it keeps collecting."
        ),
        (Input.SHARE, None, True): (
            "{got}. That asks for a share, and {wait}, which reaches the threshold of {needed}: "
            "it answers at once with {them}."
        ),
        (Input.SHARE, None, False): (
            "{got}. That asks for a share, but {only}: it notes that {other} has asked "
            "and keeps collecting until it can share."
        ),
        (Input.JOIN, None, None): "{heard} again. That counts as asking: what waits may go with the next pull.",
    },
    source="Algorithm 1",
    theorems=(1, 2),
    tolerant=True,
)


def on_demand(
    threshold: Threshold | None = None,
    *,
    loss_tolerant: bool | RetryTimers = False,
    literal_notices: bool = False,
) -> Sharing:
    """Share on demand (ODC, Algorithm 1).

    Args:
        threshold: How many observations a buffer must hold before it is shared; one by default.
        loss_tolerant: Whether the protocol must survive lost messages: `True`, or `RetryTimers` to choose how long to
            wait before repeating one. The paper assumes that no message is lost.
        literal_notices: Whether to announce an elimination only to agents that have the arm, as Algorithm 5 is printed.
    """
    if not isinstance(loss_tolerant, bool | RetryTimers):
        raise LocalError(f"loss_tolerant must be True, False or RetryTimers(...), not {loss_tolerant!r}")
    retry = RetryTimers() if loss_tolerant is True else loss_tolerant or None
    check_notices(literal=literal_notices, retry=retry)
    return Sharing(ON_DEMAND.table, checked_threshold(threshold), retry, literal_notices)
