"""The baselines, as other tables over the same machine: immediate broadcast (IBC) and no communication.

Under immediate broadcast nobody waits to be asked: a buffer is shared as soon as it reaches its threshold, and a
share that arrives asks for nothing. `demanded` then means only "the peer is here". This file owns those tables and
nothing else.
"""

from cobandit.core.exchange import Input, Rule, Sharing, rules
from cobandit.core.thresholds import Constant, Threshold, checked_threshold

IMMEDIATE = rules(
    "immediate",
    Rule(Input.OBSERVATION, demanded=True, reached=True, demanded_after=None, shares=True),
    Rule(Input.OBSERVATION, demanded=True, reached=False, demanded_after=None, shares=False),
    Rule(Input.OBSERVATION, demanded=False, reached=None, demanded_after=None, shares=False),
    Rule(Input.SHARE, demanded=None, reached=None, demanded_after=None, shares=False),
    Rule(Input.LEAVE, demanded=None, reached=None, demanded_after=False, shares=False),
    Rule(Input.JOIN, demanded=None, reached=None, demanded_after=True, shares=False),
)

SILENT = rules("silent", *(Rule(what, None, None, None, shares=False) for what in Input))


def immediate(threshold: Threshold | None = None) -> Sharing:
    """Broadcast at once (IBC, Remark 5), or as soon as the threshold is reached."""
    return Sharing(IMMEDIATE, checked_threshold(threshold))


def silent() -> Sharing:
    """Never share: every agent learns alone."""
    return Sharing(SILENT, Constant(1))
