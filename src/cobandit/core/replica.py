"""What an agent knows, and in which order it learned it: facts, one log, and a merge rule for each kind of fact.

A *cell* records what one incarnation of an agent has observed of one arm in one place (`places.py`): the number of
observations, the sum of the rewards, and the sum of their squares. Only that incarnation ever adds to it, and a count
only grows. So merging is simple: of two values of a cell, the one with the higher count is later. It does not matter
how many times a value arrives, in which order, or through whom. Other facts work the same way, each by its own rule:

    fact            written by              of two values, the later one is
    cell            one incarnation         the one with the higher count
    eliminations    one incarnation         of the later incarnation, the longer one: arms are only ever added
    presence        one agent               the one with the higher session, then number
    settled         a pen and its lender    both together: numbers are only ever added (settled.py)

Every change of a fact, own or received, gets the next number in the *log*. New observations advance that number by
their count, anything else by one. So a neighbour lacks exactly what changed after the number that it holds. Facts are
kept in the order of their last change, and read from the end.

The paper's buffer (b_n, b_mu of Algorithm 1) is not stored. It is the difference between the present value of a cell
and its value when it was last sent to the neighbour.

Cells outside their bandit's window are dropped when time moves on (`turn`), and ignored when they arrive later.

This file does not know who is present, who wants what, or when to send.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView
from operator import attrgetter
from typing import NamedTuple

from cobandit.core import parts, settled
from cobandit.core.amounts import Amounts
from cobandit.core.calendar import Calendar, Turn
from cobandit.core.facts import CellKey, EliminationsKey, Fact, Key, PresenceKey, SettledKey, Teller, told
from cobandit.core.messages import EVERYBODY_ELSE, MAX_INCARNATION, AgentId, Cells, Changes, Presence
from cobandit.core.pen_names import SettledBlock
from cobandit.core.places import PLAIN, At
from cobandit.core.running_totals import RunningTotals
from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm, ArmTally

MAX_FACTS_PER_MESSAGE = 4096
"""The most facts in one message. The oldest changes go first, and the next message continues from there."""

MAX_CELLS_PER_AGENT = 2**20
MAX_PER_AGENT = 2**40
"""The most cells, and the most observations, accepted for one agent. For the agent's own earlier incarnations the limit
is half: ten thousand restarts with fifty arms, each observed in every one of them."""


_NUMBER = attrgetter("number")

Told = tuple[AgentId, int, Arm, str, str, int]
"""The fields of a `CellKey`, to look up a cell that may not exist yet."""


class News(NamedTuple):
    """What a merge changed."""

    cells: tuple[tuple[CellKey, ArmTally], ...] = ()
    """Cells that grew, each with the observations that were not counted before."""
    eliminations: tuple[EliminationsKey, ...] = ()
    presences: tuple[Presence, ...] = ()
    settled: tuple[SettledKey, ...] = ()


class Replica:
    """Everything that one agent knows.

    >>> replica = Replica("j", 0, ("A", "B"), units_per_reward=1)
    >>> replica.observe([ArmTally("A", 1, 1, 1)])
    >>> [told.tallies for told in replica.changes(0, lambda fact: True).cells]
    [(ArmTally(arm='A', observations=1, reward_sum=1, square_sum=1),)]
    """

    def __init__(self, agent: AgentId, incarnation: int, arms: Iterable[Arm], units_per_reward: int) -> None:
        check_whole("incarnation", incarnation, 0, MAX_INCARNATION - 1)
        self.agent = agent
        self.incarnation = incarnation
        self.lives = {incarnation}
        """The incarnations that this agent knows it began itself."""
        self.arms = set(arms)
        """The arms of the plain bandit that this agent serves. Reports about other arms are ignored."""
        self.units_per_reward = units_per_reward
        self.calendar = calendar = Calendar(self.arms, units_per_reward)
        self.bandits, self.serve = calendar.bandits, calendar.serve
        self.has, self.arms_of, self.units_of = calendar.has, calendar.arms_of, calendar.units_of
        self.period_of, self.is_ahead = calendar.period_of, calendar.is_ahead
        self.dropped = 0
        """How many observations of this incarnation are outside their windows."""
        self.max_facts = MAX_FACTS_PER_MESSAGE  # lower where packets are small
        self.number = 0
        """The number of the last change."""
        self.observations = 0
        """How many observations this incarnation has made."""
        self._facts: dict[tuple[object, ...], Fact] = {}
        self._log: dict[Fact, None] = {}
        """The facts, in the order of their last change."""
        self._logs: dict[AgentId, dict[Fact, None]] = {}
        """The same, separately for each agent."""
        self._own: dict[tuple[Arm, str, str, int], Fact] = {}
        """The cells of this incarnation, by the rest of their keys."""
        self._eliminations: dict[AgentId, Fact] = {}
        """What each agent has eliminated: only its last incarnation counts."""
        self._presences: dict[AgentId, Fact] = {}
        """The last presence of each agent: that it is here, or is leaving."""
        self._amounts = amounts = Amounts()
        self.agents, self.amount_of, self.observations_of = amounts.agents, amounts.of, amounts.of_life
        self.totals: RunningTotals | None = None
        """What all agents have observed, if this agent is a relay."""

    # What this agent observes.

    def observe(self, tallies: Iterable[ArmTally], numbers: Iterable[SettledBlock] = (), at: At = PLAIN) -> None:
        """Count own observations that passed `credibility.check_observations`.

        They belong to the present period. If they come from a pen's decisions, this also settles those decisions.
        """
        settled.merge(self, numbers, None)
        place = (*at, self.period_of(at[0]))
        for entry in tallies:
            own = (entry.arm, *place)
            fact = self._own.get(own)
            if fact is None:
                key = CellKey(self.agent, self.incarnation, *own)
                fact = self._own[own] = self._facts[key] = Fact(key, ArmTally(entry.arm, 0, 0, 0), None)
            fact.value, fact.teller = fact.cell.plus(entry), None
            self.observations += entry.observations
            self._grown(fact, entry)

    def begin(self, incarnation: int) -> None:
        """Begin a new incarnation: existing observations stay as they are, in cells that no longer grow."""
        check_whole("incarnation", incarnation, self.incarnation + 1, MAX_INCARNATION - 1)
        if self.observations_of(self.agent, incarnation) or EliminationsKey(self.agent, incarnation) in self._facts:
            raise LocalError(f"{self.agent} has had incarnation {incarnation} before: begin another one")
        self._drop_eliminations(self.agent)
        self.incarnation, self.observations, self.dropped = incarnation, 0, 0
        self.lives.add(incarnation)
        self._own.clear()

    @property
    def forgets(self) -> bool:
        """Whether any bandit has a window."""
        return self.calendar.turns_at < math.inf

    def turn(self, time: float) -> Turn | None:
        """Set the calendar's time and drop what is now outside its window. Return `None` if no period changes."""
        present = {bandit for _, bandit, _, period in self._own if period == self.period_of(bandit)}
        turned = self.calendar.turn(time)
        if not turned:
            return None
        is_over, is_ahead = self.calendar.is_over, self.calendar.is_ahead
        gone = [(key, entry) for key, entry in self.cells() if is_over(key.bandit, key.period) or is_ahead(key)]
        self.drop([key for key, _ in gone])
        return Turn(is_own=bool(present & turned), gone=tuple(gone))

    # What it knows.

    def put(self, key: Key, value: object, teller: Teller | None = None) -> int:
        """Store or replace a fact that is not a cell. Return the number of the change."""
        fact = self._facts.get(key)
        if fact is None:
            fact = self._facts[key] = Fact(key, value, teller)
            if isinstance(key, EliminationsKey):
                self._drop_eliminations(key.agent)
                self._eliminations[key.agent] = fact
            if isinstance(key, PresenceKey):
                self._presences[key.agent] = fact
        fact.value, fact.teller = value, teller
        self._changed(fact, by=1)
        return self.number

    def _drop_eliminations(self, agent: AgentId) -> None:
        fact = self._eliminations.pop(agent, None)
        if fact is not None:
            self.drop([fact.key])

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget these facts. Of the cells of a place, either all must go, or all those of other agents."""
        facts = [self._facts.pop(key) for key in keys]
        cells = [(fact, fact.key) for fact in facts if isinstance(fact.key, CellKey)]
        if self.totals is not None:
            facts += self.totals.drop(key for _, key in cells)
        for fact in facts:
            del self._log[fact]
            log = self._logs[fact.key.agent]
            del log[fact]
            if not log:
                del self._logs[fact.key.agent]
        for fact, key in cells:
            self._amounts.drop(key, fact.cell.observations)
            if key[:2] == (self.agent, self.incarnation):
                del self._own[key[2:]]
                self.dropped += fact.cell.observations

    def value_of(self, key: Key) -> object | None:
        """Return the value stored under a key."""
        fact = self._facts.get(key)
        return None if fact is None else fact.value

    def facts_of(self, agent: AgentId) -> Collection[Fact]:
        """Return all facts about an agent."""
        return self._logs.get(agent, ())

    def eliminated(self, agent: AgentId, incarnation: int) -> tuple[Arm, ...]:
        """Return the arms that an incarnation has eliminated, as far as is known."""
        return self.value_of(EliminationsKey(agent, incarnation)) or ()  # type: ignore[return-value]

    def fact(self, key: Key) -> Fact:
        """Return the fact stored under a key."""
        return self._facts[key]

    def number_of(self, key: Key) -> int:
        """Return the number of a fact's last change; 0 if it is not known."""
        fact = self._facts.get(key)
        return 0 if fact is None else fact.number

    def presence_of(self, agent: AgentId) -> Presence | None:
        """Return the last presence of an agent; `None` if it has announced none."""
        fact = self._presences.get(agent)
        return None if fact is None else fact.value  # type: ignore[return-value]

    def own_count(self, arm: Arm) -> int:
        """Return this incarnation's number of observations of an arm of the plain bandit that still count."""
        return sum(fact.cell.observations for key, fact in self._own.items() if key[:2] == (arm, ""))

    def own_counts(self) -> Iterator[tuple[str, Arm, int]]:
        """Yield the number of this incarnation's observations of each arm of each bandit, place by place."""
        for (arm, bandit, _, _), fact in self._own.items():
            yield bandit, arm, fact.cell.observations

    def cells(self) -> Iterator[tuple[CellKey, ArmTally]]:
        """Yield all cells."""
        for fact in self._log:
            if isinstance(fact.key, CellKey):
                yield fact.key, fact.cell

    # What it sends.

    def changes(
        self,
        base: int,
        wants: Callable[[Fact], bool],
        told_of: tuple[AgentId, ...] | None = None,
        receiver: AgentId = EVERYBODY_ELSE,
    ) -> Changes:
        """Return the wanted changes after `base`: all of them, or as many as fit in one message.

        Totals cover all agents but the receiver.
        """
        wanted = list(self.wanted(base, wants, told_of))
        if len(wanted) > 1:
            wanted.sort(key=_NUMBER, reverse=True)
        wanted, upto = parts.part_of(self, wanted, min(self.max_facts, MAX_FACTS_PER_MESSAGE))
        changes = told(reversed(wanted), base, upto)
        totals = () if self.totals is None else self.totals.told_to(receiver, wanted)
        return changes._replace(cells=changes.cells + totals) if totals else changes

    def wanted(
        self, base: int, wants: Callable[[Fact], bool], told_of: tuple[AgentId, ...] | None = None
    ) -> Iterator[Fact]:
        """Yield the wanted facts of all agents, or of some, that changed after `base`: of each log the newest first."""
        for log in (self._log,) if told_of is None else [self._logs.get(agent, ()) for agent in told_of]:
            for fact in reversed(log):
                if fact.number <= base:
                    break
                if wants(fact):
                    yield fact

    # What it receives, after `credibility.py` has checked it.

    def held(self, told: Cells, arm: Arm) -> ArmTally:
        """Return the known value of a received cell."""
        fact = self._facts.get((*told[:2], arm, *told[3:]))
        return ArmTally(arm, 0, 0, 0) if fact is None else fact.cell

    def merge(self, changes: Changes, teller: Teller | None) -> News:
        """Merge changes that were checked. Return what is new."""
        numbers = settled.merge(self, changes.settled, teller)
        cells: list[tuple[CellKey, ArmTally]] = []
        for one in changes.cells:
            cells += self.merge_cells(one, teller)
        eliminations: list[EliminationsKey] = []
        for eliminated in changes.eliminations:
            key = EliminationsKey(eliminated.agent, eliminated.incarnation)
            last = self._eliminations.get(key.agent)
            if last is not None and last.key > key:
                continue  # a later incarnation has eliminated arms
            known = self.eliminated(*key)
            before = set(known)
            if more := tuple(arm for arm in eliminated.arms if arm not in before):
                self.put(key, known + more, teller)
                eliminations.append(key)
        presences: list[Presence] = []
        for presence in changes.presences:
            said = self.presence_of(presence.agent)
            if said is None or presence[1:3] > said[1:3]:
                self.put(PresenceKey(presence.agent), presence, teller)
                presences.append(presence)
        return News(tuple(cells), tuple(eliminations), tuple(presences), numbers)

    def merge_cells(self, told: Cells, teller: Teller | None) -> list[tuple[CellKey, ArmTally]]:
        """Merge cells, as far as they are of use. Return which ones grew, and by how much."""
        agent, incarnation, tallies, bandit, segment, period = told
        arms = self.arms_of(bandit) if self.is_served(told) else ()
        grown: list[tuple[CellKey, ArmTally]] = []
        for entry in tallies:
            key = (agent, incarnation, entry.arm, bandit, segment, period)
            if entry.arm in arms and (one := self._merge_cell(key, entry, teller)) is not None:
                grown.append(one)
        return grown

    def is_served(self, told: Cells) -> bool:
        """Return whether cells are useful: bandit and period count, and it is no later incarnation of this agent."""
        if told.agent == self.agent and told.incarnation > self.incarnation:
            return False
        return self.calendar.counts(told)

    def _merge_cell(self, told: Told, entry: ArmTally, teller: Teller | None) -> tuple[CellKey, ArmTally] | None:
        fact = self._facts.get(told)
        added = entry if fact is None else entry.minus(fact.cell)
        if added.observations <= 0 or not added.can_be(self.units_of(told[3])):
            return None  # old news; or one of the two is a lie, with no way to tell which
        if fact is None:
            key = CellKey(*told)
            fact = self._facts[key] = Fact(key, entry, teller)
            if told[:2] == (self.agent, self.incarnation):  # from this agent's own disk
                self._own[told[2:]] = fact
                self.observations += entry.observations
        fact.value, fact.teller = entry, teller
        return self._grown(fact, added), added

    def _grown(self, fact: Fact, added: ArmTally) -> CellKey:
        key: CellKey = fact.key  # type: ignore[assignment]
        self._amounts.add(key, added.observations, is_new=not fact.number)
        self._changed(fact, by=added.observations)
        if self.totals is not None:
            self._append(self.totals.add(key, added, self.number))
        return key

    def _changed(self, fact: Fact, *, by: int) -> None:
        self.number += by
        fact.number = self.number
        self._append(fact)

    def _append(self, fact: Fact) -> None:
        for log in (self._log, self._logs.setdefault(fact.key.agent, {})):
            log.pop(fact, None)
            log[fact] = None  # at the end

    # What all agents have observed, added up.

    def keep_totals(self) -> None:
        """From now on, keep for every arm of every place the total of all cells. It changes when one of them does."""
        if self.totals is None:
            self.totals = RunningTotals()
            for fact in [*self._log]:
                if isinstance(fact.key, CellKey):
                    self._append(self.totals.add(fact.key, fact.cell, fact.number))
            self._log = dict.fromkeys(sorted(self._log, key=_NUMBER))

    def forget_totals(self) -> None:
        """Stop keeping totals."""
        self.totals = None
        for fact in self._logs.pop(EVERYBODY_ELSE, ()):
            del self._log[fact]

    def facts(self) -> KeysView[Fact]:
        """Return all facts, in the order of their last change."""
        return self._log.keys()

    def renumber(self, number: int) -> None:
        """Set the number of the last change, while restoring facts."""
        fact = next(reversed(self._log))
        self.number = fact.number = number
