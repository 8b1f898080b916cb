"""Agents come back with more arms, or with others: nothing is lost, counted twice, or decided by arms of others."""

import pytest

from cobandit import AAE, UCB, Agent, LocalError, PeerError, StrangerError, on_demand
from cobandit.core import Eliminated, InputRecord, Join, Leave, Message, Outcome, Patience, Record, Share
from cobandit.core.endpoint import TolerantLink
from cobandit.core.invariants import endpoint_violations
from cobandit.core.ledger import Origin
from cobandit.core.messages import Handling, Receipt
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import ArmTally
from cobandit.wire import decode_snapshot, encode_snapshot

SHARING = on_demand(loss_tolerant=Patience(first=10.0, least=1.0, growth=2.0, tick=100.0, longest=1000.0))
OLD, NEW = ("A", "B"), ("A", "B", "C")


def agent(name: str, arms: tuple[str, ...], policy: type[UCB | AAE] = UCB, boot: int = 1) -> Agent:
    return Agent(name, policy(arms, quantum=BERNOULLI), SHARING, boot=boot)


def pair(arms: tuple[str, ...], others: tuple[str, ...], policy: type[UCB | AAE] = UCB) -> tuple[Agent, Agent]:
    j, p = agent("j", arms, policy), agent("p", others, policy)
    j.peer_joined("p", others)
    p.peer_joined("j", arms)
    return j, p


def grown(old: Agent, arms: tuple[str, ...] = NEW, boot: int = 2, policy: type[UCB | AAE] = UCB) -> Agent:
    snapshot = decode_snapshot(encode_snapshot(old.snapshot()))
    return Agent.restore(snapshot, policy=policy(arms, quantum=BERNOULLI), sharing=SHARING, boot=boot)


def talk(*agents: Agent, now: float) -> None:
    """Let agents wake, and deliver everything until it is quiet."""
    by_name = {one.name: one for one in agents}
    for _ in range(12):
        now += 500.0
        waiting: list[Message] = [message for one in agents for message in one.wake(now).outgoing]
        while waiting:
            message = waiting.pop(0)
            waiting += by_name[message.receiver].receive(message, now).outgoing
    assert all(endpoint_violations(one.endpoint) == [] for one in agents)


def link(of: Agent, peer: str) -> TolerantLink:
    found = of.endpoint.links[peer]
    assert isinstance(found, TolerantLink)
    return found


def test_one_who_grows_learns_what_was_observed_of_the_new_arm_before() -> None:
    j, p = pair(OLD, NEW)
    p.update_all((ArmTally("A", 2, 1), ArmTally("C", 3, 3)), now=0.0)
    talk(j, p, now=0.0)
    held = j.endpoint.ledger.held[Origin("p", 1)]
    assert (held.version, held.lacks, j.policy.tally.observations) == (5, False, 2)
    j = grown(j)
    held = j.endpoint.ledger.held[Origin("p", 1)]
    assert (held.version, held.lacks) == (5, True)
    assert j.endpoint.ledger.version_held(Origin("p", 1)) == 0  # so p must tell it all again
    j.join(now=10_000.0)
    talk(j, p, now=10_000.0)
    held = j.endpoint.ledger.held[Origin("p", 1)]
    assert (held.version, held.lacks, held.tally.counts) == (5, False, {"A": 2, "B": 0, "C": 3})
    assert j.policy.tally.counts == {"A": 2, "B": 0, "C": 3}  # and nothing counts twice
    assert (link(p, "j").peer.arms, link(p, "j").peer.common) == (NEW, NEW)


def test_one_who_grows_learns_what_former_boots_of_others_observed_of_the_new_arm() -> None:
    j, p = pair(OLD, NEW)
    p.update_all((ArmTally("B", 1, 1), ArmTally("C", 4, 2)), now=0.0)
    p = grown(p, NEW, boot=2)  # no more arms, but a new boot
    p.join(now=1.0)
    talk(j, p, now=1.0)
    j = grown(j)
    j.join(now=10_000.0)
    talk(j, p, now=10_000.0)
    assert j.endpoint.ledger.held[Origin("p", 1)].tally.counts == {"A": 0, "B": 1, "C": 4}


def test_a_share_for_the_old_arms_counts_and_leaves_the_mark() -> None:
    j, p = pair(OLD, NEW)
    (late,) = p.update_all((ArmTally("A", 2, 1), ArmTally("C", 3, 3)), now=0.0).outgoing
    j = grown(j)
    j.join(now=1.0)
    outcome = j.receive(late, now=2.0)
    assert outcome.news == (ArmTally("A", 2, 1),)
    held = j.endpoint.ledger.held[Origin("p", 1)]
    assert (held.version, held.lacks, j.endpoint.ledger.version_held(Origin("p", 1))) == (5, True, 0)


def test_an_owner_that_knew_the_arms_once_knows_them() -> None:
    ledger = agent("j", NEW).endpoint.ledger
    ledger.merge(Record("p", 1, 0, 1, (ArmTally("A", 1, 1),)))
    ledger.merge(Record("p", 1, 0, 2, (ArmTally("A", 2, 2),)), lacks=True)
    assert ledger.version_held(Origin("p", 1)) == 2


def test_the_mark_ends_with_a_whole_record_of_the_same_version_and_not_with_an_older_one() -> None:
    ledger = agent("j", NEW).endpoint.ledger
    ledger.merge(Record("p", 1, 0, 5, (ArmTally("A", 2, 1),)), lacks=True)
    assert ledger.merge(Record("p", 1, 0, 4, (ArmTally("A", 2, 1), ArmTally("C", 2, 2)))) == ()
    assert not ledger.is_usable(Record("p", 1, 5, 6, ()))
    assert ledger.version_held(Origin("p", 1)) == 0
    whole = Record("p", 1, 0, 5, (ArmTally("A", 2, 1), ArmTally("C", 3, 2)))
    ledger.check(whole)
    assert ledger.merge(whole) == (ArmTally("C", 3, 2),)
    assert ledger.version_held(Origin("p", 1)) == 5
    with pytest.raises(PeerError, match="more than 1 for each new observation"):
        ledger.check(Record("p", 1, 0, 6, (ArmTally("C", 4, 4),)))


def test_what_a_peer_can_use_now_is_buffered_for_it() -> None:
    _, p = pair(OLD, NEW)
    p.update_all((ArmTally("A", 2, 1), ArmTally("C", 3, 3)), now=0.0)
    assert link(p, "j").exchange.buffered == 0
    p.receive(Join("j", "p", NEW, 1, boot=2, notice=2), now=1.0)
    assert (link(p, "j").exchange.buffered, link(p, "j").shared_version) == (5, 0)
    p.update("C", 1.0, now=2.0)
    assert p.endpoint.state() == type(p.endpoint).from_state(p.endpoint.state(), SHARING).state()


@pytest.mark.parametrize("arms", [("A",), ("B", "C"), ("B", "A", "C", "D")])
def test_a_peer_with_a_newer_boot_may_have_any_arms(arms: tuple[str, ...]) -> None:
    _, p = pair(OLD, NEW)
    p.receive(Join("j", "p", arms, 1, boot=2, notice=2), now=1.0)
    assert (link(p, "j").peer.arms, link(p, "j").peer.candidates) == (arms, set(arms))
    with pytest.raises(PeerError, match="start it with the same arms, or under a new name"):
        p.receive(Join("j", "p", ("A", "E"), 1, boot=2, notice=4), now=2.0)
    assert link(p, "j").peer.arms == arms


def test_one_who_came_back_with_fewer_arms_takes_what_it_can_use() -> None:
    _, p = pair(NEW, NEW)
    (share,) = p.update_all((ArmTally("A", 2, 1), ArmTally("C", 3, 3)), now=0.0).outgoing
    j = agent("j", OLD, boot=2)
    j.peer_joined("p", NEW)
    j.join(now=1.0)
    assert j.receive(share, now=2.0).news == (ArmTally("A", 2, 1),)
    talk(j, p, now=10.0)
    assert (j.policy.tally.counts, link(p, "j").peer.arms) == ({"A": 2, "B": 0}, OLD)


def test_what_is_ruled_out_by_arms_that_are_not_known_is_not_followed() -> None:
    j, p = pair(OLD, OLD, AAE)
    handling = Handling(2, 0, ("A",), 0, Receipt(1, 0, 0, 0, 0))
    heard = Share("j", "p", 1, 1, (Record("j", 2, 0, 1, (ArmTally("B", 1, 1),)),), handling)
    p.receive(Share("j", "p", 1, 0, (), handling._replace(boot=1, eliminated=())), now=0.0)
    assert p.receive(heard._replace(number=2), now=1.0).ruled_out == ()
    assert p.receive(Eliminated("j", "p", "C", boot=2), now=1.0).ruled_out == ()
    foreign = handling._replace(eliminated=("A", "C"))
    assert p.receive(heard._replace(number=3, handling=foreign), now=2.0).ruled_out == ()
    assert link(p, "j").delivery.peer_eliminated == 0  # so that it is told again
    p.receive(Join("j", "p", NEW, 1, boot=2, notice=2), now=3.0)
    assert p.receive(heard._replace(number=4, handling=foreign), now=4.0).ruled_out == ()  # arms differ now
    assert (link(p, "j").peer.candidates, link(p, "j").delivery.peer_eliminated) == ({"B"}, 2)
    assert j.endpoint.candidates == {"A", "B"}


def test_once_all_have_the_same_arms_what_one_has_dropped_all_drop() -> None:
    j, p = pair(OLD, NEW, AAE)
    handling = Handling(1, 0, ("A",), 0, Receipt(1, 0, 0, 0, 0))
    assert p.receive(Share("j", "p", 1, 0, (), handling), now=0.0).ruled_out == ()
    assert p.endpoint.candidates == {"A", "B", "C"}
    outcome = p.receive(Join("j", "p", NEW, 1, boot=1, notice=2), now=1.0)
    assert outcome.ruled_out == ()  # it is whole again until it says so
    assert p.receive(Share("j", "p", 2, 0, (), handling), now=2.0).ruled_out == ("A",)
    assert p.policy.candidates == ("B", "C")
    assert j.endpoint.roster.same_arms is False


def test_a_farewell_does_not_say_which_arms() -> None:
    _, p = pair(OLD, OLD)
    p.receive(Leave("j", "p", boot=2, notice=3), now=0.0)
    late = Join("j", "p", OLD, 1, boot=1, notice=2)
    (answer,) = p.receive(late, now=1.0).outgoing
    assert getattr(answer, "receipt") == Receipt(2, 0, 0, 0, 0, 1)  # noqa: B009  # so j goes on saying it
    p.receive(Join("j", "p", NEW, 1, boot=2, notice=4), now=2.0)
    assert link(p, "j").peer.arms == NEW


def test_a_new_arm_is_a_candidate_and_what_was_ruled_out_stays_so() -> None:
    j, _ = pair(OLD, OLD, AAE)
    for time in range(400):
        j.update(j.select_arm(), float(j.select_arm() == "A"), now=float(time))
    assert j.policy.candidates == ("A",)
    j = grown(j, policy=AAE)
    assert (j.policy.candidates, j.endpoint.candidates, j.endpoint.eliminated) == (("A", "C"), {"A", "C"}, ["B"])
    assert j.select_arm() == "C"
    assert j.policy.own_pulls == 400


@pytest.mark.parametrize("arms", [("A",), ("B", "A", "C"), ("C", "A", "B"), ("A", "C", "B")])
def test_arms_only_grow_and_the_old_ones_come_first(arms: tuple[str, ...]) -> None:
    j, _ = pair(OLD, OLD)
    with pytest.raises(LocalError, match="new arms come last, and with a new boot"):
        grown(j, arms)


def test_to_grow_takes_a_new_boot_and_loss_tolerance() -> None:
    j, _ = pair(OLD, OLD)
    with pytest.raises(LocalError, match="new arms come last, and with a new boot"):
        Agent.restore(j.snapshot(), policy=UCB(NEW, quantum=BERNOULLI), sharing=SHARING)
    alone = Agent("j", UCB(OLD, quantum=BERNOULLI))
    with pytest.raises(LocalError, match="loss_tolerant=True can start again with a new boot or more arms"):
        Agent.restore(alone.snapshot(), policy=UCB(NEW, quantum=BERNOULLI), boot=1)


def test_records_are_replayed_under_the_arms_of_then() -> None:
    j, _ = pair(OLD, OLD, AAE)
    start, records = j.snapshot(), list[InputRecord]()
    for time in range(400):
        outcome: Outcome = j.update(j.select_arm(), float(j.select_arm() == "A"), now=float(time))
        records += outcome.records
    again = Agent.restore(start, records, policy=AAE(NEW, quantum=BERNOULLI), sharing=SHARING, boot=2)
    assert again.snapshot() == grown(j, policy=AAE).snapshot()


def test_a_stranger_is_told_apart_from_one_who_says_what_cannot_be() -> None:
    j, _ = pair(OLD, OLD)
    with pytest.raises(StrangerError, match="'q' is not known to j: an agent must join before it is heard"):
        j.receive(Leave("q", "j"), now=0.0)
    with pytest.raises(PeerError) as refused:
        j.receive(Leave("p", "j", notice=-1), now=0.0)
    assert not isinstance(refused.value, StrangerError)
