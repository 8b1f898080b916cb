"""What operators say and every member obeys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.runtime.controls import COUNTS_A_SECOND, MOST_FROZEN, SPARE_COUNTS, Controls, Setting
from cobandit.values.errors import PeerError

NOW = 1_800_000_000.0

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
            controls.kill(about, by=name)
        elif what == "hear":
            assert about is not None
            controls.merge(members[about].settings, NOW)
        else:
            assert about is not None
            controls.freeze(about, is_frozen=what == "freeze", by=name)
    for _ in range(2):
        for controls in members.values():
            for other in members.values():
                controls.merge(other.settings, NOW)
    assert len({controls.settings for controls in members.values()}) == 1
    assert len({controls.digest for controls in members.values()}) == 1


def test_the_last_word_wins_over_what_was_heard_before() -> None:
    ann, bob = Controls(), Controls()
    ann.kill("A", by="ann")
    bob.merge(ann.settings, NOW)
    bob.kill(None, by="bob")
    assert ann.merge(bob.settings, NOW)
    assert ann.control_arm is None
    assert not bob.merge(ann.settings, NOW)


def test_an_older_word_that_comes_late_does_not_win() -> None:
    ann, bob = Controls(), Controls()
    ann.kill("A", by="ann")
    older = ann.settings
    ann.kill(None, by="ann")
    assert bob.merge(ann.settings, NOW)
    assert not bob.merge(older, NOW)
    assert bob.settings == ann.settings


def test_a_word_that_was_heard_before_is_no_news() -> None:
    ann, bob = Controls(), Controls()
    ann.freeze("A", is_frozen=True, by="ann")
    assert bob.merge(ann.settings, NOW)
    assert not bob.merge(ann.settings, NOW)
    assert (bob.frozen, str(bob)) == (frozenset({"A"}), "A is frozen")


def test_nothing_said_has_the_empty_digest_and_something_has_not() -> None:
    controls = Controls()
    assert controls.digest == b""
    controls.kill(None, by="ann")
    assert controls.digest != b""


def test_what_may_be_pulled() -> None:
    controls = Controls()
    assert controls.available(("A", "B")) == ("A", "B")
    controls.freeze("A", is_frozen=True, by="ann")
    assert controls.available(("A", "B")) == ("B",)
    assert controls.available(("A",)) == ("A",)  # nobody can obey, so nobody does
    controls.kill("A", by="ann")
    assert controls.available(("A", "B")) == ("A",)
    assert controls.available(("B", "C")) == ("B", "C")


@pytest.mark.parametrize(
    "setting",
    [
        Setting("launch", "A", 1, "ann"),
        Setting("kill", "A", 0, "ann"),
        Setting("kill", "A", -1, "ann"),
        Setting("kill", "A", int(NOW * COUNTS_A_SECOND) + SPARE_COUNTS + 1, "ann"),
        Setting("kill", "A", 2**60, "ann"),
        Setting("kill", "A" * 201, 1, "ann"),
        Setting("kill", "", 1, "ann"),
        Setting("kill", "A", 1, ""),
        Setting("freeze " + "A" * 201, "frozen", 1, "ann"),
    ],
)
def test_words_that_cannot_be_are_refused_and_change_nothing(setting: Setting) -> None:
    controls = Controls()
    controls.kill("B", by="ann")
    before = controls.settings
    with pytest.raises(PeerError):
        controls.merge([Setting("freeze C", "frozen", 5, "bob"), setting], NOW)
    assert controls.settings == before


def test_nobody_can_fill_the_controls_so_that_the_kill_switch_or_a_freeze_is_not_heard() -> None:
    flooded, operator = Controls(), Controls()
    flooded.merge([Setting(f"freeze x{i}", "frozen", 1, "eve") for i in range(MOST_FROZEN + 1)], NOW)
    operator.merge(flooded.settings, NOW)
    operator.kill("A", by="ann")
    operator.freeze("B", is_frozen=True, by="ann")
    assert flooded.merge(operator.settings, NOW)
    assert (flooded.control_arm, "B" in flooded.frozen, len(flooded.frozen)) == ("A", True, MOST_FROZEN)
    assert (flooded.digest, flooded.merge(operator.settings, NOW)) == (operator.digest, False)


def test_which_freezes_are_forgotten_does_not_depend_on_the_order_in_which_they_are_heard() -> None:
    words = [Setting(f"freeze x{i}", "frozen", 1 + i % 3, "eve") for i in range(2 * MOST_FROZEN)]
    ann, bob = Controls(), Controls()
    for at in range(0, len(words), 100):
        ann.merge(words[at : at + 100], NOW)
        bob.merge(words[::-1][at : at + 100], NOW)
    assert (ann.settings, len(ann.settings)) == (bob.settings, MOST_FROZEN)


def test_a_newcomer_takes_words_with_high_counters() -> None:
    ann = Controls([Setting("kill", None, 2**22, "eve")])
    ann.kill("A", by="ann")
    newcomer = Controls()
    assert newcomer.merge(ann.settings, NOW)
    assert newcomer.control_arm == "A"


def test_the_highest_counter_that_is_let_in_does_not_block_later_words() -> None:
    ann, bob = Controls(), Controls()
    ann.merge([Setting("kill", None, int(NOW * COUNTS_A_SECOND) + SPARE_COUNTS, "eve")], NOW)
    ann.kill("A", by="ann")
    assert bob.merge(ann.settings, NOW + 1.0)
    assert bob.control_arm == "A"
