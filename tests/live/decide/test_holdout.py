"""The hold-out: even, logged as such, not learned from, and counted once in the whole fleet, after any restart."""

import copy
import json
import pickle
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.waiting import until

import cobandit
from cobandit.cli import main
from cobandit.live.decide.holdout import Holdout, is_marked, marked, unmarked
from cobandit.live.drive.member import Member
from cobandit.live.status.lift import Lift, Rewards, lift_of
from cobandit.values.errors import LocalError

ARMS = ["A", "B", "C", "D"]


def connect(network: str, name: str = "a", **more: object) -> Member:
    options = {"group": "g", "name": name, "arms": ARMS, "holdout": 0.5, **more}
    return cobandit.connect(f"memory://holdout-{network}", **options)  # type: ignore[arg-type]


def teach(member: Member, count: int) -> tuple[int, int]:
    """Reward A and nothing else. Return how many decisions were the bandit's, and how many held out."""
    made = [member.select_arm() for _ in range(count)]
    for decision in made:
        assert member.update(decision, decision.arm == "A")
    member.sync()
    held_out = sum(decision.is_held_out for decision in made)
    return count - held_out, held_out


def lift(member: Member) -> Lift:
    found = member.statistics().lift
    assert found is not None
    return found


def test_held_out_decisions_are_even_over_the_arms_on_offer() -> None:
    with connect("even", holdout=0.25, floors={"A": 0.9}) as member:
        made = [member.select_arm() for _ in range(8000)]
        held_out = [decision for decision in made if decision.is_held_out]
        assert abs(len(held_out) - 2000) < 6 * (8000 * 0.25 * 0.75) ** 0.5  # six standard deviations
        counts = Counter(decision.arm for decision in held_out)
        assert all(abs(counts[arm] - len(held_out) / 4) < 6 * (len(held_out) * 3 / 16) ** 0.5 for arm in ARMS)
        assert {decision.propensity for decision in held_out} == {0.25}
        member.freeze_arm("B")
        some = [member.select_arm(among=["A", "B", "C"]) for _ in range(200)]
        assert {(one.arm, one.propensity) for one in some if one.is_held_out} == {("A", 0.5), ("C", 0.5)}
        member.kill("D")
        assert {(one.arm, one.is_held_out) for one in (member.select_arm() for _ in range(50))} == {("D", False)}


def test_a_subject_is_held_out_at_every_member_or_at_none() -> None:
    with connect("subjects") as ann, connect("subjects", "b", arms=ARMS[::-1]) as bob:
        subjects = [f"visitor {number}" for number in range(400)]
        said = [[(one.arm, one.is_held_out) for one in map(member.select_arm, subjects)] for member in (ann, bob)]
        again = [(one.arm, one.is_held_out) for one in map(ann.select_arm, subjects)]
    assert said[0] == said[1] == again
    assert 160 < sum(is_held_out for _, is_held_out in again) < 240  # half; four standard deviations
    assert len({arm for arm, is_held_out in again if is_held_out}) == 4


@pytest.mark.parametrize("policy", ["thompson", "ucb"])
def test_nobody_learns_from_the_hold_out(policy: str) -> None:
    with connect(f"learns-{policy}", policy=policy) as member:
        served, held_out = teach(member, 400)
        told = member.statistics()
        assert served > 100
        assert held_out > 100
        assert (told.observations, told.own_observations) == (served, served)
        assert sum(arm.observations for arm in told.arms) == served
        assert told.lift is not None
        assert (told.lift.observations, told.lift.held_out) == (served, held_out)
        assert told.decisions == 400
        assert told.open_decisions == 0


def test_the_log_says_what_was_held_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "a.db"
    with connect("log", state=state) as member:
        made = [member.select_arm() for _ in range(40)]
        for decision in made:
            member.update(decision, 1.0)
        entries = list(member.log())
    assert [(one.arm, one.is_held_out, one.id, one.propensity) for one in entries] == [
        (one.arm, one.is_held_out, one.id, one.propensity) for one in made
    ]
    assert main(["log", str(state)]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["held_out"] for line in printed] == [one.is_held_out for one in made]


def test_what_was_held_out_counts_once_and_survives_restarts(tmp_path: Path) -> None:
    state = tmp_path / "a.db"
    with connect("restart", state=state) as member:
        served, held_out = teach(member, 100)
        open_ones = [member.select_arm() for _ in range(40)]
        ids = [one.id for one in open_ones]
        copies = [pickle.loads(pickle.dumps(one)) for one in open_ones]
        assert [one.id for one in copies] == [copy.copy(one).id for one in open_ones] == ids
        member.sync()
    served += sum(not one.is_held_out for one in open_ones)
    held_out += sum(one.is_held_out for one in open_ones)
    with connect("restart", state=state) as member:
        assert [bool(member.update(one, 0.5)) for one in (*ids, *ids)] == [True] * 40 + [False] * 40
        member.sync()
        assert (lift(member).observations, lift(member).held_out) == (served, held_out)
    with connect("restart", state=state, holdout=0.0) as member:  # what is known stays
        assert (lift(member).observations, lift(member).held_out) == (served, held_out)


def test_every_member_knows_the_hold_out_of_the_whole_fleet() -> None:
    with connect("fleet") as ann, connect("fleet", "b") as bob, connect("fleet", "c", holdout=0.0) as cat:
        counts = [teach(member, 100) for member in (ann, bob)]
        elsewhere = [bob.select_arm() for _ in range(20)]
        for one in elsewhere:
            ann.update(one.id, 1.0)  # rewards come anywhere
        served = sum(count for count, _ in counts) + sum(not one.is_held_out for one in elsewhere)
        held_out = sum(count for _, count in counts) + sum(one.is_held_out for one in elsewhere)

        def told() -> list[tuple[int, int] | None]:
            for member in (ann, bob, cat):
                member.flush(1.0)
            lifts = [member.statistics().lift for member in (ann, bob, cat)]
            return [None if one is None else (one.observations, one.held_out) for one in lifts]

        until(lambda: told() == [(served, held_out)] * 3, told)
        fleet = ann.fleet()
        assert fleet.lift is not None
        assert (fleet.lift.observations, fleet.lift.held_out) == (served, held_out)


def test_relays_pass_the_hold_out_on_to_leaves() -> None:
    with (
        connect("relay", "relay", relay=True, holdout=0.0),
        connect("relay", "leaf-1", relays=["relay"]) as one,
        connect("relay", "leaf-2", relays=["relay"]) as other,
    ):
        served, held_out = teach(one, 100)

        def told() -> list[tuple[int, int] | None]:
            one.flush(1.0)
            other.catch_up()
            found = [member.statistics().lift for member in (one, other)]
            return [None if lift is None else (lift.observations, lift.held_out) for lift in found]

        until(lambda: told() == [(served, held_out)] * 2, told)


def test_without_a_hold_out_there_is_no_lift() -> None:
    with connect("none", holdout=0.0) as member:
        assert not any(member.select_arm().is_held_out for _ in range(200))
        assert member.statistics().lift is None


@pytest.mark.parametrize("share", [-0.1, 0.51, 2, "5 %", True, None])
def test_a_share_that_cannot_be_is_refused(share: object) -> None:
    with pytest.raises(LocalError, match=r"holdout must be a number from 0 to 0\.5, such as 0\.05"):
        connect("refused", holdout=share)


def test_an_arm_with_the_mark_is_refused() -> None:
    with pytest.raises(LocalError, match=r"must not contain the separator U\+001F"):
        connect("marked", arms=["A", marked("A")])
    assert unmarked(marked("A")) == (("", "held out"), "A")
    assert is_marked(marked("A"))
    assert not is_marked("A")


def test_who_is_held_out_depends_on_the_share_alone() -> None:
    few, many = Holdout(0.1, 1, "g"), Holdout(0.4, 1, "g")
    subjects = [f"s{number}" for number in range(500)]
    chosen = {name for name in subjects if few.draw(ARMS, name, 0)}
    assert chosen < {name for name in subjects if many.draw(ARMS, name, 0)}  # a larger share keeps those that it had


def test_the_lift_says_whether_it_helps() -> None:
    helps = lift_of(Rewards(9500, 950.0, 950.0), Rewards(500, 20.0, 20.0))
    assert [helps.mean, helps.held_out_mean, helps.lift] == pytest.approx([0.1, 0.04, 0.06])
    assert helps.text == (
        "The bandit earns 0.100 per decision, the hold-out 0.040: a lift of 0.060 (0.040 to 0.077), so it helps."
    )
    assert lift_of(Rewards(500, 20.0, 20.0), Rewards(9500, 950.0, 950.0)).text.endswith("it harms.")
    assert lift_of(Rewards(10, 1.0, 1.0), Rewards(0, 0.0, 0.0)) == Lift(
        10, 0.1, 0, None, None, None, None, "There is no lift yet: no reward of the hold-out is known."
    )


def test_the_interval_of_the_lift_holds_the_true_one_in_95_percent() -> None:
    """400 worlds of 950 and 50 decisions, rewards of 6 and 4 %: at least 366, which a right one misses in 0.1 %."""
    dice, held = random.Random(1), 0
    for _ in range(400):
        bandit, held_out = (sum(dice.random() < mean for _ in range(n)) for n, mean in ((950, 0.06), (50, 0.04)))
        found = lift_of(Rewards(950, bandit, bandit), Rewards(50, held_out, held_out))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.02 <= found.high
    assert held >= 366
