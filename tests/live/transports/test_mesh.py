"""What a mesh says on its links, without any network: whom it tells of whom, and which of two links goes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cobandit.live.transports import mesh as mesh_module
from cobandit.live.transports.addresses import LONGEST_PAUSE, LONGEST_PAUSE_FOR_GONE, pause
from cobandit.live.transports.connection import Connection, Word
from cobandit.live.transports.hearsay import MAX_DIALS_AT_ONCE, MAX_UNANSWERED
from cobandit.live.transports.hello import MOST_TOLD, Hello, read_hello, write_hello
from cobandit.live.transports.mesh import MAX_RENEWED_AT_ONCE, MAX_SILENT_OF_PREFIX, MOST_LINKS, Mesh
from lab.diary import Diary


class Line(asyncio.Transport):
    """Remembers what is written on it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.ended = ""

    def write(self, data: Any) -> None:
        self.written += data

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def words(self) -> list[tuple[int, bytes]]:
        found, rest = [], self.written
        while rest:
            length = int.from_bytes(rest[:4]) & 0x7FFFFFFF
            found.append((rest[4], rest[5 : 4 + length]))
            rest = rest[4 + length :]
        return found


def connect(mesh: Mesh, peer: str | None, prefix: str | None = None) -> tuple[Connection, Line]:
    """Give a mesh a connection with a peer that has said nothing yet."""

    def made(one: Connection) -> None:
        one.peer = peer
        mesh.greet(one, prefix)

    connection = Connection(
        on_made=made,
        on_frame=lambda *_: None,
        on_word=mesh.take_word,
        on_refused=lambda *_: None,
        on_lost=lambda one, _: mesh.lose(one),
    )
    line = Line()
    connection.connection_made(line)
    return connection, line


def greet(mesh: Mesh, connection: Connection, boot: int = 1, address: str = "", **others: str) -> None:
    mesh.take_word(connection, Word.HELLO, write_hello(Hello(boot, address, others)))


class Stage:
    """The mesh of one member, what it tells, and whom it would dial."""

    def __init__(self, name: str) -> None:
        self.dialled: list[str] = []
        self.inbox = Diary()
        self.mesh = Mesh(name, 7, "me:1", self.inbox, self._dial, str)

    async def _dial(self, address: str) -> Connection:
        self.dialled.append(address)
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]


def mesh_test(name: str) -> Callable[[Callable[[Stage], Awaitable[None]]], Callable[[], None]]:
    """Run a test with the mesh of this member."""

    def decorate(test: Callable[[Stage], Awaitable[None]]) -> Callable[[], None]:
        async def main() -> None:
            stage = Stage(name)
            await test(stage)
            await stage.mesh.close(0.0)

        return lambda: asyncio.run(main())

    return decorate


@mesh_test("m")
async def test_one_who_has_not_answered_yet_is_told_of_one_who_comes_meanwhile(stage: Stage) -> None:
    first, line = connect(stage.mesh, "a")
    second, _ = connect(stage.mesh, "b")
    greet(stage.mesh, second, address="b:1")
    told = [read_hello(content, seen_at="h") for word, content in line.words() if word == Word.HELLO]
    assert [hello.others for hello in told if hello is not None] == [{}, {"b": "b:1"}]
    greet(stage.mesh, first, address="a:1")
    assert stage.mesh.link("a") is first


@mesh_test("m")
async def test_only_present_members_are_told(stage: Stage) -> None:
    gone, _ = connect(stage.mesh, "a")
    greet(stage.mesh, gone, address="a:1", x="x:1")
    gone.connection_lost(None)
    assert stage.mesh.link("a") is None
    _, line = connect(stage.mesh, "b")
    (hello,) = [read_hello(content, seen_at="h") for _, content in line.words()]
    assert hello is not None
    assert hello.others == {}


@mesh_test("m")
async def test_members_that_are_told_are_dialled_but_not_those_that_are_linked(stage: Stage) -> None:
    one, _ = connect(stage.mesh, "a")
    greet(stage.mesh, one, address="a:1", x="x:1", a="elsewhere:1", m="myself:1")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert stage.dialled == ["x:1"]


@mesh_test("m")
async def test_who_tells_thousands_of_addresses_has_few_dialled_and_none_when_it_has_gone(stage: Stage) -> None:
    asyncio.get_running_loop().time = lambda: 1.0  # type: ignore[method-assign]  # as time goes on, more may be dialled
    eve, _ = connect(stage.mesh, "zoe")
    for first in range(0, 4000, 1000):
        others = {f"z{n}": f"z{n}:1" for n in range(first, first + 1000)}
        stage.mesh.take_word(eve, Word.HELLO, write_hello(Hello(1, "", others)))
    ann, _ = connect(stage.mesh, "zora")
    greet(stage.mesh, ann, address="", z1="z1:1")
    for _ in range(3):
        await asyncio.sleep(0)
    assert stage.dialled == [f"z{n}:1" for n in range(MAX_DIALS_AT_ONCE)]
    assert len(stage.mesh._dialling) == MAX_UNANSWERED
    eve.connection_lost(None)
    for _ in range(3):
        await asyncio.sleep(0)
    assert list(stage.mesh._dialling) == [("z1:1", "z1")]


@mesh_test("m")
async def test_who_says_that_it_listens_elsewhere_each_time_is_dialled_there_alone_and_told_once(stage: Stage) -> None:
    _, line = connect(stage.mesh, "a")
    for number in range(100):
        eve, _ = connect(stage.mesh, "zoe")
        greet(stage.mesh, eve, boot=number, address=f"z{number}:1")
        eve.connection_lost(None)
    assert list(stage.mesh._dialling) == [("z99:1", "zoe")]
    told = [read_hello(content, seen_at="h") for word, content in line.words() if word == Word.HELLO]
    assert [hello.others for hello in told if hello is not None] == [{}, {"zoe": "z0:1"}]


@mesh_test("m")
async def test_of_connections_on_which_a_peer_says_nothing_few_are_kept(stage: Stage) -> None:
    lines = []
    for _ in range(MOST_LINKS + 2):
        for ended in [one for one in stage.mesh._greeted if one._transport is not None and one._transport.is_closing()]:
            ended.connection_lost(None)
        lines.append(connect(stage.mesh, "zoe")[1])
    assert [line.ended for line in lines] == ["aborted", "aborted", *[""] * MOST_LINKS]


@mesh_test("m")
async def test_a_deployment_that_says_nothing_cuts_off_its_own_connections_alone(stage: Stage) -> None:
    _, web = connect(stage.mesh, None, "web-")
    lines = [connect(stage.mesh, None, "pod-")[1] for _ in range(MAX_SILENT_OF_PREFIX + 1)]
    assert web.ended == ""
    assert [line.ended for line in lines] == ["aborted", *[""] * MAX_SILENT_OF_PREFIX]


@mesh_test("m")
async def test_who_comes_itself_is_not_looked_for_where_another_said(stage: Stage) -> None:
    eve, _ = connect(stage.mesh, "zoe")
    greet(stage.mesh, eve, ann="wrong:1")
    ann, _ = connect(stage.mesh, "ann")
    greet(stage.mesh, ann, address="right:1")
    ann.connection_lost(None)
    for _ in range(3):
        await asyncio.sleep(0)
    assert ("right:1", "ann") in stage.mesh._dialling
    eve.connection_lost(None)
    assert list(stage.mesh._dialling) == [("right:1", "ann")]


@pytest.mark.parametrize("is_first", [True, False])
def test_who_says_that_it_listens_where_another_does_stops_nobody_from_dialling_that(
    monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    monkeypatch.setattr(mesh_module, "pause", lambda *_, **__: 0.0)

    async def main() -> None:
        stage = Stage("m")
        eve, _ = connect(stage.mesh, "eve")
        if is_first:
            greet(stage.mesh, eve, address="zoe:1")
        zoe, _ = connect(stage.mesh, "zoe")
        greet(stage.mesh, zoe, address="zoe:1")
        if not is_first:
            greet(stage.mesh, eve, address="zoe:1")
        assert set(stage.mesh._dialling) == {("zoe:1", "eve"), ("zoe:1", "zoe")}
        again, _ = connect(stage.mesh, "eve")
        greet(stage.mesh, again, boot=2, address="elsewhere:1")
        assert set(stage.mesh._dialling) == {("zoe:1", "zoe"), ("elsewhere:1", "eve")}
        await asyncio.sleep(0)
        zoe.connection_lost(None)
        for _ in range(10):
            await asyncio.sleep(0)
        assert stage.dialled == ["zoe:1"]
        await stage.mesh.close(0.0)

    asyncio.run(main())


@mesh_test("m")
async def test_who_says_that_it_listens_where_another_is_told_to_be_keeps_nobody_from_dialling_that(
    stage: Stage,
) -> None:
    eve, _ = connect(stage.mesh, "eve")
    greet(stage.mesh, eve, address="zoe:1")
    ann, _ = connect(stage.mesh, "ann")
    greet(stage.mesh, ann, zoe="zoe:1")
    for _ in range(3):
        await asyncio.sleep(0)
    assert stage.dialled == ["zoe:1"]


@mesh_test("m")
async def test_what_a_member_told_stays_hearsay_though_it_says_that_it_listens_there(stage: Stage) -> None:
    eve, _ = connect(stage.mesh, "eve")
    greet(stage.mesh, eve, address="", zoe="zoe:1")
    for number, address in enumerate(("zoe:1", "elsewhere:1"), 2):
        eve, _ = connect(stage.mesh, "eve")
        greet(stage.mesh, eve, boot=number, address=address)
    assert list(stage.mesh._dialling) == [("zoe:1", "zoe"), ("elsewhere:1", "eve")]
    for link in tuple(stage.mesh._links["eve"]):
        link.connection_lost(None)
    assert list(stage.mesh._dialling) == [("elsewhere:1", "eve")]


@mesh_test("a")
async def test_the_lesser_name_retires_the_older_link(stage: Stage) -> None:
    older, line = connect(stage.mesh, "b")
    greet(stage.mesh, older)
    newer, other_line = connect(stage.mesh, "b")
    greet(stage.mesh, newer)
    assert stage.mesh.link("b") is newer
    assert [word for word, _ in line.words()] == [Word.HELLO, Word.RETIRE]
    assert [word for word, _ in other_line.words()] == [Word.HELLO]
    assert not line.ended  # what is under way on it still comes
    assert stage.inbox.reached == ["b", "b"]


@mesh_test("z")
async def test_the_greater_name_keeps_both_links_until_it_is_told(stage: Stage) -> None:
    older, line = connect(stage.mesh, "b")
    greet(stage.mesh, older)
    newer, other_line = connect(stage.mesh, "b")
    greet(stage.mesh, newer)
    assert [word for word, _ in line.words() + other_line.words()] == [Word.HELLO, Word.HELLO]
    stage.mesh.take_word(newer, Word.RETIRE, b"")
    assert stage.mesh.link("b") is older
    assert (line.ended, other_line.ended) == ("", "closed")


@mesh_test("z")
async def test_a_link_of_a_former_start_is_retired_by_either(stage: Stage) -> None:
    older, line = connect(stage.mesh, "b")
    greet(stage.mesh, older, boot=1)
    newer, _ = connect(stage.mesh, "b")
    greet(stage.mesh, newer, boot=2)
    assert [word for word, _ in line.words()] == [Word.HELLO, Word.RETIRE]


@mesh_test("z")
async def test_links_with_one_peer_are_few(stage: Stage) -> None:
    lines = []
    for _ in range(MOST_LINKS + 3):
        connection, line = connect(stage.mesh, "b")
        greet(stage.mesh, connection)
        lines.append(line)
        for other in lines:
            if other.ended == "aborted":
                other.ended = "gone"
    assert [line.ended for line in lines[-MOST_LINKS:]] == [""] * MOST_LINKS
    assert lines[0].ended == "gone"


def test_that_nobody_is_there_is_said_once_for_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_module, "pause", lambda *_, **__: 0.0)

    async def main() -> None:
        inbox, dialled = Diary(), asyncio.Queue[str]()

        async def dial(address: str) -> Connection:
            dialled.put_nowait(address)
            raise OSError("no")

        mesh = Mesh("m", 7, "me:1", inbox, dial, str)
        mesh.dial("x:1")
        mesh.dial("y:1")
        tried = [await dialled.get() for _ in range(10)]
        assert set(tried) == {"x:1", "y:1"}
        assert inbox.troubles == ["nobody at x:1: no; still trying"]
        one, _ = connect(mesh, "a")
        greet(mesh, one)
        assert inbox.troubles[1:] == [None]
        await mesh.close(0.0)

    asyncio.run(main())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc0",
        write_hello(Hello(1, "nonsense", {})),
        write_hello(Hello(1, "a:1", {"x": "nonsense"})),
        write_hello(Hello(1, "a:1", {"x": "x:0"})),
        write_hello(Hello(1, "a:1", {"x" * 1000: "x:1"})),
        write_hello(Hello(1, "a:1", {str(n): "x:1" for n in range(MOST_TOLD + 1)})),
        write_hello(Hello(1, "a:1", {})) + b"x",
    ],
)
def test_a_hello_that_is_none_is_refused(content: bytes) -> None:
    assert read_hello(content, seen_at="10.0.0.1") is None


def test_one_that_listens_everywhere_is_found_where_it_was_seen() -> None:
    for host in ("0.0.0.0", "[::]"):
        hello = read_hello(write_hello(Hello(1, f"{host}:7000", {})), seen_at="10.0.0.1")
        assert hello is not None
        assert hello.address == "10.0.0.1:7000"


def test_attempts_become_rare_but_never_stop_and_differ_between_members() -> None:
    pauses = [pause(attempt, me="a", there="b:1") for attempt in range(1, 400)]
    assert pauses[0] < 0.2
    assert max(pauses[:60]) <= LONGEST_PAUSE
    assert LONGEST_PAUSE_FOR_GONE / 2 <= min(pauses[120:]) <= max(pauses) <= LONGEST_PAUSE_FOR_GONE
    assert pauses != [pause(attempt, me="c", there="b:1") for attempt in range(1, 400)]


@mesh_test("a")
async def test_links_are_made_anew_a_few_at_a_time(stage: Stage) -> None:
    peers = [f"p{number}" for number in range(MAX_RENEWED_AT_ONCE + 3)]
    for peer in peers:
        connection, _ = connect(stage.mesh, peer)
        greet(stage.mesh, connection, address=f"{peer}:1")
    await asyncio.sleep(0)
    assert stage.dialled == []
    stage.mesh.renew()
    for _ in range(3):
        await asyncio.sleep(0)
    assert stage.dialled == [f"{peer}:1" for peer in peers[: -MAX_RENEWED_AT_ONCE - 1 : -1]]  # none of whom answers
