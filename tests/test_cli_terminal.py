"""What commands print fits 80 columns in a terminal, in any script, with colour if that is wanted."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_cli_status import fleet, statistics

from cobandit.cli import main
from cobandit.cli.fleet_table import fleet_lines
from cobandit.cli.terminal import _Fitted, columns_of, folded
from cobandit.live.status.fleet import fleet_of
from cobandit.simulator.kernel import keeping

SECRET = "a secret of the whole group"
WORLD = """
horizon = 200
[arms]
means = [0.2, 0.8]
[[agents]]
count = 3
rate = 0.5
"""
MEMBER = """
group = "g"
name = "a-member-with-a-rather-long-name"
url = "udp://127.0.0.1:1"
arms = ["A", "B"]
state = "a-folder-for-state-files/a-member-with-a-rather-long-name.db"
secret = "a secret of the whole group"
"""
COMMANDS = (
    "--help",
    "protocols",
    "bench list",
    "explain --figure 1a",
    "simulate world.toml --trials 2",
    "simulate nowhere.toml",
    "messages 3 --trials 1 --workers 1",
    "reproduce 3 --quick --trials 2 --workers 1 --out r",
    "demo --seconds 1 --agents 3",
    "keys group g --out keys",
    "relay --check member.toml",
    "health member.toml",
    "status udp://127.0.0.1:1 --group g --secret-file secret --wait 0.1",
    "log nowhere.db",
    "relay --check member.toml",
    "serve --check member.toml",
    "snapshot nowhere.db --out a-snapshot",
    "reward nowhere.db d1.no-decision-at-all 1",
    "evaluate log.jsonl",
    "evaluate nowhere.jsonl --arm A",
    "control udp://127.0.0.1:1 --group g --secret-file nowhere-at-all freeze A",
    "forget udp://127.0.0.1:1 --group g --secret-file nowhere-at-all a-member-with-a-rather-long-name",
    "bench report nowhere",
)
IN_PROCESS = {"compare"}
"""Commands that take too long for a terminal of their own: `test_cli.py` looks at their lines."""
HELPS = (
    "bench run", "compare", "control", "demo", "evaluate", "explain", "forget", "health", "keys agent", "log",
    "messages", "protocols", "relay", "reproduce", "reward", "serve", "simulate", "snapshot", "status",
)  # fmt: skip
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def shown(command: str, folder: Path, **environment: str) -> str:
    """Return what a terminal of 80 columns gets from a command."""
    master, terminal = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-m", "cobandit", *command.split()],
        cwd=folder,
        env={**kept, "COLUMNS": "80", "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    ) as process:
        os.close(terminal)
        said = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
        process.wait()
    os.close(master)
    return said.decode().replace("\r\n", "\n")


def lines_of(text: str) -> list[str]:
    """Return the lines as they stay: what was drawn over is gone."""
    return [line.rsplit("\r", 1)[-1] for line in COLOURS.sub("", text).split("\n")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("terminal")
    (place / "world.toml").write_text(WORLD, encoding="utf-8")
    (place / "member.toml").write_text(MEMBER, encoding="utf-8")
    (place / "secret").write_text(SECRET, encoding="utf-8")
    (place / "secret").chmod(0o600)
    rows = [
        {
            "id": f"d1.{number}",
            "arm": "AB"[number % 2],
            "propensity": 0.5,
            "reward": number % 3 / 2,
            "at": float(number),
        }
        for number in range(40)
    ]
    (place / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return place


def test_every_command_is_looked_at_and_so_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = set(re.findall(r"^    ([a-z]+) ", capsys.readouterr().out, re.MULTILINE))
    assert {command.split()[0] for command in COMMANDS} | IN_PROCESS == commands | {"--help"}
    assert {command.split()[0] for command in HELPS} == commands


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal(command: str, folder: Path) -> None:
    text = shown(command, folder)
    assert text.strip()
    assert "Traceback" not in text
    assert [line for line in lines_of(text) if columns_of(line) > 80] == []


@pytest.mark.parametrize("command", HELPS)
def test_the_help_of_a_command_fits(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: cobandit {command} ")
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_colour_is_for_terminals_that_want_it(folder: Path) -> None:
    told = shown("simulate nowhere.toml", folder)
    assert told.startswith("\x1b[31mcobandit: ")
    assert shown("simulate nowhere.toml", folder, NO_COLOR="1") == COLOURS.sub("", told)
    assert shown("simulate nowhere.toml", folder, TERM="dumb") == COLOURS.sub("", told)


def test_a_warning_is_coloured_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    print("! a warning that was\n  folded before\nMEMBER\n  1 web-1", file=_Fitted(stream, folds=True))
    yellow = [line for line in stream.getvalue().splitlines() if line.startswith("\x1b[33m")]
    assert [COLOURS.sub("", line) for line in yellow] == ["! a warning that was", "  folded before"]


def test_what_programs_read_is_neither_folded_nor_coloured(folder: Path) -> None:
    assert "\x1b" not in shown("protocols --json", folder)


def test_names_in_any_script_leave_columns_even() -> None:
    names = ["web-1", "東京の一番目のサーバー", "Zürich", "ไทย", "кластер-7", "e\u0301te\u0301"]
    members = [statistics(name, ()) for name in names]
    lines = fleet_lines(fleet_of("группа", members))
    begin = next(place for place, line in enumerate(lines) if line.startswith("MEMBER"))
    rows = lines[begin : begin + 1 + len(names)]
    assert len({columns_of(row) for row in rows}) == 1
    assert [line for line in lines if columns_of(line) > 80] == []
    assert [line for line in fleet_lines(fleet(3)) if columns_of(line) > 80] == []


def test_a_long_word_stays_whole_and_an_indent_goes_on() -> None:
    path = "/a/path/that/nobody/can/break"
    assert folded(f"  see {path} for more", 20) == ["  see", f"  {path}", "  for more"]
    assert folded("! one two three", 9) == ["! one two", "  three"]


def test_the_first_run_says_that_it_compiles(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with keeping.in_turn(tmp_path / "new"):
        pass
    assert [record.message for record in caplog.records] == [
        "compiling the engine, once for this version: that takes a minute or so"
    ]
    caplog.clear()
    (tmp_path / "new" / "engine.nbi").touch()
    with keeping.in_turn(tmp_path / "new"):
        pass
    assert caplog.records == []
