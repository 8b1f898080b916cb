"""How numbers and estimates are written for people: with useful digits only, and the same for numbers side by side."""

import math

from cobandit.simulator.interval import Estimate, half_width

UNKNOWN = "unknown"
"""What stands for a quantity that nobody knows: staleness, where agents tell each other no observations."""


def number(value: float) -> str:
    """Return a number with as many digits as are useful.

    >>> number(1234.5), number(0.5), number(20.0)
    ('1,234', '0.5000', '20')
    """
    return f"{value:,.{decimals(value)}f}"


def decimals(*values: float) -> int:
    """Return the number of decimals for numbers in one group: the largest has four digits, unless it is whole."""
    largest = max(map(abs, values), default=0.0)
    if all(value == round(value) for value in values):
        return 0
    return max(0, 3 - math.floor(math.log10(largest)))


def digits(one: Estimate) -> int:
    """Return the number of decimals for an estimate."""
    return decimals(*(value for value in (one.mean, one.low, one.high, one.sd) if value is not None))


def mean(one: Estimate) -> str:
    """Return the mean; `unknown` for an unknown quantity."""
    return UNKNOWN if math.isnan(one.mean) else f"{one.mean:,.{digits(one)}f}"


def low_to_high(one: Estimate) -> str:
    """Return the 95 % interval; empty for a single trial."""
    if one.low is None or one.high is None or math.isnan(one.mean):
        return ""
    return f"{one.low:,.{digits(one)}f} to {one.high:,.{digits(one)}f}"


def plus_minus(one: Estimate) -> str:
    """Return half of the 95 % interval; empty for a single trial."""
    half = half_width(one)
    return "" if half is None or math.isnan(half) else f"± {half:,.{digits(one)}f}"
