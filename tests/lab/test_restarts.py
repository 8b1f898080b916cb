"""Many restarts and many names: each counts once, and what each costs does not depend on those that are gone."""

import pytest

from cobandit.live.machine.forgetting import LOOKS
from lab.cli import main
from lab.restarts import Look, Way, restarts


def looks(way: Way, count: int) -> tuple[Look, Look]:
    """Return the looks at half of the starts and at the end."""
    found = list(restarts(way, count, arms=2))
    assert [look.wrong for look in found] == [()] * len(found)
    return found[len(found) // 2 - 1], found[-1]


@pytest.mark.parametrize("way", [Way.NO_DISK, Way.DISK])
def test_a_killed_member_has_a_row_for_each_life_and_is_told_of_all_of_them(way: Way) -> None:
    half, end = looks(way, 60)
    assert (half.rows, end.rows, end.links) == (60, 120, 1)
    assert (half.packets, half.packet_bytes < end.packet_bytes) == (end.packets, True)


def test_a_member_that_is_stopped_in_order_goes_on_in_the_same_row() -> None:
    half, end = looks(Way.CLEAN, 60)
    assert (half.rows, end.rows, end.links) == (2, 2, 1)
    assert end.state_bytes < half.state_bytes + 50
    assert end.packet_bytes < half.packet_bytes + 50


def test_names_that_said_farewell_cost_a_row_and_nothing_else() -> None:
    half, end = looks(Way.NAMES, 60)
    assert (half.rows, end.rows, end.links) == (60, 120, 1)
    assert end.packets == half.packets
    assert end.packet_bytes < half.packet_bytes + 50


def test_names_that_are_killed_are_kept_in_mind_for_a_day() -> None:
    *_, end = restarts(Way.DEAD_NAMES, 60, between=3600.0)
    assert (end.rows, end.wrong) == (60, ())
    assert 24 <= end.links <= 24 + 24 // LOOKS  # it is looked so often in a day who is gone


def test_what_each_start_costs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restarts", "names", "clean", "--count", "3"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.endswith(":")] == [f"{Way.NAMES.value}:", f"{Way.CLEAN.value}:"]
    assert said[-1] == "nothing is lost, doubled or refused"
    assert len(said) == 2 * (2 + 3) + 1
    assert main(["restarts", "slowly"]) == 2
    assert "'slowly' is none of no-disk, disk, clean, names, dead-names" in capsys.readouterr().err
