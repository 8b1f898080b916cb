"""`cobandit status` shows a fleet of any size within 80 columns, and says what to check when nobody answers."""

import itertools
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

import cobandit
from cobandit.cli import main
from cobandit.cli.fleet_table import brief_lines, fleet_lines
from cobandit.live.auth.identity import Identity
from cobandit.live.drive.asking import Asker
from cobandit.live.status.fleet import Fleet, fleet_of
from cobandit.live.status.guardrail import ArmGuardrail, GuardrailStatistics
from cobandit.live.status.lift import Rewards, lift_of
from cobandit.live.status.statistics import ArmStatistics, Communication, PeerStatistics, Statistics
from cobandit.live.status.verdict import Standing, judged
from lab.servers import Server, free_port

NAMES = (f"memory://cli-status-{number}" for number in itertools.count())


def peer(name: str, lacks: int = 0, heard_s: float | None = 3.0) -> PeerStatistics:
    return PeerStatistics(name, True, 2, heard_s, 12, 11, 0, 5, lacks)


def statistics(name: str, peers: tuple[PeerStatistics, ...] = (), troubles: tuple[str, ...] = ()) -> Statistics:
    return Statistics(
        name=name,
        group="homepage",
        at=0.0,
        uptime_s=3700.0,
        incarnation=1,
        policy="UCB",
        decisions=1000,
        own_observations=900,
        observations=1700,
        open_decisions=100,
        arms=(
            ArmStatistics(
                "red", 1200, 600, 0.5, 0.4, 0.6, is_candidate=True, is_frozen=False, is_removed=False, p_best=0.912
            ),
            ArmStatistics("blue", 500, 300, None, None, None, is_candidate=False, is_frozen=True, is_removed=False),
        ),
        control_arm=None,
        peers=peers,
        communication=Communication(shares=100, acknowledgements=20),
        refused={},
        quarantined=(),
        troubles=troubles,
        synced_batches=5,
    )


def fleet(count: int) -> Fleet:
    names = [f"a-member-with-a-long-name-{number}" for number in range(count)]
    return fleet_of(
        "homepage",
        [statistics(name, tuple(peer(other, lacks=7) for other in names if other != name)) for name in names],
    )


def test_a_small_fleet_is_shown_whole() -> None:
    shown = fleet_of(
        "homepage",
        [
            statistics("web-1", (peer("web-2", 12_345), peer("gone", 5))),
            statistics("web-2", (peer("web-1", heard_s=None),), ("the disk is full: free some of it",)),
        ],
    )
    assert fleet_lines(shown) == [
        "homepage: 2 of 3 members, 2,000 decisions since start (0.120 packets each),",
        "  1,800 observed",
        "! gone does not answer and said no farewell: killed, cut off or slow.",
        "",
        "ARM                MEAN     INTERVAL        OBSERVED   TRAFFIC   P(BEST)",
        "red               0.500  0.400 to 0.600        1,200     66.7%     91.2% ██████",
        "blue                  -        -                 600     33.3%  frozen",
        "",
        "MEMBER    DECISIONS   OWN OBS.    OPEN    PACKETS    MISSING     UP",
        "web-1         1,000        900     100    0.120/d        100     1h",
        "web-2 !       1,000        900     100    0.120/d        100     1h",
        "Since its start: DECISIONS, PACKETS for each. MISSING: observed, not known here.",
        "",
        "SHARES SENT, BY ROW TO COLUMN",
        "                         1     2",
        "  1 web-1                ·    12",
        "  2 web-2               12     ·",
        "",
        "TIME SINCE ROW LAST HEARD FROM COLUMN",
        "                         1     2",
        "  1 web-1                ·  3.0s",
        "  2 web-2                ?     ·",
        "",
        "OBSERVATIONS OF ROW THAT COLUMN HAS NOT ACKNOWLEDGED",
        "                         1     2",
        "  1 web-1                ·   12k",
        "  2 web-2                0     ·",
        "",
        "! web-2: the disk is full: free some of it",
    ]


def test_what_an_absent_member_observed_is_counted_as_far_as_somebody_knows_it() -> None:
    one, two = statistics("web-1", (peer("web-3"),)), statistics("web-2", (peer("web-3"),))
    red, blue = one.arms
    knows_more = msgspec.structs.replace(
        two, observations=2600, arms=(msgspec.structs.replace(red, observations=2000), blue), decisions=1
    )
    idle = msgspec.structs.replace(one, decisions=0)
    shown = fleet_of("homepage", [idle, knows_more])
    assert [(arm.arm, arm.observations, round(arm.share, 3)) for arm in shown.arms()] == [
        ("red", 2000, 0.667),
        ("blue", 600, 0.333),
    ]
    assert (shown.observations, [shown.missing(member) for member in shown.members]) == (2600, [900, 100])
    lines = fleet_lines(shown)
    assert lines[0].startswith("homepage: 2 of 3 members, 1 decision since start (240.000 packets each), 2,600")
    assert "OBSERVED: everything known. TRAFFIC: share of what answering members observed." in lines
    assert [line.split()[5] for line in lines if line.startswith("web-")] == ["900", "100"]


@pytest.mark.parametrize("count", [1, 2, 10, 11, 50])
def test_a_fleet_of_any_size_fits_80_columns(count: int) -> None:
    lines = fleet_lines(fleet(count))
    assert max(map(len, lines)) <= 80
    folded = [line for line in lines if line.startswith("WHO TALKS TO WHOM")]
    assert folded == (["WHO TALKS TO WHOM (50 members, one line for each)"] if count == 50 else folded[:1])
    assert sum(line.startswith("a-member") for line in lines) >= count


def test_arms_beyond_a_screenful_are_one_line() -> None:
    one = statistics("web-1")
    arms = tuple(msgspec.structs.replace(one.arms[0], arm=f"arm-{number}") for number in range(100))
    lines = fleet_lines(fleet_of("homepage", [msgspec.structs.replace(one, arms=arms)]))
    assert "... and 76 more arms, with 76.0% of the traffic" in lines


@pytest.mark.parametrize("height", [22, 30, 100])
def test_a_brief_table_gives_arms_the_room_that_members_leave(height: int) -> None:
    shown = fleet(10)
    arms = tuple(msgspec.structs.replace(shown.members[0].arms[0], arm=f"arm-{number}") for number in range(100))
    members = tuple(msgspec.structs.replace(member, arms=arms) for member in shown.members)
    lines = brief_lines(Fleet("homepage", members, ()), 80, height)
    assert len(lines) <= height
    assert sum(line.startswith("a-member") for line in lines) == 10
    assert sum(line.startswith("arm-") for line in lines) == min(24, height - 19)


def test_names_cannot_draw_on_the_terminal() -> None:
    assert "\x1b" not in "".join(fleet_lines(fleet_of("homepage", [statistics("\x1b[2Jweb")])))


def test_the_kill_switch_is_shown() -> None:
    one = msgspec.structs.replace(statistics("web-1"), control_arm="red")
    lines = fleet_lines(fleet_of("homepage", [one, statistics("web-2")]))
    assert "! The kill switch is on, to red: 1 of 2 members have heard it." in lines


def test_the_bar_is_that_of_the_number_beside_it() -> None:
    one = statistics("web-1")
    red, blue = one.arms
    never_best = msgspec.structs.replace(red, arm="green", own_observations=5000, p_best=0.0)
    shown = fleet_of("homepage", [msgspec.structs.replace(one, arms=(red, blue, never_best))])
    bars = {line.split()[0]: line.count("█") for line in fleet_lines(shown) if line.startswith(("red", "green"))}
    assert bars == {"red": 6, "green": 0}


def test_how_likely_arms_are_the_best_is_said_by_one_member_that_of_the_verdict() -> None:
    knows = judged(Standing(("red", "blue"), ((51.0, 951.0), (41.0, 961.0)), 2000, is_of_policy=False))
    offers_more = judged(Standing(("green", "red"), ((1.0, 1.0), (51.0, 951.0)), 1000, is_of_policy=False))
    assert knows is not None
    assert offers_more is not None
    members = []
    for name, one, observations in (("web-1", offers_more, 1000), ("web-2", knows, 900)):
        arms = tuple(
            msgspec.structs.replace(statistics(name).arms[0], arm=arm, p_best=chance, observations=observations)
            for arm, chance in one.p_best.items()
        )
        members.append(msgspec.structs.replace(statistics(name), arms=arms, verdict=one.verdict))
    shown = fleet_of("homepage", members)
    assert shown.verdict == knows.verdict
    assert {arm.arm: arm.p_best for arm in shown.arms()} == {"green": None, **knows.p_best}


def test_the_verdict_of_who_knows_most_is_a_sentence() -> None:
    said = judged(Standing(("red", "blue"), ((51.0, 951.0), (41.0, 961.0)), 2000, is_of_policy=False))
    less = judged(Standing(("red", "blue"), ((1.0, 2.0), (2.0, 1.0)), 2, is_of_policy=False))
    members = [
        msgspec.structs.replace(statistics(name), verdict=one.verdict)
        for name, one in (("web-1", said), ("web-2", less))
    ]
    text = " ".join(fleet_lines(fleet_of("homepage", members)))
    assert (
        "red leads blue, and is the best arm with 86 % probability. Stopping now would cost 0.00068 per decision, "
        "1.3 % of the expected 0.051: keep going. This is by the counts alone: the policy has no posteriors."
    ) in text
    assert "blue leads" not in text


def test_lift_and_violated_guardrails_are_lines() -> None:
    arms = (ArmGuardrail("blue", 400, 0.05, is_violated=True), ArmGuardrail("red", 400, 0.01, is_violated=False))
    one = msgspec.structs.replace(
        statistics("web-1"),
        lift=lift_of(Rewards(9500, 950.0, 950.0), Rewards(500, 20.0, 20.0)),
        guardrail=GuardrailStatistics("errors", 0.02, arms),
    )
    text = " ".join(" ".join(fleet_lines(fleet_of("homepage", [one, statistics("web-2")]))).split())
    assert "the hold-out 0.040: a lift of 0.060 (0.040 to 0.077), so it helps." in text
    assert "! arm 'blue' violates the guardrail: errors is 0.05 in 400 reports, and must stay below 0.02." in text
    assert "arm 'red'" not in text


def test_members_of_this_process_are_shown_and_printed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    network = next(NAMES)
    with ExitStack() as stack:
        for name in ("a", "b"):
            stack.enter_context(cobandit.connect(network, group="g", name=name, arms=["A", "B"]))
        assert main(["status", network, "--group", "g"]) == 0
        assert capsys.readouterr().out.startswith("g: 2 members, 0 decisions since start, 0 observed\n\nARM")
        assert main(["status", network, "--group", "g", "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["group", "arms", "members", "silent", "verdict", "lift", "guardrail", "bandits"]
    assert [member["name"] for member in printed["members"]] == ["a", "b"]


def test_members_on_a_server_are_shown(nats: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret of the whole group\n", encoding="utf-8")
    with cobandit.connect(nats.url, group="g", name="a", arms=["A", "B"], secret="a secret of the whole group"):
        command = ["status", nats.url, "--group", "g"]
        assert main([*command, "--secret-file", str(secret)]) == 0
        assert capsys.readouterr().out.startswith("g: 1 member, ")
        assert main([*command, "--wait", "0.5"]) == 1


def test_nobody_is_a_clear_message(member: Callable[[str], Identity], capsys: pytest.CaptureFixture[str]) -> None:
    url = f"tls://127.0.0.1:{free_port()}"
    keys = str(member("operator").path)
    assert main(["status", url, "--group", "homepage", "--keys", keys, "--wait", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        f"cobandit: no member of group 'homepage' answered at {url} within 1 seconds",
        f"  the network: nobody at {url.removeprefix('tls://')}: connection refused; still trying",
        "  check that a member is running and ready, with the same `group` and `url`;",
        "  members with `keys` or `secret` answer only if you pass --keys or --secret;",
        "  while the group's authority is being replaced, --keys needs --trust, or a new file;",
        "  on a slow network, wait longer with --wait",
    ]


def test_watching_redraws_until_it_is_interrupted(nats: Server) -> None:
    with cobandit.connect(nats.url, group="g", name="a", arms=["A", "B"]):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "cobandit", "status", nats.url, "--group", "g", "--watch"],
            stdout=theirs,
            env={**os.environ, "COLUMNS": "80", "LINES": "12"},
            # Where this suite runs in the background of a shell, SIGINT is ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        os.close(theirs)
        drawn, deadline = b"", time.monotonic() + 60.0
        while drawn.count(b"\x1b[H\x1b[J") < 3:
            assert time.monotonic() < deadline, drawn
            drawn += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        os.close(ours)
    screen = drawn.decode().split("\x1b[H\x1b[J")[2].replace("\r\n", "\n").splitlines()
    assert screen[0] == "g: 1 member, 0 decisions since start, 0 observed"
    assert len(screen) < 12


def test_watching_ends_quietly_when_nobody_reads_any_more(nats: Server) -> None:
    with cobandit.connect(nats.url, group="g", name="a", arms=["A", "B"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "cobandit", "status", nats.url, "--group", "g", "--watch"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"g: 1 member, 0 decisions since start, 0 observed\n"
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (141, b"")
        process.stderr.close()


def test_the_time_to_wait_is_a_positive_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", next(NAMES), "--group", "g", "--wait", "-1"]) == 2
    assert capsys.readouterr().err == "cobandit: wait must be a positive number, not -1.0\n"


def test_an_asker_can_ask_twice() -> None:
    network = next(NAMES)
    with (
        cobandit.connect(network, group="g", name="a", arms=["A", "B"]) as member,
        Asker(network, group="g") as asker,
    ):
        before = asker.ask()
        member.select_arm()
        assert (before.decisions, asker.ask().decisions) == (0, 1)
