"""The diagram in the document is the table that the code follows."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_diagram_in_the_document_is_made_from_the_table() -> None:
    diagram = runpy.run_path(str(ROOT / "tools" / "state_diagram.py"))["diagram"]()
    assert f"```mermaid\n{diagram}\n```" in (ROOT / "docs" / "loss-tolerance.md").read_text(encoding="utf-8")
