"""A protocol of a scenario: its class, its parameters and its description, checked when it is made."""

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal

from cobandit.protocols.node import Node
from cobandit.values.checks import check_whole, is_number
from cobandit.values.errors import LocalError

MAX_HUBS = 1_000

Fault = Literal["delay", "loss", "duplication", "reordering"]
"""What a network may do to messages."""


@dataclass(frozen=True)
class About:
    """The description of a protocol. A class may provide it as its attribute `about`."""

    title: str
    """Its name in a sentence."""
    told: str
    """How agents communicate, as a sentence without the full stop."""
    word: str = ""
    """Its name in scenario files. Without one, files cannot name it."""
    rule: tuple[str, ...] = ()
    """The whole rule in a few sentences."""
    paper: str = ""
    """The source of the protocol, such as a paper."""
    observations: bool = True
    """Whether its messages carry observations that every agent counts once. If not, it is unknown how stale an
    agent's knowledge is."""
    hubs: int = 0
    """How many hubs it needs: nodes that never decide and that all agents talk to."""
    survives: frozenset[Fault] = frozenset({"delay"})
    """What the network may do to its messages without breaking it (though it may become slower)."""
    compiled: bool = False
    """Whether the compiled engine supports it."""


@dataclass(frozen=True)
class PlugIn:
    """A protocol's class and its parameters, as a scenario holds them. Create one with `plug_in`."""

    build: type[Any]
    parameters: Mapping[str, object]
    hubs: int = 0

    @property
    def about(self) -> About:
        """Its description; a class without one is described by its name."""
        return about(self.build)

    def __call__(self, node: Node) -> Any:  # any user's class
        """Return the instance for a node."""
        return self.build(node, **self.parameters)

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"plug_in({self.build.__qualname__}{given})"


def plug_in(build: type[Any], *, hubs: int | None = None, **parameters: object) -> PlugIn:
    """Return your own protocol, or one from the registry, for `Scenario(sharing=...)`.

    Args:
        build: The protocol's class. It takes a `Node`, and its parameters by name.
        hubs: How many nodes never decide; by default as the class says.
        parameters: The protocol's parameters; the others keep the class's defaults.

    Raises:
        LocalError: This is not a protocol class, it has no such parameter, or a value is of the wrong kind.

    >>> from cobandit.protocols.gossip import Gossip
    >>> plug_in(Gossip, period=8)
    plug_in(Gossip, period=8, pull=False)
    >>> plug_in(Gossip, perod=8)
    Traceback (most recent call last):
    ...
    cobandit.values.errors.LocalError: Gossip has no parameter 'perod': it has period, pull
    """
    if not (isinstance(build, type) and all(callable(getattr(build, name, None)) for name in ("observed", "received"))):
        raise LocalError(f"a protocol is a class with the methods observed and received, not {build!r}")
    declared = parameters_of(build)
    for name in parameters:
        if name not in declared:
            has = f"it has {', '.join(declared)}" if declared else "it has none"
            raise LocalError(f"{build.__qualname__} has no parameter {name!r}: {has}")
    found: dict[str, object] = {}
    for name, parameter in declared.items():
        if name not in parameters and parameter.default is inspect.Parameter.empty:
            raise LocalError(f"{build.__qualname__} needs a value for {name}")
        what = f"{name} of {build.__qualname__}"
        found[name] = _checked(what, parameters.get(name, parameter.default), parameter.annotation)
    count = about(build).hubs if hubs is None else hubs
    check_whole("hubs", count, 0, MAX_HUBS)
    return PlugIn(build, found, count)


def about(build: type[Any]) -> About:
    """Return the description of a class."""
    said = getattr(build, "about", None)
    if said is None:
        return About(title=build.__name__, told=f"They talk by {build.__name__}")
    if not isinstance(said, About):
        raise LocalError(f"{build.__qualname__}.about must be About(...), not {said!r}")
    return said


def parameters_of(build: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a protocol with their types, in order: what its class takes besides the node."""
    hints = typing.get_type_hints(build.__init__)
    taken = list(inspect.signature(build).parameters.values())
    if not taken:
        raise LocalError(f"{build.__qualname__} must take the node that it runs at: def __init__(self, node)")
    declared = taken[1:]
    return {one.name: one.replace(annotation=hints.get(one.name, Any)) for one in declared}


def _checked(what: str, value: object, kind: Any) -> object:  # an annotation
    """Return a value of the declared kind of its parameter. The class itself must check other kinds."""
    kinds = set(typing.get_args(kind)) if isinstance(kind, UnionType) else {kind}
    if value is None and NoneType in kinds:
        return None
    if bool in kinds and isinstance(value, bool):
        return value
    if float in kinds and is_number(value):
        return float(value)  # type: ignore[arg-type]
    if int in kinds and isinstance(value, int) and not isinstance(value, bool):
        return value
    if str in kinds and isinstance(value, str):
        return value
    plain = {bool: "true or false", float: "a number", int: "a whole number", str: "a text"}
    if kinds <= {*plain, NoneType}:
        wanted = " or ".join(word for one, word in plain.items() if one in kinds)
        raise LocalError(f"{what} must be {wanted}, not {value!r}")
    return value
