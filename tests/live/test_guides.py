"""The guides are true: what they show is started for real, with real servers and real processes."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

from cobandit.live.auth.keys import issue, make_group
from lab.servers import HOST, free_port, mosquitto, redis_server

Value = TypeVar("Value")

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
WITHIN = 30.0
STOP_WITHIN = 15.0


def wait_for(what: Callable[[], Value | None], whose: str) -> Value:
    """Wait until this returns something that is true, and return it."""
    deadline = time.monotonic() + WITHIN
    while not (value := what()):
        assert time.monotonic() < deadline, f"it did not happen: {whose}"
        time.sleep(0.05)
    return value


@contextmanager
def started(*command: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of an example, which is stopped in the end."""
    with subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()


def loaded(path: Path) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Flask: four workers of gunicorn, and clients that know nothing of them.

WORKERS = 4
VISITORS = 120
CLICKS = {"plain": 0.1, "bold": 0.3, "playful": 0.7}


class Site:
    """The shop, as its visitors see it. Whoever gets no answer asks again."""

    def __init__(self, port: int) -> None:
        self._url = f"http://{HOST}:{port}"

    def ask(self, path: str, **form: str) -> Any:  # JSON
        body = urllib.parse.urlencode(form).encode() if form else None

        def answer() -> tuple[Any] | None:
            try:
                with urllib.request.urlopen(self._url + path, body, timeout=5.0) as reply:
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


def test_the_shop_says_which_setting_it_lacks() -> None:
    without = {name: value for name, value in os.environ.items() if name != "SHOP_SECRET"}
    ended = subprocess.run(
        [sys.executable, "-c", "import shop; shop.create_app()"],
        cwd=EXAMPLES / "flask_app",
        env=without,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.stderr.splitlines()[-1] == (
        "cobandit.values.errors.LocalError: SHOP_SECRET is not set: export SHOP_SECRET=$(openssl rand -hex 32)"
    )


def test_flask_workers_count_every_reward_once_wherever_it_is_posted(tmp_path: Path) -> None:
    port, chance = free_port(), random.Random(1)
    gunicorn = (sys.executable, "-m", "gunicorn", "--workers", str(WORKERS), "--bind", f"{HOST}:{port}")
    settings = {
        "HOME": str(tmp_path),  # where gunicorn leaves a socket
        "SHOP_PORT": str(free_port()),
        "SHOP_STATE": str(tmp_path),
        "SHOP_SECRET": "a secret for this test, and no other",
    }
    quiet = ("--log-level", "warning", "shop:create_app()")
    with (
        started(*gunicorn, *quiet, folder=EXAMPLES / "flask_app", **settings),
        ThreadPoolExecutor(2 * WORKERS) as clients,
    ):
        site = Site(port)
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


# From Redis: the old counters are a start, and count once.


def test_members_go_on_where_redis_counters_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, chance = EXAMPLES / "from_redis", random.Random(2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOMEPAGE_PORT", str(free_port()))
    monkeypatch.setenv("HOMEPAGE_SECRET", "a secret for this test, and no other")
    with redis_server() as server:
        counters = loaded(folder / "before.py").Counters(server.url)
        pulls: dict[str, int] = dict.fromkeys(CLICKS, 0)
        for _ in range(300):
            arm = counters.choose()
            counters.record(arm, float(chance.random() < CLICKS[arm]))
            pulls[arm] += 1
        command: list[str | Path] = [sys.executable, folder / "import_counters.py", server.url, "homepage.snapshot"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == "homepage.snapshot: 300 observations of 3 arms\n"
    after = loaded(folder / "after.py")
    with after.open_member() as first, after.open_member() as second:
        assert {arm.arm: arm.observations for arm in first.statistics().arms} == pulls
        wait_for(lambda: first.statistics().peers and second.statistics().peers, "that they meet")
        _, decision = after.serve(first)
        for reporter in (first, second, second):
            reporter.update(decision, 1.0)
        wait_for(lambda: [member.statistics().observations for member in (first, second)] == [301, 301], "301 at both")


# Devices: a broker that carries frames and is believed nothing.

TRANSMISSIONS = 400


def test_devices_learn_over_a_broker_and_a_new_one_starts_without_it(tmp_path: Path) -> None:
    make_group("field", tmp_path / "keys")
    names = ["meter-1", "meter-2", "meter-3", "meter-4"]
    for name in names:
        issue(name, tmp_path / "keys", out=tmp_path / f"{name}.pem")

    def device(name: str, broker: str, *arguments: str) -> subprocess.Popen[bytes]:
        own = ("--keys", f"{name}.pem", "--state", f"{name}.db", "--broker", broker, "--brisk")
        command = [sys.executable, str(EXAMPLES / "devices_mqtt" / "device.py"), name, *own, *arguments]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)

    def ended(process: subprocess.Popen[bytes]) -> dict[str, Any]:
        said, _ = process.communicate(timeout=WITHIN)
        assert process.returncode == 0
        return dict(json.loads(said))

    with mosquitto() as broker:
        amounts = ("--transmissions", str(TRANSMISSIONS), "--until-known", str(3 * TRANSMISSIONS))
        running = [device(name, broker.url, *amounts, "--keep", f"{name}.snapshot") for name in names[:3]]
        reports = [ended(process) for process in running]
    for report in reports:
        assert (report["observations"], report["own_observations"]) == (3 * TRANSMISSIONS, TRANSMISSIONS)
        best = max(report["arms"], key=lambda arm: arm["observations"])
        assert best["arm"] == "868.5"
        assert report["communication"]["shares"] < TRANSMISSIONS  # news goes in bulk
    alone = ended(device("meter-4", broker.url, "--transmissions", "100", "--start-from", "meter-1.snapshot"))
    assert (alone["observations"], alone["own_observations"]) == (3 * TRANSMISSIONS + 100, 100)
    assert alone["arms"][2]["own_observations"] > 50  # it knew the good channel from the first day


# From Personalizer: rank and reward.


def test_the_methods_of_personalizer_do_what_they_did_there(tmp_path: Path) -> None:
    kind = loaded(EXAMPLES / "from_personalizer" / "personalizer.py").Personalizer
    actions, chance = ["news", "sports", "weather"], random.Random(3)
    options = {"loop": "front", "actions": actions, "exploration": 0.3}
    one = kind("memory://front", name="one", state=tmp_path / "one.db", **options)
    two = kind("memory://front", name="two", state=tmp_path / "two.db", **options)
    try:
        wait_for(lambda: one.member.statistics().peers and two.member.statistics().peers, "that they meet")
        for number in range(300):
            ranked = one.rank(actions, event_id=f"event {number}")
            assert 0.1 <= round(ranked.probability, 9) <= 0.8
            click = float(chance.random() < (0.8 if ranked.reward_action_id == "sports" else 0.2))
            one.reward(ranked.event_id, click)
            one.reward(ranked.event_id, click)
        ranked = one.rank(actions, excluded_actions=["sports"])
        assert ranked.reward_action_id in {"news", "weather"}
        two.reward(ranked.event_id, 0.5)  # it finds its way
        wait_for(lambda: one.member.statistics().own_observations == 301, "301 rewards")
        arms = {arm.arm: arm.observations for arm in one.member.statistics().arms}
        assert max(arms, key=lambda arm: arms[arm]) == "sports"
        two.serve_baseline("weather")
        wait_for(lambda: one.rank(actions).reward_action_id == one.rank(actions).reward_action_id == "weather", "it")
        two.serve_learned()
        wait_for(lambda: one.rank(actions).reward_action_id != "weather", "what was learned")
    finally:
        one.close()
        two.close()
