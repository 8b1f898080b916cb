"""The benchmarks of live members run, at a tiny size, so that they cannot rot. How fast they are is not looked at."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.servers import Server

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture(scope="module", autouse=True)
def _benchmarks_can_be_imported() -> Any:
    sys.path.insert(0, BENCHMARKS)
    yield
    sys.path.remove(BENCHMARKS)


def test_a_member_and_redis_are_measured_side_by_side(redis: Server, nats: Server) -> None:
    benchmark = importlib.import_module("live_against_redis")
    by_redis, live = benchmark.against_redis(redis.port, nats.url, seconds=0.2, turns=1)
    for measured in (by_redis, live):
        assert 0 < measured.p50_us <= measured.p99_us <= measured.p999_us
        assert measured.decisions_per_s > 0


def test_a_member_merges_what_many_peers_say_while_it_decides_at_a_pace(nats: Server) -> None:
    benchmark = importlib.import_module("live_against_redis")
    measured = benchmark.under_load(nats.url, seconds=1.0, peers=20, rate=100.0, pace=200.0)
    assert measured.merged_per_s > 0


def test_redis_and_a_policy_alone_learn_which_arm_is_best(redis: Server) -> None:
    benchmark = importlib.import_module("live_against_redis")
    with benchmark.redis.Redis(port=redis.port) as client:
        benchmark.timed(benchmark.redis_loop(client), 1.0)
        counters = {field.decode(): int(value) for field, value in client.hgetall("counters").items()}
    counts = [counters[f"count-{place}"] for place in range(benchmark.ARM_COUNT)]
    assert min(counts) > 0
    assert all(0 <= counters[f"sum-{place}"] <= counts[place] for place in range(benchmark.ARM_COUNT))
    assert benchmark.timed(benchmark.policy_loop(), 0.5).decisions_per_s > 0


def test_a_fleet_over_memory_and_one_over_nats_learn_everything_and_fall_silent(
    nats: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = importlib.import_module("live_scale")
    monkeypatch.setattr(benchmark, "LOOK_EVERY_S", 0.02)
    for url in ("memory://benchmark", nats.url):
        fleet = benchmark.measure(url, count=4, decisions=5, idle_s=0.01)
        assert (fleet.complete, fleet.expected, fleet.missing) == (4, 20, 0)
        benchmark.show(url, fleet)
    assert capsys.readouterr().out.count("missing: 0") == 2
