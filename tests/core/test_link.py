"""What an agent keeps for a peer, and who is told what: every row of it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import RetryTimers, on_demand
from cobandit.core.exchange import Exchange
from cobandit.core.facts import CellKey, EliminationsKey, Fact, Key, PresenceKey, Teller
from cobandit.core.link import Link
from cobandit.core.members import Members
from cobandit.core.retransmit import Event, Retransmit
from cobandit.core.snapshots import link_state, restore_link
from cobandit.core.state import ExchangeState, LinkState, RetransmitState

NOW, BEFORE, NEVER = 7, 6, 9
"""Sessions of p: its present one, one that is over, and one that has not begun."""


def link(*, is_tolerant: bool = True, arms: str = "BCD", is_relay: bool = False) -> Link:
    """The link of j, which has A, B and C, to session 7 and incarnation 5 of p."""
    members = Members("j", ("A", "B", "C"))
    members.is_relay = is_relay
    peer = members.join("p", tuple(arms))
    peer.session, peer.incarnation = NOW, 5
    retransmit = Retransmit(RetryTimers(first=8.0)) if is_tolerant else None
    return Link(members, peer, Exchange(on_demand()), retransmit)


def wants(one: Link, key: Key, teller: Teller | None = None) -> bool:
    return one.wants(Fact(key, None, teller))


# Who is told what: every cell.

OWN = list(product(["j"], [0, 4, 5, 6], ["A", "B", "D"], [None, ("p", NOW), ("p", BEFORE), ("p", None), ("q", NOW)]))
PEERS = list(product(["p"], [0, 4, 5, 6], ["A", "B", "D"], [("p", NOW), ("p", BEFORE), ("p", NEVER), ("q", NOW)]))
THIRDS = list(product(["q"], [0, 5], ["A", "B", "D"], [("q", NOW), ("p", NOW)]))


@pytest.mark.parametrize(("agent", "incarnation", "arm", "teller"), OWN)
def test_own_cells_of_every_incarnation_are_told(agent: str, incarnation: int, arm: str, teller: Teller | None) -> None:
    """For the arms that both serve, except what this very session of the peer has told."""
    expected = arm == "B" and teller != ("p", NOW)
    assert wants(link(), CellKey(agent, incarnation, arm), teller) == expected


@pytest.mark.parametrize(("agent", "incarnation", "arm", "teller"), PEERS)
def test_other_incarnations_are_returned_to_a_peer(agent: str, incarnation: int, arm: str, teller: Teller) -> None:
    """For the arms that both serve, except what this very session of the peer has told."""
    expected = arm == "B" and incarnation != 5 and teller != ("p", NOW)
    assert wants(link(), CellKey(agent, incarnation, arm), teller) == expected


@pytest.mark.parametrize(("agent", "incarnation", "arm", "teller"), THIRDS)
def test_nobody_speaks_of_a_third(agent: str, incarnation: int, arm: str, teller: Teller) -> None:
    assert not wants(link(), CellKey(agent, incarnation, arm), teller)


@pytest.mark.parametrize(("agent", "incarnation", "arm", "teller"), THIRDS)
def test_a_relay_speaks_of_everybody(agent: str, incarnation: int, arm: str, teller: Teller) -> None:
    """For the arms that both serve, except what this very session of the peer has told."""
    expected = arm == "B" and teller != ("p", NOW)
    assert wants(link(is_relay=True), CellKey(agent, incarnation, arm), teller) == expected


@pytest.mark.parametrize(("agent", "incarnation", "arm", "teller"), [*OWN, *PEERS])
def test_of_itself_and_of_the_peer_a_relay_tells_what_everybody_does(
    agent: str, incarnation: int, arm: str, teller: Teller | None
) -> None:
    key = CellKey(agent, incarnation, arm)
    assert wants(link(is_relay=True), key, teller) == wants(link(), key, teller)


@pytest.mark.parametrize("key", [PresenceKey("q"), EliminationsKey("q", 0)])
def test_a_relay_passes_on_nothing_but_observations(key: Key) -> None:
    assert not wants(link(is_relay=True), key)


# Everything else.


@pytest.mark.parametrize(
    ("key", "arms", "expected"),
    [
        (PresenceKey("j"), "BCD", True),
        (PresenceKey("j"), "D", True),
        (PresenceKey("p"), "BCD", False),
        (PresenceKey("q"), "BCD", False),
        (EliminationsKey("j", 0), "BCD", True),
        (EliminationsKey("j", 6), "BCD", True),
        (EliminationsKey("j", 6), "D", False),
        (EliminationsKey("p", 4), "BCD", False),
        (EliminationsKey("p", 5), "BCD", False),
        (EliminationsKey("q", 0), "BCD", False),
    ],
)
def test_presence_is_for_everybody_and_eliminations_for_partners(key: Key, arms: str, expected: bool) -> None:
    assert wants(link(arms=arms), key) == expected


@pytest.mark.parametrize("key", [PresenceKey("j"), EliminationsKey("j", 0)])
def test_where_no_message_is_lost_the_notice_was_enough(key: Key) -> None:
    assert not wants(link(is_tolerant=False), key)


@pytest.mark.parametrize(("arm", "expected"), [("A", False), ("B", True), ("D", False)])
def test_cells_are_told_where_no_message_is_lost_too(arm: str, expected: bool) -> None:
    one = link(is_tolerant=False)
    assert wants(one, CellKey("j", 0, arm)) == expected


# Sessions and state.


def test_a_new_session_has_acknowledged_nothing_and_holds_nothing() -> None:
    one = link()
    one.acknowledged, one.held, one.shares_received, one.urgent = 8, 9, 4, 7
    assert one.retransmit is not None
    one.retransmit.told(12, 3)
    before = link_state(one)
    one.begin()
    assert before.retransmit is not None
    assert link_state(one) == before._replace(
        acknowledged=0, held=0, retransmit=before.retransmit._replace(confirmed=0, in_flight=())
    )


def test_a_link_begins_with_nothing() -> None:
    assert link_state(link(is_tolerant=False)) == LinkState(
        peer="p",
        arms=("B", "C", "D"),
        is_present=True,
        session=7,
        incarnation=5,
        last_heard=None,
        exchange=ExchangeState(demanded=True, buffered=0, c=1, shares_sent=0),
        shares_received=0,
        acknowledged=0,
        held=0,
        urgent=0,
        is_gone=False,
        is_heard=False,
        is_unconfirmed=False,
        retransmit=None,
    )


numbers = st.integers(0, 2**53)
times = st.floats(allow_nan=False, allow_infinity=False)
retransmits = st.builds(
    RetransmitState,
    phase=st.sampled_from(["open", "waiting", "trusting"]),
    seen=numbers,
    is_known=st.booleans(),
    attempts=numbers,
    can_be_timed=st.booleans(),
    shared_at=times,
    sent_at=times,
    retry_at=times,
    size=times,
    wait=times,
    mean=times,
    deviation=times,
    confirmed=numbers,
    in_flight=st.dictionaries(numbers, numbers, max_size=3).map(lambda tellings: tuple(tellings.items())),
)
states = st.builds(
    LinkState,
    peer=st.just("p"),
    arms=st.just(("B", "C", "D")),
    is_present=st.booleans(),
    session=st.none() | numbers,
    incarnation=numbers,
    last_heard=st.none() | times,
    exchange=st.builds(ExchangeState, st.booleans(), numbers, numbers, numbers),
    shares_received=numbers,
    acknowledged=numbers,
    held=numbers,
    urgent=numbers,
    is_gone=st.booleans(),
    is_heard=st.booleans(),
    is_unconfirmed=st.booleans(),
    retransmit=st.none() | retransmits,
    bandits=st.just(()),
)


@given(states)
def test_a_link_is_restored_as_it_was(state: LinkState) -> None:
    one = link(is_tolerant=state.retransmit is not None)
    if one.retransmit is not None:
        one.retransmit.take(Event.SHARED)
    restore_link(one, state)
    assert link_state(one) == state
