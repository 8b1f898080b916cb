"""Tables for papers say what ± means, and have one row per scenario or point."""

from dataclasses import replace

import pytest

from cobandit import LocalError, simulate, sweep
from cobandit.protocols import plug_in
from cobandit.protocols.gosine import Gosine
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario

WORLD = Scenario(60, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)),) * 2)


def test_markdown_and_latex_tell_the_same_estimates() -> None:
    results = simulate({"a_b|50 %": WORLD}, trials=3, seed=7, engine="reference")
    regret, rounds = (results.estimate("a_b|50 %", quantity) for quantity in ("group_regret", "agent_rounds"))
    assert regret.high is not None
    assert rounds.high is not None
    cells = [
        f"{regret.mean:,.3f} ± {regret.high - regret.mean:,.3f}",
        f"{rounds.mean:,.2f} ± {rounds.high - rounds.mean:,.2f}",
    ]
    assert results.to_markdown(("group_regret", "agent_rounds")) == (
        "| scenario | group regret | agent rounds |\n"
        "| --- | ---: | ---: |\n"
        f"| a_b\\|50 % | {cells[0]} | {cells[1]} |\n"
        "\n"
        "Mean over 3 trials; ± is half of the 95 % interval of the mean (Student's t).\n"
    )
    told = [cell.replace("±", r"$\pm$") for cell in cells]
    assert results.to_latex(("group_regret", "agent_rounds")) == (
        "% Mean over 3 trials; ± is half of the 95 % interval of the mean (Student's t).\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "scenario & group regret & agent rounds \\\\\n"
        "\\midrule\n"
        f"a\\_b|50 \\% & {told[0]} & {told[1]} \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_a_sweep_has_a_column_for_each_parameter_and_one_trial_has_no_interval() -> None:
    results = sweep(
        lambda rate: Scenario(60, WORLD.arms, (AgentSpec(Rate(rate)),)), rate=[0.1, 1.0], trials=1, engine="reference"
    )
    lines = results.to_markdown(("decisions", "messages")).splitlines()
    assert lines[0] == "| rate | decisions | messages |"
    assert lines[3] == "| 1.0 | 60 | 0 |"


def test_the_usual_table_has_both_counts_of_communication() -> None:
    head = simulate(WORLD, trials=1, engine="reference").to_markdown().splitlines()[0]
    assert head == "| scenario | group regret | messages | agent rounds | bytes | staleness |"


def test_what_nobody_knows_is_unknown() -> None:
    results = simulate({"names": replace(WORLD, sharing=plug_in(Gosine))}, trials=2, engine="reference")
    assert results.to_markdown(["decisions", "staleness"]).splitlines()[2].endswith("| unknown |")
    assert results.to_latex().splitlines()[5].endswith(r"& unknown \\")


def test_what_was_not_measured_is_said() -> None:
    with pytest.raises(LocalError, match="'regrets' was not measured: there is shares, notices"):
        simulate(WORLD, trials=1, engine="reference").to_latex(("regrets",))
