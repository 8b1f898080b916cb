"""The same subject gets the same arm at every member whose odds are the same, and keeps it where it had it."""

import time
from collections import Counter

import pytest

import cobandit
from cobandit.live.decide.allocation import Allocation, Draw, Lottery, drawn_by
from cobandit.live.decide.subjects import place_of
from cobandit.live.drive.member import Member

SUBJECTS = [f"visitor {number}" for number in range(300)]
ARMS = ["A", "B", "C"]


def arms_of(member: Member, subjects: list[str]) -> list[str]:
    return [member.select_arm(subject).arm for subject in subjects]


def propensities(member: Member) -> dict[str, float | None]:
    return {arm.arm: arm.propensity for arm in member.statistics().arms}


def test_members_that_never_met_agree_on_every_subject() -> None:
    with (
        cobandit.connect("memory://subjects-1", group="g", name="a", arms=ARMS) as ann,
        cobandit.connect("memory://subjects-2", group="g", name="b", arms=ARMS[::-1]) as bob,
        cobandit.connect("memory://subjects-3", group="other", name="c", arms=ARMS) as cat,
    ):
        ann_says, bob_says, cat_says = (arms_of(member, SUBJECTS) for member in (ann, bob, cat))
    assert ann_says == bob_says
    assert ann_says != cat_says  # another group is another experiment
    assert all(60 < count < 140 for count in Counter(ann_says).values())  # a third each; 4.9 standard deviations


def test_members_that_learned_the_same_agree_on_new_subjects() -> None:
    with (
        cobandit.connect("memory://subjects-4", group="g", name="a", arms=ARMS) as ann,
        cobandit.connect("memory://subjects-4", group="g", name="b", arms=ARMS) as bob,
    ):
        for place in range(60):
            decision = ann.select_arm()
            ann.update(decision, decision.arm == "A" or place % 2)
        ann.sync()
        assert ann.flush(60.0)
        deadline = time.monotonic() + 60.0
        while propensities(ann) != propensities(bob):
            assert time.monotonic() < deadline, (propensities(ann), propensities(bob))
            time.sleep(0.01)
        assert propensities(ann) != {arm: pytest.approx(1 / 3) for arm in ARMS}
        assert arms_of(ann, SUBJECTS) == arms_of(bob, SUBJECTS)


def test_a_subject_is_drawn_with_the_propensity_that_is_logged() -> None:
    floors = {"A": 0.6, "B": 0.3, "C": 0.1}
    with cobandit.connect("memory://subjects-5", group="g", name="a", arms=ARMS, floors=floors) as member:
        made = [member.select_arm(f"visitor {number}") for number in range(4000)]
    assert {decision.arm: decision.propensity for decision in made} == pytest.approx(floors)
    shares = {arm: count / 4000 for arm, count in Counter(decision.arm for decision in made).items()}
    assert shares == pytest.approx(floors, abs=4.0 * 0.5 / 4000**0.5)  # four standard deviations at most


def test_a_small_change_of_odds_moves_few_subjects() -> None:
    places = [place_of(subject, "g") for subject in SUBJECTS]
    before, after = Draw({"A": 0.5, "B": 0.3, "C": 0.2}), Draw({"A": 0.52, "B": 0.3, "C": 0.18})
    moved = sum(before.by(place)[0] != after.by(place)[0] for place in places)
    assert 0 < moved <= 0.04 * len(places) + 4.0 * (0.04 * 0.96 * len(places)) ** 0.5  # two ends, 2 % each


def test_the_order_of_arms_is_that_of_their_names_and_not_that_of_odds() -> None:
    one, other = {"A": 0.6, "B": 0.4}, {"B": 0.55, "A": 0.45}
    for odds in (one, other):
        assert drawn_by(odds, ("B", "A"), None).by(0.1)[0] == "A"
        assert drawn_by(odds, ("A", "B"), Allocation({"A": 0.1})).by(0.1)[0] == "A"
    assert Lottery(Allocation({"A": 0.2}), ("B", "A")).draw("B", 0.1)[0] == "A"
