"""`cobandit control` turns a switch for a whole fleet, and says who has obeyed."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import cobandit
from cobandit.cli import main
from cobandit.runtime.letters import ControlWanted, pack
from cobandit.runtime.member import Member

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
        "3 of 3 members have turned the switch: kill B\n3 of 3 members have turned the switch: lift\n"
    )


def test_an_operator_freezes_an_arm_and_gives_it_back(fleet: Fleet) -> None:
    network, members = fleet
    assert control(network, "freeze", "A") == 0
    assert {member.select_arm().arm for member in members for _ in range(6)} == {"B", "C"}
    assert control(network, "unfreeze", "A") == 0
    assert "A" in {members[0].select_arm().arm for _ in range(12)}


def test_what_cannot_be_is_said(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    network, members = fleet
    assert control(network, "kill", "Z") == 1
    assert capsys.readouterr().err == "cobandit: no member has an arm 'Z'\n"
    assert main(["control", network, "--group", "nobody", "lift"]) == 1
    assert "nobody answered" in capsys.readouterr().err
    assert [member.statistics().control_arm for member in members] == [None] * 3


def test_a_switch_that_there_is_not_is_refused_and_the_same_word_twice_is_no_news(fleet: Fleet) -> None:
    node = fleet[1][0]._node
    for key, value in (("launch", "A"), ("kill", "B"), ("kill", "B")):
        node.clerk.turn([(pack(ControlWanted("operator", key, value), "homepage"), "operator")])
    assert node.statistics().refused == {"absurd": 1}
    assert [(one.key, one.value, one.counter, one.by) for one in node.clerk.controls.settings] == [
        ("kill", "B", 1, "operator")
    ]
