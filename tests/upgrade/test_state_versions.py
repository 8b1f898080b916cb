"""State files of other versions: migrated after a copy was kept, or refused untouched; and the way back."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.golden_codec import values
from tests.upgrade import version_2
from tests.upgrade.version_2 import LAYOUT as LAYOUT_2

import cobandit
from cobandit.codec import Format, StateCodec
from cobandit.codec.format import version_of
from cobandit.codec.tables import SNAPSHOTS
from cobandit.live.machine.batch import Batch, NodeState
from cobandit.live.machine.versions import LAYOUT, Layout
from cobandit.live.store import state_versions
from cobandit.live.store.damage import with_checksum
from cobandit.live.store.journal import JournalError, Stored
from cobandit.live.store.sqlite_journal import SqliteJournal, leave_mail, read_history, read_state, read_stored
from cobandit.live.store.state_versions import kept_copy, rewrite_values, version_of_file
from cobandit.values.errors import LocalError, NotNowError

LAYOUT_3 = Layout(
    states=StateCodec("the state of a member", Format(3, {65: NodeState}), Format(2, {65: NodeState})),
    batches=StateCodec("a batch of a journal", Format(3, {64: Batch}), Format(2, {64: Batch})),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A state file of version 1 with something of everything in it."""
    found = tmp_path / "member.db"
    values.write_state_file(found)
    return found


def meaning(stored: Stored, layout: Layout) -> tuple[object, ...]:
    """All that is stored, whatever bytes it is in."""
    state = stored.state
    assert state is not None
    fields = {name: getattr(state, name) for name in NodeState.__struct_fields__ if name != "agent"}
    batches = [{name: getattr(batch, name) for name in Batch.__struct_fields__} for batch in stored.batches]
    for batch in batches:
        batch["records"] = [layout.records.decode(record) for record in batch["records"]]
    return layout.snapshots.decode(state.agent), fields, batches


def versions_inside(stored: Stored) -> set[int]:
    """The versions of the snapshot and of the records."""
    assert stored.state is not None
    inside = [stored.state.agent, *(record for batch in stored.batches for record in batch.records)]
    return {version_of(content) for content in inside}


def files(folder: Path) -> dict[str, bytes]:
    """Every file beside a state file and itself, without the lock."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(".lock")}


def test_a_new_file_says_what_it_is_and_of_which_version(tmp_path: Path) -> None:
    for layout, version in ((LAYOUT, 1), (LAYOUT_2, 2)):
        found = tmp_path / f"{version}.db"
        SqliteJournal(found, layout=layout).close()
        assert version_of_file(found) == version
        assert found.read_bytes()[60:64] == version.to_bytes(4)
        assert found.read_bytes()[68:72] == b"cobn"
        assert [*files(tmp_path)] == [f"{one}.db" for one in range(1, version + 1)]


def test_a_file_of_version_1_is_migrated_when_it_is_opened_and_a_copy_is_kept(path: Path) -> None:
    before = read_stored(path)
    SqliteJournal(path, layout=LAYOUT_2).close()
    assert sorted(files(path.parent)) == ["member.db", "member.db.version-1"]
    assert (version_of_file(path), version_of_file(kept_copy(path, 1))) == (2, 1)
    assert read_stored(kept_copy(path, 1)) == before
    assert stat.S_IMODE(kept_copy(path, 1).stat().st_mode) == 0o600
    with closing(SqliteJournal(path, layout=LAYOUT_2)) as journal:
        after = journal.read()
        assert [mail[1:] for mail in journal.mail()] == [("d1.mail", 0.5)]
    after = read_stored(path, LAYOUT_2)
    assert versions_inside(after) == {2}
    assert meaning(after, LAYOUT_2) == meaning(before, LAYOUT)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT text FROM remarks").fetchall() == [("it was version 1",)]
        contents = [
            row[0] for row in database.execute("SELECT content FROM snapshot UNION ALL SELECT content FROM batches")
        ]
    assert {version_of(content) for content in contents} == {2}


def test_what_was_migrated_is_not_migrated_again(path: Path) -> None:
    SqliteJournal(path, layout=LAYOUT_2).close()
    kept_copy(path, 1).unlink()
    before = files(path.parent)
    SqliteJournal(path, layout=LAYOUT_2).close()
    assert files(path.parent) == before


def test_many_batches_are_all_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_versions, "ROWS_AT_ONCE", 3)
    with closing(SqliteJournal(path)) as journal:
        journal.write(values.BATCHES * 4)
    before = [*read_history(path)]
    SqliteJournal(path, layout=LAYOUT_2).close()
    after = [*read_history(path, LAYOUT_2)]
    assert len(after) == len(before) == 11
    assert [batch.decided for batch in after] == [batch.decided for batch in before]
    assert {version_of(record) for batch in after for record in batch.records} == {2}


def test_what_lies_in_the_log_after_a_crash_is_migrated_too_and_is_in_the_copy(path: Path, tmp_path: Path) -> None:
    run_and_kill(
        "from cobandit.live.store.sqlite_journal import SqliteJournal\n"
        "from tests.golden_codec import values\n"
        "journal = SqliteJournal(path)\n"
        "journal.write(values.BATCHES * 2)\n",
        path,
    )
    assert path.with_name("member.db-wal").stat().st_size
    shutil.copytree(tmp_path, tmp_path / "elsewhere")
    before = read_stored(tmp_path / "elsewhere" / path.name)  # who closes a file last writes what lies in its log
    assert len(before.batches) == 6
    SqliteJournal(path, layout=LAYOUT_2).close()
    assert meaning(read_stored(path, LAYOUT_2), LAYOUT_2) == meaning(before, LAYOUT)
    assert read_stored(kept_copy(path, 1)) == before


def test_a_crash_in_the_middle_leaves_the_old_one_and_the_next_start_migrates_it(path: Path) -> None:
    before = read_stored(path)
    run_and_kill(
        "import os\n"
        "from cobandit.live.store.sqlite_journal import SqliteJournal\n"
        "from tests.upgrade.version_2 import LAYOUT\n"
        "def crash(database):\n"
        "    LAYOUT.migrations[1](database)\n"
        "    os.kill(os.getpid(), 9)\n"
        "SqliteJournal(path, layout=LAYOUT._replace(migrations={1: crash}))\n",
        path,
    )
    assert version_of_file(path) == 1
    assert read_stored(path) == before
    SqliteJournal(path, layout=LAYOUT_2).close()
    assert meaning(read_stored(path, LAYOUT_2), LAYOUT_2) == meaning(before, LAYOUT)


def test_a_crash_right_after_leaves_the_new_one(path: Path) -> None:
    before = read_stored(path)
    run_and_kill(
        "from cobandit.live.store.state_versions import bring_up_to_date\n"
        "from tests.upgrade.version_2 import LAYOUT\n"
        "bring_up_to_date(path, LAYOUT)\n",
        path,
    )
    assert version_of_file(path) == 2
    assert meaning(read_stored(path, LAYOUT_2), LAYOUT_2) == meaning(before, LAYOUT)


def run_and_kill(program: str, path: Path) -> None:
    """Run a program in a process that dies as the power does."""
    root = Path(__file__).parent.parent.parent
    program = f"import os\nfrom pathlib import Path\npath = Path({str(path)!r})\n{program}os.kill(os.getpid(), 9)\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=root, check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr


def test_a_migration_that_fails_leaves_everything_as_it_was_and_says_why(path: Path) -> None:
    before = read_stored(path)

    def fail(database: sqlite3.Connection) -> None:
        LAYOUT_2.migrations[1](database)
        raise LocalError("this cannot be")

    text = r"member\.db cannot be brought from state version 1 to 2, and is as it was: this cannot be$"
    with pytest.raises(LocalError, match=text):
        SqliteJournal(path, layout=LAYOUT_2._replace(migrations={1: fail}))
    assert (version_of_file(path), read_stored(path)) == (1, before)
    SqliteJournal(path).close()  # and the lock is free


def test_without_room_for_the_copy_nothing_is_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(path.parent)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    text = r"is as it was \(\[Errno 28\] No space left on device\): free the disk, or make it writable, and start it"
    with pytest.raises(JournalError, match=text):
        SqliteJournal(path, layout=LAYOUT_2)
    assert files(path.parent) == before


def test_a_file_with_something_else_in_it_is_not_migrated(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        row = database.execute("SELECT id, entries, total FROM batches WHERE id = 2").fetchone()
        *_, checksum = with_checksum(*row, b"\0\x11\x22\x33")
        database.execute("UPDATE batches SET content = ?, checksum = ? WHERE id = 2", (b"\0\x11\x22\x33", checksum))
    before = files(path.parent)
    with pytest.raises(LocalError, match=r"to 2, and is as it was: the bytes are not a batch .* checksum is wrong"):
        SqliteJournal(path, layout=LAYOUT_2)
    assert files(path.parent) | {"member.db.version-1": b""} == before | {"member.db.version-1": b""}


def test_a_file_of_a_later_version_is_refused_and_not_touched(path: Path) -> None:
    SqliteJournal(path, layout=LAYOUT_2).close()
    copy = kept_copy(path, 1)
    before = files(path.parent)
    text = f"{path} has state version 2, and this program reads 1: use a cobandit that reads 2, or go back to {copy}$"
    for use in USES:
        with pytest.raises(LocalError, match=text):
            use(path)
        assert files(path.parent) == before
    copy.unlink()
    with pytest.raises(LocalError, match=r"reads 1: use a cobandit that reads 2$"):
        SqliteJournal(path)


USES: tuple[Callable[[Path], object], ...] = (
    SqliteJournal,
    read_stored,
    read_state,
    lambda path: [*read_history(path)],
    lambda path: leave_mail(path, "d1.x", 0.5),
)


def test_a_later_file_that_was_left_by_a_crash_is_not_touched_either(path: Path) -> None:
    run_and_kill(
        "from cobandit.live.store.sqlite_journal import SqliteJournal\n"
        "from tests.golden_codec import values\n"
        "from tests.upgrade.version_2 import LAYOUT\n"
        "journal = SqliteJournal(path, layout=LAYOUT)\n"
        "journal.write(values.BATCHES)\n",
        path,
    )
    before = files(path.parent)
    assert before["member.db-wal"]
    with pytest.raises(LocalError, match="has state version 2, and this program reads 1"):
        SqliteJournal(path)
    del before["member.db-shm"]  # what is shared by those who read it
    assert {name: content for name, content in files(path.parent).items() if name in before} == before


def test_a_file_older_than_the_previous_version_is_refused_and_says_what_reads_it(path: Path) -> None:
    before = files(path.parent)
    text = (
        "has state version 1, and this program reads 2 and 3: use a cobandit of state version 2 once, which brings it "
        "up to date, and so on$"
    )
    with pytest.raises(LocalError, match=text):
        SqliteJournal(path, layout=LAYOUT_3)
    assert files(path.parent) == before


def test_what_is_no_state_file_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE books (title TEXT)")
    before = files(tmp_path)
    for use in USES:
        with pytest.raises(LocalError, match=r"books\.db is not the state file of a member: name another file"):
            use(path)
    assert files(tmp_path) == before


def test_who_only_reads_a_file_of_the_version_before_reads_it_and_leaves_it(path: Path) -> None:
    stored = read_stored(path)
    before = files(path.parent)
    assert meaning(read_stored(path, LAYOUT_2), LAYOUT_2) == meaning(stored, LAYOUT)
    assert (versions_inside(stored), versions_inside(read_stored(path, LAYOUT_2))) == ({1}, {2})
    assert [batch.decided for batch in read_history(path, LAYOUT_2)] == [batch.decided for batch in read_history(path)]
    assert read_state(path, LAYOUT_2).run == read_state(path).run
    text = "has state version 1, and this program writes 2: leave the reward again when its member was upgraded too$"
    with pytest.raises(NotNowError, match=text):
        leave_mail(path, "d1.x", 0.5, LAYOUT_2)
    assert files(path.parent) == before


def test_a_snapshot_of_the_version_before_is_read_and_a_later_one_is_refused() -> None:
    snapshot = values.snapshot()
    assert LAYOUT_2.snapshots.decode(LAYOUT.snapshots.encode(snapshot)) == snapshot
    with pytest.raises(
        LocalError, match="are a snapshot of an agent of state version 2, and this program reads 1: use a"
    ):
        LAYOUT.snapshots.decode(LAYOUT_2.snapshots.encode(snapshot))
    third = StateCodec("a snapshot of an agent", Format(3, SNAPSHOTS), Format(2, SNAPSHOTS))
    with pytest.raises(
        LocalError, match="of state version 1, and this program reads 2 and 3: use a cobandit of state ver"
    ):
        third.decode(LAYOUT.snapshots.encode(snapshot))


def test_every_part_of_a_state_is_of_the_same_versions() -> None:
    for layout in (LAYOUT, LAYOUT_2):
        parts = (layout.states, layout.batches, layout.snapshots, layout.records)
        assert {part.reads for part in parts} == {layout.reads}
    assert LAYOUT.migrations == {}
    assert LAYOUT_2.migrations.keys() == {*LAYOUT_2.reads[:-1]}


def test_the_values_are_written_anew_as_they_were_if_the_version_is_the_same(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        before = [*database.iterdump()]
        rewrite_values(database, LAYOUT)
        assert [*database.iterdump()] == before


# Whole members.


def member_of(version: int, path: Path) -> cobandit.Member:
    connect = cobandit.connect if version == 1 else version_2.connect
    return connect(f"memory://{path}", group="g", name="ann", arms=["A", "B"], state=path)


def total(member: cobandit.Member) -> int:
    return member.statistics().observations


def test_a_member_is_upgraded_with_all_it_knows_and_its_open_decisions_and_goes_on_in_the_same_boot(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ann.db"
    with member_of(1, path) as old:
        for _ in range(5):
            old.update(old.select_arm(), 1.0)
        waiting = old.select_arm().id
        boot = old.statistics().incarnation
    with member_of(2, path) as new:
        assert (total(new), new.statistics().incarnation) == (5, boot)
        assert new.update(waiting, 1.0)
        new.sync()
        assert total(new) == 6
        assert versions_inside(read_stored(path, LAYOUT_2)) == {2}
        assert version_of(new.snapshot()) == 2
    assert version_of_file(path) == 2


def test_the_way_back_is_the_copy_and_what_was_learned_since_is_lost_unless_peers_return_it(tmp_path: Path) -> None:
    path = tmp_path / "ann.db"
    with member_of(1, path) as old:
        for _ in range(5):
            old.update(old.select_arm(), 1.0)
        boot = old.statistics().incarnation
    with member_of(2, path) as new:
        for _ in range(3):
            new.update(new.select_arm(), 1.0)
    with pytest.raises(LocalError, match=rf"reads 2, or go back to {kept_copy(path, 1)}$"):
        member_of(1, path)
    shutil.copy(kept_copy(path, 1), path)
    with member_of(1, path) as back:
        assert total(back) == 5
        assert back.statistics().incarnation > boot  # so that what peers return of the boot before is taken
