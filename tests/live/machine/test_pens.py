"""Pens between machines, without I/O: lent, given back, handed on, ended, and the gate for rewards."""

import pytest
from tests.live.machine.pen_fleet import ARMS, GROUP, Fleet, build, counted, decide, name_of

from cobandit.core import Share
from cobandit.core.pens import Phase
from cobandit.core.settled import is_settled
from cobandit.live.decide.decision import Claim, sign
from cobandit.live.decide.taken import Taken
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import PenLent, PenOver, PenRefused, PenReturned, pack, unpack
from cobandit.live.machine.holding import holder, not_given_back, question
from cobandit.live.machine.rewarding import take_reward
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.store.journal import MemoryJournal
from cobandit.values.errors import PeerError


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def test_a_pod_without_a_name_counts_with_a_pen(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    decide(pod)
    decide(pod)
    fleet.wait(15.0)  # flush_every
    assert (counted(relay), counted(pod), pod.holding and pod.holding.unacknowledged) == (2, 2, 0)
    assert {key.agent for key, _ in relay.agent.endpoint.replica.cells()} == {name_of(pod)}


def test_a_closed_pen_is_handed_on_with_its_cells_and_above_its_numbers(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    tokens = [decide(pod), decide(pod, reward=None)]
    fleet.work()
    assert pod.holding is not None
    pod.holding.close(fleet.clock.now())
    fleet.wait(3.0)
    assert pod.holding.is_closed
    del fleet.machines[name_of(pod)]
    after = fleet.pod("r", b"2")
    assert (name_of(after), after.agent.incarnation) == (name_of(pod), pod.agent.incarnation)
    assert after.agent.session > pod.agent.session
    assert counted(after) == 1
    decide(after)
    fleet.wait(15.0)
    assert len({key[:2] for key, _ in relay.agent.endpoint.replica.cells()}) == 1  # no new row
    # What the first one had decided, the second rewards; and what was rewarded was counted.
    assert [take_reward(relay, token, 1.0) for token in tokens] == [Taken.COUNTED_BEFORE, Taken.ON_ITS_WAY]
    fleet.wait(100.0)
    for machine in (relay, after):
        assert [take_reward(machine, token, 1.0) for token in tokens] == [Taken.COUNTED_BEFORE] * 2
    assert (counted(relay), counted(after)) == (3, 3)


def test_while_it_is_given_back_nothing_is_counted(fleet: Fleet) -> None:
    fleet.relay("r")
    pod = fleet.pod("r")
    token = decide(pod, reward=None)
    assert pod.holding is not None
    pod.holding.close(fleet.clock.now())
    fleet.cut = {"r"}
    fleet.wait(2.0)
    assert pod.holding.is_giving_back
    assert take_reward(pod, token, 1.0) is Taken.NOT_YET


def test_a_lender_does_not_take_a_pen_back_of_which_it_lacks_something(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    decide(pod)
    assert pod.holding is not None
    fleet.tell("r", PenReturned(name_of(pod), name_of(pod), pod.agent.session, pod.agent.log_number + 5, 1))
    assert relay.lending is not None
    assert relay.lending.book.pens[name_of(pod)].phase == Phase.LENT.value


def test_a_pen_whose_holder_is_silent_is_ended_and_its_decisions_are_rewarded_once(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    acknowledged, lost, open_one = decide(pod), None, None
    fleet.wait(15.0)
    fleet.cut = {name_of(pod)}
    lost, open_one = decide(pod), decide(pod, reward=None)
    fleet.wait(130.0)
    assert [take_reward(relay, token, 1.0) for token in (acknowledged, lost, open_one, lost)] == [
        Taken.COUNTED_BEFORE,
        Taken.COUNTED,
        Taken.COUNTED,
        Taken.COUNTED_BEFORE,
    ]
    assert counted(relay) == 3
    # It was only cut off: what it says now is not merged, it is told so, and takes another pen.
    fleet.cut = set()
    fleet.wait(60.0)
    assert counted(relay) == 3
    assert pod.holding is not None
    assert pod.holding.is_over
    del fleet.machines[name_of(pod)]
    after = fleet.pod("r", b"2", pod.holding.leftovers())
    fleet.wait(10.0)
    assert name_of(after) != name_of(pod)
    assert (counted(relay), after.outbox.waiting, after.holding and after.holding.is_over) == (3, 0, False)


def test_what_was_not_acknowledged_comes_through_the_gate_after_a_switch(fleet: Fleet) -> None:
    first, second = fleet.relay("r"), fleet.relay("s")
    pod = fleet.pod("r")
    fleet.cut = {"r"}
    old = [decide(pod), decide(pod)]
    assert pod.holding is not None
    fleet.wait(4.0)
    assert not pod.holding.is_lender_silent(fleet.clock.now())
    fleet.wait(10.0)
    assert pod.holding.is_lender_silent(fleet.clock.now())
    late = decide(pod, reward=None)
    left = pod.holding.leftovers()
    assert [message.upto for message in left.given_back] == [None]
    del fleet.machines[name_of(pod)]
    after = fleet.pod("s", b"2", left)
    assert take_reward(after, late, 1.0) is Taken.ON_ITS_WAY
    decide(pod)  # by a thread that had begun before
    assert after.holding is not None
    after.holding.bring(pod.holding.leftovers().unacknowledged)
    fleet.cut = set()
    fleet.wait(700.0)
    assert (counted(first), counted(second), after.outbox.waiting) == (4, 4, 0)
    assert [take_reward(first, token, 1.0) for token in (*old, late)] == [Taken.COUNTED_BEFORE] * 3


def test_much_that_was_not_acknowledged_comes_bit_by_bit(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    fleet.cut = {"r", name_of(pod)}
    for _ in range(1600):
        decide(pod)
    fleet.wait(130.0)
    assert pod.holding is not None
    assert pod.holding.unacknowledged == 1600
    left = pod.holding.leftovers()
    del fleet.machines[name_of(pod)]
    fleet.cut = set()
    fleet.pod("r", b"2", left)
    fleet.wait(60.0)
    assert counted(relay) == 1600


def test_decisions_that_are_too_old_are_given_up_and_their_numbers_forgotten(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    tokens = [decide(pod), decide(pod, reward=None)]
    fleet.wait(20.0)
    fleet.cut = {name_of(pod)}
    fleet.wait(200.0)
    fleet.clock.time += 1e6  # expire_after
    fleet.wait(20_000.0)
    assert [take_reward(relay, token, 1.0) for token in tokens] == [Taken.GIVEN_UP] * 2
    assert relay.lending is not None
    assert (relay.lending.book.pens, relay.lending.given_up, counted(relay)) == ({}, 2, 1)
    assert [told.bits for told in relay.agent.snapshot().endpoint.facts[-1].told.settled] == [b""]


def test_a_reward_for_a_lent_pen_is_brought_to_its_holder(fleet: Fleet) -> None:
    relay, other = fleet.relay("r"), fleet.relay("s")
    pod = fleet.pod("r")
    token = decide(pod, reward=None)
    assert take_reward(other, token, 1.0) is Taken.ON_ITS_WAY
    fleet.wait(20.0)
    assert (counted(pod), counted(relay), other.outbox.waiting, relay.outbox.waiting) == (1, 1, 0, 0)
    assert take_reward(pod, token, 1.0) is Taken.COUNTED_BEFORE


def test_the_book_survives_a_crash_and_so_does_what_was_counted_at_the_gate(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    token = decide(pod, reward=None)
    fleet.work()
    fleet.cut = {name_of(pod)}
    fleet.wait(130.0)
    assert take_reward(relay, token, 1.0) is Taken.COUNTED
    fleet.work()
    again = fleet.relay("r", fleet.journals["r"])
    assert again.lending is not None
    assert relay.lending is not None
    assert again.lending.book.state() == relay.lending.book.state()
    assert take_reward(again, token, 1.0) is Taken.COUNTED_BEFORE
    assert counted(again) == 1


def test_a_relay_without_its_disk_adopts_only_what_another_has_told_it(fleet: Fleet) -> None:
    relay, other = fleet.relay("r"), fleet.relay("s")
    pod = fleet.pod("r")
    known, unknown = decide(pod), decide(pod, reward=None)
    fleet.wait(100.0)
    assert is_settled(other.agent.endpoint.replica, name_of(pod), pod.agent.incarnation, 0)
    del fleet.machines["r"]
    fleet.cut = {"s", name_of(pod)}
    relay = fleet.relay("r", MemoryJournal())
    assert take_reward(relay, known, 1.0) is Taken.ON_ITS_WAY  # kept here: nobody can judge it
    assert counted(relay) == 0
    fleet.cut = {name_of(pod)}
    relay.introduction.greet("s")
    other.introduction.greet("r")
    fleet.wait(100.0)
    assert (counted(relay), relay.outbox.waiting) == (1, 0)
    assert [take_reward(relay, token, 1.0) for token in (known, unknown)] == [Taken.COUNTED_BEFORE, Taken.COUNTED]
    assert relay.lending is not None
    assert relay.lending.book.lend(b"9", relay.agent.incarnation, lambda last: last + 1, 0.0) is not None
    assert name_of(pod) not in [pen for pen in relay.lending.book.pens if relay.lending.book.is_lent(pen)]


def test_a_late_packet_brings_no_observation_without_its_number(fleet: Fleet) -> None:
    """Both relays lose their disks. In between, a packet that was sent before arrives late.

    It was the second part of two: it has the observation, and the first part had the number (swarm seed 42002627).
    """
    lender, other = fleet.relay("r"), fleet.relay("s")
    lender.limit_facts(1)
    fleet.wait(10.0)
    pod = fleet.pod("r")
    fleet.sent.clear()
    token = decide(pod)
    fleet.wait(100.0)
    assert is_settled(other.agent.endpoint.replica, name_of(pod), pod.agent.incarnation, 0)
    said = [unpack(packet, GROUP) for sender, receiver, packet in fleet.sent if (sender, receiver) == ("r", "s")]
    late = [one for one in said if isinstance(one, Share) and one.changes.cells and not one.changes.settled]
    assert late
    del fleet.machines["s"], fleet.machines[name_of(pod)]
    fleet.lost = {"r": Share}
    other = fleet.relay("s", MemoryJournal())
    del fleet.machines["r"]
    for one in late:
        other.step(((pack(one, GROUP), "r"),))
    fleet.lost = {}
    lender = fleet.relay("r", MemoryJournal())
    other.introduction.greet("r")
    take_reward(lender, token, 1.0)
    fleet.wait(100.0)
    assert (counted(lender), counted(other)) == (1, 1)
    assert take_reward(lender, token, 1.0) is Taken.COUNTED_BEFORE


def test_who_speaks_with_a_pen_in_another_session_is_told_that_it_is_over(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    before = relay.agent.snapshot()
    hello = pod.introduction.hello()
    stolen = control_messages.Hello(
        hello.sender, hello.arms, 1, pod.agent.session + 1, 9, b"", incarnation=hello.incarnation, is_leaf=True
    )
    del fleet.machines[name_of(pod)]
    fleet.tell("r", stolen)
    assert relay.agent.snapshot() == before
    assert fleet.heard == [PenOver("r", name_of(pod), pod.agent.session + 1, is_closed=False)]


def test_a_forged_id_counts_nothing(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    assert relay.lending is not None
    relay.lending.end(name_of(pod), "")
    token = sign(Claim(name_of(pod), 3, "A", 1.0), b"another key")
    assert take_reward(relay, token, 1.0) is Taken.GIVEN_UP
    assert counted(relay) == 0


def test_who_counts_rewards_otherwise_gets_no_pen(fleet: Fleet) -> None:
    fleet.relay("r")
    fleet.tell("r", control_messages.PenAsked("asker", b"1", ARMS, 7))
    (refused,) = fleet.heard
    assert isinstance(refused, PenRefused)
    assert "counts 1 quanta in a reward, not 7" in refused.why
    fleet.tell("r", control_messages.PenAsked("asker", b"1", ("C",), 1))
    refused = fleet.heard[-1]
    assert isinstance(refused, PenRefused)
    assert "has no arm in common with C" in refused.why


def test_who_is_not_a_relay_says_so(fleet: Fleet) -> None:
    fleet.relay("r")
    pod = fleet.pod("r")
    fleet.tell(name_of(pod), control_messages.PenAsked("asker", b"1", ARMS, 1))
    (refused,) = fleet.heard
    assert isinstance(refused, PenRefused)
    assert "is not a relay" in refused.why


def test_an_answer_to_another_question_is_refused(fleet: Fleet) -> None:
    fleet.relay("r")
    fleet.tell("r", control_messages.PenAsked("asker", b"1", ARMS, 1))
    lent = fleet.heard.pop()
    assert isinstance(lent, PenLent)
    with pytest.raises(PeerError, match="to another process"):
        holder(lent, question("asker", ARMS, 1), build=build, sharing=LIVE_SHARING, clock=fleet.clock)


def test_a_lender_that_said_farewell_is_greeted_until_it_answers(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    pod.forget("r")
    decide(pod)
    fleet.wait(30.0)
    assert ("r" in pod.agent.peers, counted(relay)) == (True, 1)


def test_a_holder_is_heard_often_enough_and_no_more(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    fleet.wait(1200.0)
    assert relay.lending is not None
    assert relay.lending.book.is_lent(name_of(pod))


@pytest.mark.parametrize(
    ("unacknowledged", "words"),
    [
        (0, "stops before r has taken its pen back: nothing is lost, and it ends the pen after its lease"),
        (1, "stops before r has acknowledged everything: 1 reward may count nowhere"),
        (1200, "stops before r has acknowledged everything: 1,200 rewards may count nowhere"),
    ],
)
def test_who_stops_with_a_pen_says_what_may_be_lost_and_nothing_if_nothing_is(unacknowledged: int, words: str) -> None:
    assert not_given_back("r", unacknowledged) == words
