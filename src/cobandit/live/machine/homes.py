"""Which relays a leaf talks to, its *homes*: the first ones in an order by hash, others if those are silent.

A *place* is where a relay is found: its name where a server carries packets to names, its address where it is dialled.
Each leaf ranks all places by a hash of its own name and the place. So leaves spread over relays without a coordinator.
A leaf leaves a home for the next one if the home owes an answer and is silent for a few seconds, or sooner if the
network reports that it is gone. When a better one is back, the leaf returns. This file sends nothing, dials nobody and
has no clock.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import NamedTuple

HOMES = 1
"""How many relays a leaf talks to by default. Each further one costs as many messages again."""

MAX_HOMES = 8

MAX_PLACES = 1000
"""How many places are remembered."""

ANY_RELAY = "*"
"""In place of a relay's name: any relay that announces itself."""

PROBE_EVERY = 0.5
SILENT_AFTER = 2.0
"""Seconds: between reminders to a home that owes an answer, and until it counts as silent."""

GONE_AFTER = 1.0
"""Seconds for which the network must keep reporting that a home's name is absent, with nothing heard from the home,
until the home counts as gone. One report is not enough: a relay that lost its connection may be back in a moment."""

LONGEST_PROBE_PAUSE = 30.0
"""Maximum seconds between two reminders while there is no other relay to go to."""

MOST_STRAIN = 4
"""Maximum factor by which all waits grow for a leaf that has to leave one relay after another. A relay that is slow
because many leaves come at once must not get slower because they come and go."""

CALM = 60.0
"""Seconds without leaving a relay after which waits are as short as at first."""

LATE, HELD_UP = 0.1, 4.0
"""Seconds, and a factor. If this leaf looks at its homes later than it should, it was held up itself, and forgives this
many times the delay: a packet passes through several stages here, each of which was as late."""

PATIENCE_CUT_OFF = 10.0
"""Seconds given to each relay in turn while none answers, and to one that is tried while others answer, since waiting
for it costs nothing. No relay gets more."""

SLOWNESS = 2.0
"""How many times longer than recent answers took the leaf waits for an answer, so that it keeps a distant relay."""

REST = 30.0
"""Seconds for which a relay that was silent is not tried again, if there is another one."""

REVIEW_EVERY = 600.0
"""Seconds, up to twice as many, between checks whether a relay that this leaf prefers is back."""

RETURN_WITHIN = 60.0
"""Seconds within which leaves return to a relay that announces itself, so that they do not all come at once."""


class Looked(NamedTuple):
    """What to do after a look at the homes."""

    dropped: tuple[str, ...] = ()
    """The names of relays that are no longer homes because they were silent."""
    replaced: tuple[str, ...] = ()
    """The names of relays that answer, but were homes only while a better one did not."""
    greeted: tuple[str, ...] = ()
    """The names of relays to greet, because they have not introduced themselves."""
    is_reminded: bool = False
    """Whether to repeat what was not acknowledged."""


class _Home:
    __slots__ = ("gone_since", "is_met", "is_silent", "name", "pause", "place", "probe_at", "waits_since")

    def __init__(self, place: str, name: str | None) -> None:
        self.place, self.name = place, name
        self.is_met = self.is_silent = False
        self.waits_since: float | None = None
        self.gone_since: float | None = None
        self.probe_at, self.pause = 0.0, PROBE_EVERY

    def is_heard(self, now: float) -> float:
        """Note a message. Return how long the answer took; 0 if it was silent, because it was away then, not slow."""
        took = 0.0 if self.waits_since is None or self.is_silent else now - self.waits_since
        self.waits_since = self.gone_since = None
        self.is_silent, self.pause = False, PROBE_EVERY
        return took


class Homes:
    """The homes of one leaf.

    Args:
        leaf: Its name.
        most: How many relays it talks to.
        places: Where relays are; `ANY_RELAY` for any that announces itself.
        named: Whether places are names.

    >>> homes = Homes("web-9", 1, ["relay-a", "relay-b", "relay-c"], named=True)
    >>> _ = homes.look(0.0, lambda relay: False)
    >>> homes.wanted
    ('relay-b',)
    """

    def __init__(self, leaf: str, most: int, places: Iterable[str], *, named: bool) -> None:
        self._leaf, self._most, self._named = leaf, most, named
        self.takes_any = False
        """Whether any relay that announces itself will do."""
        self._places: dict[str, int] = {}
        """The known places, each with its rank. The lowest is the best."""
        self._homes: dict[str, _Home] = {}
        self._resting: dict[str, float] = {}
        """Places that were silent, each with the time until which it is not tried."""
        self._strain = 1
        self._left_at = 0.0
        """The factor by which waits are longer, and since when."""
        self._slowest = 0.0
        """Seconds that a slow answer took. Decays by half with each quicker answer."""
        self._due: float | None = None
        """When the next look was due, as of the last one."""
        self._displaced: list[str] = []
        """The names of homes that had to make room for another relay that announced itself."""
        self._review_at: float | None = None
        self._began_at: float | None = None
        self.is_cut_off = False
        """Whether no home answers, and none is left to try."""
        self.offer(places)

    # What is known of relays.

    def offer(self, places: Iterable[str]) -> None:
        """Take a new list of places. A home that is no longer listed stays as long as it answers."""
        offered = list(dict.fromkeys(places))
        self.takes_any = self.takes_any or ANY_RELAY in offered
        kept = [place for place, home in self._homes.items() if home.is_met] if self._places else []
        found = [place for place in (*offered, *kept) if place != ANY_RELAY][:MAX_PLACES]
        self._places = {place: _rank(self._leaf, place) for place in found}

    def found(self, name: str, now: float) -> None:
        """Note that a relay announces itself. That is a place only if relays are found by name."""
        if not self._named or name in self._homes:
            return
        if name not in self._places and self.takes_any and len(self._places) < MAX_PLACES:
            self._places[name] = _rank(self._leaf, name)
        if name in self._places and self.is_cut_off and len(self._homes) >= self._most:
            worst = self._homes.pop(self.wanted[-1])
            self._displaced += [] if worst.name is None else [worst.name]
            self._add(name)
        elif name in self._places:
            self._resting.pop(name, None)
            soon = now + RETURN_WITHIN * _unit(self._leaf, name)
            self._review_at = soon if self._review_at is None else min(self._review_at, soon)

    def reached(self, name: str, place: str) -> None:
        """Note the name of the relay at a place that was dialled."""
        home = self._homes.get(place)
        if home is not None and home.name != name:
            home.name, home.is_met = name, False

    def met(self, name: str, now: float) -> None:
        """Note that a home has introduced itself, as a relay."""
        for home in self._homes.values():
            if home.name == name:
                home.is_met = True
        self.heard(name, now)

    def heard(self, name: str, now: float) -> None:
        """Note that a home has sent something."""
        for home in self._homes.values():
            if home.name == name and (took := home.is_heard(now)) > 0.0:
                self._slowest = max(took, 0.5 * self._slowest)

    def left(self, name: str, now: float) -> None:
        """Note that a home has said farewell, or is not a relay. The next look finds another one."""
        for home in tuple(self._homes.values()):
            if home.name == name:
                home.is_met, home.is_silent = False, True
                self._resting[home.place] = now + REST

    def gone(self, name: str, now: float) -> None:
        """Note that the network reports a home's name as absent. Any message from the home refutes that."""
        for home in self._homes.values():
            if home.name == name:
                if home.gone_since is None or now < home.gone_since:
                    home.gone_since = now
                home.is_silent = home.is_silent or now >= home.gone_since + GONE_AFTER

    # Which homes to talk to.

    @property
    def wanted(self) -> tuple[str, ...]:
        """The places of the homes, best first."""
        return tuple(sorted(self._homes, key=self._rank_of))

    @property
    def talking(self) -> tuple[str, ...]:
        """The names of the homes that are met and not silent, best first."""
        homes = (self._homes[place] for place in self.wanted)
        return tuple(home.name for home in homes if home.name is not None and home.is_met and not home.is_silent)

    @property
    def are_all_talking(self) -> bool:
        """Whether enough relays answer."""
        return len(self.talking) >= self._most

    @property
    def known(self) -> tuple[str, ...]:
        """All known places."""
        return tuple(self._places)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the homes, where known."""
        return tuple(home.name for home in self._homes.values() if home.name is not None)

    def has(self, name: str) -> bool:
        """Return whether a relay is a home."""
        return any(home.name == name for home in self._homes.values())

    def due_at(self) -> float | None:
        """Return when to look next, if nothing happens."""
        times = [home.probe_at for home in self._homes.values() if home.waits_since is not None]
        waiting = [home for home in self._homes.values() if not home.is_silent]
        times += [home.waits_since + self._patience(home) for home in waiting if home.waits_since is not None]
        if self._review_at is not None:
            times.append(self._review_at)
        if len(self._homes) < min(self._most, len(self._places)):
            times += self._resting.values()
        if not self._homes and not self.is_cut_off and self._began_at is not None:
            times.append(self._began_at + SILENT_AFTER)
        return min(times, default=None)

    def look(self, now: float, owes: Callable[[str], bool]) -> Looked:
        """Leave silent homes, take others, and return what to do.

        Args:
            now: The time.
            owes: Returns whether a relay owes an answer.
        """
        self._forgive_being_late(now)
        if not self._left_at <= now < self._left_at + CALM:
            self._strain = 1
        self._resting = {place: until for place, until in self._resting.items() if now < until <= now + REST}
        greeted, is_reminded = list[str](), False
        for home in self._homes.values():
            if home.is_met and not (home.name is not None and owes(home.name)):
                home.waits_since, home.gone_since, home.is_silent = None, None, False
                continue
            if home.waits_since is None or now < home.waits_since:
                home.waits_since, home.probe_at = now, now + self._strain * PROBE_EVERY if home.is_met else now
            home.is_silent = home.is_silent or now >= home.waits_since + self._patience(home)
            if now >= home.probe_at:
                is_patient = home.is_silent or self.is_cut_off or self._is_extra(home)
                home.pause = min(2.0 * home.pause, LONGEST_PROBE_PAUSE) if is_patient else self._strain * PROBE_EVERY
                home.probe_at = now + home.pause
                if home.is_met:
                    is_reminded = True
                elif home.name is not None:
                    greeted.append(home.name)
        dropped, replaced = self._leave(now)
        self._review(now)
        greeted += self._fill(now)
        self._note_whether_cut_off(now)
        self._due = self.due_at()
        return Looked(tuple(dropped), tuple(replaced), tuple(greeted), is_reminded)

    def _note_whether_cut_off(self, now: float) -> None:
        """Once no relay is left to try, the leaf stays cut off until one answers."""
        self._began_at = now if self._began_at is None else min(self._began_at, now)
        is_silent = all(home.is_silent for home in self._homes.values())
        if self.talking:
            self.is_cut_off = False
        elif is_silent and (bool(self._homes) or now >= self._began_at + SILENT_AFTER):
            self.is_cut_off = True

    def _patience(self, home: _Home) -> float:
        if self.is_cut_off or self._is_extra(home):
            return PATIENCE_CUT_OFF
        return min(max(self._strain * SILENT_AFTER, SLOWNESS * self._slowest), PATIENCE_CUT_OFF)

    def _is_extra(self, home: _Home) -> bool:
        """Return whether a home is only on trial, while enough others answer."""
        return not home.is_met and self.are_all_talking

    def _forgive_being_late(self, now: float) -> None:
        late = 0.0 if self._due is None else now - self._due
        for home in self._homes.values() if late > LATE else ():
            if home.waits_since is not None:
                home.waits_since = min(home.waits_since + HELD_UP * late, now)
                home.probe_at += late

    def _leave(self, now: float) -> tuple[list[str], list[str]]:
        """Leave silent homes if there are others to go to, and surplus homes. Return the names of both, separately."""
        left: list[_Home] = []
        working = [place for place in self.wanted if self._homes[place].is_met and not self._homes[place].is_silent]
        if self.is_cut_off:  # then all are tried in turn
            self._resting.clear()
        spare = len(self._spare(now))
        for home in [home for home in self._homes.values() if home.is_silent]:
            if spare > 0 or len(working) >= self._most:
                spare -= 1
                left.append(home)
                if home.is_met:
                    self._strain, self._left_at = min(2 * self._strain, MOST_STRAIN), now
                self._resting[home.place] = now + REST
        surplus = [self._homes[place] for place in working[self._most :]]
        for home in (*left, *surplus):
            del self._homes[home.place]
        displaced, self._displaced = self._displaced, []
        return displaced + _names(left), _names(surplus)

    def _review(self, now: float) -> None:
        """Try a relay that this leaf prefers again. The present homes stay until it has answered."""
        if self._review_at is not None and now < self._review_at <= now + 2.0 * REVIEW_EVERY:
            return
        is_first, self._review_at = self._review_at is None, now + REVIEW_EVERY * (1.0 + _unit(self._leaf, ""))
        spare = self._spare(now)
        if is_first or not spare or len(self._homes) != self._most:
            return
        if self._rank_of(spare[0]) < max(map(self._rank_of, self._homes)):
            self._add(spare[0])

    def _fill(self, now: float) -> list[str]:
        missing = self._most - len(self._homes)
        added = [self._add(place) for place in self._spare(now)[: max(0, missing)]]
        greeted = list[str]()
        for home in [home for home in self._homes.values() if home in added or home.waits_since is None]:
            if not home.is_met:
                home.waits_since, home.probe_at = now, now + PROBE_EVERY
                greeted += [] if home.name is None else [home.name]
        return greeted

    def _spare(self, now: float) -> list[str]:
        """Return the places that can be tried now, best first."""
        free = [place for place in self._places if place not in self._homes and now >= self._resting.get(place, now)]
        return sorted(free, key=self._rank_of)

    def _add(self, place: str) -> _Home:
        home = self._homes[place] = _Home(place, place if self._named else None)
        return home

    def _rank_of(self, place: str) -> tuple[int, str]:
        return self._places.get(place, 2**64), place


def _names(homes: Iterable[_Home]) -> list[str]:
    return [home.name for home in homes if home.name is not None]


def _rank(leaf: str, place: str) -> int:
    return int.from_bytes(blake2b(f"{leaf}\0{place}".encode(), digest_size=8).digest())


def _unit(leaf: str, place: str) -> float:
    """Return a number in [0, 1) that depends on this pair."""
    return _rank(place, leaf) / 2.0**64
