"""One sentence for every cell of the paper's tables, and what stays unexplained, with its probability.

This file owns words. The numbers come from `comparison.py`, and the published ones from the paper's tables.
"""

import math
from collections.abc import Iterable, Sequence

from cobandit.studies.comparison import NEAR, Cell, Measured
from cobandit.studies.paper import Published, published
from cobandit.studies.reproduction import TRIALS

EARLY = ("6b", "AAE-IBC", "communications")
"""The oddest cell: its spread is 200 times that of its neighbours."""

PUBLISHED_ENDS = 4
"""In so many of thirty trials communication must have ended at slot 40,000: 2,507,300 ± 497,800 says it (0044)."""

LONG_RUN_ENDS, LONG_RUN_ERRORS, LONG_RUN_TRIALS = 1, 3.4, 100
"""A longer run of the second reading, `cobandit reproduce 6b --trials 100`: how often it ended early, and how many
standard errors AAE-ODC's regret is below the published one."""

_UCB_PAIRS = ("5", "6a", "6b", "7")


def sentence(cell: Cell, *, surrogate: bool) -> str:
    """Return what there is to say about a cell.

    Args:
        cell: The cell.
        surrogate: Whether the surrogate arms were used, and not arms that the user passed.
    """
    if cell.quantity == "communications":
        return _about_messages(cell)
    if not surrogate:
        return _OWN_ARMS + _chance(cell.best)
    policy = cell.algorithm.split("-")[0]
    told = _REGRETS.get((cell.experiment, cell.algorithm)) or _REGRETS.get((cell.experiment, policy))
    return (told or _REGRETS["", policy]) + _chance(cell.best)


def unexplained(cells: Iterable[Cell]) -> list[str]:
    """Return what no reading explains, one sentence each, with the probability of chance alone."""
    table, found = published(), {(cell.experiment, cell.algorithm, cell.quantity): cell for cell in cells}
    chance = ucb_differences_probability(table)
    told = [
        (
            "UCB's published regrets under IBC and ODC differ by "
            f"{_listed([_difference(table, name)[0] for name in _UCB_PAIRS])} in Experiments 5, 6a, 6b and 7; none of "
            "the seven readings that we tried makes a difference there, and chance alone does so with a probability of "
            f"{_probability(chance)}."
        )
    ]
    if EARLY in found:
        told.append(
            f"In Experiment 6b, AAE-IBC must have ended early in {PUBLISHED_ENDS} of the paper's {TRIALS} trials; ours "
            f"did so in {early_ends(found[EARLY].best)} of {len(found[EARLY].best.values)}, and in {LONG_RUN_ENDS} of "
            f"{LONG_RUN_TRIALS} in a longer run, and at that rate the probability of {PUBLISHED_ENDS} or more of "
            f"{TRIALS} is {_probability(at_least(PUBLISHED_ENDS, TRIALS, LONG_RUN_ENDS / LONG_RUN_TRIALS))}."
        )
    odd = found.get(("6b", "AAE-ODC", "group regret"))
    if odd is not None:
        told.append(
            f"AAE-ODC's regret in Experiment 6b is {abs(odd.best.errors):.1f} standard errors "
            f"{'below' if odd.best.errors < 0 else 'above'} the published one (probability "
            f"{_probability(odd.best.probability)}, or {_probability(_once_in(odd.best.probability, 20))} for the "
            f"furthest of twenty cells), and {LONG_RUN_ERRORS} below it in a run of {LONG_RUN_TRIALS} trials."
        )
    return told


def ucb_differences_probability(table: dict[tuple[str, str], Published]) -> float:
    """Return how likely UCB-IBC and UCB-ODC differ by chance as much as the paper says: chi-squared on four.

    >>> f"{ucb_differences_probability(published()):.0e}"
    '2e-05'
    """
    half = sum((difference / error) ** 2 for difference, error in (_difference(table, one) for one in _UCB_PAIRS)) / 2.0
    return math.exp(-half) * (1.0 + half)


def early_ends(one: Measured) -> int:
    """Return in how many trials communication ended long before the others'."""
    return sum(value < 0.9 * max(one.values) for value in one.values)


def at_least(count: int, trials: int, rate: float) -> float:
    """Return how likely something that happens at a rate happens at least so often.

    >>> round(at_least(4, 30, 0.04), 3)
    0.031
    """
    return 1.0 - sum(math.comb(trials, k) * rate**k * (1.0 - rate) ** (trials - k) for k in range(count))


def _difference(table: dict[tuple[str, str], Published], experiment: str) -> tuple[float, float]:
    """Return the published regret of UCB-IBC less that of UCB-ODC, and its standard error."""
    one, other = (table[experiment, f"UCB-{protocol}"] for protocol in ("IBC", "ODC"))
    error = math.hypot(one.group_regret_sd, other.group_regret_sd) / math.sqrt(TRIALS)
    return one.group_regret - other.group_regret, error


def _once_in(probability: float, cells: int) -> float:
    """Return how likely the furthest of several cells is as far away as that."""
    return 1.0 - (1.0 - probability) ** cells


def _about_messages(cell: Cell) -> str:
    if (cell.experiment, cell.algorithm, cell.quantity) == EARLY:
        ends = f"{early_ends(cell.printed)} and {early_ends(cell.best)} of {len(cell.best.values)} trials"
        return _EARLY_ENDS.format(ends=ends)
    if cell.experiment == "3" and "ODC" in cell.algorithm:
        return _ANSWERS.format(printed=cell.printed.mean, best=cell.best.mean)
    return (_UCB_MESSAGES if cell.algorithm.startswith("UCB") else _AAE_MESSAGES) + _chance(cell.best)


def _chance(one: Measured) -> str:
    if abs(one.errors) <= NEAR:
        return ""
    return f" The probability that chance alone is at least as far off is {_probability(one.probability)}."


def _probability(chance: float) -> str:
    return f"{chance:.0e}" if chance < 0.001 else f"{chance:.2g}"


def _listed(numbers: Sequence[float]) -> str:
    words = [f"{number:+,.0f}".replace("-", "−") for number in numbers]  # noqa: RUF001  # a minus, not a hyphen
    return f"{', '.join(words[:-1])} and {words[-1]}"


_ANSWERS = (
    "As printed at most 549 are possible, because a slow agent with fewer than 127 pulls fills a doubling buffer at "
    "most six times; we count {printed:,.0f}, and {best:,.0f} if an answer needs only one observation and advances the "
    "threshold (the best of eight variants tried on this number)."
)

_EARLY_ENDS = (
    "The published spread is that of thirty trials of which four end at slot 40,000, when the slow agents wake with "
    "much knowledge, few pulls of their own and therefore too narrow intervals; ours ended early in {ends}, as printed "
    "and in the second reading."
)

_UCB_MESSAGES = "It depends on the decision times alone: neither the arms nor delta change it."

_AAE_MESSAGES = (
    "AAE talks as UCB does until one candidate is left; in nearly all trials that does not happen before the last slot."
)

_ONE_READING = "The same reading of UCB, on arms with slightly larger gaps; "
_NO_GUARD = "A second reading, with delta = 1/(n_j + 2) and no guard; "
_FITTED = "the arms were fitted to this cell."
_PREDICTED = "a prediction of the surrogate arms."

_REGRETS = {
    ("", "UCB"): _ONE_READING + _PREDICTED,
    ("5", "UCB-IBC"): _ONE_READING + _FITTED,
    ("7", "UCB-IBC"): _ONE_READING + _FITTED,
    ("3", "UCB"): "On arms fitted to the regrets of this experiment alone, so the agreement proves nothing.",
    ("", "AAE"): _NO_GUARD + _PREDICTED,
    ("5", "AAE-IBC"): _NO_GUARD + _FITTED,
    ("7", "AAE-IBC"): _NO_GUARD + _FITTED,
    ("3", "AAE"): (
        "On the arms of the other experiments, no delta that we tried fits both this table and the others; on arms of "
        "its own, which were fitted to it, it agrees with delta = 1/(n_j + 2), which proves nothing."
    ),
    ("6a", "AAE"): (
        "An agent that wakes has all data at its first check under IBC, but only at its second under ODC; with delta = "
        "1/(n_j + 2) the intervals of the first check are narrower, so the two differ, as in the paper, whereas with "
        "the guard they hardly do."
    ),
}
"""By experiment and algorithm, or policy; without an experiment, for all others."""

_OWN_ARMS = (
    "Made with the arms that you passed, in both readings. Unless they are the 16 that the paper drew, expect a "
    "different regret."
)
