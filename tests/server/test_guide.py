"""The guide of the sidecar is true: its file is served, its commands are run, and they say what it shows."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tacit.testing.servers import free_port

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "sidecar.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITHIN = 60.0


def shape(value: Any) -> Any:
    """What a value is, without what differs from one run to the next: ids, and nothing else."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return "an id" if isinstance(value, str) and value.startswith("d1.") else value


def blocks(port: int) -> list[tuple[str, str]]:
    """The blocks of the guide, for a machine on which other ports are free."""
    text = GUIDE.read_text(encoding="utf-8")
    text = text.replace("127.0.0.1:8700", f"127.0.0.1:{port}").replace("127.0.0.1:7001", f"127.0.0.1:{free_port()}")
    return BLOCK.findall(text)


@contextmanager
def guided(folder: Path) -> Iterator[tuple[list[tuple[str, str]], dict[str, str]]]:
    """A sidecar with the guide's file and the guide's command; the blocks that follow, and the environment."""
    port = free_port()
    (_, file), (_, start), (_, said), *rest = blocks(port)
    (folder / "web-1.toml").write_text(file, encoding="utf-8")
    (folder / "bin").mkdir()
    command = folder / "bin" / "tacit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tacit "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "TACIT_TOKEN"}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"
    install, check, serve = start.splitlines()
    assert install.startswith("pip install ")
    subprocess.run(check, shell=True, cwd=folder, env=environment, check=True, timeout=WITHIN)
    process = subprocess.Popen(
        ["sh", "-c", f"exec {serve}"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().split() == said.split()
        yield rest, environment
        process.terminate()
        assert process.wait(WITHIN) == 0
    finally:
        process.kill()
        process.communicate()


def test_the_commands_of_the_guide_say_what_it_shows(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have every program: there is no curl")
        pytest.skip("NOT TESTED: there is no curl on this machine")
    with guided(tmp_path) as (rest, environment):
        script, compared = "set -eu\n", 0
        for (kind, text), (next_kind, shown) in zip(rest, [*rest[1:], ("", "")], strict=True):
            if kind != "sh":
                continue
            run = subprocess.run(
                ["bash", "-c", script + text],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=WITHIN,
            )
            script += "".join(definitions(text))
            if next_kind == "json":
                assert shape(json.loads(run.stdout)) == shape(json.loads(shown))
                compared += 1
        assert compared == 5


def definitions(text: str) -> list[str]:
    """What later blocks of the guide use: variables and functions."""
    return re.findall(r"^(?:TOKEN=.*\n|\w+\(\) \{\n(?:.*\n)*?\}\n)", text, re.MULTILINE)


def test_the_javascript_of_the_guide_says_what_it_shows(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have every program: there is no node")
        pytest.skip("NOT TESTED: there is no node on this machine")
    with guided(tmp_path) as (rest, environment):
        (program,) = (text for kind, text in rest if kind == "js")
        client = (ROOT / "clients" / "javascript" / "tacit.js").as_uri()
        (tmp_path / "example.mjs").write_text(program.replace('"tacit-client"', f'"{client}"'), encoding="utf-8")
        ended = subprocess.run(
            [node, "example.mjs"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=WITHIN,
        )
    assert ended.stdout.splitlines() == [
        "true false",
        "409 none of the arms to choose from (violet) is on offer now, only red, green, blue",
    ]
