"""What does a dead peer cost, and how soon is a link fresh again that was cut for a while?

Two agents on a network that falls apart. First the other side is gone for good: messages to it should grow with the
logarithm of the own pulls, until the longest wait is reached, and from there on be one probe in each such wait. Then
the cut heals: both sides should soon hear each other again, counted in pulls of the slower side.

    python benchmarks/silence.py
"""

from cobandit.core import on_demand
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Faults, Kind, Partition, Rate, Row, Scenario
from cobandit.simulator import kernel

ARMS = Arms.of([0.4, 0.5])
ALIVE = 1_000
"""Slots before the network falls apart."""
FAST, SLOW = 0.3, 0.01


def main() -> None:
    """Print both tables."""
    print(f"{'own pulls':>12}{'messages to a dead peer':>26}")
    for slots in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        pulls, messages = dead_peer(slots)
        print(f"{pulls:>12,}{messages:>26}", flush=True)
    print(f"\n{'cut, slots':>12}{'slots until both heard':>26}{'own pulls of the slower':>26}{'over the cut':>16}")
    for slots in (100, 1_000, 10_000, 100_000, 1_000_000):
        waits = [healing(slots, seed) for seed in range(20)]
        late, pulls = max(waits)
        print(f"{slots:>12,}{late:>26,}{pulls:>26,}{late / slots:>16.2f}", flush=True)
    print("\nThe second table has the worst of 20 seeds each.")


def dead_peer(slots: int) -> tuple[int, int]:
    """Return the own pulls of a fast agent whose peer is gone for so long, and its messages to it since then."""
    world = two_agents(ALIVE + slots, Partition(ALIVE, ALIVE + slots, (0,), (1,)))
    trace: list[Row] = []
    kernel.run(world, seed=1, trace=trace)
    mine = [row for row in trace if row.slot >= ALIVE and row.agent == 0]
    return sum(row.kind == Kind.DECISION for row in mine), sum(is_message(row) for row in mine)


def healing(slots: int, seed: int) -> tuple[int, int]:
    """Return how many slots, and slow pulls, it takes after a cut until a share has arrived each way."""
    end = ALIVE + slots
    world = two_agents(end + max(2 * slots, 10_000), Partition(ALIVE, end, (0,), (1,)))
    trace: list[Row] = []
    kernel.run(world, seed=seed, trace=trace)
    after = [row for row in trace if row.slot >= end]
    heard = [next(row.slot for row in after if row.kind == Kind.DELIVERY and row.agent == agent) for agent in (0, 1)]
    pulls = sum(row.kind == Kind.DECISION and row.agent == 1 and row.slot <= max(heard) for row in after)
    return max(heard) - end, pulls


def two_agents(horizon: int, cut: Partition) -> Scenario:
    """Return a fast and a slow agent, and a network that falls apart."""
    agents = (AgentSpec(Rate(FAST)), AgentSpec(Rate(SLOW)))
    faults = Faults(partitions=(cut,))
    return Scenario(horizon, ARMS, agents, BuiltIn("ucb"), on_demand(loss_tolerant=True), faults=faults)


def is_message(row: Row) -> bool:
    """Return whether a row is a share, a repeated share or a bare acknowledgement."""
    return row.kind in (Kind.SHARE, Kind.RETRY, Kind.ACKNOWLEDGE)


if __name__ == "__main__":
    main()
