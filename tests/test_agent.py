"""An agent is a policy and an endpoint that never disagree, and a snapshot with records is that agent again."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit import (
    AAE,
    KLUCB,
    UCB,
    Agent,
    Geometric,
    LocalError,
    Policy,
    Snapshot,
    Thompson,
    immediate,
    on_demand,
)
from cobandit.codec import decode_snapshot, encode_snapshot
from cobandit.core import (
    Cells,
    Changes,
    Eliminations,
    InputRecord,
    Introduced,
    Message,
    Notice,
    Observed,
    Outcome,
    PeerJoined,
    PeerLeft,
    Presence,
    Received,
    RetryTimers,
    Share,
)
from cobandit.core.invariants import total
from cobandit.core.messages import MAX_INCARNATION
from cobandit.core.state import FactState
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import Arm, ArmTally, Tally
from lab.pairs import lasting

ARMS = ("A", "B")

BuildPolicy = Callable[[Sequence[Arm]], Policy]

POLICIES: dict[str, BuildPolicy] = {
    "AAE": lambda arms: AAE(arms, alpha=0.3, quantum=BERNOULLI),
    "AAE, own": lambda arms: AAE(arms, alpha=0.5, confidence="own", quantum=BERNOULLI),
    "UCB": lambda arms: UCB(arms, quantum=BERNOULLI),
    "KL-UCB": lambda arms: KLUCB(arms, quantum=BERNOULLI),
    "Thompson": lambda arms: Thompson(arms, seed=7, quantum=BERNOULLI),
}


def pair(policy: BuildPolicy = lambda arms: UCB(arms, quantum=BERNOULLI)) -> tuple[Agent, Agent]:
    j, p = Agent("j", policy(ARMS)), Agent("p", policy(ARMS))
    j.peer_joined("p", p.arms)
    p.peer_joined("j", j.arms)
    return j, p


def tally(*entries: ArmTally) -> Tally:
    result = Tally(ARMS)
    result.add_all(entries)
    return result


def some(arm: Arm, count: int, reward_sum: int) -> ArmTally:
    """Rewards that are 0 or 1."""
    return ArmTally(arm, count, reward_sum, reward_sum)


def told(*tallies: ArmTally, agent: str = "j", incarnation: int = 0) -> Changes:
    return Changes(cells=(Cells(agent, incarnation, tallies),))


def eliminated(arm: Arm, sender: str = "j", receiver: str = "p") -> Notice:
    return Notice(sender, receiver, Changes(eliminations=(Eliminations(sender, 0, (arm,)),)))


# Updates and messages.


def test_an_update_counts_once_for_the_policy_and_once_for_the_replica() -> None:
    j, _ = pair()
    j.update("B", 1.0)
    assert j.policy.tally == total(j.endpoint) == tally(some("B", 1, 1))
    assert (j.policy.own_pulls, j.endpoint.replica.observations) == (1, 1)


def test_an_update_returns_what_to_persist_and_what_to_send() -> None:
    j, _ = pair()
    share = Share("j", "p", 1, 1, told(some("B", 1, 1)))
    assert j.update("B", 1.0, now=4.5) == Outcome((Observed((some("B", 1, 1),), 4.5),), (share,))


def test_a_share_teaches_the_policy_what_was_not_known_before() -> None:
    j, p = pair()
    (share,) = j.update("B", 1.0).outgoing
    outcome = p.receive(share, now=2.0)
    assert outcome == Outcome((Received(share, 2.0),), news=(some("B", 1, 1),))
    assert p.policy.tally == tally(some("B", 1, 1))
    assert p.policy.own_pulls == 0


def test_a_share_that_comes_twice_counts_once() -> None:
    j, p = pair()
    (share,) = j.update("B", 1.0).outgoing
    p.receive(share)
    assert p.receive(share) == Outcome()
    assert p.policy.tally == tally(some("B", 1, 1))


def test_a_reward_is_counted_with_its_square() -> None:
    j = Agent("j", UCB(ARMS, quantum=0.01))
    j.update("A", 0.25)
    j.update("A", 0.5)
    assert j.policy.tally == total(j.endpoint) == tally(ArmTally("A", 2, 75, 625 + 2500))


def test_an_agent_talks_on_demand_unless_told_otherwise() -> None:
    j, _ = pair()
    assert [len(j.update("A", 1.0).outgoing) for _ in range(3)] == [1, 0, 0]


def test_selecting_an_arm_changes_nothing() -> None:
    j, _ = pair(POLICIES["Thompson"])
    before = everything(j)
    assert {j.select_arm() for _ in range(5)} == {j.select_arm()}
    assert everything(j) == before


def test_an_elimination_is_told_before_the_share() -> None:
    arms = ("A", "B", "C")
    j = Agent("j", POLICIES["AAE"](arms))
    j.peer_joined("p", arms)
    j.policy.learn([some("A", 100, 100), some("B", 100, 0), some("C", 100, 100)])
    share = Share("j", "p", 1, 1, told(some("A", 1, 1)))
    assert j.update("A", 1.0).outgoing == (eliminated("B"), share)
    assert (j.policy.candidates, j.endpoint.candidates.own) == (("A", "C"), {"A", "C"})


def test_with_one_candidate_left_there_is_nothing_to_share() -> None:
    j, _ = pair(POLICIES["AAE"])
    j.policy.learn([some("A", 100, 100), some("B", 100, 0)])
    assert j.update("A", 1.0).outgoing == (eliminated("B"),)
    assert j.update("A", 1.0).outgoing == ()


def test_an_elimination_notice_reaches_the_policy() -> None:
    _, p = pair(POLICIES["AAE"])
    assert p.receive(eliminated("B")) == Outcome((Received(eliminated("B"), 0.0),), ruled_out=("B",))
    assert (p.policy.candidates, p.endpoint.candidates.own) == (("A",), {"A"})


def test_joining_and_leaving_is_told_to_everybody() -> None:
    j, _ = pair()
    j.peer_joined("q", ["Z"])
    here = Presence("j", 0, 2, 0, is_present=True, arms=ARMS, units_per_reward=1)
    gone = here._replace(number=3, is_present=False)
    before = everything(j)[1:]
    joined, left = Changes(presences=(here,)), Changes(presences=(gone,))
    assert j.join(3.5) == Outcome(
        (Introduced(3.5),), tuple(Notice("j", peer, joined, 0, is_introduced=True) for peer in "pq")
    )
    assert j.leave() == Outcome(outgoing=tuple(Notice("j", peer, left, 0, is_introduced=True) for peer in "pq"))
    assert everything(j)[1:] == before


def test_leaving_changes_nothing() -> None:
    j, _ = pair()
    before = everything(j)
    j.leave()
    assert everything(j) == before


def test_what_the_driver_says_of_a_peer_is_persisted() -> None:
    j, _ = pair()
    assert j.peer_left("p", now=1.0) == Outcome((PeerLeft("p", 1.0),))
    assert j.peer_joined("p", ["B", "A"], now=2.0) == Outcome((PeerJoined("p", ("B", "A"), 2.0),))


# Snapshots and records.


def everything(agent: Agent) -> tuple[object, ...]:
    """All that may influence what an agent does next."""
    return (
        lasting(agent.snapshot()),
        agent.endpoint.members.same_arms,
        agent.policy.tally,
        agent.policy.own_pulls,
        agent.policy.candidates,
        agent.select_arm(),
    )


class Group:
    """Three agents over a network that keeps the order of each pair, and what each agent has persisted."""

    def __init__(self, policy: BuildPolicy, late_arms: tuple[Arm, ...]) -> None:
        self.policy = policy
        arms = {"j": ARMS, "p": ARMS, "late": late_arms}
        self.agents = {name: Agent(name, policy(own)) for name, own in arms.items()}
        for one, other in (("j", "p"), ("p", "j"), ("late", "j"), ("late", "p")):
            self.agents[one].peer_joined(other, arms[other])
        self.under_way: dict[tuple[str, str], deque[Message]] = {}
        self.stored = {name: encode_snapshot(agent.snapshot()) for name, agent in self.agents.items()}
        self.records: dict[str, list[InputRecord]] = {name: [] for name in self.agents}
        self.happened: set[str] = set()

    def act(self, what: str, who: str, luck: int) -> None:
        """Do one thing, and check that what was persisted is the agent to which it happened."""
        agent = self.agents[who]
        if who == "late" and what != "join" and "join of late" not in self.happened:
            return
        if what == "pull":
            arm = agent.select_arm()
            self.took(who, agent.update(arm, 1.0 if (arm == "A") == (luck > 0) else 0.0, now=float(luck)))
        elif what == "receive":
            self.receive(who, luck)
        elif what == "join":
            self.took(who, agent.join())
        elif what == "leave":
            self.took(who, agent.leave())
        elif what == "miss":
            peer = list(agent.endpoint.links)[luck % len(agent.endpoint.links)]
            self.took(who, agent.peer_left(peer, now=float(luck)))
        elif what == "find":
            link = list(agent.endpoint.links.values())[luck % len(agent.endpoint.links)]
            self.took(who, agent.peer_joined(link.peer.name, link.peer.arms))
        else:
            self.stored[who] = encode_snapshot(agent.snapshot())
            self.records[who].clear()
        self.happened |= {what, f"{what} of {who}"}
        if len(agent.policy.candidates) == 1:
            self.happened.add("elimination")
        assert everything(self.restored(who)) == everything(agent)

    def receive(self, who: str, luck: int) -> None:
        waiting = [messages for (_, receiver), messages in self.under_way.items() if receiver == who and messages]
        if waiting:
            self.took(who, self.agents[who].receive(waiting[luck % len(waiting)].popleft(), now=float(luck)))

    def took(self, who: str, outcome: Outcome) -> None:
        self.records[who] += outcome.records
        for message in outcome.outgoing:
            self.under_way.setdefault((message.sender, message.receiver), deque()).append(message)

    def restored(self, who: str) -> Agent:
        snapshot = decode_snapshot(self.stored[who])
        return Agent.restore(snapshot, self.records[who], policy=self.policy(self.agents[who].arms))


acts = st.tuples(
    st.sampled_from(["pull", "pull", "pull", "receive", "receive", "join", "leave", "miss", "find", "snapshot"]),
    st.sampled_from(["j", "p", "late"]),
    st.integers(0, 9),
)


@settings(max_examples=150)
@given(
    st.sampled_from(sorted(POLICIES)),
    st.sampled_from([("A", "B"), ("B", "C")]),
    st.lists(acts, min_size=20, max_size=150),
)
def test_a_snapshot_and_the_records_since_are_the_agent_at_every_point_of_a_run(
    policy: str, late_arms: tuple[Arm, ...], run: list[tuple[str, str, int]]
) -> None:
    group = Group(POLICIES[policy], late_arms)
    for what, who, luck in run:
        group.act(what, who, luck)
    for who, live in group.agents.items():
        again = group.restored(who)
        for _ in range(3):
            arm = live.select_arm()
            assert again.update(arm, 1.0) == live.update(arm, 1.0)
        assert everything(again) == everything(live)


@pytest.mark.parametrize("late_arms", [("A", "B"), ("B", "C")])
@pytest.mark.parametrize("policy", ["AAE", "AAE, own"])
def test_a_run_with_eliminations_joins_and_leaves_is_restored_at_every_point(
    policy: str, late_arms: tuple[Arm, ...]
) -> None:
    group = Group(POLICIES[policy], late_arms)
    for turn in range(120):
        for who in ("j", "p", "late"):
            group.act("pull", who, luck=turn % 10)
            group.act("receive", who, luck=turn)
            group.act("receive", who, luck=turn + 1)
        group.act(("join", "leave", "find", "snapshot", "miss")[turn % 5], ("late", "p", "j")[turn % 3], luck=turn)
    assert {"elimination", "join of late", "leave of late", "join of p", "leave of p", "snapshot of p"} <= (
        group.happened
    )


def test_a_snapshot_does_not_change_with_its_agent() -> None:
    j, _ = pair()
    j.update("A", 1.0)
    snapshot = j.snapshot()
    stored = encode_snapshot(snapshot)
    j.update("B", 1.0)
    j.peer_left("p")
    assert encode_snapshot(snapshot) == stored


def test_a_restored_agent_keeps_its_incarnation_and_its_share_numbers() -> None:
    j = Agent("j", UCB(ARMS, quantum=BERNOULLI), immediate(), incarnation=5)
    j.peer_joined("p", ARMS)
    j.update("A", 1.0)
    again = Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=immediate())
    (share,) = again.update("B", 0.0).outgoing
    assert share == Share("j", "p", 2, 1, told(some("B", 1, 0), incarnation=5))


def test_a_restored_agent_may_talk_in_another_way() -> None:
    j, _ = pair()
    j.update("A", 1.0)
    waits = Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=on_demand(Geometric(2)))
    talks = Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=immediate(Geometric(2)))
    request = Share("p", "j", 1, 1, told(some("A", 1, 0), agent="p"))
    for agent in (waits, talks):
        agent.receive(request)
    assert [len(waits.update("A", 1.0).outgoing) for _ in range(4)] == [0, 1, 0, 0]
    assert [len(talks.update("A", 1.0).outgoing) for _ in range(4)] == [0, 0, 0, 0]  # no share was demanded of it
    talks.peer_joined("p", ARMS)
    assert len(talks.update("A", 1.0).outgoing) == 1


# New sessions.

TOLERANT = on_demand(loss_tolerant=RetryTimers(first=8.0, tick=30.0, longest=100.0))


def started(arms: Sequence[Arm] = ARMS) -> Agent:
    j = Agent("j", UCB(arms, quantum=BERNOULLI), TOLERANT, incarnation=3)
    j.peer_joined("p", ARMS)
    j.update("A", 1.0, now=0.0)
    return j


def test_a_new_incarnation_keeps_what_was_observed_apart() -> None:
    j = started()
    j.begin(7, 1.0, incarnation=7)
    j.update("A", 0.0, now=2.0)
    assert (j.incarnation, j.session, j.policy.own_pulls) == (7, 7, 2)
    assert {fact.told.cells for fact in j.snapshot().endpoint.facts if fact.told.cells} == {
        (Cells("j", 3, (some("A", 1, 1),)),),
        (Cells("j", 7, (some("A", 1, 0),)),),
    }


def test_more_arms_need_a_new_session_and_no_new_incarnation() -> None:
    j = started()
    j.begin(7, 1.0, arms=["A", "B", "C"])
    assert (j.incarnation, j.session, j.arms) == (3, 7, ("A", "B", "C"))
    assert (j.policy.candidates, j.endpoint.candidates.own) == (("A", "B", "C"), {"A", "B", "C"})
    assert j.presence == Presence("j", 7, 0, 3, is_present=True, arms=("A", "B", "C"), units_per_reward=1)


@pytest.mark.parametrize(
    ("session", "incarnation", "arms", "text"),
    [
        (3, None, None, "session must be a whole number from 4 to"),
        (MAX_INCARNATION, None, None, "session must be a whole number from 4 to"),
        (True, None, None, "session must be a whole number from 4 to"),
        (7, 2, None, "incarnation must be a whole number from 4 to"),
        (7, MAX_INCARNATION, None, "incarnation must be a whole number from 4 to"),
        (7, None, ["A"], "the arms A do not begin with A, B: new arms come last"),
        (7, 7, ["B", "A", "C"], "the arms B, A, C do not begin with A, B: new arms come last"),
        (7, 7, ["A", "B", "B"], "arm names must differ, but B is given more than once"),
        (7, 7, [], "the arm set is empty"),
    ],
)
def test_a_session_that_cannot_be_is_refused(
    session: int, incarnation: int | None, arms: list[Arm] | None, text: str
) -> None:
    j = started()
    before = everything(j)
    with pytest.raises(LocalError, match=text):
        j.begin(session, 1.0, incarnation=incarnation, arms=arms)
    assert everything(j) == before


@pytest.mark.parametrize("what", ["begin a new session", "flush"])
def test_only_where_messages_may_be_lost(what: str) -> None:
    j, _ = pair()
    before = everything(j)
    with pytest.raises(LocalError, match=f"only an agent that shares with loss_tolerant=True can {what}"):
        j.flush(1.0) if what == "flush" else j.begin(1, 1.0)
    assert everything(j) == before


def test_one_that_may_wait_must_know_the_time() -> None:
    j = started()
    before = everything(j)
    asks: tuple[Callable[[], Outcome], ...] = (lambda: j.update("A", 1.0), j.join, j.wake)
    for ask in asks:
        with pytest.raises(LocalError, match="j is loss-tolerant and must know the time: pass now"):
            ask()
    assert everything(j) == before


# Snapshots that are refused.


def seasoned() -> Snapshot:
    j, p = pair()
    j.update("A", 1.0)
    (share,) = p.update("B", 0.0).outgoing
    j.receive(share)
    return j.snapshot()


def fresh() -> UCB:
    return UCB(ARMS, quantum=BERNOULLI)


def damaged(**changes: object) -> Snapshot:
    snapshot = seasoned()
    return snapshot._replace(endpoint=snapshot.endpoint._replace(**changes))  # type: ignore[arg-type]


def damaged_link(**changes: object) -> Snapshot:
    (link,) = seasoned().endpoint.links
    return damaged(links=(link._replace(**changes),))  # type: ignore[arg-type]


def damaged_exchange(**changes: object) -> Snapshot:
    (link,) = seasoned().endpoint.links
    return damaged_link(exchange=link.exchange._replace(**changes))  # type: ignore[arg-type]


def with_fact(changes: Changes) -> Snapshot:
    return damaged(number=9, facts=(*seasoned().endpoint.facts, FactState(9, ("p", 0), changes)))


@pytest.mark.parametrize("arms", [("A",), ("B", "C"), ("C",)])
def test_a_snapshot_is_not_restored_without_its_arms(arms: tuple[Arm, ...]) -> None:
    with pytest.raises(LocalError, match=f"the snapshot of j has arms A, B .* but the policy has {', '.join(arms)}"):
        Agent.restore(seasoned(), policy=UCB(arms, quantum=BERNOULLI))


@pytest.mark.parametrize("arms", [("B", "A"), ("A", "B", "C"), ("C", "B", "A")])
def test_other_arms_of_a_policy_are_put_aside(arms: tuple[Arm, ...]) -> None:
    again = Agent.restore(seasoned(), policy=UCB(arms, quantum=BERNOULLI))
    assert everything(again) == everything(Agent.restore(seasoned(), policy=fresh()))


def test_a_snapshot_is_not_restored_with_another_quantum() -> None:
    with pytest.raises(LocalError, match="and 1 quanta in a reward, but the policy has A, B and 2"):
        Agent.restore(seasoned(), policy=UCB(ARMS, quantum=0.5))


@pytest.mark.parametrize("own", [True, False])
def test_a_snapshot_is_not_restored_into_a_used_policy(own: bool) -> None:
    policy = fresh()
    policy.learn([some("A", 1, 1)], own=own)
    with pytest.raises(
        LocalError, match="restore needs a fresh policy: this one has observations or eliminations already"
    ):
        Agent.restore(seasoned(), policy=policy)
    assert policy.tally == tally(some("A", 1, 1))


def test_a_snapshot_is_not_restored_with_another_loss_tolerance() -> None:
    with pytest.raises(LocalError, match=r"the snapshot of j was made with sharing=.*: pass the same to restore"):
        Agent.restore(seasoned(), policy=fresh(), sharing=TOLERANT)
    with pytest.raises(LocalError, match=r"the snapshot of j was made with sharing=.*: pass the same to restore"):
        Agent.restore(started().snapshot(), policy=fresh())


@pytest.mark.parametrize(
    ("snapshot", "damage"),
    [
        (with_fact(Changes(eliminations=(Eliminations("j", 0, ("A", "B")),))), "the eliminated arms are not some of"),
        (with_fact(Changes(eliminations=(Eliminations("j", 0, ("Z",)),))), "the eliminated arms are not some of"),
        (with_fact(told(ArmTally("B", 1, 2, 2))), "j sent .* for arm 'B' of j"),
        (with_fact(told(ArmTally("A", 1, 2, 2), agent="p")), "j sent .* for arm 'A' of p"),
        (with_fact(told(some("A", 2, 2))), "a fact is there twice, or out of order"),
        (with_fact(told(some("Z", 2, 2))), "a fact is there twice, or out of order"),
        (damaged(number=1), "a fact is there twice, or out of order"),
        (damaged_exchange(buffered=7), "j buffers 7 observations for p"),
        (damaged_exchange(c=0), "j miscounts its shares to p"),
        (damaged_exchange(shares_sent=0), "j miscounts its shares to p"),
        (damaged_link(acknowledged=7), "j thinks that p holds more of its log than there is"),
        (damaged_link(peer="j"), "agent 'j' cannot be its own peer"),
    ],
)
def test_a_damaged_snapshot_is_not_restored(snapshot: Snapshot, damage: str) -> None:
    policy = fresh()
    with pytest.raises(LocalError, match=f"the snapshot of j is damaged: {damage}"):
        Agent.restore(snapshot, policy=policy)
    assert policy.tally == Tally(ARMS)
    assert policy.candidates == ARMS


def test_a_record_of_a_foreign_arm_is_not_replayed() -> None:
    with pytest.raises(LocalError, match="'Z'"):
        Agent.restore(seasoned(), [Observed((some("Z", 1, 1),), 0.0)], policy=fresh())


def test_a_record_that_no_peer_can_have_caused_is_the_caller_s_fault() -> None:
    received = Received(Share("q", "j", 1, 1, told(some("A", 1, 1), agent="q")), 0.0)
    with pytest.raises(LocalError, match="a record does not fit the snapshot of j: 'q' is not known to j"):
        Agent.restore(seasoned(), [received], policy=fresh())


def test_records_are_replayed_under_the_same_rules_only() -> None:
    record = Observed((some("A", 1, 1),), 0.0)
    with pytest.raises(LocalError, match=r"records made under on_demand\(.*\) cannot be replayed under immediate"):
        Agent.restore(seasoned(), [record], policy=fresh(), sharing=immediate())


def test_an_agent_needs_an_incarnation_that_fits() -> None:
    for incarnation in (-1, MAX_INCARNATION, 0.5, "1"):
        text = f"incarnation must be a whole number from 0 to {MAX_INCARNATION - 1}, not {incarnation!r}"
        with pytest.raises(LocalError, match=text):
            Agent("j", fresh(), incarnation=incarnation)  # type: ignore[arg-type]


def test_with_phases_every_pair_has_a_threshold_of_its_own_and_the_same_in_both_directions() -> None:
    threshold = Geometric(2, cap=64, phases=True)
    j, p, q = (Agent(name, UCB(["A", "B"]), on_demand(threshold)) for name in "jpq")
    for one, other in permutations((j, p, q), 2):
        one.peer_joined(other.name, other.arms)
    needed: dict[tuple[str, str], list[int]] = {("j", "p"): [], ("p", "j"): [], ("j", "q"): []}
    for _ in range(200):
        for one, other in ((j, p), (p, j), (j, q), (q, j)):
            waiting = list(one.update("A", 1.0).outgoing)
            for message in waiting:
                receiver = {"j": j, "p": p, "q": q}[message.receiver]
                waiting.extend(receiver.receive(message).outgoing)
            if (one.name, other.name) in needed:
                seen = needed[one.name, other.name]
                if one.peers.link(other.name).threshold not in seen:
                    seen.append(one.peers.link(other.name).threshold)
    pairs = {pair: threshold.between(*pair) for pair in needed}
    values = {pair: list(dict.fromkeys(one.at(c, 2) for c in range(1, 9))) for pair, one in pairs.items()}
    assert {pair: seen[-1] for pair, seen in needed.items()} == dict.fromkeys(needed, 64)
    assert all(set(seen) <= set(values[pair]) for pair, seen in needed.items())
    assert values["j", "p"] == values["p", "j"] != values["j", "q"]
