"""`cobandit health` says by its exit code whether a member of this computer is well; `--set` changes a file's texts."""

import subprocess
import sys
from pathlib import Path

import pytest

from cobandit.cli import main
from lab.servers import HOST, free_port


def file(folder: Path, *lines: str) -> Path:
    path = folder / "member.toml"
    common = ('group = "g"', f'url = "udp://{HOST}:{free_port()}"', 'arms = ["A"]', 'state = "state.db"')
    path.write_text("\n".join((*common, 'secret = "a secret of the whole group"', *lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize(("key", "path"), [("metrics", "/metrics"), ("listen", "/readyz")])
def test_a_member_is_well_while_it_runs(
    key: str, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = file(tmp_path, f'{key} = "{HOST}:{free_port()}"')
    given = [str(config), "--set", "name=relay-0"]
    command = [sys.executable, "-m", "cobandit", "relay", *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as relay:
        assert relay.stdout is not None
        try:
            assert relay.stdout.readline().startswith("relay-0 is ready")
            assert main(["health", *given]) == 0
            assert capsys.readouterr().out == f"relay-0 is healthy: {path} returned 200\n"
        finally:
            relay.kill()
    assert main(["health", *given]) == 1
    assert "relay-0 is not healthy: http://127.0.0.1:" in capsys.readouterr().err


def test_a_member_that_cannot_be_asked_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", str(file(tmp_path, 'name = "n"'))]) == 2
    assert "neither listen nor metrics" in capsys.readouterr().err


def test_a_change_must_be_a_key_and_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(file(tmp_path, 'name = "n"'))
    with pytest.raises(SystemExit):
        main(["health", config, "--set", "name"])
    assert "'name' is not KEY=TEXT" in capsys.readouterr().err
    assert main(["relay", "--check", config, "--set", "nam=m"]) == 2
    assert "did you mean name?" in capsys.readouterr().err
    assert main(["relay", "--check", config, "--set", "name=other", "--set", "group=h"]) == 0
    assert "group h" in capsys.readouterr().out
