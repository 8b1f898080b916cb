"""What is known of every member, over several looks at a fleet: who answers, who fell silent, who said farewell.

A look may be whole (everybody was asked) or not (only one member was, which tells what it knows of its peers). If a
member looks, it knows itself who there is, and names that only others speak of are not believed. Nothing here knows
how it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from cobandit.live.status.fleet import Fleet
from cobandit.live.status.roles import Role
from cobandit.live.status.statistics import PeerStatistics, Statistics

MOST_KNOWN = 2000
"""Members that are kept apart."""

RESTART_S = 1.0
"""Starting times that are further apart are two."""


class State(StrEnum):
    """How a member is."""

    HERE = "here"
    SILENT = "silent"
    """It did not answer, and said no farewell."""
    LEFT = "left"
    """It said farewell, or nobody has heard it for long."""
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
    incarnation: int | None
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
    def answers(self) -> dict[str, Statistics]:
        """What those say who answered in this look."""
        return {name: said for name, said in self.present.items() if self.members[name].is_asked}

    @property
    def present(self) -> dict[str, Statistics]:
        """What those last said who answered when they were last asked: the word of the living."""
        return {
            seen.name: seen.statistics
            for seen in self.members.values()
            if seen.statistics is not None and seen.state in {State.HERE, State.SUPERSEDED}
        }

    @property
    def known(self) -> list[Statistics]:
        """What everybody last said who has not left, also those who fell silent: what they observed stays observed."""
        return [
            seen.statistics
            for seen in self.members.values()
            if seen.statistics is not None and seen.state != State.LEFT
        ]


def is_restart(then: Statistics, now: Statistics) -> bool:
    """Return whether a member was started again. Its incarnation does not tell: after a clean stop it goes on."""
    return abs(now.started_at - then.started_at) > RESTART_S


def look(fleet: Fleet, before: Sight | None, *, is_whole: bool, seen_from: str | None = None) -> Sight:
    """Return what is known after one more look at a fleet.

    Args:
        fleet: Who answered, and what.
        before: What was known.
        is_whole: Whether everybody was asked.
        seen_from: The member that looks, if it is one.
    """
    answered = {member.name: member for member in fleet.members}
    words: dict[str, list[PeerStatistics]] = {}
    for member in fleet.members:
        for peer in member.peers:
            words.setdefault(peer.name, []).append(peer)
    gone = {name for member in fleet.members for name in member.gone_names}
    own = answered.get(seen_from) if seen_from is not None else None
    # A leaf knows its relays only, and takes their word for who else there is.
    is_told = own is None or own.role is Role.LEAF
    believed = words.keys() if own is None or is_told else {peer.name for peer in own.peers}
    known = {} if before is None else before.members
    # A member of which nobody speaks any more, and that never spoke, was perhaps never there.
    remembered = {name for name, seen in known.items() if name in words or seen.statistics is not None}
    names = sorted({*answered, *believed, *remembered}, key=lambda name: (name not in answered, name))[:MOST_KNOWN]
    return Sight(
        fleet.group,
        {
            name: _seen(
                name,
                answered.get(name),
                words.get(name, []),
                known.get(name),
                is_whole=is_whole,
                is_gone=name in gone,
            )
            for name in sorted(names)
        },
    )


def _seen(
    name: str,
    said: Statistics | None,
    words: list[PeerStatistics],
    before: Seen | None,
    *,
    is_whole: bool,
    is_gone: bool,
) -> Seen:
    last = None if before is None else before.statistics
    if said is not None:
        if last is not None and said.incarnation < last.incarnation:
            said = last  # two processes run under one name, and only the older one answered
        return Seen(name, State.SUPERSEDED if said.is_superseded else State.HERE, True, said, said.incarnation, 0.0)
    heard = [word.heard_s for word in words if word.heard_s is not None]
    incarnations = [word.incarnation for word in words if word.incarnation is not None]
    if not words:
        incarnations = [before.incarnation] if before is not None and before.incarnation is not None else []
    return Seen(
        name,
        _state(words, before, is_whole, is_gone),
        is_whole,
        last,
        max(incarnations, default=None),
        min(heard, default=None),
    )


def _state(words: list[PeerStatistics], before: Seen | None, is_whole: bool, is_gone: bool) -> State:
    """Return the state of a member that has not answered."""
    if words and not any(word.is_present for word in words):
        return State.LEFT
    if not words and (is_gone or (before is not None and before.state == State.LEFT)):
        return State.LEFT
    if any(word.role is Role.LEAF for word in words):
        return State.NOT_ASKED  # its relay answers for it
    if is_whole:
        return State.SILENT
    return State.NOT_ASKED if before is None or before.state == State.LEFT else before.state
