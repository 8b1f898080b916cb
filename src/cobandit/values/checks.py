"""What a plain value must be, said once: whole numbers and probabilities from users.

Types are hints in Python; values that reach the doors of this package are looked at all the same.
"""

import math
from numbers import Real

from cobandit.values.errors import LocalError


def check_whole(what: str, value: object, low: int, high: int | None = None) -> None:
    """Raise `LocalError` unless the value is a whole number in the range.

    >>> check_whole("delay", -1, 0)
    Traceback (most recent call last):
    ...
    cobandit.values.errors.LocalError: delay must be a whole number of at least 0, not -1
    """
    if isinstance(value, int) and not isinstance(value, bool) and low <= value and (high is None or value <= high):
        return
    allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
    raise LocalError(f"{what} must be a whole number {allowed}, not {value!r}")


def check_probability(what: str, value: object) -> None:
    """Raise `LocalError` unless the value is a number in [0, 1]."""
    if not (is_number(value) and 0.0 <= value <= 1.0):  # type: ignore[operator]
        raise LocalError(f"{what} must be a number in [0, 1], not {value!r}")


def check_time(now: object) -> None:
    """Raise `LocalError` unless the value can be a time: a finite number of whatever unit the caller uses."""
    if not (is_number(now) and -math.inf < now < math.inf):  # type: ignore[operator]
        raise LocalError(f"now must be a finite number, not {now!r}")


def check_positive(what: str, value: object) -> None:
    """Raise `LocalError` unless the value is a positive, finite number."""
    if not (is_number(value) and 0.0 < value < math.inf):  # type: ignore[operator]
        raise LocalError(f"{what} must be a positive number, not {value!r}")


def is_number(value: object) -> bool:
    """Return whether the value is a real number; NaN is one, and fails every comparison."""
    return isinstance(value, int | float | Real) and not isinstance(value, bool)


def check_name(what: str, value: object, longest: int) -> None:
    """Raise `LocalError` unless the value is a string that UTF-8 writes in a usable number of bytes."""
    if isinstance(value, str):
        written = value.encode(errors="ignore")
        if 0 < len(written) <= longest and written.decode() == value:
            return
    raise LocalError(f"{what} must be a string of 1 to {longest} bytes in UTF-8, not {value!r}")
