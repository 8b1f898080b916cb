"""A router of language models: replicas that learn together which model to ask. See docs/guides/llm-router.md.

It speaks the wire format of chat completions, to its clients and to the models. A client that names the model "auto"
gets the answer of a model that was chosen, and a decision's id, with which it says later how good the answer was.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import cobandit
from cobandit import RetryTimers, on_demand

A_DAY_S = 86400.0
UPSTREAM_WITHIN_S = 30.0


async def complete(request: Request) -> Response:
    """Ask a model. If it fails, that counts as a zero, and another one is asked."""
    asked, member = await request.json(), request.app.state.member
    left = set(request.app.state.models)
    while left:
        decision = member.select_arm(among=left)
        try:
            answer = await request.app.state.upstream.post(
                "/v1/chat/completions", json={**asked, "model": decision.arm}
            )
            answer.raise_for_status()
        except httpx.HTTPError:
            member.update(decision, 0.0)
            left.remove(decision.arm)
            continue
        return JSONResponse({**answer.json(), "decision": decision.id})
    return JSONResponse({"error": {"message": "no model answered"}}, status_code=502)


async def feedback(request: Request) -> Response:
    """Take how good an answer was, from 0 to 1, of a decision that any replica made."""
    said, member = await request.json(), request.app.state.member
    try:
        await member.updated(said["decision"], float(said["score"]))
    except (cobandit.LocalError, KeyError, ValueError) as error:
        return JSONResponse({"error": {"message": str(error)}}, status_code=400)
    await member.synced()  # no crash can lose it from here on
    return Response(status_code=204)


async def status(request: Request) -> Response:
    """Return what this replica knows."""
    return JSONResponse(json.loads(request.app.state.member.statistics().to_json()))


@asynccontextmanager
async def membership(app: Starlette) -> AsyncIterator[None]:
    """Join the other replicas while this one runs. All settings come from the environment."""
    of = os.environ
    async with (
        httpx.AsyncClient(base_url=of["ROUTER_UPSTREAM"], timeout=UPSTREAM_WITHIN_S) as upstream,
        cobandit.join(
            f"udp://{of['ROUTER_ADDRESS']}",
            group="models",
            name=of["ROUTER_NAME"],
            state=Path(of["ROUTER_STATE"]) / f"{of['ROUTER_NAME']}.db",
            arms=of["ROUTER_MODELS"].split(","),
            peers=of["ROUTER_PEERS"].split(","),
            secret=of["ROUTER_SECRET"],
            sharing=on_demand(loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=1.0, longest=30.0)),
            expire_after=A_DAY_S,
        ) as member,
    ):
        app.state.member, app.state.models, app.state.upstream = member, member.arms, upstream
        yield


app = Starlette(
    lifespan=membership,
    routes=[
        Route("/v1/chat/completions", complete, methods=["POST"]),
        Route("/feedback", feedback, methods=["POST"]),
        Route("/status", status),
    ],
)
