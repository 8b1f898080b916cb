"""A frame says what the members say, and nothing else."""

import msgspec
from tests.dashboard.fleets import arm, fleet, member, peer

from cobandit.dashboard import frame
from cobandit.dashboard.frame import ArmShown, Frame, MemberShown, Messages, Pairs
from cobandit.dashboard.framing import Framing
from cobandit.dashboard.meter import Meter

ANN = member(
    "ann",
    peer("bob", shares_sent=3, heard_s=2.0, lacks=5),
    arms=(arm("A", 8, 6, mean=0.5), arm("B", 2, 0, is_candidate=False)),
    shares=3,
    observed=6,
    immediate=6,
    decisions=7,
    refused={"malformed": 2, "flood": 1},
    troubles=("the disk is full",),
)
BOB = member(
    "bob",
    peer("ann", shares_sent=4, heard_s=None),
    arms=(arm("A", 7, 2), arm("B", 2, 2)),
    shares=4,
    observed=4,
    immediate=3,
)


def test_a_whole_frame() -> None:
    made = Framing(seen_from="ann").frame(fleet(ANN, BOB), 50.0, next_s=2.0)
    assert made == Frame(
        version=1,
        group="homepage",
        at=50.0,
        next_s=2.0,
        policy="UCB",
        watching_since=50.0,
        seen_from="ann",
        is_whole=True,
        control_arm=None,
        decisions=7,
        observations=10,
        candidates=2,
        arms=(
            ArmShown("A", 8, 0.8, None, 0.5, 0.25, 0.75, offered_at=2, frozen_at=0, members=2, state="candidate"),
            ArmShown("B", 2, 0.2, None, 0.5, 0.25, 0.75, offered_at=1, frozen_at=0, members=2, state="candidate"),
        ),
        arms_left_out=0,
        members=(
            MemberShown("ann", "here", 0.0, True, 7, 6, 10, 0, 0, 3, 9, 10.0, 3, ("the disk is full",)),
            MemberShown("bob", "here", 0.0, False, 0, 4, 9, 1, 0, 4, 12, 10.0, 0),
        ),
        members_left_out=0,
        pairs=Pairs(
            names=("ann", "bob"),
            shares=((None, 3), (4, None)),
            heard_s=((None, 2.0), (None, None)),
            lacks=((None, 5), (0, None)),
        ),
        messages=Messages(shares=7, packets=21, bytes=700, immediate=9, observed=10),
        events=(),
        series=made.series,
    )
    assert msgspec.json.decode(made.to_json(), type=Frame) == made


def test_who_is_silent_keeps_what_it_said_and_its_row_is_empty() -> None:
    framing = Framing()
    framing.frame(fleet(ANN, BOB), 50.0, next_s=2.0)
    made = framing.frame(fleet(ANN), 52.0, next_s=2.0)
    assert [(one.name, one.state, one.own_observations, one.heard_s) for one in made.members] == [
        ("ann", "here", 6, 0.0),
        ("bob", "silent", 4, 2.0),
    ]
    assert made.pairs.shares == ((None, 3), (None, None))
    assert (made.observations, made.messages.observed) == (10, 10)
    assert [event.kind for event in made.events] == ["silent"]


def test_a_glance_shows_the_others_as_not_asked() -> None:
    framing = Framing(seen_from="ann")
    framing.frame(fleet(ANN, BOB), 50.0, next_s=2.0)
    made = framing.frame(fleet(ANN), 52.0, next_s=2.0, is_whole=False)
    assert [(one.name, one.state) for one in made.members] == [("ann", "here"), ("bob", "not asked")]
    assert made.pairs.shares == ((None, 3), (4, None))
    assert (made.is_whole, made.events) == (False, ())


def test_a_glance_is_no_moment_at_which_the_others_sent_nothing() -> None:
    framing = Framing(seen_from="ann")
    framing.frame(fleet(ANN, BOB), 50.0, next_s=2.0)
    framing.frame(fleet(ANN), 60.0, next_s=2.0, is_whole=False)
    more = msgspec.structs.replace(BOB, communication=msgspec.structs.replace(BOB.communication, shares=24))
    made = framing.frame(fleet(ANN, more), 70.0, next_s=2.0)
    assert made.series.shares == (7, 17, 27)
    alone = Framing(seen_from="ann")
    for at in (50.0, 60.0):  # nobody else is here: that is everybody
        alone.frame(fleet(msgspec.structs.replace(ANN, peers=())), at, next_s=2.0, is_whole=False)
    assert alone.frame(fleet(ANN), 70.0, next_s=2.0).series.shares == (3, 3, 3)


def test_the_states_of_arms() -> None:
    off = {"is_candidate": False}
    arms = (
        arm("candidate", 5),
        arm("ruled out", 4, **off),
        arm("frozen", 3, is_frozen=True, **off),
        arm("removed", 2, is_removed=True, is_frozen=True, **off),
    )
    made = Framing().frame(fleet(member("ann", arms=arms)), 0.0, next_s=1.0)
    assert [one.state for one in made.arms] == [one.arm for one in arms]
    assert made.candidates == 1
    killed = Framing().frame(fleet(member("ann", arms=arms, control_arm="frozen")), 0.0, next_s=1.0)
    assert [one.state for one in killed.arms] == ["switched off", "switched off", "frozen", "removed"]
    assert killed.control_arm == "frozen"


def test_recent_traffic_is_of_what_came_since_the_last_half_minute() -> None:
    framing = Framing()
    framing.frame(fleet(member("ann", arms=(arm("A", 100), arm("B", 0)))), 0.0, next_s=1.0)
    made = framing.frame(fleet(member("ann", arms=(arm("A", 101), arm("B", 3)))), 20.0, next_s=1.0)
    assert [(one.arm, one.share, one.recent_share) for one in made.arms] == [
        ("A", 101 / 104, 0.25),
        ("B", 3 / 104, 0.75),
    ]


def test_the_groups_regret_is_told_when_all_true_means_are_known() -> None:
    arms = (arm("A", 10), arm("B", 4))
    known = Framing(true_means={"A": 0.5, "B": 0.75, "C": 1.0}).frame(fleet(member("ann", arms=arms)), 0.0, next_s=1.0)
    assert (known.regret, known.series.regret, [one.true_mean for one in known.arms]) == (6.0, (6.0,), [0.5, 0.75])
    unknown = Framing(true_means={"A": 0.5}).frame(fleet(member("ann", arms=arms)), 0.0, next_s=1.0)
    assert (unknown.regret, unknown.series.regret) == (None, None)


def test_what_there_is_no_room_for_is_counted() -> None:
    names = [f"m{number:03}" for number in range(frame.MOST_MEMBERS + 3)]
    arms = tuple(arm(f"arm {number}", number + 1) for number in range(frame.MOST_ARMS + 2))
    made = Framing().frame(fleet(*(member(name, arms=arms) for name in names)), 0.0, next_s=1.0)
    assert (len(made.members), made.members_left_out) == (frame.MOST_MEMBERS, 3)
    assert (len(made.arms), made.arms_left_out) == (frame.MOST_ARMS, 2)
    assert (len(made.pairs.names), made.pairs.left_out) == (frame.MOST_IN_MATRIX, len(names) - frame.MOST_IN_MATRIX)
    assert made.candidates == frame.MOST_ARMS + 2


def test_counting_goes_on_where_a_member_that_was_started_again_begins_at_zero() -> None:
    meter = Meter()
    meter.read([member("ann", shares=5, observed=10, immediate=20)])
    meter.read([member("ann", shares=6, observed=12, immediate=24)])
    long_after = member("ann", shares=1, observed=3, immediate=3, at=9000.0, uptime_s=4000.0)
    assert meter.read([long_after]) == Messages(shares=7, packets=21, bytes=700, immediate=27, observed=15)


def test_two_processes_with_one_name_are_not_counted_in_turns() -> None:
    meter = Meter()
    newer, older = (member("bob", shares=shares, observed=shares, incarnation=shares) for shares in (9, 2))
    for one in (older, newer, older, newer, older):
        counted = meter.read([one])
    assert (counted.shares, counted.observed) == (9, 9)


def test_the_dead_have_no_say_about_switches_and_candidates() -> None:
    framing = Framing()
    ann = member("ann", "bob", arms=(arm("A", 5, is_candidate=False), arm("B", 3)))
    frozen = arm("B", 3, is_frozen=True, is_candidate=False)
    bob = member("bob", "ann", arms=(arm("A", 5), frozen), control_arm="A")
    alive = framing.frame(fleet(ann, bob), 0.0, next_s=1.0)
    assert (alive.control_arm, [one.state for one in alive.arms]) == ("A", ["candidate", "switched off"])
    made = framing.frame(fleet(ann), 2.0, next_s=1.0)
    assert (made.control_arm, made.candidates) == (None, 1)
    assert [(one.arm, one.state, one.offered_at, one.frozen_at, one.members) for one in made.arms] == [
        ("A", "ruled out", 0, 0, 1),
        ("B", "candidate", 1, 0, 1),
    ]


def test_what_was_observed_stays_on_the_page_when_a_member_leaves() -> None:
    framing = Framing(true_means={"A": 0.25, "B": 0.75})
    both = fleet(member("ann", "bob", arms=(arm("A", 4),)), member("bob", "ann", arms=(arm("A", 9, 6), arm("B", 5))))
    before = framing.frame(both, 0.0, next_s=1.0)
    gone = fleet(member("ann", peer("bob", is_present=False), arms=(arm("A", 4),)))
    after = framing.frame(gone, 2.0, next_s=1.0)
    assert (before.observations, before.regret) == (15, 5.0)
    assert (after.observations, after.regret, after.series.regret) == (15, 5.0, (5.0, 5.0))
    assert [(one.arm, one.observations) for one in after.arms] == [("A", 10)]


def test_only_arms_that_a_member_has_can_be_missing_there() -> None:
    made = Framing().frame(
        fleet(member("ann", arms=(arm("x", 9), arm("y", 4))), member("bob", arms=(arm("y", 3, 0), arm("z", 7)))),
        0.0,
        next_s=1.0,
    )
    assert [(one.name, one.missing) for one in made.members] == [("ann", 0), ("bob", 1)]


def test_a_page_that_is_seen_from_a_member_shows_no_names_that_only_others_speak_of() -> None:
    both = fleet(member("ann", "bob"), member("bob", "ann", "ghost"))
    made = Framing(seen_from="ann").frame(both, 0.0, next_s=1.0)
    assert ([one.name for one in made.members], made.pairs.names) == (["ann", "bob"], ("ann", "bob"))


def test_decisions_do_not_fall_when_a_member_leaves_or_starts_again() -> None:
    framing = Framing()
    bob = member("bob", peer("ann"), decisions=5)
    assert framing.frame(fleet(ANN, bob), 0.0, next_s=2.0).decisions == 12
    left = msgspec.structs.replace(ANN, peers=(peer("bob", is_present=False),), decisions=9)
    assert framing.frame(fleet(left), 2.0, next_s=2.0).decisions == 14
    again = member("bob", peer("ann"), decisions=1, started_at=bob.started_at + 100.0)
    assert framing.frame(fleet(left, again), 4.0, next_s=2.0).decisions == 15
