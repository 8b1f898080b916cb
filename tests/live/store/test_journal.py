"""What a member keeps on its disk."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cobandit.core.places import Bandit
from cobandit.live.decide.common import Decided, Settled
from cobandit.live.decide.decision import Signer
from cobandit.live.machine.batch import Batch, Mail, NodeState, encode_state
from cobandit.live.machine.controls import Setting
from cobandit.live.store.history import DecisionLog
from cobandit.live.store.journal import Journal, JournalError, MemoryJournal, Stored
from cobandit.live.store.sqlite_journal import SqliteJournal, StateInUseError, leave_mail, read_history, read_state
from cobandit.testing import check_journal
from cobandit.values.errors import LocalError

STATE = NodeState(agent=b"agent", run=1, secret=b"secret", is_clean=False)


USES: tuple[Callable[[Path], object], ...] = (SqliteJournal, read_state, lambda path: leave_mail(path, "d1.one", 1.0))


def decided(number: int) -> Batch:
    return Batch(decided=(Decided(number, "A", 1.0, float(number), None),))


def test_a_journal_in_a_file_keeps_every_promise(tmp_path: Path) -> None:
    check_journal(lambda: SqliteJournal(tmp_path / "member.db"))


def test_a_journal_in_memory_keeps_every_promise_but_that_of_being_alone() -> None:
    journal = MemoryJournal()
    check_journal(lambda: journal, is_exclusive=False)


class Forgetful(MemoryJournal):
    """Loses the last batch of every write."""

    def write(self, batches: tuple[Batch, ...], mail_done: tuple[int, ...] = ()) -> None:  # type: ignore[override]
        super().write(batches[:-1], mail_done)


class Halfway(MemoryJournal):
    """Keeps the beginning of a write that fails."""

    def write(self, batches: tuple[Batch, ...], mail_done: tuple[int, ...] = ()) -> None:  # type: ignore[override]
        for batch in batches:
            super().write((batch,), mail_done)


class NeverReplaces(MemoryJournal):
    """Keeps the batches from before a snapshot."""

    def replace(self, state: NodeState) -> None:
        self._state = encode_state(state)


class WithoutHistory(MemoryJournal):
    """Has no history."""

    def replace(self, state: NodeState) -> None:
        super().replace(state)
        self._history.clear()


class Disordered(MemoryJournal):
    """Reads the newest first."""

    def read(self) -> Stored:
        state, batches = super().read()
        return Stored(state, batches[::-1])


@pytest.mark.parametrize("broken", [Forgetful, Halfway, NeverReplaces, WithoutHistory, Disordered])
def test_the_suite_catches_a_journal_that_breaks_a_promise(broken: type[Journal]) -> None:
    journal = broken()
    with pytest.raises(AssertionError):
        check_journal(lambda: journal, is_exclusive=False)


def test_the_suite_catches_a_journal_that_two_can_open() -> None:
    journal = MemoryJournal()
    with pytest.raises(AssertionError, match="must not be opened again"):
        check_journal(lambda: journal)


def test_a_second_process_is_told_that_the_file_is_taken(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "member.db")
    with pytest.raises(StateInUseError, match=r"another process runs with the state file .*member.db"):
        SqliteJournal(tmp_path / "member.db")
    journal.close()
    SqliteJournal(tmp_path / "member.db").close()


def test_what_was_written_survives_a_process_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from cobandit.live.decide.common import Decided\n"
        "from cobandit.live.store.journal import Batch\n"
        "from cobandit.live.store.sqlite_journal import SqliteJournal\n"
        "journal = SqliteJournal(sys.argv[1])\n"
        "journal.write([Batch(decided=(Decided(1, 'A', 1.0, 1.0, None),))])\n"
        "journal._database.execute('BEGIN')\n"
        "journal._database.execute('INSERT INTO batches VALUES (2, 1, 1, x\\'00\\', 0)')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path / "member.db")], check=False)
    assert killed.returncode == -9
    journal = SqliteJournal(tmp_path / "member.db")
    assert journal.read() == Stored(None, [decided(1)])
    journal.close()


def test_one_file_has_one_lock_whatever_link_leads_to_it(tmp_path: Path) -> None:
    path, link, folder = tmp_path / "member.db", tmp_path / "link.db", tmp_path / "folder"
    link.symlink_to(path)  # before there is a file, too
    folder.symlink_to(tmp_path)
    for first, second in ((path, link), (link, path), (folder / "link.db", path)):
        journal = SqliteJournal(first)
        with pytest.raises(StateInUseError, match="another process runs with the state file"):
            SqliteJournal(second)
        journal.close()
    assert not (tmp_path / "link.db.lock").exists()


def test_other_processes_leave_mail_while_a_member_runs(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    journal = SqliteJournal(path)
    leave_mail(path, "d1.one", 1.0)
    leave_mail(path, "d1.two", 0.5)
    assert journal.mail() == [Mail(1, "d1.one", 1.0), Mail(2, "d1.two", 0.5)]
    journal.write([decided(1)], mail_done=[1])
    assert journal.mail() == [Mail(2, "d1.two", 0.5)]
    journal.close()


def test_a_state_file_that_was_removed_or_replaced_while_its_member_runs_is_noticed(tmp_path: Path) -> None:
    path, aside = tmp_path / "a.db", tmp_path / "aside.db"
    journal = SqliteJournal(path)
    assert journal.mail() == []
    path.rename(aside)
    with pytest.raises(LocalError, match="was removed or replaced while its member runs"):
        journal.mail()
    shutil.copy(aside, path)
    with pytest.raises(LocalError, match="was removed or replaced while its member runs"):
        journal.mail()
    aside.rename(path)
    leave_mail(path, "d1.one", 1.0)
    assert journal.mail() == [Mail(1, "d1.one", 1.0)]
    journal.close()


def test_mail_for_a_file_that_is_not_there_is_refused_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"there is no journal at .*nobody.db"):
        leave_mail(tmp_path / "nobody.db", "d1.one", 1.0)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_journal_is_told(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    path.write_bytes(b"this is not a database, but it is long enough to be looked at as one" * 100)
    said = f"{path} is no state file, or has lost its beginning: name the state file of a member"
    for use in USES:
        with pytest.raises(LocalError) as caught:
            use(path)
        assert str(caught.value) == said


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    for use in USES:
        with pytest.raises(LocalError) as caught:
            use(tmp_path)
        assert str(caught.value) == f"{tmp_path} is a folder: name a state file, such as {tmp_path / 'NAME.db'}"
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_lost_its_beginning_is_damaged_where_its_lock_tells_of_it(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    journal = SqliteJournal(path)
    journal.write([decided(1)])
    journal.close()
    path.write_bytes(b"x" * 4096)
    with pytest.raises(LocalError, match=r"the state file .* is damaged \(file is not a database\)"):
        SqliteJournal(path)


def test_a_disk_that_takes_nothing_is_told_and_the_next_write_works(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    journal = SqliteJournal(path)
    journal._database.execute("PRAGMA max_page_count = 8")
    large = Batch(records=(bytes(100_000),))
    with pytest.raises(JournalError, match=r"cannot be written .*full.*: free the disk"):
        journal.write([decided(1), large])
    assert journal.read() == Stored(None, [])
    journal._database.execute("PRAGMA max_page_count = 1000000")
    journal.write([decided(1), large])
    assert journal.read() == Stored(None, [decided(1), large])
    journal.close()


def test_the_log_keeps_as_many_decisions_as_it_was_told_and_the_snapshot_needs_none(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    journal = SqliteJournal(path, log_limit=3)
    for number in range(1, 8):
        journal.write([decided(number)])
    assert len(list(read_history(path))) == 7
    journal.replace(STATE)
    assert list(read_history(path)) == [decided(5), decided(6), decided(7)]
    assert journal.read() == Stored(STATE, [])
    assert read_state(path) == STATE
    journal.close()


def test_batches_that_no_log_shows_go_when_a_snapshot_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    journal = SqliteJournal(path)
    rewarded = Batch(settled=(Settled(1, "A", 1, 2.0),))
    heard = Batch(records=(b"a share",))
    for _ in range(2):
        journal.write([decided(1), heard, rewarded, heard])
        journal.replace(STATE)
        journal.write([heard])
    assert list(read_history(path)) == [decided(1), rewarded, decided(1), rewarded, heard]
    assert journal.read() == Stored(STATE, [heard])
    journal.close()


def test_rewards_count_for_the_limit_of_the_log_too(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    journal = SqliteJournal(path, log_limit=2)
    rewards = [Batch(settled=(Settled(number, "A", 1, 2.0),)) for number in range(5)]
    journal.write(rewards)
    journal.replace(STATE)
    assert list(read_history(path)) == rewards[3:]
    journal.close()


def test_a_snapshot_does_not_cost_more_the_longer_the_log_is(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "member.db")
    steps = []
    for more in (10, 10, 1000, 10):
        journal.write([decided(number) for number in range(more)])
        count: list[None] = []
        journal._database.set_progress_handler(lambda count=count: count.append(None), 1)  # type: ignore[misc]
        journal.replace(STATE)
        journal._database.set_progress_handler(None, 1)
        steps.append(len(count))
    assert steps[1] == steps[3]
    journal.close()


def test_only_the_user_who_runs_a_member_can_read_its_state(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = SqliteJournal(tmp_path / "member.db")
        journal.replace(STATE)
    finally:
        os.umask(before)
    assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {
        "member.db": 0o600,
        "member.db-shm": 0o600,
        "member.db-wal": 0o600,
        "member.db.lock": 0o600,
    }
    journal.close()


def test_a_file_that_another_process_holds_is_told_so_and_the_next_write_works(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    journal = SqliteJournal(path)
    journal._database.execute("PRAGMA busy_timeout = 1")
    shell = sqlite3.connect(path, isolation_level=None)
    shell.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match=r"cannot be written \(database is locked\): another process holds the file"):
        journal.write([decided(1)])
    shell.close()
    journal.write([decided(1)])
    assert journal.read() == Stored(None, [decided(1)])
    journal.close()


def test_a_forked_process_does_not_keep_the_lock_of_one_that_ended(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from cobandit.live.store.sqlite_journal import SqliteJournal\n"
        "journal = SqliteJournal(sys.argv[1])\n"
        "readable, writable = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.write(writable, b'.')\n"
        "    sys.stdin.read()\n"
        "    os._exit(0)\n"
        "os.read(readable, 1)\n"
        "os._exit(0)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "a.db")], stdin=subprocess.PIPE) as parent:
        assert parent.wait() == 0  # its child lives until the end of this block
        SqliteJournal(tmp_path / "a.db").close()


def test_closing_releases_the_lock_though_others_have_its_file_open(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "member.db")
    assert journal._lock._file is not None
    inherited = os.dup(journal._lock._file)
    journal.close()
    SqliteJournal(tmp_path / "member.db").close()
    os.close(inherited)


def test_a_journal_is_not_closed_under_a_thread_that_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = SqliteJournal(tmp_path / "member.db")
    closing = threading.Thread(target=journal.close)

    def drawn() -> str:  # in the middle of a transaction
        closing.start()
        closing.join(0.1)
        return "mark"

    monkeypatch.setattr(journal._lock, "drawn", drawn)
    journal.replace(STATE)
    closing.join()
    assert read_state(tmp_path / "member.db") == STATE


def test_the_log_joins_decisions_with_what_came_of_them() -> None:
    batches = [
        Batch(
            decided=(
                Decided(1, "A", 0.75, 1.0, None),
                Decided(2, "B", None, 2.0, "s"),
            )
        ),
        Batch(settled=(Settled(2, "B", 500_000, 3.0),), settings=(Setting("kill", "A", 1, "x"),)),
        Batch(decided=(Decided(3, "A", 1.0, 4.0, None),), settled=(Settled(3, "A", 0, 9.0, is_expired=True),)),
    ]
    rows = [
        (e.number, e.arm, e.propensity, e.subject, e.reward, e.rewarded_at, e.is_expired)
        for e in DecisionLog(lambda _: Bandit("", (), 10**6), Signer("ann", b"key")).read(batches)
    ]
    assert rows == [
        (1, "A", 0.75, None, None, None, False),
        (2, "B", None, "s", 0.5, 3.0, False),
        (3, "A", 1.0, None, 0.0, 9.0, True),
    ]
