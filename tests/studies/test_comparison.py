"""A cell knows how far it is from the published one, and every cell has its sentence."""

import math

import pytest

from cobandit.studies.comparison import Cell, Measured, Quantity
from cobandit.studies.paper import published
from cobandit.studies.sentences import at_least, early_ends, sentence, ucb_differences_probability, unexplained


def measured(*values: float) -> Measured:
    return Measured(values, published=100.0, published_sd=math.sqrt(30))


def cell(experiment: str, algorithm: str, quantity: Quantity, *values: float) -> Cell:
    one = measured(*values)
    return Cell(experiment, algorithm, quantity, printed=one, best=one, realised=one)


def test_a_standard_error_combines_the_spread_of_both_sides() -> None:
    one = measured(104.0, 106.0, 108.0)
    assert (one.mean, one.sd) == (106.0, 2.0)
    assert one.relative == pytest.approx(0.06)
    assert one.standard_error == pytest.approx(math.sqrt(1 + 4 / 3))
    assert one.errors == pytest.approx(6 / math.sqrt(1 + 4 / 3))
    assert one.differs


def test_a_single_trial_borrows_the_published_spread() -> None:
    one = measured(106.0)
    assert one.sd == 0.0
    assert one.standard_error == pytest.approx(math.sqrt(31))
    assert not one.differs


def test_the_probability_is_that_of_a_normal_number_two_sided() -> None:
    assert measured(100.0 + 1.959964 * math.sqrt(31)).probability == pytest.approx(0.05, abs=1e-6)
    assert measured(100.0 - 1.959964 * math.sqrt(31)).probability == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(("experiment", "title"), [("5", "UCB-ODC"), ("3", "UCB-ODC-D")])
def test_a_cell_is_called_as_in_the_paper(experiment: str, title: str) -> None:
    assert cell(experiment, "UCB-ODC", "communications", 100.0).title == title


def test_every_cell_of_the_paper_has_one_sentence() -> None:
    quantities: tuple[Quantity, ...] = ("communications", "group regret")
    for name, algorithm in published():
        for quantity in quantities:
            told = sentence(cell(name, algorithm, quantity, 100.0, 101.0), surrogate=True)
            assert told.endswith(".")
            assert told[:-1].count(". ") == 0, told


@pytest.mark.parametrize(
    ("experiment", "algorithm", "quantity", "said"),
    [
        ("3", "UCB-ODC", "communications", "As printed at most 549 are possible"),
        ("3", "AAE-IBC", "group regret", "arms of its own, which were fitted to it"),
        ("6a", "AAE-ODC", "group regret", "with the guard they hardly do"),
        ("5", "UCB-IBC", "group regret", "the arms were fitted to this cell"),
        ("7", "UCB-ODC", "group regret", "a prediction"),
        ("7", "UCB-ODC", "communications", "It depends on the decision times alone"),
    ],
)
def test_a_sentence_says_why(experiment: str, algorithm: str, quantity: Quantity, said: str) -> None:
    assert said in sentence(cell(experiment, algorithm, quantity, 100.0, 101.0), surrogate=True)


def test_a_cell_that_is_more_than_two_errors_off_has_its_probability() -> None:
    near, far = cell("7", "UCB-ODC", "group regret", 101.0, 101.0), cell("7", "UCB-ODC", "group regret", 102.5, 102.5)
    assert "chance alone" not in sentence(near, surrogate=True)
    assert sentence(far, surrogate=True).endswith("is at least as far off is 0.012.")


def test_the_oddest_cell_tells_how_many_trials_ended_early() -> None:
    odd = cell("6b", "AAE-IBC", "communications", 100.0, 50.0, 101.0)
    assert early_ends(odd.best) == 1
    assert "ended early in 1 and 1 of 3 trials" in sentence(odd, surrogate=True)


def test_regrets_with_arms_of_a_user_are_not_blamed_on_the_surrogate() -> None:
    assert "the arms that you passed" in sentence(cell("7", "AAE-IBC", "group regret", 200.0, 201.0), surrogate=False)


def test_what_stays_unexplained_has_its_probability() -> None:
    assert ucb_differences_probability(published()) == pytest.approx(2.4e-5, rel=0.05)
    assert at_least(0, 30, 0.1) == 1.0
    assert at_least(1, 30, 0.1) == pytest.approx(1.0 - 0.9**30)
    odd = [cell("6b", "AAE-IBC", "communications", 100.0, 101.0), cell("6b", "AAE-ODC", "group regret", 97.0, 97.0)]
    ucb, ends, last = unexplained(odd)
    assert "+217, −121, +235 and +76" in ucb  # noqa: RUF001  # a minus
    assert "a probability of 2e-05" in ucb
    assert "4 of the paper's 30 trials; ours did so in 0 of 2" in ends
    assert "3.0 standard errors below the published one" in last
    assert "(probability 0.0027, or " in last
