"""All experiments are run, measured and reported; here with a few hundred slots each."""

import json
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from cobandit.cli import main
from cobandit.core import Constant, Geometric, Threshold
from cobandit.policies import Confidence
from cobandit.scenario import Arms, BuiltIn
from cobandit.simulator.canvas import Picture
from cobandit.simulator.trials import Trial, run_jobs
from cobandit.studies import figures as drawing
from cobandit.studies import report as reporting
from cobandit.studies import reproduction
from cobandit.studies.bounds import regret_allowed, shares_allowed
from cobandit.studies.comparison import cells
from cobandit.studies.figures import pictures
from cobandit.studies.paper import EASY, TABLES, experiment_1, published, surrogate_arms
from cobandit.studies.readings import GAP_FACTOR, arms_of, is_second, read_again
from cobandit.studies.report import Report, as_html, as_json
from cobandit.studies.reproduction import ALGORITHMS, KINDS, STUDIES, Reproduced, Run, reproduce, studies
from cobandit.theory import aae_regret_bound, gaps_of, ucb_regret_bound
from cobandit.values.errors import LocalError

SHORT = {
    name: replace(
        study,
        points=min(study.points, 4),
        worlds={point: replace(world, horizon=400) for point, world in study.worlds.items()},
    )
    for name, study in STUDIES.items()
}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four hundred slots of every experiment."""
    for module in (reproduction, reporting):
        monkeypatch.setattr(module, "STUDIES", SHORT)


@pytest.fixture(scope="module")
def tables() -> list[Reproduced]:
    """Two short trials of every experiment that has a table."""
    return list(reproduce([SHORT[name] for name in ("3", "5", "6a", "6b", "7")], trials=2, workers=2))


def as_published(name: str) -> Reproduced:
    """An experiment in which every trial is exactly as published, but AAE's regret and ODC's messages are halved.

    In the second reading of Experiment 3 they are not.
    """
    runs = {}
    world = STUDIES[name].worlds[0]
    for algorithm in STUDIES[name].algorithms:
        printed = algorithm.partition(", ")[0]
        row, is_half = published()[name, printed], not (is_second(algorithm) and name == "3")
        totals = {
            "shares": row.communications / (2 if "ODC" in algorithm and is_half else 1),
            "group_regret": row.group_regret / (2 if "AAE" in algorithm and is_half else 1),
            "realised_regret": row.group_regret,
        }
        trial = Trial(algorithm, 0, totals, {"decisions": [1.0] * 10})
        runs[0, algorithm] = Run(world, world.scenario(printed), algorithm, (trial, trial))
    return Reproduced(STUDIES[name], runs, trials=2, seconds=1.0)


def test_all_experiments_come_in_the_order_of_the_paper() -> None:
    assert [study.name for study in studies()] == ["1", "2", "3", "4", "5", "6a", "6b", "7", "easy"]
    assert [study.name for study in studies(["7", "3", "7"])] == ["3", "7"]


def test_a_quick_run_has_fewer_worlds_but_every_experiment() -> None:
    quick = studies(quick=True)
    assert [study.name for study in quick] == list(STUDIES)
    assert [list(study.worlds) for study in quick[:2]] == [[10, 20, 30], [5, 15, 30]]


def test_an_unknown_experiment_is_named() -> None:
    with pytest.raises(LocalError, match="experiment '8' is not one of 1, 2, 3, 4, 5, 6a, 6b, 7, easy"):
        studies(["5", "8"])


def test_the_kinds_of_pairs_add_up_to_all_shares() -> None:
    (one,) = reproduce([SHORT["1"].quick()], trials=2, workers=2)
    for run in one.runs.values():
        assert sum(run.mean(kind) for kind in KINDS) == run.mean("shares") > 0
    broadcast = one.run("UCB-IBC", 30)
    fast = sum(broadcast.by_agent("decisions")[agent] for agent in experiment_1(30).fast)
    assert broadcast.mean("among fast") == pytest.approx(9 * fast)
    assert len(broadcast.individual_regrets(fast=True)) == 2 * 10
    assert len(broadcast.individual_regrets(fast=False)) == 2 * 30


def test_no_kind_of_pair_sends_more_than_theorem_2_allows() -> None:
    (one,) = reproduce([SHORT["2"].quick()], trials=2, workers=2)
    on_demand = [run for run in one.runs.values() if "ODC" in run.algorithm]
    assert len(on_demand) == 3 * 4
    for run in on_demand:
        allowed = shares_allowed(run)
        assert all(run.mean(kind) <= allowed[kind] for kind in KINDS)


def test_group_regret_is_below_what_theorem_1_allows_and_with_growing_thresholds_it_allows_more() -> None:
    """The easy instance, whole: with its large gaps the theorem says something, less than the worst arm would cost."""
    (one,) = reproduce([STUDIES["easy"]], trials=2, workers=2)
    gaps = gaps_of(one.run("UCB-ODC").scenario.arms.means)
    for algorithm, theorem in (("UCB-ODC", ucb_regret_bound), ("AAE-ODC", aae_regret_bound)):
        run = one.run(algorithm)
        by_trial = [
            theorem(gaps, agent_count=15, alpha=3.0, total_decisions=round(decisions), thresholds=1)
            for decisions in run.values("decisions")
        ]
        allowed = regret_allowed(run)
        assert allowed is not None
        assert allowed == pytest.approx(sum(by_trial) / 2)
        assert run.mean("group_regret") < allowed < run.mean("decisions") * max(gaps)
    doubling = regret_allowed(replace(run, scenario=EASY.scenario("AAE-ODC-D")))
    assert doubling is not None
    assert allowed is not None
    assert doubling > allowed


def test_the_report_tells_what_the_theorems_allow_to_odc_as_printed(tables: list[Reproduced]) -> None:
    content = as_json(Report(tables, 1, surrogate_arms()))
    told = {
        (one["experiment"], run["algorithm"]): (run["theorem_1"], run["theorem_2"])
        for one in json.loads(json.dumps(content))["experiments"]
        for run in one["runs"]
    }
    for one in tables:
        for algorithm in one.study.algorithms:
            run = one.run(algorithm)
            as_printed = algorithm in ("UCB-ODC", "AAE-ODC")
            expected = (regret_allowed(run), sum(shares_allowed(run).values())) if as_printed else (None, None)
            assert told[one.study.name, algorithm] == expected
    assert told["3", "UCB-ODC"][0] > 0.0
    assert told["5", "UCB-ODC"][0] > 0.0


def test_the_figures_say_what_theorem_1_allows_and_regrets_begin_at_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list(reproduce([SHORT[name].quick() for name in ("1", "easy")], trials=1, workers=2))
    figures: list[Figure] = []

    def keep(name: str, caption: str, height: float, draw: Callable[[Figure], None], **_: object) -> Picture:
        figures.append(Figure(figsize=(9.0, height)))
        draw(figures[-1])
        return Picture(name, caption, b"", bytes)

    monkeypatch.setattr(drawing, "picture", keep)
    for one, panel in zip(drawn, (2, 0), strict=True):
        list(pictures(one))
        main, *_ = figures
        figures.clear()
        axes = main.axes[panel]
        (said,) = (text.get_text().splitlines() for text in axes.texts)
        for policy, line in zip(("UCB", "AAE"), said, strict=True):
            allowed = [regret_allowed(one.run(f"{policy}-ODC", point)) or 0.0 for point in one.study.worlds]
            assert line.startswith(f"Theorem 1 allows {policy}-ODC {min(allowed):,.0f}")
        assert (axes.get_yscale(), axes.get_ylim()[0]) == ("linear", 0.0)


def test_a_figure_says_so_if_aaes_messages_are_ucbs() -> None:
    (short,) = reproduce([SHORT["1"].quick()], trials=1, workers=1)
    captions = {picture.name: picture.caption for picture in pictures(short)}
    same = "AAE's messages are UCB's here"
    assert [name for name, caption in captions.items() if same in caption] == [
        "experiment-1",
        "experiment-1-thresholds",
    ]
    (easy,) = reproduce([SHORT["easy"]], trials=1, workers=1)
    assert [picture.name for picture in pictures(easy) if same in picture.caption] == []


def test_one_and_two_workers_measure_the_same() -> None:
    (one,), (two,) = (reproduce([SHORT["5"]], trials=3, workers=workers) for workers in (1, 2))
    assert one.runs == two.runs


def test_every_table_is_run_as_printed_and_read_again(tables: list[Reproduced]) -> None:
    for one in tables:
        assert list(one.study.algorithms) == [*ALGORITHMS, *(f"{name}, second reading" for name in ALGORITHMS)]


@pytest.mark.parametrize(
    ("name", "algorithm", "threshold", "confidence", "best"),
    [
        ("3", "UCB-ODC", Geometric(2, answers_wait=False), "own", 0.15),
        ("3", "AAE-IBC", Geometric(2, answers_wait=False), "own+2", 0.15),
        ("6a", "UCB-IBC", Constant(1), "own", 0.280602),
        ("6a", "AAE-ODC", Constant(1), "own+2", 0.280602),
    ],
)
def test_a_second_reading_changes_answers_delta_and_arms(
    name: str, algorithm: str, threshold: Threshold, confidence: Confidence, best: float
) -> None:
    printed, again = TABLES[name].scenario(algorithm), read_again(TABLES[name], algorithm)
    assert again == replace(
        printed,
        arms=again.arms,
        policy=BuiltIn(algorithm[:3].lower(), alpha=3.0, confidence=confidence),
        sharing=printed.exchange._replace(threshold=threshold),
    )
    assert max(again.arms.means) == best
    own = Arms.of([0.5, 0.25])
    assert read_again(TABLES[name], algorithm, own).arms == own


def test_the_arms_of_a_second_reading_have_gaps_that_are_larger_by_the_fitted_factor() -> None:
    gaps, larger = gaps_of(surrogate_arms().means), gaps_of(arms_of("5").means)
    assert larger == pytest.approx([GAP_FACTOR * gap for gap in gaps])


def test_the_report_has_every_published_cell(tables: list[Reproduced]) -> None:
    found = {(cell.experiment, cell.algorithm, cell.quantity): cell for cell in cells(tables)}
    page = as_html(Report(tables, 1, surrogate_arms()), [], {one.study.name: [] for one in tables})
    for (name, algorithm), row in published().items():
        assert found[name, algorithm, "communications"].published == row.communications
        assert found[name, algorithm, "group regret"].published == row.group_regret
        for number in (row.communications, row.communications_sd, row.group_regret, row.group_regret_sd):
            assert f"{number:,.0f}<" in page
    assert len(found) == 2 * len(published()) == 40


def test_every_cell_has_its_sentence_on_the_page() -> None:
    report = Report([as_published("3"), as_published("5")], 1, surrogate_arms())
    page = as_html(report, [], {"3": [], "5": []})
    assert "<strong>12 of 16 cells</strong>" in page
    assert page.count('class="far"') == 4
    assert page.count('class="word"') == 16
    assert "6 of 8 message counts and 6 of 8 regrets" in page
    assert "has 8 of 16 within 3" in page
    assert "As printed at most 549 are possible" in page
    assert "<h3>What remains unexplained</h3>" in page


def test_arms_of_a_user_leave_nothing_unexplained(tables: list[Reproduced]) -> None:
    own = Report(tables, 1, surrogate_arms(), Path("mine.csv"))
    assert own.unexplained == []
    assert "What remains unexplained" not in as_html(own, [], {one.study.name: [] for one in tables})


def test_the_report_for_programs_says_the_same_as_the_page(tables: list[Reproduced]) -> None:
    content = json.loads(json.dumps(as_json(Report(tables, 1, surrogate_arms()))))
    assert len(content["cells"]) == 40
    for cell in content["cells"]:
        assert cell["printed"]["trials"] == cell["best_reading"]["trials"] == 2
        assert cell["sentence"]
        assert ("realised" in cell) == (cell["quantity"] == "group regret")
    assert len(content["unexplained"]) == 3
    assert [one["experiment"] for one in content["experiments"]] == ["3", "5", "6a", "6b", "7"]
    assert (content["seed"], content["complete"], content["arms"]["file"]) == (1, False, None)


@pytest.mark.usefixtures("short")
def test_the_command_writes_a_page_that_needs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    assert main(["reproduce", "--quick", "--trials", "2", "--workers", "2", "--out", str(folder)]) == 0
    printed = capsys.readouterr()
    assert f"The report is in {folder / 'report.html'}." in printed.out
    assert "`cobandit reproduce` runs all of it" in printed.out
    assert [line.split(":")[0] for line in printed.err.splitlines() if line[:9] != "cobandit:"] == list(STUDIES)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|srcset|href)="(?!data:image/svg\+xml;base64,|\#)""", page)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"base64,[^\"]+", "", page))
    drawn = {path.stem for path in folder.glob("*.svg")}
    assert {path.stem for path in folder.glob("*.pdf")} == drawn
    assert drawn == {
        "overview", "experiment-1", "experiment-1-thresholds", "experiment-1-individual", "experiment-2",
        "experiment-2-thresholds", "experiment-2-individual", "experiment-4", "easy",
    }  # fmt: skip
    assert page.count("<figure>") == len(drawn)
    assert sorted(re.findall(r"<figcaption>Figure (\d) of the paper", page)) == ["2", "3", "4", "5", "6", "7", "8", "9"]
    assert re.findall(r"<h2>Experiment (\w+) \(Table (\d) of the paper\)</h2>", page) == [
        ("3", "2"), ("5", "3"), ("6a", "4"), ("6b", "5"), ("7", "6"),
    ]  # fmt: skip
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["complete"] is False
    assert list(folder.glob("*.part")) == []


@pytest.mark.usefixtures("short")
def test_an_experiment_without_a_table_has_a_line_too_and_compiling_is_not_hidden_in_its_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def after_a_note(*arguments: Any, **options: Any) -> Any:
        logging.getLogger("cobandit.simulator").warning("compiling")
        return run_jobs(*arguments, **options)

    monkeypatch.setattr(reproduction, "run_jobs", after_a_note)
    assert main(["reproduce", "easy", "--trials", "1", "--workers", "1", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert re.findall(r"^easy: (\S+): [\d,]+ messages, regret [\d,]+$", out, re.MULTILINE) == ["UCB-ODC", "AAE-ODC"]
    assert re.search(r"^easy: 1 trial in [\d.]+ s, including compiling the engine$", err, re.MULTILINE)


@pytest.mark.usefixtures("short")
def test_a_report_of_what_the_paper_does_not_have_does_not_claim_published_numbers(tmp_path: Path) -> None:
    assert main(["reproduce", "loss", "--quick", "--trials", "1", "--workers", "2", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>On-demand communication, beyond the paper</h1>" in page
    assert "published deviation" not in page
    groups = re.findall(r'<tr class="group"><th colspan="6" scope="rowgroup">([^<]+)</th></tr><tr><th>(0 % lost)', page)
    assert [name for name, _ in groups] == [
        "ODC as printed", "ODC, loss-tolerant", "ODC as printed, doubling", "ODC, loss-tolerant, doubling",
        "immediate broadcast", "no communication",
    ]  # fmt: skip


@pytest.mark.usefixtures("short")
def test_arms_of_a_user_are_used_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arms = tmp_path / "<my> arms.csv"
    arms.write_text("arm,mean\nA,0.5\nB,0.25\n", encoding="utf-8")
    assert main(["reproduce", "5", "--trials", "2", "--arms", str(arms), "--out", str(tmp_path)]) == 0
    assert "The report is in" in capsys.readouterr().out
    content = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert content["arms"] == {"file": "<my> arms.csv", "means": [0.5, 0.25]}
    assert "&lt;my&gt; arms.csv" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_wrong_arguments_are_named_before_anything_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "fleets", "8", "--out", str(tmp_path / "out")]) == 2
    assert (
        capsys.readouterr().err
        == "cobandit: experiment '8' is not one of 1, 2, 3, 4, 5, 6a, 6b, 7, easy, loss, phases, spread, fleets\n"
    )
    assert main(["reproduce", "--arms", str(tmp_path / "none.csv"), "--out", str(tmp_path / "out")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
