"""Many bandits on one link, segments of them, and windows: where an observation belongs, and how long it counts."""

import math
from collections.abc import Iterable

import pytest

from cobandit import UCB, Agent, on_demand
from cobandit.codec import decode, decode_record, decode_snapshot, encode, encode_record, encode_snapshot
from cobandit.core import (
    Bandit,
    Cells,
    Changes,
    InputRecord,
    Message,
    Notice,
    Outcome,
    Placed,
    Presence,
    RetryTimers,
    Share,
    Turned,
)
from cobandit.core.facts import CellKey
from cobandit.core.invariants import endpoint_violations, total
from cobandit.core.places import Change, check_bandits, difference, faded
from cobandit.core.thresholds import Geometric, PerCandidate
from cobandit.learning import Learners
from cobandit.policies import AAE, Policy
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import ArmTally

HOME = Bandit("home", ("A", "B"), 1)
MAIL = Bandit("mail", ("A", "C"), 1)
HOURLY = Bandit("hourly", ("A", "B"), 1, period=60.0, periods=3)
SHARING = on_demand(loss_tolerant=True)


def build(arms: Iterable[str]) -> Policy:
    return UCB(list(arms), quantum=1.0)


def agent(name: str, *bandits: Bandit, sharing: object = SHARING) -> Agent:
    one = Agent(name, None, sharing, bandits=bandits)  # type: ignore[arg-type]
    for bandit in bandits:
        one.declare(bandit.name, build)
    return one


def some(arm: str, count: int, units: int) -> ArmTally:
    return ArmTally(arm, count, units, units)


def placed(bandit: str, segment: str, *tallies: ArmTally) -> Placed:
    return Placed(bandit, segment, tallies)


class Group:
    """Agents that hear each other at once, over bytes."""

    def __init__(self, *agents: Agent, relays: Iterable[str] = (), leaves: Iterable[str] = ()) -> None:
        self.of = {one.name: one for one in agents}
        self.now = 0.0
        self.is_cut = False
        self.said: list[Message] = []
        self.relays, self.leaves = set(relays), set(leaves)
        for one in agents:
            for other in agents:
                if one is not other and not {one.name, other.name} <= self.leaves:
                    one.peer_joined(other.name, other.arms)
        for one in agents:
            self.join(one)

    def join(self, one: Agent) -> None:
        role = {"is_relay": one.name in self.relays, "is_leaf": one.name in self.leaves}
        self.take(one.join(self.now, **role))

    def take(self, outcome: Outcome) -> None:
        waiting = list(outcome.outgoing)
        while waiting:
            message = waiting.pop(0)
            self.said.append(message)
            if not self.is_cut:
                answer = self.of[message.receiver].receive(decode(encode(message)), self.now)
                waiting += answer.outgoing
        for one in self.of.values():
            assert endpoint_violations(one.endpoint) == []

    def observe(self, name: str, *elsewhere: Placed) -> None:
        self.now += 1.0
        self.take(self.of[name].update_all((), self.now, elsewhere=elsewhere))

    def settle(self) -> None:
        for _ in range(20):
            self.now += 100_000.0
            for one in self.of.values():
                self.take(one.wake(self.now))


def known(one: Agent, bandit: str, segment: str = "") -> dict[str, tuple[int, int]]:
    tally = one.policy_at(bandit, segment).tally
    parts = total(one.endpoint, (bandit, segment))
    assert tally == parts
    return {arm: (count, tally.sums[arm]) for arm, count in tally.counts.items() if count}


# Bandits and segments.


def test_bandits_and_segments_are_shared_over_one_link_and_kept_apart() -> None:
    group = Group(agent("j", HOME, MAIL), agent("p", HOME, MAIL))
    group.observe("j", placed("home", "de", some("A", 2, 1)), placed("mail", "", some("A", 3, 0)))
    group.observe("p", placed("home", "de", some("A", 1, 1)), placed("home", "fr", some("B", 1, 0)))
    group.settle()
    for one in group.of.values():
        assert known(one, "home", "de") == {"A": (3, 2)}
        assert known(one, "home", "fr") == {"B": (1, 0)}
        assert known(one, "mail") == {"A": (3, 0)}
        assert one.segments_of("home") == ("de", "fr")


def test_one_message_tells_the_news_of_all_bandits() -> None:
    group = Group(agent("j", HOME, MAIL), agent("p", HOME, MAIL))
    group.said.clear()
    group.observe("j", placed("home", "de", some("A", 2, 1)), placed("mail", "", some("A", 3, 0)))
    shares = [message for message in group.said if isinstance(message, Share) and message.sender == "j"]
    assert [share.observations for share in shares] == [5]
    assert [cells[3:5] for cells in shares[0].changes.cells] == [("home", "de"), ("mail", "")]


def test_nobody_is_told_of_a_bandit_that_it_does_not_serve_before_it_says_that_it_does() -> None:
    group = Group(agent("j", HOME, MAIL), agent("p", HOME))
    group.observe("j", placed("mail", "", some("A", 3, 1)))
    group.observe("j", placed("home", "", some("A", 1, 1)))
    group.settle()
    p = group.of["p"]
    assert known(p, "home") == {"A": (1, 1)}
    assert not any(key.bandit == "mail" for key, _ in p.endpoint.replica.cells())
    told = [cells for message in group.said if isinstance(message, Share) for cells in message.changes.cells]
    assert {cells.bandit for cells in told} == {"home"}
    p.begin(p.session + 1, group.now, bandits=(HOME, MAIL))
    p.declare("mail", build)
    group.join(p)
    group.settle()
    assert known(p, "mail") == {"A": (3, 1)}
    assert known(p, "home") == {"A": (1, 1)}


def test_what_is_known_of_a_bandit_stays_when_it_is_served_no_more_and_comes_back() -> None:
    group = Group(agent("j", HOME, MAIL), agent("p", HOME, MAIL))
    group.observe("p", placed("mail", "", some("A", 3, 1)))
    p = group.of["p"]
    p.begin(p.session + 1, group.now, bandits=(HOME,))
    group.join(p)
    group.observe("j", placed("mail", "", some("A", 2, 2)))
    group.settle()
    assert total(p.endpoint, ("mail", "")).counts["A"] == 3
    kept = Agent.restore(decode_snapshot(encode_snapshot(p.snapshot())), policy=None, sharing=SHARING)
    assert kept.snapshot() == p.snapshot()
    p.begin(p.session + 1, group.now, bandits=(HOME, MAIL))
    group.join(p)
    group.settle()
    assert known(p, "mail") == {"A": (5, 3)}


@pytest.mark.parametrize("bandits", [(), (HOME,)], ids=["never served any", "serves none any more"])
def test_an_agent_that_serves_nothing_at_present_is_restored(bandits: tuple[Bandit, ...]) -> None:
    one = Agent("j", None, SHARING, bandits=bandits)
    one.join(0.0)
    if bandits:
        one.update_all((), 1.0, elsewhere=(placed("home", "", some("A", 1, 1)),))
        one.begin(1, 2.0, bandits=())
    snapshot = decode_snapshot(encode_snapshot(one.snapshot()))
    assert Agent.restore(snapshot, policy=None, sharing=SHARING).snapshot() == snapshot


def test_a_demand_waits_for_an_observation_where_there_are_only_bandits_with_names() -> None:
    sharing = on_demand(PerCandidate(), loss_tolerant=True)
    group = Group(agent("j", HOME, sharing=sharing), agent("p", HOME, sharing=sharing))
    group.observe("j", placed("home", "", some("A", 1, 1)))  # asks p, who has nothing to say yet
    assert group.of["p"].endpoint.links["j"].exchange.demanded
    group.observe("p", placed("home", "", some("B", 1, 0)))
    assert known(group.of["j"], "home") == {"A": (1, 1), "B": (1, 0)}


def test_two_definitions_of_one_bandit_share_nothing_and_it_is_known_why() -> None:
    other = HOME._replace(units_per_reward=100)
    group = Group(agent("j", HOME), Agent("p", None, SHARING, bandits=(other,)))
    group.observe("j", placed("home", "", some("A", 2, 1)))
    group.settle()
    assert list(group.of["p"].endpoint.replica.cells()) == []
    assert difference(HOME, other) == "units_per_reward: 1 here, 100 there"
    assert difference(HOME, HOME._replace(rewards=(0.0, 200.0))) == "rewards: (0.0, 1.0) here, (0.0, 200.0) there"
    assert difference(HOME, HOME._replace(arms=("A",))) is None


def test_of_bandits_with_other_arms_what_both_serve_is_shared() -> None:
    group = Group(agent("j", HOME), agent("p", HOME._replace(arms=("B", "C"))))
    group.observe("j", placed("home", "", some("A", 2, 1), some("B", 1, 1)))
    group.settle()
    assert known(group.of["p"], "home") == {"B": (1, 1)}


def test_policies_have_the_arms_that_a_bandit_gets() -> None:
    group = Group(agent("j", HOME), agent("p", HOME._replace(arms=("A", "B", "C"))))
    group.observe("j", placed("home", "", some("A", 1, 1)))
    one = group.of["j"]
    group.take(one.begin(7, group.now, bandits=(HOME._replace(arms=("A", "B", "C")),)))
    group.join(one)
    group.observe("p", placed("home", "", some("C", 1, 1)))
    group.settle()
    assert one.policy_at("home").arms == ("A", "B", "C")
    assert known(one, "home") == {"A": (1, 1), "C": (1, 1)}


def test_a_relay_that_holds_nothing_of_a_bandit_takes_another_definition_of_it() -> None:
    group = Group(agent("j", HOME), agent("r", HOME), relays="r")
    relay, other = group.of["r"], HOME._replace(rewards=(-1.0, 1.0), arms=("A", "C"))
    start = relay.snapshot()
    began = relay.begin(7, group.now, bandits=(other,))
    assert relay.bandit("home") == other
    assert Agent.restore(start, began.records, policy=None, sharing=SHARING).snapshot() == relay.snapshot()


def test_what_a_relay_holds_anything_of_keeps_its_definition() -> None:
    group = Group(agent("j", HOME), agent("r", HOME), relays="r")
    group.observe("j", placed("home", "", some("A", 3, 1)))
    before = group.of["r"].snapshot()
    with pytest.raises(LocalError, match="another rewards"):
        group.of["r"].begin(7, group.now, bandits=(HOME._replace(rewards=(-1.0, 1.0)),))
    assert group.of["r"].snapshot() == before


def test_what_was_under_way_when_a_bandit_got_another_definition_does_not_count_as_that() -> None:
    group = Group(agent("j", HOME), agent("r", HOME), relays="r")
    group.is_cut = True
    group.observe("j", placed("home", "", some("A", 3, 1)))
    (late,) = [message for message in group.said if isinstance(message, Share) and message.receiver == "r"]
    relay, other = group.of["r"], HOME._replace(rewards=(-1.0, 1.0))
    relay.begin(7, group.now, bandits=(other,))
    relay.receive(late, group.now)
    assert [*relay.endpoint.replica.cells()] == []
    relay.begin(8, group.now, bandits=(HOME,))
    relay.receive(late, group.now)
    assert [entry for _, entry in relay.endpoint.replica.cells()] == [some("A", 3, 1)]


def test_a_message_of_a_session_that_has_not_said_how_it_declares_its_bandits_must_come_again() -> None:
    group = Group(agent("j", HOME), agent("r", HOME), relays="r")
    group.observe("j", placed("home", "", some("A", 3, 1)))
    sender, relay = group.of["j"], group.of["r"]
    group.is_cut = True
    n = len(group.said)
    sender.begin(9, group.now)
    group.observe("j", placed("home", "", some("A", 3, 1)))
    group.now += 1000.0
    group.take(sender.wake(group.now))
    shares = [message for message in group.said[n:] if isinstance(message, Share) and message.receiver == "r"]
    bare = shares[-1]._replace(changes=shares[-1].changes._replace(presences=()))
    relay.receive(bare, group.now)
    assert known(relay, "home") == {"A": (3, 1)}
    assert relay.peers.held_of("j", 9) == 0
    relay.receive(shares[-1], group.now)
    assert known(relay, "home") == {"A": (6, 2)}
    assert relay.peers.held_of("j", 9) == shares[-1].changes.upto


def test_a_bandit_is_not_declared_otherwise_later_and_its_arms_only_grow() -> None:
    one = agent("j", HOME)
    with pytest.raises(LocalError, match="another rewards"):
        one.begin(1, 0.0, bandits=(HOME._replace(rewards=(-1.0, 1.0)),))
    with pytest.raises(LocalError, match="has had the arms A, B"):
        one.begin(1, 0.0, bandits=(HOME._replace(arms=("A", "C")),))
    assert one.session == 0
    one.begin(1, 0.0, bandits=(HOME._replace(arms=("A", "B", "C")),))
    one.declare("home", build)
    assert one.policy_at("home").arms == ("A", "B", "C")


def test_a_plain_bandit_goes_on_beside_bandits_with_names() -> None:
    j, p = (Agent(name, UCB(["A", "B"], quantum=1.0), SHARING, bandits=(HOME,)) for name in "jp")
    for one in (j, p):
        one.declare("home", build)
    group = Group(j, p)
    group.take(j.update_all((some("A", 2, 1),), 1.0, elsewhere=(placed("home", "", some("A", 1, 0)),)))
    group.settle()
    assert (p.policy.tally.counts, p.policy_at("home").tally.counts) == ({"A": 2, "B": 0}, {"A": 1, "B": 0})


def test_observations_that_cannot_be_are_refused_and_nothing_changes() -> None:
    one = agent("j", HOME)
    before = one.snapshot()
    for wrong, words in (
        (placed("shop", "", some("A", 1, 1)), "declare it first"),
        (placed("home", "", some("C", 1, 1)), "not one of A, B"),
        (placed("home", "", some("A", 1, 2)), "in quanta"),
        (placed("home", "x" * 300, some("A", 1, 1)), "segment"),
        (placed("home", ""), "at least one"),
    ):
        with pytest.raises(LocalError, match=words):
            one.update_all((), 1.0, elsewhere=(placed("home", "ok", some("A", 1, 1)), wrong))
    with pytest.raises(LocalError, match="twice"):
        one.update_all((), 1.0, elsewhere=(placed("home", "", some("A", 1, 1)),) * 2)
    assert one.snapshot() == before
    assert one.segments_of("home") == ()


def test_bandits_that_cannot_be_are_refused() -> None:
    for wrong, words in (
        ((HOME, HOME), "twice"),
        ((HOME._replace(arms=()),), "empty"),
        ((HOME._replace(name="a\x1fb"),), "control characters"),
        ((HOME._replace(arms=("A", "\x1fheld out\x1fA")),), "separator"),
        ((HOME._replace(units_per_reward=0),), "quanta"),
        ((HOME._replace(periods=65),), "periods"),
        ((HOME._replace(period=-1.0),), "period"),
        ((HOME._replace(period=float("inf")),), "period"),
        (tuple(HOME._replace(name=str(number)) for number in range(1025)), "limit of 1024"),
    ):
        with pytest.raises(LocalError, match=words):
            check_bandits(wrong)


def test_a_peer_that_says_impossible_bandits_or_others_in_one_session_is_refused() -> None:
    one = agent("j", HOME)
    one.peer_joined("p", ())
    here = Presence("p", 3, 2, 3, is_present=True, arms=(), units_per_reward=1, bandits=(HOME,))
    one.receive(Notice("p", "j", Changes(0, 1, presences=(here,)), 3, is_introduced=True), 1.0)
    for wrong in (HOME._replace(arms=()), HOME._replace(periods=0)):
        later = here._replace(session=4, bandits=(wrong,))
        with pytest.raises(PeerError, match="cannot join"):
            one.receive(Notice("p", "j", Changes(0, 1, presences=(later,)), 4, is_introduced=True), 1.0)
    again = here._replace(number=4, bandits=(HOME, MAIL))
    with pytest.raises(PeerError, match="other bandits"):
        one.receive(Notice("p", "j", Changes(0, 2, presences=(again,)), 3, is_introduced=True), 1.0)


# Relays and leaves.


def test_a_relay_tells_leaves_totals_of_each_place() -> None:
    group = Group(agent("r", HOME, MAIL), agent("j", HOME, MAIL), agent("p", HOME), relays=["r"], leaves=["j", "p"])
    group.observe("j", placed("home", "de", some("A", 2, 1)), placed("mail", "de", some("A", 3, 3)))
    group.observe("p", placed("home", "de", some("A", 4, 0)))
    group.settle()
    assert known(group.of["p"], "home", "de") == known(group.of["j"], "home", "de") == {"A": (6, 1)}
    assert known(group.of["j"], "mail", "de") == {"A": (3, 3)}
    assert {one[:2] for one in group.of["p"].endpoint.totals.all()} == {("home", "de")}
    assert group.of["r"].policy_at("home", "de").tally.counts["A"] == 6


def test_a_period_that_is_over_is_dropped_by_relays_and_leaves() -> None:
    group = Group(agent("r", HOURLY), agent("j", HOURLY), agent("p", HOURLY), relays=["r"], leaves=["j", "p"])
    group.observe("j", placed("hourly", "", some("A", 2, 1)))
    group.settle()
    for one in group.of.values():
        group.take(one.turn(60.0, group.now))
    group.observe("j", placed("hourly", "", some("A", 1, 1)))
    group.settle()
    assert [known(one, "hourly") for one in group.of.values()] == [{"A": (3, 2)}] * 3
    for one in group.of.values():
        group.take(one.turn(180.0, group.now))
    assert [known(one, "hourly") for one in group.of.values()] == [{"A": (1, 1)}] * 3
    totals = group.of["r"].endpoint.replica.totals
    assert totals is not None
    assert totals.but("p", "A", "hourly", "", 0).observations == 0
    assert totals.but("p", "A", "hourly", "", 1).observations == 1


# Windows.


def test_what_is_outside_the_window_is_dropped_by_everybody_without_a_message() -> None:
    group = Group(agent("j", HOURLY), agent("p", HOURLY))
    group.observe("j", placed("hourly", "", some("A", 4, 1)))
    group.settle()
    group.said.clear()
    for time, left in ((59.0, 4), (60.0, 4), (179.0, 4), (180.0, 0)):
        for one in group.of.values():
            group.take(one.turn(time, group.now))
            assert one.policy_at("hourly").tally.observations == left
    assert group.said == []
    j, p = group.of.values()
    assert (list(j.endpoint.replica.cells()), list(p.endpoint.replica.cells())) == ([], [])
    assert (j.endpoint.replica.observations, j.endpoint.replica.dropped, p.peers.observations_of("j")) == (4, 4, 0)
    group.settle()
    assert j.peers.lacking == p.peers.lacking == ()


def test_an_old_period_that_comes_late_is_passed_over_and_acknowledged() -> None:
    group = Group(agent("j", HOURLY), agent("p", HOURLY))
    group.is_cut = True
    group.observe("j", placed("hourly", "", some("A", 4, 1)))
    late = [message for message in group.said if isinstance(message, Share)][-1]
    p = group.of["p"]
    p.turn(200.0, group.now)
    p.receive(late, group.now)
    assert p.policy_at("hourly").tally.observations == 0
    assert p.peers.held_of("j", 0) == late.changes.upto
    assert p.endpoint.replica.amount_of("j") == (0, 0)


def test_the_next_period_is_taken_from_a_clock_that_is_ahead_and_a_later_one_is_told_again() -> None:
    group = Group(agent("j", HOURLY), agent("p", HOURLY))
    j, p = group.of.values()
    j.turn(61.0, 0.0)
    group.observe("j", placed("hourly", "", some("A", 4, 1)))
    assert known(p, "hourly") == {"A": (4, 1)}
    j.turn(125.0, 0.0)
    group.observe("j", placed("hourly", "", some("A", 1, 1)))
    group.settle()
    assert known(p, "hourly") == {"A": (4, 1)}
    assert j.peers.lacking == ("p",)
    p.turn(65.0, group.now)
    group.settle()
    assert known(p, "hourly") == {"A": (5, 2)}
    assert not j.peers.lacking


def test_time_never_goes_back() -> None:
    one = agent("j", HOURLY)
    one.turn(130.0, 0.0)
    one.turn(10.0, 0.0)
    one.update_all((), 1.0, elsewhere=(placed("hourly", "", some("A", 1, 0)),))
    assert [key for key, _ in one.endpoint.replica.cells()] == [CellKey("j", 0, "A", "hourly", "", 2)]


def test_time_goes_back_only_in_another_incarnation_and_what_is_written_leads_there_again() -> None:
    one, once = agent("j", HOURLY), placed("hourly", "", some("A", 1, 0))
    start, records = one.snapshot(), list[InputRecord]()
    records += one.turn(86_410.0, 0.0).records
    records += one.update_all((), 1.0, elsewhere=(once,)).records
    with pytest.raises(LocalError, match="begin another one first"):
        one.turn(130.0, 2.0, is_back=True)
    records += one.begin(5, 2.0, incarnation=5).records
    records += one.turn(130.0, 2.0, is_back=True).records
    records += one.update_all((), 3.0, elsewhere=(once,)).records
    assert [key for key, _ in one.endpoint.replica.cells()] == [CellKey("j", 5, "A", "hourly", "", 2)]
    assert known(one, "hourly") == {"A": (1, 0)}
    assert Agent.restore(start, records, policy=None, sharing=SHARING).snapshot() == one.snapshot()


def test_shares_are_counted_from_the_first_again_when_a_period_begins_in_which_something_was_observed_before() -> None:
    sharing = on_demand(Geometric(2), loss_tolerant=RetryTimers(first=5.0, least=1.0, tick=20.0))
    group = Group(*(agent(name, HOURLY, HOME, sharing=sharing) for name in "jp"))
    for _ in range(20):
        for name in "jp":
            group.observe(name, placed("hourly", "", some("A", 1, 0)))
    j = group.of["j"]
    assert j.peers.link("p").c > 2
    j.turn(60.0, group.now)
    assert j.peers.link("p").c == 1
    for _ in range(20):
        for name in "jp":
            group.observe(name, placed("home", "", some("A", 1, 0)))
    reached = j.peers.link("p").c
    assert reached > 2
    j.turn(120.0, group.now)
    assert j.peers.link("p").c == reached  # nothing was observed of the bandit that has periods


def test_a_plain_bandit_can_have_a_window() -> None:
    window = Bandit("", (), 1, period=10.0, periods=2)
    j, p = (Agent(name, UCB(["A", "B"], quantum=1.0), SHARING, bandits=(window,)) for name in "jp")
    group = Group(j, p)
    for time in range(30):
        for one in (j, p):
            group.take(one.turn(float(time), group.now))
        group.take(j.update("A", 1.0, group.now))
        group.settle()
        assert j.policy.tally.counts["A"] == p.policy.tally.counts["A"] == time + 1 - max(0, time // 10 - 1) * 10
        assert total(p.endpoint) == p.policy.tally


def test_agents_whose_plain_bandits_have_other_windows_are_no_group() -> None:
    j = Agent("j", UCB(["A"], quantum=1.0), SHARING, bandits=(Bandit("", (), 1, period=10.0, periods=2),))
    p = Agent("p", UCB(["A"], quantum=1.0), SHARING)
    p.peer_joined("j", ["A"])
    j.peer_joined("p", ["A"])
    with pytest.raises(PeerError, match="the same window"):
        p.receive(j.join(0.0).outgoing[0], 0.0)


# A half-life.


def test_observations_fade_with_age() -> None:
    fading = Bandit("fading", ("A", "B"), 1, period=10.0, periods=6, half_life=10.0)
    group = Group(agent("j", fading), agent("p", fading))
    j, p = group.of.values()
    group.observe("j", placed("fading", "", some("A", 8, 4)))
    group.settle()
    seen = []
    for time in (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0):
        for one in (j, p):
            one.turn(time, group.now)
        assert j.policy_at("fading").tally == p.policy_at("fading").tally
        seen.append((p.policy_at("fading").tally.counts["A"], p.policy_at("fading").tally.sums["A"]))
    assert seen == [(8, 4), (4, 2), (2, 1), (1, 0), (0, 0), (0, 0), (0, 0)]
    assert j.policy_at("fading").own_pulls == 8
    assert faded(some("A", 3, 1), 0.5) == some("A", 2, 0)


@pytest.mark.parametrize("name", ["", "fading"])
def test_a_bandit_whose_observations_fade_gets_another_arm(name: str) -> None:
    fading = Bandit(name, ("A",) if name else (), 1, period=10.0, periods=6, half_life=10.0)
    one = Agent("j", None if name else UCB(["A"], quantum=1.0), SHARING, bandits=(fading,))
    if name:
        one.declare(name, build)

    def observe(tally: ArmTally) -> None:
        if name:
            one.update_all((), 1.0, elsewhere=(placed(name, "", tally),))
        else:
            one.update_all((tally,), 1.0)

    observe(some("A", 8, 4))
    more = ("A", "B")
    one.begin(2, 2.0, arms=None if name else more, bandits=(fading._replace(arms=more if name else ()),))
    for arm in more:
        observe(some(arm, 2, 1))
    one.turn(10.0, 11.0)
    assert one.policy_at(name).tally.counts == {"A": 5, "B": 1}


def test_what_has_faded_to_nothing_is_known_all_the_same() -> None:
    fading = Bandit("home", ("A",), 1, period=10.0, periods=6, half_life=10.0)
    present = [0]
    learners = Learners({"home": fading}, lambda _: present[0])
    learners.declare("home", build, ())
    learners.at(("home", "de"))
    learners.learn([Change("home", "de", 0, some("A", 1, 1))])
    present[0] = 2
    learners.turn()
    assert learners.observations(("home", "de")) == 0  # a quarter of one
    assert learners.has_any(("home", "de"))
    learners.learn([Change("home", "de", 0, some("A", 2, 2))])
    assert learners.observations(("home", "de")) == 1  # three quarters
    learners.learn([Change("home", "de", 0, some("A", -3, -3))])
    assert not learners.has_any(("home", "de"))


def test_of_a_segment_without_a_policy_only_the_periods_that_count_are_kept() -> None:
    periods = 10
    learners = Learners({"home": HOME}, lambda _: 0)
    learners.declare("home", build, ())
    for period in range(100):
        learners.learn([Change("home", "de", period, some("A", 5, 2))])
        if period >= periods:
            learners.learn([Change("home", "de", period - periods, some("A", -5, -2))])
    assert learners.waiting == {("home", "de"): periods}
    assert learners.observations(("home", "de")) == 5 * periods
    for period in range(90, 100):
        learners.learn([Change("home", "de", period, some("A", -5, -2))])
    assert learners.waiting == {}


def test_own_observations_of_a_segment_without_a_policy_go_with_their_period() -> None:
    learners = Learners({"home": HOME}, lambda _: 0)
    learners.declare("home", build, ())
    learners.learn([Change("home", "de", 0, some("A", 3, 1)), Change("home", "de", 0, some("A", 5, 2), True)])
    learners.learn([Change("home", "de", 0, some("A", -8, -3))])
    assert learners.waiting == {}
    assert not learners.has_any(("home", "de"))


def test_of_a_segment_without_a_policy_old_observations_count_less_too() -> None:
    fading = Bandit("home", ("A",), 1, period=10.0, periods=6, half_life=10.0)
    learners = Learners({"home": fading}, lambda _: 3)
    learners.declare("home", build, ())
    learners.learn([Change("home", "old", 0, some("A", 16, 16)), Change("home", "new", 3, some("A", 3, 3))])
    counted = {name: learners.observations(("home", name)) for name in ("old", "new")}
    assert counted == {name: learners.at(("home", name)).policy.tally.observations for name in ("old", "new")}
    assert counted == {"old": 2, "new": 3}


def test_a_relay_starts_again_whatever_it_has_served() -> None:
    relay = Agent("r", None, SHARING)
    relay.join(0.0, is_relay=True)
    for session, letter in enumerate("abc", 1):
        relay.begin(session, 1.0, bandits=[Bandit(f"{letter}{number}", ("A",), 1) for number in range(1024)])
    assert Agent.restore(relay.snapshot(), (), policy=None, sharing=SHARING).snapshot() == relay.snapshot()


def test_a_policy_that_rules_arms_out_has_no_window() -> None:
    one = Agent("j", None, SHARING, bandits=(HOURLY,))
    one.declare("hourly", lambda arms: AAE(list(arms), quantum=1.0))
    with pytest.raises(LocalError, match="never observed again"):
        one.policy_at("hourly")


# What is kept.


def test_an_agent_with_places_is_restored_exactly_from_a_snapshot_and_its_records() -> None:
    group = Group(agent("j", HOURLY, HOME), agent("p", HOURLY))
    j = group.of["j"]
    start, records = encode_snapshot(j.snapshot()), list[bytes]()

    def kept(outcome: Outcome) -> None:
        records.extend(map(encode_record, outcome.records))
        group.take(outcome)

    kept(j.update_all((), 1.0, elsewhere=(placed("hourly", "x", some("A", 4, 1)), placed("home", "", some("B", 1, 1)))))
    kept(j.turn(130.0, 2.0))
    kept(j.update_all((), 3.0, elsewhere=(placed("hourly", "x", some("B", 2, 1)),)))
    kept(j.turn(190.0, 4.0))
    kept(j.begin(9, 5.0, bandits=(HOURLY, HOME, MAIL)))
    assert isinstance(decode_record(records[1]), Turned)
    again = Agent.restore(
        decode_snapshot(start),
        map(decode_record, records),
        policy=None,
        sharing=SHARING,
        builds={"hourly": build, "home": build},
    )
    assert again.endpoint.replica.dropped == 4
    whole = Agent.restore(
        decode_snapshot(encode_snapshot(again.snapshot())), policy=None, sharing=SHARING, builds={"hourly": build}
    )
    assert whole.snapshot() == again.snapshot()
    assert known(whole, "hourly", "x") == known(again, "hourly", "x") == {"B": (2, 1)}
    assert whole.policy_at("hourly", "x").own_pulls == 2
    assert whole.endpoint.replica.observations == 7


def test_claims_of_a_forgotten_life_keep_their_place_and_go_with_their_period() -> None:
    group = Group(agent("j", HOURLY), agent("p", HOURLY), agent("q", HOURLY))
    j = group.of["j"]
    told = Cells("j", 0, (some("A", 2, 1),), "hourly", "x", 0)
    j.begin(7, 0.0, incarnation=7)
    j.endpoint.replica.lives.discard(0)
    j.endpoint.witnesses.heard("p", (told,), is_enough=False)
    assert [claim.told for claim in j.endpoint.witnesses.claims] == [told]
    restored = Agent.restore(decode_snapshot(encode_snapshot(j.snapshot())), policy=None, sharing=SHARING)
    assert restored.endpoint.witnesses.claims == j.endpoint.witnesses.claims
    j.turn(200.0, 1.0)
    assert j.endpoint.witnesses.claims == ()


def test_what_has_no_places_is_written_as_before_there_were_any() -> None:
    plain = Presence("j", 1, 2, 3, is_present=True, arms=("A",), units_per_reward=1)
    placed_too = plain._replace(bandits=(HOME, HOURLY))
    for presence in (plain, placed_too):
        notice = Notice("j", "p", Changes(presences=(presence,)))
        assert decode(encode(notice)) == notice
    shorter = len(encode(Notice("j", "p", Changes(presences=(plain,)))))
    assert shorter < len(encode(Notice("j", "p", Changes(presences=(placed_too,)))))
    assert b"home" in encode(Notice("j", "p", Changes(presences=(placed_too,))))


@pytest.mark.parametrize("rewards", [(math.nan, 1.0), (0.0, math.nan), (0.0, 0.0), (1.0, 0.0), (-math.inf, 1.0)])
def test_a_range_of_rewards_that_cannot_be_is_refused(rewards: tuple[float, float]) -> None:
    with pytest.raises(LocalError, match="from a lower to a higher number"):
        check_bandits([HOME._replace(rewards=rewards)])


@pytest.mark.parametrize("length", [1e-310, 0.0009, -1.0, math.nan, math.inf])
def test_periods_and_half_lives_are_not_too_short_to_be_numbered(length: float) -> None:
    for what in ("period", "half_life"):
        with pytest.raises(LocalError, match=rf"the {what} of bandit 'home' must be 0, or 0\.001 or more"):
            check_bandits([HOME._replace(period=length) if what == "period" else HOME._replace(half_life=length)])


def test_a_reward_that_is_rebuilt_from_quanta_stays_in_its_range() -> None:
    units = 1000
    ranges = [(low / 10, high / 10) for low in range(-30, 30) for high in range(low + 1, 60)]
    bandits = [Bandit("home", ("A",), units, rewards=rewards) for rewards in ranges]
    outside = [one.rewards for one in bandits if one.reward(0) < one.rewards[0] or one.reward(units) > one.rewards[1]]
    assert outside == []
