"""A second metric: reported before the reward, counted once in the fleet; an arm that violates it is frozen."""

from pathlib import Path

import pytest
from tests.waiting import until

import cobandit
from cobandit.live.drive.member import Member
from cobandit.live.status.guardrail import ArmGuardrail, GuardrailStatistics, is_violated
from cobandit.live.status.lift import Rewards
from cobandit.values.errors import LocalError

ARMS = ["A", "B", "C"]
LIMIT = 0.05


def connect(network: str, name: str = "a", **more: object) -> Member:
    options = {"group": "g", "name": name, "arms": ARMS, "guardrail": ("errors", LIMIT), **more}
    return cobandit.connect(f"memory://guardrail-{network}", **options)  # type: ignore[arg-type]


def report(member: Member, arm: str, values: list[int]) -> None:
    for value in values:
        decision = member.select_arm(among=[arm])
        assert member.report(decision, "errors", value)
        assert member.update(decision, 1.0)
    member.sync()


def frozen(member: Member) -> list[str]:
    return [arm.arm for arm in member.statistics().arms if arm.is_frozen]


def standing(member: Member) -> GuardrailStatistics:
    found = member.statistics().guardrail
    assert found is not None
    return found


def test_a_report_counts_once_and_before_the_reward() -> None:
    with connect("once") as member:
        first, second = member.select_arm(among=["A"]), member.select_arm(among=["B"])
        assert [member.report(first, "errors", True) for _ in range(2)] == [True, False]
        assert member.report(second.id, "errors", 0.25)
        late = member.select_arm()
        member.update(late, 1.0)
        assert not member.report(late, "errors", 0)
        member.sync()
        assert standing(member) == GuardrailStatistics(
            "errors",
            LIMIT,
            (ArmGuardrail("A", 1, 1.0, is_violated=False), ArmGuardrail("B", 1, 0.25, is_violated=False)),
        )
        told = member.statistics()
        assert (told.observations, told.open_decisions) == (1, 2)  # a report is no reward


def test_an_arm_that_violates_is_frozen_everywhere_with_an_alert(caplog: pytest.LogCaptureFixture) -> None:
    with connect("frozen") as ann, connect("frozen", "b", guardrail=None) as bob:
        report(ann, "A", [0] * 100)
        report(ann, "B", [1, 0, 0, 0] * 10)
        until(lambda: frozen(ann) == frozen(bob) == ["B"], lambda: (ann.statistics(), bob.statistics()))
        assert {ann.select_arm().arm for _ in range(60)} <= {"A", "C"}
        assert ann.statistics().lift is None
    said = [record for record in caplog.records if getattr(record, "event", "") == "guardrail_violated"]
    assert [
        (record.levelname, "errors is 0.25 in 40 reports, and must stay below 0.05" in record.message)
        for record in said
    ] == [("ERROR", True)]
    assert "; `cobandit control URL unfreeze B --group g` gives it back, " in said[0].message


def test_reports_of_the_whole_fleet_count_together() -> None:
    with connect("together") as ann, connect("together", "b") as bob:
        for member in (ann, bob):
            report(member, "C", [1] * 3 + [0] * 9)  # of one alone there are too few
        until(
            lambda: all(member.flush(1.0) and frozen(member) == ["C"] for member in (ann, bob)),
            lambda: (standing(ann), standing(bob)),
        )
        assert standing(ann).arms == standing(bob).arms == (ArmGuardrail("C", 24, 0.25, is_violated=True),)


def test_who_gives_an_arm_back_has_the_last_word(tmp_path: Path) -> None:
    state = tmp_path / "a.db"
    with connect("back", state=state) as member:
        report(member, "B", [1] * 30)
        until(lambda: frozen(member) == ["B"], lambda: standing(member))
        member.unfreeze_arm("B")
        report(member, "B", [1] * 30)
        assert frozen(member) == []
    with connect("back", state=state) as member:
        assert standing(member).arms == (ArmGuardrail("B", 60, 1.0, is_violated=True),)  # what was reported survives
        assert frozen(member) == []
        before = member.select_arm()
        member.sync()
    with connect("back", state=state) as member:
        assert not member.report(before.id, "errors", 1)  # it may have been reported before the restart
        assert member.update(before.id, 1.0)


def test_the_last_arm_is_not_frozen_and_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with connect("last", arms=["A", "B"]) as member:
        member.freeze_arm("A")
        report(member, "B", [1] * 30)
        until(lambda: "It is not frozen: arm 'B' is the last one" in caplog.text, lambda: caplog.text)
        assert frozen(member) == ["A"]


def test_reports_of_held_out_decisions_count_too() -> None:
    with connect("held-out", holdout=0.5) as member:
        made = [member.select_arm() for _ in range(40)]
        assert any(one.is_held_out for one in made)
        assert all(member.report(one, "errors", 0) for one in made)
        for one in made:
            member.update(one, 1.0)
        member.sync()
        assert sum(arm.reports for arm in standing(member).arms) == 40


def test_bad_reports_are_refused_in_words() -> None:
    with connect("bad") as ann, connect("bad", "b") as bob, connect("bad", "c", guardrail=None) as cat:
        decision = ann.select_arm()
        with pytest.raises(LocalError, match="'latency' is not the metric of the guardrail: that is 'errors'"):
            ann.report(decision, "latency", 1)
        with pytest.raises(LocalError, match="'errors' is not the metric of the guardrail: there is none"):
            cat.report(decision, "errors", 1)
        with pytest.raises(LocalError, match="only that member can take a report on it"):
            bob.report(decision, "errors", 1)
        with pytest.raises(LocalError, match=r"^a value of 'errors' must be a number in \[0, 1\], not 2$"):
            ann.report(decision, "errors", 2)
        assert ann.report(decision, "errors", 1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("errors", "guardrail must be a metric and its limit"),
        (("errors",), "guardrail must be a metric and its limit"),
        (("", 0.02), "the metric of a guardrail must be a string"),
        (("errors", 0), "must be a number between 0 and 1, not 0"),
        (("errors", 1.5), "must be a number between 0 and 1, not 1.5"),
        (("errors", "2 %"), "must be a number between 0 and 1, not '2 %'"),
    ],
)
def test_a_guardrail_that_cannot_be_is_refused(given: object, words: str) -> None:
    with pytest.raises(LocalError, match=words):
        connect("refused", guardrail=given)


@pytest.mark.parametrize(
    ("values", "is_blamed"),
    [
        (Rewards(19, 19.0, 19.0), False),  # too few
        (Rewards(20, 6.0, 6.0), True),  # by chance 0.0003
        (Rewards(20, 5.0, 5.0), False),  # 0.0026
        (Rewards(1000, 60.0, 60.0), False),
        (Rewards(1000, 80.0, 80.0), True),
        (Rewards(1000, 40.0, 40.0), False),
        (Rewards(1000, 1000.0, 1000.0), True),
    ],
)
def test_an_arm_is_blamed_only_for_what_chance_does_not_do(values: Rewards, is_blamed: bool) -> None:
    assert is_violated(values, LIMIT) is is_blamed
