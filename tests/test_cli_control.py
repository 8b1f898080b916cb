"""`cobandit control` turns a switch for a whole fleet, and says who has obeyed."""

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

import cobandit
from cobandit.cli import main
from cobandit.cli.control import _named
from cobandit.live.drive import asking
from cobandit.live.drive.member import Member
from cobandit.live.machine.control_messages import ControlsTold, pack
from cobandit.live.machine.controls import Setting, stamp_at

NETWORKS = (f"memory://cli-control-{number}" for number in itertools.count())
Fleet = tuple[str, list[Member]]


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    network = next(NETWORKS)
    with ExitStack() as stack:
        members = [
            stack.enter_context(cobandit.connect(network, group="homepage", name=name, arms=["A", "B", "C"]))
            for name in ("web-1", "web-2", "web-3")
        ]
        yield network, members


def control(network: str, *switch: str) -> int:
    return main(["control", network, "--group", "homepage", *switch])


def test_an_operator_turns_the_kill_switch_and_lifts_it(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    network, members = fleet
    assert control(network, "kill", "B") == 0
    assert {member.select_arm().arm for member in members} == {"B"}
    assert control(network, "lift") == 0
    assert [member.statistics().control_arm for member in members] == [None] * 3
    assert capsys.readouterr().out == (
        "3 of 3 members have turned the switch: kill B (web-1, web-2, web-3)\n"
        "3 of 3 members have turned the switch: lift (web-1, web-2, web-3)\n"
    )


def test_an_operator_freezes_an_arm_and_gives_it_back(fleet: Fleet) -> None:
    network, members = fleet
    assert control(network, "freeze", "A") == 0
    assert {member.select_arm().arm for member in members for _ in range(60)} == {"B", "C"}
    assert control(network, "unfreeze", "A") == 0
    assert "A" in {members[0].select_arm().arm for _ in range(100)}


def test_the_last_arm_that_is_not_frozen_is_not_frozen(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    network, members = fleet
    assert [control(network, "freeze", arm) for arm in ("A", "B")] == [0, 0]
    capsys.readouterr()
    assert control(network, "freeze", "C") == 1
    assert capsys.readouterr().err == (
        "cobandit: arm 'C' is the last one that is not frozen, at web-1, web-2, web-3: unfreeze another arm first, "
        "or make every member pull a single arm with `kill`\n"
    )
    assert {member.select_arm().arm for member in members for _ in range(6)} == {"C"}


def test_the_last_arm_that_is_not_frozen_can_be_the_only_one_and_can_be_given_back(fleet: Fleet) -> None:
    network, members = fleet
    switches = (("freeze", "A"), ("freeze", "B"), ("unfreeze", "C"), ("kill", "C"), ("lift",))
    assert [control(network, *switch) for switch in switches] == [0] * 5
    assert {member.select_arm().arm for member in members for _ in range(6)} == {"C"}


def test_an_arm_that_is_offered_no_more_is_not_one_that_is_left(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    network, members = fleet
    members[0].remove_arm("C")
    assert [control(network, "freeze", arm) for arm in ("A", "B")] == [0, 1]
    assert "arm 'B' is the last one that is not frozen, at web-1: " in capsys.readouterr().err


def test_a_switch_is_told_again_until_all_obey(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    network, members = fleet
    tell, told = asking.Asker.tell, 0

    def lost_at_first(self: asking.Asker, *settings: Setting) -> None:
        nonlocal told
        told += 1
        if told > 1:
            tell(self, *settings)

    monkeypatch.setattr(asking.Asker, "tell", lost_at_first)
    assert control(network, "kill", "B") == 0
    assert [member.statistics().control_arm for member in members] == ["B"] * 3


def test_members_that_do_not_obey_in_time_are_named(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, _ = fleet
    monkeypatch.setattr("cobandit.cli.control.OBEYED_WITHIN", 0.0)
    monkeypatch.setattr(asking.Asker, "tell", lambda *_: None)
    for switch in (("kill", "B"), ("freeze", "B")):
        assert control(network, *switch) == 1
        assert capsys.readouterr() == (
            f"0 of 3 members have turned the switch: {' '.join(switch)}\n",
            "cobandit: not yet: web-1, web-2, web-3. The others will go on telling them\n",
        )


def test_a_member_whose_arms_are_all_frozen_says_so(fleet: Fleet) -> None:
    node = fleet[1][0]._node
    stamp = stamp_at(time.time())
    every = tuple(Setting(f"freeze {arm}", "frozen", stamp, "operator") for arm in ("A", "B", "C"))
    node.machine.step([(pack(ControlsTold("operator", every), "homepage"), "operator")])
    trouble = (
        "every arm of this member is frozen, so it goes on choosing from all of them: give one back with "
        "`cobandit control URL unfreeze ARM --group homepage`"
    )
    assert node.statistics().troubles == (trouble,)
    kill = ControlsTold("operator", (Setting("kill", "B", stamp, "operator"),))
    node.machine.step([(pack(kill, "homepage"), "operator")])
    assert node.statistics().troubles == ()


def test_a_member_that_does_not_answer_is_counted_and_named(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, members = fleet
    monkeypatch.setattr(asking.Asker.ask, "__defaults__", (1.5,))
    assert all("web-2" in {peer.name for peer in member.statistics().peers} for member in (members[0], members[2]))
    members[1]._node._transport._inbox = None  # type: ignore[attr-defined]  # it hears nothing any more
    assert control(network, "kill", "B") == 3
    out, err = capsys.readouterr()
    assert out == "2 of 3 members have turned the switch: kill B (web-1, web-3)\n"
    assert err == (
        "cobandit: web-2 has not answered, and may not have heard it. The others will go on telling; `cobandit forget` "
        "is for members that are gone for good\n"
    )


def test_of_many_members_some_are_named() -> None:
    assert _named([f"m{number}" for number in range(22)]) == f"{', '.join(f'm{n}' for n in range(20))} and 2 more"


def test_what_cannot_be_is_said(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    network, members = fleet
    assert control(network, "kill", "Z") == 1
    assert capsys.readouterr().err == "cobandit: no member has an arm 'Z'\n"
    assert main(["control", network, "--group", "nobody", "lift"]) == 1
    assert "no member answered" in capsys.readouterr().err
    assert [member.statistics().control_arm for member in members] == [None] * 3


def test_a_switch_that_there_is_not_is_refused_and_blames_nobody(fleet: Fleet) -> None:
    node = fleet[1][0]._node
    for key in ("launch", "kill"):
        told = ControlsTold("operator", (Setting(key, "B", stamp_at(time.time()), "operator"),))
        node.machine.step([(pack(told, "homepage"), "operator")])
    assert node.statistics().refused == {"setting": 1}
    assert [(one.key, one.value, one.by) for one in node.machine.controls.settings] == [("kill", "B", "operator")]


def test_a_recorded_command_is_old_for_ever(fleet: Fleet) -> None:
    network, members = fleet
    recorded = pack(ControlsTold("operator", (Setting("kill", "B", stamp_at(time.time()), "operator"),)), "homepage")
    node = members[0]._node
    node.machine.step([(recorded, None)])
    assert node.machine.controls.control_arm == "B"
    assert control(network, "lift") == 0
    node.machine.step([(recorded, None)])
    assert [member.statistics().control_arm for member in members] == [None] * 3


def test_an_operator_whose_clock_is_behind_has_the_last_word_all_the_same(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, members = fleet
    members[0].kill("B")
    monkeypatch.setattr(asking, "time", SimpleNamespace(time=lambda: time.time() - 3600.0))
    assert control(network, "lift") == 0
    assert [member.statistics().control_arm for member in members] == [None] * 3


def test_an_operator_whose_clock_is_far_ahead_is_told_to_set_it(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, members = fleet
    now = time.time
    monkeypatch.setattr("cobandit.cli.control.time", SimpleNamespace(time=lambda: now() + 3600.0))
    assert control(network, "kill", "B") == 1
    assert (
        "this machine's clock is 60 minutes ahead of all members, so none would obey: set it" in capsys.readouterr().err
    )
    assert [member.statistics().control_arm for member in members] == [None] * 3
