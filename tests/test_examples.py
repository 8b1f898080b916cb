"""Every example runs."""

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobandit.protocols.registry import PLUG_INS

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted([*FOLDER.glob("*.py"), *(FOLDER / "protocols").glob("*.py"), *(FOLDER / "policies").glob("*.py")])


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """Let no example leave a protocol behind."""
    before = dict(PLUG_INS)
    yield
    PLUG_INS.clear()
    PLUG_INS.update(before)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_policies_of_one_s_own_fit_on_a_page() -> None:
    longest = {path.name: len(path.read_text().splitlines()) for path in (FOLDER / "policies").glob("*.py")}
    assert len(longest) == 3
    assert max(longest.values()) <= 60
