"""An agent is a policy and an endpoint that never disagree, and a snapshot with records is that agent again."""

from collections import deque
from collections.abc import Callable, Sequence

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
from cobandit.core import (
    Eliminated,
    InputRecord,
    Introduced,
    Join,
    Leave,
    Message,
    Observed,
    Outcome,
    PeerJoined,
    PeerLeft,
    Received,
    Record,
    Share,
)
from cobandit.core.messages import MOST_BOOTS
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import Arm, ArmTally, Tally
from cobandit.wire import decode_snapshot, encode_snapshot

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


def tally(*entries: ArmTally, arms: Sequence[Arm] = ARMS) -> Tally:
    result = Tally(arms)
    result.add_all(entries)
    return result


# Updates and messages.


def test_an_update_counts_once_for_the_policy_and_once_for_the_ledger() -> None:
    j, _ = pair()
    j.update("B", 1.0)
    assert j.policy.tally == j.endpoint.ledger.own == tally(ArmTally("B", 1, 1))
    assert j.policy.own_pulls == 1


def test_an_update_returns_what_to_persist_and_what_to_send() -> None:
    j, _ = pair()
    share = Share("j", "p", 1, 1, (Record("j", 0, 0, 1, (ArmTally("B", 1, 1),)),))
    assert j.update("B", 1.0, now=4.5) == Outcome((Observed("B", 1, 4.5),), (share,))


def test_a_share_teaches_the_policy_what_was_not_known_before() -> None:
    j, p = pair()
    (share,) = j.update("B", 1.0).outgoing
    outcome = p.receive(share, now=2.0)
    assert outcome == Outcome((Received(share, 2.0),), news=(ArmTally("B", 1, 1),))
    assert p.policy.tally == tally(ArmTally("B", 1, 1))
    assert p.policy.own_pulls == 0


def test_a_share_that_comes_twice_counts_once() -> None:
    j, p = pair()
    (share,) = j.update("B", 1.0).outgoing
    p.receive(share)
    assert p.receive(share) == Outcome()
    assert p.policy.tally == tally(ArmTally("B", 1, 1))


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
    j.policy.learn([ArmTally("A", 100, 100), ArmTally("B", 100, 0), ArmTally("C", 100, 100)])
    share = Share("j", "p", 1, 1, (Record("j", 0, 0, 1, (ArmTally("A", 1, 1),)),))
    assert j.update("A", 1.0).outgoing == (Eliminated("j", "p", "B"), share)
    assert (j.policy.candidates, j.endpoint.candidates) == (("A", "C"), {"A", "C"})


def test_with_one_candidate_left_there_is_nothing_to_share() -> None:
    j, _ = pair(POLICIES["AAE"])
    j.policy.learn([ArmTally("A", 100, 100), ArmTally("B", 100, 0)])
    assert j.update("A", 1.0).outgoing == (Eliminated("j", "p", "B"),)
    assert j.update("A", 1.0).outgoing == ()


def test_an_elimination_notice_reaches_the_policy() -> None:
    _, p = pair(POLICIES["AAE"])
    outcome = p.receive(Eliminated("j", "p", "B"))
    assert outcome == Outcome((Received(Eliminated("j", "p", "B"), 0.0),), ruled_out=("B",))
    assert (p.policy.candidates, p.endpoint.candidates) == (("A",), {"A"})


def test_joining_and_leaving_is_told_to_everybody_and_changes_nothing() -> None:
    j, _ = pair()
    j.peer_joined("q", ["Z"])
    before = everything(j)
    assert j.join(3.5) == Outcome((Introduced(3.5),), (Join("j", "p", ARMS, 1), Join("j", "q", ARMS, 1)))
    assert j.leave() == Outcome(outgoing=(Leave("j", "p"), Leave("j", "q")))
    assert everything(j) == before


def test_what_the_driver_says_of_a_peer_is_persisted() -> None:
    j, _ = pair()
    assert j.peer_left("p", now=1.0) == Outcome((PeerLeft("p", 1.0),))
    assert j.peer_joined("p", ["B", "A"], now=2.0) == Outcome((PeerJoined("p", ("B", "A"), 2.0),))


# Snapshots and records.


def everything(agent: Agent) -> tuple[object, ...]:
    """All that may influence what an agent does next."""
    return (
        agent.endpoint.state(),
        agent.endpoint.roster.same_arms,
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


def test_a_restored_agent_keeps_its_boot_and_its_share_numbers() -> None:
    j = Agent("j", UCB(ARMS, quantum=BERNOULLI), immediate(), boot=5)
    j.peer_joined("p", ARMS)
    j.update("A", 1.0)
    again = Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=immediate())
    (share,) = again.update("B", 0.0).outgoing
    assert share == Share("j", "p", 2, 1, (Record("j", 5, 1, 2, (ArmTally("B", 1, 0),)),))


def test_a_restored_agent_may_talk_in_another_way() -> None:
    j, _ = pair()
    j.update("A", 1.0)
    waits = Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=on_demand(Geometric(2)))
    talks = Agent.restore(j.snapshot(), policy=UCB(ARMS, quantum=BERNOULLI), sharing=immediate(Geometric(2)))
    request = Share("p", "j", 1, 1, (Record("p", 0, 0, 1, (ArmTally("A", 1, 0),)),))
    for agent in (waits, talks):
        agent.receive(request)
    assert [len(waits.update("A", 1.0).outgoing) for _ in range(4)] == [0, 1, 0, 0]
    assert [len(talks.update("A", 1.0).outgoing) for _ in range(4)] == [0, 0, 0, 0]  # no share was demanded of it
    talks.peer_joined("p", ARMS)
    assert len(talks.update("A", 1.0).outgoing) == 1


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


def damaged_holding(**changes: object) -> Snapshot:
    (held,) = seasoned().endpoint.held
    return damaged(held=(held._replace(**changes),))  # type: ignore[arg-type]


def test_a_snapshot_of_another_version_is_not_restored() -> None:
    policy = fresh()
    with pytest.raises(LocalError, match="the snapshot has version 99, this program reads version 3: use the version"):
        Agent.restore(seasoned()._replace(version=99), policy=policy)
    assert policy.tally == Tally(ARMS)


@pytest.mark.parametrize("arms", [("A",), ("B", "A"), ("A", "B", "C")])
def test_a_snapshot_is_not_restored_with_other_arms(arms: tuple[Arm, ...]) -> None:
    with pytest.raises(LocalError, match=f"the snapshot of j has arms A, B .* but the policy has {', '.join(arms)}"):
        Agent.restore(seasoned(), policy=UCB(arms, quantum=BERNOULLI))


def test_a_snapshot_is_not_restored_with_another_quantum() -> None:
    with pytest.raises(LocalError, match="and 1 quanta in a reward, but the policy has A, B and 2"):
        Agent.restore(seasoned(), policy=UCB(ARMS, quantum=0.5))


@pytest.mark.parametrize("own", [True, False])
def test_a_snapshot_is_not_restored_into_a_used_policy(own: bool) -> None:
    policy = fresh()
    policy.learn([ArmTally("A", 1, 1)], own=own)
    with pytest.raises(
        LocalError, match="restore needs a fresh policy: this one has observations or eliminations already"
    ):
        Agent.restore(seasoned(), policy=policy)
    assert policy.tally == tally(ArmTally("A", 1, 1))


@pytest.mark.parametrize(
    ("snapshot", "damage"),
    [
        (damaged(eliminated=("A", "B")), "the eliminated arms are not some of the arms"),
        (damaged(eliminated=("Z",)), "the eliminated arms are not some of the arms"),
        (damaged(changed_at=(9, 0)), "an arm of j changed after its last observation"),
        (damaged(changed_at=(0, 1)), "j does not know when it observed an arm"),
        (damaged(own=(ArmTally("A", 1, 2),)), "j has a reward sum that its own observations cannot have"),
        (damaged(own=(ArmTally("A", 1, -1),)), "j has a reward sum that its own observations cannot have"),
        (damaged_holding(version=0), "j holds impossible tallies of p"),
        (damaged_holding(tallies=(ArmTally("B", 1, 2),)), "j holds impossible tallies of p"),
        (damaged_link(buffered=1), "j buffers 1 of 0 observations for p"),
        (damaged_link(shared_version=7), "j buffers 0 of -6 observations for p"),
        (damaged_link(share_number=0), "j miscounts its shares to p"),
        (damaged_link(shares_sent=0), "j miscounts its shares to p"),
        (damaged_link(candidates=("A", "Z")), "j thinks that p considers arms that it does not have"),
    ],
)
def test_a_damaged_snapshot_is_not_restored(snapshot: Snapshot, damage: str) -> None:
    policy = fresh()
    with pytest.raises(LocalError, match=f"the snapshot of j is damaged: {damage}"):
        Agent.restore(snapshot, policy=policy)
    assert policy.tally == Tally(ARMS)
    assert policy.candidates == ARMS


@pytest.mark.parametrize(
    "snapshot",
    [
        damaged(own=(ArmTally("Z", 1, 1),)),
        damaged(changed_at=(1,)),
        damaged_holding(tallies=(ArmTally("Z", 1, 1),)),
    ],
)
def test_a_snapshot_with_foreign_arms_or_missing_parts_is_not_restored(snapshot: Snapshot) -> None:
    with pytest.raises(LocalError, match="the snapshot of j is damaged"):
        Agent.restore(snapshot, policy=fresh())


def test_a_record_of_a_foreign_arm_is_not_replayed() -> None:
    with pytest.raises(LocalError, match="'Z'"):
        Agent.restore(seasoned(), [Observed("Z", 1, 0.0)], policy=fresh())


def test_an_agent_needs_a_boot_that_fits() -> None:
    for boot in (-1, MOST_BOOTS, 0.5, "1"):
        with pytest.raises(LocalError, match=f"boot must be a whole number from 0 to {MOST_BOOTS - 1}, not {boot!r}"):
            Agent("j", fresh(), boot=boot)  # type: ignore[arg-type]
