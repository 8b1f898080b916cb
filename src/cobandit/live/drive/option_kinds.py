"""The kinds of a member's options, each in words. They are checked before the options are used.

Which values of that kind are valid is checked where they are used, as are numbers, names and pairs.
"""

import os
from collections.abc import Callable, Mapping, MappingView, Sequence

from cobandit.core import Sharing
from cobandit.policies.registry import BuiltIn
from cobandit.values.checks import plain
from cobandit.values.errors import LocalError


def check_kinds(options: Mapping[str, object]) -> None:
    """Refuse options of the wrong kind.

    >>> check_kinds({"arms": 3})
    Traceback (most recent call last):
    ...
    cobandit.values.errors.LocalError: arms must be a list of names, such as ["A", "B"], not 3

    Raises:
        LocalError: An option is of the wrong kind.
    """
    for name, (is_one, words) in _KINDS.items():
        value = options.get(name)
        is_left_out = value is None and (name not in options or name not in _NEVER_NONE)
        if not (is_left_out or is_one(plain(value))):
            raise LocalError(f"{name} must be {words}, not {value!r}")


def _is_listed(value: object) -> bool:
    """Return whether a value is a list, or is refused later with a better message, as are texts and, for arms, sets."""
    return isinstance(value, Sequence | Mapping | MappingView | set | frozenset) and not isinstance(value, bytes)


def _is_path(value: object) -> bool:
    try:
        return isinstance(value, str | os.PathLike) and b"\0" not in os.fsencode(value)
    except ValueError:
        return False


def _is_clock(value: object) -> bool:
    return callable(getattr(value, "now", None)) and callable(getattr(value, "time_of_day", None))


_SWITCH: tuple[Callable[[object], bool], str] = (lambda value: isinstance(value, bool), "True or False")
_SHARES: tuple[Callable[[object], bool], str] = (
    lambda value: isinstance(value, Mapping),
    'shares of some arms, such as {"A": 0.1}',
)
_FILE: tuple[Callable[[object], bool], str] = (_is_path, "the path of a file")
_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "arms": (_is_listed, 'a list of names, such as ["A", "B"]'),
    "peers": (_is_listed, 'a list of addresses, such as ["10.0.0.2:7000"]'),
    "relays": (_is_listed, 'a list of names or addresses, or ["*"]'),
    "policy": (
        lambda value: isinstance(value, str | BuiltIn) or callable(value),
        'a name such as "thompson", a BuiltIn(...), or a function of arms',
    ),
    "sharing": (lambda value: isinstance(value, Sharing), "on_demand(...), say, with loss_tolerant=RetryTimers(...)"),
    "state": _FILE,
    "keys": _FILE,
    "trust": _FILE,
    "secret_file": _FILE,
    "snapshot": (lambda value: isinstance(value, bytes) or _is_path(value), "the bytes of a snapshot, or their file"),
    "floors": _SHARES,
    "ceilings": _SHARES,
    "log_limit": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number of decisions"),
    "relay": _SWITCH,
    "close_on_sigterm": _SWITCH,
    "clock": (_is_clock, "an object with now() and time_of_day(), both in seconds"),
}
_NEVER_NONE = frozenset(("policy", "peers"))
