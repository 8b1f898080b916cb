"""Arms have names and means, from a list, from chance or from a file."""

import math
import statistics
from pathlib import Path

import pytest

from cobandit.scenario import Arms
from cobandit.studies.paper import surrogate_arms
from cobandit.values.errors import LocalError


def test_arms_without_names_are_numbered() -> None:
    assert Arms.of([0.2, 0.7]) == Arms(("0", "1"), (0.2, 0.7))


def test_the_mean_of_an_arm_goes_by_its_name() -> None:
    arms = Arms(("x", "y", "z"), (0.2, 0.7, 0.5))
    assert [arms.mean(name) for name in ("z", "x")] == [0.5, 0.2]


def test_the_best_mean_is_that_among_the_named_arms() -> None:
    arms = Arms(("x", "y", "z"), (0.2, 0.7, 0.5))
    assert arms.best(arms.names) == 0.7
    assert arms.best(("x", "z")) == 0.5
    assert arms.best(("x",)) == 0.2


def test_means_may_be_zero_and_one() -> None:
    assert Arms.of([0, 1, 0.0, 1.0]).means == (0, 1, 0.0, 1.0)


@pytest.mark.parametrize("mean", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None])
def test_a_mean_that_is_no_probability_is_refused_with_its_arm(mean: object) -> None:
    with pytest.raises(LocalError, match=rf"the mean of arm y must be a number in \[0, 1\], not {mean!r}"):
        Arms(("x", "y"), (0.5, mean))  # type: ignore[arg-type]


@pytest.mark.parametrize("means", [(0.5,), (0.5, 0.5, 0.5)])
def test_every_arm_needs_one_mean(means: tuple[float, ...]) -> None:
    with pytest.raises(LocalError, match=f"2 arm names but {len(means)} means: give one mean for each arm"):
        Arms(("x", "y"), means)


def test_a_world_has_at_least_one_arm() -> None:
    with pytest.raises(LocalError, match="the arm set is empty"):
        Arms.of([])


def test_names_differ() -> None:
    with pytest.raises(LocalError, match="arm names must differ, but x is given more than once"):
        Arms(("x", "x"), (0.5, 0.5))


def test_drawn_means_lie_in_their_range_and_fill_it() -> None:
    """4,000 means from [0.2, 0.6]; their mean within 5 standard errors of 0.4."""
    arms = Arms.uniform(4000, 0.2, 0.6, seed=3)
    assert len(arms.names) == 4000
    assert 0.2 <= min(arms.means) < 0.201
    assert 0.599 < max(arms.means) <= 0.6
    assert abs(statistics.fmean(arms.means) - 0.4) < 5 * 0.4 / math.sqrt(12 * 4000)


def test_the_same_seed_draws_the_same_means() -> None:
    assert Arms.uniform(5, 0.0, 1.0, seed=3) == Arms.uniform(5, 0.0, 1.0, seed=3)
    assert Arms.uniform(5, 0.0, 1.0, seed=3) != Arms.uniform(5, 0.0, 1.0, seed=4)
    assert Arms.uniform(5, 0.0, 1.0, seed=3).means == Arms.uniform(9, 0.0, 1.0, seed=3).means[:5]


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.5), (0.5, 1.1), (0.6, 0.5), (math.nan, 0.5)])
def test_a_range_outside_zero_to_one_is_refused(low: float, high: float) -> None:
    with pytest.raises(LocalError, match=rf"means are drawn from a range inside \[0, 1\], not \[{low}, {high}\]"):
        Arms.uniform(3, low, high, seed=1)


@pytest.mark.parametrize("count", [0, -1, 4097, 2.5])
def test_the_number_of_drawn_arms_is_limited(count: int) -> None:
    with pytest.raises(LocalError, match=f"the number of arms must be a whole number from 1 to 4096, not {count}"):
        Arms.uniform(count, 0.0, 1.0, seed=1)


def table(folder: Path, text: str) -> Path:
    path = folder / "arms.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_arms_in_its_order(tmp_path: Path) -> None:
    path = table(tmp_path, "mean,arm,note\n0.25,red,warm\n1,blue,\n")
    assert Arms.from_csv(path) == Arms.from_csv(str(path)) == Arms(("red", "blue"), (0.25, 1.0))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("arm,mean\nred,0.5\nblue,high\n", r"arms\.csv, line 3: mean must be a number, not 'high'"),
        ("arm,mean\nred,0.5\nblue\n", r"arms\.csv, line 3: the cell of mean is missing: write arm,mean"),
        ("arm,mean\nred\nblue,0.5\n", r"arms\.csv, line 2: the cell of mean is missing: write arm,mean"),
        ("arm,mean\nred,0,5\n", r"arms\.csv, line 2: more cells than columns: write arm,mean"),
        ("arm,mean\nred,1.5\n", r"the mean of arm red must be a number in \[0, 1\], not 1.5"),
        ("arm,mean\nred,nan\n", r"the mean of arm red must be a number in \[0, 1\], not nan"),
        ("arm,mean\nred,0.5\nred,0.6\n", "arm names must differ, but red is given more than once"),
        ("arm,mean\n,0.5\n", "an arm's name must be a string of 1 to 200 bytes in UTF-8, not ''"),
        ("name,mean\nred,0.5\n", r"arms\.csv has no column 'arm': it needs arm,mean"),
        ("arm,chance\nred,0.5\n", r"arms\.csv has no column 'mean': it needs arm,mean"),
        ("arm,mean\n", r"arms\.csv has no rows: it needs a header arm,mean and at least one row"),
        ("", r"arms\.csv has no rows"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_is_wrong(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(LocalError, match=error):
        Arms.from_csv(table(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError) as refused:
        Arms.from_csv(tmp_path / "arms.csv")
    assert str(refused.value) == f"cannot read {tmp_path / 'arms.csv'}: No such file or directory"


def test_the_stand_ins_for_the_arms_of_the_paper_are_sixteen() -> None:
    arms = surrogate_arms()
    assert arms.names == tuple(str(position) for position in range(16))
    assert arms.best(arms.names) == 0.280602
