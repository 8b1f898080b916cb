"""A member in a process of its own, of version 1 or of the made-up version 2. It does what it is told, line by line.

Started as `python -m tests.upgrade.worker`. The first line of its input is a `Spec`, each further one an `Order`; each
is answered with one line. The end of the input stops it.
"""

import sys
from collections import Counter

import msgspec
from tests.upgrade import version_2

import cobandit
from cobandit.codec.format import version_of
from cobandit.core import Constant, RetryTimers, on_demand
from cobandit.live.machine.control_messages import Hello
from cobandit.values.chance import stream, uniform

QUICK = on_demand(Constant(4), loss_tolerant=RetryTimers(first=0.3, least=0.05, tick=0.3, longest=1.0))
FLUSH_WITHIN = 60.0


class Spec(msgspec.Struct, frozen=True):
    """Who the member is."""

    version: int
    url: str
    name: str
    keys: str
    state: str
    peers: tuple[str, ...]
    group: str
    means: dict[str, float]


class Order(msgspec.Struct, frozen=True):
    """What to do: `pull` so many times, `flush`, `look`, `forget` which frames came, `stop`."""

    do: str
    times: int = 0


class Look(msgspec.Struct, frozen=True):
    """How a member is."""

    totals: dict[str, tuple[int, int]] = {}
    """Of each arm, how many observations are known and how many quanta their rewards are."""
    written_to: dict[str, int] = {}
    """In which version it writes to each peer."""
    present: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    refused: dict[str, int] = {}
    troubles: tuple[str, ...] = ()
    frames: dict[int, int] = {}
    """What came in, without hellos, by version."""
    pulled: dict[str, tuple[int, int]] = {}
    """Of each arm, what this member was rewarded with for this order."""
    error: str = ""


class Worker:
    """One member, and what came in."""

    def __init__(self, spec: Spec, member: cobandit.Member) -> None:
        self._member, self._means = member, spec.means
        self._chance, self._drawn = stream(spec.version, *spec.name.encode()), 0
        self._frames: Counter[int] = Counter()
        self._node = member._node
        take = self._node.frame

        def count_and_take(frame: bytes, sender: str | None) -> None:
            self._count(frame)
            take(frame, sender)

        self._node.frame = count_and_take  # type: ignore[method-assign]
        self._group = spec.group

    def obey(self, order: Order) -> Look:
        match order.do:
            case "pull":
                return Look(pulled=self._pull(order.times))
            case "flush":
                return Look(error="" if self._member.flush(FLUSH_WITHIN) else "not everybody has acknowledged it")
            case "forget":
                self._frames.clear()
            case "stop":
                self._member.close()
            case "look":
                return self._look()
        return Look()

    def _pull(self, times: int) -> dict[str, tuple[int, int]]:
        per_reward = self._node.machine.agent.policy.quantum.per_reward
        pulled = dict.fromkeys(self._means, (0, 0))
        for _ in range(times):
            decision = self._member.select_arm()
            self._drawn += 1
            is_success = uniform(self._chance, self._drawn) < self._means[decision.arm]
            assert self._member.update(decision, reward=is_success)
            count, units = pulled[decision.arm]
            pulled[decision.arm] = count + 1, units + per_reward * is_success
        self._member.sync()
        return pulled

    def _look(self) -> Look:
        statistics, tally = self._member.statistics(), self._node.machine.agent.policy.tally
        return Look(
            totals={arm: (tally.counts[arm], tally.sums[arm]) for arm in self._means},
            written_to={peer.name: peer.wire_version for peer in statistics.peers},
            present=tuple(sorted(peer.name for peer in statistics.peers if peer.is_present)),
            quarantined=statistics.quarantined,
            refused=statistics.refused,
            troubles=statistics.troubles,
            frames=dict(self._frames),
        )

    def _count(self, frame: bytes) -> None:
        if not isinstance(version_2.PACKETS.decode(frame, self._group), Hello):
            self._frames[version_of(frame)] += 1


def main() -> int:
    """Run one worker."""
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=Spec)
    connect = cobandit.connect if spec.version == 1 else version_2.connect
    try:
        member = connect(
            spec.url,
            group=spec.group,
            name=spec.name,
            arms=list(spec.means),
            state=spec.state,
            keys=spec.keys,
            peers=spec.peers,
            sharing=QUICK,
        )
    except cobandit.LocalError as error:
        _say(Look(error=str(error)))
        return 1
    worker = Worker(spec, member)
    _say(Look())
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        _say(worker.obey(order))
        if order.do == "stop":
            return 0
    member.close()
    return 0


def _say(look: Look) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(look) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
