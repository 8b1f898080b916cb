"""A fleet is upgraded one by one, and one member is rolled back, while all of them go on learning. Nothing is lost."""

from pathlib import Path

from tests.upgrade.fleet import UpgradeFleet, upgrade_fleet
from tests.upgrade.worker import Look

from cobandit.live.store.state_versions import kept_copy, version_of_file

OLD, NEW = ("a", "b", "c"), ("d", "e", "f")
ALL = (*OLD, *NEW)


def test_a_fleet_is_upgraded_and_rolled_back_one_by_one_without_losing_anything(tmp_path: Path) -> None:
    with upgrade_fleet(tmp_path, ALL) as fleet:
        assert fleet.start({**dict.fromkeys(OLD, 1), **dict.fromkeys(NEW, 2)}) == [""] * 6
        _learn_together_in_both_versions(fleet)
        for name in OLD:
            _upgrade(fleet, name)
        _all_speak_version_2(fleet)
        _roll_back(fleet, "b")


def _learn_together_in_both_versions(fleet: UpgradeFleet) -> None:
    fleet.until(lambda looks: all(_wanted(fleet, name, look, dict.fromkeys(NEW, 2)) for name, look in looks.items()))
    fleet.tell("forget")
    fleet.pull(40)
    looks = fleet.settle()
    _nobody_is_wronged(looks)
    assert {name: [*look.frames] for name, look in looks.items() if name in OLD} == {name: [1] for name in OLD}
    assert {name: sorted(look.frames) for name, look in looks.items() if name in NEW} == {name: [1, 2] for name in NEW}


def _upgrade(fleet: UpgradeFleet, name: str) -> None:
    others = [other for other in ALL if other != name]
    fleet.stop(name)
    fleet.pull(10, others)  # learning goes on
    assert fleet.start({name: 2}) == [""]
    assert version_of_file(fleet.state(name)) == 2
    assert version_of_file(kept_copy(fleet.state(name), 1)) == 1
    fleet.pull(10)
    _nobody_is_wronged(fleet.settle())


def _all_speak_version_2(fleet: UpgradeFleet) -> None:
    fleet.until(lambda looks: all(_wanted(fleet, name, look, dict.fromkeys(ALL, 2)) for name, look in looks.items()))
    fleet.settle()
    fleet.tell("forget")
    fleet.pull(10)
    looks = fleet.settle()
    assert {name: [*look.frames] for name, look in looks.items()} == {name: [2] for name in ALL}
    assert fleet.versions() == dict.fromkeys(ALL, 2)


def _roll_back(fleet: UpgradeFleet, name: str) -> None:
    others = [other for other in ALL if other != name]
    fleet.stop(name)
    copy = kept_copy(fleet.state(name), 1)
    (error,) = fleet.start({name: 1})
    assert error.endswith(
        f"has state version 2, and this program reads 1: use a cobandit that reads 2, or go back to {copy}"
    )
    fleet.roll_back(name)
    fleet.pull(10, others)
    assert fleet.start({name: 1}) == [""]
    fleet.pull(10)
    _nobody_is_wronged(fleet.settle())
    speaks = {**dict.fromkeys(ALL, 2), name: 1}
    fleet.until(lambda looks: all(_wanted(fleet, one, look, speaks) for one, look in looks.items()))
    assert fleet.versions() == speaks


def _wanted(fleet: UpgradeFleet, name: str, look: Look, speaks: dict[str, int]) -> bool:
    """Whether a member sees all others here, and writes to each in the newest version that both read."""
    others = sorted(other for other in fleet.names if other != name)
    newest = {other: min(speaks.get(name, 1), speaks.get(other, 1)) for other in others}
    return (sorted(look.present), look.written_to) == (others, newest)


def _nobody_is_wronged(looks: dict[str, Look]) -> None:
    assert {name: (look.quarantined, look.troubles) for name, look in looks.items()} == dict.fromkeys(ALL, ((), ()))
    assert {reason for look in looks.values() for reason in look.refused} <= {"stranger", "future"}
