"""A state file tells its log and what its member knows, while the member runs and after."""

import itertools
from pathlib import Path

import pytest

import cobandit
from cobandit.core import Constant, RetryTimers, on_demand
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.store.history import LogEntry
from cobandit.live.store.state_file import read_copy, read_log
from cobandit.values.errors import LocalError

NAMES = (f"memory://state-file-{number}" for number in itertools.count())


def test_the_log_has_rewards_in_real_units_also_while_the_member_runs(tmp_path: Path) -> None:
    clock = VirtualClock()
    clock.time = 1_800_000_000.0
    state = tmp_path / "a.db"
    with cobandit.connect(
        next(NAMES),
        group="g",
        name="a",
        arms=["A", "B"],
        state=state,
        quantum=0.01,
        clock=clock,
        expire_after=60.0,
        default_reward=0.5,
    ) as member:
        first = member.select_arm("ann")
        second = member.select_arm()
        clock.time += 1.0
        member.update(first, 0.254)
        member.sync()
        running = list(read_log(state))
        assert running == [
            LogEntry(first.number, first.at, first.arm, 0.5, "ann", 0.25, first.at + 1.0, id=first.id),
            LogEntry(second.number, second.at, second.arm, 0.5, None, id=second.id),
        ]
        assert list(member.log()) == running
        clock.time += 60.0
        third = member.select_arm()
        member.sync()
        member.sync()
    assert list(read_log(state)) == [
        running[0],
        LogEntry(second.number, second.at, second.arm, 0.5, None, 0.5, clock.time, is_expired=True, id=second.id),
        LogEntry(third.number, third.at, third.arm, third.propensity, None, id=third.id),
    ]


@pytest.mark.parametrize("policy", ["ucb", "aae", "kl-ucb", "klucb", "thompson"])
def test_a_copy_of_a_running_member_is_up_to_date_and_starts_another(policy: str, tmp_path: Path) -> None:
    network = next(NAMES)
    with cobandit.connect(
        network, group="g", name="a", arms=["A", "B"], state=tmp_path / "a.db", policy=policy
    ) as member:
        for _ in range(500):
            decision = member.select_arm()
            member.update(decision, 1.0 if decision.arm == "A" else 0.0)
        member.sync()
        copy = read_copy(tmp_path / "a.db")
        assert (copy.member, copy.observations, copy.newer_batches) == ("a", 500, 0)
        with cobandit.connect(next(NAMES), group="g", name="b", arms=["A", "B"], snapshot=copy.content) as other:
            assert other.statistics().observations == 500


def test_a_copy_of_a_member_with_rules_of_its_own_says_what_is_not_in_it(tmp_path: Path) -> None:
    sharing = on_demand(Constant(3), loss_tolerant=RetryTimers())
    state = tmp_path / "a.db"
    with cobandit.connect(next(NAMES), group="g", name="a", arms=["A", "B"], state=state, sharing=sharing) as member:
        member.update(member.select_arm(), 1.0)
        member.sync()
        running = read_copy(state)
        assert running.observations == 0
        assert running.newer_batches > 0
    stopped = read_copy(state)
    assert (stopped.observations, stopped.newer_batches) == (1, 0)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for read in (read_log, read_copy):
        with pytest.raises(LocalError, match="there is no journal at"):
            read(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []
