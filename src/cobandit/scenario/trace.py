"""What happened in a run, as integer rows: a common format for all engines.

Two engines agree if their traces are equal, row by row. Agents and arms are given as positions. The meaning of a column
depends on the kind of the row.

    kind         agent      other       a                b                   c
    DECISION     who        arm         reward, quanta   pull number from 1  0
    SHARE        sender     receiver    share number     observations in it  sender's version
    ELIMINATION  who        arm         candidates left  0                   0
    DELIVERY     receiver   sender      share number     0                   0
    JOIN, LEAVE  who        0           0                0                   0
    RETRY        sender     receiver    share number     repetition, from 1  sender's version
    ACKNOWLEDGE  sender     receiver    number seen      version held        0
    LOSS         sender     receiver    0                0                   0
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a row of a trace records."""

    DECISION = 0
    SHARE = 1
    ELIMINATION = 2
    DELIVERY = 3
    JOIN = 4
    LEAVE = 5
    RETRY = 6
    ACKNOWLEDGE = 7
    LOSS = 8


class Row(NamedTuple):
    """One event."""

    slot: int
    kind: int
    agent: int
    other: int
    a: int
    b: int
    c: int


def transcript(
    rows: Iterable[Row], agents: Sequence[str], arms: Sequence[str], *, reward: Callable[[int], float] = int
) -> str:
    """Return a trace as human-readable lines.

    Args:
        rows: The trace.
        agents: The names of the agents.
        arms: The names of the arms.
        reward: Converts a row's quanta to a reward in its usual units, such as `Arms.told`.

    >>> print(transcript([Row(3, Kind.DECISION, 0, 1, 1, 1, 0)], agents=["j"], arms=["A", "B"]))
    slot 3: j pulls B, reward 1
    """
    return "\n".join(f"slot {row.slot}: {_tell(row, agents, arms, reward)}" for row in rows)


def _tell(  # noqa: PLR0911  # a sentence each
    row: Row, agents: Sequence[str], arms: Sequence[str], reward: Callable[[int], float]
) -> str:
    who = agents[row.agent]
    match row.kind:
        case Kind.DECISION:
            return f"{who} pulls {arms[row.other]}, reward {reward(row.a):.12g}"
        case Kind.SHARE:
            return f"{who} -> {agents[row.other]} share {row.a} with {row.b} observation{'s' * (row.b != 1)}"
        case Kind.ELIMINATION:
            return f"{who} eliminates {arms[row.other]}, {row.a} left"
        case Kind.DELIVERY:
            return f"{who} receives share {row.a} of {agents[row.other]}"
        case Kind.JOIN:
            return f"{who} joins"
        case Kind.LEAVE:
            return f"{who} leaves"
        case Kind.RETRY:
            return f"{who} -> {agents[row.other]} share {row.a} again, repetition {row.b}"
        case Kind.ACKNOWLEDGE:
            return f"{who} -> {agents[row.other]} acknowledges share {row.a}"
        case Kind.LOSS:
            return f"{who} -> {agents[row.other]} is lost"
    raise AssertionError(f"no kind {row.kind}")
