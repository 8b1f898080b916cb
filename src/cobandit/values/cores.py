"""How many processors this process may use: the default number of workers.

A machine may have more than a process gets: `taskset` and schedulers of clusters bind it to some, and a container has a
quota of time (cgroup v2).
"""

import math
import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OF_THIS_PROCESS = Path("/proc/self/cgroup")


def core_count() -> int:
    """Return how many processors this process may use, at least one. A part of one counts as one."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(bound, _quota())))


def _quota() -> float:
    """Return how many seconds of processors this process gets in a second: the least of its group and those above."""
    try:
        lines = _OF_THIS_PROCESS.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return math.inf
    own = Path(next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), ""))
    return min(_quota_of(_GROUPS / group) for group in (own, *own.parents))


def _quota_of(group: Path) -> float:
    try:
        quota, period = (group / "cpu.max").read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # it has none, or "max"
        return math.inf
