"""Run both engines in many small worlds, and say where they differ: `python -m tests.parity.differences`.

It breaks the kernel as it is told, in its own process, so it needs one without a compiler (NUMBA_DISABLE_JIT=1): a
compiled function cannot be changed.
"""

import random
import signal
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module

from tests.parity.mutants import MUTANTS, Mutant

from cobandit.core import (
    Constant,
    FromFunction,
    Geometric,
    PerCandidate,
    RetryTimers,
    Sharing,
    Threshold,
    immediate,
    on_demand,
    silent,
)
from cobandit.core.protocols.rules import Input, Rule, Rules, rules
from cobandit.protocols import plug_in
from cobandit.protocols.aac import AccuracyAdaptive
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.protocols.tcom import Tcom
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Graph,
    Halving,
    OnOff,
    Partition,
    Rate,
    RelayAbsence,
    Relays,
    Row,
    Scenario,
    Schedule,
    Sine,
    Slots,
)
from cobandit.simulator import kernel, reference
from cobandit.simulator.kernel.filling import fill_world
from cobandit.simulator.result import Result

HORIZON = 100
WORLDS = 300
PLUGGED_WORLDS = 60
"""And after them so many with plug-ins."""

CHECKPOINTS = (0, 50)
THRESHOLDS: list[Threshold] = [
    Constant(1),
    Constant(1),
    Constant(3),
    Geometric(2),
    Geometric(2, answers_advance=False),
    Constant(3, answers_wait=False),
    Geometric(2, answers_wait=False),
    Geometric(2, cap=6, phases=True),
    PerCandidate(),
    FromFunction(lambda c: c),
]


MAX_CPU_SECONDS = 3.0
"""For one world, which takes a twentieth of a second. A broken kernel may go on for ever, and is then stopped."""

SAME = "the same in every world"


class DoesNotEndError(Exception):
    """A kernel has used all the time that it may."""


def main() -> None:
    """Answer questions, one in a line: the place of a mutant in the list, or a minus for the kernel as it is."""
    signal.signal(signal.SIGVTALRM, _stop)
    for line in sys.stdin:
        question = line.strip()
        answer = first_difference() if question == "-" else judged(MUTANTS[int(question)])
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def judged(mutant: Mutant) -> str:
    """Break the kernel, say where it differs, and mend it."""
    file, name = mutant.where.split(".")
    function = getattr(import_module(f"{kernel.__name__}.{file}"), name)
    names = dict(function.__globals__)
    exec(compile(mutant.source(), mutant.where, "exec"), names)  # our own source, with one change
    right, function.__code__ = function.__code__, names[name].__code__
    try:
        return first_difference(mutant.world)
    finally:
        function.__code__ = right


def first_difference(first: int = 0) -> str:
    """Say in which world the kernel differs, or fails, or goes on for ever; the first one is tried first."""
    for number in (first, *(other for other in range(WORLDS + PLUGGED_WORLDS) if other != first)):
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_CPU_SECONDS)
        try:
            is_same = equals_the_reference(number)
        except DoesNotEndError:
            return f"no end in world {number}"
        except Exception as error:  # noqa: BLE001  # a broken kernel may do anything
            return f"world {number}: {type(error).__name__}"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if not is_same:
            return f"world {number}"
    return SAME


def equals_the_reference(number: int) -> bool:
    """Return whether the kernel tells the same story and counts the same, also on its short way."""
    world, ref, ref_trace = readable(number)
    got_trace: list[Row] = []
    got = kernel.run(world, seed=number, trace=got_trace, checkpoints=CHECKPOINTS)
    return got_trace == ref_trace and got == ref and agrees_without_a_trace(world, number, ref)


@cache
def readable(number: int) -> tuple[Scenario, Result, list[Row]]:
    """Return a world, and what the readable engine does in it."""
    luck = random.Random(number)
    if number < len(SPECIAL):
        world = SPECIAL[number]()
    elif number == WORLDS + PLUGGED_WORLDS - 1:
        world = sure_world()
    else:
        world = random_world(luck) if number < WORLDS else plugged_world(luck)
    world = replace(world, luck="arm" if number % 5 == 4 else "pull")
    trace: list[Row] = []
    return world, reference.run(world, seed=number, trace=trace, checkpoints=CHECKPOINTS), trace


def agrees_without_a_trace(world: Scenario, seed: int, ref: Result) -> bool:
    """Return whether the kernel counts the same on its short way, which it takes only where nothing is traced."""
    filled = fill_world(world, counts_sizes=True, traced=False)[0]
    if not (filled.plain or filled.direct):
        return True
    return bool(kernel.run(world, seed=seed, checkpoints=CHECKPOINTS) == ref)


def _stop(_signal: int, _frame: object) -> None:
    raise DoesNotEndError


def random_world(luck: random.Random) -> Scenario:
    """Return a small world with a bit of everything; of three one on a network with faults, one with a topology."""
    world = quiet_world(luck)
    kind = luck.randrange(3)
    if kind == 0:
        return world
    if kind == 1:
        return connected_world(luck, world)
    faults = Faults(
        loss=luck.choice([0.0, 0.3, 0.6]),
        duplication=luck.choice([0.0, 0.3]),
        jitter=luck.choice([0, 0, 3]),
        reordering=luck.choice([0.0, 0.2]),
        held_back=9,
        partitions=random_partitions(luck) if luck.random() < 0.3 else (),
    )
    retry = RetryTimers(
        first=luck.choice([1.0, 5.0]), growth=1.5, tick=luck.choice([4.0, 20.0]), longest=luck.choice([6.0, 50.0])
    )
    sharing = on_demand(luck.choice(THRESHOLDS), loss_tolerant=retry) if luck.random() < 0.8 else world.sharing
    if luck.random() < 0.1:
        sharing = Sharing(random_table(luck), luck.choice(THRESHOLDS), retry)
    return replace(world, sharing=sharing, faults=faults)


def plugged_world(luck: random.Random) -> Scenario:
    """Return a world with a plug-in that has a compiled form."""
    arms = Arms.of([luck.choice([0.05, 0.5, 0.55, 0.95]) for _ in range(luck.choice([1, 2, 3, 20]))])
    agents = tuple(AgentSpec(random_schedule(luck)) for _ in range(luck.randint(3, 6)))
    plugged = luck.choice(
        [
            plug_in(PeriodicHub, period=luck.randint(1, 8)),
            plug_in(EventHub, alpha=luck.choice([0.05, 0.5]), weight=luck.choice([0.5, 2.0])),
            plug_in(Gossip, period=luck.randint(1, 4), pull=luck.random() < 0.5),
            plug_in(AccuracyAdaptive, alpha=1.3, release=luck.random() < 0.7, others_count=luck.random() < 0.7),
            plug_in(Tcom, beta=luck.choice([1.1, 1.5])),
        ]
    )
    topology: Relays | Graph | None = None
    if plugged.hubs:
        topology = Relays(1, absences=(RelayAbsence(0, 40, 60),) if luck.random() < 0.5 else ())
    elif plugged.build is not AccuracyAdaptive and luck.random() < 0.3:
        topology = Graph.ring(len(agents))
    policy = BuiltIn(luck.choice(["ucb", "aae", "thompson"]), luck.choice([0.02, 0.1, 3.0]), "own")
    return Scenario(HORIZON, arms, agents, policy, plugged, topology=topology)


def sure_world() -> Scenario:
    """Return a world with TCOM in which an arm is surely the best."""
    agents = (AgentSpec(Rate(1.0)),) * 6
    return Scenario(HORIZON, Arms.of([0.0, 1.0]), agents, BuiltIn("ucb", 20.0, "own"), plug_in(Tcom, beta=1.1))


def connected_world(luck: random.Random, world: Scenario) -> Scenario:
    """Return a world with relays or on a graph."""
    count = len(world.agents)
    if luck.random() < 0.4:
        tree = {(agent, luck.randrange(agent)) for agent in range(1, count)}
        more = {(agent, luck.randrange(agent)) for agent in range(1, count) if luck.random() < 0.5}
        return replace(world, topology=Graph(tuple(sorted(tree | more))))
    relays = luck.randint(1, 3)
    away: list[RelayAbsence] = []
    for relay in range(relays) if luck.random() < 0.6 else ():
        leave, rejoin = sorted(luck.sample(range(HORIZON), 2))
        away.append(RelayAbsence(relay, leave, luck.choice([rejoin, rejoin, None])))
    if relays > 1 and world.exchange.threshold == PerCandidate():
        world = replace(world, sharing=on_demand(Geometric(2)))
    return replace(world, topology=Relays(relays, luck.randint(1, relays), tuple(away)))


def woken_world() -> Scenario:
    """Return a world in which a decision wakes an agent before others decide in the slot."""
    agents = (AgentSpec(Slots((0,))), AgentSpec(Rate(1.0), absences=(Absence(5, 20),)), AgentSpec(Rate(1.0)))
    sharing = on_demand(Constant(3), loss_tolerant=RetryTimers(first=4, tick=8, longest=64))
    cut = Faults(partitions=(Partition(10, 30, (0,), (1,)),))  # agent 0 does not hear that agent 1 is back, until 32
    return Scenario(HORIZON, Arms.of([0.5]), agents, BuiltIn("ucb"), sharing, faults=cut)


def unheeded_world() -> Scenario:
    """Return a world in which the first word that arrives of an agent, which was away, is that it drops an arm."""
    agents = (AgentSpec(Slots((60, 70, 80, 90))), AgentSpec(Slots(tuple(range(26, 50))), absences=(Absence(1, 20),)))
    sharing = on_demand(Constant(50), loss_tolerant=RetryTimers(first=64, tick=64, longest=64))
    cut = Faults(partitions=(Partition(0, 25, (0,), (1,)),))
    return Scenario(HORIZON, Arms.of([0.1, 0.9]), agents, BuiltIn("aae", 0.02, "observed"), sharing, faults=cut)


def eager_world() -> Scenario:
    """Return a world without anything special but that an answer needs less than another share."""
    agents = (AgentSpec(Rate(0.6)),) * 3  # of one speed, or the slower one's buffer is all that matters
    return Scenario(HORIZON, Arms.of([0.2, 0.8]), agents, BuiltIn("ucb"), on_demand(Constant(5, answers_wait=False)))


def capped_world() -> Scenario:
    """Return a world in which phases would lead beyond the cap."""
    agents = (AgentSpec(Rate(1.0)),) * 3
    return Scenario(HORIZON, Arms.of([0.2, 0.8]), agents, BuiltIn("ucb"), on_demand(Geometric(2, cap=5, phases=True)))


def patient_broadcast() -> Scenario:
    """Return a world without anything special in which broadcast waits until buffers are full."""
    agents = (AgentSpec(Rate(0.6)),) * 3
    return Scenario(HORIZON, Arms.of([0.2, 0.8]), agents, BuiltIn("ucb"), immediate(Constant(3)))


def crowded_world() -> Scenario:
    """Return a world in which a relay is told of many agents at once, and an agent tells many arms."""
    agents = (AgentSpec(Slots((*range(20), *range(60, 100)))),) * 20
    topology = Relays(2, absences=(RelayAbsence(0, 0, 50),))
    return Scenario(HORIZON, Arms.of([0.5] * 20), agents, BuiltIn("ucb"), on_demand(Constant(20)), topology=topology)


def patient_world() -> Scenario:
    """Return a world in which agents first speak after twenty observations, one of them when another has ended."""
    agents = (AgentSpec(Rate(1.0), stop=64), AgentSpec(Rate(1.0), start=64), AgentSpec(Rate(0.9)))
    return Scenario(HORIZON, Arms.of([0.2, 0.8]), agents, BuiltIn("ucb"), on_demand(Constant(20)))


def sheltered_world() -> Scenario:
    """Return a world in which agents expect losses, and nothing is lost: some are slow, so shares are said again."""
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.5, 0.1, 0.03, 0.9))
    sharing = on_demand(loss_tolerant=RetryTimers(first=5, tick=3, longest=20))
    return Scenario(HORIZON, Arms.of([0.2, 0.5, 0.8]), agents, BuiltIn("ucb"), sharing)


def sheltered_doubling() -> Scenario:
    """Return the same with thresholds that grow, of which answers do not take part."""
    doubling = Geometric(2, cap=64, answers_advance=False, answers_wait=False)
    return replace(sheltered_world(), sharing=on_demand(doubling, loss_tolerant=RetryTimers(first=3, tick=9)))


def sheltered_elimination() -> Scenario:
    """Return the same with agents that rule out arms."""
    return replace(sheltered_world(), policy=BuiltIn("aae", 0.1, "own"))


SPECIAL = (
    woken_world,
    unheeded_world,
    eager_world,
    capped_world,
    patient_broadcast,
    crowded_world,
    patient_world,
    sheltered_world,
    sheltered_doubling,
    sheltered_elimination,
)
"""Worlds that luck rarely finds."""


def random_partitions(luck: random.Random) -> tuple[Partition, ...]:
    """Return several short partitions between the first two agents, so that messages meet their ends."""
    return tuple(
        Partition(start, start + luck.randint(1, 4), (0,), (1,), one_way=luck.random() < 0.5)
        for start in range(0, HORIZON, 7)
    )


def quiet_world(luck: random.Random) -> Scenario:
    """Return a small world on a network that loses nothing."""
    if luck.random() < 0.1:  # two agents that rule out each other's arm while their notices are under way
        sure = BuiltIn("aae", 0.001, "observed")
        return Scenario(HORIZON, Arms.of([0.5, 0.5]), (AgentSpec(Rate(0.8)),) * 2, sure, on_demand(), delay=5)
    arms = Arms.of([luck.choice([0.05, 0.5, 0.55, 0.95]) for _ in range(luck.randint(1, 4))])
    differ, churn = luck.random() < 0.3, luck.random() < 0.3
    agents = []
    for _ in range(luck.randint(2, 4)):
        own = luck.sample(arms.names, luck.randint(1, len(arms.names))) if differ else None
        slots = sorted(luck.sample(range(1, HORIZON), 2))
        agents.append(
            AgentSpec(
                random_schedule(luck),
                start=luck.choice([0, 0, 20]),
                stop=luck.choice([None, None, 80]),
                arms=None if own is None else tuple(own),
                absences=(Absence(*slots),) if churn else (),
            )
        )
    name = luck.choice(["ucb", "ucb", "aae", "aae", "kl-ucb", "thompson"])
    policy = BuiltIn(name, luck.choice([0.02, 0.1, 3.0]), luck.choice(["own", "own+2", "observed"]))
    return Scenario(HORIZON, arms, tuple(agents), policy, random_sharing(luck), luck.choice([0, 0, 0, 1, 5]))


def random_schedule(luck: random.Random) -> Schedule:
    """Return one of the schedules."""
    schedules: list[Schedule] = [
        Rate(luck.choice([0.1, 0.5, 1.0])),
        Rate(0.7),
        Halving(0.9),
        OnOff(0.9, 0.1),
        Sine(luck.uniform(0, 6), 5.0),
        Slots(tuple(sorted(luck.sample(range(HORIZON), 20)))),
    ]
    return luck.choice(schedules)


def random_sharing(luck: random.Random) -> Sharing:
    """Return one of the ways of sharing."""
    if luck.random() < 0.05:
        return silent()
    if luck.random() < 0.1:
        return Sharing(random_table(luck), luck.choice(THRESHOLDS))
    return luck.choice([on_demand, on_demand, immediate])(luck.choice(THRESHOLDS), literal_notices=luck.random() < 0.2)


def random_table(luck: random.Random) -> Rules:
    """Return a protocol that nobody would want: any table that can be followed."""
    rows = []
    for what in Input:
        for demanded in (False, True):
            for reached in (False, True) if what in (Input.OBSERVATION, Input.SHARE) else (None,):
                shares = reached is True and luck.random() < 0.5
                rows.append(Rule(what, demanded, reached, demanded_after=luck.random() < 0.5, shares=shares))
    return rules("random", *rows)


if __name__ == "__main__":
    main()
