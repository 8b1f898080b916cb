"""A member's statistics as Prometheus metrics. They are read when somebody scrapes, so decisions pay nothing for them.

It needs the extra `metrics`. Every metric has the labels `group` and `member`.
"""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from tacit.errors import LocalError
from tacit.runtime.member import Member
from tacit.runtime.statistics import Communication, Statistics
from tacit.runtime.transports.addresses import parse_address
from tacit.runtime.transports.listening import listening_problem

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ImportError as missing:
    raise LocalError("metrics need the package prometheus_client: pip install tacit[metrics]") from missing

KINDS = ("shares", "repetitions", "acknowledgements", "notices", "letters")
"""What packets are, as `tacit.runtime.statistics.Communication` counts them."""

_OF_MEMBER = ("group", "member")


class MemberCollector(Collector):
    """Turns a member's statistics into metrics. Register it where the metrics of your program are.

    >>> from prometheus_client import CollectorRegistry
    >>> import tacit
    >>> with tacit.connect("memory://metrics-docs", group="homepage", name="web-1", arms=["A", "B"]) as member:
    ...     registry = CollectorRegistry()
    ...     registry.register(MemberCollector(member))
    ...     registry.get_sample_value("tacit_decisions_total", {"group": "homepage", "member": "web-1"})
    0.0
    """

    def __init__(self, member: Member) -> None:
        self._member = member

    def describe(self) -> Iterable[Metric]:
        """Say nothing of names beforehand: they are the same for every member of a process."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Return all metrics, or none if the member is closed."""
        try:
            statistics = self._member.statistics()
        except LocalError:
            return
        yield from _of_member(statistics)
        yield from _of_arms(statistics)
        yield from _of_peers(statistics)
        yield from _of_packets(statistics)


class MetricsServer:
    """Serves the metrics of a member over HTTP, until it is closed."""

    def __init__(self, member: Member, address: str) -> None:
        where = parse_address(address, what="the address for metrics")
        registry = CollectorRegistry()
        registry.register(MemberCollector(member))
        try:
            self._server, self._thread = start_http_server(where.port, where.host or "0.0.0.0", registry)  # noqa: S104  # as asked for
        except OSError as error:
            raise LocalError(f"metrics: {listening_problem(where, error)}") from error
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve_metrics(member: Member, address: str) -> MetricsServer:
    """Serve a member's metrics at `http://host:port/metrics`, from a thread of its own.

    Args:
        member: The member.
        address: Where to listen, `host:port`; port 0 picks a free one, which is the server's `port`.

    Raises:
        LocalError: The address cannot be one, or is taken.
    """
    return MetricsServer(member, address)


def _of_member(statistics: Statistics) -> Iterator[Metric]:
    own = (statistics.group, statistics.name)
    counters = (
        ("tacit_decisions", "Decisions since the member was started.", statistics.decisions),
        ("tacit_journal_batches", "Batches that were written and synced.", statistics.synced_batches),
    )
    gauges: tuple[tuple[str, str, float], ...] = (
        ("tacit_uptime_seconds", "Seconds since the member was started.", statistics.uptime_s),
        ("tacit_open_decisions", "Decisions that wait for their reward.", statistics.open_decisions),
        ("tacit_observations", "Observations that are known, own and received.", statistics.observations),
        ("tacit_own_observations", "Rewards of own decisions that are counted.", statistics.own_observations),
        ("tacit_troubles", "What does not work now; the log says what.", len(statistics.troubles)),
        ("tacit_quarantined_peers", "Members that are not listened to.", len(statistics.quarantined)),
        ("tacit_superseded", "1 if another process has started under this name.", statistics.is_superseded),
        ("tacit_kill_switch", "1 if the kill switch is on.", statistics.control_arm is not None),
    )
    for name, text, count in counters:
        yield _filled(CounterMetricFamily(name, text, labels=_OF_MEMBER), [(own, count)])
    for name, text, value in gauges:
        yield _filled(GaugeMetricFamily(name, text, labels=_OF_MEMBER), [(own, value)])


def _of_arms(statistics: Statistics) -> Iterator[Metric]:
    own, labels = (statistics.group, statistics.name), (*_OF_MEMBER, "arm")
    arms = statistics.arms
    families: tuple[tuple[str, str, list[tuple[str, float | None]]], ...] = (
        ("tacit_arm_observations", "Observations that are known.", [(a.arm, a.observations) for a in arms]),
        ("tacit_arm_own_observations", "Own observations.", [(a.arm, a.own_observations) for a in arms]),
        ("tacit_arm_reward_mean_ratio", "Mean reward, from 0 to 1.", [(a.arm, a.mean) for a in arms]),
        ("tacit_arm_reward_low_ratio", "Lower end of the interval.", [(a.arm, a.low) for a in arms]),
        ("tacit_arm_reward_high_ratio", "Upper end of the interval.", [(a.arm, a.high) for a in arms]),
        ("tacit_arm_available", "1 if it may be chosen.", [(a.arm, a.is_candidate) for a in arms]),
    )
    for name, text, values in families:
        samples = [((*own, arm), value) for arm, value in values if value is not None]
        yield _filled(GaugeMetricFamily(name, text, labels=labels), samples)


def _of_peers(statistics: Statistics) -> Iterator[Metric]:
    own, labels = (statistics.group, statistics.name), (*_OF_MEMBER, "peer")
    peers = statistics.peers
    gauges: tuple[tuple[str, str, list[tuple[str, float | None]]], ...] = (
        ("tacit_peer_silence_seconds", "Seconds since it was last heard.", [(p.name, p.heard_s) for p in peers]),
        ("tacit_peer_present", "1 if it has not said farewell.", [(p.name, p.is_present) for p in peers]),
        ("tacit_peer_lacking_observations", "Own ones it has not acknowledged.", [(p.name, p.lacks) for p in peers]),
    )
    counters = (
        ("tacit_peer_shares_sent", "Shares sent to it.", [(p.name, p.shares_sent) for p in peers]),
        ("tacit_peer_shares_received", "Shares received from it.", [(p.name, p.shares_received) for p in peers]),
    )
    for name, text, values in gauges:
        samples = [((*own, peer), value) for peer, value in values if value is not None]
        yield _filled(GaugeMetricFamily(name, text, labels=labels), samples)
    for name, text, counts in counters:
        samples = [((*own, peer), count) for peer, count in counts]
        yield _filled(CounterMetricFamily(name, text, labels=labels), samples)


def _of_packets(statistics: Statistics) -> Iterator[Metric]:
    own, said = (statistics.group, statistics.name), statistics.communication
    by_kind = [((*own, kind), _count(said, kind)) for kind in KINDS]
    by_reason = [((*own, reason), count) for reason, count in statistics.refused.items()]
    sent = CounterMetricFamily("tacit_packets_sent", "Packets sent, by kind.", labels=(*_OF_MEMBER, "kind"))
    refused = CounterMetricFamily("tacit_packets_refused", "Packets refused.", labels=(*_OF_MEMBER, "reason"))
    yield _filled(sent, by_kind)
    yield _filled(refused, by_reason)
    for name, text, value in (
        ("tacit_packets_lost", "Packets that the network did not take.", said.lost),
        ("tacit_packets_received", "Packets received.", said.received),
        ("tacit_sent_bytes", "Bytes sent.", said.bytes_sent),
        ("tacit_received_bytes", "Bytes received.", said.bytes_received),
    ):
        yield _filled(CounterMetricFamily(name, text, labels=_OF_MEMBER), [(own, value)])


def _count(said: Communication, kind: str) -> int:
    count: int = getattr(said, kind)
    return count


def _filled(
    family: CounterMetricFamily | GaugeMetricFamily, samples: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family
