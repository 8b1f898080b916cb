"""Viewers get the newest frame, at once and whenever there is another, and never hold anybody up."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import msgspec
import pytest
from tests.dashboard.fleets import fleet, member

from cobandit.dashboard import feed as feed_module
from cobandit.dashboard.feed import MOST_VIEWERS, Feed, TooManyViewersError

BEGIN, END = b"retry: 1000\n\n", b"event: end\ndata: {}\n\n"


def run(what: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(what, 60.0))


async def frame_of(events: AsyncIterator[bytes]) -> dict[str, Any]:
    event = await anext(events)
    assert event.startswith(b"event: frame\ndata: {")
    assert event.endswith(b"}\n\n")
    assert event.count(b"\n") == 3
    content: dict[str, Any] = msgspec.json.decode(event.split(b"data: ", 1)[1])
    return content


def feed() -> Feed:
    return Feed(every_s=2.0, now=iter(range(100, 200)).__next__)


def names(frame: dict[str, Any]) -> list[str]:
    return [one["name"] for one in frame["members"]]


def test_who_comes_later_gets_the_newest_frame_at_once_and_then_the_next() -> None:
    async def watch() -> None:
        shown = feed()
        shown.show(fleet(member("old")))
        shown.show(fleet(member("ann")))
        events = shown.events()
        assert await anext(events) == BEGIN
        first = await frame_of(events)
        assert (first["at"], first["next_s"], names(first)) == (101, 2.0, ["ann", "old"])
        await asyncio.to_thread(shown.show, fleet(member("ann"), member("bob")), is_last=True)
        last = await frame_of(events)
        assert (last["at"], last["has_ended"]) == (102, True)

    run(watch())


def test_who_is_slow_misses_frames_and_gets_the_newest() -> None:
    async def watch() -> None:
        shown = feed()
        events = shown.events()
        await anext(events)
        for _ in range(50):
            shown.show(fleet(member("ann")))
        assert (await frame_of(events))["at"] == 149

    run(watch())


def test_without_a_frame_it_waits_for_the_first_and_says_that_it_is_still_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def watch() -> None:
        monkeypatch.setattr(feed_module, "HEARTBEAT_S", 0.01)
        shown = feed()
        events = shown.events()
        assert [await anext(events) for _ in range(3)] == [BEGIN, b": still here\n\n", b": still here\n\n"]
        monkeypatch.setattr(feed_module, "HEARTBEAT_S", 20.0)
        asyncio.get_running_loop().call_soon(shown.show, fleet(member("ann")))
        assert names(await frame_of(events)) == ["ann"]

    run(watch())


def test_the_end_comes_after_the_last_frame_and_to_those_who_come_too_late() -> None:
    async def watch() -> None:
        shown = feed()
        early = shown.events()
        await anext(early)
        shown.show(fleet(member("ann")), is_last=True)
        shown.end()
        assert (await frame_of(early))["has_ended"] is True
        assert [event async for event in early] == [END]
        late = [event async for event in shown.events()]
        assert (late[0], late[-1], len(late)) == (BEGIN, END, 3)
        assert shown.viewers == 0

    run(watch())


def test_viewers_are_counted_called_for_and_limited() -> None:
    async def watch() -> None:
        shown, calls = feed(), []
        shown.on_viewer = lambda: calls.append(shown.viewers)
        open_ones = [shown.events() for _ in range(MOST_VIEWERS)]
        for events in open_ones:
            await anext(events)
        assert calls == list(range(1, MOST_VIEWERS + 1))
        with pytest.raises(TooManyViewersError):
            await anext(shown.events())
        await open_ones[0].aclose()  # type: ignore[attr-defined]
        assert shown.viewers == MOST_VIEWERS - 1
        assert await anext(shown.events()) == BEGIN

    run(watch())


def test_a_viewer_whose_loop_is_gone_does_not_stop_a_show() -> None:
    shown = feed()
    kept: list[Any] = []

    async def leave() -> None:
        events = shown.events()
        await anext(events)
        kept.append(events)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    loop.close()
    shown.show(fleet(member("ann")))
    assert shown.viewers == 1
    asyncio.run(kept[0].aclose())
    assert shown.viewers == 0
