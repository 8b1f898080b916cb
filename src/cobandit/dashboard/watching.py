"""A sidecar's page: watches the fleet through the sidecar's own member.

While a page is open, all members are asked; otherwise only this one, which costs no packet, so that the page has a
history when it is opened. This file owns how often.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cobandit.dashboard.feed import Feed
from cobandit.dashboard.places import Places
from cobandit.dashboard.routes import OPEN_PATHS, page_routes
from cobandit.live.drive.member import Member
from cobandit.live.log_events import LogEvent, log_event
from cobandit.live.sidecar.app import Extras
from cobandit.live.status.fleet import fleet_of

LOOK_EVERY_S = 2.0
"""While a page is open."""

GLANCE_EVERY_S = 5.0
"""While nobody does."""

ANSWER_WITHIN_S = 1.5
"""Who has not answered by then is shown as silent."""


def page_beside(member: Member, stopping: asyncio.Event) -> Extras:
    """Return the page of a member, to be served beside its API.

    Args:
        member: The member.
        stopping: Set when the server is about to stop.
    """
    feed, places = Feed(every_s=LOOK_EVERY_S, seen_from=member.name), Places(member)
    called = asyncio.Event()
    feed.on_viewer = called.set

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        watching = asyncio.create_task(_watch(member, feed, places, called), name="cobandit page")
        ending = asyncio.create_task(_end_with(feed, stopping))
        try:
            yield
        finally:
            for task in (watching, ending):
                task.cancel()
            await asyncio.gather(watching, ending, return_exceptions=True)

    return Extras(routes=page_routes(feed, places), open_paths=OPEN_PATHS, running=running)


async def _watch(member: Member, feed: Feed, places: Places, called: asyncio.Event) -> None:
    while True:
        called.clear()
        try:
            await _look(member, feed)
            await asyncio.to_thread(places.look)
        except Exception as error:  # noqa: BLE001  # the page must not stand still for good
            if not member.is_open:
                return  # and the server stops with it
            said = "the page could not be refreshed and will try again. This is a bug in cobandit: please report it"
            log_event(logging.ERROR, LogEvent.PAGE_FAILED, said, error=error)
        try:
            async with asyncio.timeout(LOOK_EVERY_S if feed.viewers else GLANCE_EVERY_S):
                await called.wait()
        except TimeoutError:
            pass


async def _look(member: Member, feed: Feed) -> None:
    if feed.viewers:  # in a thread: a large fleet takes a while to put together, and requests must not wait for it
        await asyncio.to_thread(lambda: feed.show(member.fleet(ANSWER_WITHIN_S)))
    else:
        await asyncio.to_thread(_glance, member, feed)


def _glance(member: Member, feed: Feed) -> None:
    statistics = member.statistics()
    feed.show(fleet_of(statistics.group, [statistics]), is_whole=False)


async def _end_with(feed: Feed, stopping: asyncio.Event) -> None:
    await stopping.wait()
    feed.end()
