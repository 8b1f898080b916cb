"""The documents tell the truth about files: every path that they name exists. Only two know the project's old name."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tools import first_steps
from tools.pictures import PICTURES, messages, rooms

from cobandit.look.tokens import colours
from cobandit.studies.reproduction import STUDIES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
NAMED = re.compile(r"`((?:src|tests|docs|examples|benchmarks|tools|lab|deploy)/[\w./-]+)`")
OLD_NAME = "ticat"[::-1]  # backwards, so that this file does not know it
FOLDERS = ("benchmarks", "clients", "deploy", "docs", "examples", "lab", "src", "tests", "tools")
MAX_READING_LINES = 1_300
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
    there = [path.name for path in (ROOT / "src" / "cobandit").iterdir() if not path.name.startswith(("_", "py.typed"))]
    assert [room for room in there if f"src/cobandit/{room}" not in text] == []


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


def test_the_readme_is_short_and_its_picture_has_all_rows_of_its_table() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 110
    assert len(messages.ways(readme)) == 5


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_it_would_be_drawn(name: str) -> None:
    kept = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert kept == PICTURES[name](), "run python -m tools.pictures"


@pytest.mark.parametrize("name", sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.svg")))
def test_a_figure_has_both_themes_and_no_other_colours(name: str) -> None:
    kept = (DOCS / name).read_text(encoding="utf-8")
    light, dark = (set(colours(dark=is_dark).values()) for is_dark in (False, True))
    before, _, in_the_dark = kept.partition("@media (prefers-color-scheme: dark) {")
    in_the_dark, _, after = in_the_dark.partition("\n")
    assert set(re.findall(r"#[0-9a-f]{6}\b", before)) <= light
    assert re.findall(r"#[0-9a-f]{6}\b", after) == []
    assert set(re.findall(r"#[0-9a-f]{6}\b", in_the_dark)) <= dark
    assert in_the_dark


@pytest.mark.parametrize("name", [name for name in PICTURES if name.startswith("images/") and name.endswith(".svg")])
def test_a_picture_says_what_it_shows_and_has_only_the_colours_of_the_look(name: str) -> None:
    kept = (ROOT / "docs" / name).read_text(encoding="utf-8")
    (title,) = ET.fromstring(kept).findall("{http://www.w3.org/2000/svg}title")
    assert len(title.text or "") > 100
    ours = {*colours(dark=False).values(), *colours(dark=True).values()}
    assert set(re.findall(r"#[0-9a-f]{6}\b", kept)) <= ours
    assert not re.search(r"(?:fill|stroke): (?!var\(|none|transparent)", kept)


def test_the_readme_leads_to_a_decision_and_to_a_report() -> None:
    """`tools/first_steps.py` walks this path in an empty environment, and times it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "one.update(decision, reward=1.0)" in first_steps.twelve_lines(readme)
    command, verb, *experiments = first_steps.report_command(readme).split()
    assert (command, verb, set(experiments) <= set(STUDIES)) == ("cobandit", "reproduce", True)
    typed = re.findall(r"^\| `([^`]+)` \|", first_steps.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert typed[-1] == first_steps.report_command(readme), "run python tools/first_steps.py --write"


def test_every_room_of_the_contracts_has_its_words_in_the_picture() -> None:
    for container, words in rooms.WORDS.items():
        assert {room for row in rooms.layers(container) for room in row} == set(words)
