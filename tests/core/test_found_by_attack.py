"""What a reviewer and an attacker found in the core, each as the shortest sequence that shows it."""

import pytest

from cobandit import AAE, UCB, Agent, RetryTimers, on_demand
from cobandit.core import (
    Changes,
    Constant,
    Delivery,
    Eliminations,
    Message,
    Notice,
    Presence,
    Receipt,
    Share,
)
from cobandit.core.messages import MAX_NUMBER
from cobandit.values.errors import PeerError
from cobandit.values.tally import MOST_ARMS

ARMS = ("A", "B")
TOLERANT = on_demand(loss_tolerant=RetryTimers(first=2.0, least=0.1, tick=60.0, longest=600.0))


def agent(name: str, peer: str, incarnation: int = 1, now: float = 0.0) -> Agent:
    one = Agent(name, UCB(ARMS), TOLERANT, incarnation=incarnation)
    one.peer_joined(peer, ARMS, now)
    return one


class Pair:
    """Two agents that hear each other at once."""

    def __init__(self) -> None:
        self.now = 0.0
        self.agents = {"x": agent("x", "y"), "y": agent("y", "x")}

    def deliver(self, messages: tuple[Message, ...] | list[Message]) -> None:
        for message in messages:
            self.deliver(self.agents[message.receiver].receive(message, self.now).outgoing)

    def restart(self, name: str, peer: str, incarnation: int) -> tuple[Message, ...]:
        """Start without a disk. Return what the agent says."""
        self.now += 100.0
        self.agents[name] = agent(name, peer, incarnation, self.now)
        said = self.agents[name].join(self.now).outgoing
        self.deliver(said)
        return said


@pytest.mark.parametrize("incarnation", [0, 1])
def test_an_elimination_before_the_first_share_is_followed(incarnation: int) -> None:
    """On a reliable network nothing else may ever say which incarnation it is."""
    x, y = (Agent(name, AAE(ARMS), on_demand(Constant(1000)), incarnation=incarnation) for name in "xy")
    x.peer_joined("y", ARMS)
    y.peer_joined("x", ARMS)
    (notice,) = y.endpoint.eliminate("B", 0.0).outgoing
    assert x.receive(notice).ruled_out == ("B",)


def test_agents_that_forgot_a_lot_do_not_refuse_each_other() -> None:
    pair = Pair()
    for _ in range(2):  # x shares twice
        pair.now += 1.0
        pair.deliver(pair.agents["y"].join(pair.now).outgoing)
        pair.deliver(pair.agents["x"].update("A", 1.0, pair.now).outgoing)
    hello = pair.restart("x", "y", 2)
    pair.deliver(pair.agents["y"].join(pair.now).outgoing)
    pair.now += 100.0
    pair.deliver(pair.agents["x"].wake(pair.now).outgoing)
    late: list[Message] = []
    for _ in range(2):
        pair.now += 1.0
        pair.deliver(pair.agents["y"].join(pair.now).outgoing)
        late += pair.agents["x"].update("A", 1.0, pair.now).outgoing
    pair.restart("x", "y", 3)
    pair.deliver(pair.agents["y"].join(pair.now).outgoing)
    pair.now += 100.0
    pair.deliver(pair.agents["x"].wake(pair.now).outgoing)
    pair.restart("y", "x", 4)
    pair.deliver(hello)
    pair.deliver(late)
    for _ in range(20):  # each of these raised
        pair.now += 10.0
        for name in "xy":
            pair.deliver(pair.agents[name].update("B", 1.0, pair.now).outgoing)
    assert pair.agents["x"].policy.tally.counts["B"] >= 30


def test_a_debt_to_an_agent_that_says_farewell_late_is_scheduled() -> None:
    x, y = agent("x", "y"), agent("y", "x")
    for message in x.update("A", 1.0, 0.0).outgoing:
        y.receive(message, 0.0)
    (farewell,) = x.leave().outgoing
    y.join(0.0)
    y.peer_left("x", 1.0)
    y.update("A", 1.0, 3.0)
    y.receive(farewell, 4.0)
    snapshot = y.snapshot()
    outcomes = [y.update("A", 1.0, float(now)) for now in range(5, 100)]
    assert sum(len(outcome.outgoing) for outcome in outcomes) > 0
    records = [record for outcome in outcomes for record in outcome.records]
    assert Agent.restore(snapshot, records, policy=UCB(ARMS), sharing=TOLERANT).snapshot() == y.snapshot()


def test_a_clock_that_went_back_is_remembered_by_a_replay() -> None:
    y = agent("y", "x")
    y.update("A", 1.0, 1e9)
    snapshot = y.snapshot()
    outcome = y.flush(10.0)
    assert y.wake_at == 70.0
    again = Agent.restore(snapshot, outcome.records, policy=UCB(ARMS), sharing=TOLERANT)
    assert again.snapshot() == y.snapshot()


def test_a_message_that_is_refused_does_not_set_the_clock() -> None:
    y = agent("y", "x")
    y.update("A", 1.0, 1e9)
    before = y.snapshot()
    with pytest.raises(PeerError):
        y.receive(Notice("q", "y", Changes(), 1), 10.0)
    assert y.snapshot() == before


def presence(sender: str = "l") -> Presence:
    return Presence(sender, 9, 2, 9, True, ARMS, UCB(ARMS).quantum.per_reward)


def test_nobody_eliminates_more_arms_than_there_can_be() -> None:
    y = agent("y", "x")
    y.receive(Notice("l", "y", Changes(presences=(presence(),)), 9, is_introduced=True), 0.0)
    for part in range(2):
        gone = Eliminations("l", 9, tuple(f"{part}/{place}" for place in range(MOST_ARMS)))
        notice = Notice("l", "y", Changes(eliminations=(gone,)), 9, is_introduced=True)
        if part == 0:
            y.receive(notice, 0.0)
            continue
        with pytest.raises(PeerError, match="some of them twice or too many"):
            y.receive(notice, 0.0)
    Agent.restore(y.snapshot(), policy=UCB(ARMS), sharing=TOLERANT)


def test_a_newcomer_cannot_hold_more_of_a_log_than_there_is() -> None:
    y = agent("y", "x")
    delivery = Delivery(9, 0, Receipt(y.session, 0, MAX_NUMBER), is_introduced=True)
    before = y.snapshot()
    with pytest.raises(PeerError, match="do two processes run under one name"):
        y.receive(Share("l", "y", 1, 0, Changes(0, 1, presences=(presence(),)), delivery), 0.0)
    assert y.snapshot() == before


def test_a_late_introduction_of_an_earlier_session_changes_nothing() -> None:
    """x was known by the driver's word only, and spoke in session 5 without an introduction."""
    y = agent("y", "x")
    y.receive(Share("x", "y", 1, 0, Changes(), Delivery(5, 0, Receipt(y.session, 0, 0))), 0.0)
    late = Changes(0, 1, presences=(presence("x")._replace(session=4, incarnation=4),))
    y.receive(Share("x", "y", 2, 0, late, Delivery(4, 0, Receipt(y.session, 0, 0), is_introduced=True)), 1.0)
    assert y.peers.link("x").session == 5


def test_who_forgot_an_incarnation_is_told_of_it_though_its_session_is_later() -> None:
    pair = Pair()
    pair.restart("x", "y", 5)
    pair.deliver(pair.agents["x"].update("A", 1.0, pair.now).outgoing)
    pair.restart("x", "y", 3)
    x = pair.agents["x"]
    x.begin(6, pair.now, arms=(*ARMS, "C"))
    pair.deliver(x.join(pair.now).outgoing)
    pair.now += 100.0
    told = pair.agents["y"].wake(pair.now).outgoing
    assert [x.receive(message, pair.now).superseded_by for message in told] == [5]
    assert x.policy.tally.counts["A"] == 0
    x.begin(7, pair.now, incarnation=7)
    pair.deliver(x.join(pair.now).outgoing)
    pair.now += 100.0
    pair.deliver(pair.agents["y"].wake(pair.now).outgoing)
    assert x.policy.tally.counts["A"] == 1
