"""Walk the path of a new user who has only the README and the built wheel, and time it.

    python tools/first_steps.py             # print the steps and how long each took
    python tools/first_steps.py --write     # and put them into docs/first-steps.md

An empty environment; the core, and the README's twelve lines: a first decision. Then the extra `sim`, and the README's
command for a report. Commands and code are taken from the README itself, so a README that leads nowhere fails here.
Packages come from wherever pip gets them, so the times depend on the network, too.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "first-steps.md"
DECISION_WITHIN_S, REPORT_WITHIN_S = 120.0, 300.0
BEGIN, END = "<!-- measured -->", "<!-- end -->"
OURS = ("PYTHON", "COBANDIT_", "NUMBA_")
"""Variables that would change what is tried."""


class Step(NamedTuple):
    """One thing that a user types."""

    typed: str
    why: str
    seconds: float


def twelve_lines(readme: str) -> str:
    """Return the program of the README."""
    (program,) = re.findall(r"^## Quick start\n\n```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    return str(program)


def report_command(readme: str) -> str:
    """Return the command of the README that writes a first report."""
    (command,) = re.findall(r"`(cobandit [^`]*)` writes a first report", readme)
    return str(command)


def walk(folder: Path) -> list[Step]:
    """Walk the path in an empty folder."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    built = folder / "dist"
    hatchling = [sys.executable, "-m", "hatchling", "build", "-d", str(built), "-t", "wheel"]
    subprocess.run(hatchling, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    (folder / "twelve.py").write_text(twelve_lines(readme), encoding="utf-8")
    programs = folder / "env" / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = report_command(readme)
    return [
        _step(folder, "python3 -m venv env", "an empty environment", [sys.executable, "-m", "venv", "env"]),
        _step(folder, "pip install cobandit", "the core", [*pip, str(wheel)]),
        _step(folder, "python twelve.py", "the README's twelve lines", [str(programs / "python"), "twelve.py"]),
        _step(folder, "pip install 'cobandit[sim]'", "the simulator", [*pip, f"{wheel}[sim]"]),
        _step(
            folder, command, "a report; most of it is the compiler", [str(programs / "cobandit"), *command.split()[1:]]
        ),
    ]


def _step(folder: Path, typed: str, why: str, command: list[str]) -> Step:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    apart = {"XDG_CACHE_HOME": str(folder / "cache"), "MPLCONFIGDIR": str(folder / "cache")}
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, env={**kept, **apart}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{typed} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Step(typed, why, time.monotonic() - begin)


def table(steps: list[Step]) -> str:
    """Return the steps as Markdown, with the time from the beginning."""
    passed, rows = 0.0, []
    for step in steps:
        passed += step.seconds
        rows.append(f"| `{step.typed}` | {step.why} | {step.seconds:.1f} s | {passed:.1f} s |")
    where = f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end."
    return "\n".join(
        ["| typed | what it is | took | since the start |", "| --- | --- | ---: | ---: |", *rows, "", where]
    )


def main() -> int:
    """Walk, print, and write if asked."""
    with tempfile.TemporaryDirectory() as place:
        steps = walk(Path(place))
        written = [path for path in Path(place).rglob("report.html") if "env" not in path.parts]
    measured = table(steps)
    print(measured)
    if "--write" in sys.argv[1:]:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{measured}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    decision, report = sum(step.seconds for step in steps[:3]), sum(step.seconds for step in steps)
    missed = [f"{what} took {took:.0f} s, and must take {most:.0f}" for what, took, most in
              (("the first decision", decision, DECISION_WITHIN_S), ("the first report", report, REPORT_WITHIN_S))
              if took > most]  # fmt: skip
    missed += [] if written else ["there is no report"]
    print("\n".join(missed) or "Both in time.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
