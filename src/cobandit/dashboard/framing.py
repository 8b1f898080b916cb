"""From looks at a fleet to frames: `Framing` keeps what a frame needs of the past, and makes the next one."""

from collections.abc import Mapping

import msgspec

from cobandit.dashboard import frame
from cobandit.dashboard.changes import changes, control_arm
from cobandit.dashboard.events import Events
from cobandit.dashboard.frame import ArmShown, BanditShown, Frame, MemberShown, Pairs
from cobandit.dashboard.meter import Meter
from cobandit.dashboard.moments import Moment, Moments
from cobandit.dashboard.sight import Seen, Sight, State, look
from cobandit.live.status.fleet import Fleet, FleetArm, fleet_of, missing
from cobandit.live.status.statistics import ArmStatistics, PeerStatistics, Statistics

_ORDER = (State.HERE, State.SUPERSEDED, State.SILENT, State.NOT_ASKED, State.LEFT)


class Framing:
    """Makes frames.

    Args:
        seen_from: The member that looks, if it is one.
        true_means: Of all arms, if they are known.
    """

    def __init__(self, *, seen_from: str | None = None, true_means: Mapping[str, float] | None = None) -> None:
        self._seen_from = seen_from
        self._true_means = true_means or {}
        self._sight: Sight | None = None
        self._events = Events()
        self._moments = Moments()
        self._meter = Meter()

    def frame(self, fleet: Fleet, at: float, *, next_s: float, is_whole: bool = True, has_ended: bool = False) -> Frame:
        """Return the next frame.

        Args:
            fleet: Who answered, and what.
            at: When, in seconds since 1970.
            next_s: When to expect the next frame.
            is_whole: Whether everybody was asked.
            has_ended: Whether this is the last one.
        """
        before, sight = self._sight, look(fleet, self._sight, is_whole=is_whole, seen_from=self._seen_from)
        self._sight = sight
        if before is not None:
            self._events.add(changes(before, sight), at)
        messages = self._meter.read(fleet.members)
        group = fleet_of(fleet.group, sight.known)
        arms = group.arms()
        observed = {arm.arm: arm.observations for arm in arms}
        self._moments.add(
            Moment(at, observed, messages.shares, messages.immediate, is_whole=is_whole or not fleet.silent)
        )
        counts = self._moments.counts()
        shown = self._arms(arms, sight)
        bandits = {bandit.name: bandit.observations for bandit in group.bandits}
        members = sorted(sight.members.values(), key=lambda seen: (_ORDER.index(seen.state), seen.name))
        return Frame(
            version=frame.FRAME_VERSION,
            group=fleet.group,
            at=at,
            next_s=next_s,
            policy=", ".join(sorted({member.policy for member in group.members if member.policy})),
            watching_since=self._moments.began,
            seen_from=self._seen_from,
            is_whole=is_whole,
            control_arm=control_arm(sight.present.values()),
            decisions=self._meter.decisions,
            observations=sum(counts.values()) + sum(bandits.values()),
            candidates=sum(arm.state == "candidate" for arm in shown),
            arms=tuple(shown[: frame.MOST_ARMS]),
            arms_left_out=max(0, len(shown) - frame.MOST_ARMS),
            members=tuple(self._member(seen, counts, bandits) for seen in members[: frame.MOST_MEMBERS]),
            members_left_out=max(0, len(members) - frame.MOST_MEMBERS),
            pairs=_pairs(sight),
            messages=messages,
            events=self._events.newest_first(),
            series=self._moments.series(self._regret),
            verdict=group.verdict,
            bandits=self._bandits(group),
            regret=self._regret(counts),
            has_ended=has_ended,
        )

    def _bandits(self, group: Fleet) -> tuple[BanditShown, ...]:
        own = next((member for member in group.members if member.name == self._seen_from), None)
        here = {bandit.name for bandit in own.bandits} if own is not None else set()
        return tuple(
            BanditShown(one.name, len(one.arms), one.segments, one.observations, one.name in here)
            for one in group.bandits
        )

    def _regret(self, counts: Mapping[str, int]) -> float | None:
        if not self._true_means or counts.keys() - self._true_means.keys():
            return None
        best = max(self._true_means.values())
        return sum((best - self._true_means[arm]) * count for arm, count in counts.items())

    def _arms(self, arms: list[FleetArm], sight: Sight) -> list[ArmShown]:
        """Return all arms, those with most traffic first. What may be chosen is for the living to say."""
        counts, recent = self._moments.counts(), self._moments.recent_counts()
        total = sum(recent.values())
        control = control_arm(sight.present.values())
        views: dict[str, list[ArmStatistics]] = {arm.arm: [] for arm in arms}
        for member in sight.present.values():
            for view in member.arms:
                views[view.arm].append(view)
        shown = [
            ArmShown(
                arm=arm.arm,
                observations=counts[arm.arm],
                share=arm.share,
                recent_share=recent.get(arm.arm, 0) / total if total else None,
                mean=arm.mean,
                low=arm.low,
                high=arm.high,
                p_best=arm.p_best,
                offered_at=sum(view.is_candidate for view in views[arm.arm]),
                frozen_at=sum(view.is_frozen for view in views[arm.arm]),
                members=len(views[arm.arm]),
                state=_arm_state(arm.arm, views[arm.arm], control),
                true_mean=self._true_means.get(arm.arm),
            )
            for arm in arms
        ]
        return sorted(shown, key=lambda arm: -arm.observations)

    def _member(self, seen: Seen, counts: Mapping[str, int], bandits: Mapping[str, int]) -> MemberShown:
        said = seen.statistics
        state = seen.state if seen.is_asked or seen.state == State.LEFT else State.NOT_ASKED
        shown = MemberShown(seen.name, state, seen.heard_s, is_seen_from=seen.name == self._seen_from)
        if said is None:
            return shown
        return msgspec.structs.replace(
            shown,
            decisions=said.decisions,
            own_observations=said.own_observations,
            observations=said.observations,
            missing=missing(said, counts, bandits),
            open_decisions=said.open_decisions,
            shares=said.communication.shares,
            packets=said.communication.sent,
            uptime_s=said.uptime_s,
            refused=sum(said.refused.values()),
            troubles=said.troubles,
        )


def _arm_state(arm: str, views: list[ArmStatistics], control: str | None) -> str:
    if all(view.is_removed for view in views):
        return "removed"  # or only those have it who do not answer
    if control is not None and arm != control:
        return "switched off"
    if any(view.is_candidate for view in views):
        return "candidate"
    return "frozen" if any(view.is_frozen for view in views) else "ruled out"


def _pairs(sight: Sight) -> Pairs:
    members = [seen for seen in sight.members.values() if seen.state != State.LEFT]
    shown = members[: frame.MOST_IN_MATRIX]
    names = tuple(seen.name for seen in shown)
    rows = [_peers(seen.statistics if seen.state != State.SILENT else None) for seen in shown]
    return Pairs(
        names=names,
        shares=tuple(tuple(row[name].shares_sent if name in row else None for name in names) for row in rows),
        heard_s=tuple(tuple(row[name].heard_s if name in row else None for name in names) for row in rows),
        lacks=tuple(tuple(row[name].lacks if name in row else None for name in names) for row in rows),
        left_out=len(members) - len(shown),
    )


def _peers(said: Statistics | None) -> dict[str, PeerStatistics]:
    return {} if said is None else {peer.name: peer for peer in said.peers}
