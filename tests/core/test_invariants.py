"""The invariants hold in random worlds, at every step; and each of them can be seen to fail."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cobandit.core import (
    Constant,
    Endpoint,
    FromFunction,
    Geometric,
    Message,
    Notice,
    PerCandidate,
    Share,
    Threshold,
    on_demand,
)
from cobandit.core.exchange import Exchange
from cobandit.core.facts import CellKey
from cobandit.core.invariants import endpoint_violations
from cobandit.values.tally import ArmTally
from lab.pairs import largest_share_count, pair_violations

THRESHOLDS: list[Threshold] = [
    Constant(1),
    Constant(3),
    Geometric(2),
    Geometric(3, cap=10),
    PerCandidate(),
    FromFunction(lambda c: c),
]
ARM_SETS = [("A", "B", "C"), ("B", "C", "D"), ("C",), ("A", "D")]


def one(arm: str, units: int = 1) -> tuple[ArmTally, ...]:
    """One observation."""
    return (ArmTally(arm, 1, units, units * units),)


class Exchanges(RuleBasedStateMachine):
    """Two directed exchanges that face each other over a reliable network with any delay."""

    @initialize(threshold=st.sampled_from(THRESHOLDS))
    def begin(self, threshold: Threshold) -> None:
        self.threshold = threshold
        self.sides = [Exchange(on_demand(threshold)), Exchange(on_demand(threshold))]
        self.pulls = [0, 0]
        self.delivered = [0, 0]
        self.in_flight: list[list[int]] = [[], []]

    @rule(side=st.sampled_from([0, 1]))
    def observe(self, side: int) -> None:
        self.pulls[side] += 1
        self._sent(side, self.sides[side].observe(candidate_count=4))

    @rule(side=st.sampled_from([0, 1]))
    def deliver(self, side: int) -> None:
        if self.in_flight[side]:
            self.delivered[side] += self.in_flight[side].pop(0)
            self._sent(1 - side, self.sides[1 - side].share_received(candidate_count=4))

    def _sent(self, side: int, observations: int) -> None:
        if observations:
            self.in_flight[side].append(observations)

    @invariant()
    def every_pull_is_delivered_or_in_flight_or_buffered(self) -> None:
        for side in (0, 1):
            there = self.delivered[side] + sum(self.in_flight[side]) + self.sides[side].buffered
            assert there == self.pulls[side]

    @invariant()
    def demands_and_shares_in_flight_are_one_or_two(self) -> None:
        tokens = sum(side.demanded for side in self.sides) + sum(map(len, self.in_flight))
        assert tokens in (1, 2)

    @invariant()
    def theorem_2_bounds_the_shares_of_each_direction(self) -> None:
        bound = 1 + min(largest_share_count(self.threshold, pulls, 4) for pulls in self.pulls)
        assert max(side.shares_sent for side in self.sides) <= bound

    @invariant()
    def nobody_is_more_than_one_share_ahead_of_what_it_was_asked_for(self) -> None:
        there, back = self.sides
        assert abs(there.shares_sent - back.shares_sent) <= 1 + sum(map(len, self.in_flight))


class Group(RuleBasedStateMachine):
    """Three endpoints that observe, eliminate, leave, join and receive in any order, over a network that keeps it."""

    @initialize(threshold=st.sampled_from(THRESHOLDS), arms=st.lists(st.sampled_from(ARM_SETS), min_size=3, max_size=3))
    def begin(self, threshold: Threshold, arms: list[tuple[str, ...]]) -> None:
        self.agents = {
            name: Endpoint(name, own, on_demand(threshold), units_per_reward=10, settles=True)
            for name, own in zip("jpq", arms, strict=True)
        }
        self.in_flight: dict[tuple[str, str], list[Message]] = {}
        self.away: set[str] = set()
        self.rejoins = 0
        for agent in self.agents.values():
            for other in self.agents.values():
                if agent is not other:
                    agent.peer_joined(other.name, other.arms, 0.0)
                    self.in_flight[agent.name, other.name] = []

    @rule(name=st.sampled_from("jpq"), position=st.integers(0, 2), units=st.integers(0, 10))
    def observe(self, name: str, position: int, units: int) -> None:
        if name not in self.away:
            agent = self.agents[name]
            self._send(agent.observe(one(agent.arms[position % len(agent.arms)], units), 0.0).outgoing)

    @rule(name=st.sampled_from("jpq"), position=st.integers(0, 2))
    def eliminate(self, name: str, position: int) -> None:
        candidates = sorted(self.agents[name].candidates.own)
        if name not in self.away and len(candidates) > 1:
            self._send(self.agents[name].eliminate(candidates[position % len(candidates)], 0.0).outgoing)

    @rule(pair=st.sampled_from([("j", "p"), ("p", "j"), ("j", "q"), ("q", "j"), ("p", "q"), ("q", "p")]))
    def deliver(self, pair: tuple[str, str]) -> None:
        if self.in_flight[pair] and pair[1] not in self.away:
            self._send(self.agents[pair[1]].receive(self.in_flight[pair].pop(0), 0.0).outgoing)

    @rule(name=st.sampled_from("jpq"), really=st.integers(0, 5))
    def leave(self, name: str, really: int) -> None:
        if name not in self.away and really == 0:
            self.away.add(name)
            self._send(self.agents[name].leave().outgoing)

    @precondition(lambda self: self.away)
    @rule()
    def join(self) -> None:
        name = min(self.away)
        self.away.discard(name)
        self.rejoins += 1
        self._send(self.agents[name].join(0.0).outgoing)

    def _send(self, messages: tuple[Message, ...]) -> None:
        for message in messages:
            self.in_flight[message.sender, message.receiver].append(message)

    @invariant()
    def nothing_is_wrong_with_anybody(self) -> None:
        assert [wrong for agent in self.agents.values() for wrong in endpoint_violations(agent)] == []

    @invariant()
    def nothing_is_wrong_between_any_two(self) -> None:
        for j, p in (("j", "p"), ("j", "q"), ("p", "q")):
            waiting = self.in_flight[j, p] + self.in_flight[p, j]
            there, back = self.agents[j], self.agents[p]
            notices = [message.changes for message in waiting if isinstance(message, Notice)]
            wrong = pair_violations(
                there,
                back,
                [message for message in waiting if isinstance(message, Share)],
                rejoins=self.rejoins,
                absent=any(changes.presences for changes in notices)
                or not (there.members.get(p).is_present and back.members.get(j).is_present),
            )
            assert wrong == []

    @invariant()
    def everything_is_counted_once(self) -> None:
        for agent in self.agents.values():
            for key, entry in agent.replica.cells():
                assert entry.observations <= self.agents[key.agent].replica.own_count(key.arm)


TestExchanges = Exchanges.TestCase
TestExchanges.settings = settings(max_examples=150, stateful_step_count=60, deadline=None, derandomize=True)
TestGroup = Group.TestCase
TestGroup.settings = settings(max_examples=200, stateful_step_count=60, deadline=None, derandomize=True)


def pair() -> tuple[Endpoint, Endpoint]:
    j, p = (Endpoint(name, ("A", "B"), on_demand(), units_per_reward=1) for name in "jp")
    j.peer_joined("p", ("A", "B"), 0.0)
    p.peer_joined("j", ("A", "B"), 0.0)
    return j, p


def test_a_lost_share_is_seen_as_an_inexact_and_then_as_a_silent_pair() -> None:
    j, p = pair()
    j.observe(one("A"), 0.0)
    assert pair_violations(j, p) == ["p lacks 1 of j, which buffers 0 for it"]
    p.observe(one("A"), 0.0)
    assert pair_violations(j, p)[-1] == "j and p have 0 demands and shares in flight, not 1 or 2"


def test_a_share_too_many_is_seen_against_theorem_2() -> None:
    j, p = pair()
    j.links["p"].exchange.shares_sent = 2
    assert pair_violations(j, p) == ["j sent 2 shares to p; Theorem 2 allows 1"]


@pytest.mark.parametrize("value", [(2, 1, 1), (1, 2, 1), (1, 1, 2)])
def test_a_receiver_that_counts_twice_is_seen(value: tuple[int, int, int]) -> None:
    j, p = pair()
    (share,) = j.observe(one("A"), 0.0).outgoing
    p.receive(share, 0.0)
    assert pair_violations(j, p) == []
    p.replica._facts[CellKey("j", 0, "A")].value = ArmTally("A", *value)
    assert pair_violations(j, p) == ["p has more of arm A from j than j has itself"]


def healthy() -> Endpoint:
    """j, which has pulled A and knows that p has pulled B."""
    j, p = pair()
    j.observe(one("A"), 0.0)
    (share,) = p.observe(one("B"), 0.0).outgoing
    j.receive(share, 0.0)
    return j


def test_nothing_is_wrong_with_a_healthy_one() -> None:
    assert endpoint_violations(healthy()) == []


@pytest.mark.parametrize(
    ("attribute", "value", "text"),
    [
        ("buffered", 5, "j buffers 5 observations for p: it made fewer"),
        ("buffered", -1, "j buffers -1 observations for p: it made fewer"),
        ("c", 0, "j miscounts its shares to p"),
        ("shares_sent", 0, "j miscounts its shares to p"),
    ],
)
def test_a_damaged_exchange_is_seen(attribute: str, value: int, text: str) -> None:
    j = healthy()
    setattr(j.links["p"].exchange, attribute, value)
    assert endpoint_violations(j) == [text]


@pytest.mark.parametrize(("attribute", "value"), [("acknowledged", 3), ("acknowledged", -1), ("urgent", 3)])
def test_a_peer_that_holds_more_than_there_is_is_seen(attribute: str, value: int) -> None:
    j = healthy()
    assert j.replica.number == 2
    setattr(j.links["p"], attribute, value)
    assert endpoint_violations(j) == ["j thinks that p holds more of its log than there is"]


@pytest.mark.parametrize("candidates", [set(), {"A", "Z"}])
def test_damaged_candidates_are_seen(candidates: set[str]) -> None:
    j = healthy()
    j.candidates.own = candidates
    assert endpoint_violations(j) == [f"the candidates of j are not some of its arms: {sorted(candidates)}"]


def test_damaged_common_arms_are_seen() -> None:
    j = healthy()
    j.links["p"].peer.common = ("B", "A")
    assert endpoint_violations(j) == ["j does not know which arms it has in common with p"]


def test_a_damaged_count_of_own_observations_is_seen() -> None:
    j = healthy()
    j.replica.observations = 7
    assert endpoint_violations(j) == ["j has cells of 1 own observations and counts 7"]


@pytest.mark.parametrize("value", [(0, 0, 0), (1, 2, 2), (1, 1, 2), (1, -1, 1)])
def test_impossible_cells_are_seen(value: tuple[int, int, int]) -> None:
    j = healthy()
    j.replica._facts[CellKey("p", 0, "B")].value = ArmTally("B", *value)
    assert endpoint_violations(j) == [f"j holds impossible tallies of p: {ArmTally('B', *value)}"]


@given(pulls=st.integers(0, 500), base=st.integers(2, 5))
@settings(deadline=None, derandomize=True)
def test_the_largest_share_count_is_that_of_theorem_2(pulls: int, base: int) -> None:
    count = largest_share_count(Geometric(base), pulls, 1)
    assert (
        sum(base ** (c - 1) for c in range(1, count + 1)) <= pulls < sum(base ** (c - 1) for c in range(1, count + 2))
    )
