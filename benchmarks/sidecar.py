"""What a decision costs through the HTTP sidecar, and whether it keeps up with a thousand requests a second.

    python benchmarks/sidecar.py

In one run: the latency of select on loopback, turn by turn beside a bare Starlette route that returns the same bytes
from the same kind of process; then select and update, mixed, at a fixed rate for a minute, and the same rate at the
bare route for a quarter of that time. The rate is open-loop: a request that is due is sent whether or not others are
answered. Latencies are shown from when a request was due, in which the client's own timer has a part of about a
millisecond, and from when it was sent.
"""

import argparse
import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

ARM_COUNT = 16
TOKEN = "a-token-for-the-benchmark"
HOST = "127.0.0.1"
MOST_CONNECTIONS = 64
TURNS = 5
START_WITHIN_S = 20.0
LAST_WITHIN_S = 10.0
REWARDS_AT_ONCE = 500


class Latency(NamedTuple):
    """Latencies of one kind of request, in milliseconds."""

    requests: int
    p50_ms: float
    p99_ms: float
    p999_ms: float


class Load(NamedTuple):
    """What a minute at a fixed rate gave."""

    seconds: float
    sent: int
    errors: int
    rate: float
    from_due: Latency
    from_sent: Latency
    connections: int
    memory_mb: tuple[float, ...]
    """Of the server, at the start, a quarter, a half, three quarters and the end."""


def latency_of(seconds: list[float]) -> Latency:
    """Sum up."""
    ordered = sorted(seconds)

    def at(share: float) -> float:
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Latency(len(ordered), at(0.5), at(0.99), at(0.999))


# The two servers.


@contextmanager
def sidecar() -> Iterator[tuple[int, int]]:
    """A sidecar with its journal on a real disk, in a process of its own; its port and its process."""
    with tempfile.TemporaryDirectory(prefix="cobandit-") as folder:
        file, port = Path(folder) / "member.toml", free_port()
        arms = [f"arm-{number}" for number in range(1, ARM_COUNT + 1)]
        file.write_text(
            f'group = "benchmark"\nname = "web-1"\nurl = "udp://{HOST}:{free_port()}"\narms = {arms}\n'
            f'state = "member.db"\nsecret = "a secret for the benchmark"\nlisten = "{HOST}:{port}"\n',
            encoding="utf-8",
        )
        with process([sys.executable, "-m", "cobandit", "serve", str(file)], port) as pid:
            yield port, pid


@contextmanager
def bare() -> Iterator[tuple[int, int]]:
    """A bare Starlette route in the same kind of process."""
    port = free_port()
    with process([sys.executable, __file__, "--bare", str(port)], port) as pid:
        yield port, pid


def run_bare(port: int) -> None:
    """Serve one route that reads a body and returns what a select returns."""
    import uvicorn  # noqa: PLC0415
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    same = b'{"id":"d1.lKV3ZWItMc8BpNZ2ZgavH6Zhcm0tMTHLQdq-o92bR-tuV49ZFaKRzA","arm":"arm-11","propensity":1.0}'
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

    async def select(request: Request) -> Response:
        await request.body()
        return Response(same, headers=headers, media_type="application/json")

    app = Starlette(routes=[Route("/v1/select", select, methods=["POST"])])
    uvicorn.run(app, host=HOST, port=port, loop="uvloop", http="httptools", log_level="warning", access_log=False)


@contextmanager
def process(command: list[str], port: int) -> Iterator[int]:
    """Run a server until it is not needed any more."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "COBANDIT_TOKEN": TOKEN}) as running:
        try:
            deadline = time.monotonic() + START_WITHIN_S
            while not answers(port):
                assert running.poll() is None, "it has ended"
                assert time.monotonic() < deadline, "it did not start"
                time.sleep(0.02)
            yield running.pid
        finally:
            running.terminate()


def answers(port: int) -> bool:
    """Return whether a server listens."""
    try:
        socket.create_connection((HOST, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


# One client that waits for every answer.


def request(path: str, body: bytes) -> bytes:
    """Return a request as bytes."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def whole_answer(stream: socket.socket) -> bytes:
    """Wait for an answer; it may come in more than one piece."""
    answer = b""
    while True:
        answer += stream.recv(65536)
        head, blank, body = answer.partition(b"\r\n\r\n")
        if blank and len(body) >= length_in(head):
            return answer


def length_in(head: bytes) -> int:
    """Return how long the body is."""
    return int(head.partition(b"content-length: ")[2].split(b"\r\n", 1)[0])


def measure_latency(port: int, bare_port: int, requests: int, turns: int = TURNS) -> tuple[Latency, Latency]:
    """Measure selects at both servers, turn by turn, so that what else the machine does falls on both of them.

    The decisions are rewarded after each turn, out of the measurement.
    """
    ports = (port, bare_port)
    taken: dict[int, list[float]] = {port: [] for port in ports}
    ids: list[str] = []
    one = request("/v1/select", b"{}")
    with contextlib.ExitStack() as stack:
        streams = {port: stack.enter_context(socket.create_connection((HOST, port))) for port in ports}
        for stream in streams.values():
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for turn in range(turns + 1):
            for at, stream in streams.items():
                for _ in range(requests // turns):
                    begun = time.perf_counter()
                    stream.sendall(one)
                    answer = whole_answer(stream)
                    ended = time.perf_counter()
                    assert answer.startswith(b"HTTP/1.1 200"), answer
                    if turn:  # the first is for warming up
                        taken[at].append(ended - begun)
                    if at == port:
                        ids.append(body_of(answer)["id"])
            reward(streams[port], ids)
            ids.clear()
    return latency_of(taken[port]), latency_of(taken[bare_port])


def reward(stream: socket.socket, ids: list[str]) -> None:
    """Reward decisions, so that none is left open."""
    for first in range(0, len(ids), REWARDS_AT_ONCE):
        updates = [{"id": one, "reward": 1.0} for one in ids[first : first + REWARDS_AT_ONCE]]
        stream.sendall(request("/v1/update-many", msgspec.json.encode({"updates": updates, "sync": True})))
        assert all(result["counted"] for result in body_of(whole_answer(stream))["results"])


def body_of(answer: bytes) -> Any:  # noqa: ANN401  # whatever was answered
    """Return what an answer says."""
    return msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])


# Many clients at a fixed rate.


class Connection(asyncio.Protocol):
    """One request at a time; answers are small and come in one piece or a few."""

    def __init__(self, load: "Loader") -> None:
        self._load = load
        self._buffer = b""
        self._due_at = self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport: Any = transport

    def send(self, packet: bytes, due_at: float) -> None:
        """Send a request."""
        self._due_at, self._sent_at = due_at, time.perf_counter()
        self._transport.write(packet)

    def data_received(self, data: bytes) -> None:
        """Take an answer, or a part of one."""
        self._buffer += data
        head, blank, body = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        if len(body) >= length_in(head):
            self._buffer = b""
            self._load.answered(self, head, body, self._due_at, self._sent_at)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it, if it was not meant."""
        del exc
        self._load.lost(self)

    def close(self) -> None:
        """Close it."""
        self._transport.close()


class Loader:
    """Sends select and update, mixed, at a fixed rate."""

    def __init__(self, port: int, pid: int, *, selects_only: bool = False) -> None:
        self._port, self._pid = port, pid
        self._selects_only = selects_only
        self._free: deque[Connection] = deque()
        self._connections: set[Connection] = set()
        self._waiting: deque[tuple[bytes, float]] = deque()
        self._ids: deque[str] = deque()
        self._is_over = False
        self._from_due: list[float] = []
        self._from_sent: list[float] = []
        self._answers = self._errors = 0

    async def run(self, rate: float, seconds: float) -> Load:
        """Send, wait for the last answer, and sum up."""
        for _ in range(MOST_CONNECTIONS // 4):
            await self._connect()
        memory = [resident_mb(self._pid)]
        begun, sent, total = time.perf_counter(), 0, int(rate * seconds)
        select = request("/v1/select", b"{}")
        while sent < total:
            now = time.perf_counter() - begun
            while sent < total and sent / rate <= now:
                packet = select if sent % 2 == 0 or not self._ids else self._update(sent)
                self._send(packet, begun + sent / rate)
                sent += 1
            if self._waiting and len(self._connections) < MOST_CONNECTIONS:
                await self._connect()
            while len(memory) < 4 and now >= len(memory) * seconds / 4:
                memory.append(resident_mb(self._pid))
            await asyncio.sleep(max(0.0, begun + sent / rate - time.perf_counter()))
        ended = time.perf_counter()
        while self._answers < sent and time.perf_counter() < ended + LAST_WITHIN_S:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        memory.append(resident_mb(self._pid))
        self._errors += sent - self._answers
        self._is_over = True
        for connection in self._connections:
            connection.close()
        return Load(
            seconds=seconds,
            sent=sent,
            errors=self._errors,
            rate=sent / (ended - begun),
            from_due=latency_of(self._from_due),
            from_sent=latency_of(self._from_sent),
            connections=len(self._connections),
            memory_mb=tuple(memory),
        )

    def _update(self, number: int) -> bytes:
        body = msgspec.json.encode({"id": self._ids.popleft(), "reward": float(number % 3 == 0)})
        return request("/v1/update", body)

    def _send(self, packet: bytes, due_at: float) -> None:
        if self._free:
            self._free.popleft().send(packet, due_at)
        else:
            self._waiting.append((packet, due_at))

    async def _connect(self) -> None:
        _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(self), HOST, self._port)
        self._connections.add(connection)
        self._next(connection)

    def _next(self, connection: Connection) -> None:
        if self._waiting:
            connection.send(*self._waiting.popleft())
        else:
            self._free.append(connection)

    def answered(self, connection: Connection, head: bytes, body: bytes, due_at: float, sent_at: float) -> None:
        """Take an answer."""
        self._answers += 1
        if head.startswith(b"HTTP/1.1 200"):
            now = time.perf_counter()
            self._from_due.append(now - due_at)
            self._from_sent.append(now - sent_at)
            answer = msgspec.json.decode(body)
            if self._selects_only:
                pass
            elif "id" in answer:
                self._ids.append(answer["id"])
            elif not answer["counted"]:
                self._errors += 1
        else:
            self._errors += 1
        self._next(connection)

    def lost(self, connection: Connection) -> None:
        """Note that a connection has ended."""
        if not self._is_over:
            self._errors += 1
            self._connections.discard(connection)


def resident_mb(pid: int) -> float:
    """Return how much memory a process has."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def measure_load(port: int, pid: int, *, rate: float, seconds: float, selects_only: bool = False) -> Load:
    """Send at a fixed rate."""
    return asyncio.run(Loader(port, pid, selects_only=selects_only).run(rate, seconds))


def show(what: str, load: Load) -> None:
    """Print what a fixed rate gave."""
    due, sent = load.from_due, load.from_sent
    print(f"\n{what}, {load.seconds:g} s")
    print(f"  sent {load.sent:,}, errors {load.errors}, {load.rate:,.1f} requests/s, {load.connections} connections")
    print(f"  from when due:  p50 {due.p50_ms:.2f} ms, p99 {due.p99_ms:.2f} ms, p99.9 {due.p999_ms:.2f} ms")
    print(f"  from when sent: p50 {sent.p50_ms:.2f} ms, p99 {sent.p99_ms:.2f} ms, p99.9 {sent.p999_ms:.2f} ms")
    print(
        f"  memory: {', '.join(f'{mb:.1f}' for mb in load.memory_mb)} MB at the start, 1/4, 1/2, 3/4 and the end",
        flush=True,
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bare", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, default=20_000, help="selects at each server (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=1000.0, help="requests a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for so long (default: %(default)s)")
    options = parser.parse_args()
    if options.bare is not None:
        run_bare(options.bare)
        return
    with sidecar() as (port, pid), bare() as (bare_port, bare_pid):
        ours, theirs = measure_latency(port, bare_port, options.requests)
        print(f"{'one client, select':34}{'requests':>10}{'p50 ms':>9}{'p99 ms':>9}{'p99.9 ms':>10}")
        for what, one in ((f"sidecar, {ARM_COUNT} arms, journal on", ours), ("bare Starlette route", theirs)):
            print(f"{what:34}{one.requests:>10,}{one.p50_ms:>9.3f}{one.p99_ms:>9.3f}{one.p999_ms:>10.3f}")
        print(f"{'ratio':34}{'':10}{ours.p50_ms / theirs.p50_ms:>9.2f}{ours.p99_ms / theirs.p99_ms:>9.2f}", flush=True)
        load = measure_load(port, pid, rate=options.rate, seconds=options.seconds)
        show(f"sidecar, select and update at {options.rate:,.0f} requests/s", load)
        load = measure_load(bare_port, bare_pid, rate=options.rate, seconds=options.seconds / 4, selects_only=True)
        show(f"bare Starlette route at {options.rate:,.0f} requests/s", load)
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
