"""The guides are true: what they show is started for real, with real servers and real processes."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.live.guides.examples import EXAMPLES, WITHIN, loaded, wait_for

from cobandit.live.auth.keys import issue, make_group
from lab.servers import free_port, mosquitto, redis_server

CLICKS = {"plain": 0.1, "bold": 0.3, "playful": 0.7}


# From Redis: the old counters are a start, and count once.


def test_members_go_on_where_redis_counters_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, chance = EXAMPLES / "from_redis", random.Random(2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOMEPAGE_PORT", str(free_port(row=9)))
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
        wait_for(
            lambda: max((arm.propensity or 0.0, arm.arm) for arm in one.member.statistics().arms)[1] == "sports", "it"
        )
        two.serve_baseline("weather")
        wait_for(lambda: one.rank(actions).reward_action_id == one.rank(actions).reward_action_id == "weather", "it")
        two.serve_learned()
        wait_for(lambda: one.rank(actions).reward_action_id != "weather", "what was learned")
    finally:
        one.close()
        two.close()
