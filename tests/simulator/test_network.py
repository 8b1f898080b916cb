"""Without faults messages take their time, keep their order, and none is lost; with faults, as the options say."""

import math
from collections import Counter

from cobandit.core import Changes, Constant, Message, Notice, RetryTimers, immediate, on_demand
from cobandit.core.invariants import endpoint_violations, total
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    Faults,
    Kind,
    Partition,
    Rate,
    Row,
    Scenario,
    Slots,
    transcript,
)
from cobandit.simulator import run
from cobandit.simulator.network import Network
from cobandit.simulator.reference import ReferenceRun
from cobandit.values.chance import stream

FIRST, SECOND, THIRD = (Notice(*pair, Changes()) for pair in (("j", "p"), ("q", "p"), ("p", "j")))


def arrivals(network: Network, slot: int) -> list[Message]:
    arrived = []
    while (message := network.take_arrival(slot)) is not None:
        arrived.append(message)
    return arrived


def test_a_message_arrives_after_the_delay_and_not_before() -> None:
    network = Network(delay=3)
    network.send(FIRST, 13)
    assert network.next_arrival() == 13
    assert arrivals(network, 12) == []
    assert arrivals(network, 13) == [FIRST]
    assert arrivals(network, 13) == []


def test_messages_arrive_in_the_order_of_sending() -> None:
    network = Network(delay=3)
    network.send(FIRST, 13)
    network.send(SECOND, 13)
    network.send(THIRD, 14)
    assert arrivals(network, 13) == [FIRST, SECOND]
    assert network.next_arrival() == 14
    assert arrivals(network, 20) == [THIRD]


def test_on_a_quiet_network_nothing_is_next() -> None:
    network = Network(delay=1)
    assert network.next_arrival() is None
    assert network.take_arrival(10**9) is None
    assert network.take_kept("p") is None
    assert network.in_flight() == []


def test_a_kept_message_waits_for_its_receiver_in_order() -> None:
    network = Network(delay=1)
    for message in (FIRST, THIRD, SECOND):
        network.keep(message)
    assert [network.take_kept("p") for _ in range(3)] == [FIRST, SECOND, None]
    assert [network.take_kept("j") for _ in range(2)] == [THIRD, None]


def test_a_kept_message_is_no_arrival() -> None:
    network = Network(delay=1)
    network.keep(FIRST)
    assert network.next_arrival() is None
    assert arrivals(network, 10**9) == []


def test_in_flight_is_all_that_was_sent_and_has_not_arrived() -> None:
    network = Network(delay=2)
    network.send(FIRST, 2)
    network.send(SECOND, 3)
    network.keep(THIRD)
    assert network.in_flight() == [THIRD, FIRST, SECOND]
    arrivals(network, 2)
    assert network.in_flight() == [THIRD, SECOND]
    network.take_kept("j")
    assert network.in_flight() == [SECOND]


# Faults.

TRIALS = 5_000
KEY = stream(3)


def fates(faults: Faults, *, delay: int = 2, key: int = KEY, sender: int = 0, receiver: int = 1) -> list[list[int]]:
    """How many slots each copy takes, for many messages of one agent to another, all sent in slot 10."""
    network = Network(delay, faults)
    return [list(network.delays(10, key, sender, receiver)) for _ in range(TRIALS)]


def assert_frequency(count: int, probability: float) -> None:
    """The count is within five standard deviations of what is expected: a wrong alarm once in a million."""
    assert abs(count - TRIALS * probability) <= 5 * math.sqrt(TRIALS * probability * (1 - probability))


def test_without_faults_every_message_takes_the_delay() -> None:
    assert fates(Faults()) == [[2]] * TRIALS


def test_a_lossy_network_loses_its_share_and_changes_nothing_else() -> None:
    counts = Counter(map(tuple, fates(Faults(loss=0.2))))
    assert set(counts) == {(), (2,)}
    assert_frequency(counts[()], 0.2)


def test_a_doubling_network_doubles_what_it_does_not_lose() -> None:
    counts = Counter(map(tuple, fates(Faults(loss=0.5, duplication=0.4))))
    assert set(counts) == {(), (2,), (2, 2)}
    assert_frequency(counts[()], 0.5)
    assert_frequency(counts[2, 2], 0.2)


def test_jitter_makes_messages_late_evenly() -> None:
    counts = Counter(map(tuple, fates(Faults(jitter=3))))
    assert set(counts) == {(2,), (3,), (4,), (5,)}
    for count in counts.values():
        assert_frequency(count, 0.25)


def test_a_reordering_network_holds_some_back() -> None:
    counts = Counter(map(tuple, fates(Faults(reordering=0.3, held_back=2))))
    assert set(counts) == {(2,), (3,), (4,)}
    assert_frequency(counts[2,], 0.7)
    assert_frequency(counts[3,], 0.15)
    assert_frequency(counts[4,], 0.15)


def test_two_copies_are_late_each_by_itself() -> None:
    late = Counter((first, second) for first, second in fates(Faults(duplication=1.0, jitter=1)))
    assert set(late) == {(2, 2), (2, 3), (3, 2), (3, 3)}
    for count in late.values():
        assert_frequency(count, 0.25)


def test_a_partition_loses_everything_that_it_cuts() -> None:
    network = Network(1, Faults(partitions=(Partition(10, 20, (0,), (1,), one_way=True),)))
    assert [network.delays(slot, KEY, 0, 1) for slot in (9, 10, 19, 20)] == [(1,), (), (), (1,)]
    assert network.delays(15, KEY, 1, 0) == (1,)
    assert network.delays(15, KEY, 0, 2) == (1,)


def test_the_same_seed_has_the_same_fate_and_another_has_another() -> None:
    faults = Faults(loss=0.3, duplication=0.3, jitter=5, reordering=0.3)
    assert fates(faults) == fates(faults)
    others = [fates(faults, key=stream(4)), fates(faults, receiver=2)]
    assert all(other != fates(faults) for other in others)


def test_the_fate_of_a_message_does_not_depend_on_what_others_send_or_on_when() -> None:
    """Two engines may send in a different order between different pairs: only the number between two counts."""
    faults = Faults(loss=0.3, duplication=0.3, jitter=5)
    network = Network(2, faults)
    seen = []
    for number in range(200):
        network.delays(number, stream(8), 1, 0)
        seen.append(list(network.delays(number, KEY, 0, 1)))
        network.delays(number, KEY, 0, 2)
    assert seen == fates(faults)[:200]


def test_a_message_that_a_partition_cut_counts_for_the_numbers_of_those_after_it() -> None:
    faults = Faults(loss=0.5)
    cut = Network(2, Faults(loss=0.5, partitions=(Partition(0, 100, (0,), (1,)),)))
    for slot in range(100):
        assert cut.delays(slot, KEY, 0, 1) == ()
    assert [list(cut.delays(100 + slot, KEY, 0, 1)) for slot in range(50)] == fates(faults)[100:150]


# Faults in a run.

ARMS = Arms.of([0.2, 0.5, 0.8])
GROUP = tuple(AgentSpec(Rate(rate)) for rate in (0.9, 0.5, 0.2, 0.1))


def rows_of(scenario: Scenario, seed: int = 1) -> list[Row]:
    rows: list[Row] = []
    run(scenario, seed=seed, trace=rows)
    return rows


def count(rows: list[Row], *kinds: Kind) -> int:
    return sum(row.kind in kinds for row in rows)


def test_losses_are_told_and_everything_else_arrives() -> None:
    world = Scenario(2_000, ARMS, GROUP, sharing=immediate(), faults=Faults(loss=0.25))
    rows = rows_of(world)
    sent, lost = count(rows, Kind.SHARE), count(rows, Kind.LOSS)
    assert count(rows, Kind.DELIVERY) == sent - lost
    assert abs(lost - 0.25 * sent) <= 5 * math.sqrt(sent * 0.25 * 0.75)


def test_duplicates_arrive_twice() -> None:
    rows = rows_of(Scenario(2_000, ARMS, GROUP, sharing=immediate(), faults=Faults(duplication=1.0)))
    assert count(rows, Kind.DELIVERY) == 2 * count(rows, Kind.SHARE) > 0


def test_duplicates_and_disorder_are_counted_once() -> None:
    faults = Faults(duplication=0.5, jitter=20, reordering=0.3)
    pulled: list[int] = []

    def watch(engine: ReferenceRun) -> None:
        pulled.append(sum(engine.result().decisions))
        for agent in engine.agents:
            assert endpoint_violations(agent.endpoint) == []
            assert agent.policy.tally == total(agent.endpoint)
            assert agent.policy.tally.observations <= pulled[-1]

    run(Scenario(300, ARMS, GROUP, sharing=immediate(), delay=1, faults=faults), seed=1, watch=watch)
    assert pulled[-1] > 300


def test_the_paper_s_group_falls_silent_where_messages_are_lost_and_a_loss_tolerant_one_does_not() -> None:
    last = []
    for sharing in (on_demand(), on_demand(loss_tolerant=True)):
        rows = rows_of(Scenario(20_000, ARMS, GROUP, sharing=sharing, faults=Faults(loss=0.3)))
        last.append(max(row.slot for row in rows if row.kind == Kind.SHARE))
    assert last[0] < 500
    assert last[1] > 19_000


def test_a_long_partition_ends_and_nobody_is_to_blame() -> None:
    """More shares are lost than any number may jump in a loss-tolerant group."""
    cut = Faults(partitions=(Partition(0, 1_500, (0,), (1,)),))
    world = Scenario(2_000, ARMS, (AgentSpec(Rate(1.0)),) * 2, sharing=immediate(), faults=cut)
    rows = rows_of(world)
    assert (count(rows, Kind.LOSS), count(rows, Kind.DELIVERY)) == (3_000, 1_000)


def test_a_loss_tolerant_pair_gets_over_a_partition() -> None:
    cut = Faults(partitions=(Partition(100, 1_500, (0,), (1,)),))
    sharing = on_demand(loss_tolerant=RetryTimers(first=20.0))
    world = Scenario(4_000, ARMS, (AgentSpec(Rate(1.0)),) * 2, sharing=sharing, faults=cut)
    rows = rows_of(world)
    arrived = [row.slot for row in rows if row.kind == Kind.DELIVERY]
    assert not [slot for slot in arrived if 100 <= slot < 1_500]
    assert len([slot for slot in arrived if slot >= 3_000]) > 900
    assert 0 < count([row for row in rows if 100 <= row.slot < 1_500], Kind.RETRY) < 40  # less and less often


def test_in_a_run_an_agent_that_pulls_no_more_is_woken_to_say_what_is_left() -> None:
    sharing = on_demand(Constant(5), loss_tolerant=RetryTimers(first=10.0, tick=50.0))
    world = Scenario(500, ARMS, (AgentSpec(Slots((0, 1))), AgentSpec(Slots(()))), sharing=sharing)
    told = transcript(rows_of(world), agents="jp", arms="ABC").splitlines()
    assert [line for line in told if "pulls" not in line] == [
        "slot 51: j -> p share 0 again, repetition 1",
        "slot 51: p receives share 0 of j",
        "slot 51: p -> j acknowledges share 0",
    ]


def test_an_agent_that_is_away_is_not_woken_and_does_not_hold_up_the_others() -> None:
    sharing = on_demand(Constant(5), loss_tolerant=RetryTimers(first=10.0, tick=50.0))
    away = AgentSpec(Slots((0, 1, 300)), absences=(Absence(10, 200),))
    rows = rows_of(Scenario(1_000, ARMS, (away, AgentSpec(Slots((5, 400)))), sharing=sharing))
    assert [row.slot for row in rows if row.kind == Kind.DECISION] == [0, 1, 5, 300, 400]
    assert [row for row in rows if row.agent == 0 and 10 < row.slot < 200] == []
    assert [row.slot for row in rows] == sorted(row.slot for row in rows)


def test_in_a_run_one_who_is_back_gets_what_was_pulled_meanwhile_even_from_one_who_pulls_no_more() -> None:
    sharing = on_demand(loss_tolerant=RetryTimers(first=10.0, tick=50.0))
    away = AgentSpec(Slots(()), absences=(Absence(1, 200),))
    told = transcript(
        rows_of(Scenario(500, ARMS, (AgentSpec(Slots((5, 6))), away), sharing=sharing)), agents="jp", arms="ABC"
    ).splitlines()
    assert [line for line in told if "pulls" not in line] == [
        "slot 1: p leaves",
        "slot 200: p joins",
        "slot 200: j -> p share 0 again, repetition 1",
        "slot 200: p receives share 0 of j",
        "slot 200: p -> j acknowledges share 0",
    ]


def test_the_same_seed_gives_the_same_run_through_all_faults() -> None:
    faults = Faults(0.2, 0.2, 5, 0.2, 9, (Partition(50, 90, (0,), (1, 2)),))
    world = Scenario(400, ARMS, GROUP, sharing=on_demand(loss_tolerant=RetryTimers(first=8.0)), delay=1, faults=faults)
    assert rows_of(world) == rows_of(world)
    assert rows_of(world, seed=2) != rows_of(world)
    result = run(world, seed=1)
    assert min(result.retries, result.acknowledgements) > 0
    assert result.messages == result.shares + result.retries + result.acknowledgements


def test_staleness_is_how_much_the_deciding_agent_did_not_know() -> None:
    """With two agents that never hear of each other: all that the other has pulled."""
    deaf = Scenario(100, ARMS, (AgentSpec(Rate(1.0)),) * 2, sharing=immediate(), faults=Faults(loss=1.0))
    assert run(deaf, seed=1).lacking == sum(slot + slot + 1 for slot in range(100))
    assert run(Scenario(100, ARMS, (AgentSpec(Rate(1.0)),) * 2, sharing=immediate()), seed=1).staleness == 0.0
