"""One fleet, many bandits: what people do with bandits that have names, through the public door, over memory."""

import asyncio
import itertools
import math
import pickle
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import cobandit
from cobandit import UCB, Constant, RetryTimers, on_demand
from cobandit.live.decide.decision import Claim, read, sign
from cobandit.live.decide.full_names import split
from cobandit.live.decide.taken import Taken
from cobandit.live.drive.declaring import seconds
from cobandit.live.drive.member import Member
from cobandit.live.drive.named_bandit import NamedBandit
from cobandit.live.machine import bandits
from cobandit.live.machine.guard import MAX_SESSIONS_AT_ONCE
from cobandit.values.errors import LocalError, NotNowError

QUICK = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.2, longest=1.0))
WITHIN = 60.0
_networks = itertools.count()


class Clock:
    """A real clock that a test may put forward, and let stand for a while."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.stands_at: float | None = None

    def now(self) -> float:
        return time.time() + self.ahead if self.stands_at is None else self.stands_at

    time_of_day = now


class Remembering(UCB):
    """A policy with state of its own."""

    stateful = True


@pytest.fixture
def connect() -> Iterator[Callable[..., Member]]:
    """Connects members of one fleet of this test's own, and closes them in the end."""
    url, members = f"memory://bandits-{next(_networks)}", list[Member]()

    def connected(name: str, **options: Any) -> Member:
        member = cobandit.connect(url, fleet="shop", name=name, **{"sharing": QUICK, **options})
        members.append(member)
        return member

    yield connected
    for member in members:
        member.close()


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN
    while not holds():
        assert time.monotonic() < until, "it never came to hold"
        time.sleep(0.01)


def home_of(member: Member, **options: Any) -> NamedBandit:
    return member.bandit("home", ["A", "B"], **{"policy": "ucb", **options})


def counts(bandit: NamedBandit, segment: str = "") -> dict[str, int]:
    return {arm.arm: arm.observations for arm in bandit.statistics(segment).arms if arm.observations}


def pull(bandit: NamedBandit, times: int, segment: str = "", reward: float = 1.0) -> None:
    for _ in range(times):
        assert bandit.update(bandit.select_arm(segment, among=["A"]), reward) is Taken.COUNTED


def test_members_learn_together_about_each_segment_of_each_bandit(connect: Callable[..., Member]) -> None:
    one, other = connect("one"), connect("other")
    first, second = home_of(one), home_of(other)
    mail = one.bandit("mail", ["A", "C"], policy="ucb")
    pull(first, 3, "de")
    pull(second, 2, "de")
    pull(second, 1, "fr")
    pull(mail, 4)
    eventually(lambda: counts(first, "de") == counts(second, "de") == {"A": 5} and counts(first, "fr") == {"A": 1})
    assert counts(second) == {}
    assert counts(mail) == {"A": 4}
    assert [(b.name, b.segments, b.own_observations) for b in one.statistics().bandits] == [
        ("home", 2, 3),
        ("mail", 1, 4),
    ]
    assert [b.name for b in other.statistics().bandits] == ["home"]
    late = other.bandit("mail", ["A", "C"], policy="ucb")
    eventually(lambda: counts(late) == {"A": 4})


def test_after_a_restart_the_first_decision_of_a_segment_knows_what_the_state_knows(
    connect: Callable[..., Member], tmp_path: Path
) -> None:
    state = tmp_path / "one.db"
    with connect("one", state=state) as before:
        home = before.bandit("home", ["A", "B", "C"])
        for segment, arm in itertools.product(map(str, range(40)), "ABC"):
            for _ in range(20):
                home.update(home.select_arm(segment, among=[arm]), float(arm == "A"))
        before.sync()
    after = connect("one", state=state).bandit("home", ["A", "B", "C"])
    for segment in map(str, range(40)):
        decision = after.select_arm(segment)
        assert decision.propensity is not None
        assert (decision.arm, decision.propensity > 0.999) == ("A", True)


def test_bandits_that_are_declared_in_a_row_are_announced_together(connect: Callable[..., Member]) -> None:
    """Each begins a session, and who begins too many is not heard for a while."""
    clock = Clock()
    one, other = connect("one", clock=clock), connect("other", clock=clock)
    clock.stands_at = clock.now()
    for number in range(2 * MAX_SESSIONS_AT_ONCE):
        one.bandit(f"bandit {number}", ["A", "B"])
    clock.stands_at = None
    last, theirs = home_of(one), home_of(other)
    last.update(last.select_arm(), 1.0)
    eventually(lambda: sum(counts(theirs).values()) == 1)
    assert other.statistics().refused == {}


def test_rewards_of_any_range_are_taken_and_others_are_refused_with_the_range(connect: Callable[..., Member]) -> None:
    bandit = connect("one").bandit("profit", ["A", "B"], rewards=(-50, 200), policy="ucb")
    for reward in (-50, 200, 12.5):
        bandit.update(bandit.select_arm(among=["A"]), reward)
    decision = bandit.select_arm()
    for wrong in (200.01, -51, float("nan"), "12"):
        with pytest.raises(LocalError, match="from -50 to 200"):
            bandit.update(decision, wrong)  # type: ignore[arg-type]
        with pytest.raises(LocalError, match="from -50 to 200"):
            bandit.update(decision.id, wrong)  # type: ignore[arg-type]
    assert bandit.withdraw(decision)
    eventually(lambda: counts(bandit) == {"A": 3})
    mean = bandit.statistics().arms[0].mean
    assert mean is not None
    assert abs(mean - (-50 + 200 + 12.5) / 3) < 1e-3


def test_an_id_says_bandit_and_segment_and_counts_once_wherever_it_is_brought(connect: Callable[..., Member]) -> None:
    one, other = connect("one"), connect("other")
    first, second = home_of(one), home_of(other)
    decision = first.select_arm("de", "user-17")
    assert first.select_arm("de", "user-17").arm == decision.arm
    assert (decision.bandit, decision.segment) == ("home", "de")
    assert split(read(decision.id).arm) == (("home", "de"), decision.arm)
    assert pickle.loads(pickle.dumps(decision)).id == decision.id
    assert second.update(decision.id, 1.0) is Taken.ON_ITS_WAY
    eventually(lambda: counts(first, "de") == {decision.arm: 1})
    assert one.update(decision.id, 1.0) is Taken.COUNTED_BEFORE
    assert first.update(decision, 1.0) is Taken.COUNTED_BEFORE
    eventually(lambda: counts(second, "de") == {decision.arm: 1})


@pytest.mark.parametrize("wrong", ["12", "abc", None, [1], 1j, 10**400, math.nan, math.inf, Decimal("sNaN")])
def test_what_is_no_number_rewards_nobody_although_the_bandit_is_not_declared_where_it_is_brought(
    connect: Callable[..., Member], wrong: Any
) -> None:
    one, other = connect("one"), connect("other")
    token = home_of(one).select_arm().id
    with pytest.raises(LocalError, match="a reward must be a finite number, not "):
        other.update(token, wrong)
    with pytest.raises(LocalError, match="a reward must be a finite number, not "):
        asyncio.run(other.updated(token, wrong))
    assert other.update(token, True) is Taken.ON_ITS_WAY
    eventually(lambda: other.statistics().rewards_brought == 1)
    assert one.update(token, 0.0) is Taken.COUNTED_BEFORE


def test_a_restart_keeps_bandits_segments_and_open_decisions(connect: Callable[..., Member], tmp_path: Path) -> None:
    state = tmp_path / "one.db"
    member = connect("one", state=state)
    bandit = home_of(member, rewards=(0, 10), window="1h")
    pull(bandit, 3, "de", 5.0)
    waiting, given_back = bandit.select_arm("de", "user-1"), bandit.select_arm("fr")
    member.close()
    member = connect("one", state=state)
    with pytest.raises(NotNowError, match="declare it"):
        member.update(waiting.id, 5.0)
    with pytest.raises(LocalError, match="rewards"):
        home_of(member, rewards=(0, 20), window="1h")
    bandit = home_of(member, rewards=(0, 10), window="1h")
    assert counts(bandit, "de") == {"A": 3}
    assert bandit.select_arm("de", "user-1").arm == waiting.arm
    assert bandit.update(waiting.id, 5.0) is Taken.COUNTED
    assert bandit.update(waiting.id, 5.0) is Taken.COUNTED_BEFORE
    assert member.withdraw(given_back.id)
    eventually(lambda: sum(counts(bandit, "de").values()) == 4)


def test_segments_have_a_limit_and_one_beyond_it_changes_nothing(connect: Callable[..., Member]) -> None:
    member = connect("one")
    bandit = home_of(member, max_segments=2)
    bandit.select_arm("de")
    bandit.select_arm("fr")
    with pytest.raises(LocalError, match="2 segments already"):
        bandit.select_arm("it")
    with pytest.raises(LocalError, match="control characters"):
        bandit.select_arm("a\nb")
    with pytest.raises(LocalError, match="a segment"):
        home_of(member, max_segments=9).select_arm("x" * 201)
    assert bandit.segments == ("de", "fr")


def test_two_definitions_of_one_bandit_are_told_which_value_differs(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture
) -> None:
    one, other = connect("one"), connect("other")
    first = home_of(one)
    with pytest.raises(LocalError, match=r"rewards: \(0.0, 1.0\) before, \(0.0, 5.0\) now"):
        home_of(one, rewards=(0, 5))
    second = home_of(other, rewards=(0, 5))
    pull(first, 2)
    pull(second, 3)
    eventually(lambda: "declares bandit 'home' differently (rewards: " in caplog.text)
    eventually(lambda: counts(first) == {"A": 2} and counts(second) == {"A": 3})


def test_a_relay_serves_what_others_declare_besides_what_was_declared_here_meanwhile(
    connect: Callable[..., Member],
) -> None:
    relay = connect("relay", relay=True)
    relay.bandit("home", ["A", "B", "C"])
    machine = relay.machine
    (home,) = machine.agent.bandits

    def heard_before() -> None:
        """Let it have heard, before it declared its own, what others declare."""
        machine.serving.wanted = home._replace(arms=("A", "B")), home._replace(name="mail")

    relay.on_loop(heard_before)
    relay.sync()
    eventually(
        lambda: {one.name: one.arms for one in machine.agent.bandits} == dict.fromkeys(("home", "mail"), home.arms)
    )
    assert relay.statistics().troubles == ()


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ({"window": "14d"}, "window: 7d before, 14d now"),
        ({"half_life": "12h"}, "window of 7d before, half_life of 12h now"),
        ({}, "window: 7d before, none now"),
        ({"window": "7d", "quantum": 0.25}, "quantum: 1e-06 before, 0.25 now"),
    ],
)
def test_another_window_after_a_restart_is_refused_as_it_was_said_with_what_to_do(
    connect: Callable[..., Member], tmp_path: Path, now: dict[str, Any], words: str
) -> None:
    first = connect("one", state=tmp_path / "one")
    home_of(first, window="7d")
    first.close()
    again = connect("one", state=tmp_path / "one")
    with pytest.raises(LocalError, match=rf"\({words}\): declare it as it was, or under another name, at every member"):
        home_of(again, **now)
    assert home_of(again, window="7d").select_arm().arm


def test_who_starts_again_is_told_again_which_value_differs(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    one, other = connect("one", state=tmp_path / "one"), connect("other")
    home_of(one)
    home_of(other, rewards=(0, 5))
    eventually(lambda: "one: other declares bandit 'home' differently" in caplog.text)
    one.close()
    other.close()  # so that it says nothing more
    again = connect("one", state=tmp_path / "one")
    caplog.clear()
    home_of(again)
    assert "one: other declares bandit 'home' differently (rewards: (0.0, 1.0) here, (0.0, 5.0) there)" in caplog.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": "9s"}, "at least 10 seconds"),
        ({"half_life": 3}, "at least 4 seconds"),
        ({"window": "1h", "half_life": "1h"}, "not both"),
        ({"window": "soon"}, "such as"),
        ({"window": "1h", "policy": "aae"}, "never observed again.*Take ucb"),
        ({"half_life": "1h", "policy": "aae"}, "never observed again"),
        ({"policy": Remembering}, "keeps state of its own"),
        ({"rewards": (5, 5)}, "smallest and the largest"),
        ({"rewards": 5}, "smallest and the largest"),
        ({"quantum": 0.3}, "whole steps"),
        ({"policy": "magic"}, "not one of"),
        ({"floors": {"C": 0.1}}, "not one of A, B"),
        ({"default_reward": 2.0}, "a reward"),
        ({"max_segments": 0}, "max_segments"),
    ],
)
def test_bandits_that_cannot_be_are_refused_and_nothing_changes(
    connect: Callable[..., Member], options: dict[str, Any], words: str
) -> None:
    member = connect("one")
    with pytest.raises(LocalError, match=words):
        home_of(member, **options)
    assert member.statistics().bandits == ()


def test_arms_are_frozen_and_killed_for_one_bandit_and_for_the_fleet(connect: Callable[..., Member]) -> None:
    one, other = connect("one"), connect("other")
    home, mail = home_of(one), other.bandit("mail", ["A", "B"])
    there = home_of(other)
    home.freeze_arm("A")
    eventually(lambda: {there.select_arm().arm for _ in range(20)} == {"B"})
    assert {mail.select_arm().arm for _ in range(60)} == {"A", "B"}
    with pytest.raises(LocalError, match="last one"):
        home.freeze_arm("B")
    home.unfreeze_arm("A")
    home.kill("A")
    eventually(lambda: {there.select_arm("new").arm for _ in range(20)} == {"A"})
    home.lift()
    one.kill("B")
    eventually(lambda: {desk.select_arm().arm for desk in (home, there, mail) for _ in range(20)} == {"B"})
    assert [bandit.control_arm for bandit in other.statistics().bandits] == ["B", "B"]


def test_segments_that_are_there_offer_the_arms_that_a_bandit_gets(connect: Callable[..., Member]) -> None:
    fleet = connect("one")
    home = home_of(fleet)
    pull(home, 5, "old")
    home = fleet.bandit("home", ["A", "B", "C"], policy="ucb")
    assert home.select_arm("old", among=["C"]).arm == "C"
    home.kill("C")
    eventually(lambda: {home.select_arm("old").arm for _ in range(20)} == {"C"})
    assert [bandit.control_arm for bandit in fleet.statistics().bandits] == ["C"]


def test_a_kill_switch_to_an_arm_that_a_member_lacks_does_not_hide_that_of_the_fleet(
    connect: Callable[..., Member],
) -> None:
    one, other = connect("one"), connect("other")
    more, fewer = one.bandit("home", ["A", "B", "C"], policy="ucb"), home_of(other)
    more.kill("C")
    one.kill("A")
    eventually(lambda: {fewer.select_arm().arm for _ in range(20)} == {"A"})
    assert {more.select_arm().arm for _ in range(20)} == {"C"}
    told = [[bandit.control_arm for bandit in member.statistics().bandits] for member in (one, other)]
    assert told == [["C"], ["A"]]


def test_a_fleet_that_is_closed_decides_no_more(connect: Callable[..., Member]) -> None:
    fleet = connect("one")
    home = home_of(fleet)
    home.select_arm("old")
    fleet.close()
    for segment in ("old", "new"):
        with pytest.raises(NotNowError, match="closed"):
            home.select_arm(segment)


def test_a_verdict_is_in_the_range_of_the_rewards(connect: Callable[..., Member]) -> None:
    fleet = connect("one")
    home = fleet.bandit("home", ["A", "B"], rewards=(-50, 150))
    for _ in range(30):
        home.update(home.select_arm("de", among=["A"]), 150.0)
    fleet.sync()
    verdict = home.verdict("de")
    assert verdict is not None
    assert verdict.leader == "A"
    assert verdict.mean == pytest.approx(-50 + 200 * 31 / 32)
    assert 0.0 < verdict.loss < 200.0


def test_a_relay_serves_what_its_leaves_declare(connect: Callable[..., Member]) -> None:
    connect("relay", relay=True)
    one, other = (connect(name, relays=["relay"]) for name in ("one", "other"))
    first, second = home_of(one, window="1h"), home_of(other, window="1h")
    pull(first, 3, "de")
    pull(second, 2, "de")
    eventually(lambda: counts(first, "de") == counts(second, "de") == {"A": 5})


def test_segments_that_were_only_heard_of_have_desks_as_far_as_there_is_room_and_count_against_no_limit(
    connect: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bandits, "ROOM_AHEAD", 3 * (bandits.ROOM_EACH + 2))
    one, other = connect("one"), connect("other")
    first, second = home_of(one), home_of(other, max_segments=2)
    for number in range(9):
        pull(first, 1, f"s{number}")
    eventually(lambda: other.statistics().bandits[0].observations == 9)
    assert len(second.segments) == 3
    assert other.statistics().bandits[0].segments == 9
    made = other.on_loop(lambda: len(other.machine.agent.learners.policies))
    other.statistics()
    for number in range(20):  # who only looks makes none
        assert second.statistics(f"s{number}").observations == (number < 9)
    assert other.on_loop(lambda: len(other.machine.agent.learners.policies)) == made == 3
    assert other.statistics().bandits[0].segments == 9
    pull(second, 1, "new")
    pull(second, 1, "s8")  # what others observed of it counts here as soon as it is asked for
    eventually(lambda: sum(other.machine.decider.desks["home", "s8"].published.counts.values()) == 2)
    with pytest.raises(LocalError, match="2 segments already"):
        second.select_arm("one too many")


def test_segments_of_a_window_that_has_passed_make_room_for_others(connect: Callable[..., Member]) -> None:
    clock = Clock()
    member = connect("one", clock=clock)
    home, kept = home_of(member, window="10h", max_segments=2), member.bandit("kept", ["A"], max_segments=1)
    pull(home, 1, "rewarded")
    waiting = home.select_arm("waiting")
    pull(kept, 1, "for ever")
    with pytest.raises(LocalError, match="2 segments already"):
        home.select_arm("new")
    member.sync()
    clock.ahead = 12 * 3600.0
    pull(kept, 1, "for ever")
    eventually(lambda: home.segments == ("waiting",))
    pull(home, 1, "new")
    assert home.update(waiting, 1.0)
    eventually(lambda: counts(home, "waiting") == counts(home, "new") == {"A": 1})
    assert kept.segments == ("for ever",)


def test_what_is_older_than_the_window_is_forgotten_everywhere(connect: Callable[..., Member]) -> None:
    clock = Clock()
    one, other = (connect(name, clock=clock) for name in ("one", "other"))
    first, second = home_of(one, window="10h"), home_of(other, window="10h")
    kept = one.bandit("mail", ["A"], policy="ucb")
    pull(first, 5)
    pull(kept, 1)
    eventually(lambda: counts(second) == {"A": 5})
    clock.ahead = 5 * 3600.0
    pull(first, 2)
    eventually(lambda: counts(second) == {"A": 7})
    clock.ahead = 11 * 3600.0
    pull(second, 1)
    pull(first, 1)
    eventually(lambda: counts(first) == counts(second) == {"A": 4})
    assert counts(kept) == {"A": 1}


def test_a_fleet_has_no_bandit_without_a_name_and_a_group_no_other(connect: Callable[..., Member]) -> None:
    member = connect("one")
    with pytest.raises(LocalError, match="bandits with names"):
        member.select_arm()
    with (
        cobandit.connect("memory://one-group", group="g", arms=["A"], name="x") as plain,
        pytest.raises(LocalError, match="one bandit"),
    ):
        plain.bandit("home", ["A"])
    with pytest.raises(LocalError, match="not both"):
        cobandit.connect("memory://x", fleet="shop", group="g", arms=["A"], name="x")
    with pytest.raises(LocalError, match="group="):
        cobandit.connect("memory://x", name="x")


def test_a_policy_with_state_of_its_own_is_refused_by_a_group_too() -> None:
    with pytest.raises(LocalError, match="keeps state of its own"):
        cobandit.connect("memory://stateful", group="g", arms=["A"], name="x", policy=Remembering)


def test_durations() -> None:
    assert [seconds("window", said) for said in ("90s", "2min", "1.5h", "7d", "1w", 3)] == [
        *(90.0, 120.0, 5400.0, 604_800.0, 604_800.0, 3.0)
    ]


def test_what_nobody_declares_who_is_here_and_nothing_was_counted_of_gives_way_at_a_relay_to_another_definition(
    connect: Callable[..., Member],
) -> None:
    relay, mistaken = connect("relay", relay=True), connect("mistaken", relays=["*"])
    home_of(mistaken, rewards=(0, 100))
    eventually(lambda: [one.rewards for one in relay.statistics().bandits] == [(0.0, 100.0)])
    other = connect("other", relays=["*"])
    home_of(other, rewards=(0, 200))
    eventually(lambda: other.machine.agent.bandit("home") is not None)
    pull(home_of(other, rewards=(0, 200)), 1)
    assert [one.rewards for one in relay.statistics().bandits] == [(0.0, 100.0)]  # who declares it is here
    mistaken.close()
    eventually(lambda: "mistaken" not in relay.machine.agent.peers)
    first, second = home_of(connect("one", relays=["*"]), rewards=(0, 200)), home_of(other, rewards=(0, 200))
    eventually(lambda: [one.rewards for one in relay.statistics().bandits] == [(0.0, 200.0)])
    for _ in range(3):
        pull(first, 1)
        pull(second, 1)
    eventually(lambda: counts(first) == counts(second) == {"A": 7})


def test_what_was_counted_at_a_relay_keeps_its_definition_although_nobody_who_is_here_declares_it(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture
) -> None:
    relay, first = connect("relay", relay=True), connect("first", relays=["*"])
    pull(home_of(first, rewards=(0, 100)), 3)
    eventually(lambda: [one.observations for one in relay.statistics().bandits] == [3])
    first.close()
    eventually(lambda: "first" not in relay.machine.agent.peers)
    home_of(connect("mistaken", relays=["*"]), rewards=(0, 200))
    eventually(lambda: "mistaken declares bandit 'home' differently (rewards: " in caplog.text)
    assert [(one.rewards, one.observations) for one in relay.statistics().bandits] == [((0.0, 100.0), 3)]
    again = home_of(connect("again", relays=["*"]), rewards=(0, 100))
    eventually(lambda: counts(again) == {"A": 3})


def test_names_that_nobody_declares_who_is_here_make_room_at_a_relay(
    connect: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobandit.live.machine.serving.MAX_BANDITS", 3)
    relay, rogue = connect("relay", relay=True), connect("rogue", relays=["*"])
    kept = relay.bandit("kept", ["A"])
    for name in ("junk 1", "junk 2"):
        rogue.bandit(name, ["A"])
    eventually(lambda: len(relay.statistics().bandits) == 3)
    rogue.close()
    eventually(lambda: "rogue" not in relay.machine.agent.peers)
    home_of(connect("one", relays=["*"]))
    eventually(lambda: [one.name for one in relay.statistics().bandits] == [kept.name, "home"])


@pytest.mark.parametrize("rewards", [(0, 100), (0, 200)])
def test_a_bandit_that_made_room_at_a_relay_comes_back_as_what_was_counted_of_it(
    connect: Callable[..., Member],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    rewards: tuple[int, int],
) -> None:
    monkeypatch.setattr("cobandit.live.machine.serving.MAX_BANDITS", 2)
    relay, first = connect("relay", relay=True), connect("first", relays=["*"])
    pull(first.bandit("home", ["A", "B", "C"], rewards=(0, 100)), 3)
    eventually(lambda: [one.observations for one in relay.statistics().bandits] == [3])
    first.close()
    eventually(lambda: "first" not in relay.machine.agent.peers)
    second = connect("second", relays=["*"])
    for name in ("one", "two"):
        second.bandit(name, ["A"])
    eventually(lambda: [one.name for one in relay.statistics().bandits] == ["one", "two"])
    second.close()
    eventually(lambda: "second" not in relay.machine.agent.peers)
    back = connect("back", relays=["*"]).bandit("home", ["A"], rewards=rewards)
    if rewards == (0, 100):
        eventually(lambda: counts(back) == {"A": 3})
    else:
        eventually(lambda: "back declares bandit 'home' differently (rewards: " in caplog.text)
    assert "step failed" not in caplog.text


def test_a_relay_says_so_if_others_declare_more_bandits_than_fit(
    connect: Callable[..., Member], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("cobandit.live.machine.serving.MAX_BANDITS", 2)
    relay, leaf = connect("relay", relay=True), connect("leaf", relays=["relay"])
    for number in range(4):
        leaf.bandit(f"b{number}", ["A", "B"])
    eventually(lambda: "leaf declares more than fits here" in caplog.text)
    assert [bandit.name for bandit in relay.statistics().bandits] == ["b0", "b1"]
    assert "step failed" not in caplog.text


def test_a_step_that_fails_again_and_again_is_a_trouble_that_is_shown(
    connect: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = connect("web-1")
    home = home_of(member)

    def fails(*_: object) -> None:
        raise LocalError("no such thing")

    with monkeypatch.context() as patched:
        patched.setattr(member.machine, "_absorb", fails)
        pull(home, 1)
        eventually(lambda: any("a step failed" in trouble for trouble in member.statistics().troubles))
    eventually(lambda: not member.statistics().troubles and counts(home) == {"A": 1})


def test_made_up_ids_of_a_bandit_that_nobody_has_do_not_wait_and_stop_genuine_rewards(
    connect: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobandit.live.machine.outbox.MOST_FOR_ONE", 20)
    one, other = connect("one"), connect("other")
    home = home_of(one)
    home_of(other)
    genuine = home.select_arm()
    made_up = [sign(Claim("one", number, "nosuch\x1f\x1fA", genuine.at), b"no key") for number in range(20)]
    eventually(lambda: bool(other.statistics().peers))
    assert {other.update(token, 1.0) for token in made_up} == {Taken.ON_ITS_WAY}
    eventually(lambda: other.statistics().rewards_waiting == 0)
    assert other.update(genuine.id, 1.0) is Taken.ON_ITS_WAY
    eventually(lambda: sum(counts(home).values()) == 1)
    with pytest.raises(LocalError, match="was not made by one"):
        one.update(made_up[0], 1.0)
