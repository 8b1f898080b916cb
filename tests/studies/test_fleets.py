"""The study of fleets: the hub against a literal version of itself, and a small study from beginning to end."""

import math
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from cobandit.policies.registry import BuiltIn
from cobandit.protocols import plug_in
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.scenario import AgentSpec, Arms, Rate, RelayAbsence, Relays, Scenario, Slots
from cobandit.scenario.tape import Stream, Tape, bernoulli_reward
from cobandit.simulator import kernel
from cobandit.studies import fleets
from cobandit.studies.fleets import Plan, find, measure
from cobandit.studies.fleets_report import as_text, verdict, write
from cobandit.values.tally import ArmTally

ARMS = Arms.of([0.2, 0.5, 0.55, 0.9])


class Hub(NamedTuple):
    """A hub: periodic with a period, else event-triggered; it may die."""

    period: int = 0
    alpha: float = 1.0
    weight: float = 1.0
    leave: int | None = None


def literal(world: Scenario, one: Hub, seed: int) -> tuple[int, int, float, float]:
    """Do what the hub does, with the policies of the library and dictionaries. Sums are not cumulative here."""
    names, tape, count = world.arms.names, Tape(seed), len(world.agents)
    policies = [world.policy(names, tape.policy_seed(agent)) for agent in range(count)]
    clocks = [spec.schedule.clock(tape.clock_keys(agent, world.horizon)) for agent, spec in enumerate(world.agents)]
    total = dict.fromkeys(names, (0, 0))
    fresh = [dict.fromkeys(names, (0, 0)) for _ in range(count)]
    due = []
    for agent, clock in enumerate(clocks):
        slot = clock.next_slot(-1)
        while slot < world.horizon:
            due.append((slot, agent))
            slot = clock.next_slot(slot)
    pulls, messages, regret, lacking = [0] * count, 0, 0.0, 0
    for made, (slot, agent) in enumerate(sorted(due)):
        policy, mine = policies[agent], fresh[agent]
        lacking += made - policy.tally.observations
        arm = policy.select_arm()
        reward = bernoulli_reward(tape.key(agent, Stream.REWARDS), pulls[agent], world.arms.mean(arm))
        policy.update(arm, float(reward))
        pulls[agent] += 1
        regret += max(world.arms.means) - world.arms.mean(arm)
        mine[arm] = (mine[arm][0] + 1, mine[arm][1] + reward)
        product = math.prod(
            1.0 + mine[name][0] / (policy.tally.counts[name] - mine[name][0] + one.weight) for name in names
        )
        news = sum(observed for observed, _ in mine.values())
        is_due = news >= one.period if one.period else product > 1.0 + one.alpha
        if is_due and (one.leave is None or slot < one.leave):
            messages += 2
            for name in names:
                total[name] = (total[name][0] + mine[name][0], total[name][1] + mine[name][1])
                more = (total[name][0] - policy.tally.counts[name], total[name][1] - policy.tally.sums[name])
                policy.learn((ArmTally(name, more[0], more[1], more[1]),) if more[0] else ())
                mine[name] = (0, 0)
    return len(due), messages, lacking / max(1, len(due)), regret


@pytest.mark.parametrize(
    "one", [Hub(1), Hub(4), Hub(4, leave=60), Hub(alpha=0.3), Hub(alpha=0.05, weight=2.0, leave=90)]
)
@pytest.mark.parametrize("policy", ["ucb", "thompson"])
def test_the_hub_does_what_a_literal_one_does(one: Hub, policy: str) -> None:
    agents = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.05)), AgentSpec(Slots((3, 4, 5, 80))), AgentSpec(Rate(0.9)))
    world = Scenario(120, ARMS, agents, BuiltIn(policy))
    away = () if one.leave is None else (RelayAbsence(0, one.leave),)
    plugged = plug_in(PeriodicHub, period=one.period) if one.period else plug_in(EventHub, alpha=one.alpha)
    if one.weight != 1.0:
        plugged = plug_in(EventHub, alpha=one.alpha, weight=one.weight)
    with_hub = replace(world, sharing=plugged, topology=Relays(1, absences=away))
    for seed in range(3):
        got, ref = kernel.run(with_hub, seed=seed), literal(world, one, seed)
        assert (sum(got.decisions), got.messages, got.staleness) == ref[:3]
        assert got.group_regret == pytest.approx(ref[3], rel=1e-12)


def test_a_hub_that_is_told_after_every_pull_knows_everything() -> None:
    world = Scenario(100, ARMS, (AgentSpec(Rate(1.0)),) * 3, sharing=plug_in(PeriodicHub, period=1))
    done = kernel.run(world, seed=1)
    assert (sum(done.decisions), done.messages) == (300, 600)
    assert done.staleness < 2.0  # what the two others did since its own last pull


def test_a_small_study_from_beginning_to_end(tmp_path: Path) -> None:
    plan = Plan(sizes=(10, 20), slots=600, trials=2, largest=0)
    points = measure(plan, seed=1, workers=1)
    assert len(points) == 2 * (2 * len(fleets.PROTOCOLS) + len(fleets.PROTOCOLS) - 1)
    assert measure(plan, seed=1, workers=2) == points
    for one in points:
        assert one.allowed is None or one.messages <= one.allowed
    relays, periodic = (find(points, protocol, "ucb", 20) for protocol in ("relays", "periodic hub"))
    assert relays.decisions == periodic.decisions
    page = write(points, plan, 1, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "fleets-deaths.pdf",
        "fleets-deaths.svg",
        "fleets.html",
        "fleets.json",
        "fleets.pdf",
        "fleets.svg",
    ]
    assert "UCB, 20 agents: relays send" in verdict(points)
    assert verdict(points)[:40] in page.read_text(encoding="utf-8")
    shown = as_text(points).splitlines()
    assert len(shown) == 3 + len(points)  # a table for each policy
    assert max(map(len, shown)) <= 80
