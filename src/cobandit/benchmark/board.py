"""The leaderboard in words: Markdown tables from entries, one for each task, and one over all tasks.

This file measures nothing and rounds only for the eye.
"""

import math
import statistics
from collections.abc import Sequence

from cobandit.benchmark.standings import COSTS, Card, Standing, front
from cobandit.benchmark.tasks import tasks
from cobandit.simulator.interval import Estimate, half_width

YARDSTICK = "ibc-ucb"
"""The entry that the others are compared with over all tasks: everybody is told everything at once."""

BEGIN = "<!-- made from docs/benchmark/entries by tools/write_benchmark_page.py: begin -->"
END = "<!-- end -->"

_HEADS = ("entry", "group regret", "messages", "agent-rounds", "notices", "KB", "largest regret", "staleness", "s")


def page_with(page: str, cards: Sequence[Card]) -> str:
    """Return a page with the leaderboard between its two marks, in the place of the one that was there."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{leaderboard(cards)}\n{END}{after}"


def leaderboard(cards: Sequence[Card]) -> str:
    """Return the whole leaderboard as Markdown."""
    played = [name for name in tasks() if any(name in card.standings for card in cards)]
    return "\n".join(["## Over all tasks", "", overall(cards), *(_section(name, cards) for name in played)])


def overall(cards: Sequence[Card]) -> str:
    """Return a table of all entries: geometric means over tasks, of what they have over what the yardstick has."""
    yardstick = {card.entry: card for card in cards}.get(YARDSTICK)
    lines = _table(("entry", "tasks", "regret", "messages", "agent-rounds"))
    for card in cards:
        ratios = [_ratio(card, yardstick, quantity) for quantity in ("group_regret", *COSTS)]
        cells = ["" if ratio is None else f"{ratio:.3g}" for ratio in ratios]
        lines.append(_row([card.title, str(len(card.standings)), *cells]))
    return "\n".join([*lines, ""])


def task_table(task: str, cards: Sequence[Card]) -> str:
    """Return the table of a task, the lowest regret first. Bold: nobody has less regret for at most that cost."""
    standings = {card.entry: card.standings[task] for card in cards if task in card.standings}
    fronts = {cost: {one.entry for one in front(standings.values(), cost)} for cost in COSTS}
    titles = {card.entry: card.title for card in cards}
    lines = _table(_HEADS)
    for one in sorted(standings.values(), key=lambda one: (one.mean("group_regret"), one.entry)):
        bold = {cost: one.entry in fronts[cost] for cost in COSTS}
        lines.append(_row([titles[one.entry], *_cells(one, bold)]))
    return "\n".join([*lines, ""])


def _section(task: str, cards: Sequence[Card]) -> str:
    trials = sorted({card.standings[task].trials for card in cards if task in card.standings})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    lines = [task_table(task, cards)]
    lines += [f"- Failed: {card.title}: {card.failures[task]}" for card in cards if task in card.failures]
    reasons: dict[str, list[str]] = {}
    for card in cards:
        if task in card.not_played:
            reasons.setdefault(card.not_played[task], []).append(card.title)
    lines += [f"- Not played: {', '.join(titles)}: {why}." for why, titles in reasons.items()]
    lines += [""] if lines[-1].startswith("-") else []
    entries = sum(task in card.standings for card in cards)
    head = f"## {task}\n\n{_sentence(tasks()[task].why)} {count} trials.\n"
    folded = f'<details markdown="1">\n<summary>The {entries} entries that played it</summary>\n'
    return "\n".join([head, folded, *lines, "</details>\n"])


def _cells(one: Standing, bold: dict[str, bool]) -> list[str]:
    cells = [_told(one.measured["group_regret"])]
    for cost in COSTS:
        text = _told(one.measured[cost])
        cells.append(f"**{text}**" if bold[cost] else text)
    size = one.mean("bytes") / 1000.0
    cells += [_number(one.mean("notices")), _number(size), _told(one.measured["largest_regret"])]
    return [*cells, _number(one.mean("staleness")), f"{one.seconds:.2g}"]


def _ratio(card: Card, yardstick: Card | None, quantity: str) -> float | None:
    """Return the geometric mean over the tasks that both have played; nothing, where a task has none of it."""
    if yardstick is None:
        return None
    pairs = [
        (one.mean(quantity), yardstick.standings[task].mean(quantity))
        for task, one in card.standings.items()
        if task in yardstick.standings
    ]
    if not pairs or any(min(pair) <= 0.0 for pair in pairs):
        return None
    return statistics.geometric_mean([ours / theirs for ours, theirs in pairs])


def _told(one: Estimate) -> str:
    half = half_width(one)
    return _number(one.mean) + ("" if half is None else f" ± {_number(half)}")


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 10.0 or value == int(value) else f"{value:.2g}"


def _table(heads: Sequence[str]) -> list[str]:
    return [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
