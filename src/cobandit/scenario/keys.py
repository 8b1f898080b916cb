"""Keys and values of a scenario file, each checked once.

Every refusal names the key's whole path, the value and what is allowed. This file knows tables and keys;
`cobandit.scenario.file` knows what they mean.
"""

import difflib
import reprlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeGuard, TypeVar

from cobandit.values.checks import is_number
from cobandit.values.errors import LocalError
from cobandit.values.masking import masked

LARGEST_NUMBER = 1e300
"""Numbers in a file must be smaller than this in absolute value, so that nothing computed from them overflows."""

LARGEST_FILE = 64 * 2**20
"""Maximum bytes of a file that is read as a whole."""

_LONGEST_VALUE = 200
MISSING = object()


Understood_co = TypeVar("Understood_co", covariant=True)


class Table:
    """A table of a scenario file. It accepts only known keys, and returns values by kind.

    >>> Table({"rat": 7}, "agents[1]", ("rate", "count"))
    Traceback (most recent call last):
    ...
    cobandit.values.errors.LocalError: agents[1].rat = 7 is not a key that cobandit knows: did you mean agents[1].rate?
    >>> Table({"rate": 7}, "agents[1]", ("rate", "count")).number("rate", low=0.0, high=1.0)
    Traceback (most recent call last):
    ...
    cobandit.values.errors.LocalError: agents[1].rate must be a number in [0, 1], not 7
    """

    def __init__(
        self, value: object, path: str, known: Sequence[str], *, deeper: Sequence[str] = (), wanted: str = ""
    ) -> None:
        """Take a table.

        Args:
            value: The value in the file.
            path: Its place in the file.
            known: Its keys.
            deeper: Keys that are often written here but belong one table deeper, such as `schedule.slots`.
            wanted: What is expected here, for the error message; a table with some of its keys by default.
        """
        self.path = path
        if not isinstance(value, Mapping):
            raise wrong(path, wanted or f"a table with {' or '.join(known[:4])}", value)
        self._values: Mapping[str, object] = value
        for key in value:
            if key not in known:
                raise self._unknown(str(key), [*known, *deeper], value[key])

    def key(self, name: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{name}" if self.path else name

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> object:
        """Return a value of any kind; `MISSING`, which is of no kind, if there is none."""
        return self._values.get(name, MISSING)

    def one_of(self, names: Sequence[str]) -> str:
        """Return which one of these keys is given, or raise an error if there are none or several."""
        given = [name for name in names if name in self]
        if len(given) != 1:
            what = f"has {' and '.join(given)}" if given else "has none of them"
            where = self.path or "the file"
            raise LocalError(f"{where} needs exactly one of {', '.join(names)}, but {what}")
        return given[0]

    def refuse(self, names: Sequence[str], why: str) -> None:
        """Refuse keys that have no meaning together with the others."""
        for name in names:
            if name in self:
                raise LocalError(f"{self.key(name)} = {shown(self._values[name])} is not allowed here: {why}")

    def whole(self, name: str, low: int, high: int | None = None, *, default: object = MISSING) -> int:
        """Return a whole number in the range."""
        if name not in self and default is not MISSING:
            return default  # type: ignore[return-value]
        return as_whole(self.key(name), self.get(name), low, high)

    def number(self, name: str, *, low: float | None = None, high: float | None = None) -> float:
        """Return a number in the closed range; without a lower bound, any finite number."""
        return as_number(self.key(name), self.get(name), low=low, high=high)

    def positive(self, name: str) -> float:
        """Return a positive number."""
        value = self.get(name)
        if not (is_number(value) and 0.0 < value < LARGEST_NUMBER):  # type: ignore[operator]
            raise wrong(self.key(name), f"a positive number below {LARGEST_NUMBER:g}", value)
        return float(value)  # type: ignore[arg-type]

    def truth(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise wrong(self.key(name), "true or false", value)
        return value

    def text(self, name: str) -> str:
        """Return a string that is not empty."""
        value = self.get(name)
        if not isinstance(value, str) or not value:
            raise wrong(self.key(name), "a string", value)
        return value

    def choice(self, name: str, allowed: Sequence[str], *, default: str, spelled: Callable[[str], str] = str) -> str:
        """Return one of these strings. `spelled` translates other spellings."""
        value = self._values.get(name, default)
        value = spelled(value) if isinstance(value, str) else value
        if not isinstance(value, str) or value not in allowed:
            raise wrong(self.key(name), " or ".join(f'"{one}"' for one in allowed), value)
        return value

    def rows(self, name: str, what: str, *, may_be_empty: bool = False) -> list[tuple[str, object]]:
        """Return the entries of a list, each with its path."""
        value = self.get(name)
        if not isinstance(value, list | tuple) or not (value or may_be_empty):
            raise wrong(self.key(name), f"a list of {what}{'' if may_be_empty else ', at least one'}", value)
        return [(f"{self.key(name)}[{position}]", entry) for position, entry in enumerate(value)]

    def _unknown(self, key: str, known: Sequence[str], value: object) -> LocalError:
        ends = {name.rpartition(".")[2]: name for name in reversed(known)}
        near = difflib.get_close_matches(key.lower().replace("-", "_"), ends, n=1)
        hint = f"did you mean {self.key(ends[near[0]])}?" if near else f"the keys here are {', '.join(known)}"
        may_be_secret = "secret" in hint + key.lower() and not isinstance(value, int | float)
        value = "..." if may_be_secret else shown(value)
        return LocalError(f"{self.key(key)} = {value} is not a key that cobandit knows: {hint}")


class Understand(Protocol[Understood_co]):
    """Turns the content of a file into a value. Files that it names are in the folder."""

    def __call__(self, content: Mapping[str, object], *, folder: Path | str) -> Understood_co:
        """Return the value, or raise `LocalError` with a message that names the key."""
        ...


def read_toml(path: Path | str, understand: Understand[Understood_co]) -> Understood_co:
    """Return the value that a TOML file describes.

    Raises:
        LocalError: The file cannot be read, or something in it is invalid. The message names the file.
    """
    try:
        content = tomllib.loads(read_bytes(path).decode("utf-8-sig"))  # some editors add a byte-order mark
    except OSError as error:
        raise LocalError(f"cannot read {path}: {error.strerror or error}") from error
    except LocalError:
        raise
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise LocalError(f"{path} is not valid TOML: {error}") from error
    try:
        return understand(content, folder=Path(path).parent)
    except RecursionError as error:
        raise LocalError(f"{path}: a key has too many parts: write tables that are a few deep") from error
    except LocalError as error:
        raise LocalError(f"{path}: {error}") from error


def read_bytes(path: Path | str) -> bytes:
    """Return the content of a file, unless it is unreasonably large: a device may have no end.

    Raises:
        LocalError: It is too large, or no file can have this name.
        OSError: It cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except ValueError as error:
        raise LocalError(f"cannot read {str(path)!r}: {error}") from error
    if len(content) > LARGEST_FILE:
        raise LocalError(f"{path} has more than {LARGEST_FILE:,} bytes: name a smaller file")
    return content


def as_whole(path: str, value: object, low: int, high: int | None = None) -> int:
    """Return the value if it is a whole number in the range."""
    if is_whole(value, low, high):
        return value
    raise wrong(path, "a whole number " + (f"of at least {low}" if high is None else f"from {low} to {high}"), value)


def is_whole(value: object, low: int, high: int | None = None) -> TypeGuard[int]:
    """Return whether the value is a whole number in the range."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value and (high is None or value <= high)


def as_number(path: str, value: object, *, low: float | None = None, high: float | None = None) -> float:
    """Return the value if it is a finite number in the range."""
    number = float(value) if is_number(value) and abs(value) < LARGEST_NUMBER else None  # type: ignore[arg-type]
    if number is None or (low is not None and number < low) or (high is not None and number > high):
        wide = low is None or high is None
        limits = f"between {-LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}" if wide else f"in [{low:g}, {high:g}]"
        raise wrong(path, f"a number {limits}", value)
    return number


def wrong(path: str, allowed: str, value: object) -> LocalError:
    """Return the error for a key: what is allowed, and its present value."""
    if value is MISSING:
        return LocalError(f"{path} is missing: it must be {allowed}")
    return LocalError(f"{path} must be {allowed}, not {shown(value)}")


@contextmanager
def located(path: str) -> Iterator[None]:
    """Put the path of a key in front of errors in the block."""
    try:
        yield
    except LocalError as error:
        raise LocalError(f"{path}: {error}") from error


def shown(value: object) -> str:
    """Return a value as errors show it: in full if it is short."""
    if isinstance(value, bool):
        return "true" if value else "false"  # as in the file
    text = masked(repr(value))
    return text if len(text) <= _LONGEST_VALUE else masked(reprlib.repr(value))
