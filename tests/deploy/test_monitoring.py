"""Dashboard and alerts are made from the table of metrics, and a real Prometheus takes both."""

import importlib.util
import json
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import cobandit
from cobandit.live.process.metrics_server import serve_metrics
from cobandit.live.status.metrics import FAMILIES
from lab.servers import HOST, free_port

ROOT = Path(__file__).parent.parent.parent
RULES = ROOT / "deploy" / "monitoring" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "monitoring" / "dashboard.json"
PATIENCE = 60.0

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None, reason="there is no prometheus here"
)

ONE = 'group="g", member="web-1"'
PEER = f'{ONE}, peer="web-2"'
FIRING = {
    "CobanditTrouble": {f"cobandit_troubles{{{ONE}}}": "1x100"},
    "CobanditNameTaken": {f"cobandit_superseded{{{ONE}}}": "1x100"},
    "CobanditCertificateExpires": {f"cobandit_certificate_seconds{{{ONE}}}": "1209000x100"},
    "CobanditTrustDiffers": {
        f"cobandit_trust_number{{{ONE}}}": "3x100",
        'cobandit_trust_number{group="g", member="web-2"}': "2x100",
    },
    "CobanditRewardsGivenUp": {f"cobandit_rewards_given_up_total{{{ONE}}}": "0+1x100"},
    "CobanditRewardsWait": {f"cobandit_rewards_waiting{{{ONE}}}": "1x100"},
    "CobanditPeerSilent": {
        f"cobandit_peer_silence_seconds{{{PEER}}}": "1801x100",
        f"cobandit_peer_present{{{PEER}}}": "1x100",
    },
    "CobanditPeerBehind": {
        f"cobandit_peer_lacking_observations{{{PEER}}}": "5x100",
        f"cobandit_peer_present{{{PEER}}}": "1x100",
    },
    "CobanditQuarantine": {f"cobandit_quarantined_peers{{{ONE}}}": "1x100"},
    "CobanditPacketsRefused": {f'cobandit_packets_refused_total{{{ONE}, reason="forged"}}': "0+2x100"},
    "CobanditRestarts": {f"cobandit_uptime_seconds{{{ONE}}}": "60 0 60 0 60 0 60 0 60 0 60 0 60x90"},
    "CobanditVersionsDiffer": {
        f'cobandit_version_info{{{ONE}, version="1"}}': "1x1600",
        'cobandit_version_info{group="g", member="web-2", version="2"}': "1x1600",
    },
    "CobanditKillSwitch": {f"cobandit_kill_switch{{{ONE}}}": "1x100"},
}
"""For each alert, what is measured every minute when it is right to tell somebody."""

QUIET = {
    "cobandit_troubles": "0x100",
    "cobandit_superseded": "0x100",
    "cobandit_certificate_seconds": "1210000x100",
    "cobandit_trust_number": "3x100",
    "cobandit_rewards_given_up_total": "4x100",
    "cobandit_rewards_waiting": "1x50 0x50",
    "cobandit_quarantined_peers": "0x100",
    "cobandit_packets_refused_total": "0+0.5x100",
    "cobandit_uptime_seconds": "0+60x30 0+60x70",
    "cobandit_kill_switch": "0x100",
    'cobandit_peer_silence_seconds{group="g", member="web-1", peer="left"}': "90000x100",
    'cobandit_peer_present{group="g", member="web-1", peer="left"}': "0x100",
    'cobandit_peer_silence_seconds{group="g", member="web-1", peer="here"}': "600x100",
    'cobandit_peer_present{group="g", member="web-1", peer="here"}': "1x100",
    'cobandit_peer_lacking_observations{group="g", member="web-1", peer="left"}': "7x100",
    'cobandit_peer_lacking_observations{group="g", member="web-1", peer="here"}': "0x100",
    'cobandit_version_info{group="g", member="web-1", version="1"}': "1x1600",
}
"""What is measured when all is well, or was wrong for a moment."""


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("monitoring", ROOT / "tools" / "monitoring.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"] if panel["type"] != "row"]


def test_the_files_are_what_the_tool_makes_of_the_table() -> None:
    stale = {path: text for path, text in tool().made().items() if path.read_text(encoding="utf-8") != text}
    assert list(stale) == [], "run tools/monitoring.py"


def test_the_dashboard_shows_every_metric_once_and_no_two_panels_overlap() -> None:
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    assert sorted(shown) == sorted(tool().query(family) for family in FAMILIES)
    cells = [
        (x, y)
        for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert all(0 <= x < 24 for x, _ in cells)


def test_an_alert_about_what_is_not_served_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tool()
    monkeypatch.setattr(made, "ALERTS", (made.Alert("New", "cobandit_nothing > 0", "1m", "info", ""),))
    with pytest.raises(SystemExit, match="cobandit_nothing, which is not in the table"):
        made.made()


@needs_prometheus
def test_every_alert_fires_when_it_should_and_none_when_all_is_well(tmp_path: Path) -> None:
    assert FIRING.keys() == {alert["alert"] for alert in alerts()}
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": series, "values": values} for series, values in given.items()],
            "promql_expr_test": [
                {
                    "expr": f'count by (alertname) (ALERTS{{alertname="{name}", alertstate="firing"}})',
                    "eval_time": "1500m" if "1600" in str(given) else "90m" if name != "CobanditRestarts" else "20m",
                    "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1}],
                }
            ],
        }
        for name, given in FIRING.items()
    ]
    well = [{"series": name if "{" in name else f"{name}{{{ONE}}}", "values": values} for name, values in QUIET.items()]
    quiet = [{"expr": "ALERTS{alertstate='firing'}", "eval_time": f"{at}m", "exp_samples": []} for at in (20, 90, 100)]
    tests.append({"interval": "1m", "input_series": well, "promql_expr_test": quiet})
    file = tmp_path / "alerts.test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[str]:
    """Run one that scrapes a member every second."""
    port = free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "cobandit", "static_configs": [{"targets": [f"{HOST}:{target}"]}]}],
    }
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [
        "prometheus",
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={HOST}:{port}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as running:
        try:
            yield f"http://{HOST}:{port}"
        finally:
            running.kill()


def ask(server: str, path: str, **words: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server}{path}?{urllib.parse.urlencode(words)}", timeout=60.0) as answer:
        found: dict[str, Any] = json.load(answer)
    assert found["status"] == "success"
    data: dict[str, Any] = found["data"]
    return data


def once(what: Any) -> Any:
    """Return what comes as soon as it comes."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if found := what():
                return found
        except OSError:
            pass
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)


@needs_prometheus
def pending(server: str) -> set[str]:
    alerts = ask(server, "/api/v1/alerts")["alerts"]
    return {one["labels"]["alertname"] for one in alerts if one["state"] == "pending"}


def test_a_real_prometheus_answers_every_panel_and_alert_from_a_members_metrics(tmp_path: Path) -> None:
    arms = ["A", "B"]
    with (
        cobandit.connect("memory://monitoring", group="g", name="web-1", arms=arms) as member,
        cobandit.connect("memory://monitoring", group="g", name="web-2", arms=arms) as other,
        serve_metrics(member, f"{HOST}:0") as served,
        prometheus(tmp_path, served.port) as server,
    ):
        for _ in range(100):
            member.update(member.select_arm(), 1.0)
            other.update(other.select_arm(), 0.0)
        member.kill("A")
        # A slow computer may have told the peer less than all for a moment; that pends, and fires after minutes only.
        assert once(lambda: "CobanditKillSwitch" in pending(server))
        assert pending(server) <= {"CobanditKillSwitch", "CobanditPeerBehind"}
        empty = set()
        once(lambda: ask(server, "/api/v1/query", query="rate(cobandit_decisions_total[10s])")["result"])
        for panel in panels():
            for target in panel["targets"]:
                asked = target["expr"].replace("$group", "g").replace("$member", "web-1")
                if not ask(server, "/api/v1/query", query=asked.replace("$__rate_interval", "10s"))["result"]:
                    empty.add(asked.split("{")[0])
        for alert in alerts():
            ask(server, "/api/v1/query", query=alert["expr"])
        # What this member has nothing to say of: no keys, no hold-out, no guardrail, no bandit with a name, and nothing
        # was refused.
        assert empty == {
            "cobandit_arm_guardrail_ratio",
            "cobandit_bandit_guardrail_ratio",
            "cobandit_bandit_held_out",
            "cobandit_bandit_kill_switch",
            "cobandit_bandit_lift",
            "cobandit_bandit_lift_high",
            "cobandit_bandit_lift_low",
            "cobandit_bandit_observations",
            "cobandit_bandit_own_observations",
            "cobandit_bandit_segments",
            "cobandit_held_out_observations",
            "cobandit_lift_high_ratio",
            "cobandit_lift_low_ratio",
            "cobandit_lift_ratio",
            "cobandit_certificate_seconds",
            "cobandit_trust_number",
            "rate(cobandit_packets_refused_total",
        }


def test_the_command_says_whether_they_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "monitoring.py"), "--check"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_the_guide_lists_every_alert_with_its_severity() -> None:
    text = (ROOT / "docs" / "guides" / "deploy.md").read_text(encoding="utf-8")
    listed = [tuple(row.split(" | ")[:2]) for row in text.splitlines() if row.startswith("| `Cobandit")]
    assert listed == [(f"| `{alert['alert']}`", alert["labels"]["severity"]) for alert in alerts()]
