"""Pens among liars, floods and accidents: what one holder says, or does not live to say, harms nobody else."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.live.machine.pen_fleet import ARMS, GROUP, Fleet, counted, decide, name_of

from cobandit.core import Changes, Delivery, Receipt, Share
from cobandit.core.pen_names import SettledBlock, incarnation_of
from cobandit.core.running_totals import RunningTotals
from cobandit.core.settled import MAX_BLOCK
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.decision import Claim, sign
from cobandit.live.decide.taken import Taken
from cobandit.live.machine import lending
from cobandit.live.machine.control_messages import (
    LogTold,
    PenAsked,
    PenLent,
    PenRefused,
    PenReturned,
    about_key,
    pack,
)
from cobandit.live.machine.lending import pen_key
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.rewarding import take_reward
from cobandit.values.errors import NotNowError
from cobandit.values.tally import ArmTally


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def says(fleet: Fleet, pod: Machine, changes: Changes) -> None:
    """Let the holder of a pen say something to its lender that no machine would."""
    assert pod.holding is not None
    share = Share(
        name_of(pod), pod.holding.lender, 1, 1, changes, delivery=Delivery(pod.agent.session, 0, Receipt(0, 0, 0))
    )
    fleet._deliver(name_of(pod), pod.holding.lender, pack(share, GROUP))
    fleet.work()


def lied_id(pod: Machine, number: int) -> str:
    return sign(Claim(name_of(pod), number, "A", pod.clock.now()), pen_key(b"key", name_of(pod)))


# What a holder claims to have decided.


@pytest.mark.parametrize("numbers", [[2**60], [256 * place for place in range(5000)]], ids=["huge", "far apart"])
def test_ids_that_a_holder_made_up_do_not_come_between_relays(fleet: Fleet, numbers: list[int]) -> None:
    relay, other = fleet.relay("r"), fleet.relay("s")
    pod = fleet.pod("r")
    assert relay.lending is not None
    relay.lending.end(name_of(pod), "")
    del fleet.machines[name_of(pod)]
    for number in numbers:
        take_reward(relay, lied_id(pod, number), 1.0)
    honest = fleet.pod("r", b"2")
    decide(honest)
    fleet.wait(100.0)
    assert other.guard.refusals[Refusal.ABSURD] == 0
    assert counted(other) == counted(relay)


@pytest.mark.parametrize("block", [SettledBlock("", 0, 40, b"\xff"), SettledBlock("", 0, MAX_BLOCK, b"")])
def test_a_holder_that_lies_of_its_numbers_does_not_spoil_them_for_the_next_one(
    fleet: Fleet, block: SettledBlock
) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    says(fleet, pod, Changes(settled=(block._replace(agent=name_of(pod), incarnation=incarnation_of(name_of(pod))),)))
    fleet.tell("r", PenReturned(name_of(pod), name_of(pod), pod.agent.session, 0, next_number=0))
    assert relay.lending is not None
    assert not relay.lending.book.is_lent(name_of(pod))
    del fleet.machines[name_of(pod)]
    fleet.heard.clear()
    after = fleet.pod("r", b"2")
    tokens = [decide(after, reward=None) for _ in range(40 * 256 + 8 if block.block == 40 else 8)][-8:]
    for token in tokens:
        take_reward(relay, token, 1.0)
    fleet.wait(30.0)
    assert counted(relay) == 8


# Who gives one back.


@pytest.mark.parametrize("upto", [0, None])
def test_a_pen_is_given_back_by_who_holds_it_and_by_nobody_else(fleet: Fleet, upto: int | None) -> None:
    relay = fleet.relay("r")
    pod, other = fleet.pod("r"), fleet.pod("r", b"2")
    assert relay.lending is not None
    senders = ["mallory", "pods~r~1-1"] if upto is None else ["mallory", "pods~r~1-1", name_of(other)]
    for sender in senders:
        fleet.tell("r", PenReturned(sender, name_of(pod), pod.agent.session, upto, next_number=0))
        assert relay.lending.book.is_lent(name_of(pod))
    assert relay.guard.refusals[Refusal.ABSURD] == len(senders)


def test_a_process_that_goes_on_with_another_pen_ends_the_one_before(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod, after = fleet.pod("r"), fleet.pod("r", b"2")
    fleet.tell("r", PenReturned(name_of(after), name_of(pod), pod.agent.session, None))
    assert relay.lending is not None
    assert not relay.lending.book.is_lent(name_of(pod))


# Who asks.


def test_who_has_seen_anothers_question_gets_another_pen_and_key(fleet: Fleet) -> None:
    fleet.relay("r")
    fleet.tell("r", PenAsked("asker", b"1", ARMS, 1))
    fleet.tell("r", PenAsked("listener", b"1", ARMS, 1))
    fleet.tell("r", PenAsked("asker", b"1", ARMS, 1))
    mine, theirs, again = (lent for lent in fleet.heard if isinstance(lent, PenLent))
    assert (mine.pen, mine.key) == (again.pen, again.key)
    assert mine.pen != theirs.pen
    assert mine.key != theirs.key


def test_a_key_is_veiled_for_who_can_read_it_and_not_sent_to_who_cannot_be_told_it_alone(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    assert relay.lending is not None
    relay.lending.veil = lambda receiver, about, key: receiver.encode() + about + key[::-1]
    fleet.tell("r", PenAsked("asker", b"1", ARMS, 1))  # of the version before
    fleet.tell("r", PenAsked("asker", b"1", ARMS, 1, reads_veiled=True))
    plain, veiled = (lent for lent in fleet.heard if isinstance(lent, PenLent))
    assert (plain.key, plain.is_key_veiled) == (pen_key(b"key", plain.pen), False)
    assert veiled == replace(plain, key=b"asker" + about_key(plain, "asker") + plain.key[::-1], is_key_veiled=True)

    def unknown(*_: object) -> None:
        raise NotNowError("not known")

    relay.lending.veil = unknown
    fleet.heard.clear()
    fleet.tell("r", PenAsked("asker", b"1", ARMS, 1, reads_veiled=True))
    assert fleet.heard == []


@pytest.mark.parametrize(
    ("relay", "prefix", "words"), [("a~b", "", "must not contain ~"), ("r", "p" * 190, "too long")]
)
def test_a_relay_that_cannot_name_a_pen_says_so(fleet: Fleet, relay: str, prefix: str, words: str) -> None:
    fleet.relay(relay)
    fleet.tell(relay, PenAsked(f"{prefix}asks", b"1", ARMS, 1, prefix))
    (refused,) = fleet.heard
    assert isinstance(refused, PenRefused)
    assert words in refused.why


def test_only_relays_that_were_asked_say_how_far_their_log_is(fleet: Fleet) -> None:
    relay, other = fleet.relay("r"), fleet.relay("s")
    pod = fleet.pod("r")
    token = decide(pod, reward=None)
    fleet.wait(100.0)
    del fleet.machines["r"], fleet.machines[name_of(pod)]
    relay = fleet.relay("r")  # without its disk
    assert take_reward(relay, token, 1.0) is Taken.ON_ITS_WAY
    for sender in ("s", "mallory"):
        fleet.tell("r", LogTold(sender, relay.agent.session - 1, 1, 0, ("nobody",)))
    fleet.tell("r", LogTold("mallory", relay.agent.session, 1, 0, ("nobody",)))
    fleet.wait(100.0)
    assert (counted(relay), counted(other)) == (1, 1)


# Who is killed.


def test_a_reward_that_a_lender_holds_is_not_lost_with_the_pod_it_was_brought_to(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    token = decide(pod, reward=None)
    fleet.work()
    lost = fleet.lost = {name_of(pod): Share}  # the pod says that it has it, and is killed before its share arrives
    assert take_reward(relay, token, 1.0) is Taken.ON_ITS_WAY
    fleet.wait(2.0)
    assert (counted(pod), counted(relay)) == (1, 0)
    del fleet.machines[name_of(pod)]
    lost.clear()
    fleet.wait(130.0)
    assert (counted(relay), relay.outbox.waiting) == (1, 0)


def test_a_lender_lets_go_of_a_reward_once_it_is_told_that_it_counts(fleet: Fleet) -> None:
    relay = fleet.relay("r")
    pod = fleet.pod("r")
    token = decide(pod, reward=None)
    fleet.work()
    assert take_reward(relay, token, 1.0) is Taken.ON_ITS_WAY
    fleet.wait(1.0)
    assert (counted(pod), counted(relay), relay.outbox.waiting, relay.rewards_for_others.brought) == (1, 1, 0, 1)


def test_rewards_that_cannot_be_judged_do_not_stop_others(fleet: Fleet) -> None:
    relay, other = fleet.relay("r"), fleet.relay("s")
    pod = fleet.pod("r")
    forgotten = [decide(pod, reward=None) for _ in range(300)]
    fleet.wait(20.0)
    del fleet.machines["r"], fleet.machines[name_of(pod)], fleet.machines["s"]  # s does not come back
    fleet.cut = {"s"}
    relay = fleet.relay("r")  # without its disk
    bringer, decider = fleet.pod("r", b"2"), fleet.pod("r", b"3")
    for token in forgotten:
        take_reward(bringer, token, 1.0)
    fleet.wait(5.0)
    assert take_reward(bringer, decide(decider, reward=None), 1.0) is Taken.ON_ITS_WAY
    fleet.wait(60.0)
    assert (counted(decider), counted(relay), counted(other)) == (1, 1, 0)


def lent_to_many(segments: int, asking: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """Let many ask a relay that knows many segments. Return how many got a pen, how many totals too, and the work."""
    fleet = Fleet()
    relay = fleet.relay("r")
    for number in range(segments):
        relay.agent.endpoint.replica.observe([ArmTally("A", 1, 1, 1)], at=("", f"segment-{number}"))
    computed, but = list[str](), RunningTotals.but

    def but_and_counts(totals: RunningTotals, agent: str, *key: Any) -> ArmTally:
        computed.append(agent)
        return but(totals, agent, *key)

    monkeypatch.setattr(RunningTotals, "but", but_and_counts)
    for number in range(asking):
        fleet.tell("r", PenAsked(f"made-up-{number}", b"1", ARMS, 1))
    lent = [one for one in fleet.heard if isinstance(one, PenLent)]
    return len(lent), sum(bool(one.totals_elsewhere) for one in lent), len(computed)


def test_pens_for_made_up_names_cost_no_more_totals_than_the_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "MAX_TOTALS_AT_ONCE", 1000)
    assert lent_to_many(300, 20, monkeypatch) == (20, 3, 3 * 300 + 20 * len(ARMS))


def test_two_hundred_pods_at_once_get_their_pens_with_all_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lent_to_many(5, 200, monkeypatch) == (200, 200, 200 * (5 + len(ARMS)))
