"""`cobandit explain` writes a page, says where, and never leaves half of one."""

import os
from pathlib import Path

import pytest

from cobandit.cli import main
from cobandit.studies.explanation import FIGURE_1, FIGURE_1_NAMES, explain

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "two-agents.toml"

ONE = """
horizon = 50
seed = 0
[arms]
means = [0.2, 0.8]
[[agents]]
rate = 0.5
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_is_named_after_the_scenario_and_told_of(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(EXAMPLE)]) == 0
    assert capsys.readouterr().out == (
        "two-agents.toml: agent 0 sends 6 shares and agent 1 sends 6\n"
        "The page is in two-agents-explanation.html. Open it in a browser; it needs no network.\n"
    )
    assert [file.name for file in here.iterdir()] == ["two-agents-explanation.html"]


def test_without_a_file_it_shows_figure_1(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert "agent 1 sends 3 shares and agent 2 sends 2" in capsys.readouterr().out
    title = "Figure 1(b) of the paper, thresholds that double"
    ref = explain(FIGURE_1, names=FIGURE_1_NAMES, title=title, command=("cobandit", "explain"))
    assert (here / "figure-1-explanation.html").read_text(encoding="utf-8") == ref.html()


def test_the_other_timeline_of_figure_1_is_shown_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--figure", "1a"]) == 0
    assert capsys.readouterr().out.startswith(
        "Figure 1(a) of the paper, a threshold of one: agent 1 sends 4 shares and agent 2 sends 3\n"
    )
    assert "<code>cobandit explain --figure 1a</code>" in (here / "figure-1a-explanation.html").read_text(
        encoding="utf-8"
    )
    assert main(["explain", str(EXAMPLE), "--figure", "1a"]) == 2
    assert capsys.readouterr().err == "cobandit: name a scenario file or a figure of the paper, not both\n"


def test_what_is_asked_for_is_shown_and_said_again_on_the_page(here: Path) -> None:
    (here / "world.toml").write_text(ONE + "count = 3\n", encoding="utf-8")
    options = ["--agents", "2", "0", "--slots", "20", "--seed", "0", "--trial", "3"]
    assert main(["explain", "world.toml", *options, "--out", "page.html"]) == 0
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "How agent 2 and agent 0 talk" in page
    assert "seed 0, trial 3" in page
    assert f"<code>cobandit explain world.toml {' '.join(options)}</code>" in page


def test_the_seed_of_the_file_is_used_unless_told_otherwise(here: Path) -> None:
    (here / "world.toml").write_text(ONE + "count = 2\n", encoding="utf-8")
    assert main(["explain", "world.toml"]) == 0
    assert "seed 0, trial 0" in (here / "world-explanation.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "the scenario has one agent, which talks to nobody: give it a second one under [[agents]]"),
        (["--seed", "-1"], "seed must be a whole number from 0 to 9223372036854775807, not -1"),
        (["--slots", "0"], "slots must be a whole number of at least 1, not 0"),
        (["--out", "no/page.html"], "there is no folder no: create it, or choose another file"),
        (["--out", "."], ". is a folder: name a file to write, such as world.html"),
    ],
)
def test_what_cannot_be_is_one_line_and_writes_nothing(
    options: list[str], text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "world.toml").write_text(ONE + ("count = 2\n" if "--out" in options else ""), encoding="utf-8")
    assert main(["explain", "world.toml", *options]) == 2
    assert capsys.readouterr().err == f"cobandit: {text}\n"
    assert [file.name for file in here.iterdir()] == ["world.toml"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "page.html").write_text("old", encoding="utf-8")

    def full(_source: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main(["explain", "--out", "page.html"]) == 2
    assert capsys.readouterr().err == "cobandit: cannot write page.html: No space left on device\n"
    assert [(file.name, file.read_text(encoding="utf-8")) for file in here.iterdir()] == [("page.html", "old")]
