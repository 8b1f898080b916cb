"""A message that does not fit a packet would never arrive: so it is split, and goes on where it ended."""

import pytest

from cobandit import UCB, Agent, on_demand
from cobandit.codec import encode, facts_that_fit
from cobandit.core import Message

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
