"""`cobandit log`, `reward`, `evaluate` and `control` for fleets whose bandits have names."""

import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.waiting import until

import cobandit
from cobandit.cli import main
from cobandit.evaluation import evaluate
from cobandit.live.drive.member import Member
from cobandit.live.drive.named_bandit import NamedBandit
from cobandit.live.store.state_file import read_log
from cobandit.values.errors import LocalError

NETWORKS = (f"memory://cli-bandits-{number}" for number in itertools.count())
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "one.db"


@pytest.fixture
def member(state: Path) -> Iterator[Member]:
    with cobandit.connect(next(NETWORKS), fleet="shop", name="one", state=state) as member:
        yield member


@pytest.fixture
def home(member: Member) -> NamedBandit:
    return member.bandit("home", ["A", "B"], rewards=(-50, 150), holdout=0.5)


@pytest.mark.parametrize("command", ["serve", "relay"])
def test_the_file_of_a_fleet_is_checked(command: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "member.toml"
    file.write_text(
        'fleet = "shop"\nname = "one"\nurl = "nats://127.0.0.1:4222"\nstate = "one.db"\n'
        '[bandits.home]\narms = ["A", "B"]\nrewards = [0, 200]\nwindow = "7d"\n[bandits.mail]\narms = ["A", "C"]\n',
        encoding="utf-8",
    )
    assert main([command, "--check", str(file)]) == 0
    assert "fleet shop, bandits home, mail" in capsys.readouterr().out


def printed(capsys: Captured, *arguments: str) -> list[dict[str, object]]:
    assert main(["log", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_log_has_bandit_segment_and_rewards_in_their_range(
    member: Member, home: NamedBandit, state: Path, capsys: Captured
) -> None:
    mail = member.bandit("mail", ["A", "C"])
    made = [home.select_arm("de", "user-1"), home.select_arm("held out"), *(home.select_arm("fr") for _ in range(30))]
    for one in made:
        home.update(one, 150.0 if one.arm == "A" else -12.5)
    made += [mail.select_arm(), mail.select_arm(subject="user-1")]
    member.sync()
    rewards = [150.0 if one.arm == "A" else -12.5 for one in made[:-2]] + [None, None]
    expected = [
        (one.arm, one.bandit, one.segment, one.is_held_out, subject, one.id, one.propensity, reward)
        for one, subject, reward in zip(made, ["user-1", *[None] * 32, "user-1"], rewards, strict=True)
    ]
    assert {one.is_held_out for one in made} == {True, False}
    fields = ("arm", "bandit", "segment", "held_out", "subject", "id", "propensity", "reward")
    assert [tuple(row[field] for field in fields) for row in printed(capsys, str(state))] == expected
    assert [
        (one.arm, one.bandit, one.segment, one.is_held_out, one.subject, one.id, one.propensity, one.reward)
        for one in member.log()
    ] == expected
    for bandit, segment, places in (
        ("home", None, {("home", "de"), ("home", "fr"), ("home", "held out")}),
        ("home", "fr", {("home", "fr")}),
        ("mail", "", {("mail", "")}),
    ):
        shown = printed(capsys, str(state), "--bandit", bandit, *(() if segment is None else ("--segment", segment)))
        assert [row["id"] for row in shown] == [row[5] for row in expected if row[1:3] in places]
    for arguments, words in (
        (["--bandit", "x"], "has no bandit 'x', only 'home', 'mail'"),
        (["--segment", "de"], "say which bandit it belongs to"),
    ):
        assert main(["log", str(state), *arguments]) == 2
        assert words in capsys.readouterr().err


def test_a_group_with_one_bandit_has_none_of_that_name(tmp_path: Path, capsys: Captured) -> None:
    state = tmp_path / "a.db"
    with cobandit.connect(next(NETWORKS), group="g", name="a", arms=["A"], state=state) as member:
        member.select_arm()
        member.sync()
        assert main(["log", str(state), "--bandit", "home"]) == 2
    assert "has one bandit, without a name, and no bandit 'home'" in capsys.readouterr().err


def test_a_reward_that_is_left_is_in_the_range_of_its_bandit(
    member: Member, home: NamedBandit, state: Path, capsys: Captured
) -> None:
    made = [home.select_arm("de") for _ in range(30)]
    member.sync()
    assert {one.is_held_out for one in made} == {True, False}
    for wrong in ("151", "-51", "nan"):
        assert main(["reward", str(state), made[0].id, wrong]) == 2
        assert "is not a number from -50 to 150" in capsys.readouterr().err
    with pytest.raises(LocalError, match="from -50 to 150"):
        cobandit.reward(state, made[0].id, 200.0)
    for one in made:
        assert main(["reward", str(state), one.id, "150"]) == 0
    until(lambda: [entry.reward for entry in read_log(state)] == [150.0] * 30)
    assert main(["reward", str(state), made[0].id, "150"]) == 1
    (told,) = member.statistics().bandits
    assert told.lift is not None
    assert (told.lift.observations, told.lift.held_out) == tuple(
        sum(one.is_held_out is is_held_out for one in made) for is_held_out in (False, True)
    )


def test_a_reward_that_is_left_waits_until_its_bandit_is_declared(state: Path) -> None:
    network = next(NETWORKS)
    options = {"fleet": "shop", "name": "one", "state": state}
    with cobandit.connect(network, **options) as member:  # type: ignore[arg-type]
        decision = member.bandit("home", ["A"], rewards=(0, 10)).select_arm("de")
        member.sync()
    assert cobandit.reward(state, decision.id, 7.5)
    with cobandit.connect(network, **options) as member:  # type: ignore[arg-type]
        member.sync()
        assert [entry.reward for entry in read_log(state)] == [None]
        home = member.bandit("home", ["A"], rewards=(0, 10))
        until(lambda: home.statistics("de").observations == 1)
        member.sync()
        assert [entry.reward for entry in read_log(state)] == [7.5]


def test_a_reward_for_a_bandit_that_the_file_does_not_know_is_refused(
    home: NamedBandit, tmp_path: Path, capsys: Captured
) -> None:
    other = tmp_path / "other.db"
    with cobandit.connect(next(NETWORKS), group="g", name="a", arms=["A"], state=other):
        assert main(["reward", str(other), home.select_arm().id, "0.5"]) == 2
    assert "no bandit 'home'" in capsys.readouterr().err


def test_one_bandit_is_evaluated_at_a_time(
    member: Member, home: NamedBandit, state: Path, tmp_path: Path, capsys: Captured
) -> None:
    mail = member.bandit("mail", ["C", "D"])
    for number in range(400):
        decision = home.select_arm("de" if number % 4 else "fr")
        home.update(decision, 100.0 if decision.segment == "fr" else 20.0)
        mail.update(mail.select_arm(), 1.0)
    member.sync()
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in printed(capsys, str(state))))
    assert main(["evaluate", str(log)]) == 2
    assert "this log has decisions of 2 bandits (home, mail): evaluate one at a time" in capsys.readouterr().err
    with pytest.raises(LocalError, match="2 bandits"):
        evaluate(member.log(), "A")
    for arguments, count, mean in (
        (["--bandit", "home"], 400, 40.0),
        (["--bandit", "home", "--segment", "fr"], 100, 100.0),
        (["--bandit", "mail", "--segment", ""], 400, 1.0),
    ):
        assert main(["evaluate", str(log), *arguments, "--json"]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [row["decisions"] for row in rows] == [count] * 2
        assert [round(row["logged"]["value"], 6) for row in rows] == [mean] * 2
    assert main(["evaluate", str(log), "--bandit", "x"]) == 2
    assert "no decision in the log has bandit=x" in capsys.readouterr().err


def control(network: str, *arguments: str) -> int:
    return main(["control", network, "--group", "shop", *arguments])


def test_operators_turn_the_switches_of_one_bandit(capsys: Captured) -> None:
    network = next(NETWORKS)
    with ExitStack() as stack:
        relay = stack.enter_context(cobandit.connect(network, fleet="shop", name="relay", relay=True))
        one, two = (stack.enter_context(cobandit.connect(network, fleet="shop", name=name)) for name in ("one", "two"))
        home, mail = one.bandit("home", ["A", "B"]), one.bandit("mail", ["A", "C"])
        there = two.bandit("home", ["A", "B"])
        until(lambda: len(relay.statistics().bandits) == 2)
        everybody = "(one, relay, two)"
        assert control(network, "--bandit", "home", "freeze", "A") == 0
        assert capsys.readouterr().out == f"3 of 3 members have turned the switch: freeze A of home {everybody}\n"
        assert [{bandit.select_arm().arm for _ in range(60)} for bandit in (home, there, mail)] == [
            {"B"},
            {"B"},
            {"A", "C"},
        ]
        assert control(network, "--bandit", "home", "freeze", "B") == 1
        assert "arm 'B' is the last one that is not frozen, at one, relay, two: unfreeze" in capsys.readouterr().err
        assert main(["control", network, "unfreeze", "A", "--group", "shop", "--bandit", "home"]) == 0  # or after it
        assert control(network, "--bandit", "home", "kill", "A") == 0
        assert [bandit.control_arm for bandit in relay.statistics().bandits] == ["A", None]
        assert {there.select_arm("new").arm for _ in range(20)} == {"A"}
        assert control(network, "kill", "C") == 0  # of every bandit that has it
        assert [{bandit.select_arm().arm for _ in range(20)} for bandit in (home, mail)] == [{"A"}, {"C"}]
        assert control(network, "--bandit", "home", "lift") == 0
        assert {home.select_arm().arm for _ in range(60)} == {"A", "B"}
        assert control(network, "--bandit", "mail", "lift") == 0  # the fleet's is on
        assert control(network, "lift") == 0
        assert {mail.select_arm().arm for _ in range(60)} == {"A", "C"}
        capsys.readouterr()
        for arguments, words in (
            (
                ["freeze", "A"],
                "this fleet has several bandits: say which one 'A' belongs to, with --bandit: home, mail",
            ),
            (["--bandit", "x", "freeze", "A"], "no member has a bandit 'x', only home, mail"),
            (["--bandit", "home", "freeze", "C"], "no member has an arm 'C' of bandit 'home'"),
            (["--bandit", "home", "kill", "C"], "no member has an arm 'C' of bandit 'home'"),
            (["kill", "X"], "no member has an arm 'X'"),
        ):
            assert control(network, *arguments) == 1
            assert words in capsys.readouterr().err


def test_status_says_of_each_bandit_who_leads_also_where_only_a_relay_answers(capsys: Captured) -> None:
    network = next(NETWORKS)
    with ExitStack() as stack:
        relay = stack.enter_context(cobandit.connect(network, fleet="shop", name="relay", relay=True))
        leaf = stack.enter_context(cobandit.connect(network, fleet="shop", name="leaf", relays=["relay"]))
        home, mail = leaf.bandit("home", ["A", "B"], rewards=(0, 200)), leaf.bandit("mail", ["A", "C"], policy="ucb")
        played = ((home, "", "A", 200, 60), (mail, "young", "C", 1, 20), (mail, "old", "A", 1, 80))
        for bandit, segment, best, most, count in played:
            for _ in range(count):
                decision = bandit.select_arm(segment=segment)
                bandit.update(decision, most * (decision.arm == best))
        leaf.sync()
        assert leaf.flush(60.0)
        until(lambda: sum(one.observations for one in relay.statistics().bandits) == 160)
        said = {
            one.name: (one.verdict and one.verdict.leader, one.judged_segment) for one in relay.statistics().bandits
        }
        assert said == {"home": ("A", ""), "mail": ("A", "old")}
        assert main(["status", network, "--group", "shop"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
    assert "home: A leads B, and is the best arm with" in shown
    assert "mail: in old, its largest segment: A leads C, and is the best arm with" in shown
    assert shown.count("Stopping now would cost") == 2


def test_a_group_with_one_bandit_needs_no_name_of_it(capsys: Captured) -> None:
    network = next(NETWORKS)
    with cobandit.connect(network, group="shop", name="a", arms=["A", "B"]):
        assert control(network, "--bandit", "home", "freeze", "A") == 1
    assert (
        "no member has a bandit 'home', and the group has a single bandit: leave --bandit out"
        in capsys.readouterr().err
    )
