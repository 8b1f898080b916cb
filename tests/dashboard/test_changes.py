"""Who is here, and what happened between two looks, told once and in words."""

import msgspec
import pytest
from tests.dashboard.fleets import arm, fleet, member, peer

from cobandit.dashboard.changes import Change, changes
from cobandit.dashboard.sight import MOST_KNOWN, Sight, State, look
from cobandit.live.status.bandit_statistics import BanditStatistics
from cobandit.live.status.guardrail import ArmGuardrail, GuardrailStatistics
from cobandit.live.status.statistics import Statistics


def seen(*looks: tuple[Statistics, ...], is_whole: bool = True) -> tuple[Sight, list[Change]]:
    """Return what is known after some looks, and what happened between the last two."""
    before, sight = None, None
    for members in looks:
        before, sight = sight, look(fleet(*members), sight, is_whole=is_whole)
    assert sight is not None
    return sight, [] if before is None else list(changes(before, sight))


def states(sight: Sight) -> dict[str, str]:
    return {name: str(one.state) for name, one in sight.members.items()}


BOTH = (member("ann", "bob"), member("bob", "ann"))


def test_nothing_happens_when_nothing_changes() -> None:
    sight, happened = seen(BOTH, BOTH)
    assert (states(sight), happened) == ({"ann": "here", "bob": "here"}, [])


def test_a_newcomer_is_told_once() -> None:
    with_eve = (member("ann", "bob", "eve"), member("bob", "ann", "eve"), member("eve", "ann", "bob"))
    assert seen(BOTH, with_eve)[1] == [Change("joined", "eve", "is new to the group")]
    assert seen(BOTH, with_eve, with_eve)[1] == []


def test_who_does_not_answer_is_silent_and_then_back() -> None:
    alone = (member("ann", peer("bob", heard_s=41.0)),)
    sight, happened = seen(BOTH, alone)
    assert states(sight) == {"ann": "here", "bob": "silent"}
    assert (sight.members["bob"].heard_s, sight.members["bob"].statistics) == (41.0, BOTH[1])
    assert happened == [Change("silent", "bob", "does not answer and said no farewell")]
    assert seen(BOTH, alone, alone)[1] == []
    assert seen(BOTH, alone, BOTH)[1] == [Change("back", "bob", "answers again")]


def test_a_member_that_was_killed_comes_back_after_a_restart() -> None:
    restarted = (member("ann", peer("bob", incarnation=2)), member("bob", "ann", incarnation=2, started_at=999.0))
    assert seen(BOTH, (member("ann", "bob"),), restarted)[1] == [
        Change("back", "bob", "answers again, after a restart")
    ]


def test_a_farewell_is_no_silence() -> None:
    gone = (member("ann", peer("bob", is_present=False)),)
    sight, happened = seen(BOTH, gone)
    assert (states(sight), happened) == ({"ann": "here", "bob": "left"}, [Change("left", "bob", "is gone")])
    assert [one.name for one in sight.known] == ["ann"]
    assert seen(BOTH, gone, BOTH)[1] == [Change("back", "bob", "is here again")]


def test_a_restart_between_two_looks_is_seen_however_long_nobody_looked() -> None:
    told = [Change("restarted", "bob", "was restarted")]
    long_after = member("bob", "ann", at=9000.0, uptime_s=4000.0)
    assert seen(BOTH, (BOTH[0], long_after))[1] == told
    assert seen(BOTH, (BOTH[0], member("bob", "ann", incarnation=2, started_at=999.0)))[1] == told


def test_a_new_incarnation_alone_is_no_restart() -> None:
    assert seen(BOTH, (BOTH[0], member("bob", "ann", incarnation=2)))[1] == []


def test_of_two_processes_with_one_name_the_older_one_does_not_count() -> None:
    newer = member("bob", "ann", incarnation=3, started_at=999.0, decisions=7)
    sight, happened = seen(BOTH, (BOTH[0], newer), BOTH)
    assert (sight.members["bob"].statistics, happened) == (newer, [])


def test_a_look_at_one_member_takes_nobody_for_silent_but_hears_of_farewells_and_restarts() -> None:
    sight, happened = seen(BOTH[:1], (member("ann", "bob"),), is_whole=False)
    assert (states(sight), happened) == ({"ann": "here", "bob": "not asked"}, [])
    assert not sight.members["bob"].is_asked
    assert seen(BOTH[:1], (member("ann", peer("bob", incarnation=2)),), is_whole=False)[1] == [
        Change("restarted", "bob", "began anew")
    ]
    assert seen(BOTH[:1], (member("ann", peer("bob", is_present=False)),), is_whole=False)[1] == []
    whole = look(fleet(*BOTH), None, is_whole=True)
    glance = look(fleet(member("ann", peer("bob", is_present=False))), whole, is_whole=False)
    assert list(changes(whole, glance)) == [Change("left", "bob", "is gone")]
    again = look(fleet(member("ann", "bob")), glance, is_whole=False)
    assert (again.members["bob"].state, list(changes(glance, again))) == (State.NOT_ASKED, [])


def test_a_twin_is_told() -> None:
    twin = (BOTH[0], member("bob", "ann", is_superseded=True))
    text = "also runs elsewhere, so this one decides but does not share"
    assert seen(BOTH, twin)[1] == [Change("superseded", "bob", text)]
    assert seen(BOTH, twin, BOTH)[1] == [Change("back", "bob", "speaks for itself again")]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {"is_candidate": False}, Change("ruled out", "ann", "will no longer choose B")),
        ({}, {"is_candidate": False, "is_frozen": True}, Change("frozen", "", "B no longer gets traffic")),
        (
            {"is_candidate": False, "is_frozen": True},
            {},
            Change("unfrozen", "", "B may get traffic again"),
        ),
        ({}, {"is_candidate": False, "is_removed": True}, Change("arms", "ann", "no longer offers B")),
        ({"is_candidate": False, "is_removed": True}, {}, Change("arms", "ann", "offers B")),
    ],
)
def test_what_becomes_of_an_arm_is_told(before: dict[str, bool], after: dict[str, bool], told: Change) -> None:
    looks = [(member("ann", arms=(arm("A"), arm("B", **how))),) for how in (before, after)]
    assert seen(*looks)[1] == [told]


def test_a_new_arm_is_told() -> None:
    assert seen((member("ann", arms=(arm("A"),)),), (member("ann", arms=(arm("A"), arm("B"))),))[1] == [
        Change("arms", "ann", "offers B")
    ]


def test_the_kill_switch_is_told_once_for_all() -> None:
    on = tuple(member(name, other, control_arm="A") for name, other in (("ann", "bob"), ("bob", "ann")))
    assert seen(BOTH, on)[1] == [Change("kill switch", "", "is on: every member pulls A")]
    assert seen(on, BOTH)[1] == [Change("kill switch", "", "is off")]


def test_what_is_set_of_a_bandit_with_a_name_is_told_with_its_name() -> None:
    guardrail = GuardrailStatistics("errors", 0.02, (ArmGuardrail("B", 40, 0.2, is_violated=True),))
    plain = BanditStatistics("mail", ("A", "B"), 1, 5, 5, (0.0, 1.0), guardrail=guardrail)
    frozen = msgspec.structs.replace(plain, frozen=("A", "B"))
    killed = msgspec.structs.replace(plain, control_arm="A")
    calm, after, on = ((member("ann", bandits=(one,)),) for one in (plain, frozen, killed))
    assert seen(calm, after)[1] == [
        Change("frozen", "", "A of mail no longer gets traffic"),
        Change("frozen", "", "B of mail no longer gets traffic: it violates the guardrail on errors"),
    ]
    assert seen(after, calm)[1] == [
        Change("unfrozen", "", "A of mail may get traffic again"),
        Change("unfrozen", "", "B of mail may get traffic again"),
    ]
    assert seen(calm, on)[1] == [Change("kill switch", "", "of mail is on: every member pulls A")]
    assert seen(on, calm)[1] == [Change("kill switch", "", "of mail is off")]
    for_all = (member("ann", bandits=(killed,), control_arm="A"),)
    assert seen(calm, for_all)[1] == [Change("kill switch", "", "is on: every member pulls A")]


def test_switches_are_compared_among_those_who_answered_twice() -> None:
    frozen = arm("A", is_frozen=True, is_candidate=False)
    both = (member("ann", "bob", arms=(arm("A"),)), member("bob", "ann", arms=(frozen,)))
    alone = (member("ann", "bob", arms=(arm("A"),)),)
    assert [change.kind for change in seen(both, alone)[1]] == ["silent"]
    assert [change.kind for change in seen(both, alone, both)[1]] == ["back"]
    whole = look(fleet(*both), None, is_whole=True)
    glance = look(fleet(*alone), whole, is_whole=False)
    assert (list(changes(whole, glance)), list(changes(glance, whole))) == ([], [])


def test_refusals_quarantines_and_troubles_are_told_as_they_come_and_go() -> None:
    calm = (member("ann", refused={"malformed": 2}),)
    busy = (
        member(
            "ann", refused={"malformed": 5, "foreign_group": 1}, quarantined=("eve",), troubles=("the disk is full",)
        ),
    )
    assert seen(calm, busy)[1] == [
        Change("refused", "ann", "malformed", 3),
        Change("refused", "ann", "foreign group", 1),
        Change("quarantine", "ann", "ignores eve for a while"),
        Change("trouble", "ann", "the disk is full"),
    ]
    assert seen(busy, (member("ann", refused={"malformed": 1}, started_at=999.0),))[1] == [
        Change("restarted", "ann", "was restarted"),
        Change("refused", "ann", "malformed", 1),
        Change("settled", "ann", "resolved: the disk is full"),
    ]


def test_somebody_of_whom_nobody_speaks_any_more_is_silent_not_gone() -> None:
    sight, happened = seen(BOTH, (member("ann"),))
    assert (states(sight), sight.members["bob"].incarnation) == ({"ann": "here", "bob": "silent"}, 1)
    assert happened == [Change("silent", "bob", "does not answer and said no farewell")]


def test_how_stale_somebody_is_depends_on_who_heard_it_last() -> None:
    sight, _ = seen((member("ann", "bob", peer("eve", heard_s=9.0)), member("bob", "ann", peer("eve", heard_s=4.0))))
    assert sight.members["eve"].heard_s == 4.0


def test_who_had_left_before_it_was_first_heard_of_does_not_join() -> None:
    assert seen((member("ann"),), (member("ann", peer("bob", is_present=False)),))[1] == []


def test_who_said_farewell_has_still_left_when_nobody_speaks_of_it_any_more() -> None:
    gone = (member("ann", peer("bob", is_present=False)),)
    sight, happened = seen(BOTH, gone, ())
    assert states(sight) == {"ann": "silent", "bob": "left"}
    assert happened == [Change("silent", "ann", "does not answer and said no farewell")]


def test_a_member_that_looks_does_not_believe_in_names_that_only_others_speak_of() -> None:
    others = fleet(member("ann", "bob"), member("bob", "ann", "ghost"))
    assert list(look(others, None, is_whole=True, seen_from="ann").members) == ["ann", "bob"]
    assert list(look(others, None, is_whole=True).members) == ["ann", "bob", "ghost"]


def test_who_never_spoke_and_is_not_spoken_of_any_more_is_forgotten_and_the_rest_is_limited() -> None:
    ghosts = [f"ghost {number:04}" for number in range(2 * MOST_KNOWN)]
    sight, _ = seen((member("zoe", *ghosts),))
    assert (len(sight.members), "zoe" in sight.members) == (MOST_KNOWN, True)
    assert list(seen((member("zoe", *ghosts),), (member("zoe"),))[0].members) == ["zoe"]


def test_in_a_glance_only_who_was_asked_answers() -> None:
    frozen = arm("A", is_frozen=True, is_candidate=False)
    whole = look(
        fleet(member("ann", "bob", arms=(arm("A"),)), member("bob", "ann", arms=(frozen,))), None, is_whole=True
    )
    glance = look(fleet(member("ann", "bob", arms=(arm("A"),))), whole, is_whole=False)
    assert (list(glance.answers), list(glance.present)) == (["ann"], ["ann", "bob"])
