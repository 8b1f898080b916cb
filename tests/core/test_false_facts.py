"""Facts that cannot be true are refused, from any teller, and leave no mark; what is at the edge is taken."""

import re

import pytest

from cobandit.core import Cells, Changes, Eliminations, Presence
from cobandit.core.credibility import check_changes
from cobandit.core.messages import MAX_INCARNATION, MAX_NUMBER, MAX_OBSERVATIONS
from cobandit.core.replica import Replica
from cobandit.core.snapshots import facts_state
from cobandit.values.errors import PeerError
from cobandit.values.tally import MOST_ARMS, ArmTally

ARMS = ("A", "B", "C")


def rewards(arm: str, *units: int) -> ArmTally:
    """The tally of these rewards, of which each is at most 10."""
    return ArmTally(arm, len(units), sum(units), sum(unit * unit for unit in units))


def cells(agent: str, incarnation: int, *tallies: ArmTally) -> Changes:
    return Changes(cells=(Cells(agent, incarnation, tallies),))


def presence(session: int, number: int) -> Presence:
    return Presence("p", session, number, session, is_present=True, arms=ARMS, units_per_reward=10)


def knowing() -> Replica:
    """What j knows: that it has pulled C, and p has pulled A twice, and B."""
    replica = Replica("j", 0, ARMS, units_per_reward=10)
    replica.observe([rewards("C", 2)])
    replica.merge(cells("p", 0, rewards("A", 2, 3), rewards("B", 0)), ("p", 7))
    return replica


FALSE: dict[str, tuple[Changes, str]] = {
    "a base above its end": (Changes(5, 4), "p tells of its log from 5 to 4"),
    "a base below 0": (Changes(-1, 4), "p tells of its log from -1 to 4"),
    "a log without end": (Changes(0, MAX_NUMBER + 1), "p tells of its log from 0 to"),
    "a cell's incarnation below 0": (cells("p", -1), "p tells of incarnation or session -1, which cannot be"),
    "a cell's incarnation too high": (cells("p", MAX_INCARNATION), "p tells of incarnation or session"),
    "an arm twice": (cells("p", 0, rewards("C", 1), rewards("C", 1)), "p listed arm"),
    "a foreign arm twice": (cells("p", 0, rewards("Z", 1), rewards("Z", 1)), "p listed arm"),
    "nothing of an arm": (cells("p", 0, ArmTally("C", 0, 0, 0)), "p sent (0, 0, 0) for arm 'C' of p after (0, 0, 0)"),
    "less than nothing": (cells("p", 0, ArmTally("C", -1, 0, 0)), "p sent (-1, 0, 0) for arm 'C'"),
    "less than is known": (cells("p", 0, ArmTally("A", -7, 100, -1)), "p sent (-7, 100, -1) for arm 'A' of p after"),
    "nothing of what is known": (cells("p", 0, ArmTally("A", 0, 0, 0)), "p sent (0, 0, 0) for arm 'A' of p after (2,"),
    "a sum that goes down": (cells("p", 0, ArmTally("A", 3, 4, 12)), "p sent (3, 4, 12) for arm 'A' of p after (2, 5,"),
    "a sum that rises too much": (cells("p", 0, ArmTally("A", 3, 16, 120)), "no rewards of at most 10 add up to that"),
    "squares that go down": (cells("p", 0, ArmTally("A", 3, 7, 12)), "p sent (3, 7, 12) for arm 'A' of p after"),
    "squares that rise too much": (cells("p", 0, ArmTally("A", 3, 7, 34)), "p sent (3, 7, 34) for arm 'A' of p"),
    "squares that rise too little": (cells("p", 0, ArmTally("A", 4, 11, 20)), "p sent (4, 11, 20) for arm 'A' of p"),
    "too many observations": (cells("p", 1, ArmTally("A", MAX_OBSERVATIONS + 1, 0, 0)), "for arm 'A' of p after"),
    "an elimination's incarnation": (
        Changes(eliminations=(Eliminations("p", -1, ()),)),
        "p tells of incarnation or session",
    ),
    "an arm eliminated twice": (
        Changes(eliminations=(Eliminations("p", 0, ("A", "A")),)),
        "p tells of 2 eliminated arms, some of them twice",
    ),
    "too many eliminations": (
        Changes(eliminations=(Eliminations("p", 0, tuple(map(str, range(MOST_ARMS + 1)))),)),
        f"p tells of {MOST_ARMS + 1} eliminated arms",
    ),
    "a session below 0": (
        Changes(presences=(presence(-1, 0)._replace(incarnation=0),)),
        "p tells of incarnation or session",
    ),
    "a session too high": (
        Changes(presences=(presence(MAX_INCARNATION, 0)._replace(incarnation=0),)),
        "incarnation or session",
    ),
    "an impossible presence": (
        Changes(presences=(presence(0, 0)._replace(incarnation=-1),)),
        "p tells of incarnation or session -1",
    ),
    "a notice below 0": (Changes(presences=(presence(3, -1),)), "p sent notice -1 of session 3"),
    "a notice too high": (Changes(presences=(presence(3, MAX_NUMBER + 1),)), "p sent notice"),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_cannot_be_true_is_refused(name: str) -> None:
    told, text = FALSE[name]
    receiver = knowing()
    before = facts_state(receiver)
    with pytest.raises(PeerError, match=re.escape(text)):
        check_changes(told, "p", receiver)
    assert facts_state(receiver) == before


@pytest.mark.parametrize(
    "told",
    [
        cells("p", 0, ArmTally("A", 3, 15, 113)),  # the last reward was 10
        cells("p", 0, ArmTally("A", 3, 5, 13)),  # the last reward was 0
        cells("p", 0, ArmTally("A", 4, 11, 31)),  # 3 and 3
        cells("p", 0, ArmTally("A", 4, 11, 41)),  # more is not known to be wrong
        cells("p", 0, ArmTally("A", MAX_OBSERVATIONS, 5, 13)),
        cells("p", MAX_INCARNATION - 1, rewards("A", 1)),
        Changes(0, MAX_NUMBER, cells=(Cells("p", 0, (rewards("C", 1),)),)),
        Changes(presences=(presence(MAX_INCARNATION - 1, MAX_NUMBER),)),
        Changes(eliminations=(Eliminations("p", 0, tuple(map(str, range(MOST_ARMS)))),)),
    ],
)
def test_what_is_at_the_edge_of_the_possible_is_taken(told: Changes) -> None:
    receiver = knowing()
    check_changes(told, "p", receiver)
    receiver.merge(told, ("p", 7))
    facts = {Changes(cells=(one,)) for one in told.cells}
    facts |= {told._replace(base=0, upto=0, cells=()) for _ in (*told.eliminations, *told.presences)}
    assert facts <= {fact.told for fact in facts_state(receiver)}


def test_a_cell_is_told_once_in_a_message() -> None:
    blocks = (Cells("p", 1, (rewards("A", 9, 9),)), Cells("p", 1, (rewards("A", 0, 0, 0),)))
    with pytest.raises(PeerError, match="twice"):
        check_changes(Changes(cells=blocks), "p", knowing())
