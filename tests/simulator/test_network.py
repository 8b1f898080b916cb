"""Messages take their time, keep their order, and none is lost."""

from tacit.protocol import Leave, Message
from tacit.simulator.network import Network

FIRST, SECOND, THIRD = Leave("j", "p"), Leave("q", "p"), Leave("p", "j")


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
