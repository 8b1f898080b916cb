"""The benchmark: frozen tasks, entries that play them, and a leaderboard of what they measured."""

from cobandit.benchmark.entries import Entry, entries, own_entry
from cobandit.benchmark.running import Played, run
from cobandit.benchmark.tape import tape_hash
from cobandit.benchmark.tasks import VERSION, Task, tasks

__all__ = ["VERSION", "Entry", "Played", "Task", "entries", "own_entry", "run", "tape_hash", "tasks"]
