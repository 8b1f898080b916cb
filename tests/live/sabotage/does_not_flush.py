"""Breaks the journal: SQLite leaves it to the system when to flush. Run inside a worker."""

import sqlite3
from pathlib import Path

from cobandit.live.store import sqlite_journal

opened = sqlite_journal._opened


def open_without_flushing(path: Path) -> sqlite3.Connection:
    database = opened(path)
    database.execute("PRAGMA synchronous = OFF")
    return database


sqlite_journal._opened = open_without_flushing
