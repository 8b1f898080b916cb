"""What is compiled is kept: by one process at a time, which the others are told of, and not for ever."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from cobandit.simulator.kernel import keeping


def old_folders(home: Path, count: int) -> list[str]:
    """Make folders, of which each was used later than the one before, and return their names."""
    names = [f"{number:016x}" for number in range(count)]
    for number, name in enumerate(names):
        (home / name).mkdir(parents=True)
        (home / name / "kept").write_text("compiled", encoding="ascii")
        os.utime(home / name, (number, number))
    return names


def test_who_waits_for_another_process_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keeping, "PATIENCE_SECONDS", 0.1)
    other = keeping.lock_of(tmp_path).open("w")
    fcntl.flock(other, fcntl.LOCK_EX)
    warning = keeping._log.warning

    def told(text: str) -> None:
        warning(text)
        other.close()  # and has compiled

    monkeypatch.setattr(keeping._log, "warning", told)
    with keeping.in_turn(tmp_path):
        pass
    assert caplog.messages[0] == "another process compiles the engine: waiting until it has, which may take a minute"
    before = len(caplog.messages)
    with keeping.in_turn(tmp_path):
        pass
    assert not any("another process" in text for text in caplog.messages[before:])


def test_a_new_folder_makes_those_go_that_were_used_longest_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    home = tmp_path / "cobandit"
    names = old_folders(home, keeping.MAX_KEPT + 3)
    (home / "notes of mine").mkdir()
    with keeping.lock_of(home / names[1]).open("w") as compiling:
        os.utime(home / names[1], (1, 1))
        fcntl.flock(compiling, fcntl.LOCK_EX)
        new = keeping.folder_of_this_version()
    left = sorted(folder.name for folder in home.iterdir())
    assert left == sorted([names[1], *names[-keeping.MAX_KEPT + 1 :], new.name, "notes of mine"])


def test_a_folder_that_was_used_lately_stays(tmp_path: Path) -> None:
    names = old_folders(tmp_path, keeping.MAX_KEPT + 3)
    lately = time.time() - keeping.UNUSED_SECONDS + 60.0
    for name in names:
        os.utime(tmp_path / name, (lately, lately))
    keeping.remove_old(tmp_path)
    assert sorted(folder.name for folder in tmp_path.iterdir()) == names


def test_a_folder_that_is_there_is_used_and_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = keeping.folder_of_this_version()
    old_folders(folder.parent, keeping.MAX_KEPT + 3)
    os.utime(folder, (0, 0))
    assert keeping.folder_of_this_version() == folder
    assert len(list(folder.parent.iterdir())) == keeping.MAX_KEPT + 4
    keeping.remove_old(folder.parent)
    assert folder.is_dir()  # it was used last


def test_who_compiles_makes_its_folder_again_if_another_version_removed_it(tmp_path: Path) -> None:
    folder = tmp_path / "cobandit" / "0123456789abcdef"
    with keeping.in_turn(folder):
        assert keeping.lock_of(folder).exists()
