"""The member of this process. It joins at the first call, so that `manage.py migrate` and the like do not."""

import atexit
from functools import cache
from os import environ
from pathlib import Path

import cobandit
from cobandit import Constant, RetryTimers, on_demand

VARIANTS = ["plain", "bold", "playful"]
MOST_WORKERS = 16
AN_HOUR_S = 3600.0

NEIGHBOURS = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=1.0, longest=30.0))
"""Packets between processes of one machine cost next to nothing, so the workers tell each other everything at once."""


@cache
def member() -> cobandit.Member:
    """Return the member, which is the same for all threads of the process."""
    secret = environ.get("SHOP_SECRET")
    if not secret:
        raise cobandit.LocalError("SHOP_SECRET is not set: export SHOP_SECRET=$(openssl rand -hex 32)")
    first_port = int(environ.get("SHOP_PORT", "7100"))
    joined = cobandit.connect(
        f"udp://127.0.0.1:{first_port}+*",
        group="homepage",
        name="web-*",
        state=Path(environ.get("SHOP_STATE", "state")) / "web-*.db",
        arms=VARIANTS,
        peers=[f"127.0.0.1:{first_port + worker}" for worker in range(1, MOST_WORKERS + 1)],
        secret=secret,
        sharing=NEIGHBOURS,
        expire_after=AN_HOUR_S,
        default_reward=0.0,
    )
    atexit.register(joined.close)
    return joined
