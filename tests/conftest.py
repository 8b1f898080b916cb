"""Properties are tried on the same examples in every run, and no example is judged by a clock.

Real servers for the tests of transports: skipped loudly where a program is missing, but never in CI.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest
from hypothesis import HealthCheck, settings

from tacit.testing.servers import Missing, Server, mosquitto, nats_server, redis_server

settings.register_profile("tacit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")

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
