"""Who is gone can be forgotten: it costs nothing, nothing it observed is lost, and it is back with its first word."""

import pytest

from cobandit import UCB, Agent, Constant, LocalError, PeerError, on_demand
from cobandit.core import Acknowledgement, Forgot, Message, RetryTimers, Share
from cobandit.core import members as members_module
from cobandit.core.invariants import endpoint_violations
from lab.pairs import pair_violations

SHARING = on_demand(Constant(1), loss_tolerant=RetryTimers(first=2.0, least=0.1, tick=60.0, longest=600.0))
ARMS = ("A", "B")


def agent(name: str, incarnation: int = 1) -> Agent:
    return Agent(name, UCB(ARMS), SHARING, incarnation=incarnation)


def talk(now: float, *agents: Agent, said: list[Message] | None = None) -> list[Message]:
    """Carry messages between these until there are none. Return those for others."""
    on_the_way = [message for one in agents for message in one.wake(now).outgoing] + (said or [])
    elsewhere: list[Message] = []
    while on_the_way:
        message = on_the_way.pop(0)
        receiver = next((one for one in agents if one.name == message.receiver), None)
        if receiver is None:
            elsewhere.append(message)
        else:
            on_the_way += receiver.receive(message, now).outgoing
    return elsewhere


def pair() -> tuple[Agent, Agent]:
    """Return two that have met, and know all of each other."""
    j, p = agent("j"), agent("p")
    j.peer_joined("p", ARMS)
    p.peer_joined("j", ARMS)
    talk(0.0, j, p, said=[*j.join(0.0).outgoing, *p.join(0.0).outgoing])
    for now in (1.0, 2.0):
        talk(now, j, p, said=[*j.update("A", 1.0, now).outgoing, *p.update("B", 0.0, now).outgoing])
    for now in (100.0, 200.0):
        talk(now, j, p)
    assert j.peers.lacking == p.peers.lacking == ()
    return j, p


def test_nothing_is_sent_to_who_is_forgotten_and_what_it_observed_stays() -> None:
    j, p = pair()
    assert j.forget("p", 201.0).records == (Forgot("p", 201.0),)
    assert (len(j.peers), "p" in j.peers, "p" in j.peers.met, j.peers.gone, j.peers.gone_observations()) == (
        0,
        False,
        True,
        1,
        2,
    )
    assert j.policy.tally.observations == 4
    said = list(j.join(202.0).outgoing)
    for now in range(203, 5000, 100):
        said += [*j.update("A", 1.0, float(now)).outgoing, *j.wake(now + 1.0).outgoing]
    said += [*j.flush(5000.0).outgoing, *j.leave().outgoing]
    assert (said, j.wake_at, j.peers.lacking) == ([], j.wake_at, ())
    assert p.policy.tally.observations == 4


def test_who_was_forgotten_wrongly_is_back_with_its_first_word_and_nothing_counts_twice() -> None:
    j, p = pair()
    j.forget("p", 201.0)
    for now in (202.0, 203.0, 204.0):
        j.update("A", 1.0, now)
    talk(205.0, j, p, said=list(p.update("B", 1.0, 205.0).outgoing))
    assert (tuple(j.peers), j.peers.gone) == (("p",), 0)
    assert j.peers.link("p").is_present
    for now in (300.0, 400.0):
        talk(now, j, p)
    assert j.policy.tally.counts == p.policy.tally.counts == {"A": 5, "B": 3}
    assert j.peers.lacking == p.peers.lacking == ()
    assert endpoint_violations(j.endpoint) + pair_violations(j.endpoint, p.endpoint) == []


def test_both_may_forget_each_other() -> None:
    j, p = pair()
    j.forget("p", 201.0)
    p.forget("j", 201.0)
    j.update("A", 1.0, 202.0)
    p.update("B", 1.0, 202.0)
    said = [message for message in talk(203.0, j, p, said=[]) if not isinstance(message, Acknowledgement)]
    assert said == []
    j.peer_joined("p", ARMS, 204.0)  # the driver has heard of it
    for now in (205.0, 300.0, 400.0):
        talk(now, j, p)
    assert j.policy.tally.counts == p.policy.tally.counts == {"A": 3, "B": 3}


def test_a_late_packet_of_who_said_farewell_does_not_make_it_present() -> None:
    j, p = pair()
    late = p.update("B", 1.0, 201.0).outgoing
    (farewell,) = p.leave().outgoing
    j.receive(farewell, 202.0)
    j.forget("p", 202.0)
    for message in late:
        j.receive(message, 203.0)
    assert (j.policy.tally.counts["B"], "p" in j.peers, j.peers.is_present("p")) == (3, True, False)
    j.forget("p", 204.0)
    assert j.peers.gone == 1


def test_what_is_refused_remembers_nobody() -> None:
    j, p = pair()
    before = j.forget("p", 201.0)
    assert before.records
    (share,) = p.update("B", 1.0, 202.0).outgoing
    assert isinstance(share, Share)
    state = j.snapshot()
    with pytest.raises(PeerError):
        j.receive(share._replace(number=-1), 203.0)
    assert j.snapshot() == state


def test_who_forgot_and_began_anew_tells_everything_again() -> None:
    j, p = pair()
    j.forget("p", 201.0)
    j.begin(50, 202.0, incarnation=50)
    j.update("A", 1.0, 203.0)
    talk(204.0, j, p, said=[*j.join(203.5).outgoing, *p.update("B", 1.0, 204.0).outgoing])
    for now in (300.0, 400.0, 500.0):
        talk(now, j, p)
    assert j.policy.tally.counts == p.policy.tally.counts == {"A": 3, "B": 3}
    assert endpoint_violations(j.endpoint) == []


def test_who_is_forgotten_stays_so_after_a_restart() -> None:
    j, p = pair()
    snapshot = j.snapshot()
    records = [*j.forget("p", 201.0).records, *j.update("A", 1.0, 202.0).records]
    replayed = Agent.restore(snapshot, records, policy=UCB(ARMS), sharing=SHARING)
    restored = Agent.restore(j.snapshot(), policy=UCB(ARMS), sharing=SHARING)
    assert replayed.snapshot() == restored.snapshot() == j.snapshot()
    assert (len(restored.peers), restored.peers.gone) == (0, 1)
    talk(205.0, restored, p, said=list(p.update("B", 1.0, 205.0).outgoing))
    assert restored.policy.tally.counts == {"A": 3, "B": 3}


def test_what_was_observed_meanwhile_is_buffered_for_its_return() -> None:
    ref, got, p = *pair()[:1], *pair()
    for one in (ref, got):
        one.peer_left("p", 201.0)
    got.forget("p", 201.0)
    for one in (ref, got):
        for now in (202.0, 203.0, 204.0):
            one.update("A", 1.0, now)
        one.peer_joined("p", ARMS, 205.0)
    assert got.peers.link("p").buffered == ref.peers.link("p").buffered == 3
    assert got.snapshot() == ref.snapshot()
    del p


def test_who_is_forgotten_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members_module, "MAX_PEERS", 3)
    j = agent("j")
    for number in range(10):
        j.peer_joined(f"p{number}", ARMS)
        j.forget(f"p{number}", 0.0)
    for number in range(3):
        j.peer_joined(f"q{number}", ARMS)
    with pytest.raises(LocalError, match="3 peers are known already, which is the limit"):
        j.peer_joined("q3", ARMS)
    assert (j.peers.gone, j.peers.last_forgotten(2)) == (10, ("p9", "p8"))
    assert Agent.restore(j.snapshot(), policy=UCB(ARMS), sharing=SHARING).snapshot() == j.snapshot()


def test_who_cannot_be_forgotten_is_said() -> None:
    j, _ = pair()
    with pytest.raises(LocalError, match="j cannot forget 'q': it has not joined"):
        j.forget("q", 1.0)
    with pytest.raises(LocalError, match="only an agent that shares with loss_tolerant=True can forget another one"):
        Agent("j", UCB(ARMS)).forget("p", 1.0)
