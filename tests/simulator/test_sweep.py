"""Sweeps: points of a grid on the same tapes, columns in every frame, folders that grow; and results put together."""

from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

import cobandit
from cobandit import Constant, Geometric, LocalError, Results, on_demand, silent, simulate, sweep
from cobandit.core import Threshold
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.simulator.frames import COLUMNS


def world(threshold: int, agents: int = 2) -> Scenario:
    group = (AgentSpec(Rate(0.5)),) * agents
    return Scenario(60, Arms.of([0.2, 0.8]), group, sharing=on_demand(Constant(threshold)))


def swept(**options: Any) -> Results:
    usual: dict[str, Any] = {"threshold": [1, 4], "agents": [2, 3], "trials": 2, "seed": 7, "engine": "reference"}
    return sweep(world, **{**usual, **options})


def assert_equal(got: Results, ref: Results) -> None:
    for frame in COLUMNS:
        assert_frame_equal(getattr(got, frame), getattr(ref, frame), check_exact=True)
    assert got.about == ref.about


def test_what_is_varied_is_a_column_of_every_frame_and_the_rest_is_as_in_a_simulation() -> None:
    results = swept(checkpoints=2, keep=("pulls", "links", "agents_over_time"))
    for frame in COLUMNS:
        assert list(getattr(results, frame).columns[:4]) == ["scenario", "threshold", "agents", "trial"]
    points = results.trials[["threshold", "agents"]].drop_duplicates().to_numpy().tolist()
    assert points == [[1, 2], [1, 3], [4, 2], [4, 3]]
    assert results.trials["threshold"].dtype.kind == "i"
    ref = simulate({"p": world(4, 3)}, trials=2, seed=7, engine="reference")
    got = results.trials[results.trials["scenario"] == "threshold=4, agents=3"]
    columns = list(COLUMNS["trials"])
    assert_frame_equal(got[columns].reset_index(drop=True), ref.trials[columns])
    assert results.compare("threshold=1, agents=2", "threshold=4, agents=2", "messages").difference.mean > 0


def test_a_point_may_have_several_algorithms_and_values_may_have_names() -> None:
    def both(threshold: Threshold) -> dict[str, Scenario]:
        base = world(1)
        talking = Scenario(60, base.arms, base.agents, sharing=on_demand(threshold))
        return {"ODC": talking, "alone": Scenario(60, base.arms, base.agents, sharing=silent())}

    named = {"constant": Constant(4), "doubling": Geometric(2)}
    results = sweep(both, threshold=named, trials=1, engine="reference")
    assert results.trials[["scenario", "algorithm", "threshold"]].to_numpy().tolist() == [
        ["ODC, threshold=constant", "ODC", "constant"],
        ["alone, threshold=constant", "alone", "constant"],
        ["ODC, threshold=doubling", "ODC", "doubling"],
        ["alone, threshold=doubling", "alone", "doubling"],
    ]


@pytest.mark.parametrize(
    ("grid", "text"),
    [
        ({}, r"there is nothing to vary: pass threshold=\[1, 4, 16\], for example"),
        ({"threshold": []}, r"threshold must be a list of values, or values by name, at least one, not \[\]"),
        ({"threshold": 3}, "threshold must be a list of values, or values by name, at least one, not 3"),
        (
            {"threshold": [Constant(1)]},
            r"threshold has Constant\(.*\), which cannot be in a column: give values by name",
        ),
        ({"threshold": [1, 1]}, r"threshold has a value twice: \[1, 1\]"),
        ({"trial": [1]}, "trial is a column of the frames already: give the parameter another name"),
        ({"threshold": range(1, 2000), "agents": range(2, 200)}, "the grid has 395,802 points, more than 100,000"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(grid: dict[str, Any], text: str) -> None:
    with pytest.raises(LocalError, match=text):
        sweep(world, **grid)


def test_a_point_must_be_a_scenario() -> None:
    with pytest.raises(LocalError, match="the scenario of threshold=1 must be a Scenario, or several by name, not 'x'"):
        sweep(lambda threshold: "x", threshold=[1])  # type: ignore[arg-type, return-value]  # noqa: ARG005


# Folders.


def test_a_folder_grows_by_points_and_by_trials(tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    swept(threshold=[1], agents=[2], out=tmp_path)
    ran.clear()
    more = swept(threshold=[4], agents=[2], out=tmp_path)
    assert ran == [("threshold=4, agents=2", 0), ("threshold=4, agents=2", 1)]
    assert_equal(more, swept(threshold=[4], agents=[2]))
    assert_equal(Results.load(tmp_path), swept(agents=[2]))
    ran.clear()
    longer = swept(agents=[2], trials=3, out=tmp_path)
    assert sorted(ran) == [("threshold=1, agents=2", 2), ("threshold=4, agents=2", 2)]
    assert_equal(longer, swept(agents=[2], trials=3))
    assert_equal(Results.load(tmp_path), longer)


def test_an_interrupted_sweep_goes_on(tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        swept(out=tmp_path, workers=1, progress=interrupt)
    ran.clear()
    assert_equal(swept(out=tmp_path), swept())
    assert len(ran) - 8 == 5  # the second sweep runs all eight


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"seed": 8}, r"holds another run \(seed 7 in place of 8\)"),
        ({"agents": [2], "trials": 3}, r"points that this sweep does not have \(threshold=1, agents=3; threshold=4"),
        ({"trials": 1}, "holds the same run with 2 trials, more than 1"),
        (
            {"engine": "auto"},
            "holds another scenario as 'threshold=1, agents=2' \\(different: engine\\): choose another folder",
        ),
    ],
)
def test_a_folder_with_another_sweep_is_left_as_it_is(
    other: dict[str, Any], text: str, tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    swept(out=tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    ran.clear()
    with pytest.raises(LocalError, match=text):
        swept(**other, out=tmp_path)
    assert ran == []
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


# Results put together.


def test_points_and_trials_of_two_machines_become_one_result(tmp_path: Path) -> None:
    whole = swept(trials=4, checkpoints=2)
    halves = [swept(trials=2, first_trial=first, checkpoints=2, out=tmp_path / str(first)) for first in (0, 2)]
    assert_equal(Results.merge(tmp_path / "0", tmp_path / "2"), whole)
    assert_equal(Results.merge(halves[1], halves[0]), whole)
    points = [swept(trials=4, checkpoints=2, threshold=[threshold]) for threshold in (1, 4)]
    assert_equal(Results.merge(*points), whole)
    Results.merge(*points).save(tmp_path / "merged")
    assert_equal(Results.load(tmp_path / "merged"), whole)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": 8}, "results with different seeds cannot be merged: 7 and 8"),
        ({"checkpoints": 2}, "results with different checkpoints cannot be merged"),
        ({"first_trial": 1}, "trial 1 of 'threshold=1, agents=2' is in two of the results"),
        ({"first_trial": 3}, "trial 2 of 'threshold=1, agents=2' is missing between the others: run it"),
        ({"threshold": [9], "trials": 3}, "has trials 0 to 1, and 'threshold=9, agents=2' 0 to 2: run the same trials"),
        ({"threshold": [1, 9], "first_trial": 2}, "has trials 0 to 3, and 'threshold=4, agents=2' 0 to 1"),
    ],
)
def test_results_that_do_not_belong_together_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(LocalError, match=text):
        Results.merge(swept(), swept(**options))


def test_results_of_other_versions_and_other_scenarios_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = simulate({"w": world(1)}, trials=1, engine="reference")
    with pytest.raises(LocalError, match="two different scenarios are called 'w': they cannot be merged"):
        Results.merge(one, simulate({"w": world(2)}, trials=1, first_trial=1, engine="reference"))
    monkeypatch.setattr(cobandit, "__version__", "9.9")
    with pytest.raises(LocalError, match=r"different versions of cobandit cannot be merged: '.*' and '9\.9'"):
        Results.merge(one, simulate({"w": world(1)}, trials=1, first_trial=1, engine="reference"))
    with pytest.raises(LocalError, match="there is nothing to merge: give at least one result"):
        Results.merge()
