"""A folder of results is complete and whole, or says that it is not; what is not ours is never touched."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cobandit import LocalError
from cobandit.simulator import store
from cobandit.simulator.store import Journal, load, save
from cobandit.simulator.trials import Trial

IDENTITY = {"scenarios": {"w": {"horizon": 5}}, "seed": 1}
FRAMES = {"trials.parquet": b"trials", "agents.parquet": b"agents"}


def trial(number: int) -> Trial:
    return Trial("w", number, {"shares": number}, {"regret": [0.1 + 0.2]}, {"slot": [5.0]})


def journal(folder: Path, *, seed: int = 1, trials: int = 9, resumable: bool = True) -> Journal:
    return Journal(folder, {**IDENTITY, "seed": seed}, trials=trials, resumable=resumable)


def written(folder: Path, *numbers: int) -> None:
    opened = journal(folder)
    for number in numbers:
        opened.append(trial(number))
    opened.close()


def done(folder: Path) -> dict[tuple[str, int], Trial]:
    opened = journal(folder)
    opened.close()
    return opened.done


def everything(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def complete(folder: Path, *, trials: int = 3) -> None:
    save(folder, FRAMES, {"trials": trials}, IDENTITY)


# The journal.


def test_a_journal_gives_back_exactly_what_was_kept(tmp_path: Path) -> None:
    written(tmp_path / "new" / "folder", 4, 0)
    assert done(tmp_path / "new" / "folder") == {("w", 4): trial(4), ("w", 0): trial(0)}


def test_a_journal_goes_on_where_it_ended(tmp_path: Path) -> None:
    written(tmp_path, 0)
    written(tmp_path, 1)
    assert list(done(tmp_path)) == [("w", 0), ("w", 1)]


def test_a_torn_last_line_is_ignored_wherever_it_is_torn(tmp_path: Path) -> None:
    written(tmp_path, 0, 1)
    whole = (tmp_path / "journal.jsonl").read_bytes()
    second_ends = whole.rindex(b"\n", 0, -1) + 1
    for torn in range(second_ends, len(whole)):
        (tmp_path / "journal.jsonl").write_bytes(whole[:torn])
        written(tmp_path, 2)
        assert list(done(tmp_path)) == [("w", 0), ("w", 2)]


def test_a_run_that_was_killed_in_its_very_first_line_begins_anew(tmp_path: Path) -> None:
    written(tmp_path)
    header = (tmp_path / "journal.jsonl").read_bytes()
    for torn in range(len(header)):
        (tmp_path / "journal.jsonl").write_bytes(header[:torn])
        written(tmp_path, 7)
        assert done(tmp_path) == {("w", 7): trial(7)}


def test_the_disk_is_waited_for_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    opened = journal(tmp_path)
    monkeypatch.setattr(os, "fsync", waits.append)
    for number in range(2 * store.SYNC_EVERY + 1):
        opened.append(trial(number))
    assert len(waits) == 2
    opened.close()
    assert len(waits) == 3


def test_a_full_disk_keeps_the_trials_before_and_is_not_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = journal(tmp_path)
    opened.append(trial(0))
    room = [20]
    write = os.write

    def full(file: int, content: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = write(file, content[: room[0]])
        room[0] -= taken
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(LocalError) as refused:
            opened.append(trial(1))
    opened.close()
    assert str(refused.value) == (
        f"cannot write {tmp_path / 'journal.jsonl'}: No space left on device; "
        "the trials before this one are kept: run the same again to go on"
    )
    with pytest.raises(LocalError, match="holds an unfinished run: run the same again to finish it"):
        load(tmp_path)
    written(tmp_path, 1)
    assert list(done(tmp_path)) == [("w", 0), ("w", 1)]


def test_two_runs_cannot_write_into_one_folder(tmp_path: Path) -> None:
    first = journal(tmp_path)
    with pytest.raises(LocalError, match="is in use: another run is writing its results there"):
        journal(tmp_path)
    first.append(trial(0))
    first.close()
    assert list(done(tmp_path)) == [("w", 0)]


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from cobandit.simulator.store import Journal\n"
        f"journal = Journal(Path(sys.argv[1]), {IDENTITY!r}, trials=9, resumable=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -9
    written(tmp_path, 0)
    assert list(done(tmp_path)) == [("w", 0)]


def _another_seed(folder: Path) -> None:
    Journal(folder, {**IDENTITY, "seed": 2}, trials=9, resumable=True).close()


def _another_scenario(folder: Path) -> None:
    Journal(folder, {**IDENTITY, "scenarios": {"w": {"horizon": 6}}}, trials=9, resumable=True).close()


def _garbage_in_front(folder: Path) -> None:
    written(folder, 0)
    (folder / "journal.jsonl").write_bytes(b"garbage\n" + (folder / "journal.jsonl").read_bytes())


def _garbage_in_the_middle(folder: Path) -> None:
    written(folder, 0)
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b'{"name": "w"}\n')
    # A line after it shows that it is not the torn end of a killed run.
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(json.dumps(vars(trial(1))).encode() + b"\n")


def _of_a_later_format(folder: Path) -> None:
    (folder / "journal.jsonl").write_bytes(b'{"cobandit":"journal","format":99,"identity":{}}\n')


def _an_unreadable_manifest(folder: Path) -> None:
    written(folder, 0)
    (folder / "manifest.json").write_bytes(b'{"cobandit": "result"')


def _a_manifest_that_is_a_folder(folder: Path) -> None:
    (folder / "manifest.json").mkdir()


def _a_binary_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_bytes(b"\xff\x00")


def _other_files(folder: Path) -> None:
    (folder / "thesis.tex").write_text("years of work", encoding="utf-8")


def _no_folder(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("a file", encoding="utf-8")


FOREIGN: list[tuple[Callable[[Path], None], str]] = [
    (_another_seed, "holds another run (seed 2 in place of 1): choose another folder"),
    (_another_scenario, "holds another run (scenarios): choose another folder"),
    (_garbage_in_front, "journal.jsonl cannot be read: it is left as it is; choose another folder"),
    (_garbage_in_the_middle, "journal.jsonl, line 3 cannot be read: it is left as it is; choose another folder"),
    (_of_a_later_format, "journal.jsonl was written by another version of cobandit: choose another folder"),
    (_an_unreadable_manifest, "manifest.json cannot be read: it is left as it is; choose another folder"),
    (_a_manifest_that_is_a_folder, "manifest.json cannot be read: it is left as it is; choose another folder"),
    (_a_binary_manifest, "manifest.json cannot be read: it is left as it is; choose another folder"),
    (_other_files, "holds other files (thesis.tex): choose an empty or a new folder"),
    (_no_folder, "out is a file"),
    (complete, "holds a saved result without its journal: choose another folder"),
]


@pytest.mark.parametrize(("make", "text"), FOREIGN, ids=[make.__name__ for make, _ in FOREIGN])
def test_what_is_not_this_run_is_refused_and_left_as_it_is(
    make: Callable[[Path], None], text: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    make(folder)
    before = [(path, path.read_bytes() if path.is_file() else b"") for path in sorted(tmp_path.rglob("*"))]
    with pytest.raises(LocalError) as refused:
        journal(folder)
    assert str(refused.value).endswith(text)
    assert [(path, path.read_bytes() if path.is_file() else b"") for path in sorted(tmp_path.rglob("*"))] == before


def test_a_run_that_cannot_be_told_from_another_is_not_gone_on_with(tmp_path: Path) -> None:
    journal(tmp_path, resumable=False).close()
    before = everything(tmp_path)
    with pytest.raises(
        LocalError, match="with a lambda, or with something else whose source cannot be read, nobody can tell"
    ):
        journal(tmp_path, resumable=False)
    assert everything(tmp_path) == before


def test_a_complete_result_is_not_replaced_by_a_smaller_one(tmp_path: Path) -> None:
    written(tmp_path, 0)
    complete(tmp_path, trials=3)
    before = everything(tmp_path)
    with pytest.raises(LocalError, match="holds the same run with 3 trials, more than 2: choose another folder"):
        journal(tmp_path, trials=2)
    with pytest.raises(LocalError, match="holds the same run with 3 trials, more than 2: choose another folder"):
        complete(tmp_path, trials=2)
    assert everything(tmp_path) == before


# The frames.


def test_a_saved_result_is_loaded_as_it_was(tmp_path: Path) -> None:
    complete(tmp_path / "new")
    assert load(tmp_path / "new") == (FRAMES, {"trials": 3})
    assert sorted(everything(tmp_path / "new")) == ["agents.parquet", "manifest.json", "trials.parquet"]


def test_a_saved_result_may_grow(tmp_path: Path) -> None:
    complete(tmp_path)
    save(tmp_path, {**FRAMES, "trials.parquet": b"more trials"}, {"trials": 4}, IDENTITY)
    assert load(tmp_path) == ({**FRAMES, "trials.parquet": b"more trials"}, {"trials": 4})


@pytest.mark.parametrize("make", [_other_files, _an_unreadable_manifest, _a_binary_manifest], ids=lambda f: f.__name__)
def test_nothing_is_saved_over_what_is_not_ours(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path)
    before = everything(tmp_path)
    with pytest.raises(LocalError):
        complete(tmp_path)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("step", range(1, 15))
def test_whatever_step_fails_the_folder_never_reads_as_complete_with_other_frames(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call to the disk fails in turn, as on a full disk, while a result of 3 trials becomes one of 4."""
    complete(tmp_path, trials=3)
    calls = [0]

    def failing(call: Callable[..., object]) -> Callable[..., object]:
        def maybe(*arguments: object, **options: object) -> object:
            calls[0] += 1
            if calls[0] == step:
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*arguments, **options)

        return maybe

    more = {name: content + b" and more" for name, content in FRAMES.items()}
    with monkeypatch.context() as patch:
        for owner, name in ((os, "write"), (os, "fsync"), (Path, "replace"), (Path, "unlink")):
            patch.setattr(owner, name, failing(getattr(owner, name)))
        said = refusal(lambda: save(tmp_path, more, {"trials": 4}, IDENTITY))
    assert (said == "") == (calls[0] < step)
    assert said == "" or said.endswith(": No space left on device")
    unreadable = refusal(lambda: load(tmp_path))
    assert unreadable in ("", f"{tmp_path} holds no result: it has no manifest.json")
    if not said or not unreadable:
        assert load(tmp_path) in [(more, {"trials": 4}), *([(FRAMES, {"trials": 3})] if said else [])]


def refusal(act: Callable[[], object]) -> str:
    """Return what an act is refused with, or nothing."""
    try:
        act()
    except LocalError as error:
        return str(error)
    return ""


def test_a_folder_without_a_manifest_holds_no_result(tmp_path: Path) -> None:
    complete(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(LocalError, match=r"holds no result: it has no manifest\.json"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"agentz", b"agents and more"])
def test_a_frame_that_is_not_the_one_that_was_written_is_refused(content: bytes, tmp_path: Path) -> None:
    complete(tmp_path)
    (tmp_path / "agents.parquet").write_bytes(content)
    with pytest.raises(
        LocalError, match=r"agents\.parquet is damaged: it is not the file that manifest\.json tells of"
    ):
        load(tmp_path)


def test_a_frame_that_is_gone_is_named(tmp_path: Path) -> None:
    complete(tmp_path)
    (tmp_path / "agents.parquet").unlink()
    with pytest.raises(LocalError, match=r"cannot read .*agents\.parquet: No such file or directory"):
        load(tmp_path)
