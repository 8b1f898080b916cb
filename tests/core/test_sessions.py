"""What is acknowledged, what is held, and in whose session: when each number moves, and when it does not."""

from collections.abc import Sequence

import pytest

from cobandit.core import (
    Acknowledgement,
    Cells,
    Changes,
    Delivery,
    Endpoint,
    Message,
    Notice,
    Outcome,
    Presence,
    Receipt,
    RetryTimers,
    Share,
    on_demand,
)
from cobandit.core.facts import CellKey
from cobandit.core.retransmit import Phase
from cobandit.core.snapshots import state
from cobandit.core.state import Claim
from cobandit.values.errors import PeerError
from cobandit.values.tally import ArmTally

ARMS = ("A", "B")
MINE, THEIRS = 20, 10
"""The session of j, and the one of p that j knows."""


def tally(count: int, arm: str = "A") -> ArmTally:
    return ArmTally(arm, count, 0, 0)


def presence(
    session: int = THEIRS, number: int = 2, arms: Sequence[str] = ARMS, *, is_present: bool = True
) -> Presence:
    return Presence("p", session, number, session, is_present, tuple(arms), 1)


def delivery(session: int = THEIRS, attempt: int = 0, receipt: tuple[int, int, int] = (MINE, 0, 0)) -> Delivery:
    return Delivery(session, attempt, Receipt(*receipt), is_introduced=True)


def share(number: int, log: tuple[int, int], by: Delivery | None = None, *told: object) -> Share:
    """A share of p. Its presence is told with what begins at 0, as it is in the life of a log."""
    cells = tuple(one for one in told if isinstance(one, Cells))
    here = tuple(one for one in told if isinstance(one, Presence))
    return Share("p", "j", number, 0, Changes(*log, cells, (), here), by or delivery())


def met() -> Endpoint:
    """j in session 20, to which p has told its log up to 8."""
    timers = RetryTimers(first=8.0, tick=30.0, longest=100.0)
    j = Endpoint("j", ARMS, on_demand(loss_tolerant=timers), units_per_reward=1, incarnation=MINE)
    j.peer_joined("p", ARMS, 0.0)
    j.join(0.0)
    j.observe((tally(3),), 1.0)
    j.receive(share(1, (0, 8), None, presence(), Cells("p", THEIRS, (tally(5),))), 2.0)
    link = j.links["p"]
    assert (link.peer.session, link.held, link.acknowledged, link.shares_received) == (THEIRS, 8, 0, 1)
    return j


def numbers(j: Endpoint) -> tuple[int | None, int, int]:
    link = j.links["p"]
    return link.peer.session, link.held, link.acknowledged


def hear(j: Endpoint, message: Message) -> Outcome:
    return j.receive(message, 3.0)


# What is held.


@pytest.mark.parametrize(
    ("log", "held"),
    [
        ((8, 12), 12),
        ((0, 12), 12),
        ((8, 8), 8),
        ((0, 5), 8),  # old news
        ((9, 12), 8),  # something between 8 and 9 is missing
        ((40, 50), 8),
    ],
)
def test_what_is_held_moves_on_if_nothing_is_missing(log: tuple[int, int], held: int) -> None:
    j = met()
    hear(j, share(2, log, None, Cells("p", THEIRS, (tally(6),))))
    assert numbers(j) == (THEIRS, held, 0)
    assert j.replica.observations_of("p", THEIRS) == 6  # what it says counts all the same


@pytest.mark.parametrize("session", [0, MINE - 1])
def test_a_share_for_a_former_session_moves_nothing(session: int) -> None:
    """Its sender may not know yet what this session wants."""
    j = met()
    hear(j, share(2, (8, 12), delivery(receipt=(session, 0, 0)), Cells("p", THEIRS, (tally(6),))))
    assert numbers(j) == (THEIRS, 8, 0)
    assert j.replica.observations_of("p", THEIRS) == 6


def test_a_share_of_a_former_session_moves_nothing() -> None:
    j = met()
    late = share(2, (8, 12), delivery(session=THEIRS - 1), Cells("p", THEIRS - 1, (tally(6),)))
    assert hear(j, late).outgoing == (
        Acknowledgement("j", "p", Delivery(MINE, 0, Receipt(THEIRS, 1, 8), is_introduced=True)),
    )
    assert numbers(j) == (THEIRS, 8, 0)
    assert j.replica.observations_of("p", THEIRS - 1) == 6


def test_a_session_that_has_not_said_what_it_serves_is_not_heeded() -> None:
    j = met()
    assert hear(j, share(2, (0, 12), delivery(session=THEIRS + 1))).outgoing == ()
    assert numbers(j) == (THEIRS, 8, 0)


def test_a_new_session_of_the_peer_is_held_from_its_beginning() -> None:
    j = met()
    hear(j, share(2, (0, 4), delivery(session=THEIRS + 1), presence(THEIRS + 1)))
    assert numbers(j) == (THEIRS + 1, 4, 0)
    hear(j, share(3, (5, 9), delivery(session=THEIRS + 1)))
    assert numbers(j) == (THEIRS + 1, 4, 0)


@pytest.mark.parametrize(
    ("session", "log", "held"),
    [
        (THEIRS, (8, 9), 9),
        (THEIRS, (9, 10), 8),
        (THEIRS + 1, (0, 1), 1),
        (THEIRS + 1, (1, 2), 0),
    ],
)
def test_a_notice_claims_one_number(session: int, log: tuple[int, int], held: int) -> None:
    j = met()
    hear(j, Notice("p", "j", Changes(*log, presences=(presence(session, 4),)), session))
    assert numbers(j) == (session, held, 0)


def test_an_own_new_session_holds_nothing_and_is_acknowledged_nothing() -> None:
    j = met()
    hear(j, Acknowledgement("p", "j", delivery(receipt=(MINE, 1, 4))))
    assert numbers(j) == (THEIRS, 8, 4)
    j.begin(MINE + 1, MINE, (*ARMS, "C"), 3.0)
    assert numbers(j) == (THEIRS, 0, 0)


# What is acknowledged.


@pytest.mark.parametrize(
    ("receipt", "acknowledged"),
    [
        ((MINE, 1, 4), 4),
        ((MINE, 1, 2), 2),
        ((MINE - 1, 1, 4), 0),  # of a former session's log
        ((0, 1, 4), 0),
    ],
)
@pytest.mark.parametrize("kind", ["share", "acknowledgement"])
def test_a_receipt_is_for_one_session(kind: str, receipt: tuple[int, int, int], acknowledged: int) -> None:
    j = met()
    by = delivery(receipt=receipt)
    hear(j, share(2, (8, 8), by) if kind == "share" else Acknowledgement("p", "j", by))
    assert numbers(j) == (THEIRS, 8, acknowledged)


def test_an_old_receipt_takes_nothing_back() -> None:
    j = met()
    hear(j, Acknowledgement("p", "j", delivery(receipt=(MINE, 1, 4))))
    hear(j, Acknowledgement("p", "j", delivery(receipt=(MINE, 0, 2))))
    assert numbers(j) == (THEIRS, 8, 4)


def test_an_acknowledgement_of_a_former_session_is_not_heard() -> None:
    j = met()
    before = state(j)
    late = Acknowledgement("p", "j", delivery(session=THEIRS - 1, receipt=(MINE, 1, 4)))
    assert hear(j, late) == Outcome(wake_at=j.wake_at)
    assert state(j) == before


def test_a_peer_that_restarts_is_told_everything_again() -> None:
    j = met()
    hear(j, Acknowledgement("p", "j", delivery(receipt=(MINE, 1, 4))))
    hear(j, Notice("p", "j", Changes(presences=(presence(THEIRS + 1),)), THEIRS + 1))
    assert numbers(j) == (THEIRS + 1, 0, 0)
    hear(j, Acknowledgement("p", "j", delivery(session=THEIRS + 1, receipt=(MINE, 0, 2))))
    assert numbers(j) == (THEIRS + 1, 0, 2)


def test_who_has_acknowledged_nothing_yet_may_have_acknowledged_before() -> None:
    """The word of a new session counts, also if it is less than that of the session before."""
    j = met()
    hear(j, Acknowledgement("p", "j", delivery(receipt=(MINE, 1, 4))))
    link = j.links["p"]
    assert link.retransmit is not None
    assert link.retransmit.phase is Phase.OPEN
    again = share(2, (0, 2), delivery(session=THEIRS + 1, receipt=(MINE, 0, 0)), presence(THEIRS + 1))
    hear(j, again)
    assert (numbers(j), link.is_unconfirmed, link.retransmit.seen) == ((THEIRS + 1, 2, 0), False, 0)


# Tokens.


def full() -> Endpoint:
    """j, which has shared what p had asked for, and has more."""
    j = met()
    for _ in range(2):
        j.observe((tally(1),), 2.5)
    assert j.links["p"].exchange.state() == (False, 1, 3, 2)
    return j


@pytest.mark.parametrize(
    ("receipt", "is_answered"),
    [
        ((MINE, 1, 4), True),
        ((MINE - 1, 0, 0), True),  # nobody has answered it yet
        ((MINE - 1, 1, 0), False),  # it asked a former session, and will ask again
        ((MINE - 1, 0, 4), False),
    ],
)
def test_a_share_asks_one_session(receipt: tuple[int, int, int], is_answered: bool) -> None:
    j = full()
    outcome = hear(j, share(2, (8, 9), delivery(receipt=receipt)))
    assert any(isinstance(message, Share) and message.is_fresh for message in outcome.outgoing) == is_answered
    assert j.links["p"].shares_received == (2 if is_answered else 1)


@pytest.mark.parametrize("number", [0, 1])
def test_a_number_that_was_seen_asks_nothing(number: int) -> None:
    j = full()
    assert hear(j, share(number, (8, 9))).outgoing == ()


def test_numbers_go_on_across_sessions_of_the_peer() -> None:
    j = full()
    assert hear(j, share(1, (0, 9), delivery(session=THEIRS + 1), presence(THEIRS + 1))).outgoing == ()
    assert j.links["p"].shares_received == 1


# What earlier incarnations observed.


def test_what_a_peer_returns_is_told_to_the_others() -> None:
    j = met()
    j.peer_joined("q", ARMS, 2.0)
    j.begin(MINE + 5, MINE + 5, ARMS, 2.5)
    returned = Cells("j", MINE - 1, (tally(7),))
    j.witnesses.restore([Claim("q", Cells("j", MINE - 1, (tally(9),)))])  # one alone is not believed
    outcome = hear(j, share(2, (8, 9), delivery(receipt=(MINE + 5, 0, 0)), returned))
    assert (outcome.returned, outcome.news) == ((tally(7),), ())
    key = CellKey("j", MINE - 1, "A")
    wanted = {name: [fact.key for fact in j.replica.wanted(0, link.wants)] for name, link in j.links.items()}
    assert key in wanted["q"]
    assert key not in wanted["p"]
    assert j.links["q"].urgent >= j.replica.number_of(key)


def test_what_a_peer_forgot_is_returned_to_it() -> None:
    j = met()
    hear(j, Notice("p", "j", Changes(presences=(presence(THEIRS + 1),)), THEIRS + 1))
    told = [message for message in j.flush(4.0).outgoing if isinstance(message, Share)]
    assert [Cells("p", THEIRS, (tally(5),)) in message.changes.cells for message in told] == [True]


def test_a_session_that_is_not_heeded_yet_is_told_of_itself_without_harm() -> None:
    """j does not know yet what session 11 serves, nor that it is the present one. Seed 975 of the swarm shows it."""
    j, later = met(), THEIRS + 1
    p = Endpoint("p", ARMS, on_demand(loss_tolerant=True), units_per_reward=1, incarnation=later)
    p.peer_joined("j", ARMS, 0.0)
    p.observe((tally(6),), 1.0)
    hear(j, share(2, (4, 9), delivery(session=later), Cells("p", later, (tally(6),))))
    assert (j.links["p"].peer.session, j.replica.observations_of("p", later)) == (THEIRS, 6)
    (echo,) = (
        Share("j", "p", 1, 0, Changes(cells=(told,)), delivery(MINE, receipt=(THEIRS, 1, 8)))
        for message in j.flush(9.0).outgoing
        if isinstance(message, Share)
        for told in message.changes.cells
        if told.agent == "p" and told.incarnation == later
    )
    before = list(p.replica.cells())
    p.receive(echo, 9.0)
    assert list(p.replica.cells()) == before
    with pytest.raises(PeerError, match="j speaks of p: agents share only what they observed"):
        p.receive(echo._replace(changes=Changes(cells=(Cells("p", later, (tally(7),)),))), 9.0)
