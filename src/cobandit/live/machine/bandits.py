"""The named bandits that a member has declared, and what is published to its deciders about each of their segments.

A segment appears when it is first requested here. Each segment has its published state (`Knowledge`), its odds (`Odds`)
and a desk of the decider. As long as there is room, segments that only other members use get these too, so that the
first decision here already knows what others did. Others can make up any number of segments, hence the limit. Segments
whose window has passed are dropped. This file owns the set of segments, their limits, and which must be published
again. The agent's sessions spread bandits to other members; this file does not.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.core.pen_names import lender_of
from cobandit.core.pens import MAX_CELLS_HANDED_ON, MAX_CELLS_HELD
from cobandit.core.places import At, Bandit, Change, beside, check_part
from cobandit.live.decide.allocation import drawn_by
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.decider import Decider
from cobandit.live.decide.desk import Desk, DeskTerms
from cobandit.live.decide.full_names import split
from cobandit.live.decide.known import Known
from cobandit.live.machine.controls import FROZEN, Controls, freezing_in, killing
from cobandit.live.machine.definitions import difference_in_words
from cobandit.live.machine.guardrails import Freezer
from cobandit.live.machine.knowledge import Knowledge
from cobandit.live.machine.odds import Odds, Question
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.operations import Effects
from cobandit.live.status.guardrail import GuardrailTerms
from cobandit.values.checks import check_name
from cobandit.values.errors import LocalError, StateError, UnknownError
from cobandit.values.tally import LONGEST_NAME, Arm, ArmTally

MAX_SEGMENTS = 1000
"""How many segments of one bandit may be requested at one member, unless it sets another limit."""

ROOM_AHEAD = 2**16
"""Room at one member for segments that were not requested here. Each takes as much as it has arms, plus `ROOM_EACH`.
All of it is some 30 MB."""

ROOM_EACH = 16

MAX_CELLS = MAX_CELLS_HELD - MAX_CELLS_HANDED_ON
"""How many combinations of segment, arm and period a member without a name of its own can hand on."""

MAX_CELLS_AHEAD = MAX_CELLS // 2
"""Above this, no further segment is prepared before it is requested: the rest is kept for requested ones."""


class Declared(NamedTuple):
    """A bandit, as this member declared it."""

    bandit: Bandit
    desk: DeskTerms
    max_segments: int = MAX_SEGMENTS
    guardrail: GuardrailTerms | None = None


class _Offer:
    """What may be chosen from one bandit: implements `knowledge.Offer`."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._declared: Declared
        self._others: frozenset[Arm]
        """Arms of other members, which this one does not serve."""

    def take(self, declared: Declared, others: frozenset[Arm]) -> None:
        """Take a declaration, which may repeat an earlier one with more arms. Every segment has this offer."""
        self._declared, self._others = declared, others

    @property
    def offered(self) -> tuple[Arm, ...]:
        """The arms that this member serves."""
        return self._declared.bandit.arms

    @property
    def withheld(self) -> frozenset[Arm]:
        """The arms that cannot be chosen here: frozen by operators, or served only by other members."""
        return self._controls.frozen_in(self._declared.bandit.name) | self._others

    @property
    def control_arm(self) -> Arm | None:
        """The kill switch's arm, if it is on and the arm is offered."""
        return self._controls.control_arm_of(self._declared.bandit.name, self.offered)

    @property
    def available(self) -> tuple[Arm, ...]:
        """The arms to choose from. If all are frozen, the freeze cannot be obeyed, so none counts as frozen."""
        if self.control_arm is not None:
            return (self.control_arm,)
        frozen = self.withheld
        return tuple(arm for arm in self.offered if arm not in frozen) or self.offered


class _Place:
    """One segment: what is known about it, and its odds."""

    __slots__ = ("knowledge", "odds")

    def __init__(self, agent: Agent, at: At, offer: _Offer, declared: Declared) -> None:
        self.odds = Odds(agent, at)
        self.odds.allocation = declared.desk.allocation
        self.knowledge = Knowledge(agent, offer, self.odds, at)


class Bandits:
    """The named bandits of one member. Only `desk` may be called from any thread."""

    def __init__(self, name: str, agent: Agent, controls: Controls, clock: Clock, effects: Effects) -> None:
        self._name, self._agent, self._controls = name, agent, controls
        self._clock, self._effects = clock, effects
        self.declared: dict[str, Declared] = {}
        self._offers: dict[str, _Offer] = {}
        self._places: dict[At, _Place] = {}
        self._asked_for: dict[str, set[str]] = {}
        """The segments of each bandit that were requested here before anything was known about them."""
        self._fresh: deque[At] = deque()
        """The segments that were requested since the last step."""
        self._ahead: dict[At, int] = {}
        """The segments that were not requested here, and how much room each takes."""
        self._room = ROOM_AHEAD
        self._changed: dict[At, None] = {}
        """The segments to publish, in the order in which they changed."""
        self._asked: dict[At, None] = {}
        """The segments whose odds must be checked."""
        self.decider: Decider

    # Declaring.

    def check(
        self, declared: Declared, giving_way: Callable[[Collection[str]], Collection[str]]
    ) -> tuple[Bandit, ...] | None:
        """Return all bandits to serve if this one needs a new session; `None` if it is served already.

        giving_way: Returns which of the given bandits yield to another definition.
            declared: The bandit.
            giving_way: Returns which of some give way to another definition.

        Raises:
            LocalError: It is already declared here, and differently.
        """
        bandit = declared.bandit
        served = {one.name: one for one in self._agent.bandits}
        before = served.get(bandit.name)
        if before is not None and (what := difference_in_words(before, bandit, "before", "now")) is not None:
            if giving_way({bandit.name}):
                return tuple((served | {bandit.name: bandit}).values())
            raise LocalError(
                f"bandit {bandit.name!r} is declared differently than before ({what}): declare "
                "it as it was, or under another name, at every member: what was learned is of the old definition"
            )
        if before is not None and set(bandit.arms) <= set(before.arms):
            return None
        arms = bandit.arms if before is None else tuple(dict.fromkeys((*before.arms, *bandit.arms)))
        return tuple((served | {bandit.name: bandit._replace(arms=arms)}).values())

    def declare(self, declared: Declared, open_decisions: OpenDecisions) -> None:
        """Take a bandit that the agent serves, and publish what is known about its segments."""
        name = declared.bandit.name
        served = next(one for one in self._agent.bandits if one.name == name)
        said = {*declared.bandit.arms, *(self.declared[name].bandit.arms if name in self.declared else ())}
        arms = tuple(arm for arm in served.arms if arm in said)
        declared = declared._replace(bandit=declared.bandit._replace(arms=arms))
        self._agent.declare(name, declared.desk.build)
        self.declared[name] = declared
        self._offers.setdefault(name, _Offer(self._controls)).take(declared, frozenset(served.arms) - said)
        self._make_blank(declared)
        for at, desk in tuple(self.decider.desks.items()):
            if at[0] == name:
                desk.take_terms(declared.desk)
                self._place(at).odds.allocation = declared.desk.allocation
                self._changed[at] = None
        waiting = [(number, *split(arm)) for number, (arm, _) in open_decisions.open.items()]
        for segment in sorted({at[1] for _, at, _ in waiting if at[0] == name}):
            self._changed[name, segment] = None
        for segment in sorted(self._agent.segments_of(name)):
            self._note((name, segment))
        self.publish()
        for number, at, arm in waiting:
            if at[0] == name:
                self.decider.desks[at].attach(number, arm)

    def desk(self, bandit: str, segment: str) -> Desk:
        """Return the desk of a segment, which is created when it is first requested. May be called from any thread.

        Raises:
            LocalError: It is not a valid segment, or the bandit has the maximum number of segments.
        """
        at = (bandit, segment)
        desk = self.decider.desks.get(at)
        if desk is not None:
            return desk
        declared = self.declared[bandit]
        if segment:
            check_name("a segment", segment, LONGEST_NAME)
            check_part("a segment", segment)
        asked_for = self._asked_for.setdefault(bandit, set())
        if len(asked_for) >= declared.max_segments:
            raise StateError(
                f"bandit {bandit!r} has {len(asked_for)} segments already, which is its limit: use fewer, or declare "
                "it with a larger max_segments"
            )
        self._check_room(bandit)
        asked_for.add(segment)
        desk = self.decider.desk(at)
        self._fresh.append(at)
        return desk

    # What happens.

    def absorbed(self, placed: Mapping[At, tuple[ArmTally, ...]]) -> None:
        """Note, by place, that the agent has taken rewards. Hold-outs and guardrail metrics do not affect decisions."""
        for at, tallies in placed.items():
            if at[0] in self.declared and not beside(*at):
                self._place(at).knowledge.take(tallies)
                self._changed[at] = None

    def learned(self, changes: Iterable[Change]) -> None:
        """Note that knowledge has changed."""
        for change in changes:
            if change.bandit in self.declared and not beside(*change[:2]):
                self._note(change[:2])

    def drop_empty(self) -> None:
        """Drop segments about which nothing is known any more, because their window has passed."""
        windowed = {name for name, declared in self.declared.items() if declared.bandit.period}
        empty = [at for at in tuple(self.decider.desks) if at[0] in windowed and not self._agent.learners.has_any(at)]
        for at in self.decider.drop_desks(empty):
            self._asked_for.get(at[0], set()).discard(at[1])
            self._room += self._ahead.pop(at, 0)
            for kept in (self._places, self._changed, self._asked):
                kept.pop(at, None)
            self._agent.learners.drop(at)

    def publish_all(self) -> None:
        """Publish everything again, because controls have changed."""
        for declared in self.declared.values():
            self._make_blank(declared)
        self._changed |= dict.fromkeys(self._places)
        for at, desk in tuple(self.decider.desks.items()):
            if at not in self._places:
                desk.published = self.decider.declared[at[0]].blank
        self.publish()

    def publish(self) -> None:
        """Publish to the deciders what has changed."""
        while self._fresh:
            at = self._fresh.popleft()
            if self._agent.learners.has_any(at):
                self._changed[at] = None
        for at in self._changed:
            place, desk = self._place(at), self.decider.desk(at)
            if place.odds.last is None:
                place.odds.last = self.decider.declared[at[0]].blank.odds
            desk.published = place.knowledge.known()
            self._asked[at] = None
        self._changed.clear()

    def question(self) -> Question | None:
        """Return the next question about odds, or `None`."""
        while self._asked:
            at = next(iter(self._asked))
            del self._asked[at]
            question = self._place(at).odds.question(self._offers[at[0]].withheld)
            if question is not None:
                return question
        return None

    def answer(self, question: Question, odds: list[float]) -> None:
        """Draw decisions by these odds from now on, if the segment still exists."""
        if question.at not in self.decider.desks:
            return
        place = self._place(question.at)
        place.odds.take(question, odds)
        self.decider.desks[question.at].published = place.knowledge.known()

    # What operators do.

    def set_control_arm(self, bandit: str, arm: Arm | None) -> None:
        """Turn the kill switch of one bandit on or off, here and everywhere."""
        if arm is not None:
            self._check_offered(bandit, arm)
        self._set(killing(bandit), arm)

    def set_frozen(self, bandit: str, arm: Arm, *, is_frozen: bool) -> None:
        """Freeze or unfreeze an arm of one bandit, here and everywhere."""
        self._check_offered(bandit, arm)
        offer = self._offers[bandit]
        if is_frozen and not set(offer.offered) - offer.withheld - {arm}:
            raise StateError(f"arm {arm!r} is the last one that is not frozen: give another one back first")
        self._set(freezing_in(bandit, arm), FROZEN if is_frozen else None)

    def freezer(self, bandit: str) -> Freezer:
        """Return what a bandit's guardrail needs in order to act."""
        return Freezer(
            lambda: self.declared[bandit].bandit.arms, lambda arm: self.set_frozen(bandit, arm, is_frozen=True)
        )

    def withheld(self, bandit: str) -> frozenset[Arm]:
        """Return the arms of a bandit that cannot be chosen here: frozen, or served only by other members."""
        return self._offers[bandit].withheld

    def frozen(self, bandit: str) -> frozenset[Arm]:
        """Return the arms of a bandit that get no traffic."""
        return self._controls.frozen_in(bandit)

    def control_arm_of(self, bandit: str) -> Arm | None:
        """Return the arm of a bandit's kill switch, or else of the fleet's, if it is on and the bandit has the arm."""
        offer = self._offers.get(bandit)
        return self._controls.control_arm_of(bandit, self._served(bandit).arms if offer is None else offer.offered)

    def odds_of(self, at: At) -> Mapping[Arm, float] | None:
        """Return how likely each arm of a place is the best, as last computed."""
        place = self._places.get(at)
        return None if place is None else place.odds.last

    # How.

    def _set(self, key: str, value: str | None) -> None:
        self._controls.turn(key, value, self._clock.time_of_day(), by=self._name)
        self._effects.settings_changed()

    def _check_offered(self, bandit: str, arm: Arm) -> None:
        arms = self.declared[bandit].bandit.arms
        if arm not in arms:
            raise UnknownError(f"arm {arm!r} is not one of {', '.join(arms)}")

    def _note(self, at: At) -> None:
        """Schedule a changed segment for publication, if it was requested or there is room."""
        if at not in self.decider.desks and at not in self._changed:
            needed = ROOM_EACH + len(self._served(at[0]).arms)
            if needed > self._room or not self._has_room(at[0], MAX_CELLS_AHEAD):
                return
            self._ahead[at] = needed
            self._room -= needed
        self._changed[at] = None

    def _place(self, at: At) -> _Place:
        place = self._places.get(at)
        if place is None:
            declared = self.declared[at[0]]
            place = self._places[at] = _Place(self._agent, at, self._offers[at[0]], declared)
        return place

    def _served(self, bandit: str) -> Bandit:
        found = self._agent.bandit(bandit)
        assert found is not None
        return found

    def _check_room(self, bandit: str) -> None:
        """Refuse a segment if a member without a name of its own would then have more to hand on than fits."""
        if not self._has_room(bandit, MAX_CELLS):
            raise StateError(
                f"a member without a name of its own has at most {MAX_CELLS:,} combinations of segment, arm and "
                "period: use fewer segments, or give it a name and a state"
            )

    def _has_room(self, bandit: str, most: int) -> bool:
        """Return whether a member without a name of its own could hand on one more segment, however it is used."""
        if lender_of(self._name) is None:
            return True
        there = {*tuple(self.decider.desks), *tuple(self._ahead)}
        served = [self._served(name) for name in (bandit, *[at[0] for at in there])]
        return sum(len(one.arms) * (one.periods + 1 if one.period else 1) for one in served) <= most

    def _make_blank(self, declared: Declared) -> None:
        """Set what is published for a segment about which nothing is known: all arms are alike."""
        offer, arms = self._offers[declared.bandit.name], self._served(declared.bandit.name).arms
        candidates, nothing = offer.available, dict.fromkeys(arms, 0)
        odds = None
        if declared.desk.build(arms).posteriors() is not None:
            odds = dict.fromkeys(candidates, 1.0 / len(candidates))
        draw = None if odds is None else drawn_by(odds, candidates, declared.desk.allocation)
        blank = Known(
            arms, nothing, nothing, 0, 0, nothing, nothing, candidates, offer.control_arm, odds, draw, offer.offered
        )
        self.decider.declared[declared.bandit.name] = declared.desk._replace(blank=blank)
