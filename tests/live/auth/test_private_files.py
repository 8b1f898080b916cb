"""Files that only their owner should read."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from cobandit.live.auth import keys, private_files
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.private_files import read_private
from cobandit.live.process.config import config_from_mapping
from cobandit.live.process.serving import Serving
from cobandit.live.sidecar.tokens import find_token
from cobandit.live.store.sqlite_journal import SqliteJournal
from cobandit.values.errors import LocalError

AGENT = {"group": "g", "name": "m", "url": "nats://n:4222", "arms": ["A"], "state": "m.db", "secret_file": "secret"}


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Path, Callable[[], object]]]:
    """Each kind of file, and what uses it."""
    monkeypatch.setattr(private_files, "_said", set())
    keys.make_group("g", tmp_path)
    bundle, secret, state = keys.issue("m", tmp_path), tmp_path / "secret", tmp_path / "m.db"
    for file in (secret, tmp_path / "token"):
        file.write_text("0123456789abcdef")
        file.chmod(0o600)
    SqliteJournal(state).close()
    serving = Serving(token_file=tmp_path / "token")
    return {
        "keys": (bundle, lambda: Identity.load(bundle)),
        "secret": (secret, lambda: config_from_mapping(AGENT, folder=tmp_path)),
        "token": (tmp_path / "token", lambda: find_token(serving, state, {})),
        "state": (state, lambda: SqliteJournal(state).close()),
    }


@pytest.mark.parametrize("kind", ["keys", "secret", "token", "state"])
def test_a_file_that_others_can_read_is_used_and_told_once(
    kind: str, use: dict[str, tuple[Path, Callable[[], object]]], caplog: pytest.LogCaptureFixture
) -> None:
    file, load = use[kind]
    with caplog.at_level(logging.WARNING, "cobandit"):
        load()
        assert caplog.messages == []
        file.chmod(0o640)
        load()
        load()
    (said,) = caplog.messages
    assert said.startswith("event=file_exposed other users of this computer can use ")
    assert said.endswith(f"{file} (mode 640): chmod 600 {file}")
    assert "0123456789abcdef" not in said


@pytest.mark.parametrize("kind", ["keys", "secret", "token"])
def test_a_secret_that_everybody_can_write_is_refused(
    kind: str, use: dict[str, tuple[Path, Callable[[], object]]]
) -> None:
    file, load = use[kind]
    file.chmod(0o602)
    with pytest.raises(LocalError, match=r"every user on this computer can write to .* \(mode 602\)"):
        load()


def test_a_secret_without_an_end_is_refused() -> None:
    with pytest.raises(LocalError, match="the secret /dev/zero is longer than 65,536 bytes"):
        read_private(Path("/dev/zero"), "the secret")


def test_a_start_that_fails_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"

    def fail(*_: object) -> None:
        raise LocalError("no")

    monkeypatch.setattr("cobandit.live.store.sqlite_journal._begin", fail)
    with pytest.raises(LocalError, match="no"):
        SqliteJournal(path)
    opened = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    assert [name for name in opened if name.startswith(str(tmp_path))] == []
