"""Properties are tried on the same examples in every run, and no example is judged by a clock.

Real servers for the tests of transports: skipped loudly where a program is missing, but never in CI.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cobandit.live.auth.identity import Identity
from cobandit.live.auth.keys import issue, make_group
from lab.servers import Missing, Server, mosquitto, nats_server, redis_server

settings.register_profile("cobandit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cobandit")

Serve = Callable[[Callable[[], AbstractContextManager[Server]]], Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(program: Callable[[], AbstractContextManager[Server]]) -> Server:
            try:
                return stack.enter_context(program())
            except Missing as error:
                if os.environ.get("CI"):
                    pytest.fail(f"CI must have every server: {error}")
                pytest.skip(f"NOT TESTED: {error}")

        yield start


@pytest.fixture
def nats(serve: Serve) -> Server:
    return serve(nats_server)


@pytest.fixture
def mqtt(serve: Serve) -> Server:
    return serve(mosquitto)


@pytest.fixture
def redis(serve: Serve) -> Server:
    return serve(redis_server)


def _identities(folder: Path, group: str) -> Callable[[str], Identity]:
    make_group(group, folder)
    made: dict[str, Identity] = {}

    def identity(name: str) -> Identity:
        if name not in made:
            made[name] = Identity.load(issue(name, folder))
        return made[name]

    return identity


@pytest.fixture(scope="session")
def member(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Identity]:
    """Makes identities of the group `homepage`."""
    return _identities(tmp_path_factory.mktemp("keys"), "homepage")


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Identity]:
    """Makes identities of another group of the same name."""
    return _identities(tmp_path_factory.mktemp("others"), "homepage")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """A command that ran in this process wrote its log to a standard error that is closed by now."""
    log = logging.getLogger("cobandit")
    for handler in [one for one in log.handlers if type(one) is logging.StreamHandler]:
        log.removeHandler(handler)
        log.propagate = True
        log.setLevel(logging.NOTSET)
