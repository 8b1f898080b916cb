"""The documents tell the truth about files: every path that they name exists. Only two know the project's old name."""

import re
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
NAMED = re.compile(r"`((?:src|tests|docs|examples|benchmarks|tools|lab|deploy)/[\w./-]+)`")
OLD_NAME = "ticat"[::-1]  # backwards, so that this file does not know it
FOLDERS = ("benchmarks", "clients", "deploy", "docs", "examples", "lab", "src", "tests", "tools")
MAX_READING_LINES = 1_415
"""The most that a newcomer must read beside the paper."""
LINKED = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_the_document_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    missing = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    missing += [link for link in LINKED.findall(text) if not (document.parent / link).exists()]
    assert missing == []


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    records = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [name for name in records if name not in index] == []


def test_architecture_names_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = [path.name for path in (ROOT / "src" / "cobandit").iterdir() if not path.name.startswith(("_", "py.typed"))]
    assert [room for room in rooms if f"src/cobandit/{room}" not in text] == []


def test_the_reading_order_is_six_files_of_the_length_that_is_told() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## Reading order", 1)[1]
    files = NAMED.findall(text.split("They have", 1)[0])
    lines = sum(len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in files)
    assert len(files) == 6
    assert lines <= MAX_READING_LINES
    assert f"They have {lines:,} lines, and at most {MAX_READING_LINES:,}" in text


def test_only_the_changelog_and_one_decision_know_the_old_name() -> None:
    texts = (".py", ".md", ".toml", ".yml", ".js", ".ts", ".json", ".css", ".html", ".c", ".txt")
    files = [*ROOT.glob("*.*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*"))]
    ours = [path for path in files if path.suffix in texts and "node_modules" not in path.parts]
    knowing = {path.relative_to(ROOT).as_posix() for path in ours if OLD_NAME in _name_and_text(path).lower()}
    assert knowing == {"CHANGELOG.md", "docs/decisions/0029-the-name.md"}


def _name_and_text(path: Path) -> str:
    return f"{path.relative_to(ROOT)} {path.read_text(encoding='utf-8')}"


def test_the_readme_is_short_and_its_picture_is_drawn_from_its_table() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 120
    tool = run_path(str(ROOT / "tools" / "readme_picture.py"))
    rows = tool["ways"](readme)
    assert len(rows) == 5
    assert tool["PICTURE"].read_text(encoding="utf-8") == tool["drawn"](rows), "run tools/readme_picture.py"
