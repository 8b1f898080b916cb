"""The units of systemd are right by its own judgement, and let a member do little."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
MOST_EXPOSED = 20
"""Of 100, by `systemd-analyze security`; a unit without a word of it has 96."""

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: str(unit.name))
def test_a_unit_is_right_and_hardened(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    program = re.search(r"^ExecStart=(\S+) (relay|serve) /etc/cobandit/%i.toml$", text, re.MULTILINE)
    assert program is not None
    here = tmp_path / unit.name.replace("@", "@one")
    here.write_text(text.replace(program[1], sys.executable), encoding="utf-8")
    verify = subprocess.run(["systemd-analyze", "verify", str(here)], capture_output=True, text=True, check=False)
    assert (verify.returncode, verify.stderr) == (0, "")
    security = ["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(here)]
    judged = subprocess.run(security, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout[-200:]


def test_the_units_differ_in_what_they_run_alone() -> None:
    after = {unit.read_text(encoding="utf-8").split("\nRestart=")[1] for unit in UNITS}
    assert len(UNITS) == 2
    assert len(after) == 1
