"""Fields that were added to a shape within its version are not written while they have their defaults.

So a value without named bandits and windows is written byte for byte as before these existed, and a program that does
not know them can read it. Reading needs nothing special: missing trailing fields get their defaults. This file knows
which shapes have grown, and how many fields each had at first.
"""

from typing import Any

from cobandit.core import Began, Changes, Notice, Observed, Presence, Share
from cobandit.core.state import EndpointState, FactState, LinkState, Snapshot, TotalState

_FIRST_FIELDS: dict[Any, int] = {Presence: 9, Observed: 3, Began: 4, TotalState: 4, LinkState: 16, EndpointState: 16}
"""The original number of fields of each shape that has grown."""

_DEFAULTS = {
    shape: tuple(shape._field_defaults[name] for name in shape._fields[count:])
    for shape, count in _FIRST_FIELDS.items()
}


def brief(value: Any) -> Any:  # noqa: ANN401  # one of these shapes
    """Return a value without its added fields, if they all have their defaults.

    >>> from cobandit.core import Began
    >>> brief(Began(2, 1, ("A",), 0.5))
    (2, 1, ('A',), 0.5)
    """
    shape = type(value)
    count = _FIRST_FIELDS[shape]
    return value[:count] if value[count:] == _DEFAULTS[shape] else value


def brief_message(message: Share | Notice) -> object:
    """Return a message as it is written."""
    changes = message.changes
    return message._replace(changes=_brief_changes(changes)) if changes.presences else message


def brief_snapshot(snapshot: Snapshot) -> object:
    """Return a snapshot as it is written."""
    state = snapshot.endpoint
    endpoint = state._replace(
        facts=tuple(map(_brief_fact, state.facts)),
        links=tuple(map(brief, state.links)),
        totals=tuple(map(brief, state.totals)),
    )
    return snapshot._replace(endpoint=brief(endpoint))


def _brief_fact(fact: FactState) -> FactState:
    return fact._replace(told=_brief_changes(fact.told)) if fact.told.presences else fact


def _brief_changes(changes: Changes) -> Changes:
    return changes._replace(presences=tuple(map(brief, changes.presences)))
