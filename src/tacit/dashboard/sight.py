"""What is known of every member, over several looks at a fleet: who answers, who fell silent, who said farewell.

A look may be whole (everybody was asked) or not (only one member was, which tells what it knows of its peers). Nothing
here knows how it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tacit.runtime.fleet import Fleet, fleet_of
from tacit.runtime.statistics import PeerStatistics, Statistics


class State(StrEnum):
    """How a member is."""

    HERE = "here"
    SILENT = "silent"
    """It did not answer, and said no farewell."""
    LEFT = "left"
    """It said farewell."""
    SUPERSEDED = "superseded"
    """It runs elsewhere too, and the other one speaks for it."""
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Seen:
    """One member."""

    name: str
    state: State
    """As last found out; `NOT_ASKED` if it never was."""
    is_asked: bool
    """Whether it was asked in this look."""
    statistics: Statistics | None
    """What it last said of itself."""
    boot: int | None
    """Its start, as it says, or as its peers know."""
    heard_s: float | None
    """Seconds since any member heard it; 0 if it has just answered."""


@dataclass(frozen=True)
class Sight:
    """A whole group, as far as it is known."""

    group: str
    members: Mapping[str, Seen]
    """By name, in the order of names."""

    @property
    def answers(self) -> list[Statistics]:
        """What those say who answered in this look."""
        return [
            seen.statistics
            for seen in self.members.values()
            if seen.statistics is not None and seen.is_asked and seen.state in {State.HERE, State.SUPERSEDED}
        ]

    def fleet(self) -> Fleet:
        """Return everybody who has not left, with what was last said."""
        here = (seen.statistics for seen in self.members.values() if seen.state != State.LEFT)
        return fleet_of(self.group, (said for said in here if said is not None))


def look(fleet: Fleet, before: Sight | None, *, is_whole: bool) -> Sight:
    """Return what is known after one more look at a fleet."""
    answered = {member.name: member for member in fleet.members}
    words: dict[str, list[PeerStatistics]] = {}
    for member in fleet.members:
        for peer in member.peers:
            words.setdefault(peer.name, []).append(peer)
    known = {} if before is None else before.members
    names = sorted({*answered, *words, *known})
    return Sight(
        fleet.group,
        {name: _seen(name, answered.get(name), words.get(name, []), known.get(name), is_whole) for name in names},
    )


def _seen(name: str, said: Statistics | None, words: list[PeerStatistics], before: Seen | None, is_whole: bool) -> Seen:
    if said is not None:
        return Seen(name, State.SUPERSEDED if said.is_superseded else State.HERE, True, said, said.boot, 0.0)
    last = None if before is None else before.statistics
    heard = [word.heard_s for word in words if word.heard_s is not None]
    boots = [word.boot for word in words if word.boot is not None]
    if not words:
        boots = [before.boot] if before is not None and before.boot is not None else []
    return Seen(
        name,
        _state(words, before, is_whole),
        is_whole,
        last,
        max(boots, default=None),
        min(heard, default=None),
    )


def _state(words: list[PeerStatistics], before: Seen | None, is_whole: bool) -> State:
    """Return the state of a member that has not answered."""
    if words and not any(word.is_present for word in words):
        return State.LEFT
    if is_whole:
        return State.SILENT
    return State.NOT_ASKED if before is None or before.state == State.LEFT else before.state
