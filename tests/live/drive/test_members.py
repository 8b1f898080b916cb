"""What people do with members, through the public door, over memory."""

import asyncio
import copy
import itertools
import logging
import math
import multiprocessing
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cobandit
from cobandit import Constant, RetryTimers, on_demand
from cobandit.live.decide.decision import Claim, sign
from cobandit.live.decide.taken import Taken
from cobandit.live.drive import first_settings, starting
from cobandit.live.drive.background import background
from cobandit.live.drive.member import Member
from cobandit.live.machine import outbox
from cobandit.live.status.statistics import Statistics
from cobandit.live.store.sqlite_journal import SqliteJournal
from cobandit.live.store.state_lock import StateInUseError, StateLock
from cobandit.live.transports.memory import MemoryTransport, hub
from cobandit.policies import UCB, Policy
from cobandit.values.errors import LocalError
from lab.servers import free_port

QUICK = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.2, longest=1.0))
WITHIN = 60.0
_networks = itertools.count()


class Clock:
    """A real clock that a test may put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def time_of_day(self) -> float:
        return self.now()


@pytest.fixture
def connect() -> Iterator[Callable[..., Member]]:
    """Connects members of one network of this test's own, and closes them in the end."""
    network, members = f"memory://test-{next(_networks)}", []

    def connect(name: str = "ann", **options: Any) -> Member:
        settings = {"group": "tested", "arms": ["A", "B", "C"], "sharing": QUICK, **options}
        member = cobandit.connect(settings.pop("url", network), name=name, **settings)
        members.append(member)
        return member

    yield connect
    for member in members:
        member.close()


def until(member: Member, is_so: Callable[[Statistics], bool]) -> Statistics:
    """Wait until a member's statistics say something."""
    deadline = time.monotonic() + WITHIN
    while not is_so(statistics := member.statistics()):
        if time.monotonic() > deadline:
            raise AssertionError(f"it did not happen: {statistics}")
        time.sleep(0.01)
    return statistics


def pull(member: Member, times: int, reward: float = 1.0) -> None:
    for _ in range(times):
        assert member.update(member.select_arm(), reward)


# Deciding together.


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"secret": "short"}, "needs at least 16 bytes"),
        ({"url": "carrier-pigeon://here"}, "carrier-pigeon"),
        ({"floors": {"Z": 0.1}, "secret": "a secret of the whole group"}, "'Z'"),
        ({"state": 5}, "^state must be the path of a file, not 5$"),
    ],
)
def test_what_is_refused_leaves_no_file(wrong: dict[str, Any], words: str, tmp_path: Path) -> None:
    said = {"url": "udp://127.0.0.1:0", "group": "g", "name": "a", "arms": ["A"], "state": tmp_path / "a.db", **wrong}
    with pytest.raises(LocalError, match=words):
        cobandit.connect(**said)
    assert list(tmp_path.iterdir()) == []


def test_members_learn_from_each_other(connect: Callable[..., Member]) -> None:
    ann, bob = connect("ann"), connect("bob")
    until(ann, lambda s: len(s.peers) == 1)
    pull(ann, 30)
    pull(bob, 5)
    for member, own in ((ann, 30), (bob, 5)):
        statistics = until(member, lambda s: s.observations == 35)
        assert statistics.own_observations == own
        assert sum(arm.observations for arm in statistics.arms) == 35


def test_a_member_joins_from_asynchronous_code() -> None:
    async def scene() -> tuple[Taken, int]:
        async with cobandit.join("memory://async", group="g", name="ann", arms=["A"], sharing=QUICK) as member:
            taken = member.update(member.select_arm(), 1.0)
            await member.synced()
            return taken, member.statistics().own_observations

    assert asyncio.run(scene()) == (Taken.COUNTED, 1)


def test_a_member_can_be_awaited_and_closed() -> None:
    async def scene() -> str:
        member = await cobandit.join("memory://async", group="g", name="ann", arms=["A"])
        await member.aclose()
        await member.aclose()
        with pytest.raises(LocalError, match="the member 'ann' is closed: open another"):
            member.select_arm()
        return member.name

    assert asyncio.run(scene()) == "ann"


def test_decisions_rest_on_what_others_observed(connect: Callable[..., Member]) -> None:
    ann, bob = connect("ann"), connect("bob")
    until(ann, lambda s: len(s.peers) == 1)
    for _ in range(300):
        decision = ann.select_arm()
        ann.update(decision, 1.0 if decision.arm == "C" else 0.0)
    until(bob, lambda s: s.observations == 300 and (s.arms[2].propensity or 0.0) > 0.99)
    assert bob.select_arm("a subject whose arm is no chance").arm == "C"


# Rewards.


def test_a_reward_counts_once_however_often_it_is_repeated(connect: Callable[..., Member]) -> None:
    ann = connect()
    decision = ann.select_arm()
    assert [ann.update(decision, 1.0), ann.update(decision, 1.0), ann.update(decision.id, 0.5)] == [
        Taken.COUNTED,
        Taken.COUNTED_BEFORE,
        Taken.COUNTED_BEFORE,
    ]
    ann.sync()
    assert ann.statistics().own_observations == 1


def test_clicked_or_not_is_a_reward(connect: Callable[..., Member]) -> None:
    ann = connect(policy="ucb")
    clicked, ignored = ann.select_arm(), ann.select_arm()
    assert [ann.update(clicked, reward=True), ann.update(ignored.id, reward=False)] == [Taken.COUNTED] * 2
    ann.sync()
    assert [arm.mean for arm in ann.statistics().arms] == [1.0, 0.0, None]


@pytest.mark.parametrize("missing", [None, 7, b"d1.x"])
def test_what_is_no_decision_is_refused(connect: Callable[..., Member], missing: Any) -> None:
    with pytest.raises(LocalError, match="is neither a decision nor the id of one"):
        connect().update(missing, 1.0)


def test_a_reward_that_cannot_be_leaves_the_decision_open(connect: Callable[..., Member]) -> None:
    ann = connect()
    decision = ann.select_arm()
    for reward in (1.5, -0.1, float("nan"), "1"):
        with pytest.raises(LocalError, match="a reward must be a number in"):
            ann.update(decision, reward)  # type: ignore[arg-type]
        with pytest.raises(LocalError, match="a reward must be a number in"):
            ann.update(decision.id, reward)  # type: ignore[arg-type]
    assert ann.update(decision, 1.0)


@pytest.mark.parametrize("token", ["", "d1.", "d1.AAAA", "nonsense", "d1." + "A" * 5000, "d1.!!!", "d1.lKFh", "ü"])
def test_what_is_not_an_id_is_refused(connect: Callable[..., Member], token: str) -> None:
    with pytest.raises(LocalError, match="is not the id of a decision"):
        connect().update(token, 1.0)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda decision: pickle.loads(pickle.dumps(decision))])
def test_a_decision_that_is_pickled_or_copied_can_be_rewarded(
    connect: Callable[..., Member], again: Callable[[cobandit.Decision], cobandit.Decision]
) -> None:
    ann = connect()
    decision, other = ann.select_arm(), ann.select_arm()
    found = again(again(decision))
    assert (found.arm, found.propensity, found.id) == (decision.arm, decision.propensity, decision.id)
    assert [ann.update(found, 1.0), ann.update(decision, 1.0)] == [Taken.COUNTED, Taken.COUNTED_BEFORE]
    assert ann.withdraw(again(other))


def test_what_signs_decisions_cannot_be_pickled(connect: Callable[..., Member]) -> None:
    ann = connect()
    decision = ann.select_arm()
    assert ann._source.signer.key not in pickle.dumps(decision)
    with pytest.raises(LocalError, match="what signs decisions stays with its member"):
        pickle.dumps(tuple(decision))


def test_rewards_that_a_state_has_forgotten_are_not_taken_again_after_another_start(
    connect: Callable[..., Member], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cobandit.live.store.restoring.secrets.randbits", Random(1).getrandbits)
    state = tmp_path / "a.db"
    connect(state=state).close()
    shutil.copyfile(state, tmp_path / "backup")
    ann = connect(state=state)
    decisions = [ann.select_arm() for _ in range(9)]
    assert all(ann.update(decision, 1.0) for decision in decisions)
    ann.close()
    shutil.copyfile(tmp_path / "backup", state)
    ann = connect(state=state)
    pull(ann, 3)
    ann.close()
    ann = connect(state=state)
    assert [ann.update(decision.id, 1.0) for decision in decisions] == [Taken.GIVEN_UP] * 9


def _cancelled_while(
    monkeypatch: pytest.MonkeyPatch, place: object, what: str, state: Path, *, is_after: bool = False
) -> None:
    """Begin to join, be cancelled while something on a disk is under way, and wait until the state is free."""
    begun, may_go_on = threading.Event(), threading.Event()
    work = getattr(place, what)

    def slow(*arguments: Any) -> Any:
        result = work(*arguments) if is_after else None
        begun.set()
        assert may_go_on.wait(WITHIN)
        return result if is_after else work(*arguments)

    async def scene() -> None:
        joining = asyncio.ensure_future(_joined(state))
        assert await asyncio.to_thread(begun.wait, WITHIN)
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining

    monkeypatch.setattr(place, what, slow)
    asyncio.run(scene())
    background().submit(asyncio.sleep(0)).result(WITHIN)  # the loop knows of it by now
    may_go_on.set()
    deadline = time.monotonic() + WITHIN
    while True:
        try:
            SqliteJournal(state).close()
        except StateInUseError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            return


async def _joined(state: Path | None) -> Member:
    return await cobandit.join("memory://cancelled", group="g", name="ann", arms=["A"], state=state)


def test_who_is_cancelled_while_its_state_is_opened_leaves_no_lock(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _cancelled_while(monkeypatch, starting, "_open_journal", tmp_path / "a.db", is_after=True)


def test_who_is_cancelled_while_its_state_is_written_leaves_no_lock(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _cancelled_while(monkeypatch, StateLock, "drawn", tmp_path / "a.db")
    assert not _found_clean(tmp_path / "a.db")


def test_who_is_cancelled_while_its_transport_opens_leaves_nobody_on_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened, closed = threading.Event(), threading.Event()
    work = MemoryTransport.open

    async def half_open(*arguments: Any) -> None:
        await work(*arguments)
        opened.set()
        await asyncio.Event().wait()

    async def close(_: MemoryTransport) -> None:
        closed.set()

    async def scene() -> None:
        joining = asyncio.ensure_future(_joined(None))
        assert await asyncio.to_thread(opened.wait, WITHIN)
        joining.cancel()

    monkeypatch.setattr(MemoryTransport, "open", half_open)
    monkeypatch.setattr(MemoryTransport, "close", close)
    asyncio.run(scene())
    assert closed.wait(WITHIN)


def _found_clean(state: Path) -> bool:
    journal = SqliteJournal(state)
    found = journal.read().state
    journal.close()
    assert found is not None
    return found.is_clean


def test_an_id_that_was_made_up_is_refused(connect: Callable[..., Member]) -> None:
    ann = connect()
    decision = ann.select_arm()
    forged = sign(Claim("ann", decision.number, "C", decision.at), b"not the key")
    with pytest.raises(LocalError, match="was not made by ann"):
        ann.update(forged, 1.0)
    assert ann.statistics().open_decisions == 1


def test_a_decision_can_be_rewarded_after_a_restart(connect: Callable[..., Member], tmp_path: Path) -> None:
    ann = connect(state=tmp_path / "ann.db")
    pull(ann, 3)
    decision = ann.select_arm()
    ann.close()
    again = connect(state=tmp_path / "ann.db")
    assert again.statistics().open_decisions == 1
    assert [again.update(decision, 1.0), again.update(decision.id, 1.0)] == [Taken.COUNTED, Taken.COUNTED_BEFORE]
    again.close()
    third = connect(state=tmp_path / "ann.db")
    assert not third.update(decision.id, 1.0)
    assert third.statistics().own_observations == 4


def test_another_member_brings_a_reward_to_the_one_that_decided(connect: Callable[..., Member]) -> None:
    ann, bob = connect("ann"), connect("bob")
    until(bob, lambda s: len(s.peers) == 1)
    decision = ann.select_arm()
    assert bob.update(decision.id, 1.0)
    until(ann, lambda s: s.own_observations == 1)
    assert bob.update(decision.id, 1.0)  # it cannot know; ann does
    pull(bob, 1)
    assert until(ann, lambda s: s.observations == 2).own_observations == 1


def test_a_reward_waits_for_a_member_that_is_away(connect: Callable[..., Member], tmp_path: Path) -> None:
    ann, bob = connect("ann", state=tmp_path / "ann.db"), connect("bob", state=tmp_path / "bob.db")
    until(bob, lambda s: len(s.peers) == 1)
    decision = ann.select_arm()
    ann.close()
    assert bob.update(decision.id, 1.0)
    bob.sync()
    bob.close()
    connect("bob", state=tmp_path / "bob.db")
    again = connect("ann", state=tmp_path / "ann.db")
    assert until(again, lambda s: s.own_observations == 1).open_decisions == 0


def test_another_process_leaves_a_reward_in_the_state_file(connect: Callable[..., Member], tmp_path: Path) -> None:
    ann = connect(state=tmp_path / "ann.db")
    first, second = ann.select_arm(), ann.select_arm()
    ann.sync()
    cobandit.reward(tmp_path / "ann.db", first.id, 1.0)
    until(ann, lambda s: s.own_observations == 1)
    ann.close()
    cobandit.reward(tmp_path / "ann.db", second.id, 0.0)
    cobandit.reward(tmp_path / "ann.db", first.id, 1.0)
    again = connect(state=tmp_path / "ann.db")
    assert until(again, lambda s: s.own_observations == 2).open_decisions == 0
    with pytest.raises(LocalError, match="a reward must be"):
        cobandit.reward(tmp_path / "ann.db", first.id, 7.0)


def test_a_decision_that_is_never_rewarded_counts_with_the_default(connect: Callable[..., Member]) -> None:
    clock = Clock()
    ann = connect(expire_after=60.0, default_reward=0.0, clock=clock, policy="ucb")
    decision = ann.select_arm()
    ann.sync()
    clock.ahead = 61.0
    ann.sync()
    assert not ann.update(decision, 1.0)
    ann.sync()
    assert ann.statistics().open_decisions == 0
    assert (ann.statistics().own_observations, ann.statistics().arms[0].mean) == (1, 0.0)


def test_without_a_default_it_is_forgotten(connect: Callable[..., Member]) -> None:
    clock = Clock()
    ann = connect(expire_after=60.0, clock=clock, policy="ucb")
    decision = ann.select_arm()
    ann.sync()
    clock.ahead = 61.0
    assert ann.select_arm().arm == "B"  # until the first one is given up it counts as a pull of A
    until(ann, lambda s: s.open_decisions == 1)
    assert ann.select_arm().arm == "A"
    assert not ann.update(decision.id, 1.0)
    ann.sync()
    assert ann.statistics().own_observations == 0


def test_decisions_without_a_reward_yet_count_as_pulls(connect: Callable[..., Member]) -> None:
    ann = connect(policy="ucb")
    assert [ann.select_arm().arm for _ in range(3)] == ["A", "B", "C"]


def test_a_decision_that_was_never_carried_out_can_be_taken_back(
    connect: Callable[..., Member], tmp_path: Path
) -> None:
    ann, bob = connect("ann", state=tmp_path / "ann.db", policy="ucb"), connect("bob")
    first, second = ann.select_arm(), ann.select_arm()
    assert [ann.withdraw(first), ann.withdraw(first), ann.update(first, 1.0)] == [True, False, Taken.COUNTED_BEFORE]
    assert ann.select_arm().arm == "A"  # as if it had not been chosen before
    with pytest.raises(LocalError, match="the decision was made by 'ann': only that member can withdraw it"):
        bob.withdraw(second.id)
    ann.close()
    again = connect("ann", state=tmp_path / "ann.db")
    assert [again.withdraw(second.id), again.update(second.id, 1.0)] == [True, Taken.COUNTED_BEFORE]
    assert (again.statistics().own_observations, again.statistics().open_decisions) == (0, 1)


# Going away.

RARELY = on_demand(Constant(10_000), loss_tolerant=RetryTimers(first=60.0, least=1.0, tick=3600.0, longest=3600.0))


def test_before_it_goes_a_member_says_what_it_has_kept_for_itself(connect: Callable[..., Member]) -> None:
    ann, bob = connect("ann", sharing=RARELY), connect("bob", sharing=RARELY)
    until(ann, lambda s: len(s.peers) == 1)
    pull(ann, 7)
    ann.sync()
    assert bob.statistics().observations == 0
    ann.close()
    said = until(bob, lambda s: s.observations == 7 and s.gone == 1)
    assert (said.peers, said.gone_observations) == ((), 7)


def test_a_member_that_is_asked_to_says_it_at_once(connect: Callable[..., Member]) -> None:
    ann, bob = connect("ann", sharing=RARELY), connect("bob", sharing=RARELY)
    until(ann, lambda s: len(s.peers) == 1)
    pull(ann, 7)
    assert ann.flush(WITHIN)
    assert bob.statistics().observations == 7
    assert ann.statistics().peers[0].lacks == 0
    assert ann.flush(WITHIN)  # nothing is left to say


# What must not break a member.


@pytest.mark.parametrize("subject", [42, b"x", "", "caf\udce9", "x" * 1001])
def test_a_subject_that_could_not_be_read_again_is_refused(connect: Callable[..., Member], subject: Any) -> None:
    ann = connect()
    with pytest.raises(LocalError, match="a subject must be a string of 1 to 1000 bytes in UTF-8"):
        ann.select_arm(subject=subject)
    assert ann.statistics().decisions == 0


class Sulking(UCB):
    """Fails once, when it is told of the first reward."""

    sulks = True

    def survivors(self) -> tuple[str, ...]:
        if self.sulks:
            type(self).sulks = False
            raise ZeroDivisionError
        return super().survivors()


def test_a_policy_that_fails_loses_nothing(connect: Callable[..., Member]) -> None:
    Sulking.sulks = True
    ann = connect(policy=Sulking)
    assert ann.update(ann.select_arm(), 1.0)
    with suppress(LocalError):  # if it is this step that fails
        ann.sync()
    ann.sync()
    assert not Sulking.sulks
    assert (ann.statistics().own_observations, len(list(ann.log()))) == (1, 1)
    until(ann, lambda s: s.troubles == ())


def test_ids_of_members_that_never_were_do_not_fill_the_box(
    connect: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_FOR_STRANGERS", 20)
    ann, bob = connect("ann"), connect("bob")
    until(ann, lambda s: len(s.peers) == 1)
    first = sign(Claim("cleo", 1, "A", time.time()), b"key")
    ghosts = [sign(Claim(f"ghost {number}", 1, "A", time.time()), b"key") for number in range(100)]
    for ghost in (*ghosts, first):
        assert ann.update(ghost, 1.0)
        ann.sync()
    waiting = [token for _, token, _ in ann._node.machine.outbox.rewards]
    assert len(waiting) <= 20
    assert waiting == [*ghosts, first][-len(waiting) :]  # the newest, of whom each has one
    assert ann.statistics().rewards_given_up == 101 - len(waiting)
    assert ann.update(bob.select_arm().id, 1.0)
    until(bob, lambda s: s.own_observations == 1)


def test_what_becomes_of_rewards_for_members_that_are_gone_is_said_and_counted(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture
) -> None:
    def counted() -> tuple[int, int, int]:
        said = ann.statistics()
        return said.rewards_waiting, said.rewards_brought, said.rewards_given_up

    clock = Clock()
    ann, bob, cleo = connect(clock=clock, expire_after=60.0), connect("bob"), connect("cleo")
    decisions = [cleo.select_arm() for _ in range(5)] + [bob.select_arm() for _ in range(20)]
    bob.close()
    ann.sync()  # it has looked for such rewards, and will again in an hour
    ghost = sign(Claim("ghost", 1, "A", time.time() + 1e6), b"key")
    assert all([ann.update(decision.id, 1.0) for decision in decisions] + [ann.update(ghost, 1.0)])
    until(ann, lambda s: s.rewards_brought == 5)
    assert counted() == (21, 5, 0)
    for clock.ahead in (3700.0, 7400.0):  # found waiting, and given up
        ann.sync()
    assert counted() == (0, 5, 21)
    said = [record for record in caplog.records if "rewards" in record.message]
    assert [(record.levelname, record.message.split()[4]) for record in said] == [
        *(("WARNING", name) for name in ("bob", "a")),
        *(("ERROR", name) for name in ("bob", "a")),
    ]


@pytest.mark.parametrize("days", [-3.0, 40.0])
def test_a_member_with_a_wrong_clock_brings_rewards_even_after_a_restart(
    connect: Callable[..., Member], tmp_path: Path, days: float
) -> None:
    bob = connect("bob", state=tmp_path / "bob.db")
    decision = bob.select_arm()
    bob.close()
    clock = Clock()
    clock.ahead = days * 86_400.0
    ann = connect(state=tmp_path / "ann.db", clock=clock)
    ann.update(decision.id, 1.0)
    ann.sync()
    ann.close()
    connect(state=tmp_path / "ann.db", clock=clock)
    until(connect("bob", state=tmp_path / "bob.db"), lambda s: s.own_observations == 1)


def test_what_broadcast_would_have_sent_is_counted_as_it_happens(connect: Callable[..., Member]) -> None:
    ann, bob, eve = connect("ann", arms=["A"]), connect("bob", arms=["A", "B"]), connect("eve", arms=["B"])
    until(ann, lambda s: [peer.common_arms for peer in s.peers if peer.name == "bob"] == [1])
    until(bob, lambda s: [peer.common_arms for peer in s.peers] == [1, 1])
    pull(ann, 3)
    pull(bob, 2)  # A goes to ann, B to eve, who have no arm in common
    counts = [until(ann, lambda s: s.observed == 3), until(bob, lambda s: s.observed == 2)]
    assert [one.immediate for one in counts] == [3, 2]
    eve.close()
    until(bob, lambda s: s.gone == 1)
    decision = bob.select_arm(among=["B"])
    assert bob.update(decision, 1.0)
    assert until(bob, lambda s: s.observed == 3).immediate == 2  # nobody is here who has it


def test_a_changed_id_cannot_withdraw(connect: Callable[..., Member]) -> None:
    ann = connect()
    decision = ann.select_arm()
    with pytest.raises(LocalError, match="was not made by ann"):
        ann.withdraw(sign(Claim("ann", decision.number, "A", decision.at), b"key"))
    assert ann.withdraw(decision)


def test_a_member_that_is_closed_says_so_whatever_is_wanted(connect: Callable[..., Member]) -> None:
    ann = connect()
    ann.close()
    for use in (ann.select_arm, ann.flush, ann.sync, ann.statistics, ann.lift, lambda: ann.add_arm("D")):
        with pytest.raises(LocalError, match="the member 'ann' is closed: open another"):
            use()


def test_a_control_arm_that_is_not_there_is_a_trouble_also_after_a_restart(
    connect: Callable[..., Member], tmp_path: Path
) -> None:
    ann = connect(state=tmp_path / "ann.db")
    ann.kill("B")
    assert ann.statistics().troubles == ()
    ann.remove_arm("B")
    assert any("which this member does not have" in trouble for trouble in ann.statistics().troubles)
    ann.add_arm("B")
    assert (ann.statistics().troubles, ann.select_arm().arm) == ((), "B")
    ann.close()
    again = connect(state=tmp_path / "ann.db", arms=["A", "C"])
    assert any("which this member does not have" in trouble for trouble in again.statistics().troubles)


# Traffic.


def test_floors_and_ceilings_hold_and_propensities_say_so(connect: Callable[..., Member]) -> None:
    ann = connect(floors={"A": 0.2}, ceilings={"C": 0.5}, policy="ucb")
    chosen: dict[str, int] = dict.fromkeys("ABC", 0)
    for _ in range(4000):
        decision = ann.select_arm()
        chosen[decision.arm] += 1
        assert decision.propensity is not None
        ann.update(decision, 1.0 if decision.arm == "C" else 0.0)
    # C is best: it gets its ceiling, A its floor and half of the rest, B the other half. 4000 draws: a standard
    # deviation is below 0.8 %, so five of them are 4 %; exploration at the beginning takes another one.
    for arm, share in {"A": 0.35, "B": 0.15, "C": 0.5}.items():
        assert abs(chosen[arm] / 4000 - share) < 0.05
    weights = [1.0 / entry.propensity for entry in ann.log() if entry.propensity]
    assert abs(sum(weights) / 4000 - 3.0) < 0.3  # each arm's weights add up to the number of decisions


def test_a_new_arm_is_drawn_as_well_where_arms_have_floors(connect: Callable[..., Member]) -> None:
    ann = connect(floors={"A": 0.2}, policy="ucb")
    pull(ann, 20)
    ann.add_arm("D")
    assert {ann.select_arm().arm for _ in range(60)} == set("ABCD")


@pytest.mark.parametrize(
    ("floors", "ceilings", "error"),
    [
        ({"A": 0.6, "B": 0.6}, {}, "the floors add up to 1.2"),
        ({"A": 0.6}, {"A": 0.5}, "the floor of arm 'A', 0.6, is above its ceiling, 0.5"),
        ({"Z": 0.1}, {}, "there is a floor or ceiling for 'Z'"),
        ({}, {"A": 0.1, "B": 0.1, "C": 0.1}, "add up to less than all traffic"),
        ({"A": 1.5}, {}, "the floor of arm 'A' must be a number in"),
    ],
)
def test_limits_that_cannot_be_are_refused(
    connect: Callable[..., Member], floors: dict[str, float], ceilings: dict[str, float], error: str
) -> None:
    with pytest.raises(LocalError, match=error):
        connect(floors=floors, ceilings=ceilings)


def test_a_subject_keeps_its_arm_also_after_a_restart(connect: Callable[..., Member], tmp_path: Path) -> None:
    ann = connect(state=tmp_path / "ann.db")
    first = ann.select_arm(subject="visitor 7")
    pull(ann, 50, reward=0.5)
    assert [ann.select_arm(subject="visitor 7").arm for _ in range(5)] == [first.arm] * 5
    ann.close()
    again = connect(state=tmp_path / "ann.db")
    assert again.select_arm(subject="visitor 7").arm == first.arm


def test_not_every_arm_will_do_every_time(connect: Callable[..., Member]) -> None:
    ann = connect(floors={"A": 0.2})
    assert {ann.select_arm(among=["B", "C"]).arm for _ in range(100)} == {"B", "C"}
    with pytest.raises(LocalError, match=r"^among must be a list of arms, not 'B'$"):
        ann.select_arm(among="B")
    assert [ann.select_arm(among={"B"})[:2] for _ in range(3)] == [("B", 1.0)] * 3
    assert {ann.select_arm().arm for _ in range(100)} == {"A", "B", "C"}
    offers = (["C"], ["A", "C"], ["A"], ["A", "C"])
    assert [ann.select_arm(subject="visitor 7", among=offer).arm for offer in offers] == ["C", "C", "A", "A"]
    ann.kill("B")
    assert ann.select_arm(among=["A", "B"]).arm == "B"
    with pytest.raises(LocalError, match="the kill switch is on, to B, which is not one to choose from"):
        ann.select_arm(among=["C"])
    ann.lift()
    ann.freeze_arm("A")
    decisions = ann.statistics().decisions
    with pytest.raises(LocalError, match=r"none of the arms to choose from \(A, Z\) is on offer now, only B, C"):
        ann.select_arm(among=["A", "Z"])
    assert ann.statistics().decisions == decisions


class Rolls(Policy):
    """Chooses by chance, and does not tell how likely."""

    draws = True

    def select_arm(self) -> str:
        return self.candidates[self.own_pulls % len(self.candidates)]


def test_a_random_policy_does_not_pretend_to_know_propensities(connect: Callable[..., Member]) -> None:
    assert connect(policy=Rolls).select_arm().propensity is None
    assert connect("bob", policy="ucb").select_arm().propensity == 1.0
    assert connect("cleo").select_arm().propensity == pytest.approx(1 / 3)


# Operating.


def test_a_frozen_arm_loses_its_traffic_everywhere_and_gets_it_back(connect: Callable[..., Member]) -> None:
    ann, bob = connect("ann"), connect("bob")
    until(ann, lambda s: len(s.peers) == 1)
    ann.freeze_arm("A")
    until(bob, lambda s: s.arms[0].is_frozen)
    assert {bob.select_arm().arm for _ in range(100)} == {"B", "C"}
    assert {ann.select_arm().arm for _ in range(100)} == {"B", "C"}
    bob.unfreeze_arm("A")
    until(ann, lambda s: not s.arms[0].is_frozen)
    assert "A" in {ann.select_arm().arm for _ in range(100)}


def test_the_kill_switch_spreads_stays_after_a_restart_and_can_be_lifted(
    connect: Callable[..., Member], tmp_path: Path
) -> None:
    ann, bob = connect("ann"), connect("bob", state=tmp_path / "bob.db")
    until(ann, lambda s: len(s.peers) == 1)
    ann.kill("B")
    until(bob, lambda s: s.control_arm == "B")
    bob.close()
    bob = connect("bob", state=tmp_path / "bob.db")
    decision = bob.select_arm(subject="somebody")
    assert (decision.arm, decision.propensity) == ("B", 1.0)
    newcomer = connect("cleo")
    bob.lift()
    for member in (ann, newcomer):
        until(member, lambda s: s.control_arm is None)
    assert {ann.select_arm().arm for _ in range(100)} == {"A", "B", "C"}


def test_a_deployment_does_not_lift_the_kill_switch(connect: Callable[..., Member]) -> None:
    old = connect("old")
    old.kill("B")
    old.freeze_arm("C")
    generations = [old]
    for number in range(3):
        new = connect(f"new-{number}")
        assert (new.select_arm().arm, new.statistics().settings_from) == ("B", generations[-1].name)
        generations.pop().close()
        generations.append(new)
    generations[0].lift()
    assert {generations[0].select_arm().arm for _ in range(60)} == {"A", "B"}


def test_who_is_alone_does_not_wait_and_says_so(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "cobandit")
    monkeypatch.setattr(first_settings, "ALONE_AFTER", 10 * WITHIN)
    began = time.monotonic()
    assert connect("ann").statistics().settings_from is None
    assert time.monotonic() - began < WITHIN
    assert caplog.messages == [
        "event=starts_alone ann: nobody else is here: it starts with its own settings (none are set)"
    ]


def test_operators_are_told_what_cannot_be(connect: Callable[..., Member]) -> None:
    ann = connect()
    with pytest.raises(LocalError, match="arm 'Z' is not one of A, B, C"):
        ann.kill("Z")
    ann.freeze_arm("A")
    ann.freeze_arm("B")
    with pytest.raises(LocalError, match="arm 'C' is the last one that is not frozen"):
        ann.freeze_arm("C")
    ann.remove_arm("A")
    ann.remove_arm("B")
    with pytest.raises(LocalError, match="arm 'C' is the last one"):
        ann.remove_arm("C")


def test_arms_are_added_and_removed_while_running(connect: Callable[..., Member], tmp_path: Path) -> None:
    ann, bob = connect("ann", state=tmp_path / "ann.db", policy="ucb"), connect("bob")
    until(ann, lambda s: len(s.peers) == 1)
    pull(ann, 20)
    ann.add_arm("D")
    bob.add_arm("D")
    assert ann.select_arm().arm == "D"
    ann.remove_arm("A")
    assert "A" not in {ann.select_arm().arm for _ in range(20)}
    pull(ann, 10)
    pull(bob, 10)
    for member in (ann, bob):
        until(member, lambda s: s.observations == 40)
    ann.add_arm("A")
    assert "A" in {ann.select_arm().arm for _ in range(40)}


def test_arms_that_are_given_at_a_restart_are_what_is_offered(connect: Callable[..., Member], tmp_path: Path) -> None:
    ann = connect(state=tmp_path / "ann.db")
    pull(ann, 30)
    ann.close()
    again = connect(state=tmp_path / "ann.db", arms=["B", "D"], policy="ucb")
    assert {again.select_arm().arm for _ in range(20)} == {"B", "D"}
    assert again.statistics().own_observations == 30
    assert [arm.arm for arm in again.statistics().arms if arm.is_removed] == ["A", "C"]


def test_a_snapshot_is_looked_at_only_if_there_is_no_state_yet(connect: Callable[..., Member], tmp_path: Path) -> None:
    connect(state=tmp_path / "ann.db").close()
    connect(state=tmp_path / "ann.db", snapshot=tmp_path / "gone").close()


def test_a_member_starts_off_line_from_what_another_knew(connect: Callable[..., Member]) -> None:
    ann = connect("ann")
    pull(ann, 40)
    ann.sync()
    snapshot = ann.snapshot()
    bob = connect("bob", group="elsewhere", snapshot=snapshot)
    assert (bob.statistics().observations, bob.statistics().own_observations) == (40, 0)
    bob.close()
    cleo = connect("cleo", snapshot=snapshot)
    until(cleo, lambda s: len(s.peers) == 1)
    pull(ann, 5)
    pull(cleo, 5)
    for member in (ann, cleo):
        assert until(member, lambda s: s.observations >= 50).observations == 50


def test_the_log_says_what_was_decided_and_what_came_of_it(connect: Callable[..., Member], tmp_path: Path) -> None:
    ann = connect(state=tmp_path / "ann.db", policy="ucb")
    rewarded, waiting = ann.select_arm(), ann.select_arm(subject="s")
    ann.update(rewarded, 0.25)
    entries = list(ann.log())
    assert [(e.number, e.arm, e.propensity, e.subject, e.at) for e in entries] == [
        (rewarded.number, "A", 1.0, None, rewarded.at),
        (waiting.number, "B", 1.0, "s", waiting.at),
    ]
    assert [e.rewarded_at is not None for e in entries] == [True, False]


# Starting and stopping.


def test_a_clean_stop_keeps_the_incarnation_and_a_crash_does_not(
    connect: Callable[..., Member], tmp_path: Path
) -> None:
    ann = connect(state=tmp_path / "ann.db")
    boot = ann.statistics().incarnation
    ann.close()
    again = connect(state=tmp_path / "ann.db")
    assert again.statistics().incarnation == boot
    again.sync()
    copy = tmp_path / "copy.db"
    for suffix in ("", "-wal"):  # as a crash leaves it
        if (tmp_path / f"ann.db{suffix}").exists():
            (tmp_path / f"copy.db{suffix}").write_bytes((tmp_path / f"ann.db{suffix}").read_bytes())
    again.close()
    crashed = connect(state=copy)
    assert crashed.statistics().incarnation > boot


def test_workers_that_are_started_alike_find_names_of_their_own(connect: Callable[..., Member], tmp_path: Path) -> None:
    first, second = (connect("web-*", state=tmp_path / "web-*.db") for _ in range(2))
    assert (first.name, second.name) == ("web-1", "web-2")
    first.close()
    assert connect("web-*", state=tmp_path / "web-*.db").name == "web-1"


def test_workers_that_are_started_alike_listen_on_ports_of_their_own(tmp_path: Path) -> None:
    first_port = free_port(row=3)
    members = [
        cobandit.connect(
            f"udp://127.0.0.1:{first_port}+*",
            group="tested",
            name="web-*",
            state=tmp_path / "web-*.db",
            arms=["A", "B"],
            peers=[f"127.0.0.1:{first_port + number}" for number in (1, 2)],
            secret="a secret of thirty-two characters",
            sharing=QUICK,
        )
        for _ in range(2)
    ]
    try:
        for member in members:
            pull(member, 5)
        assert [until(member, lambda s: s.observations == 10).name for member in members] == ["web-1", "web-2"]
    finally:
        for member in members:
            member.close()


LEFT_OPEN = """
import sys, cobandit
member = cobandit.connect("memory://m", group="g", name="ann", arms=["A"], state=sys.argv[1])
member.update(member.select_arm(), 1.0)
print(member.statistics().incarnation)
"""


def test_a_member_that_the_program_leaves_open_stops_cleanly_when_it_ends(tmp_path: Path) -> None:
    ended = [
        subprocess.run(
            [sys.executable, "-c", LEFT_OPEN, str(tmp_path / "ann.db")], capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert [run.stderr for run in ended] == ["", ""]
    assert ended[0].stdout == ended[1].stdout  # the same boot: nothing had to be restored


def test_a_state_file_of_another_member_is_refused(connect: Callable[..., Member], tmp_path: Path) -> None:
    connect("ann", state=tmp_path / "state.db").close()
    with pytest.raises(LocalError, match=r"state.db belongs to member 'ann', not to 'bob'"):
        connect("bob", state=tmp_path / "state.db")
    connect("ann", state=tmp_path / "state.db")  # what was refused let go of the file


def test_a_state_file_of_another_group_is_refused(connect: Callable[..., Member], tmp_path: Path) -> None:
    connect("ann", state=tmp_path / "state.db").close()
    with pytest.raises(LocalError, match=r"state.db belongs to a member of group 'tested', not of 'other'"):
        connect("ann", group="other", state=tmp_path / "state.db")


def test_after_the_kill_switch_subjects_have_the_arm_that_they_had_before(
    connect: Callable[..., Member], tmp_path: Path
) -> None:
    ann = connect(state=tmp_path / "ann.db")
    before = [ann.select_arm(subject=f"visitor {number}").arm for number in range(6)]
    ann.kill("B")
    assert {ann.select_arm(subject=f"visitor {number}").arm for number in range(6)} == {"B"}
    ann.lift()
    ann.close()
    again = connect(state=tmp_path / "ann.db")
    assert [again.select_arm(subject=f"visitor {number}").arm for number in range(6)] == before


def test_two_members_of_one_name_in_one_process_are_refused(connect: Callable[..., Member]) -> None:
    connect("ann")
    with pytest.raises(LocalError, match="'ann' is already in group 'tested' of this process"):
        connect("ann")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"arms": []}, "the arm set is empty"),
        ({"arms": "ABC"}, "arms must be a list of names"),
        ({"arms": ["A", "A"]}, "arm names must differ"),
        ({"group": ""}, "the name of a group must be a string"),
        ({"name": ""}, "the name of a member must be a string"),
        ({"policy": "magic"}, "policy 'magic' is not one of ucb, aae, kl-ucb, ucb-v, thompson"),
        ({"sharing": on_demand()}, "live members need loss_tolerant"),
        ({"expire_after": 0}, "expire_after must be a positive number"),
        ({"default_reward": 2.0}, "a reward must be a number"),
        ({"name": "web-*"}, "use a star in both name and state"),
        ({"url": "udp://127.0.0.1:7100+*"}, "a star in the address needs one in name and state too"),
        ({"keys": "a", "secret": "b"}, "give keys or a secret, not both"),
        ({"peers": "a:1"}, "peers must be a list of addresses, such as"),
        ({"peers": ["a:1"]}, "memory:// finds the other members by itself"),
        ({"snapshot": b"nonsense"}, "not a snapshot"),
        ({"snapshot": "nowhere"}, "the snapshot nowhere cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_happens(
    connect: Callable[..., Member], options: dict[str, Any], error: str
) -> None:
    with pytest.raises(LocalError, match=error):
        connect(**options)


def test_after_one_observation_an_interval_promises_nothing(connect: Callable[..., Member]) -> None:
    ann = connect(arms=["A"], policy="ucb")
    intervals = []
    for count in (1, 2):
        ann.update(ann.select_arm(), 1.0)
        (arm,) = until(ann, lambda s: s.observations == count).arms  # noqa: B023  # called here
        intervals.append((arm.mean, arm.low, arm.high))
    width = math.sqrt(3.0 * math.log(2) / (2.0 * 2.0))
    assert intervals == [(1.0, 0.0, 1.0), (1.0, pytest.approx(1.0 - width), 1.0)]


@pytest.mark.parametrize("url", ["", "http://x", "nats:", 7, "tls://127.0.0.1:0", "udp://127.0.0.1:0"])
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(LocalError):
        cobandit.connect(url, group="g", name="n", arms=["A"])


def _decide_in_a_child(member: Member, answers: Any) -> None:
    try:
        member.select_arm()
    except LocalError as error:
        answers.put(str(error))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_is_told_to_open_its_own(connect: Callable[..., Member]) -> None:
    ann = connect()
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_decide_in_a_child, args=(ann, answers))
    child.start()
    child.join(WITHIN)
    assert "was opened before this process was forked" in answers.get()
    assert ann.select_arm().arm in ann.arms


def _say_who_is_there_in_a_child(answers: "multiprocessing.queues.SimpleQueue[list[tuple[str, str]]]") -> None:
    answers.put(list(hub("forked").members))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_members_of_the_parent_are_not_there_in_a_forked_child(connect: Callable[..., Member]) -> None:
    connect(url="memory://forked")
    assert list(hub("forked").members) == [("tested", "ann")]
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_say_who_is_there_in_a_child, args=(answers,))
    child.start()
    child.join(WITHIN)
    assert answers.get() == []


def test_a_member_of_its_own_policy(connect: Callable[..., Member]) -> None:
    class Stubborn(UCB):
        def select_arm(self) -> str:
            return self.candidates[-1]

    def build(arms: Any) -> Policy:
        return Stubborn(arms)

    assert connect(policy=build).select_arm().arm == "C"


def test_members_with_other_arms_are_told_once(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "cobandit"):
        ann, bob = connect("ann"), connect("bob", arms=["B", "C", "D"])
        until(ann, lambda s: len(s.peers) == 1)
        until(bob, lambda s: len(s.peers) == 1)
    told = [record.getMessage() for record in caplog.records if record.name == "cobandit"]
    assert (
        told.count(
            "event=arms_differ ann: bob has other arms (only there: D; only here: A): the two learn together about B, "
            "C. If that is not meant, start both with the same arms"
        )
        == 1
    )


def test_members_with_another_quantum_do_not_mix(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "cobandit"):
        ann = connect("ann")
        bob = connect("bob", quantum=1.0)
        until(ann, lambda s: s.refused.get("absurd", 0) > 0)
        pull(bob, 5)
        bob.sync()
    assert ann.statistics().observations == 0
    assert any("a whole group must declare the same quantum" in record.getMessage() for record in caplog.records)


def test_groups_on_one_network_do_not_hear_each_other(connect: Callable[..., Member]) -> None:
    ann, bob = connect("ann"), connect("bob", group="other")
    pull(ann, 5)
    pull(bob, 5)
    ann.sync()
    bob.sync()
    assert (ann.statistics().peers, bob.statistics().peers) == ((), ())


def test_many_threads_decide_with_one_decider(connect: Callable[..., Member]) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    ann = connect()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: pull(ann, 250), range(8)))
    ann.sync()
    statistics = ann.statistics()
    assert (statistics.decisions, statistics.own_observations, statistics.open_decisions) == (2000, 2000, 0)
    assert len({entry.number for entry in ann.log()}) == 2000
