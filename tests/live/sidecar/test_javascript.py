"""The JavaScript client works against a real sidecar, and its types are those of the OpenAPI document."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Never

import pytest

from cobandit.live.sidecar.openapi import document

FOLDER = Path(__file__).parents[3] / "clients" / "javascript"
WITHIN = 300.0

INTERFACE = re.compile(r"export interface (\w+)[^{]*\{\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(r"^  readonly (\w+)(\??): ", re.MULTILINE)
OF_THE_CLIENT = {"CallOptions", "UpdateOptions", "CobanditOptions"}


def missing(why: str) -> Never:
    """Skip loudly, but never in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have every program: {why}")
    pytest.skip(f"NOT TESTED: {why}")


def program(name: str) -> str:
    return shutil.which(name) or missing(f"there is no {name} on this machine: install Node.js 18 or later")


@pytest.fixture(scope="module")
def tsc() -> list[str]:
    """The compiler of the lock file."""
    installed = FOLDER / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (FOLDER / "package-lock.json").stat().st_mtime:
        done = run([program("npm"), "ci", "--silent"])
        if done.returncode:
            missing(f"npm ci cannot install the compiler: {done.stderr[-500:]}")
        installed.touch()
    return [program("node"), str(FOLDER / "node_modules" / "typescript" / "bin" / "tsc")]


def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    variables = {**os.environ, "COBANDIT_PYTHON": sys.executable}
    return subprocess.run(
        command, cwd=FOLDER, env=variables, capture_output=True, text=True, check=False, timeout=WITHIN
    )


def test_the_client_works_against_a_real_sidecar() -> None:
    done = run([program("node"), "--test", "test/"])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"^# pass 12$", done.stdout, re.MULTILINE), done.stdout[-1000:]


def test_right_use_compiles(tsc: list[str]) -> None:
    done = run([*tsc, "--project", "tsconfig.json"])
    assert (done.returncode, done.stdout) == (0, "")


def test_wrong_use_does_not_compile(tsc: list[str]) -> None:
    settings = ("--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom")
    done = run([*tsc, *settings, "test/misuse.ts"])
    lines = (FOLDER / "test" / "misuse.ts").read_text(encoding="utf-8").splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if line.endswith("// wrong")]
    assert [int(line) for line in re.findall(r"^test/misuse\.ts\((\d+),", done.stdout, re.MULTILINE)] == wrong


def test_the_types_are_those_of_the_document() -> None:
    schemas = document()["components"]["schemas"]
    text = (FOLDER / "cobandit.d.ts").read_text(encoding="utf-8")
    written = {name: dict(FIELD.findall(body)) for name, body in INTERFACE.findall(text)}
    assert len(written) > 10
    for name, fields in written.items():
        if name in OF_THE_CLIENT:
            continue
        required = schemas[name].get("required", [])
        assert fields == {field: "" if field in required else "?" for field in schemas[name]["properties"]}, name


def test_the_package_names_no_registry_and_needs_nothing_to_run() -> None:
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in package
    lock = (FOLDER / "package-lock.json").read_text(encoding="utf-8")
    assert "resolved" not in lock
    assert "http" not in lock
    assert [name for name in json.loads(lock)["packages"] if name] == ["node_modules/typescript"]
