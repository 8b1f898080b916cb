"""State files that a disk has damaged: refused, or recovered with what is missing said."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import cobandit
from cobandit.core import Constant, Geometric, RetryTimers, Sharing, on_demand
from cobandit.live.decide.common import Decided
from cobandit.live.drive.member import Member
from cobandit.live.machine.batch import Batch, NodeState
from cobandit.live.store.journal import JournalError, Stored
from cobandit.live.store.sqlite_journal import SqliteJournal, check_whole, leave_mail
from cobandit.live.store.state_file import read_copy
from cobandit.values.errors import LocalError, NotNowError
from lab.corruptions import LEFT, counts, try_seeds

STATE = NodeState(agent=b"agent", run=1, secret=b"secret", is_clean=False)


def decided(number: int) -> Batch:
    return Batch(decided=(Decided(number, "A", 1.0, float(number), None),))


def left_by_a_crash(path: Path, steps: int = 5) -> None:
    """Write a journal, and leave it as a process that was killed would."""
    with closing(SqliteJournal(path)) as journal:
        journal.replace(STATE)
        for number in range(1, steps + 1):
            journal.write([decided(number)])
        files = {file: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}
    for file, content in files.items():
        file.write_bytes(content)


def test_damaged_files_are_refused_or_recovered_in_words(tmp_path: Path) -> None:
    """Thirty of them; `python -m lab corruptions` tries three hundred."""
    outcomes = list(try_seeds(range(30), tmp_path))
    assert [outcome for outcome in outcomes if outcome.violation is not None] == []
    assert set(counts(outcomes)) == {"unharmed", "recovered", "refused"}
    assert len(LEFT) == 3


def test_a_log_whose_header_is_damaged_is_missed_and_what_is_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    left_by_a_crash(path)
    log = path.with_name("member.db-wal")
    damaged = b"\xff" * 32 + log.read_bytes()[32:]
    log.write_bytes(damaged)
    with pytest.raises(LocalError, match=r"Missing: 5 of the steps that were written\. Start its member, which keeps"):
        check_whole(path)
    with pytest.raises(LocalError, match="5 of the steps"):
        read_copy(path)
    with pytest.raises(NotNowError, match=r"holds less than was written into it: start its member"):
        leave_mail(path, "d1.one", 1.0)
    assert log.read_bytes() == damaged
    with closing(SqliteJournal(path)) as journal:
        assert journal.damage is not None
        assert "Missing: 5 of the steps that were written. It is kept as" in journal.damage
        assert journal.read() == Stored(STATE, [])
    assert path.with_name("member.db.damaged-1-wal").read_bytes() == damaged
    with closing(SqliteJournal(path)) as journal:
        assert journal.damage is None


def test_steps_before_a_damaged_one_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    left_by_a_crash(path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE batches SET total = 7 WHERE id = 3")
    with closing(SqliteJournal(path)) as journal:
        assert journal.damage is not None
        assert "3 of the steps" in journal.damage
        assert journal.read() == Stored(STATE, [decided(1), decided(2)])
        journal.write([decided(6)])
    with closing(SqliteJournal(path)) as journal:
        assert journal.read() == Stored(STATE, [decided(1), decided(2), decided(6)])


def test_a_snapshot_that_says_another_number_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    left_by_a_crash(path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE snapshot SET after = 4")
    before = path.read_bytes()
    with pytest.raises(LocalError, match=r"no whole state is left in it: put a backup in its place, or move it away"):
        SqliteJournal(path)
    assert path.read_bytes() == before


def test_a_reward_that_changed_in_the_mailbox_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    left_by_a_crash(path)
    leave_mail(path, "d1.one", 1.0)
    leave_mail(path, "d1.two", 1.0)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE mail SET reward = 0.5 WHERE id = 1")
    with closing(SqliteJournal(path)) as journal:
        assert journal.damage is not None
        assert "Missing: 1 of the rewards that were left for it" in journal.damage
        assert [mail.token for mail in journal.mail()] == ["d1.two"]


def test_a_state_whose_lock_was_removed_is_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    with closing(SqliteJournal(path)) as journal:
        journal.write([decided(1), Batch()])
        journal.replace(STATE)
    path.with_name("member.db.lock").unlink()
    with closing(SqliteJournal(path)) as journal:
        assert (journal.damage, journal.remark) == (None, None)
        assert journal.read() == Stored(STATE, [])


def test_an_older_copy_that_was_put_back_is_not_damaged_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    with closing(SqliteJournal(path)) as journal:
        journal.replace(STATE)
        journal.write([decided(1)])
    copy = path.read_bytes()
    with closing(SqliteJournal(path)) as journal:
        journal.replace(STATE)
        journal.write([decided(2), decided(3)])
    path.write_bytes(copy)
    check_whole(path)
    with closing(SqliteJournal(path)) as journal:
        assert journal.damage is None
        assert journal.remark is not None
        assert "holds 2 steps less than were written here last" in journal.remark
        assert journal.read() == Stored(STATE, [decided(1)])
        journal.replace(STATE)
    with closing(SqliteJournal(path)) as journal:
        assert journal.remark is None


def test_a_state_file_that_was_emptied_is_refused_and_one_that_was_removed_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    left_by_a_crash(path)
    path.with_name("member.db-wal").unlink()
    path.write_bytes(b"")
    with pytest.raises(LocalError, match=r"is damaged \(it is empty\)"):
        SqliteJournal(path)
    path.unlink()
    with closing(SqliteJournal(path)) as journal:
        assert journal.damage == f"the state file {path} is gone, with 5 steps: the member starts anew"
        assert journal.read() == Stored(None, [])


def test_a_member_says_in_its_statistics_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "member.db"

    def connect() -> Member:
        return cobandit.connect("memory://damage", group="g", name="m", arms=["A", "B"], state=path)

    with connect() as member:
        before = member.statistics().incarnation
        member.update(member.select_arm(), 1.0)
        member.sync()
        files = {file: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    for file, content in files.items():
        file.write_bytes(content[:100] if file.name.endswith("-wal") else content)
    with connect() as member:
        assert "of the steps that were written" in member.statistics().troubles[0]
        assert member.statistics().incarnation > before


def test_a_disk_without_room_for_what_is_recovered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "member.db"
    left_by_a_crash(path)
    path.with_name("member.db-wal").unlink()
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(JournalError, match=r"cannot be put into a new file .*No space left"):
        SqliteJournal(path)
    assert path.read_bytes() == before
    monkeypatch.undo()
    SqliteJournal(path).close()  # and the lock is free


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "member.db.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(LocalError, match=r"member\.db\.lock is a link, which could lead to any file: remove it"):
        SqliteJournal(tmp_path / "member.db")
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_crash_may_be_followed_by_another_way_of_sharing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "ann.db"

    def connect(name: str, sharing: Sharing, state: Path | None = None) -> Member:
        return cobandit.connect("memory://changed", group="g", name=name, arms=["A", "B"], sharing=sharing, state=state)

    timers = RetryTimers(first=0.05, least=0.01, growth=1.5, tick=0.2, longest=1.0)
    before, after = (on_demand(threshold, loss_tolerant=timers) for threshold in (Constant(1), Geometric(2, cap=64)))
    with connect("bob", before) as bob, connect("ann", before, path) as ann:
        for member in (ann, bob) * 20:
            member.update(member.select_arm(), 1.0)
        assert ann.flush(60.0)
        assert bob.flush(60.0)
        ann.sync()
        known = ann.statistics()
        files = {file: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    for file, content in files.items():
        file.write_bytes(content)
    with connect("ann", after, path) as ann:
        found = ann.statistics()
        assert found.own_observations == known.own_observations == 20
        assert found.incarnation > known.incarnation
        assert found.observations <= known.observations == 40
    assert any("was left by a crash, with sharing=on_demand" in said for said in caplog.messages)
