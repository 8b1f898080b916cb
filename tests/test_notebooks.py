"""Every notebook runs from its first cell to its last, is kept without results, and shows tables and figures."""

import json
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SECONDS = 600
"""For one cell: in a fresh clone the compiler has its first run."""


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["own_decision_times", "own_policy", "reproduce_a_figure"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_results(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client.*", "ignore::DeprecationWarning:zmq.*")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_should(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    book: Any = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=SECONDS, kernel_name="python3", resources=at(path.parent)).execute()
    for cell in book.cells:
        if cell.cell_type != "code":
            continue
        last = cell.source.rstrip().splitlines()[-1]
        outputs = [output for output in cell.outputs if not is_wait_for_the_compiler(output)]
        shown = [set(output.get("data", {})) for output in outputs]
        if last.startswith("results.plot_"):
            assert shown == [{"image/png", "text/plain"}]
        elif last in {"results", "figure"}:
            assert shown == [{"text/html", "text/plain"}]
        assert [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"] == []


def is_wait_for_the_compiler(output: Any) -> bool:  # nbformat has no types
    """Return whether a notebook says only that the engine is compiled at this moment, by itself or by another test."""
    text: str = output.get("text", "")
    return text.startswith(("another process compiles the engine", "compiling the engine")) and text.count("\n") == 1


def at(folder: Path) -> dict[str, dict[str, str]]:
    return {"metadata": {"path": str(folder)}}
