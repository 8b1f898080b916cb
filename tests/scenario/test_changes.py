"""How means change: each way as a course, and what leaves the range or does not fit is refused in words."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from cobandit.scenario import AgentSpec, Arms, Linear, Normal, Rate, RewardRange, Scenario, Sinusoid, Switches, Walk
from cobandit.scenario.changes import Changes, Course, course_of, step_at
from cobandit.values.errors import LocalError

NAMES, MEANS, RANGE = ("A", "B"), (0.2, 0.8), RewardRange()


def course(changes: Changes, horizon: int = 100, rewards: RewardRange = RANGE) -> Course:
    return course_of(changes, NAMES, MEANS, rewards, horizon)


def test_switches_hold_from_their_slot_on() -> None:
    found = course(Switches(((10, (0.5, 0.6)), (90, (0.1, 0.1)), (100, (0.0, 0.0)))))
    assert found == Course((0, 10, 90), (MEANS, (0.5, 0.6), (0.1, 0.1)))
    assert [step_at(found.starts, slot, 0) for slot in (0, 9, 10, 89, 90, 99)] == [0, 0, 1, 1, 2, 2]


def test_a_switch_in_slot_0_takes_the_place_of_the_means() -> None:
    assert course(Switches(((0, (0.5, 0.6)),))) == Course((0,), ((0.5, 0.6),))


def test_a_line_goes_from_the_means_to_its_end_and_stays() -> None:
    found = course(Linear((0.6, 0.4), start=20, stop=60, every=10))
    assert found.starts == (0, 30, 40, 50, 60)
    assert [mean for mean, _ in found.means] == pytest.approx([0.2, 0.3, 0.4, 0.5, 0.6])
    assert [mean for _, mean in found.means] == pytest.approx([0.8, 0.7, 0.6, 0.5, 0.4])


def test_a_line_without_a_stop_ends_with_the_horizon() -> None:
    found = course(Linear((0.6, 0.4)))
    assert found.starts == tuple(range(100))
    assert list(found.means[50]) == pytest.approx([0.4, 0.6])


def test_means_that_would_turn_without_end_are_refused() -> None:
    with pytest.raises(LocalError, match="a sine cannot turn as fast as with period = 5e-324: take a larger period"):
        Sinusoid(0.1, 5e-324)


def test_a_sine_goes_round_its_means() -> None:
    found = course(Sinusoid((0.2, 0.1), period=40.0, phases=(0.0, math.pi), every=10))
    assert found.starts == tuple(range(0, 100, 10))
    assert [mean for mean, _ in found.means[:5]] == pytest.approx([0.2, 0.4, 0.2, 0.0, 0.2], abs=1e-12)
    assert [mean for _, mean in found.means[:5]] == pytest.approx([0.8, 0.7, 0.8, 0.9, 0.8])


def test_one_amplitude_is_for_all_arms_which_are_spread_over_the_circle() -> None:
    found = course(Sinusoid(0.1, period=100.0, every=25))
    assert list(found.means[1]) == pytest.approx([0.3, 0.7])


def test_a_walk_is_part_of_the_world_and_never_leaves_the_range() -> None:
    walk = course(Walk(0.3, every=1, seed=4), horizon=2_000)
    assert walk == course(Walk(0.3, every=1, seed=4), horizon=2_000)
    assert walk != course(Walk(0.3, every=1, seed=5), horizon=2_000)
    everything = [mean for means in walk.means for mean in means]
    assert 0.0 <= min(everything) < 0.1
    assert 0.9 < max(everything) <= 1.0


def test_a_file_says_when_an_arm_gets_which_mean(tmp_path: Path) -> None:
    file = tmp_path / "means.csv"
    file.write_text("slot,arm,mean\n5,B,0.1\n5,A,0.9\n70,A,0.3\n", encoding="utf-8")
    assert Switches.from_csv(file, NAMES, MEANS) == Switches(((5, (0.9, 0.1)), (70, (0.3, 0.1))))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("5.5,A,0.1", "line 2: slot must be a whole number of at least 0, not '5.5'"),
        ("x,A,0.1", "line 2: slot must be a number, not 'x'"),
        ("5,C,0.1", "line 2: arm 'C' is not one of A, B"),
        ("5,A,", "line 2: mean must be a number, not ''"),
        ("5,A,0.1\n4,A,0.2", "line 3: slot must be a whole number of at least 5, not '4': sort the rows by slot"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_line(tmp_path: Path, row: str, told: str) -> None:
    file = tmp_path / "means.csv"
    file.write_text(f"slot,arm,mean\n{row}\n", encoding="utf-8")
    with pytest.raises(LocalError, match=told):
        Switches.from_csv(file, NAMES, MEANS)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (Linear((0.6, 1.4)), r"arm 'B' would have the mean 1.00\d* in slot 34, but rewards are in \[0, 1\]"),
        (Sinusoid(0.5, 100.0), r"arm 'A' would have the mean -0.\d+ in slot \d+, .*: let it change less, or declare"),
        (Switches(((5, (0.1,)),)), "means must be 2 numbers, one for each arm"),
        (Linear((0.1,)), "to must be 2 numbers"),
        (Sinusoid((0.1,), 10.0), "amplitudes must be 2 numbers"),
        (Sinusoid(0.1, 10.0, phases=(0.0,)), "phases must be 2 numbers"),
    ],
)
def test_means_that_leave_the_range_or_do_not_fit_are_refused(changes: Changes, told: str) -> None:
    with pytest.raises(LocalError, match=told):
        Scenario(100, Arms(NAMES, MEANS, changes=changes), (AgentSpec(Rate(1.0)),))


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(LocalError, match="change more than 100,000 times: let them change less often"):
        course(Walk(0.1, every=1), horizon=200_000)


def test_values_that_cannot_be_are_refused() -> None:
    for build, told in (
        (lambda: Switches(()), "there are no switches"),
        (lambda: Switches(((5, (0.1, 0.2)), (5, (0.1, 0.2)))), "5 comes after 5"),
        (lambda: Switches((7,)), "a switch is a slot and the means from it on"),  # type: ignore[arg-type]
        (lambda: Linear((0.1,), start=9, stop=9), "the stop of a drift must be a whole number of at least 10"),
        (lambda: Linear((0.1,), every=0), "every must be a whole number of at least 1"),
        (lambda: Sinusoid(0.1, 0.0), "the period of a sine must be a positive number"),
        (lambda: Walk(0.0), "the sd of a walk must be a positive number"),
        (lambda: Arms.of([0.1], changes="walk"), "changes must be Switches, Linear, Sinusoid or Walk"),  # type: ignore[arg-type]
    ):
        with pytest.raises(LocalError, match=told):
            build()


def test_a_world_knows_its_course_and_worlds_without_changes_have_none() -> None:
    world = Scenario(100, Arms.of([0.2, 0.8], pays=Normal(0.1), changes=Walk(0.1)), (AgentSpec(Rate(1.0)),))
    assert world.course is not None
    assert world.course.starts == tuple(range(100))
    assert replace(world, arms=Arms.of([0.2, 0.8])).course is None
