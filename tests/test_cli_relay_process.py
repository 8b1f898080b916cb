"""`cobandit relay` runs a member as a process: it says when it is ready, and stops clean when it is asked to."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

import cobandit
from cobandit.cli import main
from cobandit.codec import decode_snapshot
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.drive.asking import Asker
from cobandit.live.store.sqlite_journal import leave_mail, read_state
from cobandit.live.store.state_file import read_log
from lab.servers import free_port

WITHIN = 60.0


class Agent:
    """A configured agent."""

    def __init__(self, folder: Path, *extra: str) -> None:
        make_group("homepage", folder)
        for name in ("memory", "operator", "web"):
            issue(name, folder, may_relay=name == "memory")
        self.folder, self.port = folder, free_port()
        self.file = folder / "agent.toml"
        self.state = folder / "memory.db"
        lines = [
            'group = "homepage"',
            'name = "memory"',
            f'url = "tls://127.0.0.1:{self.port}"',
            'arms = ["A", "B"]',
            'state = "memory.db"',
            'keys = "memory.pem"',
            *extra,
        ]
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[str]"]:
        process = subprocess.Popen(
            [sys.executable, "-m", "cobandit", "relay", str(self.file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("memory is ready: "), (line, process.stderr and process.stderr.read())
            yield process
        finally:
            process.kill()
            process.communicate()

    def incarnation(self) -> int:
        return decode_snapshot(read_state(self.state).agent).endpoint.incarnation


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_clean_when_asked_so_that_the_next_start_goes_on(way: signal.Signals, agent: Agent) -> None:
    boots = []
    for _ in range(2):
        with agent.running() as process:
            assert not read_state(agent.state).is_clean
            process.send_signal(way)
            out, err = process.communicate(timeout=WITHIN)
        assert (process.returncode, out) == (0, "memory has stopped, with everything written down.\n")
        assert [line.split("INFO ")[-1] for line in err.splitlines()] == [
            "event=starts_alone memory: nobody else is here: it starts with its own settings (none are set)"
        ]
        assert read_state(agent.state).is_clean
        boots.append(agent.incarnation())
    assert boots[0] == boots[1]


def test_after_a_hard_stop_it_begins_a_new_boot(agent: Agent) -> None:
    with agent.running() as process:
        process.kill()
        process.wait()
    before = agent.incarnation()
    with agent.running():
        assert agent.incarnation() > before


def test_it_holds_what_others_learn_though_it_decides_nothing_itself(tmp_path: Path) -> None:
    agent = Agent(tmp_path, "catch_up_every = 0.2")
    peers = [f"127.0.0.1:{agent.port}"]
    with agent.running() as process:
        with (
            cobandit.connect(
                "tls://127.0.0.1:0",
                group="homepage",
                name="web",
                arms=["A", "B"],
                keys=agent.folder / "web.pem",
                peers=peers,
            ) as member,
            Asker(f"tls://{peers[0]}", group="homepage", keys=agent.folder / "operator.pem") as asker,
        ):
            deadline, known = time.monotonic() + WITHIN, {0}
            while len(known) < 6:  # a first share and its repetition go to anybody; the others must be asked for
                assert time.monotonic() < deadline, known
                for _ in range(64):
                    member.update(member.select_arm(), 1.0)
                known |= {one.observations for one in asker.ask(2.0).members if one.name == "memory"}
        process.terminate()
        assert process.wait(WITHIN) == 0
    snapshot = decode_snapshot(read_state(agent.state).agent)
    cells = [told for fact in snapshot.endpoint.facts for told in fact.told.cells]
    assert {told.agent for told in cells} == {"web"}
    assert sum(entry.observations for told in cells for entry in told.tallies) >= max(known)


def test_a_reward_that_was_left_while_it_was_away_is_counted(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    with cobandit.connect(
        "memory://before", group="homepage", name="memory", arms=["A", "B"], state=agent.state
    ) as one:
        decision = one.select_arm()
    leave_mail(agent.state, decision.id, 0.75)
    with agent.running() as process:
        deadline = time.monotonic() + WITHIN
        while [entry.reward for entry in read_log(agent.state)] != [0.75]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.terminate()
        assert process.wait(WITHIN) == 0


def test_metrics_and_json_logs_are_as_configured(tmp_path: Path) -> None:
    port, nobody = free_port(), free_port()
    agent = Agent(tmp_path, f'metrics = "127.0.0.1:{port}"', 'log_format = "json"', f'peers = ["127.0.0.1:{nobody}"]')
    with agent.running() as process:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            assert (
                'cobandit_decisions_total{group="homepage",member="memory"} 0.0' in answer.read().decode().splitlines()
            )
        assert process.stderr is not None
        line = json.loads(process.stderr.readline())
        assert {key: line[key] for key in line if key != "time"} == {
            "level": "warning",  # at the beginning somebody must be the first
            "event": "network_down",
            "member": "memory",
            "group": "homepage",
            "message": f"nobody at 127.0.0.1:{nobody}: connection refused; still trying",
        }
        process.terminate()
        assert process.wait(WITHIN) == 0


def test_a_sigterm_while_it_stops_is_no_crash(agent: Agent) -> None:
    with agent.running() as process:
        process.terminate()
        process.terminate()  # whenever it comes: before, during or after the first is heard
        assert process.wait(WITHIN) == 0
    assert read_state(agent.state).is_clean


def test_check_only_looks(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["relay", "--check", str(agent.file)]) == 0
    assert capsys.readouterr().out == (
        f"{agent.file} is valid: group homepage, 2 arms, ucb, tls://127.0.0.1:{agent.port}, {agent.state}\n"
    )
    assert not agent.state.exists()


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_the_state_of_another_member_is_refused(
    options: list[str], agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    cobandit.connect("memory://web", group="homepage", name="web", arms=["A", "B"], state=agent.state).close()
    assert main(["relay", *options, str(agent.file)]) == 2
    assert capsys.readouterr().err == (
        f"cobandit: {'state: ' if options else ''}the state {agent.state} belongs to member 'web', not to 'memory': "
        "give every member its own state\n"
    )


def test_an_empty_state_file_is_as_good_as_none(agent: Agent) -> None:
    agent.state.touch()
    assert main(["relay", "--check", str(agent.file)]) == 0
    assert agent.state.stat().st_size == 0


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_what_is_wrong_is_said_in_one_line(
    options: list[str], agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    agent.file.write_text(agent.file.read_text(encoding="utf-8") + "port = 7\n", encoding="utf-8")
    assert main(["relay", *options, str(agent.file)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"cobandit: {agent.file}: port = 7 is not a key that cobandit knows: ")
    assert printed.err.count("\n") == 1


def test_two_processes_with_one_state_are_refused(agent: Agent) -> None:
    with agent.running():
        again = subprocess.run(
            [sys.executable, "-m", "cobandit", "relay", str(agent.file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN,
        )
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith(f"cobandit: another process runs with the state file {agent.state}: ")
