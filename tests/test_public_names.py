"""The public names are found before they are used, and what is loaded later is not loaded for that."""

import subprocess
import sys

import cobandit

LATER = {"Decision", "Member", "Results", "Taken", "connect", "join", "reward", "simulate", "snapshot_of", "sweep"}


def test_completion_finds_every_public_name() -> None:
    assert {*cobandit.__all__, *LATER} <= set(dir(cobandit))
    assert not LATER & set(cobandit.__all__)  # `from cobandit import *` needs no extra
    assert len(cobandit.__all__) == len(set(cobandit.__all__))


def test_every_public_name_is_there() -> None:
    assert [name for name in (*cobandit.__all__, *LATER) if getattr(cobandit, name, None) is None] == []


def test_names_are_listed_without_loading_what_they_need() -> None:
    program = (
        "import sys, cobandit; names = dir(cobandit); "
        "print('simulate' in names, sorted({'numpy', 'numba', 'pandas', 'matplotlib', 'asyncio', 'sqlite3', "
        "'cobandit.simulator', 'cobandit.live', 'cobandit.adapters'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"
