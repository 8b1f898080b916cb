"""Flask, FastAPI and Django: four workers of a real server, and clients that know nothing of them."""

import json
import os
import random
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.live.guides.examples import EXAMPLES, started, wait_for

from lab.servers import HOST, free_port

WORKERS = 4
VISITORS = 60
CLICKS = {"plain": 0.1, "bold": 0.3, "playful": 0.7}


class Site:
    """The shop, as its visitors see it. A visitor who gets no answer asks again."""

    def __init__(self, port: int, folder: str) -> None:
        self._url, self._takes_json = f"http://{HOST}:{port}", folder == "fastapi_app"

    def ask(self, path: str, **form: str) -> Any:  # JSON
        body = (json.dumps(form) if self._takes_json else urllib.parse.urlencode(form)).encode() if form else None
        kind = {"content-type": "application/json"} if self._takes_json else {}
        request = urllib.request.Request(self._url + path, body, kind)

        def answer() -> tuple[Any] | None:
            try:
                with urllib.request.urlopen(request, timeout=20.0) as reply:
                    return (json.loads(reply.read() or b"null"),)
            except urllib.error.HTTPError:
                raise
            except OSError:
                pass  # the worker was killed, or the server is not there yet
            return None

        return wait_for(answer, path)[0]

    def reward(self, decision: str, reward: float) -> None:
        for _ in range(2):  # as an impatient client does
            self.ask("/reward", decision=decision, reward=str(reward))

    def everyone(self, observations: int) -> dict[str, dict[str, Any]]:
        """Wait until every worker knows exactly so many observations, and return how they are."""
        seen: dict[str, dict[str, Any]] = {}

        def all_know() -> bool:
            with ThreadPoolExecutor(2 * WORKERS) as clients:  # at the same time, so that every worker gets some
                for status in clients.map(self.ask, ["/status"] * 4 * WORKERS):
                    seen[status["name"]] = status
            counts = [status["observations"] for status in seen.values()]
            assert max(counts) <= observations, "something was counted twice"
            return counts == [observations] * WORKERS

        wait_for(all_know, f"{observations} everywhere")
        return seen


def visit(site: Site, chance: random.Random, visitors: int) -> list[tuple[str, float]]:
    """Let visitors see the page. Return which decisions are to be rewarded with what."""
    pages = [site.ask("/") for _ in range(visitors)]
    return [(page["decision"], float(chance.random() < CLICKS[page["variant"]])) for page in pages]


GUNICORN = ("-m", "gunicorn", "--workers", str(WORKERS), "--log-level", "warning", "--bind", f"{HOST}:PORT")
UVICORN = ("-m", "uvicorn", "--workers", str(WORKERS), "--log-level", "warning", "--host", HOST, "--port", "PORT")
SHOPS = {
    "flask_app": (*GUNICORN, "shop:create_app()"),
    "fastapi_app": (*UVICORN, "shop:app"),
    "django_app": (*GUNICORN, "homepage.wsgi"),
}
"""The commands of the guides."""
OPENING = {
    "flask_app": "import shop; shop.create_app()",
    "fastapi_app": "import shop, asyncio; asyncio.run(shop.membership(shop.app).__aenter__())",
    "django_app": "import homepage.wsgi",
}


@pytest.mark.parametrize("folder", SHOPS)
def test_the_shop_says_which_setting_it_lacks(folder: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", OPENING[folder]],
        cwd=EXAMPLES / folder,
        env={name: value for name, value in os.environ.items() if name != "SHOP_SECRET"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.stderr.splitlines()[-1] == (
        "cobandit.values.errors.LocalError: SHOP_SECRET is not set: export SHOP_SECRET=$(openssl rand -hex 32)"
    )


@pytest.mark.parametrize("folder", SHOPS)
def test_workers_count_every_reward_once_wherever_it_is_posted(folder: str, tmp_path: Path) -> None:
    port, chance = free_port(), random.Random(1)
    command = [part.replace("PORT", str(port)) for part in SHOPS[folder]]
    settings = {
        "HOME": str(tmp_path),  # where gunicorn leaves a socket
        "SHOP_PORT": str(free_port(row=17)),
        "SHOP_STATE": str(tmp_path),
        "SHOP_SECRET": "a secret for this test, and no other",
    }
    with (
        started(sys.executable, *command, folder=EXAMPLES / folder, **settings),
        ThreadPoolExecutor(2 * WORKERS) as clients,
    ):
        site = Site(port, folder)
        before, around = visit(site, chance, VISITORS), visit(site, chance, VISITORS)
        list(clients.map(lambda rewarded: site.reward(*rewarded), before))
        everyone = site.everyone(VISITORS)
        assert sorted(everyone) == ["web-1", "web-2", "web-3", "web-4"]
        assert sum(status["own_observations"] for status in everyone.values()) == VISITORS

        rewarding = [clients.submit(site.reward, *rewarded) for rewarded in around]
        os.kill(everyone["web-2"]["pid"], signal.SIGKILL)
        for future in rewarding:
            future.result()
        again = site.everyone(2 * VISITORS)
        assert sorted(again) == ["web-1", "web-2", "web-3", "web-4"]
        assert sum(status["own_observations"] for status in again.values()) == 2 * VISITORS
        assert again["web-2"]["incarnation"] > everyone["web-2"]["incarnation"]
        total = sum(reward for _, reward in before + around)
        for status in again.values():
            sums = [arm["mean"] * arm["observations"] for arm in status["arms"]]
            assert round(sum(sums), 6) == total
        with pytest.raises(urllib.error.HTTPError, match="400"):
            site.ask("/reward", decision="no decision", reward="1")
