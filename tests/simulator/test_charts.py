"""Figures that people print: everybody can tell the scenarios apart, text is text, and what is shown is right."""

import io
import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from PIL import Image

from cobandit import Geometric, LocalError, immediate, on_demand, silent
from cobandit.look.tokens import colours
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Rate, Scenario
from cobandit.simulator.charts import PALETTE
from cobandit.simulator.plots import LINES, MARKERS, dominated
from cobandit.simulator.results import Results
from cobandit.simulator.simulate import simulate

WORLD = Scenario(300, Arms.of([0.2, 0.5, 0.8]), (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.2))), BuiltIn("ucb"))
WORLDS = {
    "on demand": WORLD,
    "immediate": replace(WORLD, sharing=immediate()),
    "silent": replace(WORLD, sharing=silent()),
    "doubling": replace(WORLD, sharing=on_demand(Geometric(2))),
    "greedy": replace(WORLD, policy=BuiltIn("ucb", alpha=0.1)),
    "KL-UCB": replace(WORLD, policy=BuiltIn("kl-ucb")),
    "Thompson": replace(WORLD, policy=BuiltIn("thompson")),
    "cautious": replace(WORLD, policy=BuiltIn("ucb", alpha=9.0)),
}
PLOTS = ("plot_regret", "plot_communication", "plot_agents", "plot_pareto")


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(WORLDS, trials=3, seed=7, engine="reference", checkpoints=24)


def test_the_colours_in_use_are_those_that_everybody_tells_apart(results: Results) -> None:
    """`tests/look/test_look.py` holds the series to contrast and distance."""
    drawn = {line.get_color() for line in results.plot_regret().axes[0].lines}
    assert drawn == set(PALETTE) == {colours(dark=False)[f"series-{number}"] for number in range(1, 8)}


def test_scenarios_differ_in_more_than_colour(results: Results) -> None:
    lines = results.plot_regret().axes[0].lines
    looks = [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines]
    assert len(set(looks)) == len(WORLDS)
    assert [line.get_marker() for line in lines][:7] == list(MARKERS)
    many = list(zip(itertools.cycle(PALETTE), itertools.cycle(LINES), range(28), strict=False))
    assert len({(colour, style) for colour, style, _ in many}) == 28


@pytest.mark.parametrize("plot", PLOTS)
def test_files_have_text_as_text_and_are_the_same_each_time(plot: str, results: Results, tmp_path: Path) -> None:
    written: dict[str, list[bytes]] = {"pdf": [], "svg": [], "png": []}
    for turn in range(2):
        for suffix, files in written.items():
            path = tmp_path / f"{turn}.{suffix}"
            assert isinstance(getattr(results, plot)(path), Figure)
            files.append(path.read_bytes())
    assert all(first == second for first, second in written.values())
    svg = written["svg"][0].decode()
    assert {"silent", "doubling"} <= set(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    assert written["pdf"][0].startswith(b"%PDF")
    assert b"/CIDFontType2" in written["pdf"][0] or b"/TrueType" in written["pdf"][0]  # fonts are in the file
    assert b"/Type3" not in written["pdf"][0]


@pytest.mark.parametrize("plot", PLOTS)
def test_a_notebook_shows_it(plot: str, results: Results) -> None:
    with Image.open(io.BytesIO(getattr(results, plot)()._repr_png_())) as shown:
        assert (shown.format, shown.size) == ("PNG", (704, 440))


@pytest.mark.parametrize("plot", PLOTS)
def test_axes_say_what_they_have_and_in_which_unit(plot: str, results: Results) -> None:
    (axes,) = getattr(results, plot)().axes
    labels = {
        "plot_regret": ("time (slots)", "group regret (reward lost)\nmean and 95 % interval"),
        "plot_communication": ("time (slots)", "shares sent (messages)\nmean and 95 % interval"),
        "plot_agents": ("agent", "regret (reward lost)\nmean and 95 % interval"),
        "plot_pareto": (
            "messages (count)\nmean and 95 % interval",
            "group regret (reward lost)\nmean and 95 % interval",
        ),
    }
    assert (axes.get_xlabel(), axes.get_ylabel()) == labels[plot]


def test_axes_are_linear_unless_one_asks(results: Results) -> None:
    scales = {
        log: tuple(getattr(results.plot_regret(log=log).axes[0], f"get_{axis}scale")() for axis in "xy")
        for log in ("", "x", "y", "xy")
    }
    assert scales == {"": ("linear",) * 2, "x": ("log", "linear"), "y": ("linear", "log"), "xy": ("log", "log")}
    assert results.plot_communication(log="y").axes[0].get_yscale() == "symlog"  # one of them sends nothing
    with pytest.raises(LocalError, match='log must be "x", "y", "xy" or ""'):
        results.plot_regret(log="yes")


def test_without_checkpoints_time_has_no_axis() -> None:
    at_the_end = simulate(WORLD, trials=2, seed=7, engine="reference")
    assert at_the_end.plot_regret(log="y").axes[0].get_yscale() == "log"
    with pytest.raises(LocalError, match="without checkpoints"):
        at_the_end.plot_regret(log="x")


def test_regret_against_messages_has_the_means_and_marks_who_is_dominated(results: Results) -> None:
    (axes,) = results.plot_pareto().axes
    summary = results.summary()
    means: dict[str, tuple[Any, Any]] = {
        name: (summary[name]["messages"]["mean"], summary[name]["group_regret"]["mean"]) for name in WORLDS
    }
    worse = dominated(means)
    assert "immediate" in worse or "on demand" in worse
    shown = {str(one.get_label()): one for one in axes.containers}
    assert set(shown) == {f"{name} (dominated)" if name in worse else name for name in WORLDS}
    for name, point in means.items():
        marker = shown[f"{name} (dominated)" if name in worse else name][0]
        assert (marker.get_xdata()[0], marker.get_ydata()[0]) == point
        assert (marker.get_markerfacecolor() == "white") == (name in worse)


def test_intervals_are_those_of_the_summary(results: Results) -> None:
    (axes,) = results.plot_pareto().axes
    container = axes.containers[0]
    (bars_x, bars_y) = (bars.get_segments()[0] for bars in container[2])
    summary = results.summary()["on demand"]
    assert [bars_x[0][0], bars_x[1][0]] == pytest.approx([summary["messages"][end] for end in ("low", "high")])
    assert [bars_y[0][1], bars_y[1][1]] == pytest.approx([summary["group_regret"][end] for end in ("low", "high")])


def test_the_regret_of_agents_is_that_of_the_frame(results: Results) -> None:
    (axes,) = results.plot_agents().axes
    rows = results.agents[results.agents["scenario"] == "on demand"]
    marks = axes.containers[0][0]
    assert list(marks.get_ydata()) == pytest.approx(rows.groupby("agent")["regret"].mean().tolist())
    crowd = replace(WORLD, horizon=5, agents=(AgentSpec(Rate(0.5)),) * 120, sharing=silent())
    (axes,) = simulate(crowd, trials=2, engine="reference").plot_agents().axes
    assert axes.get_xlabel() == "agent (the first 100 of 120)"
    assert len(axes.containers[0][0].get_ydata()) == 100


def test_a_notebook_shows_results_as_a_table() -> None:
    shown = simulate({"a < b": WORLD, "alone": WORLDS["silent"]}, trials=2, seed=7, engine="reference")._repr_html_()
    heads = re.findall(r"<th>([^<]*)</th>", shown)
    assert heads == ["", "group regret", "shares", "messages", "bytes", "decisions", "a &lt; b", "alone"]
    assert shown.endswith("<p>Means over 2 trials from seed 7, ± half of the 95 % interval.</p>")
    assert shown.count("<td>") == 10
