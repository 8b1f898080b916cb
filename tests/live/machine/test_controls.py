"""What operators say and every member obeys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.live.machine.controls import (
    FROZEN,
    FURTHEST_AHEAD,
    KILL,
    MOST_FROZEN,
    MOST_TOLD,
    Controls,
    Setting,
    freezing,
    freezing_in,
    in_parts,
    killing,
    stamp_at,
)

NOW = 1_800_000_000.0

LAST = stamp_at(NOW + FURTHEST_AHEAD)
"""The last stamp that is taken."""


def kill(controls: Controls, arm: str | None, by: str) -> None:
    controls.turn(KILL, arm, NOW, by=by)


def freeze(controls: Controls, arm: str, by: str, *, is_frozen: bool = True) -> None:
    controls.turn(freezing(arm), FROZEN if is_frozen else None, NOW, by=by)


words = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cleo"]),
        st.one_of(
            st.tuples(st.just("kill"), st.sampled_from(["A", "B", None])),
            st.tuples(st.just("freeze"), st.sampled_from(["A", "B"])),
            st.tuples(st.just("unfreeze"), st.sampled_from(["A", "B"])),
            st.tuples(st.just("hear"), st.sampled_from(["ann", "bob", "cleo"])),
        ),
    ),
    max_size=30,
)


@given(words)
def test_whatever_was_said_by_whom_all_end_with_the_same_once_all_have_heard_all(
    said: list[tuple[str, tuple[str, str | None]]],
) -> None:
    members = {name: Controls() for name in ("ann", "bob", "cleo")}
    for name, (what, about) in said:
        controls = members[name]
        if what == "kill":
            kill(controls, about, name)
        elif what == "hear":
            assert about is not None
            controls.merge(members[about].settings, NOW)
        else:
            assert about is not None
            freeze(controls, about, name, is_frozen=what == "freeze")
    for _ in range(2):
        for controls in members.values():
            for other in members.values():
                controls.merge(other.settings, NOW)
    assert len({controls.settings for controls in members.values()}) == 1
    assert len({controls.digest for controls in members.values()}) == 1


def test_the_last_word_wins_over_what_was_heard_before() -> None:
    ann, bob = Controls(), Controls()
    kill(ann, "A", "ann")
    bob.merge(ann.settings, NOW)
    kill(bob, None, "bob")
    assert ann.merge(bob.settings, NOW).is_news
    assert ann.control_arm is None
    assert not bob.merge(ann.settings, NOW).is_news


def test_an_older_word_that_comes_late_does_not_win() -> None:
    ann, bob = Controls(), Controls()
    kill(ann, "A", "ann")
    older = ann.settings
    kill(ann, None, "ann")
    assert bob.merge(ann.settings, NOW).is_news
    assert not bob.merge(older, NOW).is_news
    assert bob.settings == ann.settings


def test_a_word_that_was_heard_before_is_no_news() -> None:
    ann, bob = Controls(), Controls()
    freeze(ann, "A", "ann")
    assert bob.merge(ann.settings, NOW).is_news
    assert not bob.merge(ann.settings, NOW).is_news
    assert (bob.frozen, str(bob)) == (frozenset({"A"}), "A is frozen")


def test_nothing_said_has_the_empty_digest_and_something_has_not() -> None:
    controls = Controls()
    assert controls.digest == b""
    kill(controls, None, "ann")
    assert controls.digest != b""


def test_what_may_be_pulled() -> None:
    controls = Controls()
    assert controls.available(("A", "B")) == ("A", "B")
    freeze(controls, "A", "ann")
    assert controls.available(("A", "B")) == ("B",)
    assert controls.available(("A",)) == ("A",)  # nobody can obey, so nobody does
    kill(controls, "A", "ann")
    assert controls.available(("A", "B")) == ("A",)
    assert controls.available(("B", "C")) == ("B", "C")


@pytest.mark.parametrize(
    "setting",
    [
        Setting("launch", "A", 1, "ann"),
        Setting("kill", "A", 0, "ann"),
        Setting("kill", "A", -1, "ann"),
        Setting("kill", "A", LAST + 1, "ann"),
        Setting("kill", "A", 2**60, "ann"),
        Setting("kill", "A" * 201, 1, "ann"),
        Setting("kill", "", 1, "ann"),
        Setting("kill", "A", 1, ""),
        Setting("freeze " + "A" * 201, "frozen", 1, "ann"),
    ],
)
def test_settings_that_cannot_be_are_refused_one_by_one(setting: Setting) -> None:
    controls = Controls()
    kill(controls, "B", "ann")
    is_news, refused = controls.merge([Setting("freeze C", "frozen", 5, "bob"), setting], NOW)
    assert (is_news, len(refused), controls.control_arm, controls.frozen) == (True, 1, "B", frozenset({"C"}))


def test_nobody_can_fill_the_controls_so_that_the_kill_switch_or_a_freeze_is_not_heard() -> None:
    flooded, operator = Controls(), Controls()
    flooded.merge([Setting(f"freeze x{i}", "frozen", 1, "eve") for i in range(MOST_FROZEN + 1)], NOW)
    operator.merge(flooded.settings, NOW)
    kill(operator, "A", "ann")
    freeze(operator, "B", "ann")
    assert flooded.merge(operator.settings, NOW).is_news
    assert (flooded.control_arm, "B" in flooded.frozen, len(flooded.frozen)) == ("A", True, MOST_FROZEN)
    assert (flooded.digest, flooded.merge(operator.settings, NOW).is_news) == (operator.digest, False)


def test_which_freezes_are_forgotten_does_not_depend_on_the_order_in_which_they_are_heard() -> None:
    words = [Setting(f"freeze x{i}", "frozen", 1 + i % 3, "eve") for i in range(2 * MOST_FROZEN)]
    ann, bob = Controls(), Controls()
    for at in range(0, len(words), 100):
        ann.merge(words[at : at + 100], NOW)
        bob.merge(words[::-1][at : at + 100], NOW)
    assert (ann.settings, len(ann.settings)) == (bob.settings, MOST_FROZEN)


def test_who_turns_a_switch_has_the_last_word_over_all_that_it_knows_whatever_its_clock_says() -> None:
    ann, bob = Controls(), Controls()
    ann.merge([Setting("kill", None, LAST, "eve")], NOW)
    kill(ann, "A", "ann")
    assert bob.merge(ann.settings, NOW + 1.0).is_news
    assert bob.control_arm == "A"


def test_a_setting_from_the_future_is_taken_when_its_time_comes() -> None:
    ahead = Setting("kill", "A", stamp_at(NOW + 3600.0), "ann")
    controls = Controls()
    (why,) = controls.merge([ahead], NOW).refused
    assert why == (
        "ann has set 'kill' 60 minutes ahead of this member's clock: set the clock of ann, or of this computer. Until "
        "then it is not obeyed here"
    )
    assert controls.merge([ahead], NOW + 3600.0).is_news


def test_settings_are_told_in_parts_that_every_member_takes() -> None:
    settings = [Setting(f"freeze:{number}", "x", 1, "ann") for number in range(MOST_TOLD + 49)]
    assert [len(part) for part in in_parts(settings, 2**30)] == [MOST_TOLD, 49]


def test_controls_are_said_in_words_without_separators() -> None:
    controls = Controls()
    controls.turn(freezing_in("home", "A"), "x", 1_800_000_000.0, by="ann")
    controls.turn(freezing("B"), "x", 1_800_000_001.0, by="ann")
    controls.turn(killing("mail"), "C", 1_800_000_002.0, by="ann")
    assert str(controls) == "the kill switch of mail is on, to C, B is frozen, A of home is frozen"
