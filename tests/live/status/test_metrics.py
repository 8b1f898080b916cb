"""Metrics are what the statistics say, at the moment of the scrape."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

import cobandit
from cobandit.live.process import metrics_server
from cobandit.live.process.metrics_server import serve_metrics
from cobandit.live.status.metrics import MemberCollector
from cobandit.values.errors import LocalError

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(port: int) -> Samples:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_scrape_shows_what_the_member_did() -> None:
    with (
        cobandit.connect("memory://scrape", group="homepage", name="web-2", arms=["A", "B"]),
        cobandit.connect("memory://scrape", group="homepage", name="web-1", arms=["A", "B"], policy="ucb") as member,
        serve_metrics(member, "127.0.0.1:0") as server,
    ):
        before = scraped(server.port)
        for _ in range(3):
            member.update(member.select_arm(), 1.0)
        member.select_arm()
        member.sync()
        after = scraped(server.port)
        statistics = member.statistics()
    own = (("group", "homepage"), ("member", "web-1"))
    assert before["cobandit_decisions_total", own] == 0.0
    assert after["cobandit_decisions_total", own] == 4.0
    assert after["cobandit_open_decisions", own] == 1.0
    assert after["cobandit_own_observations", own] == 3.0
    assert {
        dict(labels)["arm"]: value
        for (name, labels), value in after.items()
        if name == "cobandit_arm_reward_mean_ratio"
    } == {"A": 1.0, "B": 1.0}
    assert statistics.verdict is not None
    assert after["cobandit_leader_best_ratio", own] == statistics.verdict.p_best
    assert after["cobandit_stopping_loss_ratio", own] == statistics.verdict.loss
    assert after["cobandit_converged", own] == 0.0
    assert ("cobandit_converged", own) not in before  # nothing was known
    assert {
        dict(labels)["kind"]: value for (name, labels), value in after.items() if name == "cobandit_packets_sent_total"
    } == {
        kind: getattr(statistics.communication, kind)
        for kind in ("shares", "repetitions", "acknowledgements", "notices", "letters")
    }
    assert after["cobandit_peer_present", (("group", "homepage"), ("member", "web-1"), ("peer", "web-2"))] == 1.0
    assert not any(name.startswith("cobandit_") and dict(labels).get("member") != "web-1" for name, labels in after)


def test_members_of_one_process_fit_one_registry_and_closed_ones_are_left_out() -> None:
    registry = CollectorRegistry()
    with cobandit.connect("memory://two", group="g", name="a", arms=["A", "B"]) as a:
        b = cobandit.connect("memory://two", group="g", name="b", arms=["A", "B"])
        registry.register(MemberCollector(a, b))
        b.close()
        (family,) = (family for family in registry.collect() if family.name == "cobandit_decisions")
        assert [sample.labels for sample in family.samples] == [{"group": "g", "member": "a"}]


def test_who_connects_and_asks_nothing_keeps_nobody_from_the_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "MAX_METRICS_CONNECTIONS", 3)
    monkeypatch.setattr(metrics_server._Connection, "timeout", 3600.0)
    with (
        cobandit.connect("memory://crowd", group="g", name="a", arms=["A", "B"]) as member,
        serve_metrics(member, "127.0.0.1:0") as server,
        ExitStack() as stack,
    ):
        before = threading.active_count()
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30)) for _ in range(5)
        ]
        for _ in range(3):  # who has been served takes no place any more
            assert ("cobandit_open_decisions", (("group", "g"), ("member", "a"))) in scraped(server.port)
            while threading.active_count() > before + 2:
                time.sleep(0.01)
        assert [one.recv(1) for one in silent[:3]] == [b""] * 3  # the oldest had to go
        for one in silent[3:]:
            one.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.0 200"


def test_who_says_nothing_for_long_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metrics_server._Connection.timeout == metrics_server.METRICS_WITHIN_S
    monkeypatch.setattr(metrics_server._Connection, "timeout", 0.05)
    with (
        cobandit.connect("memory://silent", group="g", name="a", arms=["A", "B"]) as member,
        serve_metrics(member, "127.0.0.1:0") as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=30) as silent,
    ):
        assert silent.recv(1) == b""


def test_a_taken_port_is_named() -> None:
    with (
        cobandit.connect("memory://taken", group="g", name="a", arms=["A", "B"]) as member,
        serve_metrics(member, "127.0.0.1:0") as server,
        pytest.raises(LocalError, match=rf"metrics: port {server.port} on 127\.0\.0\.1 is taken: stop what listens"),
    ):
        serve_metrics(member, f"127.0.0.1:{server.port}")


def test_without_the_package_it_says_what_to_install() -> None:
    program = "import sys\nsys.modules['prometheus_client'] = None\nimport cobandit.live.status.metrics\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        'cobandit.values.errors.MissingExtraError: serving metrics needs the extra "metrics": '
        "pip install 'cobandit[metrics]'"
    )
