"""Make the Grafana dashboard and the alert rules from the table of metrics, so that neither names what is not served.

    python tools/monitoring.py            # write the files of deploy/
    python tools/monitoring.py --check    # only say whether they are as they would be written

A metric's panel follows from its kind, its labels and its unit, which is the end of its name. What is owned here: which
metrics share a panel, and when a person should be told. Which metrics there are is in `cobandit.live.status.metrics`.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from prometheus_client.core import CounterMetricFamily

from cobandit.live.status.metrics import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
OPERATING = "https://github.com/cobandit/cobandit/blob/main/docs/operating.md"
HEADER = "# Made by tools/monitoring.py from the table of metrics: do not edit.\n"
LABELS = ("group", "member")
"""Of every metric."""

TOGETHER = (
    ("Mean rewards and their intervals", ("arm_reward_mean_ratio", "arm_reward_low_ratio", "arm_reward_high_ratio")),
    ("Observations, all and own", ("observations", "own_observations")),
    ("Observations of arms, all and own", ("arm_observations", "arm_own_observations")),
    ("Rewards for other members", ("rewards_waiting", "rewards_brought", "rewards_handed_on", "rewards_given_up")),
    ("Shares with peers", ("peer_shares_sent", "peer_shares_received")),
    ("Bytes", ("sent_bytes", "received_bytes")),
    ("Packets received and lost", ("packets_received", "packets_lost")),
)
"""Metrics that are read beside each other, without their prefix."""

UNITS = {"seconds": "s", "bytes": "bytes", "ratio": "percentunit"}
ROWS = {(): "Members", ("arm",): "Arms", ("peer",): "Peers", ("version",): "Members"}
WIDTH, HEIGHT, COLUMNS = 8, 7, 24


class Alert(NamedTuple):
    """When a person should be told, and what."""

    name: str
    expression: str
    lasting: str
    severity: str
    summary: str


ALERTS = (
    Alert(
        "CobanditTrouble",
        "cobandit_troubles > 0",
        "10m",
        "warning",
        "{{ $labels.member }} of {{ $labels.group }} says that something does not work: its log says what to do.",
    ),
    Alert(
        "CobanditNameTaken",
        "cobandit_superseded == 1",
        "1m",
        "critical",
        "Another process has started as {{ $labels.member }} of {{ $labels.group }}: stop one of them.",
    ),
    Alert(
        "CobanditCertificateExpires",
        "cobandit_certificate_seconds < 14 * 86400",
        "1h",
        "warning",
        "The certificate of {{ $labels.member }} expires in {{ $value | humanizeDuration }}: renew it.",
    ),
    Alert(
        "CobanditTrustDiffers",
        "max by (group) (cobandit_trust_number) != min by (group) (cobandit_trust_number)",
        "30m",
        "warning",
        "Members of {{ $labels.group }} have different trust files: what is revoked counts at some only.",
    ),
    Alert(
        "CobanditRewardsGivenUp",
        "increase(cobandit_rewards_given_up_total[1h]) > 0",
        "0m",
        "critical",
        "Rewards that were handed to {{ $labels.member }} count nowhere: who decided did not come back.",
    ),
    Alert(
        "CobanditRewardsWait",
        "cobandit_rewards_waiting > 0",
        "1h",
        "warning",
        "Rewards wait at {{ $labels.member }} for a member that does not take them: see that it runs.",
    ),
    Alert(
        "CobanditPeerSilent",
        "cobandit_peer_silence_seconds > 1800 and cobandit_peer_present == 1",
        "5m",
        "warning",
        "{{ $labels.member }} has not heard {{ $labels.peer }} for {{ $value | humanizeDuration }}, and no farewell.",
    ),
    Alert(
        "CobanditPeerBehind",
        "cobandit_peer_lacking_observations > 0 and cobandit_peer_present == 1",
        "1h",
        "warning",
        "{{ $labels.peer }} has not acknowledged what {{ $labels.member }} knows for an hour: look at the network.",
    ),
    Alert(
        "CobanditQuarantine",
        "cobandit_quarantined_peers > 0",
        "5m",
        "warning",
        "{{ $labels.member }} does not listen to a peer that was wrong too often: look at versions, clocks and disks.",
    ),
    Alert(
        "CobanditPacketsRefused",
        "increase(cobandit_packets_refused_total[15m]) > 10",
        "0m",
        "warning",
        "{{ $labels.member }} refuses packets ({{ $labels.reason }}): forged ones, or a member with another set-up.",
    ),
    Alert(
        "CobanditRestarts",
        "resets(cobandit_uptime_seconds[30m]) > 3",
        "0m",
        "warning",
        "{{ $labels.member }} of {{ $labels.group }} starts again and again: look at the end of its log.",
    ),
    Alert(
        "CobanditVersionsDiffer",
        "count by (group) (count by (group, version) (cobandit_version_info)) > 1",
        "1d",
        "info",
        "{{ $labels.group }} has had members of different versions for a day: finish the upgrade.",
    ),
    Alert(
        "CobanditKillSwitch",
        "cobandit_kill_switch == 1",
        "1h",
        "info",
        "The kill switch of {{ $labels.group }} has been on for an hour at {{ $labels.member }}.",
    ),
)


def main() -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description="Make the dashboard and the alert rules from the table of metrics.")
    parser.add_argument("--check", action="store_true", help="write nothing: return 1 if a file would change")
    options = parser.parse_args()
    stale = [path for path, text in made().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if not options.check:
        for path in stale:
            path.write_text(made()[path], encoding="utf-8")
    for path in stale:
        print(f"{path.relative_to(ROOT)} {'is stale: run tools/monitoring.py' if options.check else 'is written'}")
    return 1 if stale and options.check else 0


def made() -> dict[Path, str]:
    """Return the files and what is in them."""
    check_alerts()
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "cobandit"},
        "spec": rules(),
    }
    return {
        ROOT / "deploy/monitoring/alerts.yaml": HEADER + _yaml(rules()),
        ROOT / "deploy/kubernetes/monitoring/alerts.yaml": HEADER + _yaml(resource),
        ROOT / "deploy/monitoring/dashboard.json": json.dumps(dashboard(), indent=2) + "\n",
    }


def served() -> dict[str, Any]:
    """Return the families by the names under which Prometheus stores them."""
    return {_stored(family): family for family in FAMILIES}


def check_alerts() -> None:
    """Refuse an alert about a metric that is not served."""
    for alert in ALERTS:
        for name in re.findall(r"cobandit_\w+", alert.expression):
            if name not in served():
                sys.exit(f"{alert.name} names {name}, which is not in the table of metrics")


def rules() -> dict[str, Any]:
    """Return the alerts as a file of Prometheus has them."""
    return {
        "groups": [
            {
                "name": "cobandit",
                "rules": [
                    {
                        "alert": alert.name,
                        "expr": alert.expression,
                        "for": alert.lasting,
                        "labels": {"severity": alert.severity},
                        "annotations": {"summary": alert.summary, "runbook_url": OPERATING},
                    }
                    for alert in ALERTS
                ],
            }
        ]
    }


def dashboard() -> dict[str, Any]:
    """Return the dashboard: a row for members, arms, peers and packets, and a panel for each metric or few of them."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title in (*dict.fromkeys(ROWS.values()), "Packets"):
        panels.append({"type": "row", "title": title, "gridPos": _place(0, top, COLUMNS, 1), "id": len(panels) + 1})
        top += 1
        here = [(name, families) for name, families in _panels() if _row(families[0]) == title]
        for number, (name, families) in enumerate(here):
            x, y = number * WIDTH % COLUMNS, top + number * WIDTH // COLUMNS * HEIGHT
            panels.append(_panel(name, families, _place(x, y, WIDTH, HEIGHT), len(panels) + 1))
        top += -(-len(here) * WIDTH // COLUMNS) * HEIGHT
    return {
        "title": "cobandit",
        "uid": "cobandit",
        "schemaVersion": 39,
        "tags": ["cobandit"],
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source(), *map(_variable, LABELS)]},
        "panels": panels,
    }


def query(family: Any) -> str:  # noqa: ANN401  # a row of the table
    """Return what a panel asks Prometheus for a metric."""
    chosen = ",".join(f'{label}=~"${label}"' for label in LABELS)
    asked = f"{_stored(family)}{{{chosen}}}"
    return f"rate({asked}[$__rate_interval])" if family.kind is CounterMetricFamily else asked


def _panels() -> list[tuple[str, list[Any]]]:
    """Return what is shown: each metric once, alone or with others, in the order of the table."""
    by_name = {family.name: family for family in FAMILIES}
    titles = {f"cobandit_{name}": title for title, names in TOGETHER for name in names}
    found: dict[str, list[Any]] = {}
    for name, family in by_name.items():
        found.setdefault(titles.get(name, _words(name)), []).append(family)
    return list(found.items())


def _panel(title: str, families: list[Any], place: dict[str, int], number: int) -> dict[str, Any]:
    unit = next((UNITS[end] for end in UNITS if families[0].name.endswith(end)), "short")
    if families[0].kind is CounterMetricFamily:
        title, unit = f"{title}, per second", {"bytes": "Bps"}.get(unit, "ops")
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "description": " ".join(family.text for family in families),
        "gridPos": place,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            _target(family, letter, alone=len(families) == 1) for family, letter in zip(families, "ABCD", strict=False)
        ],
    }


def _target(family: Any, letter: str, *, alone: bool) -> dict[str, str]:  # noqa: ANN401
    names = " ".join(f"{{{{{label}}}}}" for label in ("member", *family.labels))
    said = names if alone else f"{names} {_words(family.name).lower()}"
    return {"refId": letter, "expr": query(family), "legendFormat": said}


def _row(family: Any) -> str:  # noqa: ANN401
    return (
        ROWS.get(tuple(family.labels), "Packets")
        if "packets" not in family.name and "bytes" not in family.name
        else "Packets"
    )


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(label: str) -> dict[str, Any]:
    within = '{group=~"$group"}' if label == "member" else ""
    return {
        "name": label,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "query": f"label_values(cobandit_uptime_seconds{within}, {label})",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _stored(family: Any) -> str:  # noqa: ANN401
    return f"{family.name}_total" if family.kind is CounterMetricFamily else str(family.name)


def _words(name: str) -> str:
    words = name.removeprefix("cobandit_").removesuffix("_info").split("_")
    return " ".join(word for word in words if word not in {"seconds", "ratio"}).capitalize()


def _place(x: int, y: int, w: int, h: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": w, "h": h}


def _yaml(content: object) -> str:
    return str(yaml.safe_dump(content, sort_keys=False, width=116))


if __name__ == "__main__":
    sys.exit(main())
