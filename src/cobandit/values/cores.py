"""How many processors this process may use: the default number of workers.

A machine may have more processors than a process may use: `taskset` and cluster schedulers bind it to some of them, and
a container has a time quota (cgroup v2).
"""

import math
import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OF_THIS_PROCESS = Path("/proc/self/cgroup")


def core_count() -> int:
    """Return how many processors this process may use, at least one. A fraction counts as a whole one."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(bound, _quota())))


def _quota() -> float:
    """Return how many processor-seconds this process gets per second: the minimum over its group and those above."""
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
    except (OSError, ValueError, ZeroDivisionError):  # no quota, or "max"
        return math.inf
