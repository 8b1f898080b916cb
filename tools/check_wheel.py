"""Build the wheel and the source distribution, install the wheel into empty environments, and try everything there.

    python tools/check_wheel.py                          # the oldest and the newest Python on the PATH
    python tools/check_wheel.py --python python3.12      # this one; more may be named
    python tools/check_wheel.py --installed core --installed sim
    python tools/check_wheel.py --every-python --out dist      # for a release: each Python on the PATH; keep both files

Both files must be what a registry takes and shows, by twine. For each Python there is an environment with the core
alone, installed from the wheel and from the source distribution, one for each extra, and so one for all of them. What
is tried is in `wheel_trials.py`. Packages come from wherever pip gets them, so this takes a network, and some minutes
for each Python. It prints one table, and then everything that is wrong.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from wheel_trials import TRIALS, Place, WrongError, every_command_has_help, examples_work, prepare

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
CORE = "core"
SOURCE = "source"
"""The core, installed from the source distribution."""
OLDEST = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))


@dataclass
class Row:
    """What one environment showed."""

    python: str
    installed: str
    packages: int = 0
    commands: int = 0
    worked: int = 0
    refused: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def attempt(self, what: Callable[[Place], object], place: Place) -> bool:
        """Try something, and note it if it is wrong."""
        try:
            what(place)
        except WrongError as error:
            self.wrong.append(str(error))
        except Exception:  # noqa: BLE001 - whatever it is, the other trials go on
            self.wrong.append(traceback.format_exc())
        else:
            return True
        return False


def main() -> int:
    """Check, print the table, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description="Build, install into empty environments, and try everything.")
    parser.add_argument("--python", action="append", help="an interpreter (default: the oldest and newest on the PATH)")
    parser.add_argument("--every-python", action="store_true", help="each on the PATH that this project takes")
    parser.add_argument(
        "--installed", action="append", choices=[CORE, SOURCE, *EXTRAS], help="only these (default: all)"
    )
    parser.add_argument("--out", type=Path, help="keep the wheel and the source distribution here, if all is good")
    options = parser.parse_args()
    pythons = options.python or found_pythons(every=options.every_python)
    with tempfile.TemporaryDirectory(prefix="cobandit-wheel-") as folder:
        built = build(Path(folder))
        check_for_registries(built)
        rows = []
        for python in pythons:
            for installed in options.installed or [CORE, SOURCE, *EXTRAS]:
                rows.append(check(built, python, installed, Path(folder) / "place"))
                print(line(rows[-1]), file=sys.stderr, flush=True)
        is_good = not any(row.wrong for row in rows)
        if is_good and options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            for file in built:
                shutil.copy(file, options.out)
    print(table(rows))
    for row in rows:
        for text in row.wrong:
            print(f"\nPython {row.python}, {row.installed}: {text}")
    return 0 if is_good else 1


def found_pythons(*, every: bool = False) -> list[str]:
    """Return the oldest and the newest Python on the PATH that this project takes, or every one."""
    names = {
        file.name
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        for file in Path(folder or ".").glob("python3.*")
        if re.fullmatch(r"python3\.\d+", file.name)
    }
    versions = sorted((tuple(map(int, name.removeprefix("python").split("."))), name) for name in names)
    good = [name for version, name in versions if version >= OLDEST and _runs(name)]
    if not good:
        sys.exit("no Python on the PATH is new enough: name one with --python")
    return good if every else list(dict.fromkeys((good[0], good[-1])))


def _runs(python: str) -> bool:
    """Tell whether it is an interpreter, and not a name that stands for one that is not there."""
    return subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


class Built(NamedTuple):
    """What is published."""

    wheel: Path
    source: Path


def build(folder: Path) -> Built:
    """Build the source distribution from the tree and the wheel from that, as a registry's users get them."""
    hatchling = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run([*hatchling, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    (source,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(source, folder, filter="data")
    subprocess.run(
        [*hatchling, "-t", "wheel"], cwd=folder / source.name.removesuffix(".tar.gz"), check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    return Built(wheel, source)


def check_for_registries(built: Built) -> None:
    """Let twine look whether a registry takes both files, and can show the README."""
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"twine check: {done.stdout}{done.stderr}")


def check(built: Built, python: str, installed: str, folder: Path) -> Row:
    """Make an environment, install, and try everything in it."""
    begin = time.monotonic()
    row = Row(python, installed)
    environment = folder / "environment"
    place = Place(environment / "bin", folder / "work", have(installed))
    shutil.rmtree(environment, ignore_errors=True)
    shutil.rmtree(place.folder, ignore_errors=True)
    place.folder.mkdir(parents=True)
    if row.attempt(lambda _: _install(built, python, installed, environment, row), place):
        prepare(place)
        _try_everything(row, place, built.wheel)
    row.seconds = time.monotonic() - begin
    shutil.rmtree(environment, ignore_errors=True)
    return row


def have(installed: str) -> frozenset[str]:
    """Return the extras that an extra brings, itself included."""
    found = set() if installed in {CORE, SOURCE} else {installed}
    for need in EXTRAS.get(installed, []):
        if inner := re.fullmatch(r"cobandit\[(.*)\]", need):
            found.update(*(have(one) for one in inner[1].split(",")))
    return frozenset(found)


def _install(built: Built, python: str, installed: str, environment: Path, row: Row) -> None:
    wanted = {CORE: str(built.wheel), SOURCE: str(built.source)}.get(installed, f"{built.wheel}[{installed}]")
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    for command in ([python, "-m", "venv", str(environment)], [*pip, "install", "--quiet", wanted], [*pip, "check"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise WrongError(f"{' '.join(command)}: {done.stderr[-2000:]}{done.stdout[-2000:]}")
    listed = subprocess.run([*pip, "list", "--format", "json"], capture_output=True, text=True, check=True).stdout
    row.packages = len({one["name"] for one in json.loads(listed)} - {"pip", "setuptools", "cobandit"})
    row.python = _version(pip[0])


def _version(python: str) -> str:
    return subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True, check=True
    ).stdout.strip()


def _try_everything(row: Row, place: Place, wheel: Path) -> None:
    def imports(_: Place) -> None:
        where = place.must("python", "-c", "import cobandit; print(cobandit.__version__, cobandit.__file__)").strip()
        version, _, file = where.partition(" ")
        if version != wheel.name.split("-")[1] or not file.startswith(str(place.programs.parent)):
            raise WrongError(f"import cobandit gives {where}")

    def helps(_: Place) -> None:
        row.commands = every_command_has_help(place)

    row.attempt(imports, place)
    row.attempt(helps, place)
    row.worked += row.attempt(examples_work, place)
    for trial in TRIALS:
        if trial.needs <= place.extras:
            row.worked += row.attempt(trial.works_in, place)
        else:
            row.refused += row.attempt(trial.is_refused_in, place)


def table(rows: list[Row]) -> str:
    """Return the rows for people."""
    head = (
        f"{'Python':10}{'installed':11}{'packages':>9}{'help of':>9}{'worked':>8}{'refused':>9}{'seconds':>9}  result"
    )
    return "\n".join([head, *map(line, rows)])


def line(row: Row) -> str:
    """Return one row."""
    numbers = f"{row.packages:>9}{row.commands:>9}{row.worked:>8}{row.refused:>9}{row.seconds:>9.0f}"
    return f"{row.python:10}{row.installed:11}{numbers}  {f'{len(row.wrong)} wrong' if row.wrong else 'good'}"


if __name__ == "__main__":
    sys.exit(main())
