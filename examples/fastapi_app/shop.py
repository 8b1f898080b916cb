"""A FastAPI page in three variants. Its workers learn together which one is clicked: see docs/guides/fastapi.md."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

import cobandit
from cobandit import Constant, RetryTimers, on_demand

VARIANTS = ["plain", "bold", "playful"]
MOST_WORKERS = 16
AN_HOUR_S = 3600.0

NEIGHBOURS = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=1.0, longest=30.0))
"""Packets between processes of one machine cost next to nothing, so the workers tell each other everything at once."""


@asynccontextmanager
async def membership(app: FastAPI) -> AsyncIterator[None]:
    """Join when a worker starts, and leave when it stops."""
    secret = os.environ.get("SHOP_SECRET")
    if not secret:
        raise cobandit.LocalError("SHOP_SECRET is not set: export SHOP_SECRET=$(openssl rand -hex 32)")
    first_port = int(os.environ.get("SHOP_PORT", "7100"))
    async with cobandit.join(
        f"udp://127.0.0.1:{first_port}+*",
        group="homepage",
        name="web-*",
        state=Path(os.environ.get("SHOP_STATE", "state")) / "web-*.db",
        arms=VARIANTS,
        peers=[f"127.0.0.1:{first_port + worker}" for worker in range(1, MOST_WORKERS + 1)],
        secret=secret,
        sharing=NEIGHBOURS,
        expire_after=AN_HOUR_S,
        default_reward=0.0,
    ) as member:
        app.state.member = member
        yield


class Reward(BaseModel):
    """What a decision brought."""

    decision: str
    reward: float


app = FastAPI(lifespan=membership)


@app.get("/")
async def page(request: Request) -> dict[str, str]:
    """Choose a variant. It does not wait for anything, so it may run on the event loop."""
    decision = request.app.state.member.select_arm()
    return {"variant": decision.arm, "decision": decision.id}


@app.post("/reward", status_code=204)
async def reward(request: Request, posted: Reward) -> None:
    """Take the reward of a decision that any worker made, and answer when it is on the disk."""
    member: cobandit.Member = request.app.state.member
    try:
        await member.updated(posted.decision, posted.reward)
    except cobandit.LocalError as error:
        raise HTTPException(400, str(error)) from error
    try:
        await member.synced()
    except cobandit.LocalError as error:
        raise HTTPException(503, str(error)) from error


@app.get("/status")
async def status(request: Request) -> dict[str, Any]:
    """Return what the worker that answers knows."""
    known = json.loads(request.app.state.member.statistics().to_json())
    return {"pid": os.getpid(), **known}
