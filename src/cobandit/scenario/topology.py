"""Who talks to whom: relays with leaves, or a graph of agents. By default, every agent talks to every other.

With `Relays`, agents are leaves: each talks only to its homes, and holds totals. Relays decide nothing, hold a row for
each agent, and form a mesh among themselves. In a `Graph`, every agent decides, and passes on to its neighbours what it
hears. This file defines such networks, and refuses those that cannot work. It does not know how agents talk.

A leaf's relays have an order: leaf j prefers relay j modulo their number, then the next one, and so on cyclically. The
first `homes` of them that are not away are its homes. So a relay that dies is replaced by the next, and becomes a home
again when it is back.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cobandit.scenario.csv_files import read_csv
from cobandit.values.chance import stream, uniform
from cobandit.values.checks import check_whole, keep_plain, plain_arguments
from cobandit.values.errors import LocalError

MAX_RELAYS = 1_000
MAX_NODES = 2**20 - 1
"""Maximum number of agents and relays. The compiled engine encodes a decision as one integer."""

SWAPS_PER_EDGE = 10
"""How often each edge of a random graph is exchanged with another one."""

MAX_DRAWS = 100
"""How many random graphs are drawn at most until one is connected."""

_GRAPH_STREAM = 0x6EA9


@dataclass(frozen=True, slots=True)
class RelayAbsence:
    """A relay is away from slot `leave` until just before slot `rejoin`, or for good, without a word: it was killed.

    Args:
        relay: The relay, counted from 0.
        leave: The first slot without it. Its neighbours notice at once, because connections break.
        rejoin: The first slot in which it is back.
        forgets: Whether it lost its disk. This requires loss-tolerant agents.
    """

    relay: int
    leave: int
    rejoin: int | None = None
    forgets: bool = False

    def __post_init__(self) -> None:
        keep_plain(self, "relay", "leave", "rejoin")
        check_whole("the relay that is away", self.relay, 0, MAX_RELAYS - 1)
        check_whole("leave", self.leave, 0)
        if self.rejoin is not None:
            check_whole("rejoin", self.rejoin, self.leave + 1)
        elif self.forgets:
            raise LocalError(f"relay {self.relay} stays away from slot {self.leave} on: whether it forgets is nothing")


@dataclass(frozen=True, slots=True)
class Relays:
    """Relays with leaves.

    Args:
        count: The number of relays.
        homes: The number of relays that each leaf talks to.
        absences: When each relay is away.

    >>> Relays(3, homes=2).order(4)
    (1, 2, 0)
    """

    count: int = 2
    homes: int = 1
    absences: tuple[RelayAbsence, ...] = ()

    def __post_init__(self) -> None:
        keep_plain(self, "count", "homes")
        check_whole("the number of relays", self.count, 1, MAX_RELAYS)
        check_whole("homes", self.homes, 1, MAX_RELAYS)
        if self.homes > self.count:
            raise LocalError(f"a leaf cannot have {self.homes} homes with {self.count} relays: homes <= relays")
        given = self.absences
        if not (isinstance(given, tuple) and all(isinstance(absence, RelayAbsence) for absence in given)):
            raise LocalError(f"absences must be a tuple of RelayAbsence(...), not {given!r}")
        until: dict[int, int | None] = {}
        for absence in sorted(given, key=lambda one: one.leave):
            check_whole("the relay that is away", absence.relay, 0, self.count - 1)
            back = until.get(absence.relay, 0)
            if back is None or absence.leave < back:
                raise LocalError(f"relay {absence.relay} is away already when it leaves in slot {absence.leave}")
            until[absence.relay] = absence.rejoin

    @property
    def known(self) -> int:
        """The number of relays that a leaf knows: its homes, or all relays if homes can be away."""
        return self.count if self.absences else self.homes

    def order(self, leaf: int) -> tuple[int, ...]:
        """Return the relays in a leaf's order of preference."""
        return tuple((leaf + place) % self.count for place in range(self.count))

    def homes_of(self, leaf: int, away: Iterable[int] = ()) -> tuple[int, ...]:
        """Return the homes of a leaf while some relays are away."""
        gone = set(away)
        return tuple(relay for relay in self.order(leaf)[: self.known] if relay not in gone)[: self.homes]


@dataclass(frozen=True, slots=True)
class Graph:
    """Agents that talk only to their neighbours and pass on what they hear.

    Args:
        edges: Pairs of agents, by position. The graph must be connected.
        kind: The name of the graph in descriptions.

    >>> Graph.ring(4).edges
    ((0, 1), (0, 3), (1, 2), (2, 3))
    """

    edges: tuple[tuple[int, int], ...]
    kind: str = "edges"

    def __post_init__(self) -> None:
        keep_plain(self, "edges")
        pairs: list[tuple[int, int]] = []
        for edge in self.edges:
            if not (isinstance(edge, tuple) and len(edge) == 2):
                raise LocalError(f"an edge must be a pair of agents such as (0, 1), not {edge!r}")
            for agent in edge:
                check_whole("an agent of an edge", agent, 0, MAX_NODES - 1)
            if edge[0] == edge[1]:
                raise LocalError(f"agent {edge[0]} cannot have an edge to itself")
            pairs.append((min(edge), max(edge)))
        if len(set(pairs)) < len(pairs):
            twice = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise LocalError(f"the edge between {twice[0]} and {twice[1]} is given twice: name it once")
        object.__setattr__(self, "edges", tuple(sorted(pairs)))

    @classmethod
    @plain_arguments
    def ring(cls, agents: int) -> "Graph":
        """Return a ring: every agent has two neighbours."""
        check_whole("the agents of a ring", agents, 3, MAX_NODES)
        return cls(tuple((agent, (agent + 1) % agents) for agent in range(agents)), "ring")

    @classmethod
    @plain_arguments
    def grid(cls, agents: int) -> "Graph":
        """Return a roughly square grid, filled row by row: every agent has up to four neighbours.

        >>> Graph.grid(5).edges
        ((0, 1), (0, 3), (1, 2), (1, 4), (3, 4))
        """
        check_whole("the agents of a grid", agents, 2, MAX_NODES)
        width = math.ceil(math.sqrt(agents))
        right = [(agent, agent + 1) for agent in range(agents - 1) if (agent + 1) % width]
        down = [(agent, agent + width) for agent in range(agents - width)]
        return cls(tuple(right + down), "grid")

    @classmethod
    @plain_arguments
    def random(cls, agents: int, degree: int, *, seed: int = 0) -> "Graph":
        """Draw a connected graph in which every agent has `degree` neighbours.

        Starts from a regular pattern and randomises it by swapping the ends of pairs of edges many times.

        Raises:
            LocalError: There is no such graph, or no connected one was found.
        """
        check_whole("the agents of a random graph", agents, 2, MAX_NODES)
        check_whole("degree", degree, 1)
        if degree >= agents:
            raise LocalError(f"degree {degree} needs more than {agents} agents: no agent is its own neighbour")
        if agents * degree % 2:
            raise LocalError(
                f"{agents} agents cannot have {degree} neighbours each: an edge has two ends, and {agents * degree} "
                "ends are an odd number"
            )
        for draw in range(MAX_DRAWS):
            edges = _swapped(_circulant(agents, degree), stream(seed, _GRAPH_STREAM, draw))
            if len(_reached(edges)) == agents:
                return cls(tuple(edges), f"random, degree {degree}")
        raise LocalError(f"no connected graph of degree {degree} was found in {MAX_DRAWS} draws: take a larger degree")

    @classmethod
    def from_csv(cls, path: Path | str) -> "Graph":
        """Read a file with the columns `agent` and `other`: positions, one edge per row."""
        edges: list[tuple[int, int]] = []
        for line, row in read_csv(path, ("agent", "other")):
            if not (row["agent"].strip().isdecimal() and row["other"].strip().isdecimal()):
                raise LocalError(
                    f"{path}, line {line}: agent and other must be positions of agents, whole numbers from 0, "
                    f"not {row['agent']!r} and {row['other']!r}"
                )
            edges.append((int(row["agent"]), int(row["other"])))
        return cls(tuple(edges))

    def check(self, agents: int) -> None:
        """Raise unless the graph connects this many agents, all of them.

        Raises:
            LocalError: An edge names an agent that does not exist, or the graph is not connected.
        """
        for edge in self.edges:
            for agent in edge:
                check_whole("an agent of an edge", agent, 0, agents - 1)
        reached = _reached(self.edges) if agents > 1 else {0}
        if len(reached) < agents:
            lost = next(agent for agent in range(agents) if agent not in reached)
            raise LocalError(f"the graph is not connected: nothing that agent 0 observes would ever reach agent {lost}")

    def neighbours(self, agents: int) -> list[list[int]]:
        """Return the neighbours of every agent, in order."""
        lists: list[list[int]] = [[] for _ in range(agents)]
        for one, other in self.edges:
            lists[one].append(other)
            lists[other].append(one)
        return [sorted(one) for one in lists]


Topology = Relays | Graph
"""Who talks to whom, other than each to all others."""


def _reached(edges: Sequence[tuple[int, int]]) -> set[int]:
    """Return the agents that agent 0 is connected to, including itself."""
    lists: dict[int, list[int]] = {}
    for one, other in edges:
        lists.setdefault(one, []).append(other)
        lists.setdefault(other, []).append(one)
    reached, waiting = {0}, [0]
    while waiting:
        for other in lists.get(waiting.pop(), ()):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


def _circulant(agents: int, degree: int) -> list[tuple[int, int]]:
    """Return a graph in which each agent's neighbours are the nearest agents on a ring."""
    steps = [*range(1, degree // 2 + 1), *([agents // 2] if degree % 2 else [])]
    ends = [(agent, (agent + step) % agents) for step in steps for agent in range(agents)]
    return sorted({(min(pair), max(pair)) for pair in ends})


def _swapped(edges: list[tuple[int, int]], key: int) -> list[tuple[int, int]]:
    """Exchange the ends of random pairs of edges, where that creates no loop and no duplicate edge."""
    present = set(edges)
    for number in range(SWAPS_PER_EDGE * len(edges)):
        first, second = (int(uniform(key, 3 * number + place) * len(edges)) for place in range(2))
        (a, b), (c, d) = edges[first], edges[second]
        if uniform(key, 3 * number + 2) < 0.5:
            c, d = d, c
        new = [(min(a, c), max(a, c)), (min(b, d), max(b, d))]
        if len({a, b, c, d}) < 4 or present.intersection(new):
            continue
        present.difference_update((edges[first], edges[second]))
        present.update(new)
        edges[first], edges[second] = new
    return edges
