"""How large fleets learn together: a mesh, relays, and two kinds of hub, on the same tapes.

What is measured is messages for each decision, group regret and staleness, for fleets of different sizes; and what the
death of a relay, or of the hub, at half time costs. The paper has none of this. This file owns the worlds and the
measurements; `fleets_report.py` shows them.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from cobandit.core import FromFunction, Geometric, on_demand
from cobandit.policies.registry import BuiltIn
from cobandit.protocols import plug_in
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.scenario import AgentSpec, Rate, RelayAbsence, Relays, Scenario
from cobandit.simulator import kernel
from cobandit.studies.paper import surrogate_arms
from cobandit.theory import fleet_share_bound

CAP = 64
"""Thresholds that double do so up to this, as those of live members do."""

SLOW_CAP = 48
"""Those that grow by one do so up to this. It was chosen after looking at 64 and 32, with a thousand agents and UCB."""

GROWING, DOUBLING = FromFunction(lambda c: min(c, SLOW_CAP)), Geometric(2, cap=CAP)
"""Thresholds 1, 2, 3, ... and 1, 2, 4, ..., up to the caps."""

RELAYS = 2
PERIOD = 4
"""How many pulls an agent makes between two synchronisations with the periodic hub."""

ALPHA = 0.01
"""Of the event-triggered hub. A larger one saves messages and costs regret."""

FAST, SLOW = 0.3, 0.01
"""One agent of ten decides at the first rate, the others at the second."""

HUBS = {"periodic hub": plug_in(PeriodicHub, period=PERIOD), "event-triggered hub": plug_in(EventHub, alpha=ALPHA)}
PROTOCOLS = ("mesh", "relays", "relays, doubling", *HUBS)
POLICIES = {"ucb": "UCB", "thompson": "Thompson"}

LARGE = (10_000, 100_000, 1_000_000)
LARGE_DECISIONS, LARGE_SLOTS = 20, 2_000
"""Of relays alone, for larger fleets: how often each agent decides, in how many slots."""


@dataclass(frozen=True)
class Plan:
    """How much of the study to run."""

    sizes: tuple[int, ...] = (20, 50, 100, 200, 500, 1_000)
    slots: int = 20_000
    trials: int = 10
    largest: int = 100_000
    """Of the larger fleets, those up to this."""

    @classmethod
    def quick(cls) -> "Plan":
        """Return a plan that takes less than a minute once all is compiled."""
        return cls(sizes=(20, 50, 100), slots=4_000, trials=2, largest=10_000)


@dataclass(frozen=True)
class Point:
    """One protocol with one policy in a fleet of one size: means over trials."""

    protocol: str
    policy: str
    agents: int
    decisions: float
    messages: float
    """For each decision."""
    regret: float
    regret_error: float
    """The standard error of the mean."""
    staleness: float
    dead: bool = False
    """Whether a relay, or the hub, dies at half time."""
    allowed: float | None = None
    """The most messages for each decision, by theory, where it says something."""


Progress = Callable[[int, int], None]


def fleet(agents: int, policy: str, slots: int) -> Scenario:
    """Return a mesh of so many agents, whose thresholds grow by one up to the cap."""
    fast = max(1, agents // 10)
    specs = (AgentSpec(Rate(FAST)),) * fast + (AgentSpec(Rate(SLOW)),) * (agents - fast)
    return Scenario(slots, surrogate_arms(), specs, BuiltIn(policy, confidence="own"), on_demand(GROWING))


def large_fleet(agents: int) -> Scenario:
    """Return a large fleet behind relays: agents of one speed that decide a few times each."""
    specs = (AgentSpec(Rate(LARGE_DECISIONS / LARGE_SLOTS)),) * agents
    sharing = on_demand(DOUBLING)
    return Scenario(LARGE_SLOTS, surrogate_arms(), specs, BuiltIn("ucb"), sharing, topology=Relays(RELAYS))


def measure(plan: Plan, *, seed: int, workers: int, progress: Progress | None = None) -> list[Point]:
    """Run everything, and return a point for each protocol, policy, size, and death."""
    jobs = list(_jobs(plan))
    points: list[Point] = []
    with ThreadPoolExecutor(workers) as threads:
        for point in threads.map(lambda job: _point(job, plan, seed), jobs):
            points.append(point)
            if progress is not None:
                progress(len(points), len(jobs))
    return points


@dataclass(frozen=True)
class _Job:
    protocol: str
    policy: str
    agents: int
    dead: bool = False
    trials: int = 0


def _jobs(plan: Plan) -> Iterator[_Job]:
    for policy in POLICIES:
        for agents in plan.sizes:
            yield from (_Job(protocol, policy, agents, trials=plan.trials) for protocol in PROTOCOLS)
        for protocol in PROTOCOLS[1:]:
            yield _Job(protocol, policy, plan.sizes[-1], dead=True, trials=plan.trials)
    yield from (_Job("relays, doubling", "ucb", agents, trials=1) for agents in LARGE if agents <= plan.largest)


_Measured = Mapping[str, float]


def _point(job: _Job, plan: Plan, seed: int) -> Point:
    runs = [_run(job, plan, seed, trial) for trial in range(job.trials)]
    mean = {name: statistics.fmean(one[name] for one in runs) for name in runs[0]}
    error = statistics.stdev(one["regret"] for one in runs) / len(runs) ** 0.5 if len(runs) > 1 else 0.0
    allowed = mean["allowed"] / mean["decisions"] if "allowed" in mean else None
    per_decision = mean["messages"] / mean["decisions"]
    return Point(
        job.protocol,
        job.policy,
        job.agents,
        mean["decisions"],
        per_decision,
        mean["regret"],
        error,
        mean["staleness"],
        job.dead,
        allowed,
    )


def _run(job: _Job, plan: Plan, seed: int, trial: int) -> _Measured:
    world = fleet(job.agents, job.policy, plan.slots)
    half = plan.slots // 2
    away = (RelayAbsence(0, half),) if job.dead else ()
    if job.protocol in HUBS:
        world = replace(world, sharing=HUBS[job.protocol], topology=Relays(1, absences=away))
    if job.protocol.startswith("relays"):
        threshold = GROWING if job.protocol == "relays" else DOUBLING
        world = replace(world, sharing=on_demand(threshold), topology=Relays(RELAYS, absences=away))
        if job.agents not in plan.sizes:
            world = large_fleet(job.agents)
    result = kernel.run(world, seed=seed, trial=trial, sizes=False)
    measured = {
        "decisions": float(sum(result.decisions)),
        "messages": result.messages,
        "regret": result.group_regret,
        "staleness": result.staleness,
    }
    if job.protocol.startswith("relays") and not job.dead:
        measured["allowed"] = fleet_share_bound(result.decisions, RELAYS, world.exchange.threshold)
    return measured


def find(points: Sequence[Point], protocol: str, policy: str, agents: int, *, dead: bool = False) -> Point:
    """Return one of the points."""
    wanted = (protocol, policy, agents, dead)
    return next(one for one in points if (one.protocol, one.policy, one.agents, one.dead) == wanted)


def largest_compared(points: Sequence[Point]) -> int:
    """Return the size of the largest fleet in which all protocols were compared."""
    return max(one.agents for one in points if one.protocol == "mesh")
