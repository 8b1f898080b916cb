"""Messages are lost, doubled, late and out of order, and agents restart: nothing is lost for good or counted twice."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit import AAE, UCB, Agent, Constant, Geometric, LocalError, PeerError, PerCandidate, on_demand
from cobandit.core import (
    Acknowledgement,
    Eliminated,
    Flushed,
    InputRecord,
    Introduced,
    Join,
    Leave,
    Message,
    Observed,
    Outcome,
    Patience,
    PeerLeft,
    Received,
    Record,
    Share,
    Sharing,
    Threshold,
    Woke,
)
from cobandit.core.delivery import UNKNOWN, Phase
from cobandit.core.endpoint import TolerantLink
from cobandit.core.invariants import endpoint_violations
from cobandit.core.ledger import Origin
from cobandit.core.messages import MOST_BOOTS, MOST_OBSERVATIONS, Handling, Receipt
from cobandit.core.suspicion import LARGEST_JUMP, SPARE_BOOTS
from cobandit.core.tolerant import TolerantEndpoint
from cobandit.policies import Policy
from cobandit.scenario import Absence, AgentSpec, Arms, BuiltIn, Kind, Rate, Row, Scenario
from cobandit.simulator import reference
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import ArmTally, Tally
from cobandit.wire import decode_record, decode_snapshot, encode_record, encode_snapshot

ARMS = ("A", "B")
PATIENCE = Patience(first=10.0, least=1.0, growth=2.0, tick=100.0, longest=1000.0)
NOTHING_YET = Receipt(0, 0, 0, 0, 0)


def tolerant(threshold: Threshold | None = None, patience: Patience = PATIENCE) -> Sharing:
    return on_demand(threshold, loss_tolerant=patience)


def agent(name: str, policy: type[UCB | AAE] = UCB, sharing: Sharing | None = None, boot: int = 0) -> Agent:
    return Agent(name, policy(ARMS, quantum=BERNOULLI), sharing or tolerant(), boot=boot)


def pair(policy: type[UCB | AAE] = UCB, sharing: Sharing | None = None) -> tuple[Agent, Agent]:
    j, p = agent("j", policy, sharing), agent("p", policy, sharing)
    j.peer_joined("p", ARMS)
    p.peer_joined("j", ARMS)
    return j, p


def link(of: Agent, peer: str) -> TolerantLink:
    found = of.endpoint.links[peer]
    assert isinstance(found, TolerantLink)
    return found


def endpoint(of: Agent) -> TolerantEndpoint:
    assert isinstance(of.endpoint, TolerantEndpoint)
    return of.endpoint


def share_of(outcome: Outcome) -> Share:
    (message,) = outcome.outgoing
    assert isinstance(message, Share)
    return message


def everything(of: Agent) -> tuple[object, ...]:
    """All that may influence what an agent does next, but for when it last heard of whom."""
    state = of.endpoint.state()
    links = tuple(one._replace(last_heard=None) for one in state.links)
    return state._replace(links=links), of.policy.tally.copy(), of.policy.own_pulls, of.policy.candidates


# A share that is lost.


def test_a_fresh_share_carries_its_handling() -> None:
    j, _ = pair()
    assert j.update("A", 1.0, now=5.0) == Outcome(
        (Observed("A", 1, 5.0),),
        (Share("j", "p", 1, 1, (Record("j", 0, 0, 1, (ArmTally("A", 1, 1),)),), Handling(0, 0, (), 0, NOTHING_YET)),),
        wake_at=105.0,
    )


def test_a_lost_share_is_repeated_with_the_same_number_and_the_newest_state() -> None:
    j, p = pair()
    j.update("A", 1.0, now=0.0)  # lost
    assert j.update("B", 0.0, now=9.0).outgoing == ()
    newest = Record("j", 0, 0, 3, (ArmTally("A", 2, 1), ArmTally("B", 1, 0)))
    again = share_of(j.update("A", 0.0, now=10.0))
    assert again == Share("j", "p", 1, 3, (newest,), Handling(0, 1, (), 0, NOTHING_YET))
    assert p.receive(again, now=11.0).news == newest.tallies
    answer = share_of(p.update("B", 1.0, now=12.0))
    assert answer.handling == Handling(0, 0, (), 0, Receipt(0, 1, 3, 0, 0))
    j.receive(answer, now=13.0)
    assert j.policy.tally == p.policy.tally


def test_a_repetition_that_is_lost_is_repeated_after_longer_and_longer() -> None:
    j, _ = pair()
    sent = [now for now in range(1200) if j.update("A", 1.0, now=float(now)).outgoing]
    assert sent == [0, 10, 30, 70, 150, 310, 630]  # first 10, then twice as long each time
    assert link(j, "p").delivery.attempts == 6


def test_nobody_is_kept_waiting_longer_than_the_longest() -> None:
    j, _ = pair(sharing=tolerant(patience=Patience(first=10.0, longest=25.0, growth=2.0)))
    sent = [now for now in range(120) if j.update("A", 1.0, now=float(now)).outgoing]
    assert sent == [0, 10, 30, 55, 80, 105]


def test_a_clock_that_goes_back_does_not_silence_a_pair() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=1e9)  # lost
    again = share_of(j.update("A", 1.0, now=5.0))
    assert (again.number, again.handling) == (1, Handling(0, 1, (), 0, NOTHING_YET))


def test_a_share_that_is_answered_is_not_repeated() -> None:
    j, p = pair()
    first = share_of(j.update("A", 1.0, now=0.0))
    p.receive(first, now=1.0)
    j.receive(share_of(p.update("B", 1.0, now=2.0)), now=3.0)
    second = share_of(j.update("A", 1.0, now=4.0))
    assert (second.number, second.records) == (2, (Record("j", 0, 1, 2, (ArmTally("A", 2, 2),)),))


def test_a_share_goes_on_from_what_was_acknowledged_and_not_from_what_was_sent() -> None:
    j, p = pair()
    j.update("A", 1.0, now=0.0)  # lost
    answer = share_of(p.update("B", 1.0, now=2.0))  # p had not heard anything
    j.receive(answer, now=3.0)
    fresh = share_of(j.update("B", 1.0, now=4.0))
    assert (fresh.number, fresh.records) == (2, (Record("j", 0, 0, 2, (ArmTally("A", 1, 1), ArmTally("B", 1, 1))),))


def test_a_record_whose_base_is_missing_is_left_until_it_comes_whole() -> None:
    """The receipt that it builds on came from a boot or a process that p knows nothing of."""
    _, p = pair()
    late = Record("j", 0, 4, 5, (ArmTally("A", 2, 1),))
    share = Share("j", "p", 2, 1, (late,), Handling(0, 0, (), 0, NOTHING_YET))
    assert p.receive(share, now=1.0).news == ()
    assert share_of(p.update("A", 1.0, now=2.0)).handling == Handling(0, 0, (), 0, Receipt(0, 2, 0, 0, 0))


# What comes twice.


def test_a_duplicate_changes_nothing_and_is_not_answered() -> None:
    j, p = pair()
    first = share_of(j.update("A", 1.0, now=0.0))
    p.update("A", 1.0, now=0.0)
    p.update("A", 0.0, now=0.5)
    answer = share_of(p.receive(first, now=1.0))
    assert answer.number == 2
    p.update("B", 0.0, now=1.5)  # now there would be something to answer with
    before = everything(p)
    assert p.receive(first, now=2.0) == Outcome((Received(first, 2.0),), wake_at=101.5)
    assert everything(p) == before


def test_a_duplicate_does_not_ask_twice() -> None:
    j, p = pair()
    first = share_of(j.update("A", 1.0, now=0.0))
    p.receive(first, now=1.0)
    assert [len(p.update("A", 1.0, now=2.0).outgoing), len(p.update("A", 1.0, now=2.5).outgoing)] == [1, 0]
    p.receive(first, now=3.0)
    assert p.update("A", 1.0, now=4.0).outgoing == ()


def test_an_old_share_after_a_newer_one_counts_for_nothing() -> None:
    j, p = pair()
    first = share_of(j.update("A", 1.0, now=0.0))
    j.receive(share_of(p.update("B", 1.0, now=0.0)), now=0.0)
    second = share_of(j.update("A", 0.0, now=1.0))
    p.receive(second, now=2.0)
    before = everything(p)
    assert (second.number, p.receive(first, now=3.0).news) == (2, ())
    assert everything(p) == before


def test_a_repetition_of_what_arrived_is_acknowledged() -> None:
    j, p = pair()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    again = share_of(j.update("B", 0.0, now=10.0))
    outcome = p.receive(again, now=11.0)
    acknowledgement = Acknowledgement("p", "j", 0, Receipt(0, 1, 2, 0, 0))
    assert outcome == Outcome((Received(again, 11.0),), (acknowledgement,), (ArmTally("B", 1, 0),))
    assert j.receive(acknowledgement, now=12.0) == Outcome((Received(acknowledgement, 12.0),), wake_at=110.0)
    assert link(j, "p").delivery.phase is Phase.TRUSTING
    assert [j.update("A", 1.0, now=now).outgoing for now in (30.0, 500.0, 1e6)] == [(), (), ()]


def test_a_repetition_brings_the_answer_again_if_that_was_lost() -> None:
    j, p = pair()
    first = share_of(j.update("A", 1.0, now=0.0))
    p.receive(first, now=1.0)
    lost = share_of(p.update("B", 1.0, now=2.0))
    p.update("B", 0.0, now=3.0)
    answer = share_of(p.receive(share_of(j.update("A", 1.0, now=10.0)), now=11.0))
    assert (lost.number, answer.number, answer.observations) == (1, 1, 2)
    assert answer.records == (Record("p", 0, 0, 2, (ArmTally("B", 2, 1),)),)
    assert answer.handling == Handling(0, 1, (), 0, Receipt(0, 1, 2, 0, 0), is_answer=True)
    j.receive(answer, now=12.0)
    assert link(j, "p").exchange.demanded
    assert share_of(j.update("A", 1.0, now=13.0)).number == 2


def test_an_answer_that_is_a_repetition_is_only_acknowledged() -> None:
    """Else two whose answers cross would repeat themselves to each other without end."""
    j, p = pair()
    j.update("A", 1.0, now=0.0)  # lost
    asks = share_of(j.update("A", 1.0, now=10.0))
    p.receive(asks, now=11.0)
    p.update("B", 1.0, now=12.0)  # lost
    receipt = Receipt(0, 1, 2, 0, 0)
    records = (Record("p", 0, 0, 1, (ArmTally("B", 1, 1),)),)
    again = Share("p", "j", 1, 1, records, Handling(0, 1, (), 0, receipt, is_answer=True))
    assert p.receive(asks, now=13.0) == Outcome((Received(asks, 13.0),), (again,), wake_at=112.0)
    answers = handled(asks, is_answer=True)
    acknowledgement = Acknowledgement("p", "j", 0, receipt)
    before = everything(p)
    assert p.receive(answers, now=14.0) == Outcome((Received(answers, 14.0),), (acknowledgement,), wake_at=112.0)
    assert everything(p) == before


def test_an_acknowledgement_of_state_does_not_end_the_repetition_of_a_token() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=0.0)  # lost
    j.receive(Acknowledgement("p", "j", 0, Receipt(0, 0, 1, 0, 0)), now=1.0)
    assert link(j, "p").delivery.phase is Phase.WAITING
    again = share_of(j.update("B", 1.0, now=10.0))
    assert (again.number, again.records) == (1, (Record("j", 0, 1, 2, (ArmTally("B", 1, 1),)),))


def test_an_acknowledgement_that_is_late_takes_nothing_back() -> None:
    j, p = pair()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    (early,) = p.receive(share_of(j.update("B", 0.0, now=10.0)), now=11.0).outgoing
    answer = share_of(p.update("A", 1.0, now=12.0))
    j.receive(answer, now=13.0)
    before = everything(j)
    j.receive(early, now=14.0)
    assert everything(j) == before


# When a repetition is worth it.


def test_a_repetition_waits_until_the_buffer_is_full_and_moves_c_on() -> None:
    j, _ = pair(sharing=tolerant(Geometric(2)))
    j.update("A", 1.0, now=0.0)  # lost: c = 1, f(1) = 1
    assert j.update("A", 1.0, now=10.0).outgoing == ()  # the wait is over, but f(2) = 2
    assert share_of(j.update("A", 1.0, now=11.0)).observations == 3
    exchange = link(j, "p").exchange
    assert (exchange.share_number, exchange.shares_sent, exchange.buffered) == (3, 1, 0)
    assert [now for now in range(31, 40) if j.update("A", 1.0, now=float(now)).outgoing] == [34]  # f(3) = 4


def test_the_wait_is_longer_for_a_larger_buffer() -> None:
    j, p = pair(sharing=tolerant(Constant(4)))
    for now in range(4):
        j.update("A", 1.0, now=float(now))
    assert link(j, "p").delivery.wait == 40.0
    assert [now for now in range(4, 60) if j.update("A", 1.0, now=float(now)).outgoing] == [43]
    assert p.policy.tally.observations == 0


def test_an_answer_teaches_how_long_to_wait() -> None:
    j, p = pair()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    j.receive(share_of(p.update("B", 1.0, now=2.0)), now=4.0)
    delivery = link(j, "p").delivery
    assert (delivery.mean, delivery.deviation) == (4.0, 2.0)
    j.update("A", 1.0, now=100.0)
    assert delivery.retry_at == 100.0 + 4.0 + 5 * 2.0


def test_a_share_that_crossed_is_no_answer() -> None:
    j, p = pair()
    j.update("A", 1.0, now=0.0)
    j.receive(share_of(p.update("B", 1.0, now=0.0)), now=4.0)
    delivery = link(j, "p").delivery
    assert (delivery.mean, delivery.phase) == (UNKNOWN, Phase.OPEN)


def test_a_repetition_that_was_not_needed_does_not_keep_an_answer_from_teaching() -> None:
    j, p = pair()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    (acknowledgement,) = p.receive(share_of(j.update("B", 0.0, now=10.0)), now=11.0).outgoing
    j.receive(acknowledgement, now=12.0)
    j.receive(share_of(p.update("A", 1.0, now=19.0)), now=20.0)
    assert link(j, "p").delivery.mean == 20.0


# Going quiet.


def test_one_who_pulls_no_more_says_what_is_left() -> None:
    j, p = pair()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    assert j.update("B", 1.0, now=5.0) == Outcome((Observed("B", 1, 5.0),), wake_at=105.0)
    assert j.wake(now=104.0) == Outcome((Woke(104.0),), wake_at=105.0)
    outcome = j.wake(now=105.0)
    rest = Record("j", 0, 0, 2, (ArmTally("A", 1, 1), ArmTally("B", 1, 1)))
    flush = Share("j", "p", 1, 2, (rest,), Handling(0, 1, (), 0, NOTHING_YET))
    assert outcome == Outcome((Woke(105.0),), (flush,), wake_at=205.0)
    (acknowledgement,) = p.receive(flush, now=106.0).outgoing
    assert p.policy.tally == j.policy.tally
    j.receive(acknowledgement, now=107.0)
    assert j.wake(now=205.0) == Outcome((Woke(205.0),))  # all is said: it need not be woken again


def endpoint_of(agent: Agent) -> TolerantEndpoint:
    assert isinstance(agent.endpoint, TolerantEndpoint)
    return agent.endpoint


def test_one_who_is_asked_to_says_what_is_left_at_once_and_once() -> None:
    j, p = pair(sharing=tolerant(Constant(5)))
    j.update("A", 1.0, now=0.0)
    before = j.snapshot()
    outcome = j.flush(now=1.0)
    rest = Record("j", 0, 0, 1, (ArmTally("A", 1, 1),))
    assert outcome.records == (Flushed(1.0),)
    assert outcome.outgoing == (Share("j", "p", 0, 1, (rest,), Handling(0, 1, (), 0, NOTHING_YET)),)
    assert endpoint_of(j).lacking == ("p",)  # until it is acknowledged
    (acknowledgement,) = p.receive(outcome.outgoing[0], now=2.0).outgoing
    assert p.policy.tally == j.policy.tally
    again = Agent.restore(before, outcome.records, policy=UCB(ARMS, quantum=BERNOULLI), sharing=j.sharing)
    assert again.snapshot() == j.snapshot()
    j.receive(acknowledgement, now=3.0)
    assert endpoint_of(j).lacking == ()
    assert j.flush(now=4.0).outgoing == ()


def test_in_the_papers_protocol_nobody_speaks_unasked() -> None:
    with pytest.raises(LocalError, match="only an agent that shares with loss_tolerant=True can flush"):
        Agent("j", UCB(ARMS)).flush(now=0.0)


def test_what_is_left_is_said_even_before_a_first_share() -> None:
    j, p = pair(sharing=tolerant(Constant(5)))
    j.update("A", 1.0, now=0.0)
    flush = share_of(j.wake(now=100.0))
    assert (flush.number, flush.observations, p.receive(flush, now=101.0).news) == (0, 1, (ArmTally("A", 1, 1),))


def test_to_one_who_is_gone_nothing_is_said() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=0.0)
    j.peer_left("p", now=1.0)
    assert j.wake(now=100.0) == Outcome((Woke(100.0),))


def test_one_who_is_not_heard_of_is_probed_less_and_less() -> None:
    j, _ = pair()
    wake_at: float | None = j.update("A", 1.0, now=0.0).wake_at
    probed = []
    while wake_at is not None and wake_at < 10_000:
        outcome = j.wake(wake_at)
        probed.append((wake_at, len(outcome.outgoing)))
        wake_at = outcome.wake_at
    times = [time for time, _ in probed]
    assert times == [100, 200, 300, 400, 560, 880, 1520, 2520, 3520, 4520, 5520, 6520, 7520, 8520, 9520]
    assert {count for _, count in probed} == {1}


@pytest.mark.parametrize(
    "happens",
    [
        lambda j: j.receive(Eliminated("p", "j", "B"), now=2.0),
        lambda j: j.receive(Join("p", "j", ARMS, 1, boot=0, notice=2), now=2.0),
        lambda j: j.receive(Leave("q", "j", boot=0, notice=1), now=2.0),
        lambda j: j.receive(Acknowledgement("q", "j", 0, NOTHING_YET), now=2.0),
        lambda j: j.peer_joined("r", ARMS, now=2.0),
        lambda j: j.peer_left("q", now=2.0),
    ],
)
def test_whatever_happens_the_time_to_wake_is_not_forgotten(happens: object) -> None:
    j, _ = pair()
    j.peer_joined("q", ARMS)
    j.update("A", 1.0, now=0.0)
    assert callable(happens)
    assert happens(j).wake_at == 100.0


def test_a_farewell_changes_nothing_in_the_one_who_says_it_not_even_when_to_wake() -> None:
    """It is not recorded either: one who stays after all, or is restored, goes on as it was."""
    j, _ = pair()
    j.update("A", 1.0, now=0.0)
    before = j.endpoint.state()
    assert j.leave() == Outcome(outgoing=(Leave("j", "p", boot=0, notice=1),), wake_at=100.0)
    assert j.endpoint.state() == before


def test_a_clock_that_goes_back_does_not_silence_one_who_pulls_no_more() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=1e9)  # lost
    assert share_of(j.wake(now=5.0)).number == 1


def test_what_was_pulled_while_a_peer_was_away_is_said_when_it_is_back_even_by_one_who_pulls_no_more() -> None:
    j, p = pair()
    (farewell,) = p.leave().outgoing
    assert farewell == Leave("p", "j", boot=0, notice=1)
    j.receive(farewell, now=0.0)
    j.update("A", 1.0, now=1.0)
    assert j.wake(now=101.0) == Outcome((Woke(101.0),))
    (back,) = p.join(now=499.0).outgoing
    assert back == Join("p", "j", ARMS, 1, boot=0, notice=2)
    assert j.receive(back, now=500.0) == Outcome((Received(back, 500.0),), wake_at=101.0)
    flush = share_of(j.wake(now=500.0))
    assert flush.handling == Handling(0, 1, (), 0, Receipt(0, 0, 0, 0, 0, notice=2))
    assert p.receive(flush, now=501.0).news == (ArmTally("A", 1, 1),)


# Joining.


def test_one_who_joins_says_so_until_that_is_acknowledged() -> None:
    j, p = pair()
    introduction = Join("j", "p", ARMS, 1, boot=0, notice=2)
    assert j.join(now=1.0) == Outcome((Introduced(1.0),), (introduction,), wake_at=101.0)  # lost
    flush = Share("j", "p", 0, 0, (), Handling(0, 1, (), 0, NOTHING_YET))
    assert j.wake(now=101.0) == Outcome((Woke(101.0),), (introduction, flush), wake_at=201.0)
    p.receive(introduction, now=102.0)
    (acknowledgement,) = p.receive(flush, now=102.0).outgoing
    assert acknowledgement == Acknowledgement("p", "j", 0, Receipt(0, 0, 0, 0, 0, notice=2))
    j.receive(acknowledgement, now=103.0)
    assert not link(j, "p").delivery.is_unheard
    assert j.wake(now=1e6) == Outcome((Woke(1e6),))


def test_one_who_is_heard_and_whose_join_notice_is_not_goes_on_saying_it() -> None:
    j, p = pair()
    j.join(now=1.0)  # lost
    (introduction, flush) = j.wake(now=101.0).outgoing  # the notice is lost again, the share is not
    (acknowledgement,) = p.receive(flush, now=102.0).outgoing
    assert acknowledgement == Acknowledgement("p", "j", 0, NOTHING_YET)
    j.receive(acknowledgement, now=103.0)
    assert link(j, "p").delivery.is_unheard
    again = Share("j", "p", 0, 0, (), Handling(0, 2, (), 0, NOTHING_YET))
    assert j.wake(now=201.0) == Outcome((Woke(201.0),), (introduction, again), wake_at=301.0)


def test_the_acknowledgement_of_an_older_join_notice_does_not_do_for_the_newest() -> None:
    j, p = pair()
    p.receive(j.join(now=1.0).outgoing[0], now=1.0)
    j.receive(share_of(p.update("A", 1.0, now=2.0)), now=3.0)
    assert not link(j, "p").delivery.is_unheard
    assert j.leave().outgoing == (Leave("j", "p", boot=0, notice=3),)  # lost
    assert j.join(now=4.0).outgoing == (Join("j", "p", ARMS, 1, boot=0, notice=4),)  # lost
    for notice, is_unheard in ((2, True), (3, True), (4, False), (2, False)):
        j.receive(Acknowledgement("p", "j", 0, Receipt(0, 0, 0, 0, 0, notice=notice)), now=5.0)
        assert link(j, "p").delivery.is_unheard is is_unheard


def test_one_who_has_not_joined_in_this_boot_is_never_unheard() -> None:
    j, _ = pair()
    j.receive(Acknowledgement("p", "j", 0, NOTHING_YET), now=1.0)
    j.receive(Join("p", "j", ARMS, 1, boot=0, notice=2), now=2.0)
    assert not link(j, "p").delivery.is_unheard


def test_one_who_joined_says_so_again_to_a_peer_that_restarts() -> None:
    j, p = pair()
    p.receive(j.join(now=1.0).outgoing[0], now=1.0)
    j.receive(share_of(p.update("A", 1.0, now=2.0)), now=3.0)
    assert not link(j, "p").delivery.is_unheard
    j.receive(Join("p", "j", ARMS, 1, boot=0, notice=2), now=4.0)
    assert not link(j, "p").delivery.is_unheard  # it has acknowledged the notice
    j.receive(Acknowledgement("p", "j", 1, NOTHING_YET), now=5.0)
    assert link(j, "p").delivery.is_unheard  # it may have forgotten the notice


def test_to_one_who_is_gone_an_unheard_notice_is_said_unless_the_driver_knows() -> None:
    j, _ = pair()
    j.join(now=1.0)
    j.receive(Leave("p", "j", boot=0, notice=1), now=2.0)  # it may be back already
    assert [type(message) for message in j.wake(now=101.0).outgoing] == [Join, Share]
    assert j.peer_left("p", now=102.0) == Outcome((PeerLeft("p", 102.0),), wake_at=201.0)
    assert j.wake(now=201.0) == Outcome((Woke(201.0),))


def test_one_who_was_taken_for_gone_and_is_back_is_told_what_it_has_not_acknowledged() -> None:
    j, _ = pair()
    j.join(now=1.0)  # lost
    j.peer_left("p", now=2.0)
    assert not link(j, "p").delivery.is_unheard
    back = Join("p", "j", ARMS, 1, boot=0, notice=2)
    assert j.receive(back, now=3.0) == Outcome((Received(back, 3.0),), wake_at=101.0)
    flush = Share("j", "p", 0, 0, (), Handling(0, 1, (), 0, Receipt(0, 0, 0, 0, 0, notice=2)))
    introduction = Join("j", "p", ARMS, 1, boot=0, notice=2)
    assert j.wake(now=101.0) == Outcome((Woke(101.0),), (introduction, flush), wake_at=201.0)


def test_one_that_the_driver_takes_for_gone_is_here_once_it_is_heard() -> None:
    j, p = pair()
    p.peer_left("j", now=0.0)
    assert p.update("A", 1.0, now=1.0).outgoing == ()
    answer = share_of(p.receive(share_of(j.update("B", 1.0, now=2.0)), now=3.0))
    assert (answer.number, answer.observations) == (1, 1)
    assert link(p, "j").peer.present


def test_one_who_said_farewell_is_not_here_until_it_says_so_whatever_else_is_heard() -> None:
    j, p = pair()
    late = share_of(j.update("B", 1.0, now=0.0))
    p.receive(Leave("j", "p", boot=0, notice=1), now=1.0)
    assert p.receive(late, now=2.0).news == (ArmTally("B", 1, 1),)
    p.receive(Acknowledgement("j", "p", 0, NOTHING_YET), now=3.0)
    assert not link(p, "j").peer.present
    p.receive(Join("j", "p", ARMS, 1, boot=0, notice=2), now=4.0)
    assert link(p, "j").peer.present


def test_the_farewell_of_a_boot_does_not_count_for_the_next() -> None:
    _, p = pair()
    p.receive(Leave("j", "p", boot=0, notice=1), now=1.0)
    p.receive(Acknowledgement("j", "p", 1, NOTHING_YET), now=2.0)
    assert link(p, "j").peer.present


A_JOIN, A_LEAVE = Join("p", "j", ARMS, 1), Leave("p", "j")


@pytest.mark.parametrize(
    ("taken", "old", "present"),
    [
        (A_JOIN._replace(notice=2), A_LEAVE._replace(notice=1), True),
        (A_LEAVE._replace(notice=3), A_JOIN._replace(notice=2), False),
        (A_JOIN._replace(notice=2), A_JOIN._replace(notice=2), True),
        (A_LEAVE._replace(notice=3), A_LEAVE._replace(notice=3), False),
        (A_JOIN._replace(boot=1, notice=2), A_LEAVE._replace(boot=0, notice=9), True),
        (A_LEAVE._replace(boot=1, notice=1), A_LEAVE._replace(boot=0, notice=9), False),
        (A_LEAVE._replace(boot=1, notice=1), A_JOIN._replace(boot=0, notice=2), False),
    ],
)
def test_a_notice_that_is_not_newer_than_the_last_changes_nothing(
    taken: Join | Leave, old: Join | Leave, present: bool
) -> None:
    j, _ = pair()
    j.receive(taken, now=1.0)
    j.update("A", 1.0, now=2.0)
    before = everything(j)
    expected = Outcome((Received(old, 3.0),), wake_at=102.0)
    if isinstance(old, Join) and old.boot < taken.boot:  # its sender should know that its boot is over
        word = Acknowledgement("j", "p", 0, Receipt(taken.boot, 0, 0, 0, 0, taken.notice))
        expected = Outcome(outgoing=(word,), wake_at=102.0)
    assert j.receive(old, now=3.0) == expected
    assert everything(j) == before
    assert link(j, "p").peer.present is present
    assert link(j, "p").delivery.peer_notice == (taken.boot, taken.notice)


@pytest.mark.parametrize(
    ("taken", "newer", "present"),
    [
        (A_JOIN._replace(notice=2), A_LEAVE._replace(notice=3), False),
        (A_LEAVE._replace(notice=1), A_JOIN._replace(notice=2), True),
        (A_JOIN._replace(notice=8), A_LEAVE._replace(boot=1, notice=1), False),
        (A_LEAVE._replace(notice=9), A_JOIN._replace(boot=1, notice=2), True),
    ],
)
def test_a_newer_notice_is_taken(taken: Join | Leave, newer: Join | Leave, present: bool) -> None:
    j, _ = pair()
    j.receive(taken, now=1.0)
    j.receive(newer, now=2.0)
    assert link(j, "p").peer.present is present
    assert link(j, "p").delivery.peer_notice == (newer.boot, newer.notice)


def test_a_notice_of_a_boot_before_the_one_that_was_heard_changes_nothing() -> None:
    j, _ = pair()
    j.receive(Acknowledgement("p", "j", 2, NOTHING_YET), now=1.0)
    before = everything(j)
    old_leave, old_join = A_LEAVE._replace(boot=1, notice=3), A_JOIN._replace(boot=1, notice=2)
    assert j.receive(old_leave, now=2.0) == Outcome((Received(old_leave, 2.0),))
    assert everything(j) == before
    word = Acknowledgement("j", "p", 0, Receipt(2, 0, 0, 0, 0))
    assert j.receive(old_join, now=2.0) == Outcome(outgoing=(word,))
    assert everything(j) == before


def test_after_a_notice_of_a_boot_nothing_is_taken_from_the_boots_before() -> None:
    j, p = pair()
    late = share_of(p.update("B", 1.0, now=0.0))
    j.receive(A_JOIN._replace(boot=1, notice=2), now=1.0)
    before = everything(j)
    answer = Acknowledgement("j", "p", 0, Receipt(1, 0, 0, 0, 0, notice=2))
    assert j.receive(late, now=2.0) == Outcome(outgoing=(answer,))
    assert j.receive(Acknowledgement("p", "j", 0, NOTHING_YET), now=2.0) == Outcome()
    assert everything(j) == before
    assert p.receive(answer, now=3.0).superseded_by == 1


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (A_JOIN._replace(notice=-1), "p sent notice -1 of boot 0"),
        (A_LEAVE._replace(notice=MOST_OBSERVATIONS + 1), "p sent notice 4294967297 of boot 0"),
        (A_JOIN._replace(boot=MOST_BOOTS, notice=2), "p sent notice 2 of boot 9007199254740992"),
        (A_LEAVE._replace(boot=-1, notice=1), "p sent notice 1 of boot -1"),
        (Eliminated("p", "j", "A", boot=-1), "p speaks of itself as boot -1"),
        (Eliminated("p", "j", "A", boot=MOST_BOOTS), "p speaks of itself as boot 9007199254740992"),
        (Leave("q", "j", boot=0, notice=1), "'q' is not known to j"),
    ],
)
def test_a_notice_that_cannot_be_is_refused_and_changes_nothing(broken: Message, text: str) -> None:
    j, _ = pair()
    before = j.endpoint.state()
    with pytest.raises(PeerError, match=text):
        j.receive(broken, now=1.0)
    assert j.endpoint.state() == before


def test_one_who_is_back_is_asked_again_and_not_waited_for() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=0.0)  # lost
    j.receive(Join("p", "j", ARMS, 1, boot=0, notice=2), now=1.0)
    assert link(j, "p").delivery.phase is Phase.OPEN
    assert share_of(j.update("A", 1.0, now=2.0)).number == 2


# Starting again.


def restart(of: Agent, snapshot: object = None, *, boot: int = 1) -> Agent:
    stored = decode_snapshot(encode_snapshot(of.snapshot() if snapshot is None else snapshot))  # type: ignore[arg-type]
    again = UCB(ARMS, quantum=BERNOULLI)
    return Agent.restore(stored, policy=again, sharing=tolerant(), boot=boot)


def test_after_a_restart_former_boots_are_kept_apart() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=0.0)
    again = restart(j)
    share = share_of(again.update("B", 0.0, now=20.0))
    former = Record("j", 0, 0, 1, (ArmTally("A", 1, 1),))
    assert share.records == (Record("j", 1, 0, 1, (ArmTally("B", 1, 0),)), former)
    assert share.handling == Handling(1, 1, (), 1, NOTHING_YET)
    assert (again.policy.own_pulls, again.policy.tally.observations) == (2, 2)


def forgetful_group() -> tuple[Agent, Agent, Agent]:
    """j has pulled three times, p knows all of it, and j starts again from a snapshot with one pull."""
    j, p = pair()
    first = share_of(j.update("A", 1.0, now=0.0))
    old = j.snapshot()
    p.receive(first, now=0.5)
    j.receive(share_of(p.update("B", 0.0, now=1.0)), now=1.5)
    p.receive(share_of(j.update("B", 1.0, now=2.0)), now=2.5)
    j.receive(share_of(p.update("B", 0.0, now=3.0)), now=3.5)
    p.receive(share_of(j.update("B", 1.0, now=4.0)), now=4.5)
    return j, p, restart(j, old)


def test_peers_return_what_a_restart_has_forgotten_and_nothing_is_counted_twice() -> None:
    before, p, j = forgetful_group()
    (introduction,) = j.join(now=10.0).outgoing
    p.receive(introduction, now=10.5)
    (_, own) = j.update("A", 0.0, now=20.0).outgoing  # and once more who speaks, for nobody has answered
    assert p.receive(own, now=20.5).news == (ArmTally("A", 1, 0),)  # of boot 0 p knows more than j does
    assert link(p, "j").delivery.returns == frozenset([0])
    back = share_of(p.update("A", 1.0, now=22.0))
    returned = Record("j", 0, 0, 3, (ArmTally("A", 1, 1), ArmTally("B", 2, 2)))
    assert returned in back.records
    outcome = j.receive(back, now=22.5)
    assert (outcome.returned, outcome.news) == ((ArmTally("B", 2, 2),), (ArmTally("A", 1, 1), ArmTally("B", 2, 0)))
    assert j.policy.own_pulls == 3 + 1
    assert j.policy.tally == p.policy.tally
    assert before.endpoint.ledger.own.entries() == returned.tallies
    assert j.policy.tally.observations == 3 + 1 + 3
    for now in (40.0, 200.0, 400.0, 800.0):
        for sender, receiver in ((j, p), (p, j)):
            for message in sender.wake(now).outgoing:
                for answer in receiver.receive(message, now).outgoing:
                    sender.receive(answer, now)
    assert j.policy.tally == p.policy.tally
    assert j.policy.tally.observations == 3 + 1 + 3
    assert [endpoint(one).owes(link(one, peer)) for one, peer in ((j, "p"), (p, "j"))] == [False, False]
    assert link(p, "j").delivery.returns == frozenset()
    later = (*j.update("A", 1.0, now=900.0).outgoing, *j.wake(now=5000.0).outgoing)
    handlings = [message.handling for message in later if isinstance(message, Share)]
    assert {handling.formers for handling in handlings if handling is not None} == {0}


def test_what_peers_return_is_told_to_the_others() -> None:
    _, p, j = forgetful_group()
    q = agent("q")
    j.peer_joined("q", ARMS)
    q.peer_joined("j", ARMS)
    own = j.update("A", 0.0, now=11.0)
    p.receive(next(message for message in own.outgoing if message.receiver == "p"), now=11.5)
    j.receive(share_of(p.update("A", 1.0, now=12.0)), now=12.5)
    (told,) = [message for message in j.wake(now=1000.0).outgoing if message.receiver == "q"]
    q.receive(told, now=1001.0)
    assert q.policy.tally.entries() == (ArmTally("A", 2, 1), ArmTally("B", 2, 2))


def test_one_who_has_forgotten_goes_on_with_the_numbers_that_its_peers_have_seen() -> None:
    _, p, j = forgetful_group()
    p.receive(share_of(j.update("A", 0.0, now=11.0)), now=11.5)
    assert (link(j, "p").exchange.shares_sent, link(p, "j").shares_received) == (1, 3)
    j.receive(share_of(p.update("A", 1.0, now=12.0)), now=12.5)
    assert link(j, "p").exchange.shares_sent == 3
    assert share_of(j.update("A", 1.0, now=13.0)).number == 4


def test_a_peer_that_has_forgotten_the_last_share_gets_it_again() -> None:
    j, p = pair()
    fresh = p.snapshot()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    (acknowledgement,) = p.receive(share_of(j.update("A", 1.0, now=10.0)), now=11.0).outgoing
    j.receive(acknowledgement, now=12.0)
    assert link(j, "p").delivery.phase is Phase.TRUSTING
    forgetful = restart(p, fresh)
    j.receive(share_of(forgetful.update("B", 1.0, now=20.0)), now=21.0)
    assert link(j, "p").delivery.acknowledged == NOTHING_YET
    again = share_of(j.update("A", 1.0, now=22.0))
    assert again.records == (Record("j", 0, 0, 3, (ArmTally("A", 3, 3),)),)


def test_a_peer_that_restarts_and_says_so_only_in_an_acknowledgement_gets_the_last_share_again() -> None:
    j, p = pair()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    (acknowledgement,) = p.receive(share_of(j.update("A", 1.0, now=10.0)), now=11.0).outgoing
    j.receive(acknowledgement, now=12.0)
    j.receive(Acknowledgement("p", "j", 1, NOTHING_YET), now=20.0)
    assert link(j, "p").delivery.phase is Phase.WAITING
    again = share_of(j.update("A", 1.0, now=21.0))
    assert (again.number, again.records) == (1, (Record("j", 0, 0, 3, (ArmTally("A", 3, 3),)),))


@pytest.mark.parametrize(
    ("receipt", "number", "demanded"),
    [
        (Receipt(0, 1, 1, 0, 0), 1, False),  # a former boot was asked, and may have answered
        (Receipt(0, 1, 0, 0, 0), 1, False),
        (Receipt(0, 0, 1, 0, 0), 1, False),
        (Receipt(0, 0, 0, 0, 0), 2, True),  # nobody has answered
        (Receipt(1, 1, 0, 0, 0), 2, True),  # this boot is asked
    ],
)
def test_a_share_that_asked_a_former_boot_does_not_ask_the_present_one(
    receipt: Receipt, number: int, demanded: bool
) -> None:
    """Its observations count all the same."""
    j, _ = honest()
    assert (link(j, "p").shares_received, link(j, "p").exchange.demanded) == (1, False)
    share = Share("p", "j", 2, 1, (Record("p", 0, 1, 2, (ArmTally("B", 2, 1),)),), Handling(0, 0, (), 0, receipt))
    outcome = j.receive(share, now=5.0)
    assert outcome == Outcome((Received(share, 5.0),), news=(ArmTally("B", 1, 0),), wake_at=104.0)
    assert (link(j, "p").shares_received, link(j, "p").exchange.demanded) == (number, demanded)


def test_a_repetition_that_asked_a_former_boot_is_acknowledged() -> None:
    j, share = honest()
    again = handled(receipted(share, boot=0, number=2, version=1), attempt=1)
    acknowledgement = Acknowledgement("j", "p", 1, Receipt(0, 1, 2, 0, 0))
    assert j.receive(again, now=5.0).outgoing == (acknowledgement,)
    assert not link(j, "p").exchange.demanded


@pytest.mark.parametrize(("arms", "before", "after"), [(("B", "C"), {"C"}, {"B", "C"}), (ARMS, {"A"}, {"A"})])
def test_one_who_restarts_may_consider_again_what_it_had_ruled_out_unless_all_have(
    arms: tuple[str, ...], before: set[str], after: set[str]
) -> None:
    j = agent("j", AAE)
    j.peer_joined("p", arms)
    j.receive(Acknowledgement("p", "j", 0, NOTHING_YET), now=0.0)
    j.receive(Eliminated("p", "j", "B"), now=1.0)
    assert link(j, "p").peer.candidates == before
    j.receive(Acknowledgement("p", "j", 1, NOTHING_YET), now=2.0)
    assert link(j, "p").peer.candidates == after


def test_a_former_boot_hears_that_it_is_superseded_and_changes_nothing() -> None:
    old, p, j = forgetful_group()
    p.receive(share_of(j.update("A", 0.0, now=11.0)), now=11.5)
    message = share_of(p.update("A", 1.0, now=12.0))
    before = everything(old)
    assert old.receive(message, now=13.0) == Outcome(wake_at=104.0, superseded_by=1)
    acknowledgement = Acknowledgement("p", "j", 0, Receipt(1, 1, 1, 0, 0))
    assert old.receive(acknowledgement, now=13.0) == Outcome(wake_at=104.0, superseded_by=1)
    assert everything(old) == before


def test_a_message_of_a_former_boot_changes_nothing() -> None:
    old, p, j = forgetful_group()
    late = share_of(old.wake(now=500.0))
    p.receive(share_of(j.update("A", 0.0, now=11.0)), now=11.5)
    before = p.endpoint.state(), p.policy.tally.copy()
    assert late.handling is not None
    answer = Acknowledgement("p", "j", 0, Receipt(1, 3, 1, 0, 0))  # no formers: boot 1 has not said which arms it has
    assert p.receive(late, now=12.0) == Outcome(outgoing=(answer,), wake_at=103.0)
    assert p.receive(Acknowledgement("j", "p", 0, NOTHING_YET), now=12.0) == Outcome(wake_at=103.0)
    assert (p.endpoint.state(), p.policy.tally) == before
    assert old.receive(answer, now=13.0).superseded_by == 1  # so the old process comes to know


@pytest.mark.parametrize("boot", [0, -1, MOST_BOOTS])
def test_a_restart_needs_a_boot_above_the_last(boot: int) -> None:
    j, _ = pair()
    with pytest.raises(LocalError, match=f"boot must be a whole number from 1 to {MOST_BOOTS - 1}, not {boot}"):
        restart(j, boot=boot)


def test_in_the_paper_s_group_nobody_starts_again() -> None:
    j = Agent("j", UCB(ARMS, quantum=BERNOULLI))
    with pytest.raises(LocalError, match="only an agent that shares with loss_tolerant=True can start again"):
        Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), boot=1)


# Eliminations.


def eliminating(*peers: str) -> Agent:
    """An agent that has just ruled out B, and whose notices were lost."""
    j = agent("j", AAE)
    for peer in peers:
        j.peer_joined(peer, ARMS)
    j.policy.learn([ArmTally("A", 1000, 1000), ArmTally("B", 1000, 0)])
    outcome = j.update("A", 1.0, now=0.0)
    assert outcome.outgoing == tuple(Eliminated("j", peer, "B") for peer in peers)
    return j


def test_a_lost_elimination_notice_is_made_up_for_and_acknowledged() -> None:
    j, p = eliminating("p"), agent("p", AAE)
    p.peer_joined("j", ARMS)
    again = share_of(j.update("A", 1.0, now=10.0))
    assert again.handling == Handling(0, 1, ("B",), 0, NOTHING_YET)
    outcome = p.receive(again, now=11.0)
    assert outcome.ruled_out == ("B",)
    assert p.policy.candidates == ("A",)
    answer = share_of(outcome)  # it says what it has ruled out itself, once
    assert answer == Share("p", "j", 0, 0, (), Handling(0, 1, ("B",), 0, Receipt(0, 0, 2, 1, 0), is_answer=True))
    acknowledgement = Acknowledgement("j", "p", 0, Receipt(0, 0, 0, 1, 0))
    assert j.receive(answer, now=12.0).outgoing == (acknowledgement,)
    assert p.receive(acknowledgement, now=13.0).outgoing == ()
    assert [j.update("A", 1.0, now=now).outgoing for now in (100.0, 1e4)] == [(), ()]
    assert j.wake(now=1e6) == Outcome((Woke(1e6),))


def test_an_elimination_is_carried_until_it_is_acknowledged() -> None:
    j = Agent("j", AAE(("A", "B", "C"), quantum=BERNOULLI), tolerant())
    p = Agent("p", AAE(("A", "B", "C"), quantum=BERNOULLI), tolerant())
    j.peer_joined("p", p.arms)
    p.peer_joined("j", j.arms)
    endpoint(j).eliminate("B", 0.0)  # the notice is lost
    first = share_of(endpoint(j).observe("A", 1, 1.0))
    assert p.receive(first, now=2.0).ruled_out == ("B",)
    answer = share_of(p.update("C", 1.0, now=3.0))
    assert (first.handling, answer.handling) == (
        Handling(0, 0, ("B",), 0, NOTHING_YET),
        Handling(0, 0, ("B",), 0, Receipt(0, 1, 1, 1, 0)),
    )
    j.receive(answer, now=4.0)
    second = share_of(endpoint(j).observe("A", 1, 5.0))
    assert second.handling == Handling(0, 0, (), 0, Receipt(0, 1, 1, 1, 0))


def test_an_elimination_does_not_put_off_what_is_waited_for() -> None:
    j, _ = pair(AAE)
    endpoint(j).observe("A", 1, 0.0)  # lost
    endpoint(j).eliminate("B", 5.0)
    assert link(j, "p").delivery.retry_at == 10.0
    endpoint(j).wake(200.0)
    assert link(j, "p").delivery.retry_at == 220.0


def test_a_settled_pair_does_not_ask_again() -> None:
    j, _ = pair(AAE)
    j.update("A", 1.0, now=0.0)  # lost
    j.receive(Eliminated("p", "j", "B"), now=1.0)
    assert [j.update("A", 1.0, now=now).outgoing for now in (10.0, 100.0)] == [(), ()]
    assert j.wake(now=1e6) == Outcome((Woke(1e6),))


def test_a_newcomer_to_a_settled_group_learns_what_it_has_settled_on() -> None:
    j = eliminating("p")
    j.receive(Acknowledgement("p", "j", 0, Receipt(0, 0, 0, 1, 0)), now=1.0)
    q = agent("q", AAE)
    q.peer_joined("j", ARMS)
    (introduction,) = q.join(now=49.0).outgoing
    assert introduction == Join("q", "j", ARMS, 1, boot=0, notice=2)
    j.receive(introduction, now=50.0)
    answer = share_of(j.receive(share_of(q.update("B", 1.0, now=51.0)), now=52.0))
    assert answer.handling == Handling(0, 1, ("B",), 0, Receipt(0, 1, 1, 0, 0, notice=2), is_answer=True)
    outcome = q.receive(answer, now=53.0)
    assert (outcome.ruled_out, q.policy.candidates) == (("B",), ("A",))
    (acknowledgement,) = outcome.outgoing
    j.receive(acknowledgement, now=54.0)
    assert q.wake(now=1e5).outgoing == j.wake(now=1e5).outgoing == ()
    assert [j.update("A", 1.0, now=now).outgoing for now in (300.0, 1e4)] == [(), ()]


def test_a_notice_that_a_former_boot_may_have_sent_is_nobody_s_fault() -> None:
    j = agent("j", AAE)
    j.peer_joined("p", ("B", "C"))
    for arm in ("B", "C"):
        j.receive(Eliminated("p", "j", arm), now=1.0)
    assert link(j, "p").peer.candidates == {"C"}


@pytest.mark.parametrize(("boot", "candidates"), [(0, {"A", "B"}), (1, {"A"}), (2, {"A", "B"})])
def test_only_the_boot_that_was_heard_rules_out(boot: int, candidates: set[str]) -> None:
    """What another boot ruled out comes with its shares, if it still holds."""
    j = agent("j", AAE)
    j.peer_joined("p", ARMS)
    j.receive(Acknowledgement("p", "j", 1, NOTHING_YET), now=0.0)
    notice = Eliminated("p", "j", "B", boot=boot)
    ruled_out = tuple({"A", "B"} - candidates)
    assert j.receive(notice, now=1.0) == Outcome((Received(notice, 1.0),), ruled_out=ruled_out)
    assert link(j, "p").peer.candidates == set(j.policy.candidates) == candidates


def test_an_elimination_notice_says_which_boot_it_is_from() -> None:
    j = agent("j", AAE, boot=3)
    j.peer_joined("p", ARMS)
    assert endpoint(j).eliminate("B", 0.0).outgoing == (Eliminated("j", "p", "B", boot=3),)


# Groups that do not fit.


def test_the_paper_s_agents_and_loss_tolerant_ones_refuse_each_other() -> None:
    j = agent("j")
    p = Agent("p", UCB(ARMS, quantum=BERNOULLI))
    j.peer_joined("p", ARMS)
    p.peer_joined("j", ARMS)
    before = everything(j), everything(p)
    from_j, from_p = share_of(agent_like(j).update("A", 1.0, now=0.0)), share_of(agent_like(p).update("A", 1.0))
    with pytest.raises(PeerError, match="j is loss-tolerant and p is not: a whole group must agree"):
        p.receive(from_j)
    with pytest.raises(PeerError, match="j is loss-tolerant and p is not: a whole group must agree"):
        p.receive(Acknowledgement("j", "p", 0, NOTHING_YET))
    with pytest.raises(PeerError, match="p is not loss-tolerant and j is: a whole group must agree"):
        j.receive(from_p, now=0.0)
    assert (everything(j), everything(p)) == before


def agent_like(of: Agent) -> Agent:
    return Agent.restore(of.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=of.sharing)


def test_a_snapshot_is_not_restored_into_the_other_kind_of_agent() -> None:
    j, p = agent("j"), Agent("p", UCB(ARMS, quantum=BERNOULLI))
    j.peer_joined("p", ARMS)
    p.peer_joined("j", ARMS)
    for snapshot, sharing in ((j.snapshot(), on_demand()), (p.snapshot(), tolerant())):
        with pytest.raises(LocalError, match=r"was made with sharing=on_demand\(.*\): pass the same to restore"):
            Agent.restore(snapshot, policy=UCB(ARMS, quantum=BERNOULLI), sharing=sharing)


@pytest.mark.parametrize("value", [None, 1, "yes", 2.0])
def test_loss_tolerance_is_true_false_or_a_patience(value: bool) -> None:
    with pytest.raises(LocalError, match=r"loss_tolerant must be True, False or Patience\(\.\.\.\), not "):
        on_demand(loss_tolerant=value)


def test_loss_tolerance_without_a_patience_has_the_usual_one() -> None:
    assert on_demand(loss_tolerant=True) == on_demand(loss_tolerant=Patience())
    assert on_demand(loss_tolerant=False) == on_demand()
    assert repr(on_demand(loss_tolerant=True)) == f"on_demand(Constant(size=1, answers_advance=True), {Patience()!r})"


# What cannot be.


def honest() -> tuple[Agent, Share]:
    """An agent in its second boot that has state, and a share that it would accept."""
    j, p = pair()
    p.receive(share_of(j.update("A", 1.0, now=0.0)), now=1.0)
    j.receive(share_of(p.update("B", 1.0, now=2.0)), now=3.0)
    again = restart(j)
    again.update("A", 1.0, now=4.0)
    record = Record("p", 0, 1, 2, (ArmTally("B", 2, 1),))
    return again, Share("p", "j", 2, 1, (record,), Handling(0, 0, (), 0, Receipt(1, 2, 1, 0, 0)))


def handled(share: Share, **changes: object) -> Share:
    assert share.handling is not None
    return share._replace(handling=share.handling._replace(**changes))  # type: ignore[arg-type]


def receipted(share: Share, **changes: object) -> Share:
    assert share.handling is not None
    return handled(share, receipt=share.handling.receipt._replace(**changes))  # type: ignore[arg-type]


def test_the_share_that_the_next_tests_break_is_accepted_as_it_is() -> None:
    j, share = honest()
    assert j.receive(share, now=5.0).news == (ArmTally("B", 1, 0),)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (lambda share: share._replace(number=-1), "p sent share -1 after share 1"),
        (lambda share: share._replace(number=MOST_OBSERVATIONS + 1), "p sent share 4294967297 after share 1"),
        (lambda share: share._replace(observations=-1), "p sent a share with observations -1"),
        (lambda share: share._replace(observations=2**40), "p sent a share with observations 1099511627776"),
        (lambda share: handled(share, attempt=-1), "p sent a share with attempt -1"),
        (lambda share: handled(share, attempt=2**40), "p sent a share with attempt 1099511627776"),
        (lambda share: handled(share, boot=-1), "p speaks of itself as boot -1"),
        (lambda share: handled(share, boot=MOST_BOOTS), "p speaks of itself as boot 9007199254740992"),
        (lambda share: handled(share, formers=-1), "p sent a share that knows -1 changes"),
        (lambda share: handled(share, formers=2**40), "p sent a share that knows 1099511627776 changes"),
        (lambda share: handled(share, eliminated=("Z",)), "p eliminated Z, of A, B"),
        (lambda share: handled(share, eliminated=("A", "B")), "p eliminated A, B, of A, B"),
        (lambda share: handled(share, eliminated=("A", "A")), "p eliminated A, A, of A, B"),
        (lambda share: receipted(share, boot=-1), "p sent an impossible receipt"),
        (lambda share: receipted(share, boot=MOST_BOOTS), "p sent an impossible receipt"),
        (
            lambda share: receipted(share, boot=MOST_BOOTS - SPARE_BOOTS),
            "p knows boot 9006099743113216 of j, after which",
        ),
        (lambda share: receipted(share, boot=0, version=2**40), "p sent an impossible receipt"),
        (lambda share: receipted(share, version=2), "p acknowledges more than j has said"),
        (lambda share: receipted(share, eliminated=1), "p acknowledges more than j has said"),
        (lambda share: receipted(share, formers=2), "p acknowledges more than j has said"),
        (lambda share: receipted(share, notice=-1), "p sent an impossible receipt"),
        (lambda share: receipted(share, notice=MOST_OBSERVATIONS + 1), "p sent an impossible receipt"),
        (lambda share: receipted(share, notice=2), "p acknowledges more than j has said"),  # 1 is a farewell
        (
            lambda share: share._replace(records=(Record("q", 0, 0, 1, ()),)),
            "p sent a record of q: agents share only what they observed",
        ),
        (
            lambda share: share._replace(records=(Record("p", 1, 0, 1, ()),)),
            "p sent a record of boot 1 of p, which is not before",
        ),
        (
            lambda share: share._replace(records=(Record("j", 1, 0, 1, ()),)),
            "p sent a record of boot 1 of j, which is not before",
        ),
        (
            lambda share: share._replace(records=(Record("j", 0, 1, 2, ()),)),
            "p sent only a part of what boot 0 of j observed",
        ),
        (
            lambda share: share._replace(records=share.records * 2),
            "p sent two records of one boot in one share",
        ),
        (
            lambda share: share._replace(records=(Record("p", 0, 1, 2, (ArmTally("B", 0, 0),)),)),
            "a count or a reward sum went down",
        ),
        (
            lambda share: share._replace(records=(Record("j", 0, 0, 9, (ArmTally("A", 5, 9),)),)),
            "p|j sent a reward sum of 9 for 5",
        ),
    ],
)
def test_a_share_that_cannot_be_is_refused_and_changes_nothing(broken: object, text: str) -> None:
    j, share = honest()
    assert callable(broken)
    before = j.endpoint.state(), j.policy.tally.copy(), j.policy.candidates
    with pytest.raises(PeerError, match=text):
        j.receive(broken(share), now=5.0)
    assert (j.endpoint.state(), j.policy.tally, j.policy.candidates) == before


def test_a_share_number_that_jumps_is_refused_once_the_numbers_are_known() -> None:
    j, share = honest()
    j.receive(share._replace(number=1000), now=5.0)  # the first of this boot: j may have forgotten a thousand
    with pytest.raises(PeerError, match=f"p sent share {1000 + LARGEST_JUMP + 1} after share 1000"):
        j.receive(share._replace(number=1000 + LARGEST_JUMP + 1), now=6.0)
    j.receive(share._replace(number=1000 + LARGEST_JUMP), now=6.0)


def test_a_receipt_for_what_was_never_sent_is_refused_once_the_peer_knows_this_boot() -> None:
    j, share = honest()
    j.receive(receipted(share, number=7), now=5.0)  # j has forgotten some
    assert link(j, "p").exchange.shares_sent == 7
    with pytest.raises(PeerError, match="p acknowledges share 9, but only 7 were sent"):
        j.receive(receipted(share, number=9), now=6.0)
    with pytest.raises(PeerError, match="p acknowledges share 9, but only 7 were sent"):
        j.receive(Acknowledgement("p", "j", 0, Receipt(1, 9, 0, 0, 0)), now=6.0)


def test_boots_without_end_are_refused_also_in_one_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.core.ledger.MOST_BOOTS_HELD", 8)
    j, share = honest()
    many = tuple(Record("p", boot, 0, 1, ()) for boot in range(20))
    with pytest.raises(PeerError, match="p sent records of more than 8 boots of p"):
        j.receive(handled(share._replace(records=many), boot=19), now=5.0)


# A random run, restored at every step.


class Lossy:
    """Three agents over a network that does what it likes, and what each agent has persisted."""

    def __init__(self, policy: type[UCB | AAE], threshold: Threshold, q_arms: tuple[str, ...]) -> None:
        self.policy, self.sharing = policy, tolerant(threshold)
        self.arms: dict[str, tuple[str, ...]] = {"j": ARMS, "p": ARMS, "q": q_arms}
        self.agents = {name: Agent(name, self.fresh(name), self.sharing) for name in self.arms}
        self.made = {(name, 0): Tally(own) for name, own in self.arms.items()}
        self.under_way: list[Message] = []
        self.stored = dict.fromkeys(self.arms, b"")
        self.records: dict[str, list[bytes]] = {name: [] for name in self.arms}
        self.now = 0.0
        for one in self.agents.values():
            for name, own in self.arms.items():
                if name != one.name:
                    one.peer_joined(name, own)
            self.store(one.name)

    def fresh(self, name: str) -> Policy:
        alpha = 0.3 if self.policy is AAE else None
        return self.policy(self.arms[name], alpha=alpha, quantum=BERNOULLI)

    def store(self, name: str) -> None:
        self.stored[name] = encode_snapshot(self.agents[name].snapshot())
        self.records[name].clear()

    def took(self, name: str, outcome: Outcome) -> None:
        assert outcome.superseded_by is None
        assert outcome.wake_at == self.agents[name].endpoint.wake_at
        self.records[name] += map(encode_record, outcome.records)
        self.under_way += outcome.outgoing

    def restored(self, name: str) -> Agent:
        records: list[InputRecord] = [decode_record(stored) for stored in self.records[name]]
        return Agent.restore(decode_snapshot(self.stored[name]), records, policy=self.fresh(name), sharing=self.sharing)

    def act(self, what: str, name: str, luck: int) -> None:
        agent, self.now = self.agents[name], self.now + luck
        if what == "pull":
            arm = agent.select_arm()
            reward = int((arm == "A") == (luck % 4 > 0))
            self.made[name, agent.endpoint.ledger.origin.boot].add(arm, 1, reward)
            self.took(name, agent.update(arm, reward, self.now))
        elif what == "wake":
            self.took(name, agent.wake(self.now))
        elif what == "join":
            self.took(name, agent.join(self.now))
        elif what == "leave":
            self.under_way += agent.leave().outgoing
        elif what == "snapshot":
            self.store(name)
        elif what == "restart":
            self.restart(name)
        elif self.under_way:
            at = luck % len(self.under_way)
            message = self.under_way[at] if what == "double" else self.under_way.pop(at)
            if what != "lose":
                self.deliver(message)
        self.check(name)

    def deliver(self, message: Message) -> None:
        self.took(message.receiver, self.agents[message.receiver].receive(message, self.now))

    def restart(self, name: str) -> None:
        """Start again from the last snapshot; the records since then are lost."""
        boot = self.agents[name].endpoint.ledger.origin.boot + 1
        self.agents[name] = Agent.restore(
            decode_snapshot(self.stored[name]), policy=self.fresh(name), sharing=self.sharing, boot=boot
        )
        self.made[name, boot] = Tally(self.arms[name])
        self.under_way = [message for message in self.under_way if message.receiver != name]
        self.store(name)
        self.took(name, self.agents[name].join(self.now))

    def check(self, name: str) -> None:
        agent, again = self.agents[name], self.restored(name)
        assert again.endpoint.state() == agent.endpoint.state()
        assert (again.policy.tally, again.policy.candidates) == (agent.policy.tally, agent.policy.candidates)
        assert (again.policy.own_pulls, again.select_arm()) == (agent.policy.own_pulls, agent.select_arm())
        for one in self.agents.values():
            assert endpoint_violations(one.endpoint) == []
            assert one.policy.tally == one.endpoint.ledger.total()
            for origin, holding in one.endpoint.ledger.held.items():
                made = self.made[origin.agent, origin.boot]
                assert all(holding.tally.counts[arm] <= made.counts.get(arm, 0) for arm in one.arms)
                assert all(holding.tally.sums[arm] <= made.sums.get(arm, 0) for arm in one.arms)

    def check_silence(self) -> None:
        for one in self.agents.values():
            assert one.endpoint.wake_at is None
            assert [endpoint(one).owes(link(one, peer)) for peer in one.endpoint.links] == [False, False]

    def heal(self) -> None:
        """From now on nothing is lost, everybody is here, and nobody pulls: they wake each other until all is said."""
        for name, agent in self.agents.items():
            self.took(name, agent.join(self.now))
        for _ in range(200):
            while self.under_way:
                self.deliver(self.under_way.pop(0))
            wakes = [one.endpoint.wake_at for one in self.agents.values() if one.endpoint.wake_at is not None]
            if not wakes:
                return
            self.now = max(self.now, min(wakes))
            for name, agent in self.agents.items():
                if agent.endpoint.wake_at is not None and agent.endpoint.wake_at <= self.now:
                    self.took(name, agent.wake(self.now))
        raise AssertionError("they never fall silent")


acts = st.tuples(
    st.sampled_from(
        ["pull", "pull", "pull", "pull", "deliver", "deliver", "deliver", "lose", "lose", "double", "wake", "join",
         "leave", "snapshot", "restart"]
    ),
    st.sampled_from("jpq"),
    st.integers(0, 30),
)  # fmt: skip
thresholds: st.SearchStrategy[Threshold] = st.sampled_from([Constant(1), Constant(3), Geometric(2), PerCandidate()])


@settings(max_examples=150)
@given(
    st.sampled_from([UCB, AAE]),
    thresholds,
    st.sampled_from([("A", "B"), ("B", "C")]),
    st.lists(acts, min_size=10, max_size=90),
)
def test_a_loss_tolerant_agent_is_restored_exactly_at_every_step_and_counts_everything_once(
    policy: type[UCB | AAE], threshold: Threshold, q_arms: tuple[str, ...], run: list[tuple[str, str, int]]
) -> None:
    group = Lossy(policy, threshold, q_arms)
    for what, name, luck in run:
        group.act(what, name, luck)


@settings(max_examples=100)
@given(thresholds, st.sampled_from([("A", "B"), ("B", "C")]), st.lists(acts, min_size=10, max_size=90))
def test_once_the_network_is_sound_everybody_knows_everything_and_falls_silent(
    threshold: Threshold, q_arms: tuple[str, ...], run: list[tuple[str, str, int]]
) -> None:
    group = Lossy(UCB, threshold, q_arms)
    for what, name, luck in run:
        group.act(what, name, luck)
    group.heal()
    for name, boot in group.made:
        for arm in group.arms[name]:
            counts = {one.name: known(one, Origin(name, boot), arm) for one in group.agents.values() if arm in one.arms}
            assert len(set(counts.values())) == 1, (name, boot, arm, counts)
    group.check_silence()


@settings(max_examples=100)
@given(thresholds, st.sampled_from([("A", "B"), ("B", "C")]), st.lists(acts, min_size=10, max_size=90))
def test_once_the_network_is_sound_everybody_knows_what_is_ruled_out_and_falls_silent(
    threshold: Threshold, q_arms: tuple[str, ...], run: list[tuple[str, str, int]]
) -> None:
    group = Lossy(AAE, threshold, q_arms)
    for what, name, luck in run:
        group.act(what, name, luck)
    group.heal()
    group.check_silence()
    if q_arms == ARMS:
        gone = {arm for one in group.agents.values() for arm in ARMS if arm not in one.policy.candidates}
        assert all(len(one.policy.candidates) == 1 for one in group.agents.values()) or not gone


def known(to: Agent, origin: Origin, arm: str) -> int:
    """How many observations of an arm that an agent made in a boot are known."""
    ledger = to.endpoint.ledger
    if origin == ledger.origin:
        return ledger.own.counts[arm]
    return ledger.held[origin].tally.counts[arm] if origin in ledger.held else 0


# On a reliable network.

UNHURRIED = Patience(first=1e6, least=1e6, longest=1e9, tick=1e9)
HORIZON = 80

absences = st.lists(st.integers(1, HORIZON - 1), max_size=4, unique=True).map(
    lambda slots: tuple(
        Absence(leave, rejoin) for leave, rejoin in zip(sorted(slots)[::2], [*sorted(slots), None][1::2], strict=False)
    )
)
specs = st.builds(
    AgentSpec,
    st.builds(Rate, st.sampled_from([0.1, 0.5, 1.0])),
    start=st.sampled_from([0, 0, 20]),
    arms=st.sampled_from([None, None, None, ("A", "B"), ("B", "C")]),
    absences=st.one_of(st.just(()), absences),
)


@settings(max_examples=150)
@given(
    st.sampled_from([BuiltIn("ucb"), BuiltIn("aae", alpha=0.2), BuiltIn("aae", alpha=0.2, confidence="own")]),
    thresholds,
    st.lists(specs, min_size=2, max_size=4),
    st.sampled_from([0, 0, 1, 5]),
    st.integers(0, 2**32),
)
def test_on_a_reliable_network_a_loss_tolerant_group_does_what_the_paper_s_does(
    policy: BuiltIn, threshold: Threshold, agents: list[AgentSpec], delay: int, seed: int
) -> None:
    """Up to the first repetition; and there is none, unless an elimination notice is under way to one who shares."""
    traces: list[list[Row]] = [[], []]
    results = []
    for sharing, trace in zip((on_demand(threshold), tolerant(threshold, UNHURRIED)), traces, strict=True):
        arms = Arms(("A", "B", "C"), (0.9, 0.5, 0.1))
        world = Scenario(HORIZON, arms, tuple(agents), policy, sharing, delay)
        results.append(reference.run(world, seed=seed, trace=trace))
    ours = traces[1]
    repetitions = [place for place, row in enumerate(ours) if row.kind in (Kind.RETRY, Kind.ACKNOWLEDGE)]
    if policy.name == "ucb" or delay == 0:
        assert repetitions == []
    if repetitions:
        assert ours[: repetitions[0]] == traces[0][: repetitions[0]]
        return
    assert ours == traces[0]
    assert results[1].pulls.tolist() == results[0].pulls.tolist()
    assert results[1].messages == results[0].messages == results[0].shares
    assert math.isclose(results[1].staleness, results[0].staleness)


# What reviewers found.


def test_a_wrong_time_that_only_a_message_brought_does_not_silence_a_pair() -> None:
    j, p = pair()
    j.update("A", 1.0, now=0.0)
    j.update("A", 1.0, now=1.0)
    lost = j.receive(share_of(p.update("B", 1.0, now=1.0)), now=1e9)  # the answer is lost, and the clock put right
    assert share_of(lost).number == 2
    again = [share_of(outcome) for now in (3.0, 4.0, 5.0) if (outcome := j.update("A", 1.0, now=now)).outgoing]
    assert [(share.number, share.handling is not None and share.handling.attempt) for share in again] == [(2, 1)]


def test_to_hear_of_the_driver_that_one_who_is_here_is_here_asks_for_nothing() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=0.0)
    before = everything(j)
    for _ in range(3):
        j.peer_joined("p", ARMS, now=1.0)
    assert everything(j) == before
    with pytest.raises(PeerError, match="joined with arms C but had A, B before"):
        j.peer_joined("p", ["C"], now=1.0)


def test_one_whose_boot_is_over_is_told_when_it_joins() -> None:
    j, p = agent("j", boot=3), agent("p")
    j.peer_joined("p", ARMS)
    p.receive(Join("j", "p", ARMS, 1, boot=5, notice=2), now=0.0)
    (introduction,) = j.join(now=1.0).outgoing
    (word,) = p.receive(introduction, now=1.0).outgoing
    assert word == Acknowledgement("p", "j", 0, Receipt(5, 0, 0, 0, 0, 2))
    assert j.receive(word, now=2.0).superseded_by == 5


def test_one_who_is_loss_tolerant_must_know_the_time() -> None:
    j, p = pair()
    message = share_of(p.update("A", 1.0, now=0.0))
    calls: tuple[Callable[[], object], ...] = (lambda: j.update("A", 1.0), lambda: j.receive(message), j.join, j.wake)
    for call in calls:
        with pytest.raises(LocalError, match="j is loss-tolerant and must know the time: pass now"):
            call()


def test_a_restore_with_another_loss_tolerance_says_which_sharing_to_pass() -> None:
    j, _ = pair()
    with pytest.raises(LocalError, match=r"the snapshot of j was made with sharing=on_demand\(Constant\(.*Patience\("):
        Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI))


def test_an_agent_that_restarts_too_often_is_told_and_not_refused_by_everybody() -> None:
    j = agent("j")
    for boot in range(1, 1024):
        j.update("A", 1.0, now=float(boot))
        endpoint(j).start_again(boot)
    j.update("A", 1.0, now=2000.0)
    with pytest.raises(LocalError, match=r"j has observations of 1023 boots, .*: start it under a new name"):
        endpoint(j).start_again(1024)


def test_boot_and_wake_time_can_be_read_after_a_restore() -> None:
    j, _ = pair()
    j.update("A", 1.0, now=5.0)
    again = Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=tolerant(), boot=7)
    assert (again.boot, again.wake_at) == (7, 105.0)
