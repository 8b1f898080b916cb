"""What every protocol of the simulator must do, checked: put your own through it.

The suite knows nothing about when a protocol talks, or of what. It checks the promises on which results rest: the same
tape gives the same bits, all chance comes from the node, nobody knows more than was observed, and what the protocol
says that it survives, it survives.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cobandit.policies.registry import BuiltIn
from cobandit.protocols.plug_in import PlugIn, parameters_of, plug_in
from cobandit.scenario import Absence, AgentSpec, Arms, Faults, Graph, Kind, Rate, Row, Scenario, Tape
from cobandit.scenario.scenario import BuildPolicy
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from cobandit.simulator.reference import ReferenceRun
    from cobandit.simulator.result import Result

RATES = (1.0, 0.5, 0.2, 0.05)
MEANS = (0.3, 0.5, 0.8)
HORIZON = 400

_FAULTS: dict[str, dict[str, Any]] = {
    "delay": {"delay": 5},
    "loss": {"faults": Faults(loss=0.3)},
    "duplication": {"faults": Faults(duplication=0.5, jitter=3)},
    "reordering": {"delay": 1, "faults": Faults(jitter=5, reordering=0.3, held_back=20)},
}


def check_protocol(protocol: type[Any] | PlugIn, *, policy: BuildPolicy | None = None) -> None:
    """Raise `AssertionError` unless a protocol keeps every promise.

    Args:
        protocol: The protocol's class, or `plug_in(...)` with parameters.
        policy: How agents choose; UCB by default.

    >>> from cobandit.protocols.gossip import Gossip
    >>> check_protocol(Gossip)
    """
    plugged = protocol if isinstance(protocol, PlugIn) else plug_in(protocol)
    agents = tuple(AgentSpec(Rate(rate)) for rate in RATES)
    try:
        world = Scenario(HORIZON, Arms.of(MEANS), agents, policy or BuiltIn("ucb"), plugged)
    except LocalError as error:
        raise AssertionError(f"four agents that all know each other are refused: {error}") from error
    with needed_by("check_protocol"):
        for check in (
            _is_deterministic,
            _talks_only_to_neighbours,
            _knows_only_what_was_observed,
            _survives_what_it_says,
            _bears_absences,
            _works_alone,
            _refuses_numbers_that_are_none,
        ):
            check(world)


def _is_deterministic(world: Scenario) -> None:
    """The second run comes after another one: what a class remembers would show. So would chance from elsewhere."""
    import numpy as np  # noqa: PLC0415  # the other suites need no simulator, so this file is loaded without it

    kept, kept_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # the very thing that is not allowed
    try:
        runs = []
        for luck, trial in ((1, 0), (2, 1), (3, 0)):
            random.seed(luck)
            np.random.seed(luck)  # noqa: NPY002
            runs.append(_run(world, trial=trial))
    finally:
        random.setstate(kept)
        np.random.set_state(kept_numpy)  # noqa: NPY002
    assert runs[0] == runs[2], (
        "the same tape gave two different runs: take all chance from node.uniform() and node.pick(), and keep nothing "
        "outside of the instance"
    )


def _talks_only_to_neighbours(world: Scenario) -> None:
    plugged = world.plugged
    assert plugged is not None
    if plugged.hubs:
        return  # agents know nobody but hubs, and the run before this one passed
    try:
        ring = replace(world, topology=Graph.ring(len(RATES)))
    except LocalError:
        return  # it says that it needs everybody to talk to everybody
    _run(ring)


def _knows_only_what_was_observed(world: Scenario) -> None:
    _run(world, watch=_Knowledge(world).look)


def _survives_what_it_says(world: Scenario) -> None:
    plugged = world.plugged
    assert plugged is not None
    for fault in sorted(plugged.about.survives):
        assert fault in _FAULTS, f"about.survives names {fault!r}: it may name {', '.join(_FAULTS)}"
        try:
            _run(replace(world, **_FAULTS[fault]), watch=_Knowledge(world).look)
        except AssertionError as error:
            raise AssertionError(f"it says that it survives {fault}, but then: {error}") from error


def _bears_absences(world: Scenario) -> None:
    agents = (replace(world.agents[0], absences=(Absence(50, 120), Absence(300))), *world.agents[1:])
    _run(replace(world, agents=agents), watch=_Knowledge(world).look)


def _works_alone(world: Scenario) -> None:
    _run(replace(world, agents=world.agents[:1]))


def _refuses_numbers_that_are_none(world: Scenario) -> None:
    plugged = world.plugged
    assert plugged is not None
    for name, parameter in parameters_of(plugged.build).items():
        if parameter.annotation is float:
            try:
                replace(world, sharing=plug_in(plugged.build, **{**plugged.parameters, name: math.nan}))  # type: ignore[arg-type]
            except LocalError:
                continue
            raise AssertionError(f"{name} was taken although it is not a number: refuse it with LocalError")


def _run(
    world: Scenario, *, trial: int = 0, watch: "Callable[[ReferenceRun], None] | None" = None
) -> "tuple[Result, list[Row]]":
    from cobandit.simulator.reference import ReferenceRun  # noqa: PLC0415

    trace: list[Row] = []
    engine = ReferenceRun(world, Tape(1, trial), trace, watch=watch)
    try:
        engine.run()
    except LocalError as error:
        raise AssertionError(f"in slot {engine.slot} it did what is not allowed: {error}") from error
    result = engine.result()
    told = sum(row.kind == Kind.SHARE for row in trace)
    assert told == result.shares
    return result, trace


class _Knowledge:
    """Looks at every node after every step: what it knows was observed, and each observation counts once."""

    def __init__(self, world: Scenario) -> None:
        self._observations = world.plugged is None or world.plugged.about.observations
        self._history: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0])
        """By agent and arm: the sum of the rewards of the first n pulls, for every n."""
        self._looked_at: dict[int, tuple[int, int]] = {}
        """What each node knew when it was last looked at: how much, which says whether there is anything new."""

    def look(self, engine: "ReferenceRun") -> None:
        """Take one step of a run."""
        changed = []
        for node in engine.nodes:
            position, known = node.node.position, (node.node.ledger.changes, node.policy.tally.observations)
            if self._looked_at.get(position) == known:
                continue
            self._looked_at[position] = known
            changed.append(position)
            for arm in () if node.node.is_hub else node.arms:
                own, sums = node.node.ledger.cell(position, arm), self._history[position, arm]
                if own.observations == len(sums):
                    sums.append(own.reward_sum)
        for position in changed if self._observations else ():
            self._check(engine, position)

    def _check(self, engine: "ReferenceRun", position: int) -> None:
        node, agents = engine.nodes[position].node, len(engine.scenario.agents)
        for source, arm, observations, reward_sum, _ in node.ledger.cells():
            sums = self._history[source, arm]
            is_right = source >= agents or (observations < len(sums) and sums[observations] == reward_sum)
            assert is_right, f"node {node.name} has {observations} observations of arm {arm} by {source}: never made so"
        if node.is_hub:
            return
        tally = node.policy.tally
        for arm in node.arms:
            made = [self._history[agent, arm] for agent in range(agents)]
            count, rewards = sum(len(sums) - 1 for sums in made), sum(sums[-1] for sums in made)
            is_right = tally.counts[arm] <= count and tally.sums[arm] <= rewards
            is_right = is_right and tally.counts[arm] - tally.sums[arm] <= count - rewards
            assert is_right, (
                f"agent {node.name} knows {tally.counts[arm]} of arm {arm} with {tally.sums[arm]} rewards, "
                f"but {count} with {rewards} were made: something counts twice"
            )
