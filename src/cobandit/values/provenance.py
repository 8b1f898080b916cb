"""Where a user's own code comes from: its name, its parameters and a hash of its source.

A result made with your own policy, index or schedule records which one it was. The hash covers the source of the
function or class, its defaults, what it closes over, and the functions, classes and constants of your own modules that
its source names. Comments and layout do not matter. Installed code (the standard library, packages, cobandit) is
identified by its name: versions are recorded elsewhere. A lambda has no hash, because it has no name and shares its
line with other code. Nor has anything whose source cannot be read.
"""

import ast
import builtins
import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

MAX_PARAMETER = 200
"""The longest parameter, in characters, that is recorded in full; a longer one is recorded as a hash."""

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class _UntoldError(Exception):
    """There is no way to tell what this is."""


def source_hash(thing: object) -> str | None:
    """Return a hash of the source of a function, a class or an object, with all its dependencies; `None` if unknown.

    >>> source_hash(lambda mean, count, budget: mean) is None
    True
    >>> source_hash(textwrap.dedent) == source_hash(textwrap.dedent)
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        for part in _parts(thing, set()):
            digest.update(part.encode())
            digest.update(b"\0")
    except (_UntoldError, OSError, SyntaxError, TypeError, ValueError):
        return None
    return digest.hexdigest()


def provenance(thing: object) -> dict[str, Any]:
    """Return the name, the parameters and the hash of a user's own code, as plain JSON values."""
    kind: Any = thing if hasattr(thing, "__qualname__") else type(thing)
    if isinstance(thing, functools.partial):
        told = {
            "python": "functools.partial",
            "parameters": _told({"of": thing.func, "args": thing.args, **thing.keywords}),
        }
    else:
        told = {"python": f"{kind.__module__}.{kind.__qualname__}"}
        state = {} if kind is thing else _state(thing)
        if state:
            told["parameters"] = _told(state)
    return {**told, "source": source_hash(thing)}


def _told(state: Mapping[str, object]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, bool | int | float | str | None):
            told[name] = value
        elif callable(value):
            told[name] = provenance(value)
        else:
            text = repr(value)
            told[name] = text if len(text) <= MAX_PARAMETER else f"{type(value).__qualname__} {source_hash(value)}"
    return told


def _parts(thing: Any, seen: set[int]) -> Iterator[str]:  # noqa: ANN401, PLR0912  # anything may be asked for
    """Yield texts that are the same for the same thing, in a fixed order."""
    yield type(thing).__qualname__
    if isinstance(thing, _PLAIN):
        yield repr(thing)
    elif id(thing) in seen:
        yield "above"
    elif isinstance(thing, ModuleType):
        yield thing.__name__
    elif isinstance(thing, functools.partial):
        yield from _parts([thing.func, thing.args, thing.keywords], seen)
    elif isinstance(thing, MethodType):
        yield from _parts([thing.__func__, thing.__self__], seen)
    elif isinstance(thing, FunctionType | type | BuiltinFunctionType):
        seen.add(id(thing))
        if thing.__name__ == "<lambda>":
            raise _UntoldError
        yield f"{thing.__module__}.{thing.__qualname__}"
        if is_own(thing.__module__):
            yield from _source(thing, seen)
    elif isinstance(thing, list | tuple | set | frozenset):
        yield str(len(thing))
        for entry in sorted(thing, key=repr) if isinstance(thing, set | frozenset) else thing:
            yield from _parts(entry, seen)
    else:
        seen.add(id(thing))
        yield from _parts(type(thing), seen)
        state = _state(thing)
        if not (state or is_own(type(thing).__module__) or type(thing).__module__.startswith("cobandit.")):
            raise _UntoldError
        for name, value in sorted(state.items()):
            yield name
            yield from _parts(value, seen)


def _source(thing: Any, seen: set[int]) -> Iterator[str]:  # noqa: ANN401
    """Yield the source of a user's function or class, and what it depends on."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    yield ast.unparse(tree)
    names: dict[str, object] = dict(vars(sys.modules[thing.__module__]))
    if isinstance(thing, FunctionType):
        names = dict(thing.__globals__)
        yield from _parts([thing.__defaults__, sorted((thing.__kwdefaults__ or {}).items())], seen)
        closure = inspect.getclosurevars(thing).nonlocals
        names.update(closure)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for name in sorted(used - {thing.__name__}):
        if name in names and getattr(builtins, name, None) is not names[name]:
            yield name
            yield from _parts(names[name], seen)


def is_own(module: str | None) -> bool:
    """Return whether a module is a user's own: not installed, and not this package."""
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if module is None or module.split(".")[0] in ("cobandit", "builtins"):
        return False
    if file is None:
        return module == "__main__"
    return not any(Path(file).is_relative_to(folder) for folder in _INSTALLED)


def _state(thing: Any) -> dict[str, object]:  # noqa: ANN401
    """Return what an object holds, by name."""
    state: dict[str, object] = dict(thing.items()) if isinstance(thing, dict) else {}
    state = {repr(key): value for key, value in state.items()}
    slots = [name for kind in type(thing).__mro__ for name in _slots(kind)]
    state |= {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return state | getattr(thing, "__dict__", {})


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
