"""The image's file: what it copies is enough to install from. `tools/check_image.py` builds it."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FILE = ROOT / "deploy" / "container" / "Containerfile"
TEXT = FILE.read_text(encoding="utf-8")
FILES = [path for path in (ROOT / "deploy").rglob("*") if path.is_file()]


def kept() -> list[str]:
    """Return what .containerignore lets through."""
    lines = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def test_it_runs_as_nobody_with_a_health_command_of_its_own() -> None:
    last = TEXT.rsplit("\nFROM ", 1)[1]
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert 'CMD ["cobandit", "health", "/etc/cobandit/member.toml"]' in last
    assert re.findall(r"curl|wget|apt-get", TEXT) == []


def test_what_is_copied_is_enough_to_build_the_package_from(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    for name in kept():
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert ours <= names


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_file_names_a_registry_or_a_machine(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    images = re.findall(r"^\s*(?:image:|newName:|FROM|ARG BASE=)\s*(\S+)", text, re.MULTILINE)
    assert [image for image in images if "/" in image] == []
    assert re.findall(r"/home/|/root/|/tmp/|localhost", text) == []
