"""The report of a simulation says what the frames say, and needs nothing else."""

import html
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cobandit import UCB, Constant, Geometric, Results, immediate, on_demand, silent, simulate
from cobandit.cli import main
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Forgetting,
    Rate,
    Scenario,
    Switches,
    scenario_to_toml,
)
from cobandit.simulator.allowed import immediate_shares, regret_allowed, shares_allowed
from cobandit.theory import total_share_bound, ucb_regret_bound, ucb_share_counts
from cobandit.values.quantum import BERNOULLI

WORLD = Scenario(
    200,
    Arms.of([0.2, 0.5, 0.8]),
    (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.2)), AgentSpec(Rate(0.2))),
    BuiltIn("ucb", alpha=3.0),
)
LOSSY = replace(WORLD, sharing=on_demand(loss_tolerant=True), faults=Faults(loss=0.2))
PAIR = {"on <demand>": WORLD, "alone": replace(WORLD, sharing=silent())}


def small(world: Scenario | dict[str, Scenario] = WORLD, *, trials: int = 3, checkpoints: int = 0) -> Results:
    given = checkpoints or ()
    return simulate(world, trials=trials, seed=7, engine="reference", checkpoints=given)


def table(page: str, section: str) -> dict[str, list[str]]:
    """The table of a scenario: by the first line of its heading, the cells of each row."""
    body = page.split(f'id="{section}"')[1].split("</table>", maxsplit=1)[0]
    rows = re.findall(r"<tr><th>([^<]+).*?</th>(.*?)</tr>", body)
    return {name: [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", cells)] for name, cells in rows}


def told(*values: float | None) -> list[str]:
    """Numbers that stand together have the same decimals, so that the largest has four digits."""
    given = [value for value in values if value is not None]
    assert len(given) == len(values)
    whole = all(value == round(value) for value in given)
    digits = 0 if whole else next(number for number in range(9) if max(map(abs, given)) * 10**number >= 1000)
    return [f"{value:,.{digits}f}" for value in given]


def test_two_engines_are_two_and_say_the_same() -> None:
    one = small(trials=1)
    both = replace(one, about=replace(one.about, engine="compiled and reference"))
    assert "on the reference engine.<" in one.report()
    assert "on the compiled and reference engines, which give the same numbers." in both.report()


@pytest.mark.parametrize("world", [WORLD, LOSSY], ids=["as in the paper", "loss"])
def test_the_table_says_what_the_summary_says(world: Scenario) -> None:
    results = small(world)
    rows = table(results.report(), "scenario-1")
    summary = results.summary()["scenario"]
    nouns = {
        "group_regret": "group regret",
        "realised_regret": "realised regret",
        "dynamic_regret": "dynamic regret",
        "retries": "repeated shares",
        "agent_rounds": "agent-rounds",
        "definition_bits": "bits of Definition 1",
    }
    for quantity, one in summary.items():
        noun = nouns.get(quantity, quantity)
        if one["mean"] == 0 or quantity == "dynamic_regret" or (quantity == "messages" and world is WORLD):
            assert noun not in rows
            continue
        mean, low, high, sd = told(*(one[key] for key in ("mean", "low", "high", "sd")))
        assert rows[noun] == [mean, f"{low} to {high}", sd]
    assert ("repeated shares" in rows) == (world is LOSSY)


def test_one_trial_has_no_interval() -> None:
    page = small(trials=1).report()
    assert table(page, "scenario-1")["shares"][1:] == ["", ""]
    assert "a single trial has no interval" in page


def test_regret_below_zero_has_an_interval_around_it_and_is_drawn() -> None:
    """Against the best fixed arm, where means change: intervals ended at zero, above their mean, and no report came."""
    arms = Arms.of([1.0, 0.0], changes=Switches(((200, (0.0, 1.0)),)))
    world = Scenario(400, arms, (AgentSpec(Rate(0.9)),), sharing=silent(), forgetting=Forgetting(window=20))
    results = small(world, checkpoints=4)
    regret = results.estimate("scenario", "group_regret")
    assert regret.low is not None
    assert regret.high is not None
    assert regret.low < regret.mean < regret.high < 0.0
    assert "</html>" in results.report()
    for chart in (results.plot_regret(), results.plot_regret(log="y"), results.plot_agents(), results.plot_pareto()):
        assert chart.axes[0].get_ylim()[0] < regret.low


def test_names_in_other_scripts_are_drawn_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "世界" in small({"世界": WORLD, "עולם": WORLD}).report()


def test_agents_have_their_means() -> None:
    results = small()
    rows = results.report().split("Each agent, means")[1].split("</table>")[0]
    means = results.agents.groupby("agent").mean(numeric_only=True)
    heads = ("decisions", "regret", "realised_regret", "shares_sent", "shares_received")
    columns = [told(*means[column]) for column in heads]
    for agent, cells in re.findall(r"<tr><th>(\d)</th>(.*?)</tr>", rows):
        assert re.findall(r"<td>(.*?)</td>", cells) == [column[int(agent)] for column in columns]
    assert len(means) == len(re.findall(r"<tr><th>\d</th>", rows)) == 3


def test_several_scenarios_are_compared_and_can_be_jumped_to() -> None:
    page = small(PAIR).report()
    assert [html.unescape(name) for name in re.findall(r'<a href="#scenario-\d">(.*?)</a>', page)] == list(PAIR)
    assert "on <demand>" not in page
    assert "<h2>Compared</h2>" in page
    assert page.count('<section class="card" id="scenario-') == 2


@pytest.mark.parametrize("checkpoints", [0, 4])
def test_the_page_is_one_file_with_a_figure_for_both_themes(checkpoints: int) -> None:
    page = small(PAIR, checkpoints=checkpoints).report()
    assert page.count("<figure>") == 1
    assert ("<h2>Over time</h2>" in page, "<h2>At the end</h2>" in page) == (bool(checkpoints), not checkpoints)
    assert not re.search(r"""(src|srcset|href)="(?!data:image/svg\+xml;base64,|\#)""", page)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"base64,[^\"]+", "", page))


@pytest.mark.parametrize("world", [WORLD, PAIR], ids=["one", "several"])
def test_a_report_without_curves_says_how_to_get_them(world: Scenario | dict[str, Scenario]) -> None:
    pages = [re.sub("<[^>]+>", "", small(world, checkpoints=number).report()) for number in (0, 4)]
    assert ["run again with --checkpoints 50, into another folder" in page for page in pages] == [True, False]


def test_the_scenario_stands_there_as_a_file_and_in_words() -> None:
    page = html.unescape(small().report())
    assert scenario_to_toml(WORLD, trials=3, seed=7) in page
    assert "3 agents: 1 decides in each slot with probability 0.9; 2 decide in each slot with probability 0.2." in page
    assert "cobandit simulate scenario.toml --trials 3 --seed 7" in page


def own_policy(arms: Sequence[str], _seed: int) -> UCB:
    return UCB(arms, quantum=BERNOULLI)


def test_a_scenario_with_a_part_of_ones_own_is_reported_too() -> None:
    page = small(replace(WORLD, policy=own_policy)).report()
    assert f"{__name__}.own_policy" in page
    assert "code of your own, which a file cannot hold" in page
    assert "Theorem" not in page


def test_without_matplotlib_the_numbers_are_reported_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    results = small(checkpoints=2)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = results.report()
    said = "There is no figure: a plot needs the extra \"sim\": pip install 'cobandit[sim]'."
    assert said in html.unescape(page)
    assert "<figure>" not in page
    assert "shares" in table(page, "scenario-1")


# What the theorems allow.


def test_the_theorems_are_asked_with_the_decisions_of_each_trial() -> None:
    results = small()
    decisions = [group["decisions"].tolist() for _, group in results.agents.groupby("trial")]
    shares = [total_share_bound(ucb_share_counts(trial, Constant(1))) for trial in decisions]
    regrets = [
        ucb_regret_bound([0.6, 0.3, 0.0], agent_count=3, alpha=3.0, total_decisions=sum(trial)) for trial in decisions
    ]
    assert shares_allowed(WORLD, decisions) == pytest.approx(sum(shares) / 3)
    assert regret_allowed(WORLD, decisions) == pytest.approx(sum(regrets) / 3)
    assert immediate_shares(WORLD, decisions) == pytest.approx(2 * sum(map(sum, decisions)) / 3)
    page = results.report()
    assert f"Theorem 2 allows {told(sum(shares) / 3)[0]} shares" in page
    assert f"Theorem 1 allows a group regret of {told(sum(regrets) / 3)[0]}." in page
    assert results.summary()["scenario"]["shares"]["mean"] <= sum(shares) / 3  # type: ignore[operator]


def test_where_thresholds_grow_the_page_says_with_which_of_them_theorem_1_was_evaluated() -> None:
    said = "with the largest thresholds that these runs can have reached"
    growing = small(replace(WORLD, sharing=on_demand(Geometric(2)))).report()
    assert (said in growing, said in small(WORLD).report()) == (True, False)


DECISIONS = [[100, 30, 20]]
AWAY = (*WORLD.agents[:2], AgentSpec(Rate(0.2), absences=(Absence(10, 20),)))
APART = (*WORLD.agents[:2], AgentSpec(Rate(0.2), arms=("0", "1")))


@pytest.mark.parametrize(
    ("world", "theorem_1", "theorem_2"),
    [
        (WORLD, True, True),
        (replace(WORLD, sharing=on_demand(Geometric(2))), True, True),
        (replace(WORLD, sharing=on_demand(Geometric(2, phases=True))), True, True),
        (replace(WORLD, sharing=on_demand(Geometric(2, answers_wait=False))), False, False),
        (replace(WORLD, sharing=on_demand(Geometric(2, answers_advance=False))), False, False),
        (replace(WORLD, policy=BuiltIn("aae")), True, True),
        (replace(WORLD, policy=BuiltIn("ucb", alpha=1.0)), False, True),
        (replace(WORLD, policy=BuiltIn("thompson")), False, True),
        (replace(WORLD, sharing=immediate()), False, False),
        (LOSSY, False, True),
        (replace(WORLD, faults=Faults(loss=0.1)), False, True),
        (replace(WORLD, agents=AWAY), False, False),
        (replace(WORLD, agents=APART), False, True),
    ],
)
def test_the_theorems_say_nothing_where_they_do_not_apply(world: Scenario, theorem_1: bool, theorem_2: bool) -> None:
    assert (regret_allowed(world, DECISIONS) is not None) == theorem_1
    assert (shares_allowed(world, DECISIONS) is not None) == theorem_2
    assert (immediate_shares(world, DECISIONS) is not None) == (world.agents is not APART)


@pytest.mark.parametrize("world", [LOSSY, replace(WORLD, faults=Faults(loss=0.02, duplication=0.5, jitter=3))])
def test_lost_and_doubled_messages_let_nobody_send_more_fresh_shares_than_theorem_2_allows(world: Scenario) -> None:
    results = small(world, trials=5)
    decisions = [group["decisions"].tolist() for _, group in results.agents.groupby("trial")]
    most = shares_allowed(world, decisions)
    assert most is not None
    assert 0 < results.summary()["scenario"]["shares"]["mean"] <= most  # type: ignore[operator]


# Beside the results.


def test_the_command_writes_the_report_beside_the_results_and_goes_on_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "world.toml", tmp_path / "out"
    file.write_text(scenario_to_toml(WORLD, trials=2, seed=7), encoding="utf-8")
    command = ["simulate", str(file), "--engine", "reference", "--alone", "--out", str(out)]
    assert main(command) == 0
    assert capsys.readouterr().out.endswith(f"The results are in {out}. Open {out / 'report.html'} to see them.\n")
    assert (out / "report.html").read_text(encoding="utf-8") == Results.load(out).report()
    assert main([*command, "--trials", "4"]) == 0
    assert (out / "report.html").read_text(encoding="utf-8") == Results.load(out).report()
    assert "4 trials from seed 7" in Results.load(out).report()


def test_a_report_goes_where_it_is_told(tmp_path: Path) -> None:
    results = small()
    page = results.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page == results.report()
