"""The table of docs/protocols.md is what its tool measures."""

import json
import math
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from cobandit.protocols.registry import PLUG_INS

ROOT = Path(__file__).parent.parent.parent
AGAIN = ["none", "dpe2", "tcom"]
"""The quick rows, each of which is run again."""


@pytest.fixture
def tool() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(ROOT / "tools" / "measure_protocols.py")))


def test_rows_run_again_measure_the_same(tool: SimpleNamespace) -> None:
    kept = json.loads((ROOT / "docs" / "protocols" / "small-world.json").read_text(encoding="utf-8"))["rows"]
    got = tool.measure(AGAIN)
    assert set(got) == set(AGAIN)
    for name, row in got.items():
        plain = {column: [None if math.isnan(one) else one for one in values] for column, values in row.items()}
        assert plain == kept[name]


def test_the_page_has_the_table_and_every_protocol(tool: SimpleNamespace) -> None:
    kept = json.loads((ROOT / "docs" / "protocols" / "small-world.json").read_text(encoding="utf-8"))["rows"]
    rows = {
        name: {column: [math.nan if one is None else one for one in values] for column, values in row.items()}
        for name, row in kept.items()
    }
    page = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    assert tool.table(rows) in page
    assert [word for word in PLUG_INS if page.count(f"| `{word}` |") < 2] == []
