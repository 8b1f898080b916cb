"""A server that serves the page's files and a stream of frames that a test makes up; and frames to send.

It stands for the real server so that every state can be brought about at will. The page against a real fleet is tested
elsewhere.
"""

import json
import math
import queue
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from playwright.sync_api import BrowserContext, Page

import cobandit.dashboard
from cobandit.dashboard.frame import ArmShown, Event, Frame, Line, MemberShown, Messages, Pairs, Series
from cobandit.look import style_sheet
from lab.servers import HOST, free_port

ASSETS = Path(cobandit.dashboard.__file__).parent / "page"
TYPES = {".css": "text/css", ".js": "text/javascript", ".html": "text/html", ".svg": "image/svg+xml"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'"
NOW = 1_763_270_000.0
RETRY_AFTER_S = 10

MakeFrame = Callable[..., Frame]


class FakeServer:
    """Serves on one port, also after it was stopped and started again."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://{HOST}:{self.port}/"
        self.token: str | None = None
        self.answer: tuple[int, str, bytes] | None = None
        """If set, the stream is not served; this is: status, type and content."""
        self.asked = 0
        """How often the stream was asked for."""
        self._latest: bytes | None = None
        self._viewers: set[queue.Queue[bytes | None]] = set()
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer((HOST, self.port), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self.cut()
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def send(self, frame: Frame) -> None:
        """Send this to all that look, and to those that come."""
        self.say(b"event: frame\ndata: " + frame.to_json() + b"\n\n", keep=True)

    def say(self, text: bytes, *, keep: bool = False) -> None:
        """Send this as it is."""
        if keep:
            self._latest = text
        for viewer in list(self._viewers):
            viewer.put(text)

    def end(self) -> None:
        """Say that nothing more comes, and hang up."""
        self.say(b"event: end\ndata: {}\n\n")
        self.cut()

    def cut(self) -> None:
        """Hang up."""
        for viewer in list(self._viewers):
            viewer.put(None)

    def problem(self, status: int, title: str, detail: str) -> None:
        """Answer so from now on, and ask to be left alone for longer than a test waits."""
        content = json.dumps({"status": status, "title": title, "detail": detail}).encode()
        self.answer = (status, "application/problem+json", content)

    def _stream(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        if self.token is not None and handler.headers.get("Authorization") != f"Bearer {self.token}":
            _reply(handler, 401, "application/problem+json", b'{"status":401,"title":"A token is needed"}')
        elif self.answer is not None:
            _reply(handler, *self.answer)
        else:
            viewer: queue.Queue[bytes | None] = queue.Queue()
            self._viewers.add(viewer)
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
            handler.end_headers()
            viewer.put(b"retry: 300\n\n: here\n\n" + (self._latest or b""))
            while (text := viewer.get()) is not None:
                handler.wfile.write(text)
            self._viewers.discard(viewer)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                name = "index.html" if path == "/" else path.removeprefix("/page/")
                file = ASSETS / name
                try:
                    if path == "/page/stream":
                        fake._stream(self)
                    elif name == "look.css":
                        _reply(self, 200, "text/css", style_sheet().encode())
                    elif file.parent == ASSETS and file.is_file():
                        _reply(self, 200, TYPES[file.suffix], file.read_bytes())
                    else:
                        _reply(self, 404, "text/plain", b"not here")
                except ConnectionError:
                    pass  # the page hung up

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - as it is declared
                """Say nothing."""

        return Handler


def _reply(handler: BaseHTTPRequestHandler, status: int, kind: str, content: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", f"{kind}; charset=utf-8")
    handler.send_header("Content-Length", str(len(content)))
    handler.send_header("Content-Security-Policy", POLICY)
    if status == 503:
        handler.send_header("Retry-After", str(RETRY_AFTER_S))
    handler.end_headers()
    handler.wfile.write(content)


def make_frame(members: int = 3, arms: int = 5, *, seed: int = 7, observations: int = 20_000, **changes: Any) -> Frame:
    """Return what a fleet might look like. `changes` replace fields of the frame."""
    chance = Random(seed)
    names = [f"edge-{number}" for number in range(1, members + 1)]
    shown = _arms(arms, members, observations, chance)
    frame = Frame(
        version=1,
        group="homepage",
        at=NOW,
        next_s=1.0,
        policy="AAE",
        watching_since=NOW - 600,
        seen_from=names[0] if names else None,
        is_whole=True,
        control_arm=None,
        decisions=observations + 12 * members,
        observations=observations,
        candidates=sum(arm.state == "candidate" for arm in shown),
        arms=shown,
        arms_left_out=0,
        members=tuple(_member(name, number, observations, members, chance) for number, name in enumerate(names)),
        members_left_out=0,
        pairs=_pairs(names, chance),
        messages=Messages(543, 1821, 240_311, max(0, members - 1) * observations, observations),
        events=_events(names),
        series=_series(shown, chance),
    )
    return msgspec.structs.replace(frame, **changes)


def _arms(count: int, members: int, observations: int, chance: Random) -> tuple[ArmShown, ...]:
    weights = [1 / (1 + number) ** 1.6 for number in range(count)]
    found = []
    for number in range(count):
        seen = int(observations * weights[number] / sum(weights))
        mean = round(0.72 - 0.5 * number / max(1, count) + chance.uniform(-0.02, 0.02), 4)
        wide = min(0.45, 1.6 / math.sqrt(seen + 1))
        out = number >= max(2, count - 2) and count > 3
        found.append(
            ArmShown(
                arm=f"variant-{number + 1}",
                observations=seen,
                share=seen / observations if observations else 0.0,
                recent_share=None if not seen else 0.0 if out else seen / observations,
                mean=mean if seen else None,
                low=mean - wide if seen else None,
                high=mean + wide if seen else None,
                p_best=None if out else mean,
                offered_at=0 if out else members,
                frozen_at=0,
                members=members,
                state="ruled out" if out else "candidate",
            )
        )
    return tuple(found)


def _member(name: str, number: int, observations: int, members: int, chance: Random) -> MemberShown:
    own = observations // members
    missing = chance.randrange(40) if members > 1 else 0
    return MemberShown(
        name=name,
        state="here",
        heard_s=0.0 if number == 0 else round(chance.uniform(0, 2), 3),
        decisions=own + 12,
        own_observations=own,
        observations=observations - missing,
        missing=missing,
        open_decisions=12,
        shares=181,
        packets=607,
        uptime_s=612.5 + number,
        refused=0,
        is_seen_from=number == 0,
    )


def _pairs(names: list[str], chance: Random) -> Pairs:
    def rows(value: Callable[[], float]) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(None if one == other else value() for other in names) for one in names)

    return Pairs(
        names=tuple(names),
        shares=rows(lambda: int(chance.expovariate(1 / 60))),
        heard_s=rows(lambda: round(chance.expovariate(1 / 3), 3)),
        lacks=rows(lambda: chance.choice((0, 0, 0, 1, 3, 17))),
    )


def _events(names: list[str]) -> tuple[Event, ...]:
    said = [("joined", name, "joined the group") for name in names[:6]]
    said += [("ruled out", names[0], "ruled out variant-5: 2 candidates left")] if names else []
    found = [Event(number, NOW - 500 + 40 * number, *event) for number, event in enumerate(said, 1)]
    return tuple(reversed(found))


def _series(arms: tuple[ArmShown, ...], chance: Random, moments: int = 120) -> Series:
    at = tuple(NOW - 600 + 600 * moment / (moments - 1) for moment in range(moments))
    lines = []
    for number, arm in enumerate(arms[:7]):
        counts = [0]
        for moment in range(1, moments):
            fading = max(0.0, 1 - moment / (moments * (1.1 - 0.12 * number))) if number else 0.4 + moment / moments
            counts.append(
                0 if 50 <= moment < 56 or not arm.observations else int(30 * fading * chance.uniform(0.7, 1.3))
            )
        lines.append(Line(arm.arm, tuple(counts)))
    if len(arms) > 7:
        lines.append(Line("", tuple(2 if moment and not 50 <= moment < 56 else 0 for moment in range(moments)), True))
    return Series(
        at=at,
        lines=tuple(lines),
        shares=tuple(int(543 * (moment / (moments - 1)) ** 0.5) for moment in range(moments)),
        immediate=tuple(int(45_594 * moment / (moments - 1)) for moment in range(moments)),
    )


@pytest.fixture
def frame_of() -> MakeFrame:
    return make_frame


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    server = FakeServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def look(fake: FakeServer, page: Page) -> Callable[..., Page]:
    """Opens the page with a frame drawn, and fails if it reports any error."""

    def open_page(frame: Frame) -> Page:
        fake.send(frame)
        page.goto(fake.url)
        page.wait_for_selector("body.has-frame[data-connection=live]")
        return page

    return open_page


@pytest.fixture
def rough(context: BrowserContext) -> Iterator[Page]:
    """A page whose browser may report that the server refused something, but that must raise no error itself."""
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []
