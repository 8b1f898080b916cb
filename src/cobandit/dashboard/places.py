"""One segment of one bandit for the page: its arms, its verdict in words, and how means and P(best) went.

A fleet may have thousands of segments, so only those are looked at that a page has chosen lately. The history of one
begins when it is first chosen, and goes on while nobody looks, as long as it is among the last few.
"""

import time
from collections import OrderedDict
from threading import Lock

import msgspec

from cobandit.dashboard.frame import MOST_ARMS, MOST_LINES, MOST_POINTS
from cobandit.live.drive.member import Member
from cobandit.live.drive.named_bandit import NamedBandit
from cobandit.live.status.bandit_statistics import BanditStatistics, SegmentArm, SegmentStatistics
from cobandit.live.status.verdict import Judgement
from cobandit.values.errors import UnknownError

MOST_PLACES = 16
"""The most segments that have a history: those that were chosen last."""

MOST_SEGMENTS = 1000
"""The most segments that can be chosen from, in the order of names."""


class PlaceArm(msgspec.Struct, frozen=True):
    """One arm of a segment."""

    arm: str
    observations: int
    mean: float | None
    """In the range of the bandit's rewards."""
    p_best: float | None
    state: str
    """`candidate`, `frozen`, or `switched off` by a kill switch."""


class PlaceLine(msgspec.Struct, frozen=True):
    """One arm over time."""

    arm: str
    key: int
    """Its letter and colour, from 1."""
    means: tuple[float | None, ...]
    p_best: tuple[float | None, ...]


class Place(msgspec.Struct, frozen=True):
    """One segment of one bandit, at one moment."""

    bandit: str
    segment: str
    segments: tuple[str, ...]
    """All that can be chosen."""
    segments_left_out: int
    policy: str
    rewards: tuple[float, float]
    observations: int
    control_arm: str | None
    verdict: str | None
    """Who leads, how sure that is, and what stopping now would cost; `None` if nothing is known."""
    is_converged: bool | None
    lift: str | None
    """What the bandit brings more than its hold-out, over all segments."""
    arms: tuple[PlaceArm, ...]
    """Those with most observations first."""
    arms_left_out: int
    at: tuple[float, ...]
    lines: tuple[PlaceLine, ...]
    """Of the arms that are observed most."""

    def to_json(self) -> bytes:
        """Return this as JSON."""
        return msgspec.json.encode(self)


class Places:
    """The segments that pages have chosen. From any thread.

    Args:
        member: The member that serves the page.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        self._chosen: OrderedDict[tuple[str, str], _History] = OrderedDict()
        self._lock = Lock()

    def look(self) -> None:
        """Look at all segments that were chosen lately, so that they have a history."""
        for bandit, segment in tuple(self._chosen):
            try:
                self.place(bandit, segment, is_chosen=False)
            except UnknownError:
                self._chosen.pop((bandit, segment), None)

    def place(self, bandit: str, segment: str | None = None, *, is_chosen: bool = True) -> Place:
        """Return one segment; without a name the one of which most is known.

        Raises:
            UnknownError: There is no such bandit at this member, or no such segment of it.
        """
        named = self._member.declared_bandit(bandit)
        segments = sorted(named.segments)
        if segment is None:
            segment = self._largest(bandit)
        if segment not in segments and segment:
            raise UnknownError(f"bandit {bandit!r} has no segment {segment!r} at {self._member.name}")
        told, judgement = named.judged(segment)
        summary = next(one for one in self._member.statistics().bandits if one.name == bandit)
        with self._lock:
            history = self._chosen.setdefault((bandit, segment), _History())
            if is_chosen:
                self._chosen.move_to_end((bandit, segment))
            while len(self._chosen) > MOST_PLACES:
                self._chosen.popitem(last=False)
            history.add(time.time(), told, judgement)
            return _shown(named, summary, told, judgement, segments, history)

    def _largest(self, bandit: str) -> str:
        agent = self._member.machine.agent

        def found() -> str:
            sizes = {one: agent.learners.observations((bandit, one)) for one in sorted(agent.segments_of(bandit))}
            return max(sizes, key=sizes.__getitem__, default="")

        return self._member.on_loop(found)


class _History:
    """How means and odds went: a history that gets coarser, not shorter."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, dict[str, tuple[float | None, float | None]]]] = []
        self._apart_s = 1.0

    def add(self, at: float, told: SegmentStatistics, judgement: Judgement) -> None:
        """Add a moment; one that follows too soon takes the place of the last."""
        arms = {one.arm: (one.mean, judgement.p_best.get(one.arm)) for one in told.arms}
        if len(self._kept) > 1 and at - self._kept[-2][0] < self._apart_s:
            self._kept[-1] = (at, arms)
            return
        self._kept.append((at, arms))
        if len(self._kept) > MOST_POINTS:
            self._kept = [*self._kept[:-1:2], self._kept[-1]]
            self._apart_s = (self._kept[-1][0] - self._kept[0][0]) / (len(self._kept) - 1)

    def at(self) -> tuple[float, ...]:
        """Return the moments."""
        return tuple(at for at, _ in self._kept)

    def line(self, arm: str, key: int) -> PlaceLine:
        """Return how one arm went."""
        found = [arms.get(arm, (None, None)) for _, arms in self._kept]
        return PlaceLine(arm, key, tuple(mean for mean, _ in found), tuple(best for _, best in found))


def _shown(
    named: NamedBandit,
    summary: BanditStatistics,
    told: SegmentStatistics,
    judgement: Judgement,
    segments: list[str],
    history: _History,
) -> Place:
    offered = set(named.arms)
    arms = sorted((one for one in told.arms if one.arm in offered), key=lambda one: (-one.observations, one.arm))
    verdict = judgement.verdict
    most = {one.arm for one in arms[:MOST_LINES]}
    drawn = [arm for arm in named.arms if arm in most]  # in an order that does not change, so that keys stay
    return Place(
        bandit=told.bandit,
        segment=told.segment,
        segments=tuple(segments[:MOST_SEGMENTS]),
        segments_left_out=max(0, len(segments) - MOST_SEGMENTS),
        policy=told.policy,
        rewards=summary.rewards,
        observations=told.observations,
        control_arm=summary.control_arm,
        verdict=None if verdict is None else verdict.text,
        is_converged=None if verdict is None else verdict.is_converged,
        lift=None if summary.lift is None else summary.lift.text,
        arms=tuple(
            PlaceArm(
                one.arm,
                one.observations,
                one.mean,
                judgement.p_best.get(one.arm),
                _state(one, summary.control_arm),
            )
            for one in arms[:MOST_ARMS]
        ),
        arms_left_out=max(0, len(arms) - MOST_ARMS),
        at=history.at(),
        lines=tuple(history.line(arm, key) for key, arm in enumerate(drawn, 1)),
    )


def _state(arm: SegmentArm, control_arm: str | None) -> str:
    if control_arm is not None and arm.arm != control_arm:
        return "switched off"
    return "frozen" if arm.is_frozen else "candidate"
