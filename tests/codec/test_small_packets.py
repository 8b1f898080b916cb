"""A message that does not fit a packet would never arrive: so it is split, and goes on where it ended."""

import pytest

from cobandit import UCB, Agent, on_demand
from cobandit.codec import encode, facts_that_fit
from cobandit.core import Limited, Message

ARMS = tuple(f"arm-{place}" for place in range(20))
SHARING = on_demand(loss_tolerant=True)


def restarted(times: int) -> Agent:
    """An agent that has crashed so often, and observed every arm each time."""
    agent = Agent("j", UCB(ARMS), SHARING, incarnation=1)
    for incarnation in range(2, times + 2):
        for arm in ARMS:
            agent.update(arm, 1.0, float(incarnation))
        agent.begin(incarnation, float(incarnation), incarnation=incarnation)
    return agent


@pytest.mark.parametrize("largest", [8_192, 65_536])
def test_many_restarts_are_told_in_packets_that_fit(largest: int) -> None:
    j = restarted(300)
    p = Agent("p", UCB(ARMS), SHARING, incarnation=1)
    agents = {"j": j, "p": p}
    for one, peer in ((j, "p"), (p, "j")):
        one.limit_facts(facts_that_fit(largest, ARMS))
        one.peer_joined(peer, ARMS, 1e6)
    sizes: list[int] = []

    def deliver(messages: tuple[Message, ...]) -> None:
        under_way = list(messages)
        while under_way:
            message = under_way.pop(0)
            sizes.append(len(encode(message)))
            under_way += agents[message.receiver].receive(message, 1e6).outgoing

    deliver(p.join(1e6).outgoing)
    deliver(j.join(1e6).outgoing)
    deliver(j.flush(1e6).outgoing)
    assert max(sizes) <= largest
    assert p.policy.tally == j.policy.tally
    assert len(sizes) > 300 * len(ARMS) / facts_that_fit(largest, ARMS)


def test_a_limit_is_an_input_so_what_was_sent_under_it_is_replayed_as_it_was() -> None:
    """Found by `python -m lab swarm --pens`, seed 3000879: a relay whose packets are small could not start again."""
    j, p = (Agent(name, UCB(ARMS), SHARING, incarnation=1) for name in "jp")
    j.peer_joined("p", ARMS, 1.0)
    p.peer_joined("j", ARMS, 1.0)
    before = j.snapshot()
    outcomes = [j.limit_facts(2), *(j.update(arm, 1.0, 2.0) for arm in ARMS)]
    outcomes += [j.receive(message, 3.0) for message in p.join(3.0).outgoing]
    outcomes.append(j.flush(4.0))
    records = [record for outcome in outcomes for record in outcome.records]
    again = Agent.restore(before, records, policy=UCB(ARMS), sharing=SHARING)
    assert again.snapshot() == j.snapshot()
    from_snapshot = Agent.restore(j.snapshot(), j.flush(90.0).records, policy=UCB(ARMS), sharing=SHARING)
    assert from_snapshot.snapshot() == j.snapshot()


def test_a_limit_that_is_the_same_or_above_what_any_message_tells_is_no_news() -> None:
    agent = Agent("j", UCB(ARMS), SHARING, incarnation=1)
    most = [agent.limit_facts(most).records for most in (10**6, 30, 30, 10**6)]
    assert most == [(), (Limited(30),), (), (Limited(4096),)]
