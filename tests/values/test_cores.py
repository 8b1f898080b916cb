"""How many processors a process may use: those that it is bound to, within the quota of its group."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from cobandit.values import cores
from cobandit.values.cores import core_count


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({}, 8),
        ({"0": "0::/\n", "cpu.max": "max 100000\n"}, 8),
        ({"0": "0::/\n", "cpu.max": "300000 100000\n"}, 3),
        ({"0": "0::/\n", "cpu.max": "150000 100000\n"}, 2),
        ({"0": "0::/\n", "cpu.max": "5000 100000\n"}, 1),
        ({"0": "3:cpu:/\n0::/a/b\n", "a/cpu.max": "200000 100000\n", "a/b/cpu.max": "400000 100000\n"}, 2),
        ({"0": "0::/a/b\n", "a/cpu.max": "max 100000\n", "a/b/cpu.max": "400000 100000\n"}, 4),
        ({"0": "3:cpu:/\n", "cpu.max": "1200000 100000\n"}, 8),
        ({"0": "0::/\n", "cpu.max": "nonsense"}, 8),
    ],
)
def test_a_quota_and_what_a_process_is_bound_to_limit_it(
    files: Mapping[str, str], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(cores, "_GROUPS", tmp_path)
    monkeypatch.setattr(cores, "_OF_THIS_PROCESS", tmp_path / "0")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert core_count() == count


def test_where_nobody_is_bound_all_processors_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_OF_THIS_PROCESS", tmp_path / "none")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert core_count() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert core_count() == 1
