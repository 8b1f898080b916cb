"""Hold-outs and guardrails of bandits with names: as those of the plain bandit, over all segments of each bandit."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.waiting import until

import cobandit
from cobandit import Constant, RetryTimers, on_demand
from cobandit.cli.fleet_table import fleet_lines
from cobandit.live.decide.decision import read
from cobandit.live.decide.holdout import unmarked
from cobandit.live.drive.member import Member
from cobandit.live.drive.named_bandit import NamedBandit
from cobandit.live.process.config import config_from_mapping
from cobandit.live.status.guardrail import ArmGuardrail, GuardrailStatistics
from cobandit.live.status.lift import Lift
from cobandit.live.status.metrics import MemberCollector
from cobandit.values.errors import LocalError

QUICK = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.2, longest=1.0))
ARMS = ["A", "B", "C", "D"]
LIMIT = 0.05
_networks = itertools.count()


class Clock:
    """A real clock that a test may put forward."""

    ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    time_of_day = now


@pytest.fixture
def connect() -> Iterator[Callable[..., Member]]:
    """Connects members of one fleet of this test's own, and closes them in the end."""
    url, members = f"memory://bandit-answers-{next(_networks)}", list[Member]()

    def connected(name: str, **options: Any) -> Member:
        member = cobandit.connect(url, fleet="shop", name=name, **{"sharing": QUICK, **options})
        members.append(member)
        return member

    yield connected
    for member in members:
        member.close()


def teach(bandit: NamedBandit, count: int, segment: str = "", best: float = 1.0) -> tuple[int, int]:
    """Reward A and nothing else. Return how many decisions were the bandit's, and how many held out."""
    made = [bandit.select_arm(segment) for _ in range(count)]
    for one in made:
        assert bandit.update(one, best if one.arm == "A" else 0.0)
    return sum(not one.is_held_out for one in made), sum(one.is_held_out for one in made)


def lifts(member: Member) -> dict[str, Lift | None]:
    member.sync()
    return {bandit.name: bandit.lift for bandit in member.statistics().bandits}


def counted(member: Member, bandit: str = "home") -> tuple[int, int] | None:
    found = lifts(member).get(bandit)
    return None if found is None else (found.observations, found.held_out)


@pytest.mark.parametrize("policy", ["thompson", "ucb"])
def test_what_is_held_out_is_even_and_teaches_no_segment(connect: Callable[..., Member], policy: str) -> None:
    member = connect("one")
    home = member.bandit("home", ARMS, policy=policy, holdout=0.5, rewards=(0, 200))
    made = [home.select_arm(segment) for segment in ("de", "fr") for _ in range(1000)]
    held_out = [one for one in made if one.is_held_out]
    assert abs(len(held_out) - 1000) < 6 * 500**0.5  # six standard deviations
    for arm in ARMS:
        assert abs(sum(one.arm == arm for one in held_out) - len(held_out) / 4) < 6 * (len(held_out) * 3 / 16) ** 0.5
    assert {one.propensity for one in held_out} == {0.25}
    assert {unmarked(read(one.id).arm)[0] for one in held_out} == {("home", "\x1fheld out")}
    for one in made:
        assert home.update(one if one.number % 2 else one.id, 200.0 if one.arm == "A" else 100.0)
    served = [one for one in made if not one.is_held_out]
    expected = [sum(one.segment == segment for one in served) for segment in ("de", "fr")]
    until(lambda: [home.statistics(segment).observations for segment in ("de", "fr")] == expected)
    assert home.segments == ("de", "fr")
    (told,) = member.statistics().bandits
    assert (told.segments, told.observations, told.own_observations) == (2, len(served), len(served))
    assert told.lift is not None
    assert (told.lift.observations, told.lift.held_out) == (len(served), len(held_out))
    means = [100.0 + 100.0 * sum(one.arm == "A" for one in some) / len(some) for some in (served, held_out)]
    assert [told.lift.mean, told.lift.held_out_mean] == pytest.approx(means, abs=1e-3)
    assert told.lift.lift == pytest.approx(means[0] - means[1], abs=1e-3)
    assert member.statistics().lift is None


def test_a_subject_is_held_out_in_every_segment_at_every_member_or_nowhere(connect: Callable[..., Member]) -> None:
    bandits = [connect(name).bandit("home", arms, holdout=0.3) for name, arms in (("one", ARMS), ("two", ARMS[::-1]))]
    said = [
        [(one.arm, one.is_held_out) for one in (bandit.select_arm(segment, f"user-{n}") for n in range(300))]
        for bandit in bandits
        for segment in ("", "de")
    ]
    chosen = [{n for n, (_, is_held_out) in enumerate(some) if is_held_out} for some in said]
    assert chosen[0] == chosen[1] == chosen[2] == chosen[3]
    assert 58 < len(chosen[0]) < 122  # four standard deviations
    assert [said[0][n] for n in sorted(chosen[0])] == [said[3][n] for n in sorted(chosen[0])]


def test_every_member_knows_the_hold_out_and_a_relay_that_declares_nothing(connect: Callable[..., Member]) -> None:
    relay = connect("relay", relay=True)
    one, two = (connect(name, relays=["relay"]) for name in ("one", "two"))
    home, there = one.bandit("home", ARMS, holdout=0.5), two.bandit("home", ARMS)
    counts = [teach(home, 60, "de"), teach(home, 60), teach(there, 30, "de")]
    decision = next(made for made in iter(home.select_arm, None) if made.is_held_out)
    assert there.update(decision.id, 1.0)  # rewards come anywhere
    expected = (sum(served for served, _ in counts), sum(held_out for _, held_out in counts) + 1)

    def told() -> list[tuple[int, int] | None]:
        for member in (one, two, relay):
            member.flush(1.0)
            member.catch_up()
        return [counted(member) for member in (one, two, relay)]

    until(lambda: told() == [expected] * 3, told)
    assert [member.statistics().bandits[0].segments for member in (one, two, relay)] == [2, 2, 0]
    assert {*there.segments} == {"", "de"}


def test_what_was_held_out_counts_once_over_restarts(connect: Callable[..., Member], tmp_path: Path) -> None:
    state = tmp_path / "one.db"
    member = connect("one", state=state)
    home = member.bandit("home", ARMS, holdout=0.5)
    served, held_out = teach(home, 50, "de")
    waiting = [home.select_arm("de", f"user-{n}") for n in range(40)]
    assert {one.is_held_out for one in waiting} == {True, False}
    member.sync()
    member.close()
    member = connect("one", state=state)
    home = member.bandit("home", ARMS, holdout=0.5)
    again = [home.select_arm("de", f"user-{n}") for n in range(40)]
    assert [(one.arm, one.is_held_out) for one in again] == [(one.arm, one.is_held_out) for one in waiting]
    assert [bool(member.update(one.id, 1.0)) for one in (*waiting, *waiting)] == [True] * 40 + [False] * 40
    served += sum(not one.is_held_out for one in waiting)
    held_out += sum(one.is_held_out for one in waiting)
    assert counted(member) == (served, held_out)
    until(lambda: home.statistics("de").observations == served)
    member.close()
    member = connect("one", state=state)
    assert counted(member) == (served, held_out)  # it is known before the bandit is declared again
    home = member.bandit("home", ARMS)
    assert counted(member) == (served, held_out)
    assert not any(home.select_arm().is_held_out for _ in range(100))
    member.bandit("home", ARMS, holdout=0.5)  # and said again, it holds for segments that there are
    assert any(home.select_arm().is_held_out for _ in range(100))


def test_a_window_forgets_what_was_held_out(connect: Callable[..., Member]) -> None:
    clock = Clock()
    member = connect("one", clock=clock)
    home, kept = member.bandit("home", ARMS, holdout=0.5, window="10h"), member.bandit("kept", ARMS, holdout=0.5)
    for bandit in (home, kept):
        teach(bandit, 40)
    before = [counted(member, name) for name in ("home", "kept")]
    assert all(one is not None and sum(one) == 40 for one in before)
    clock.ahead = 11 * 3600.0
    new = teach(home, 20)
    until(lambda: [counted(member, name) for name in ("home", "kept")] == [new, before[1]])


def report(bandit: NamedBandit, arm: str, values: list[int], segments: tuple[str, ...] = ("",)) -> None:
    for value, segment in zip(values, itertools.cycle(segments), strict=False):
        decision = bandit.select_arm(segment, among=[arm])
        assert [bandit.report(decision, "errors", value), bandit.report(decision.id, "errors", value)] == [True, False]
        assert bandit.update(decision, 1.0)


def frozen(member: Member) -> dict[str, tuple[str, ...]]:
    return {bandit.name: bandit.frozen for bandit in member.statistics().bandits}


def test_a_report_counts_at_once_and_stays_if_its_decision_is_withdrawn(connect: Callable[..., Member]) -> None:
    member = connect("one")
    home = member.bandit("home", ARMS, guardrail=("errors", LIMIT))
    decision = home.select_arm(among=["A"])
    assert home.report(decision, "errors", 1)
    assert home.withdraw(decision)
    assert not home.report(decision, "errors", 1)
    member.sync()
    (found,) = member.statistics().bandits
    assert found.guardrail is not None
    assert (found.observations, [(arm.arm, arm.reports) for arm in found.guardrail.arms]) == (0, [("A", 1)])


def test_reports_of_all_segments_freeze_an_arm_of_that_bandit_everywhere(
    connect: Callable[..., Member], caplog: pytest.LogCaptureFixture
) -> None:
    one, two = connect("one"), connect("two")
    home = one.bandit("home", ARMS, guardrail=("errors", LIMIT), rewards=(0, 200))
    there, mail = two.bandit("home", ARMS, rewards=(0, 200)), one.bandit("mail", ARMS, guardrail=("errors", LIMIT))
    report(mail, "B", [0] * 40)
    report(home, "A", [0] * 40, ("de", "fr"))
    report(home, "B", [1, 0, 0] * 10, ("de", "fr", "it"))
    until(lambda: frozen(one) == {"home": ("B",), "mail": ()} and frozen(two) == {"home": ("B",)})
    assert "B" not in {there.select_arm("es").arm for _ in range(100)}
    assert one.statistics().bandits[0].guardrail == GuardrailStatistics(
        "errors",
        LIMIT,
        (ArmGuardrail("A", 40, 0.0, is_violated=False), ArmGuardrail("B", 30, 10 / 30, is_violated=True)),
    )
    assert home.segments == ("de", "fr", "it")
    assert (one.statistics().guardrail, two.statistics().bandits[0].guardrail) == (None, None)
    said = [record.message for record in caplog.records if getattr(record, "event", "") == "guardrail_violated"]
    assert [("arm 'B' of bandit 'home' violates" in text, "--bandit" in text) for text in said] == [(True, True)]
    shown = "\n".join(fleet_lines(one.fleet()))
    assert "B frozen" in shown
    assert "home: ! arm 'B' of bandit 'home' violates the guardrail" in shown.replace("\n", " ")
    home.unfreeze_arm("B")
    report(home, "B", [1] * 30)
    one.sync()
    assert frozen(one)["home"] == ()  # who gives an arm back has the last word


def test_a_member_that_only_hears_reports_freezes_by_its_own_limit(connect: Callable[..., Member]) -> None:
    one, two = connect("one"), connect("two")
    home = one.bandit("home", ARMS, guardrail=("errors", 0.9))
    report(home, "A", [0])
    two.bandit("home", ARMS, guardrail=("errors", LIMIT))
    until(lambda: _reports(two) == 1)
    report(home, "B", [1, 0] * 20)
    until(lambda: frozen(one) == frozen(two) == {"home": ("B",)}, lambda: (frozen(one), frozen(two)))


def _reports(member: Member) -> int:
    guardrail = member.statistics().bandits[0].guardrail
    return 0 if guardrail is None else sum(arm.reports for arm in guardrail.arms)


def test_a_report_of_another_metric_is_refused_with_the_bandit(connect: Callable[..., Member]) -> None:
    member = connect("one")
    home, mail = member.bandit("home", ARMS, guardrail=("errors", LIMIT)), member.bandit("mail", ARMS)
    decision = home.select_arm()
    for bandit, metric, words in (
        (home, "timeouts", "'timeouts' is not the metric of bandit 'home': that is 'errors'"),
        (mail, "errors", "'errors' is not the metric of bandit 'mail': there is none"),
    ):
        with pytest.raises(LocalError, match=words):
            bandit.report(bandit.select_arm(), metric, 1)
    with pytest.raises(LocalError, match="number in"):
        home.report(decision, "errors", 2)
    assert home.report(decision, "errors", 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"holdout": 0.6}, "from 0 to 0.5"),
        ({"holdout": "5 %"}, "from 0 to 0.5"),
        ({"guardrail": "errors"}, "a metric and its limit"),
        ({"guardrail": ("errors", 1.0)}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(
    connect: Callable[..., Member], options: dict[str, Any], words: str
) -> None:
    member = connect("one")
    with pytest.raises(LocalError, match=words):
        member.bandit("home", ARMS, **options)
    assert member.statistics().bandits == ()
    with pytest.raises(LocalError, match=r"pass them to fleet\.bandit"):
        connect("two", holdout=0.1)


def test_the_file_of_a_member_says_hold_out_and_guardrail_of_a_bandit() -> None:
    content = {"fleet": "shop", "name": "web-1", "url": "nats://n:4222", "state": "web-1.db"}
    table = {"arms": ["A", "B"], "holdout": 0.1, "guardrail": ["errors", 0.02]}
    found = config_from_mapping({**content, "bandits": {"home": table}})
    assert found.bandits == {"home": {"arms": ("A", "B"), "holdout": 0.1, "guardrail": ("errors", 0.02)}}
    with pytest.raises(LocalError, match=r"bandits\.home.*from 0 to 0\.5"):
        config_from_mapping({**content, "bandits": {"home": {**table, "holdout": 0.9}}})
    with pytest.raises(LocalError, match="holdout"):
        config_from_mapping({**content, "holdout": 0.1})


def test_metrics_have_the_lift_and_the_guardrail_of_each_bandit(connect: Callable[..., Member]) -> None:
    member = connect("one")
    home = member.bandit("home", ARMS, holdout=0.5, guardrail=("errors", LIMIT))
    for value, arm in ((1, "A"), (0, "A"), (0, "B")):
        assert home.report(home.select_arm(among=[arm]), "errors", value)
    served, held_out = teach(home, 100)
    member.sync()
    registry = CollectorRegistry()
    registry.register(MemberCollector(member))
    labels = {"group": "shop", "member": "one", "bandit": "home"}
    found = lifts(member)["home"]
    assert found is not None
    assert (found.observations, found.held_out) == (served, held_out)
    measured: dict[str, float | None] = {
        "held_out": held_out,
        "lift": found.lift,
        "lift_low": found.low,
        "lift_high": found.high,
    }
    for name, figure in measured.items():
        assert registry.get_sample_value(f"cobandit_bandit_{name}", labels) == figure
    for arm, ratio in (("A", 0.5), ("B", 0.0)):
        assert registry.get_sample_value("cobandit_bandit_guardrail_ratio", {**labels, "arm": arm}) == ratio
