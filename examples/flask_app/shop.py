"""A Flask page in three variants. Its workers learn together which one is clicked: see docs/guides/flask.md."""

import json
import os
from pathlib import Path

from flask import Flask, Response, jsonify, request

import cobandit
from cobandit import Constant, RetryTimers, on_demand

VARIANTS = ["plain", "bold", "playful"]
MOST_WORKERS = 16
AN_HOUR_S = 3600.0

NEIGHBOURS = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=1.0, longest=30.0))
"""Packets between processes of one machine cost next to nothing, so the workers tell each other everything at once."""


def create_app() -> Flask:
    """Make the application. Gunicorn calls this in every worker, after the fork, so every worker is a member."""
    secret = os.environ.get("SHOP_SECRET")
    if not secret:
        raise cobandit.LocalError("SHOP_SECRET is not set: export SHOP_SECRET=$(openssl rand -hex 32)")
    first_port = int(os.environ.get("SHOP_PORT", "7100"))
    member = cobandit.connect(
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
    )
    app = Flask(__name__)

    @app.get("/")
    def page() -> Response:
        decision = member.select_arm()
        return jsonify(variant=decision.arm, decision=decision.id)

    @app.post("/reward")
    def reward() -> tuple[str, int]:
        try:
            member.update(request.form["decision"], float(request.form["reward"]))
        except (cobandit.LocalError, ValueError) as error:
            return f"{error}\n", 400
        try:
            member.sync()
        except cobandit.LocalError as error:
            return f"{error}\n", 503
        return "", 204

    @app.get("/status")
    def status() -> Response:
        return jsonify(pid=os.getpid(), **json.loads(member.statistics().to_json()))

    return app
