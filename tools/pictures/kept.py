"""Figures of measurements that are kept beside the documents: drawn anew from their numbers, without measuring."""

import json
from functools import partial
from pathlib import Path

from tools.measure_bounds import FIGURES, FOLDER

from cobandit.simulator.canvas import picture
from cobandit.studies.fleets import Point
from cobandit.studies.fleets_report import pictures

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def fleet(name: str) -> str:
    """Return a figure of docs/fleets.md."""
    kept = json.loads((DOCS / "fleets" / "fleets.json").read_text(encoding="utf-8"))
    (found,) = [one for one in pictures([Point(**point) for point in kept["points"]]) if one.name == name]
    return found.svg.decode()


def bound(name: str) -> str:
    """Return a figure of docs/bounds.md."""
    kept = json.loads((FOLDER / "bounds.json").read_text(encoding="utf-8"))
    height, draw = FIGURES[name]
    return picture(name, name, height, partial(draw, rows=kept[name])).svg.decode()
