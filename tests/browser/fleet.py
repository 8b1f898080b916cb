"""A real fleet for tests of the page: a sidecar and members, each a process of its own, in a mesh with TLS."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from cobandit.live.auth.keys import issue, make_group
from lab.servers import HOST, free_port

MEANS = {"blue": 0.6, "green": 0.5, "red": 0.4}
WITHIN = 60.0
SIDECAR = "m1"
OTHERS = ("m2", "m3")


class PageFleet:
    """Three members. `m1` is the sidecar."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[str]] = {}
        make_group("homepage", folder / "authority")
        self._keys = {name: str(issue(name, folder / "authority")) for name in (SIDECAR, *OTHERS)}
        self._ports = {name: free_port() for name in (SIDECAR, *OTHERS)}
        self.url = f"http://{HOST}:{free_port()}"

    @property
    def token(self) -> str:
        """The sidecar's token."""
        return (self._folder / "m1.db.token").read_text(encoding="ascii").strip()

    def start(self, name: str) -> None:
        """Start a member."""
        command = (
            [sys.executable, "-m", "cobandit", "serve", self._config()]
            if name == SIDECAR
            else [sys.executable, str(Path(__file__).with_name("worker.py"))]
        )
        self._running[name] = process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        if name != SIDECAR:
            self._write(process, json.dumps({**self._spec(name), "means": MEANS}))
        said = self._read(process)
        assert "ready" in said, said

    def kill(self, name: str) -> None:
        """Kill a member as the power does."""
        process = self._running.pop(name)
        os.kill(process.pid, signal.SIGKILL)
        _wait(process)

    def stop(self, name: str) -> int:
        """Stop a member as an operator does. Return its exit code."""
        process = self._running.pop(name)
        os.kill(process.pid, signal.SIGTERM)
        return _wait(process)

    def order(self, order: str) -> None:
        """Let the members go, or rest."""
        for name in OTHERS:
            if name in self._running:
                self._write(self._running[name], order)
                assert self._read(self._running[name]).strip() == order

    def api(self, method: str, path: str, **content: Any) -> Any:
        """Call the sidecar's API."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(method, self.url + path, headers=headers, timeout=60.0, json=content or None)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def close(self) -> None:
        """Stop everything."""
        for process in self._running.values():
            process.kill()
            _wait(process)

    def _config(self) -> str:
        file = self._folder / "m1.toml"
        spec = self._spec(SIDECAR)
        lines = [f"{key} = {json.dumps(value)}" for key, value in {**spec, "arms": list(MEANS)}.items()]
        file.write_text("\n".join([*lines, f'listen = "{self.url.removeprefix("http://")}"\n']), encoding="utf-8")
        return str(file)

    def _spec(self, name: str) -> dict[str, Any]:
        return {
            "url": f"tls://{HOST}:{self._ports[name]}",
            "group": "homepage",
            "name": name,
            "keys": self._keys[name],
            "state": str(self._folder / f"{name}.db"),
            "peers": [f"{HOST}:{port}" for other, port in self._ports.items() if other != name],
        }

    @staticmethod
    def _write(process: "subprocess.Popen[str]", line: str) -> None:
        assert process.stdin is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()

    @staticmethod
    def _read(process: "subprocess.Popen[str]") -> str:
        assert process.stdout is not None
        is_there, _, _ = select.select([process.stdout], [], [], WITHIN)
        assert is_there, "it says nothing"
        return process.stdout.readline()


def _wait(process: "subprocess.Popen[str]") -> int:
    code = process.wait(WITHIN)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return code


@contextmanager
def page_fleet(folder: Path) -> Iterator[PageFleet]:
    """Run three members that have met and rest."""
    fleet = PageFleet(folder)
    try:
        for name in (SIDECAR, *OTHERS):
            fleet.start(name)
        until(lambda: _have_met(fleet.api("GET", "/v1/fleet")))
        yield fleet
    finally:
        fleet.close()


def until(is_so: Callable[[], bool], within_s: float = WITHIN) -> None:
    """Wait for something."""
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def _have_met(fleet: dict[str, Any]) -> bool:
    members = fleet["members"]
    return len(members) == 3 and all(len(member["peers"]) == 2 for member in members)
