"""A cell knows how far it is from the published one, and what there is to say about that."""

import math

import pytest

from cobandit.studies.comparison import Cell, Quantity, word


def cell(experiment: str, algorithm: str, quantity: Quantity, *values: float) -> Cell:
    return Cell(experiment, algorithm, quantity, published=100.0, published_sd=math.sqrt(30), values=values)


def test_a_standard_error_combines_the_spread_of_both_sides() -> None:
    one = cell("5", "UCB-ODC", "communications", 104.0, 106.0, 108.0)
    assert (one.mean, one.sd) == (106.0, 2.0)
    assert one.relative == pytest.approx(0.06)
    assert one.standard_error == pytest.approx(math.sqrt(1 + 4 / 3))
    assert one.errors == pytest.approx(6 / math.sqrt(1 + 4 / 3))
    assert one.differs


@pytest.mark.parametrize(
    ("experiment", "algorithm", "title", "is_counted"),
    [
        ("5", "UCB-ODC", "UCB-ODC", True),
        ("3", "UCB-ODC", "UCB-ODC-D", True),
        ("3", "AAE-ODC, answers do not advance", "AAE-ODC-D, answers do not advance", False),
    ],
)
def test_a_cell_is_called_as_in_the_paper(experiment: str, algorithm: str, title: str, is_counted: bool) -> None:
    one = cell(experiment, algorithm, "communications", 100.0)
    assert (one.title, one.is_counted) == (title, is_counted)


def test_a_single_trial_borrows_the_published_spread() -> None:
    one = cell("5", "UCB-ODC", "communications", 106.0)
    assert one.sd == 0.0
    assert one.standard_error == pytest.approx(math.sqrt(31))
    assert not one.differs


@pytest.mark.parametrize(
    ("experiment", "algorithm", "quantity", "said"),
    [
        ("3", "UCB-ODC", "communications", "Algorithm 1 as printed cannot reach the published number"),
        ("3", "AAE-ODC", "communications", "Algorithm 1 as printed cannot reach the published number"),
        ("3", "UCB-ODC, answers do not advance", "communications", "our reading of what the published run did"),
        ("3", "AAE-IBC", "group regret", "A prediction that fails"),
        ("6b", "AAE-ODC", "communications", "AAE stops talking when one candidate is left"),
        ("6b", "AAE-ODC", "group regret", "The surrogate arms were fitted to nothing but"),
        ("7", "UCB-ODC", "communications", "Not explained"),
        ("7", "UCB-ODC", "group regret", "A prediction"),
    ],
)
def test_a_cell_that_differs_has_a_word_and_one_that_does_not_has_none(
    experiment: str, algorithm: str, quantity: Quantity, said: str
) -> None:
    assert said in word(cell(experiment, algorithm, quantity, 200.0, 201.0), surrogate=True)
    assert word(cell(experiment, algorithm, quantity, 100.0, 101.0), surrogate=True) == ""


def test_the_oddest_cell_tells_how_many_trials_ended_early() -> None:
    odd = cell("6b", "AAE-IBC", "communications", 100.0, 50.0, 101.0)
    assert not odd.differs
    assert "Here it happened in 1 of 3 trials." in word(odd, surrogate=True)


def test_regrets_with_arms_of_a_user_are_not_blamed_on_the_surrogate() -> None:
    assert "the arms that you passed" in word(cell("7", "AAE-IBC", "group regret", 200.0, 201.0), surrogate=False)
