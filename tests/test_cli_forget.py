"""`cobandit forget` says for a whole fleet that members are gone for good, and who has heard it."""

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import cobandit
from cobandit.cli import forget, main
from cobandit.live.drive import asking
from cobandit.live.drive.member import Member
from cobandit.live.machine.control_messages import Hello, pack
from cobandit.live.machine.controls import MAX_NAMES_TO_FORGET, Setting

NETWORKS = (f"memory://cli-forget-{number}" for number in itertools.count())
ARMS = ("A", "B")
Fleet = tuple[str, list[Member]]


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """Two members, and another whom both have met, and who is gone without a farewell."""
    network = next(NETWORKS)
    with ExitStack() as stack:
        members = [
            stack.enter_context(cobandit.connect(network, group="homepage", name=name, arms=ARMS))
            for name in ("web-1", "web-2")
        ]
        hello = pack(Hello("web-9", ARMS, 10**6, 5, 2, b""), "homepage")
        for member in members:
            member._background.loop.call_soon_threadsafe(member._node.frame, hello, None)
        deadline = time.monotonic() + 60.0
        while any("web-9" not in named(member) for member in members):
            assert time.monotonic() < deadline
        yield network, members


def named(member: Member) -> list[str]:
    return sorted(peer.name for peer in member.statistics().peers)


def run(network: str, *names: str) -> int:
    return main(["forget", network, "--group", "homepage", *names])


def test_who_is_gone_is_forgotten_by_everybody(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    network, members = fleet
    assert run(network, "web-9") == 0
    assert capsys.readouterr().out == "2 of 2 members have forgotten 1 name. What they observed counts.\n"
    assert [named(member) for member in members] == [["web-2"], ["web-1"]]
    assert [(member.statistics().gone, member.statistics().gone_names) for member in members] == [(1, ("web-9",))] * 2
    assert main(["status", network, "--group", "homepage"]) == 0
    assert "1 name is gone; the 0 observations of theirs that are known count." in capsys.readouterr().out


def test_a_program_can_say_it_too(fleet: Fleet) -> None:
    _, members = fleet
    members[0].forget("web-9")
    deadline = time.monotonic() + 60.0
    while any("web-9" in named(member) for member in members):
        assert time.monotonic() < deadline


def test_who_cannot_be_forgotten_is_said(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    network, members = fleet
    assert run(network, "web-9", "web-1") == forget.NOT_HEARD
    assert capsys.readouterr().err == "cobandit: web-1 answered: only members that are not running can be forgotten\n"
    assert run(network, "web-8", "web-9") == forget.NOT_HEARD
    assert "no member knows web-8: never seen, or already forgotten" in capsys.readouterr().err
    assert run(network, *(f"p{number}" for number in range(MAX_NAMES_TO_FORGET + 1))) == forget.NOT_HEARD
    assert "257 names are too many at once: at most 256" in capsys.readouterr().err
    assert main(["forget", network, "--group", "nobody", "web-9"]) == 1
    assert "no member answered" in capsys.readouterr().err
    assert [named(member) for member in members] == [["web-2", "web-9"], ["web-1", "web-9"]]


def test_a_name_that_is_said_twice_counts_once(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    network, _ = fleet
    assert run(network, "web-9", "web-9") == 0
    assert capsys.readouterr().out == "2 of 2 members have forgotten 1 name. What they observed counts.\n"


def test_it_is_told_again_until_all_have_heard(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    network, members = fleet
    tell, told = asking.Asker.tell, 0

    def lost_at_first(self: asking.Asker, *settings: Setting) -> None:
        nonlocal told
        told += 1
        if told > 1:
            tell(self, *settings)

    monkeypatch.setattr(asking.Asker, "tell", lost_at_first)
    assert run(network, "web-9") == 0
    assert [named(member) for member in members] == [["web-2"], ["web-1"]]


def test_who_has_not_heard_in_time_is_named(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, _ = fleet
    monkeypatch.setattr(forget, "HEARD_WITHIN", 0.0)
    monkeypatch.setattr(asking.Asker, "tell", lambda *_: None)
    assert run(network, "web-9") == forget.NOT_HEARD
    assert capsys.readouterr() == (
        "0 of 2 members have forgotten 1 name. What they observed counts.\n",
        "cobandit: not yet: web-1, web-2. The others will go on telling them\n",
    )
