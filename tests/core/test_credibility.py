"""What a peer cannot have said is refused with a reason, and leaves no mark."""

import re
from collections.abc import Callable

import pytest

from cobandit.core import (
    Acknowledgement,
    Cells,
    Changes,
    Delivery,
    Eliminations,
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
from cobandit.core.credibility import SPARE_SESSIONS
from cobandit.core.invariants import total
from cobandit.core.messages import MAX_INCARNATION, MAX_NUMBER, MAX_OBSERVATIONS
from cobandit.core.snapshots import state
from cobandit.values.errors import LocalError, PeerError, StrangerError
from cobandit.values.tally import ArmTally

ARMS = ("A", "B")
ONE = ArmTally("A", 1, 1, 1)
SESSION, INCARNATION = 9, 4
"""Which start of j's log it is, and which start of j itself."""


def endpoint(*, is_tolerant: bool, arms: tuple[str, ...] = ARMS) -> Endpoint:
    """j in session 9 and incarnation 4, which knows session 7 of p well, and q by name."""
    timers = RetryTimers(first=8.0, tick=30.0, longest=100.0)
    sharing = on_demand(loss_tolerant=timers if is_tolerant else False)
    j = Endpoint("j", ARMS, sharing, units_per_reward=1, incarnation=INCARNATION)
    j.peer_joined("p", arms, 0.0)
    j.peer_joined("q", ARMS, 0.0)
    if is_tolerant:
        j.begin(SESSION, INCARNATION, ARMS, 0.0)
        j.join(0.0)
    j.observe((ONE,), 1.0)
    j.receive(honest() if is_tolerant else plain(), 2.0)
    return j


def delivery(**changes: object) -> Delivery:
    return Delivery(7, 0, Receipt(SESSION, 1, 2), is_introduced=True)._replace(**changes)  # type: ignore[arg-type]


def receipt(**changes: object) -> Delivery:
    return delivery(receipt=Receipt(SESSION, 1, 2)._replace(**changes))  # type: ignore[arg-type]


def presence(**changes: object) -> Presence:
    return Presence("p", 7, 2, 5, is_present=True, arms=ARMS, units_per_reward=1)._replace(**changes)  # type: ignore[arg-type]


def honest(**changes: object) -> Share:
    """A share of p, where messages may be lost."""
    told = Changes(0, 3, (Cells("p", 5, (ONE,)),), presences=(presence(),))
    return Share("p", "j", 1, 1, told, delivery())._replace(**changes)  # type: ignore[arg-type]


def plain(**changes: object) -> Share:
    """A share of p, where none is."""
    return Share("p", "j", 1, 1, Changes(0, 1, (Cells("p", 5, (ONE,)),)))._replace(**changes)  # type: ignore[arg-type]


def telling(told: Changes) -> Share:
    return honest(number=2, changes=told._replace(base=3, upto=4))


def here(**changes: object) -> Notice:
    """The notice with which p introduces itself."""
    return Notice("p", "j", Changes(presences=(presence(**changes),)))


def gone(*arms: str, agent: str = "p") -> Notice:
    return Notice("p", "j", Changes(eliminations=(Eliminations(agent, 5, arms),)))


def whole(of: Endpoint) -> tuple[object, ...]:
    peers = [(peer.name, peer.arms, peer.common, peer.common_set) for peer in of.members]
    return state(of), of.members.same_arms, peers, set(of.candidates.own), total(of)


def refused(j: Endpoint, message: Message, text: str, error: type[Exception] = PeerError) -> None:
    before = whole(j)
    with pytest.raises(error, match=re.escape(text)):
        j.receive(message, 3.0)
    assert whole(j) == before


TOLERANT: dict[str, tuple[Message, str]] = {
    # Who speaks, and to whom.
    "from itself": (honest(sender="j"), "j received a message from itself: do two processes run under one name?"),
    "for somebody else": (honest(receiver="q"), "p sent a message for 'q' to j"),
    "a stranger's share": (
        honest(sender="r", changes=Changes(), delivery=delivery()),
        "'r' is not known to j: an agent must join before it is heard",
    ),
    "a stranger's farewell": (
        Notice("r", "j", Changes(presences=(presence(agent="r", is_present=False),))),
        "'r' is not known to j",
    ),
    "a stranger's elimination": (gone("A", agent="r")._replace(sender="r"), "'r' is not known to j"),
    "a stranger's acknowledgement": (Acknowledgement("r", "j", delivery()), "'r' is not known to j"),
    # Shares.
    "no loss tolerance": (plain(), "j is loss-tolerant and p is not: a whole group must agree"),
    "a share's number below 0": (honest(number=-1), "p sent share -1 with 1 observations"),
    "a share's number too high": (honest(number=MAX_NUMBER + 1), f"p sent share {MAX_NUMBER + 1} with 1"),
    "observations below 0": (honest(observations=-1), "p sent share 1 with -1 observations"),
    "observations too high": (honest(observations=MAX_NUMBER + 1), f"with {MAX_NUMBER + 1} observations"),
    # Deliveries.
    "a session below 0": (honest(delivery=delivery(session=-1)), "p speaks of itself as session -1, attempt 0"),
    "a session too high": (honest(delivery=delivery(session=MAX_INCARNATION)), "p speaks of itself as session"),
    "an attempt below 0": (honest(delivery=delivery(attempt=-1)), "as session 7, attempt -1"),
    "an attempt too high": (honest(delivery=delivery(attempt=MAX_NUMBER + 1)), "as session 7, attempt"),
    "a receipt's session below 0": (honest(delivery=receipt(session=-1)), "p sent an impossible receipt"),
    "a receipt's session too high": (honest(delivery=receipt(session=MAX_INCARNATION)), "an impossible receipt"),
    "a receipt's number below 0": (honest(delivery=receipt(number=-1)), "p sent an impossible receipt"),
    "a receipt's number too high": (honest(delivery=receipt(number=MAX_NUMBER + 1)), "an impossible receipt"),
    "a receipt's log below 0": (honest(delivery=receipt(held=-1)), "p sent an impossible receipt"),
    "a receipt's log too high": (honest(delivery=receipt(session=3, held=MAX_NUMBER + 1)), "an impossible receipt"),
    "a session after which there are few": (
        honest(delivery=receipt(session=MAX_INCARNATION - SPARE_SESSIONS)),
        f"p knows session {MAX_INCARNATION - SPARE_SESSIONS} of j, after which there are few more",
    ),
    "an acknowledgement's session": (Acknowledgement("p", "j", delivery(session=-1)), "p speaks of itself as session"),
    "an acknowledgement of few sessions": (
        Acknowledgement("p", "j", receipt(session=MAX_INCARNATION - 1)),
        "after which there are few more",
    ),
    "an acknowledgement of nothing": (Acknowledgement("p", "j", receipt(held=90)), "p acknowledges share 1 and number"),
    # Receipts.
    "a share that was never sent": (
        honest(number=2, delivery=receipt(number=2)),
        "p acknowledges share 2 and number 2, but j has said only 1 and 5: do two processes run under one name?",
    ),
    "a log that never was": (honest(number=2, delivery=receipt(held=6)), "p acknowledges share 1 and number 6"),
    # Who may speak of what.
    "a third one's cells": (telling(Changes(cells=(Cells("q", 0, (ONE,)),))), "p speaks of q: agents share only what"),
    "more of the receiver's present cells than it has": (
        telling(Changes(cells=(Cells("j", INCARNATION, (ONE._replace(observations=MAX_OBSERVATIONS),)),))),
        "p speaks of j",
    ),
    "a third one's eliminations": (telling(Changes(eliminations=(Eliminations("q", 0, ("A",)),))), "p speaks of q"),
    "the receiver's eliminations": (telling(Changes(eliminations=(Eliminations("j", 0, ("A",)),))), "p speaks of j"),
    "a third one's presence": (telling(Changes(presences=(presence(agent="q"),))), "p speaks of q"),
    "the receiver's presence": (telling(Changes(presences=(presence(agent="j"),))), "p speaks of j"),
    "a notice of a third one": (gone("A", agent="q"), "p speaks of q: agents share only what they observed"),
    # Presences.
    "another quantum": (
        here(number=4, units_per_reward=100),
        "p counts 100 quanta in a reward, j counts 1: a whole group must declare the same quantum",
    ),
    "no arms": (here(number=4, arms=()), "p cannot join: the arm set is empty"),
    "arms that are doubled": (here(number=4, session=8, arms=("A", "A")), "p cannot join: arm names must differ"),
    "an arm without a name": (here(number=4, session=8, arms=("A", "")), "p cannot join: an arm's name must be"),
    "other arms in one session": (
        here(number=4, arms=("A", "C")),
        "p joined with arms A, C but had A, B before: start it with the same arms, or under a new name",
    ),
    "a name that cannot be": (
        Notice("r" * 201, "j", Changes(presences=(presence(agent="r" * 201),))),
        "cannot join: an agent's name must be a string of 1 to 200 bytes in UTF-8",
    ),
    # Facts that cannot be: `Replica.check` has them all.
    "rewards that cannot be": (telling(Changes(cells=(Cells("p", 5, (ArmTally("A", 2, 9, 9),)),))), "no rewards of at"),
    "a log that ends before it begins": (honest(number=2, changes=Changes(4, 3)), "p tells of its log from 4 to 3"),
    "an impossible notice": (here(number=-1), "p sent notice -1 of session 7"),
    **{
        f"the place {ascii(at)[:30]}": (
            telling(Changes(cells=(Cells("p", 5, (ONE,), *at),))),
            "p tells of a bandit or a segment",
        )
        for at in [("home", "a\x1fb"), ("home", "\x1f"), ("home", "\u00fc" * 150), ("home", "a\nb"), ("a\x1fb", "")]
    },
    "something bad behind something good": (
        telling(Changes(cells=(Cells("p", 5, (ArmTally("A", 2, 2, 2),)), Cells("q", 0, (ONE,))))),
        "p speaks of q",
    ),
    "something bad from one who joins": (
        honest(
            sender="r",
            changes=Changes(cells=(Cells("r", 0, (ArmTally("A", 1, 2, 4),)),), presences=(presence(agent="r"),)),
        ),
        "no rewards of at most 1 add up to that",
    ),
}

PAPER: dict[str, tuple[Message, str]] = {
    "from itself": (plain(sender="j"), "j received a message from itself"),
    "for somebody else": (plain(receiver="q"), "p sent a message for 'q' to j"),
    "a stranger's share": (plain(sender="r", changes=Changes(cells=(Cells("r", 0, (ONE,)),))), "'r' is not known to j"),
    "loss tolerance": (honest(), "p is loss-tolerant and j is not: a whole group must agree"),
    "an acknowledgement": (Acknowledgement("p", "j", delivery()), "p is loss-tolerant and j is not: a whole group"),
    "a share's number": (plain(number=0), "p sent share 0 with 1 observations"),
    "a share without observations": (plain(number=2, observations=0), "p sent share 2 with 0 observations"),
    "an empty share": (plain(number=2, changes=Changes()), "p sent an empty share"),
    "other arms": (here(session=0, number=4, arms=("A", "C")), "p joined with arms A, C but had A, B before"),
    "other arms in another session": (here(session=8, number=4, arms=("A",)), "p joined with arms A but had A, B"),
    "an arm that it does not have": (gone("Z"), "p eliminated Z, of A, B"),
}


@pytest.mark.parametrize("name", TOLERANT)
def test_where_messages_may_be_lost(name: str) -> None:
    refused(endpoint(is_tolerant=True), *TOLERANT[name])


@pytest.mark.parametrize("name", PAPER)
def test_where_no_message_is_lost(name: str) -> None:
    refused(endpoint(is_tolerant=False), *PAPER[name])


def test_a_stranger_is_told_so() -> None:
    refused(endpoint(is_tolerant=True), *TOLERANT["a stranger's share"], StrangerError)


def test_one_with_other_arms_cannot_eliminate_its_last_candidate() -> None:
    j = endpoint(is_tolerant=False, arms=("A", "C"))
    refused(j, gone("A", "C"), "p eliminated A, C, of A, C")
    j.receive(gone("A"), 3.0)
    refused(j, gone("C"), "p eliminated C, of A, C")


def test_one_more_peer_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    j = endpoint(is_tolerant=True)
    monkeypatch.setattr("cobandit.core.members.MAX_PEERS", 2)
    stranger = Notice("r", "j", Changes(presences=(presence(agent="r"),)))
    refused(j, stranger, "r cannot join: 2 peers are known already, which is the limit")


@pytest.mark.parametrize("message", [None, (), b"bytes", Changes()])
def test_what_is_no_message_is_the_caller_s_fault(message: Message) -> None:
    refused(endpoint(is_tolerant=True), message, "receive takes one message", LocalError)


# What looks strange and may be right.


def taken(j: Endpoint, message: Message) -> Outcome:
    outcome = j.receive(message, 3.0)
    assert j.links[message.sender].peer.last_heard == 3.0
    return outcome


@pytest.mark.parametrize(
    "message",
    [
        honest(number=MAX_NUMBER, observations=MAX_NUMBER),
        honest(number=0, observations=0),
        honest(number=2, delivery=receipt(session=3, number=MAX_NUMBER, held=MAX_NUMBER)),  # of a former session
        honest(number=2, delivery=delivery(attempt=MAX_NUMBER)),
        honest(number=2, delivery=receipt(number=1, held=5)),  # all that was ever said
        telling(Changes(cells=(Cells("j", INCARNATION - 1, (ONE,)),))),
        telling(Changes(cells=(Cells("p", 5, (ArmTally("Z", 100, -1, 7),)),))),
        telling(Changes(eliminations=(Eliminations("p", 5, ("A", "B", "Z")),))),  # its arms may not be known yet
        here(number=4, arms=("B", "A")),
        here(number=4, session=8, arms=("A", "C")),
        gone("A", "B", "Z"),
        Acknowledgement("p", "j", receipt(number=0, held=0)),
    ],
)
def test_what_may_be_so_is_taken(message: Message) -> None:
    taken(endpoint(is_tolerant=True), message)


def relayed(*cells: Cells, is_introduced: bool) -> Share:
    """What session 8 of p, a relay, passes on, with its introduction or after it."""
    presences = (presence(number=4, session=8, is_relay=True),) if is_introduced else ()
    spoken = delivery(session=8, is_introduced=True)
    return honest(number=2, delivery=spoken, changes=Changes(0, 4, cells, presences=presences))


def test_a_relay_may_speak_of_a_third() -> None:
    third = Cells("q", 0, (ONE,))
    j = endpoint(is_tolerant=True)
    assert taken(j, relayed(third, is_introduced=True)).news == (ONE,)


def test_who_does_not_know_that_it_is_a_relay_passes_over_what_it_says_of_others() -> None:
    third, itself = Cells("q", 0, (ONE,)), Cells("p", 5, (ArmTally("B", 1, 1, 1),))
    j = endpoint(is_tolerant=True)
    held = j.links["p"].held
    assert taken(j, relayed(third, itself, is_introduced=False)).news == itself.tallies
    assert {key.agent for key, _ in j.replica.cells()} == {"j", "p"}
    assert j.links["p"].held == held  # so it is told again


def test_who_has_said_that_it_is_no_relay_may_not_speak_of_a_third() -> None:
    j = endpoint(is_tolerant=True)
    taken(j, here(number=4, session=8)._replace(session=8, is_introduced=True))
    with pytest.raises(PeerError, match="p speaks of q: agents share only what they observed"):
        j.receive(relayed(Cells("q", 0, (ONE,)), is_introduced=False), 3.0)


def test_who_has_forgotten_that_it_shared_is_told_so() -> None:
    """Before a peer has heard of this session, it may have seen more shares of a former one."""
    j = endpoint(is_tolerant=True)
    j.begin(SESSION + 1, INCARNATION, ARMS, 2.5)
    taken(j, honest(number=2, delivery=receipt(session=SESSION + 1, number=8, held=0)))
    assert j.links["p"].exchange.shares_sent >= 8


def test_two_may_eliminate_each_other_s_last_arm_if_all_have_the_same() -> None:
    j = endpoint(is_tolerant=False)
    taken(j, gone("A"))
    assert taken(j, gone("B")).ruled_out == ()
    assert j.candidates.own == {"B"}


@pytest.mark.parametrize(
    ("make", "later"),
    [
        (lambda: honest(delivery=receipt(session=SESSION + 1)), SESSION + 1),
        (lambda: Acknowledgement("p", "j", receipt(session=SESSION + 1)), SESSION + 1),
        (lambda: telling(Changes(cells=(Cells("j", INCARNATION + 1, (ONE,)),))), INCARNATION + 1),
    ],
)
def test_a_later_life_is_no_fault_and_nothing_else_is_heard(make: Callable[[], Message], later: int) -> None:
    j = endpoint(is_tolerant=True)
    before = whole(j)
    assert j.receive(make(), 3.0) == Outcome(superseded_by=later, wake_at=j.wake_at)
    assert whole(j) == before


# What was once believed.


@pytest.mark.parametrize(
    "message",
    [
        honest(sender="r", delivery=receipt(session=SESSION + 1))._replace(changes=Changes()),
        Acknowledgement("r", "j", receipt(session=SESSION + 1)),
    ],
)
def test_a_stranger_knows_of_no_later_session(message: Message) -> None:
    refused(endpoint(is_tolerant=True), message, "'r' is not known to j")


@pytest.mark.parametrize("session", [7, 8])
def test_no_session_of_a_peer_holds_more_than_was_said_in_this_one(session: int) -> None:
    """q is known by name only, and session 8 of p is new. Neither can hold what j has not said in this session."""
    j = endpoint(is_tolerant=True)
    by = Delivery(session, 0, Receipt(SESSION, 1, 90), is_introduced=session == 8)
    here = presence(session=8, number=2)
    told = Changes(0, 1, presences=(here,)) if session == 8 else Changes()
    refused(j, Share("p" if session == 8 else "q", "j", 2, 1, told, by), "acknowledges")


@pytest.mark.parametrize("session", [-1, MAX_INCARNATION])
def test_a_notice_has_a_session_that_can_be(session: int) -> None:
    refused(endpoint(is_tolerant=True), gone("A")._replace(session=session), "session")
