"""Plain values to MessagePack and back: the only serializer.

Reading is strict, with one exception, which minor versions depend on: the writer may know more fields than the reader.
Extra trailing fields of a named tuple or a struct are ignored at any depth; missing trailing fields get their defaults.
Nothing is executed or imported.
"""

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

Value = TypeVar("Value")

write = msgspec.msgpack.Encoder().encode
"""Return a value as bytes."""

_read_plain = msgspec.msgpack.Decoder().decode
_WRONG = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

Cut = Callable[[Any], Any]
"""Returns a decoded value without the fields that are not known here."""


class NotSoError(Exception):
    """The bytes are not a value of the expected shape; the text says why."""


def reader(shape: type[Value]) -> Callable[[bytes | msgspec.Raw], Value]:
    """Return a function that reads values of a shape, and raises `NotSoError` if the bytes hold none.

    >>> from cobandit.values.tally import ArmTally
    >>> reader(ArmTally)(write(("A", 2, 1, 1, "from a later version")))
    ArmTally(arm='A', observations=2, reward_sum=1, square_sum=1)
    """
    decode = msgspec.msgpack.Decoder(shape).decode
    kind: Any = shape

    def read(content: bytes | msgspec.Raw) -> Value:
        try:
            return decode(content)
        except msgspec.ValidationError as error:
            first = error
        except _WRONG as error:
            raise NotSoError(str(error)) from error
        try:
            cut = _cut(kind)
            whole = _read_plain(content)
            known = whole if cut is None else cut(whole)
            if known != whole:
                return decode(write(known))
        except _WRONG as error:
            raise NotSoError(str(error)) from error
        raise NotSoError(str(first)) from first

    return read


@cache
def _cut(shape: Any) -> Cut | None:  # noqa: ANN401  # whatever a type can be
    """Return a function that drops a shape's extra fields; `None` if it has no fields. A plain tuple has none."""
    if get_origin(shape) in {Union, UnionType}:
        return next((cut for one in get_args(shape) if one is not NoneType and (cut := _cut(one)) is not None), None)
    fields = _fields(shape)
    if fields is not None:
        cuts = tuple(map(_cut, fields))
        return lambda value: (
            [entry if cut is None else cut(entry) for entry, cut in zip(value, cuts, strict=False)]
            if isinstance(value, list)
            else value
        )
    parts = get_args(shape)
    if get_origin(shape) is list or (get_origin(shape) is tuple and parts[-1:] == (...,)):
        of_each = _cut(parts[0])
        return of_each and (lambda value: [*map(of_each, value)] if isinstance(value, list) else value)
    if get_origin(shape) is tuple:
        return _cut_inside(tuple(map(_cut, parts)))
    return None


def _cut_inside(cuts: tuple[Cut | None, ...]) -> Cut | None:
    """Return a function that cuts inside a plain tuple. Other lengths are left for the strict reader to refuse."""
    if not any(cuts):
        return None
    return lambda value: (
        [entry if cut is None else cut(entry) for entry, cut in zip(value, cuts, strict=True)]
        if isinstance(value, list) and len(value) == len(cuts)
        else value
    )


def _fields(shape: Any) -> tuple[Any, ...] | None:  # noqa: ANN401
    """Return the types of the fields, in order, if values of this shape are written as arrays of named fields."""
    if not isinstance(shape, type):
        return None
    if issubclass(shape, tuple) and hasattr(shape, "_fields"):
        names: tuple[str, ...] = shape._fields
    elif issubclass(shape, msgspec.Struct) and shape.__struct_config__.array_like:
        names = shape.__struct_fields__
    else:
        return None
    hints = get_type_hints(shape)
    return tuple(hints[name] for name in names)
