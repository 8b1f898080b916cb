"""A real sidecar on loopback, in this process: a member with a state file, uvicorn, and a client that has the token."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import httpx
import pytest

import cobandit
from cobandit.live.drive.member import Member
from cobandit.live.process.serving import Limits
from cobandit.live.sidecar import Sidecar, create_app

WITHIN = 60.0
TOKEN = "a-token-for-these-tests"


class Served:
    """A member, its sidecar, and a client."""

    def __init__(self, member: Member, sidecar: Sidecar) -> None:
        self.member = member
        self.sidecar = sidecar
        self.client = httpx.Client(base_url=sidecar.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60.0)

    token = TOKEN.encode()

    @contextmanager
    def connection(self) -> Iterator[tuple[socket.socket, BinaryIO]]:
        """A connection of one's own, to say what no client would; and what is answered, as a file."""
        where = (self.sidecar.address.host, self.sidecar.address.port)
        with socket.create_connection(where, timeout=WITHIN) as stream, stream.makefile("rb") as file:
            yield stream, file

    @staticmethod
    def wait_for(condition: Callable[[], bool]) -> None:
        """Wait until this is so."""
        deadline = time.monotonic() + WITHIN
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.005)

    def facts(self) -> dict[str, Any]:
        """What a request that is refused must not change."""
        statistics = self.member.statistics()
        return {
            name: getattr(statistics, name)
            for name in (
                "incarnation",
                "decisions",
                "own_observations",
                "observations",
                "open_decisions",
                "arms",
                "control_arm",
            )
        }


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    """A sidecar for a test; `@pytest.mark.parametrize("served", [Limits(...)], indirect=True)` gives it limits."""
    limits = getattr(request, "param", Limits())
    with (
        cobandit.connect(
            f"memory://{tmp_path}",
            group="homepage",
            name="web-1",
            arms=["red", "green", "blue"],
            state=tmp_path / "1.db",
            policy="ucb",  # which names the arms in their order, at first
        ) as member,
        Sidecar(create_app(member, token=TOKEN, limits=limits), "127.0.0.1:0") as sidecar,
    ):
        one = Served(member, sidecar)
        with one.client:
            yield one
