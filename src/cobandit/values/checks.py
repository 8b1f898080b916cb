"""Checks of plain values from users, in one place: whole numbers, probabilities, times, names.

In Python, types are only hints, so values that enter this package are checked anyway. NumPy's numbers are converted to
Python's on entry (`plain`): inside, products must not overflow, and numbers are written as bytes.
"""

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from cobandit.values.errors import LocalError

_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")
_PLAIN = frozenset((int, float, str, bool, type(None)))
_NUMBERS, _USUAL_NUMBERS = int | float | Real, frozenset((int, float))


def plain(value: Any) -> Any:  # noqa: ANN401  # whatever a user passes
    """Return NumPy's numbers and strings as Python's, and arrays as tuples; anything else as it is.

    Strings of a subclass, which could not be serialized, become plain strings; decimals and fractions become floats.

    >>> from decimal import Decimal
    >>> from numpy import array, int64, str_
    >>> plain(int64(3)), plain(array([0.25, 0.5])), plain((int64(3), str_("A"))), plain(Decimal("12.50"))
    (3, (0.25, 0.5), (3, 'A'), 12.5)
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return kind(map(plain, value))
    if isinstance(value, str):
        return str.__str__(value)
    if hasattr(value, "tolist"):
        return _as_tuples(value.tolist())
    return _as_float(value) if isinstance(value, Decimal | Fraction) else value


def _as_float(value: Decimal | Fraction) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError):  # too large, or a signaling NaN
        return math.nan


def _as_tuples(value: Any) -> Any:  # noqa: ANN401  # as above
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def keep_plain(owner: object, *names: str) -> None:
    """Make these fields of a frozen value plain."""
    for name in names:
        object.__setattr__(owner, name, plain(getattr(owner, name)))


def plain_arguments(function: Callable[_Parameters, _Returned]) -> Callable[_Parameters, _Returned]:
    """Return the same function, made to accept NumPy's numbers and arrays too."""

    @wraps(function)
    def with_plain(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Returned:
        made: Any = function
        returned: _Returned = made(*map(plain, arguments), **{name: plain(value) for name, value in options.items()})
        return returned

    return with_plain


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
    """Raise `LocalError` unless the value can be a time: a finite number in the caller's unit."""
    if not (is_number(now) and -math.inf < now < math.inf):  # type: ignore[operator]
        raise LocalError(f"now must be a finite number, not {now!r}")


def check_finite(what: str, value: object) -> None:
    """Raise `LocalError` unless the value is a finite number."""
    if not (is_number(value) and -sys.float_info.max <= value <= sys.float_info.max):  # type: ignore[operator]
        raise LocalError(f"{what} must be a finite number, not {value!r}")


def check_positive(what: str, value: object) -> None:
    """Raise `LocalError` unless the value is a positive, finite number."""
    if not (is_number(value) and 0.0 < value <= sys.float_info.max):  # type: ignore[operator]
        raise LocalError(f"{what} must be a positive number, not {value!r}")


def is_number(value: object) -> bool:
    """Return whether the value is a real number; NaN is one, and fails every comparison."""
    return type(value) in _USUAL_NUMBERS or (isinstance(value, _NUMBERS) and not isinstance(value, bool))


def check_text(what: str, value: object) -> None:
    """Raise `LocalError` unless the value is a string."""
    if not isinstance(value, str):
        raise LocalError(f"{what} must be a string, not {value!r}")


def check_name(what: str, value: object, longest: int) -> None:
    """Raise `LocalError` unless the value is a string of 1 to `longest` bytes in UTF-8."""
    if not is_name(value, longest):
        raise LocalError(f"{what} must be a string of 1 to {longest} bytes in UTF-8, not {value!r}")


def is_name(value: object, longest: int) -> bool:
    """Return whether the value is a string of 1 to `longest` bytes in UTF-8.

    >>> is_name("\u00fc" * 100, 200), is_name("\u00fc" * 101, 200), is_name("", 200)
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    written = value.encode(errors="ignore")
    return 0 < len(written) <= longest and written.decode() == value
