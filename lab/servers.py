"""Real servers for tests and benchmarks: NATS, an MQTT broker, Redis. Each is started on a free port of this machine.

This file owns finding the programs and starting and stopping them. It knows nothing of what is said to them.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path

from cobandit.values.errors import LocalError

HOST = "127.0.0.1"

FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin")
"""Where servers are, though they may not be in PATH."""

PORTS = range(20_000, 32_000)
"""Where servers listen."""

_ports_asked_for = count()
_given: set[int] = set()

START_WITHIN = 60.0
STOP_WITHIN = 60
"""Seconds."""


class Missing(LocalError):  # noqa: N818 - it says what is the matter
    """The program is not on this machine."""


class Server:
    """A server program with a port of its own, which it keeps when it is stopped and started again."""

    def __init__(self, program: str, scheme: str, folder: Path, command: Callable[[str, int, Path], list[str]]) -> None:
        self.port = free_port()
        self.url = f"{scheme}://{HOST}:{self.port}"
        self._program = find(program)
        self._folder = folder
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process that runs now."""
        if self._process is None:
            raise LocalError("this server does not run: start it")
        return self._process.pid

    def start(self) -> None:
        """Start, and wait until it takes connections. Harmless if it runs."""
        if self._process is not None:
            return
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the program is one of the three below
                self._command(self._program, self.port, self._folder), stdout=output, stderr=output, cwd=self._folder
            )
        deadline = time.monotonic() + START_WITHIN
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                said = (self._folder / "output").read_text(encoding="utf-8", errors="replace")
                raise LocalError(f"{self._program} did not start: {said[:500]} ... {said[-500:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop, and wait until it has ended. Harmless if it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        for _ in range(STOP_WITHIN):  # mosquitto misses a signal that comes just after it has begun to listen
            process.terminate()
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                continue
            return
        process.kill()
        process.wait()

    def _answers(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), timeout=1.0).close()
        except OSError:
            return False
        return True


def nats_server(*arguments: str) -> AbstractContextManager[Server]:
    """A NATS server that runs, with these arguments besides. Raises `Missing` if there is no such program."""
    return _server("nats-server", "nats", lambda program, port, _: [program, "-a", HOST, "-p", str(port), *arguments])


def mosquitto(*settings: str, anonymous: bool = True) -> AbstractContextManager[Server]:
    """An MQTT broker that runs, with these settings for its listener. Raises `Missing` if there is no such program."""

    def command(program: str, port: int, folder: Path) -> list[str]:
        lines = [
            f"listener {port} {HOST}",
            *settings,
            f"allow_anonymous {str(anonymous).lower()}",
            "persistence false",
            *(["user root"] if os.geteuid() == 0 else []),  # as anybody else it could not read its folder
        ]
        file = folder / "mosquitto.conf"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [program, "-c", str(file)]

    return _server("mosquitto", "mqtt", command)


def redis_server() -> AbstractContextManager[Server]:
    """A Redis server that runs and keeps nothing on disk. Raises `Missing` if there is no such program."""
    return _server(
        "redis-server",
        "redis",
        lambda program, port, folder: [
            *(program, "--bind", HOST, "--port", str(port)),
            *("--save", "", "--appendonly", "no", "--dir", str(folder)),
        ],
    )


def find(program: str) -> str:
    """Return where a program is."""
    path = shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *FOLDERS)))
    if path is None:
        raise Missing(f"there is no {program} on this machine: install it (tools/install-programs does that on Debian)")
    return path


def free_port(row: int = 1) -> int:
    """Return a port that nobody listens on now, another each time; the first of so many in a row.

    No two processes are given the same one: what a process was given is its own until it ends. Nor is it one of those
    that the system gives to outgoing connections: a server that is stopped for a while would find its port taken by a
    client that tries to reach it.
    """
    while True:
        first = PORTS.start + (os.getpid() * 61 + next(_ports_asked_for)) % (len(PORTS) - row)
        ports = range(first, first + row)
        if _given.isdisjoint(ports) and all(_is_reserved(port) and _is_free(port) for port in ports):
            _given.update(ports)
            return first


def _is_reserved(port: int) -> bool:
    """Take a port from all other processes that ask here, unless one of them has it. The system knows when they end."""
    try:
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _reservations() -> int:
    """Return a file of all processes here, open until this one ends."""
    return os.open(Path(tempfile.gettempdir()) / f"cobandit-ports-{os.getuid()}", os.O_RDWR | os.O_CREAT, 0o600)


def _is_free(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(type=kind) as one:
            if kind is socket.SOCK_STREAM:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind((HOST, port))
            except OSError:
                return False
    return True


@contextmanager
def _server(program: str, scheme: str, command: Callable[[str, int, Path], list[str]]) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="cobandit-") as folder:
        server = Server(program, scheme, Path(folder), command)
        try:
            server.start()
            yield server
        finally:
            server.stop()
