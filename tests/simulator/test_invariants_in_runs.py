"""In random worlds, every sentence of `cobandit.core.invariants` holds at every step of a run."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit.core import (
    Constant,
    Geometric,
    Notice,
    PerCandidate,
    Share,
    Sharing,
    immediate,
    on_demand,
    silent,
)
from cobandit.core.invariants import endpoint_violations, total
from cobandit.scenario import Absence, AgentSpec, Arms, BuiltIn, OnOff, Rate, Scenario, Sine, Slots
from cobandit.simulator import run
from cobandit.simulator.reference import ReferenceRun
from lab.pairs import pair_violations

HORIZON = 60
ARMS = Arms(("A", "B", "C"), (0.9, 0.5, 0.1))

schedules = st.one_of(
    st.builds(Rate, st.sampled_from([0.05, 0.4, 1.0])),
    st.builds(OnOff, st.just(0.8), st.just(0.1)),
    st.builds(Sine, st.floats(0.0, 6.0)),
    st.builds(lambda slots: Slots(tuple(sorted(slots))), st.sets(st.integers(0, HORIZON - 1))),
)
absences = st.lists(st.integers(1, HORIZON - 1), max_size=4, unique=True).map(
    lambda slots: tuple(
        Absence(leave, rejoin) for leave, rejoin in zip(sorted(slots)[::2], [*sorted(slots), None][1::2], strict=False)
    )
)
arm_sets = st.sampled_from([None, None, None, ("A", "B"), ("B", "C"), ("C",)])
agents = st.builds(AgentSpec, schedules, start=st.integers(0, 20), arms=arm_sets, absences=absences)
sharings: st.SearchStrategy[Sharing] = st.sampled_from(
    [
        on_demand(Constant(1)),
        on_demand(Constant(4)),
        on_demand(Geometric(2)),
        on_demand(PerCandidate()),
        immediate(Constant(1)),
        immediate(Geometric(2)),
        silent(),
    ]
)
policies = st.sampled_from(
    [BuiltIn("ucb"), BuiltIn("aae", alpha=0.2), BuiltIn("aae", alpha=0.2, confidence="own"), BuiltIn("thompson")]
)
worlds = st.builds(
    Scenario,
    horizon=st.just(HORIZON),
    arms=st.just(ARMS),
    agents=st.lists(agents, min_size=2, max_size=4).map(tuple),
    policy=policies,
    sharing=sharings,
    delay=st.sampled_from([0, 0, 1, 5]),
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(world=worlds, seed=st.integers(0, 2**32))
def test_every_invariant_holds_at_every_step(world: Scenario, seed: int) -> None:
    rejoins = sum(absence.rejoin is not None for agent in world.agents for absence in agent.absences)

    def watch(engine: ReferenceRun) -> None:
        waiting = engine.in_flight()
        for agent in engine.agents:
            assert endpoint_violations(agent.endpoint) == []
            assert agent.policy.tally == total(agent.endpoint)
            assert set(agent.policy.candidates) == agent.endpoint.candidates.own
            assert agent.policy.own_pulls == agent.endpoint.replica.observations
        for one, other in combinations((agent.endpoint for agent in engine.agents), 2):
            between = [message for message in waiting if {message.sender, message.receiver} == {one.name, other.name}]
            absent = (
                any(isinstance(message, Notice) and message.changes.presences for message in between)
                or not one.members.get(other.name).is_present
                or not other.members.get(one.name).is_present
            )
            shares = [message for message in between if isinstance(message, Share)]
            assert pair_violations(one, other, shares, rejoins=rejoins, absent=absent) == []

    run(world, seed=seed, watch=watch)
