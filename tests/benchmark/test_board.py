"""The leaderboard: entries as files and back, tables from them, and the page of the documentation rebuilt."""

import json
import math
import re
from pathlib import Path

import pytest

from cobandit.benchmark.board import overall, page_with, task_table
from cobandit.benchmark.pictures import picture_of
from cobandit.benchmark.standings import QUANTITIES, Card, Standing, front, read_cards, write_cards
from cobandit.benchmark.tasks import tasks
from cobandit.simulator.interval import Estimate
from cobandit.values.errors import LocalError

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_page_is_made_from_the_entries() -> None:
    page = (DOCS / "benchmark.md").read_text(encoding="utf-8")
    assert page_with(page, read_cards(DOCS / "benchmark" / "entries")) == page


def test_an_entry_is_read_as_it_was_written(tmp_path: Path) -> None:
    cards = [_card("ibc-ucb", 100.0, 9_000.0), _card("zebra", 120.0, math.nan)]
    write_cards(cards, tmp_path)
    read = read_cards(tmp_path)
    assert read[0] == cards[0]
    assert [card.entry for card in read] == ["ibc-ucb", "zebra"]
    assert math.isnan(read[1].standings["ring"].mean("messages"))


def test_an_entry_of_another_tape_is_refused(tmp_path: Path) -> None:
    write_cards([_card("mine", 1.0, 1.0)], tmp_path)
    path = tmp_path / "mine.json"
    path.write_text(path.read_text().replace(tasks()["ring"].tape, "0" * 32))
    with pytest.raises(LocalError, match="the tape of ring is not that of benchmark version 1, so the entry cannot be"):
        read_cards(tmp_path)


def test_an_entry_of_another_version_is_refused(tmp_path: Path) -> None:
    write_cards([_card("mine", 1.0, 1.0)], tmp_path)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "benchmark": 2}))
    with pytest.raises(LocalError, match="is of version 2 of the benchmark, and this is version 1"):
        read_cards(tmp_path)


@pytest.mark.parametrize("content", ["[]", "{", '{"benchmark": 1}', '{"benchmark": 1, "entry": "a", "tasks": 3}'])
def test_what_is_no_entry_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(LocalError, match=r"a\.json is no entry of a leaderboard"):
        read_cards(tmp_path)


def test_a_folder_without_entries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="has no entries"):
        read_cards(tmp_path)


def test_nobody_beats_the_front() -> None:
    cards = [_card("a", 5.0, 10.0), _card("b", 6.0, 10.0), _card("c", 4.0, 90.0), _card("d", 4.5, 95.0)]
    assert [one.entry for one in front([card.standings["ring"] for card in cards], "messages")] == ["a", "c"]


def test_the_table_of_a_task_has_the_front_in_bold() -> None:
    cards = [_card("ibc-ucb", 100.0, 9_000.0), _card("mine", 120.0, 300.0), _card("worse", 130.0, 400.0)]
    rows = task_table("ring", cards).strip().splitlines()[2:]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| Ibc-ucb", "100 ± 10", "**9,000 ± 10**"],
        ["| Mine", "120 ± 10", "**300 ± 10**"],
        ["| Worse", "130 ± 10", "400 ± 10"],
    ]


def test_over_all_tasks_the_yardstick_is_one() -> None:
    cards = [_card("ibc-ucb", 100.0, 9_000.0), _card("mine", 120.0, 300.0), _card("quiet", 300.0, 0.0)]
    assert overall(cards).strip().splitlines()[2:] == [
        "| Ibc-ucb | 1 | 1 | 1 | 1 |",
        "| Mine | 1 | 1.2 | 0.0333 | 0.0333 |",
        "| Quiet | 1 | 3 |  |  |",
    ]


def test_the_marks_of_a_picture_are_plain_numbers_however_small_its_world() -> None:
    cards = [_card("ibc-ucb", 120.0, 80.0), _card("odc-ucb", 130.0, 30.0)]
    svg = picture_of("ring", cards).svg.decode()
    marks = [text for text in re.findall(r"<text[^>]*>([^<]*)<", svg) if text.strip()]
    assert {"50", "120"} <= set(marks)
    assert "mathdefault" not in svg
    assert "\N{MULTIPLICATION SIGN}" not in svg


def _card(name: str, regret: float, cost: float) -> Card:
    measured = {key: _known(regret if "regret" in key else cost) for key in QUANTITIES}
    return Card(
        name,
        name.capitalize(),
        {"protocol": name},
        {"ring": Standing("ring", name, 3, measured, 0.5)},
        {"grid": "it does not like grids"},
        {"sync-10": "trial 0: it fell"},
        {"cobandit": "0"},
    )


def _known(mean: float) -> Estimate:
    return Estimate(mean, None, mean - 10.0, mean + 10.0)
