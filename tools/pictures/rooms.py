"""The rooms of the package, drawn from the contracts that `lint-imports` holds it to."""

import tomllib
from pathlib import Path

from tools.pictures.shell import box, picture, text

ROOT = Path(__file__).resolve().parent.parent.parent

WORDS = {
    "cobandit": {
        "cli": "commands",
        "dashboard": "the live page",
        "benchmark": "frozen tasks",
        "studies": "the paper, explain",
        "testing": "suites for plug-ins",
        "simulator": "virtual time",
        "live": "real time: at the right",
        "adapters": "other libraries",
        "agent": "policy + endpoint",
        "codec": "bytes",
        "evaluation": "logged decisions",
        "scenario": "worlds as data",
        "theory": "the theorems",
        "protocols": "plug-ins",
        "learning": "policies of an agent",
        "policies": "which arm",
        "core": "when to talk, what is known",
        "look": "colours, pages",
        "values": "numbers, checks, errors",
    },
    "cobandit.live": {
        "sidecar": "HTTP",
        "process": "a member from a file",
        "drive": "loop, thread, clock",
        "store": "what survives a crash",
        "transports": "TLS, UDP, NATS, MQTT",
        "machine": "packets in, packets out",
        "status": "how a fleet is",
        "auth": "who said it",
        "decide": "an arm in microseconds",
        "log_events": "names of events",
    },
}
"""What every room owns, in a few words."""

TITLES = {"cobandit": "cobandit", "cobandit.live": "inside live"}
LEFT_OUT = {"__main__"}
WIDTH, GAP, ROW, TOP, MARGIN = 1150, 10, 54, 48, 16
COLUMNS = {"cobandit": (MARGIN, 740), "cobandit.live": (MARGIN + 770, 348)}
STYLE = """
.room { fill: var(--paper); stroke: var(--line); }
.pure { fill: var(--accent-soft); stroke: var(--accent); }
text.name { font-weight: 600; font-size: 14px; }
text.small { font-size: 12px; fill: var(--ink-soft); }
text.in-pure { font-size: 12px; fill: var(--ink); }
"""
PURE = {"core", "policies", "values", "agent", "learning", "codec", "scenario", "theory", "protocols", "evaluation"}
PURE_LIVE = {"machine", "decide", "status"}


def layers(container: str) -> list[list[str]]:
    """Return the rows of rooms of a package, from above, as the contract has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (found,) = [one["layers"] for one in contracts if one.get("containers") == [container]]
    rows = [[room.strip() for room in row.split("|")] for row in found]
    return [kept for row in rows if (kept := [room for room in row if room not in LEFT_OUT])]


def drawn() -> str:
    """Return the picture."""
    parts, said, height = [], [], 0
    for container, (left, width) in COLUMNS.items():
        rows = layers(container)
        parts.append(text(left, 30, TITLES[container], kind="head"))
        for number, row in enumerate(rows):
            parts += _row(container, row, left, TOP + number * (ROW + GAP), width)
        said.append(f"{TITLES[container]}, from above: " + "; ".join(", ".join(row) for row in rows))
        height = max(height, TOP + len(rows) * (ROW + GAP))
    note = "A room imports from the rows below it. Coloured: no clock, no chance, no network, no disk."
    parts.append(text(MARGIN, height + 20, note, kind="soft"))
    return picture(WIDTH, height + 38, f"{note} {'. '.join(said)}.", parts, style=STYLE)


def _row(container: str, row: list[str], left: float, y: float, width: float) -> list[str]:
    each = (width - GAP * (len(row) - 1)) / len(row)
    parts = []
    for number, room in enumerate(row):
        x = left + number * (each + GAP)
        is_pure = room in (PURE if container == "cobandit" else PURE_LIVE)
        words = WORDS[container][room]
        parts += [
            box(x, y, each, ROW, "pure" if is_pure else "room"),
            text(x + each / 2, y + 23, room, kind="name", anchor="middle"),
            text(x + each / 2, y + 42, words, kind="in-pure" if is_pure else "small", anchor="middle"),
        ]
    return parts
