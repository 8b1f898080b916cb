"""The page of a demonstration: the same page, shown what the demonstration sees. It needs no token, and no member."""

from types import TracebackType
from typing import Self

from starlette.applications import Starlette

from cobandit.dashboard.feed import Feed
from cobandit.dashboard.routes import page_routes
from cobandit.live.sidecar.problems import Refusal, refused
from cobandit.live.sidecar.running import Sidecar
from cobandit.live.status.fleet import Fleet
from cobandit.studies.live_demo import LOOK_EVERY
from cobandit.studies.live_demo_agent import MEANS


class DemoPage:
    """A server of the page, on a thread of its own; use it with `with`.

    Args:
        listen: Where, `host:port`; port 0 picks a free one.

    Raises:
        LocalError: Nobody can listen there.
    """

    def __init__(self, listen: str) -> None:
        self._feed = Feed(every_s=LOOK_EVERY, true_means=MEANS)
        app = Starlette(routes=page_routes(self._feed), exception_handlers={Refusal: refused})
        self._server = Sidecar(app, listen)

    @property
    def url(self) -> str:
        """The page's address."""
        return f"{self._server.url}/"

    def show(self, fleet: Fleet, *, is_last: bool = False) -> None:
        """Show a fleet."""
        self._feed.show(fleet, is_last=is_last)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.end()
        self._server.close()
