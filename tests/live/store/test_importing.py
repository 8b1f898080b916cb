"""Counters of another system are a start for members, and count once."""

import time
from collections.abc import Callable
from typing import Any

import pytest

import cobandit
from cobandit import Constant, LocalError, RetryTimers, on_demand
from cobandit.live.drive.member import Member
from cobandit.live.store.importing import snapshot_of

QUICK = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.2, longest=1.0))
WITHIN = 60.0
COUNTS, SUMS = {"A": 1000, "B": 300, "C": 0}, {"A": 100.0, "B": 210.5, "C": 0.0}


def connect(network: str, name: str, **options: Any) -> Member:
    settings: dict[str, Any] = {"group": "tested", "arms": ["A", "B", "C"], "sharing": QUICK, **options}
    return cobandit.connect(f"memory://{network}", name=name, **settings)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def known(member: Member) -> dict[str, tuple[int, float | None]]:
    return {arm.arm: (arm.observations, arm.mean) for arm in member.statistics().arms}


def test_members_that_start_from_the_same_counters_count_them_once() -> None:
    snapshot = snapshot_of(COUNTS, SUMS, source="redis")
    with (
        connect("imported", "ann", snapshot=snapshot) as ann,
        connect("imported", "bob", snapshot=snapshot) as bob,
    ):
        assert known(ann) == known(bob) == {"A": (1000, 0.1), "B": (300, 210.5 / 300), "C": (0, None)}
        until(lambda: len(ann.statistics().peers) == len(bob.statistics().peers) == 1)
        for member in (ann, bob):
            for _ in range(20):
                decision = member.select_arm()
                member.update(decision, 1.0)
        until(lambda: ann.statistics().observations == bob.statistics().observations == 1340)
        assert [member.statistics().own_observations for member in (ann, bob)] == [20, 20]


def test_the_snapshot_does_not_hang_on_when_or_where_it_is_made() -> None:
    assert snapshot_of(COUNTS, SUMS, source="redis") == snapshot_of(dict(COUNTS), dict(SUMS), source="redis")


def test_who_started_from_it_can_hand_on_all_that_it_knows_and_it_still_counts_once() -> None:
    snapshot = snapshot_of(COUNTS, SUMS, source="redis")
    with connect("handed-on", "ann", snapshot=snapshot) as ann:
        assert ann.update(ann.select_arm(), 1.0)
        ann.sync()
        with connect("handed-on", "cleo", snapshot=ann.snapshot()) as cleo:
            until(lambda: len(ann.statistics().peers) == len(cleo.statistics().peers) == 1)
            assert cleo.update(cleo.select_arm(), 1.0)
            until(lambda: ann.statistics().observations == cleo.statistics().observations == 1302)


def test_a_member_that_starts_without_the_counters_never_hears_of_them() -> None:
    with (
        connect("without", "ann", snapshot=snapshot_of(COUNTS, SUMS, source="redis")) as ann,
        connect("without", "bob") as bob,
    ):
        until(lambda: len(ann.statistics().peers) == len(bob.statistics().peers) == 1)
        for member in (ann, bob):
            assert member.update(member.select_arm(), 1.0)
        until(lambda: (ann.statistics().observations, bob.statistics().observations) == (1302, 2))


def test_sums_that_floats_made_inexact_are_taken() -> None:
    tenths = sum(0.1 for _ in range(10))
    assert tenths != 1.0
    with connect("floats", "ann", arms=["A"], snapshot=snapshot_of({"A": 10}, {"A": tenths}, source="s")) as ann:
        assert known(ann) == {"A": (10, 0.1)}


def test_counters_of_another_quantum_are_refused_when_a_member_starts() -> None:
    snapshot = snapshot_of({"A": 2}, {"A": 1.0}, source="redis", quantum=1.0)
    with pytest.raises(LocalError, match="give it the same quantum"):
        connect("quantum", "ann", arms=["A"], snapshot=snapshot)


@pytest.mark.parametrize(
    ("counts", "sums", "error"),
    [
        ({"A": 10}, {"A": 11.0}, "arm 'A' has 10 observations with rewards of 11.0 together"),
        ({"A": 10}, {"A": -1.0}, "each reward is in"),
        ({"A": 10}, {"A": float("nan")}, "each reward is in"),
        ({"A": -1}, {"A": 0.0}, "there must be a whole number of them"),
        ({"A": 1.5}, {"A": 0.0}, "there must be a whole number of them"),
        ({"A": True}, {"A": 0.0}, "there must be a whole number of them"),
        ({"A": "10"}, {"A": 0.0}, "there must be a whole number of them"),
        ({"A": 10}, {"A": "1"}, "each reward is in"),
        ({"A": 10}, {"B": 1.0}, "counts and sums must be of the same arms, and differ in 'A', 'B'"),
        ({}, {}, "the arm set is empty"),
    ],
)
def test_counters_that_cannot_be_are_refused(counts: dict[str, int], sums: dict[str, float], error: str) -> None:
    with pytest.raises(LocalError, match=error):
        snapshot_of(counts, sums, source="redis")


def test_a_source_needs_a_name() -> None:
    with pytest.raises(LocalError, match="the source of counters must be a string"):
        snapshot_of({"A": 1}, {"A": 1.0}, source="")
