"""The guide of the sidecar is true: its file is served, its commands are run, and they say what it shows."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.servers import free_port

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guides" / "sidecar.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_FILE = re.compile(r'^```toml title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FLEET = re.compile(r"^## A fleet of three machines\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
WITHIN = 60.0


def shape(value: Any) -> Any:
    """What a value is, without what differs from one run to the next: ids, arms that are drawn, and nothing else."""
    if isinstance(value, dict):
        if "propensity" in value:
            value = {**value, "arm": "an arm", "propensity": round(value["propensity"], 9)}
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return "an id" if isinstance(value, str) and value.startswith("d1.") else value


def blocks(port: int) -> list[tuple[str, str]]:
    """The blocks of the guide about one sidecar, for a machine on which other ports are free."""
    text = FLEET.sub("", GUIDE.read_text(encoding="utf-8"))
    text = text.replace("127.0.0.1:8700", f"127.0.0.1:{port}").replace("127.0.0.1:7001", f"127.0.0.1:{free_port()}")
    return BLOCK.findall(text)


@contextmanager
def guided(folder: Path) -> Iterator[tuple[list[tuple[str, str]], dict[str, str]]]:
    """A sidecar with the guide's file and the guide's command; the blocks that follow, and the environment."""
    port = free_port()
    (_, file), (_, start), (_, said), *rest = blocks(port)
    (folder / "web-1.toml").write_text(file, encoding="utf-8")
    environment = with_programs(folder, cobandit=f'exec "{sys.executable}" -m cobandit "$@"')
    install, check, serve = start.splitlines()
    assert install.startswith("pip install ")
    subprocess.run(check, shell=True, cwd=folder, env=environment, check=True, timeout=WITHIN)
    with serving(serve, folder, environment) as ready:
        assert ready.split() == said.split()
        yield rest, environment


def with_programs(folder: Path, **scripts: str) -> dict[str, str]:
    """An environment in which these commands do this."""
    (folder / "bin").mkdir()
    for name, script in scripts.items():
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "COBANDIT_TOKEN"}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"
    return environment


@contextmanager
def serving(command: str, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """A sidecar, and what it says when it is ready. It is stopped in the end, and must end well."""
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command}"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
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
        client = (ROOT / "clients" / "javascript" / "cobandit.js").as_uri()
        (tmp_path / "example.mjs").write_text(program.replace('"cobandit-client"', f'"{client}"'), encoding="utf-8")
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


# Three machines, which are three folders here.

SCP = """
for place; do :; done
mkdir -p "${place%%:*}/${place#*:}"
while [ $# -gt 1 ]; do cp "$1" "${place%%:*}/${place#*:}"; shift; done
"""
"""A command that copies to the folder of a machine."""


def wait_for_observations(count: int, clients: list[httpx.Client]) -> None:
    deadline = time.monotonic() + WITHIN
    while [client.get("/v1/statistics").json()["observations"] for client in clients] != [count] * len(clients):
        assert time.monotonic() < deadline, "they did not learn from each other in time"
        time.sleep(0.05)


def test_three_sidecars_with_the_files_of_the_guide_learn_together(tmp_path: Path) -> None:
    (text,) = FLEET.findall(GUIDE.read_text(encoding="utf-8"))
    machines = re.findall(r"10\.0\.0\.\d(?=:cobandit/)", text)
    addresses = {f"{machine}:7000": f"127.0.0.1:{free_port()}" for machine in machines}

    def here(written: str) -> str:
        return re.sub(r"10\.0\.0\.\d:7000", lambda found: addresses[found.group()], written)

    files = NAMED_FILE.findall(text)
    for (name, file), address in zip(files, addresses.values(), strict=True):
        local = here(file).replace("0.0.0.0:7000", address).replace(":8700", f":{free_port()}")
        (tmp_path / name).write_text(local, encoding="utf-8")
    environment = with_programs(tmp_path, cobandit=f'exec "{sys.executable}" -m cobandit "$@"', scp=SCP)

    def run(commands: str) -> str:
        script = ["bash", "-ec", here(commands)]
        ended = subprocess.run(
            script, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=WITHIN
        )
        return ended.stdout

    (_, keys), (_, copy), (_, status), (_, shown) = BLOCK.findall(text)
    run(keys)
    run(copy)
    with ExitStack() as stack:
        clients = []
        for machine, (name, _) in zip(machines, files, strict=True):
            folder = tmp_path / machine
            assert {path.name for path in (folder / "cobandit").iterdir()} == {name, name.replace(".toml", ".pem")}
            ready = stack.enter_context(serving(f"cobandit serve cobandit/{name}", folder, environment))
            (url,) = re.findall(r"http://[\d.:]+\d", ready)
            token = (folder / "cobandit" / name.replace(".toml", ".db.token")).read_text(encoding="utf-8").strip()
            clients.append(
                stack.enter_context(
                    httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=WITHIN)
                )
            )
        assert run(status).splitlines()[0] == shown.strip()
        decided = [client.post("/v1/select", json={}).json()["id"] for client in clients]
        for client, decision in zip(clients, [*decided[1:], decided[0]], strict=True):  # each at another sidecar
            answer = client.post("/v1/update", json={"id": decision, "reward": 1.0}).json()
            assert answer == {"counted": False, "passed_on": True}
        wait_for_observations(len(decided), clients)
