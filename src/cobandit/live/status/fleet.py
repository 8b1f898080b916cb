"""A whole fleet at one moment: the statistics of its members, combined. Values only."""

import math
from collections.abc import Collection, Iterable, Mapping

import msgspec

from cobandit.live.status.bandit_statistics import BanditStatistics
from cobandit.live.status.guardrail import GuardrailStatistics
from cobandit.live.status.lift import Lift
from cobandit.live.status.roles import Role
from cobandit.live.status.statistics import ArmStatistics, PeerStatistics, Statistics
from cobandit.live.status.verdict import Verdict


class FleetArm(msgspec.Struct, frozen=True):
    """One arm, as the group sees it."""

    arm: str
    observations: int
    """At least this many exist: what the answering members observed, or what one of them knows if that is more."""
    share: float
    """Share of what the answering members observed themselves; in a fleet with leaves, of everything known."""
    mean: float | None
    low: float | None
    high: float | None
    """As seen by the member that knows most about this arm."""
    frozen_at: int
    """At how many members it is frozen and gets no traffic."""
    offered_at: int
    """How many members may choose it."""
    p_best: float | None = None
    """The probability that it is the best of the arms on offer, according to the member whose verdict is shown."""


class Fleet(msgspec.Struct, frozen=True):
    """A whole fleet: every member that answered."""

    group: str
    members: tuple[Statistics, ...]
    """Ordered by name."""
    silent: tuple[str, ...]
    """Members that did not answer although another member believes they are present."""

    @property
    def decisions(self) -> int:
        """Decisions of all members, each since its start."""
        return sum(member.decisions for member in self.members)

    @property
    def observations(self) -> int:
        """All known observations, of all arms, including those of members that did not answer."""
        plain = sum(arm.observations for arm in self.arms())
        return plain + sum(bandit.observations for bandit in self.bandits)

    @property
    def bandits(self) -> list[BanditStatistics]:
        """The named bandits, each as seen by the member that knows most about it, with arms frozen at any member."""
        said: dict[str, BanditStatistics] = {}
        for member in self.members:
            for one in member.bandits:
                known = said.get(one.name)
                said[one.name] = one if known is None else _fuller(known, one)
        return [said[name] for name in sorted(said)]

    @property
    def own_observations(self) -> int:
        """Observations made by the members that answered: fewer than all if a member is away."""
        return sum(member.own_observations for member in self.members)

    @property
    def packets_sent(self) -> int:
        """Packets of all kinds."""
        return sum(member.communication.sent for member in self.members)

    @property
    def leaves(self) -> list[PeerStatistics]:
        """The leaves, ordered by name, each as seen by the relay that heard it last. They do not answer themselves."""
        seen: dict[str, PeerStatistics] = {}
        for member in self.members:
            for peer in member.peers:
                if peer.role is Role.LEAF and (peer.name not in seen or _is_nearer(peer, seen[peer.name])):
                    seen[peer.name] = peer
        return [seen[name] for name in sorted(seen)]

    @property
    def gone(self) -> tuple[int, int]:
        """How many names are gone, and how many of their observations the best-informed member knows.

        Leaves of another relay are not gone, even if they have no link with a member that knows their observations.
        """
        here = [leaf for leaf in self.leaves if leaf.is_present]
        return max((_gone_for(member, here) for member in self.members), default=(0, 0))

    @property
    def verdict(self) -> Verdict | None:
        """Which arm leads, how sure that is, and what stopping now would cost: from the best-informed member."""
        judge = self._judge
        return None if judge is None else judge.verdict

    @property
    def _judge(self) -> Statistics | None:
        """The best-informed of the members that have a verdict: that is the verdict shown."""
        return max(self.members, key=lambda member: member.verdict.observations if member.verdict else -1, default=None)

    @property
    def lift(self) -> Lift | None:
        """How much more the bandit brings than the hold-out, according to the best-informed member."""
        said = (member.lift for member in self.members if member.lift is not None)
        return max(said, key=lambda lift: (lift.held_out, lift.observations), default=None)

    @property
    def guardrail(self) -> GuardrailStatistics | None:
        """How the arms do on the guardrail's metric, according to the member that knows most reports."""
        said = (member.guardrail for member in self.members if member.guardrail is not None)
        return max(said, key=lambda one: sum(arm.reports for arm in one.arms), default=None)

    @property
    def troubles(self) -> list[tuple[str, str]]:
        """What does not work, and at which member."""
        return [(member.name, trouble) for member in self.members for trouble in member.troubles]

    def missing(self, member: Statistics) -> int:
        """Return how many of the group's observations a member does not know yet, of the arms that it has."""
        return missing(
            member,
            {arm.arm: arm.observations for arm in self.arms()},
            {bandit.name: bandit.observations for bandit in self.bandits},
        )

    def arms(self) -> list[FleetArm]:
        """Return every arm that any member has."""
        views: dict[str, list[ArmStatistics]] = {}
        for member in self.members:
            for arm in member.arms:
                views.setdefault(arm.arm, []).append(arm)
        total = sum(view.own_observations for seen in views.values() for view in seen)
        judge = self._judge  # one member for all arms: chances of several members do not add up to 1
        p_best = {} if judge is None else {arm.arm: arm.p_best for arm in judge.arms}
        arms = [_arm(name, seen, total, p_best.get(name)) for name, seen in views.items()]
        known = sum(arm.observations for arm in arms)
        if not (known and self.leaves):
            return arms
        # Leaves do not answer for themselves. Their observations are only in what others know.
        return [msgspec.structs.replace(arm, share=arm.observations / known) for arm in arms]

    def to_json(self) -> bytes:
        """Return the fleet as JSON, with the arms as the group sees them."""
        return msgspec.json.encode(
            {
                "group": self.group,
                "arms": self.arms(),
                "members": self.members,
                "silent": self.silent,
                "verdict": self.verdict,
                "lift": self.lift,
                "guardrail": self.guardrail,
                "bandits": self.bandits,
            }
        )


def _fuller(one: BanditStatistics, other: BanditStatistics) -> BanditStatistics:
    """Return the statistics of the one that knows more, with hold-out and guardrail from either."""
    less, more = sorted((one, other), key=lambda said: (said.observations, said.segments))
    return msgspec.structs.replace(
        more,
        own_observations=one.own_observations + other.own_observations,
        segments=max(one.segments, other.segments),
        lift=more.lift or less.lift,
        guardrail=more.guardrail or less.guardrail,
        verdict=more.verdict or less.verdict,
        judged_segment=more.judged_segment if more.verdict else less.judged_segment,
        control_arm=more.control_arm or less.control_arm,
        frozen=tuple(sorted({*one.frozen, *other.frozen})),
    )


def fleet_of(group: str, members: Iterable[Statistics], asked: Collection[str] | None = None) -> Fleet:
    """Combine the members' answers.

    Args:
        group: The group.
        members: What each member says about itself.
        asked: Which members were asked; by default all that some member believes to be present.
    """
    answered = {member.name: member for member in sorted(members, key=lambda member: member.name)}
    if asked is None:
        asked = {name for member in answered.values() for name in expected_of(member)}
    return Fleet(group, tuple(answered.values()), tuple(sorted(set(asked) - answered.keys())))


def expected_of(member: Statistics) -> set[str]:
    """Return which members that one takes to be present answer for themselves. Relays answer for leaves."""
    return {peer.name for peer in member.peers if peer.is_present and peer.role is not Role.LEAF}


def missing(member: Statistics, observations: Mapping[str, int], bandits: Mapping[str, int]) -> int:
    """Return how many observations a member lacks, of its arms and its bandits.

    Args:
        member: The member.
        observations: How many there are, by arm.
        bandits: How many there are, by named bandit.
    """
    arms = sum(max(0, observations.get(arm.arm, 0) - arm.observations) for arm in member.arms)
    return arms + sum(max(0, bandits.get(one.name, 0) - one.observations) for one in member.bandits)


def _gone_for(member: Statistics, here: list[PeerStatistics]) -> tuple[int, int]:
    """Return how many names are gone at a member, and how many observations they made, except for present leaves."""
    known = {member.name, *(peer.name for peer in member.peers)}
    elsewhere = [leaf for leaf in here if leaf.name not in known] if member.role is not Role.LEAF else []
    observations = sum(leaf.observations for leaf in elsewhere)
    return max(0, member.gone - len(elsewhere)), max(0, member.gone_observations - observations)


def _is_nearer(one: PeerStatistics, other: PeerStatistics) -> bool:
    """Return whether one relay knows more about a leaf than another: that it is present, or was heard later."""
    age = [math.inf if seen.heard_s is None else seen.heard_s for seen in (one, other)]
    return (not one.is_present, age[0]) < (not other.is_present, age[1])


def _arm(name: str, seen: list[ArmStatistics], total: int, p_best: float | None) -> FleetArm:
    best = max(seen, key=lambda view: view.observations)
    own = sum(view.own_observations for view in seen)
    return FleetArm(
        arm=name,
        observations=max(own, best.observations),
        share=own / total if total else 0.0,
        mean=best.mean,
        low=best.low,
        high=best.high,
        frozen_at=sum(view.is_frozen for view in seen),
        offered_at=sum(view.is_candidate for view in seen),
        p_best=p_best,
    )
