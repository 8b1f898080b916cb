"""Immediate broadcast (IBC, Remark 5): agents share without being asked.

A buffer is shared as soon as it reaches its threshold, and a share that arrives asks for nothing. `demanded` then means
only "the peer is here". The paper does not print it; this is Algorithm 1's machine with another table.
"""

from cobandit.core.exchange import Sharing
from cobandit.core.protocols.rules import Input, Protocol, Rule, rules
from cobandit.core.thresholds import Threshold, checked_threshold

IMMEDIATE = Protocol(
    rules(
        "immediate",
        Rule(Input.OBSERVATION, demanded=True, reached=True, demanded_after=None, shares=True),
        Rule(Input.OBSERVATION, demanded=True, reached=False, demanded_after=None, shares=False),
        Rule(Input.OBSERVATION, demanded=False, reached=None, demanded_after=None, shares=False),
        Rule(Input.SHARE, demanded=None, reached=None, demanded_after=None, shares=False),
        Rule(Input.LEAVE, demanded=None, reached=None, demanded_after=False, shares=False),
        Rule(Input.JOIN, demanded=None, reached=None, demanded_after=True, shares=False),
    ),
    word="ibc",
    title="immediate broadcast",
    told="They talk by immediate broadcast (IBC)",
    rule=(
        (
            "Immediate broadcast: an agent sends what it has observed as soon as enough of it waits, "
            "whether the other can use it or not. There are no requests and no answers."
        ),
    ),
    says={
        (Input.OBSERVATION, True, True): "{pulled}. {Wait}, which is enough: it shares at once, asked or not.",
        (Input.OBSERVATION, True, False): "{pulled}. Only {of}, so it keeps collecting.",
        (Input.OBSERVATION, False, None): "{pulled}. {Other} is away: {wait} for its return.",
        (Input.SHARE, None, None): "{got} and learns from it. This requests nothing.",
    },
)


def immediate(threshold: Threshold | None = None, *, literal_notices: bool = False) -> Sharing:
    """Broadcast each observation at once (IBC, Remark 5), or as soon as the threshold is reached.

    Args:
        threshold: How many observations a buffer must hold before it is shared; one by default.
        literal_notices: As for `on_demand`.
    """
    return Sharing(IMMEDIATE.table, checked_threshold(threshold), None, literal_notices)
