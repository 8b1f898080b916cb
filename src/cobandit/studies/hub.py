"""Agents that synchronise with one hub, to compare relays with: all that the field does in place of talking on demand.

A synchronisation is two messages: what the agent has observed since the last one goes up, and the totals of everybody
come down. A *periodic* hub has one after every so many pulls of an agent. An *event-triggered* hub has one when the
agent's own news are worth it: when the product over arms of 1 + n_i / (m_i + lambda) exceeds 1 + alpha, where n_i is
what it has observed of arm i since the last one and m_i what it knew then. That is the determinant rule of distributed
linear bandits, for arms.

Runs are on the same tapes as those of the engines, with the same policies. This file knows no delay and no loss. While
the hub is away, agents learn alone.
"""

from typing import NamedTuple

import numpy as np

from cobandit.core import silent
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Tape, bernoulli_reward
from cobandit.simulator.kernel import Room, prepare
from cobandit.simulator.kernel.choosing import select_arm
from cobandit.simulator.kernel.engine import lacked
from cobandit.simulator.kernel.jit import entrance
from cobandit.simulator.kernel.tables import AGENT_BITS, ONE_OBSERVATION, Table, Tables
from cobandit.simulator.kernel.talking import observe
from cobandit.values.checks import check_positive, check_whole
from cobandit.values.errors import LocalError

_AGENT_MASK = (1 << AGENT_BITS) - 1
_NEVER = 2**62


class Hub(NamedTuple):
    """A hub: periodic with a `period`, else event-triggered."""

    period: int = 0
    alpha: float = 1.0
    weight: float = 1.0
    """Lambda: as if every arm had been observed so often at first."""
    leave: int | None = None
    """The first slot without the hub, if it dies."""


class HubRun(NamedTuple):
    """What one run measured."""

    decisions: int
    messages: int
    group_regret: float
    staleness: float


def run(scenario: Scenario, hub: Hub, *, seed: int, trial: int = 0) -> HubRun:
    """Run the agents of a scenario with a hub. How they would talk without one does not matter.

    Raises:
        LocalError: Agents have different arms, or a clock depends on what they send, or numbers are not allowed.
    """
    check_whole("the period of a hub", hub.period, 0)
    check_positive("alpha", hub.alpha)
    check_positive("the weight of a hub", hub.weight)
    if any(agent.arms is not None or agent.absences for agent in scenario.agents):
        raise LocalError("agents of a hub have all arms, and are never away")
    alone = Scenario(scenario.horizon, scenario.arms, scenario.agents, scenario.policy, silent())
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        tables = prepare(alone, Tape(seed, trial), (), Room(1, 0, 1), sizes=False)
        if tables.planned.shape[0] < tables.history.shape[0]:
            raise LocalError("a clock that halves when its agent sends has no meaning with a hub")
        shape = (len(scenario.agents), len(scenario.arms.names))
        total, fresh = np.zeros(shape[1], np.int64), np.zeros(shape, np.int64)
        leave = _NEVER if hub.leave is None else hub.leave
        walk(tables, total, fresh, hub.period, hub.alpha, hub.weight, leave)
    gaps = max(scenario.arms.means) - np.array(scenario.arms.means)
    decisions = int(tables.world.decisions)
    regret = float((tables.seen.pulls * gaps).sum())
    return HubRun(decisions, int(tables.world.shares), regret, int(tables.world.lacking) / max(1, decisions))


@entrance
def walk(t: Tables, total: Table, fresh: Table, period: int, alpha: float, weight: float, leave: int) -> None:
    """Walk through all decisions. `total` is what the hub knows, `fresh` what each agent has not told it."""
    arms = t.world.arms
    for planned in t.planned:
        slot, agent = planned >> AGENT_BITS, planned & _AGENT_MASK
        me = t.agents[agent]
        own = t.own_arms[agent, select_arm(t, agent)]
        reward = bernoulli_reward(me.reward_key, np.uint64(me.own_pulls), own.success)  # type: ignore[arg-type]
        t.world.lacking += lacked(t, agent)
        t.world.decisions += 1
        observe(t, agent, own.arm, reward)
        fresh[agent, own.arm] += ONE_OBSERVATION + reward
        if slot >= leave:
            continue
        news, product = 0, 1.0
        for arm in range(arms):
            count = fresh[agent, arm] >> 32
            news += count
            product *= 1.0 + count / ((t.knowledge[agent, arm] >> 32) - count + weight)
        if news < period if period > 0 else product <= 1.0 + alpha:
            continue
        t.world.shares += 2
        me.observed = 0
        for arm in range(arms):
            total[arm] += fresh[agent, arm]
            fresh[agent, arm] = 0
            t.knowledge[agent, arm] = total[arm]
            me.observed += total[arm] >> 32
