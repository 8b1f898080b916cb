"""A member's statistics as Prometheus metrics. They are computed when they are scraped, so decisions pay nothing.

This needs the extra `metrics`. Every metric has the labels `group` and `member`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, Protocol

from cobandit.live.status.bandit_statistics import BanditStatistics
from cobandit.live.status.lift import Lift
from cobandit.live.status.roles import Role
from cobandit.live.status.statistics import KINDS, ArmStatistics, PeerStatistics, Statistics
from cobandit.live.status.verdict import Verdict
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

with needed_by("serving metrics"):
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector

Rows = Callable[[Statistics], Iterable[tuple[tuple[str, ...], float | None]]]
"""For one member: the values of any further labels, and the measurement."""


class Measured(Protocol):
    """The part of a member that metrics need."""

    def statistics(self) -> Statistics:
        """Return its statistics."""
        ...


class MemberCollector(Collector):
    """Turns members' statistics into metrics. Register it with your program's metrics registry.

    >>> from prometheus_client import CollectorRegistry
    >>> import cobandit
    >>> with cobandit.connect("memory://metrics-docs", group="homepage", name="web-1", arms=["A", "B"]) as member:
    ...     registry = CollectorRegistry()
    ...     registry.register(MemberCollector(member))
    ...     registry.get_sample_value("cobandit_decisions_total", {"group": "homepage", "member": "web-1"})
    0.0
    """

    def __init__(self, *members: Measured) -> None:
        self._members = members

    def describe(self) -> Iterable[Metric]:
        """Describe nothing in advance, so that registering does not scrape."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Return all metrics of the open members."""
        found = []
        for member in self._members:
            with suppress(LocalError):  # it is closed
                found.append(member.statistics())
        for family in FAMILIES:
            yield family.filled(found)


class _Family(NamedTuple):
    """One metric."""

    kind: type[CounterMetricFamily] | type[GaugeMetricFamily]
    name: str
    text: str
    labels: tuple[str, ...]
    rows: Rows

    def filled(self, members: Iterable[Statistics]) -> Metric:
        """Return the metric with its measurements."""
        metric = self.kind(self.name, self.text, labels=("group", "member", *self.labels))
        for member in members:
            for labels, value in self.rows(member):
                if value is not None:
                    metric.add_metric((member.group, member.name, *labels), float(value))
        return metric


def _one(measure: Callable[[Statistics], float | None]) -> Rows:
    return lambda member: [((), measure(member))]


def _version(member: Statistics) -> list[tuple[tuple[str, ...], float | None]]:
    return [((member.version,), 1.0)]


def _arms(measure: Callable[[ArmStatistics], float | None]) -> Rows:
    return lambda member: [((arm.arm,), measure(arm)) for arm in member.arms]


def _peers(measure: Callable[[PeerStatistics], float | None]) -> Rows:
    """Measure each peer except leaves, because a relay may have thousands."""
    return lambda member: [((peer.name,), measure(peer)) for peer in member.peers if peer.role is not Role.LEAF]


def _verdict(measure: Callable[[Verdict], float]) -> Rows:
    return lambda member: [] if member.verdict is None else [((), measure(member.verdict))]


def _lift(measure: Callable[[Lift], float | None]) -> Rows:
    return lambda member: [] if member.lift is None else [((), measure(member.lift))]


def _guardrail(member: Statistics) -> list[tuple[tuple[str, ...], float | None]]:
    return [] if member.guardrail is None else [((arm.arm,), arm.mean) for arm in member.guardrail.arms]


def _bandit_lifts(measure: Callable[[Lift], float | None]) -> Rows:
    return lambda member: [((one.name,), measure(one.lift)) for one in member.bandits if one.lift is not None]


def _bandit_guardrails(member: Statistics) -> list[tuple[tuple[str, ...], float | None]]:
    watched = ((one.name, one.guardrail) for one in member.bandits if one.guardrail is not None)
    return [((name, arm.arm), arm.mean) for name, guardrail in watched for arm in guardrail.arms]


def _leaves(member: Statistics) -> float:
    return float(sum(peer.is_present and peer.role is Role.LEAF for peer in member.peers))


def _bandits(measure: Callable[[BanditStatistics], float | None]) -> Rows:
    return lambda member: [((bandit.name,), measure(bandit)) for bandit in member.bandits]


def _sent(member: Statistics) -> list[tuple[tuple[str, ...], float | None]]:
    return [((kind,), getattr(member.communication, kind)) for kind in KINDS]


def _refused(member: Statistics) -> list[tuple[tuple[str, ...], float | None]]:
    return [((reason,), count) for reason, count in member.refused.items()]


_COUNTER, _GAUGE = CounterMetricFamily, GaugeMetricFamily
_ARM, _PEER, _BANDIT, _BANDIT_ARM = ("arm",), ("peer",), ("bandit",), ("bandit", "arm")

FAMILIES = (
    _Family(_COUNTER, "cobandit_decisions", "Decisions since the start.", (), _one(lambda m: m.decisions)),
    _Family(_COUNTER, "cobandit_journal_batches", "Batches written and synced.", (), _one(lambda m: m.synced_batches)),
    _Family(_GAUGE, "cobandit_version_info", "1, with the version of cobandit.", ("version",), _version),
    _Family(_GAUGE, "cobandit_gone_members", "Names that are gone.", (), _one(lambda m: m.gone)),
    _Family(_GAUGE, "cobandit_uptime_seconds", "Time since the start.", (), _one(lambda m: m.uptime_s)),
    _Family(_GAUGE, "cobandit_open_decisions", "Decisions without a reward yet.", (), _one(lambda m: m.open_decisions)),
    _Family(_GAUGE, "cobandit_rewards_waiting", "For other members.", (), _one(lambda m: m.rewards_waiting)),
    _Family(_COUNTER, "cobandit_rewards_brought", "To other members.", (), _one(lambda m: m.rewards_brought)),
    _Family(_COUNTER, "cobandit_rewards_handed_on", "To relays.", (), _one(lambda m: m.rewards_handed_on)),
    _Family(_COUNTER, "cobandit_rewards_given_up", "Counted nowhere.", (), _one(lambda m: m.rewards_given_up)),
    _Family(_GAUGE, "cobandit_observations", "Known observations of the group.", (), _one(lambda m: m.observations)),
    _Family(_GAUGE, "cobandit_own_observations", "Own counted rewards.", (), _one(lambda m: m.own_observations)),
    _Family(_GAUGE, "cobandit_troubles", "What does not work; see the log.", (), _one(lambda m: len(m.troubles))),
    _Family(
        _GAUGE, "cobandit_certificate_seconds", "Until the certificate expires.", (), _one(lambda m: m.certificate_s)
    ),
    _Family(_GAUGE, "cobandit_trust_number", "Of the trust file in use.", (), _one(lambda m: m.trust_number)),
    _Family(_GAUGE, "cobandit_quarantined_peers", "Not listened to now.", (), _one(lambda m: len(m.quarantined))),
    _Family(_GAUGE, "cobandit_superseded", "1 if another process has the name.", (), _one(lambda m: m.is_superseded)),
    _Family(_GAUGE, "cobandit_kill_switch", "1 if it is on.", (), _one(lambda m: m.control_arm is not None)),
    _Family(_GAUGE, "cobandit_leaves", "Leaves of this relay that are here.", (), _one(_leaves)),
    _Family(_GAUGE, "cobandit_homes", "Relays that answer this leaf.", (), _one(lambda m: len(m.homes))),
    _Family(_GAUGE, "cobandit_arm_observations", "Known observations.", _ARM, _arms(lambda a: a.observations)),
    _Family(_GAUGE, "cobandit_arm_own_observations", "Own observations.", _ARM, _arms(lambda a: a.own_observations)),
    _Family(_GAUGE, "cobandit_arm_reward_mean_ratio", "Mean reward, from 0 to 1.", _ARM, _arms(lambda a: a.mean)),
    _Family(_GAUGE, "cobandit_arm_reward_low_ratio", "Lower end of its interval.", _ARM, _arms(lambda a: a.low)),
    _Family(_GAUGE, "cobandit_arm_reward_high_ratio", "Upper end of its interval.", _ARM, _arms(lambda a: a.high)),
    _Family(_GAUGE, "cobandit_arm_best_ratio", "How likely it is the best.", _ARM, _arms(lambda a: a.p_best)),
    _Family(_GAUGE, "cobandit_arm_propensity_ratio", "Of the next decision.", _ARM, _arms(lambda a: a.propensity)),
    _Family(_GAUGE, "cobandit_leader_best_ratio", "How sure the leader is.", (), _verdict(lambda v: v.p_best)),
    _Family(_GAUGE, "cobandit_stopping_loss_ratio", "A decision's, if stopped now.", (), _verdict(lambda v: v.loss)),
    _Family(_GAUGE, "cobandit_converged", "1 if stopping costs 1 % at most.", (), _verdict(lambda v: v.is_converged)),
    _Family(_GAUGE, "cobandit_held_out_observations", "Of the hold-out.", (), _lift(lambda one: one.held_out)),
    _Family(_GAUGE, "cobandit_lift_ratio", "Of the bandit over the hold-out.", (), _lift(lambda one: one.lift)),
    _Family(_GAUGE, "cobandit_lift_low_ratio", "Lower end of its interval.", (), _lift(lambda one: one.low)),
    _Family(_GAUGE, "cobandit_lift_high_ratio", "Upper end of its interval.", (), _lift(lambda one: one.high)),
    _Family(_GAUGE, "cobandit_arm_guardrail_ratio", "Mean of the guardrail's metric.", _ARM, _guardrail),
    _Family(_GAUGE, "cobandit_arm_available", "1 if it may be chosen.", _ARM, _arms(lambda a: a.is_candidate)),
    _Family(_GAUGE, "cobandit_bandit_observations", "Known.", _BANDIT, _bandits(lambda b: b.observations)),
    _Family(_GAUGE, "cobandit_bandit_own_observations", "Own.", _BANDIT, _bandits(lambda b: b.own_observations)),
    _Family(_GAUGE, "cobandit_bandit_segments", "Segments here.", _BANDIT, _bandits(lambda b: b.segments)),
    _Family(_GAUGE, "cobandit_bandit_kill_switch", "1 if on.", _BANDIT, _bandits(lambda b: b.control_arm is not None)),
    _Family(_GAUGE, "cobandit_bandit_held_out", "Of its hold-out.", _BANDIT, _bandit_lifts(lambda one: one.held_out)),
    _Family(_GAUGE, "cobandit_bandit_lift", "Over its hold-out.", _BANDIT, _bandit_lifts(lambda one: one.lift)),
    _Family(_GAUGE, "cobandit_bandit_lift_low", "Lower end of it.", _BANDIT, _bandit_lifts(lambda one: one.low)),
    _Family(_GAUGE, "cobandit_bandit_lift_high", "Upper end of it.", _BANDIT, _bandit_lifts(lambda one: one.high)),
    _Family(_GAUGE, "cobandit_bandit_guardrail_ratio", "Mean of its metric.", _BANDIT_ARM, _bandit_guardrails),
    _Family(_GAUGE, "cobandit_peer_silence_seconds", "Time since it was heard.", _PEER, _peers(lambda p: p.heard_s)),
    _Family(_GAUGE, "cobandit_peer_present", "1 without a farewell.", _PEER, _peers(lambda p: p.is_present)),
    _Family(_GAUGE, "cobandit_peer_lacking_observations", "Not acknowledged.", _PEER, _peers(lambda p: p.lacks)),
    _Family(_GAUGE, "cobandit_peer_wire_version", "Written to it.", _PEER, _peers(lambda p: p.wire_version)),
    _Family(_COUNTER, "cobandit_peer_shares_sent", "Shares sent to it.", _PEER, _peers(lambda p: p.shares_sent)),
    _Family(_COUNTER, "cobandit_peer_shares_received", "Shares from it.", _PEER, _peers(lambda p: p.shares_received)),
    _Family(_COUNTER, "cobandit_packets_sent", "Packets sent, by kind.", ("kind",), _sent),
    _Family(_COUNTER, "cobandit_packets_refused", "Packets refused, by reason.", ("reason",), _refused),
    _Family(_COUNTER, "cobandit_packets_lost", "Not taken by the network.", (), _one(lambda m: m.communication.lost)),
    _Family(_COUNTER, "cobandit_packets_received", "Received.", (), _one(lambda m: m.communication.received)),
    _Family(_COUNTER, "cobandit_sent_bytes", "Bytes sent.", (), _one(lambda m: m.communication.bytes_sent)),
    _Family(_COUNTER, "cobandit_received_bytes", "Received.", (), _one(lambda m: m.communication.bytes_received)),
)
"""The metrics, in the order in which they are served. Dashboard and alerts are generated from them
(`tools/monitoring.py`)."""
