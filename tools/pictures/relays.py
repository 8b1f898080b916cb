"""A mesh, a fleet behind relays, and what happens when a relay dies: three drawings side by side."""

import math
from itertools import combinations

from tools.pictures.shell import box, line, picture, text

Place = tuple[float, float]

WIDTH, HEIGHT, PANEL = 1150, 380, 383
MEMBERS, LEAVES = 8, 8
STYLE = """
.link { stroke: var(--series-1); stroke-width: 1.6; }
.between { stroke: var(--series-1); stroke-width: 4; }
.gone { stroke: var(--ink-soft); stroke-width: 1.4; stroke-dasharray: 3 5; }
.new { stroke: var(--series-2); stroke-width: 3; }
.member { fill: var(--card); stroke: var(--series-1); stroke-width: 2.5; }
.relay { fill: var(--series-1); stroke: var(--series-1); }
.dead { fill: var(--card); stroke: var(--ink-soft); stroke-width: 2; stroke-dasharray: 4 4; }
text.on-relay { fill: var(--accent-ink); font-weight: 600; font-size: 13px; }
.cross { stroke: var(--bad); stroke-width: 3; }
.panel { stroke: var(--line); }
"""
SAID = (
    "Left, a mesh: eight members, each with a link to every other, 28 links. Middle, the same eight as leaves of two "
    "relays: each leaf has one link, and the relays have one between them. Right, one relay has died: its leaves have "
    "a new link to the other relay, and nothing that was counted is lost."
)


def drawn() -> str:
    """Return the picture."""
    parts = [*_mesh(0), *_relays(PANEL, dead=False), *_relays(2 * PANEL, dead=True)]
    parts += [line((x, 20), (x, HEIGHT - 20), "panel") for x in (PANEL, 2 * PANEL)]
    return picture(WIDTH, HEIGHT, SAID, parts, style=STYLE)


def _mesh(left: float) -> list[str]:
    middle = left + PANEL / 2
    places = [
        (middle + 105 * math.sin(2 * math.pi * one / MEMBERS), 185 - 105 * math.cos(2 * math.pi * one / MEMBERS))
        for one in range(MEMBERS)
    ]
    links = [line(_short(one), _short(other), "link") for one, other in combinations(places, 2)]
    return [
        text(middle, 36, "A mesh: some hundred members", kind="head", anchor="middle"),
        *links,
        *(_circle(place, 13, "member") for place in places),
        text(middle, 336, f"{MEMBERS} members, {len(links)} links;", kind="soft", anchor="middle"),
        text(middle, 356, "nothing to operate", kind="soft", anchor="middle"),
    ]


def _relays(left: float, *, dead: bool) -> list[str]:
    middle = left + PANEL / 2
    relays = [(middle - 75, 185.0), (middle + 75, 185.0)]
    leaves = [(middle - 145 + 290 * one / (LEAVES // 2 - 1), 95.0) for one in range(LEAVES // 2)]
    leaves += [(x, 275.0) for x, _ in leaves]
    parts = [line(relays[0], relays[1], "gone" if dead else "between")]
    for leaf in leaves:
        home = relays[leaf[0] > middle]
        if dead and home == relays[1]:
            parts += [line(leaf, home, "gone"), line(leaf, relays[0], "new")]
        else:
            parts.append(line(leaf, home, "link"))
    for number, (x, y) in enumerate(relays):
        is_dead = dead and number == 1
        parts.append(box(x - 32, y - 17, 64, 34, "dead" if is_dead else "relay"))
        parts.append(text(x, y + 5, "relay", kind="soft" if is_dead else "on-relay", anchor="middle"))
        if is_dead:
            parts += [
                line((x - 20, y - 24), (x + 20, y + 24), "cross"),
                line((x - 20, y + 24), (x + 20, y - 24), "cross"),
            ]
    title = "A relay dies: its leaves change over" if dead else "Relays and leaves: thousands"
    notes = (
        ("thick: the new links;", "leaves decided all the time")
        if dead
        else (f"{LEAVES} leaves, {LEAVES + 1} links;", "a leaf keeps its own rows and one total")
    )
    return [
        text(middle, 36, title, kind="head", anchor="middle"),
        *parts,
        *(_circle(leaf, 13, "member") for leaf in leaves),
        *(text(middle, 336 + 20 * number, note, kind="soft", anchor="middle") for number, note in enumerate(notes)),
    ]


def _circle(place: Place, radius: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius:g}"/>'


def _short(place: Place) -> Place:
    return round(place[0], 1), round(place[1], 1)
