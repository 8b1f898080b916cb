"""What a pull pays, compiled: `cobandit.scenario.payments`, by the same formulas, and the sums of `moving.Account`.

The arms of the paper pay 0 or 1 with fixed means; they have a short way of their own (`engine.reward_of`). All others
come here. Rewards are quanta; where they are not only 0 and 1, sums and squares are kept beside the counts
(`Tables.sums`).
"""

import math

import numpy as np

from cobandit.scenario import drawing
from cobandit.scenario.drawing import DISCRETE, OWN, REPLAY, drawn_share, first_place, quanta_of
from cobandit.scenario.paying import Discrete, OwnReward, Replay
from cobandit.scenario.payments import Payments
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import luck_of_arm
from cobandit.simulator.kernel.custom import address_of, call_index
from cobandit.simulator.kernel.jit import borrow, compiled, inlined
from cobandit.simulator.kernel.tables import COURSE, PAY, VALUE, Record, Table, Tables, records
from cobandit.simulator.moving import Moving, offered_at_first
from cobandit.values import chance
from cobandit.values.quantum import square_unit

for _formula in (
    chance.mix,
    chance.unit,
    chance.uniform,
    chance.successor,
    chance.stream,
    chance.gamma,
    chance.normal,
    drawing.log_gamma_draw,
    drawing.beta_share,
    drawing.normal_share,
    drawing.drawn_share,
    drawing.quanta_of,
    drawing.first_place,
    luck_of_arm,
):
    borrow(_formula)


def fill_payments(world: Record, scenario: Scenario, payments: Payments) -> dict[str, Table]:
    """Return the tables of how arms pay, and fill in what the world says of it."""
    arms, course = scenario.arms, payments.course
    world.per_reward, world.square_unit = payments.per_reward, square_unit(payments.per_reward)
    world.square_size = world.square_unit / (payments.per_reward * payments.per_reward)
    world.low, world.width = arms.rewards.low, arms.rewards.width
    world.graded, world.moving = not arms.are_binary, scenario.course is not None
    world.pays_more = world.graded or world.moving
    pay = records(len(arms.names), PAY)
    values: list[tuple[float, float]] = []
    for place, one in enumerate(arms.each_pays):
        pay.law[place], pay.first[place] = one.law, len(values)
        if isinstance(one, Replay):
            values += [(1.0, arms.rewards.share_of(reward)) for reward in one.log]
        elif isinstance(one, Discrete):
            shares = map(arms.rewards.share_of, one.values)
            values += list(zip(one.cumulative, shares, strict=True))
        else:
            pay.spread[place] = one.spread(arms.rewards)
            if isinstance(one, OwnReward):
                pay.address[place] = address_of(one.function)
        pay.end[place] = len(values)
    steps = records((len(course.starts), len(arms.names)), COURSE)
    steps.reward, steps.expected = course.means, payments.expected
    steps.share = [[arms.rewards.share_of(mean) for mean in means] for means in course.means]
    table = records(len(values), VALUE)
    if values:
        table.cumulative, table.share = np.array(values).T
    return {"pay": pay, "course": steps, "starts": np.array(course.starts, np.int64), "values": table}


def fill_sums(world: Record, scenario: Scenario, checkpoints: int) -> dict[str, Table]:
    """Return room for the sums that regret needs where means change."""
    agents = len(scenario.agents) if world.moving else 0
    return {
        "offered": offered_at_first(scenario) if agents else np.zeros((0, 0)),
        "gained": np.zeros((agents, 2)),
        "moved_at": np.zeros((checkpoints, agents, 3)),
    }


def moving_of(tables: Tables) -> Moving | None:
    """Return the sums of a run."""
    if not tables.world.moving:
        return None
    at = tables.moved_at
    gained, dynamic = tables.gained.T
    return Moving(gained, tables.offered, dynamic, at[:, :, 0], at[:, :, 1], at[:, :, 2])


@compiled
def draw(t: Tables, agent: int, arm: int, slot: int, key: int, number: int) -> int:
    """Return the reward of a pull, in quanta (`Payments.draw`)."""
    while t.world.step + 1 < t.starts.shape[0] and t.starts[t.world.step + 1] <= slot:
        t.world.step += 1
    pay, here = t.pay[arm], t.course[t.world.step, arm]
    if pay.law == REPLAY:
        rows = pay.end - pay.first
        start = first_place(luck_of_arm(t.agents[agent].reward_key, np.uint64(arm)), rows)
        share = t.values[pay.first + (start + t.seen[agent, arm].pulls) % rows].share
    elif pay.law == DISCRETE:
        share = t.values[drawn_value(t, pay, chance.uniform(key, number))].share
    elif pay.law == OWN:
        reward = call_index(pay.address, chance.uniform(key, number), slot, here.reward)
        if not t.world.low <= reward <= t.world.low + t.world.width:
            t.world.bad_reward, t.world.bad_reward_of = reward, arm + 1
            t.world.overflow = True  # the run is over
            return 0
        share = (reward - t.world.low) / t.world.width
    else:
        share = drawn_share(pay.law, here.share, pay.spread, key, number)
    return quanta_of(share, t.world.per_reward)


@inlined
def drawn_value(t: Tables, pay: Record, luck: float) -> int:
    """Return the first place whose cumulative chance is above the luck (`bisect_right`)."""
    low, high = pay.first, pay.end
    while low < high:
        middle = (low + high) >> 1
        if luck < t.values[middle].cumulative:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def add_means(t: Tables, agent: int, arm: int) -> None:
    """Count what a pull pays on average, and what the others would have paid (`moving.Account.add`)."""
    best, mean = -math.inf, t.course[t.world.step, arm].expected
    for position in range(t.agents[agent].arm_count):
        other = t.own_arms[agent, position].arm
        paid = t.course[t.world.step, other].expected
        t.offered[agent, other] += paid
        best = max(best, paid)
    t.gained[agent, 0] += mean
    t.gained[agent, 1] += best - mean


@compiled
def remember_means(t: Tables, checkpoint: int) -> None:
    """Keep the sums of a checkpoint (`moving.Account.remember`)."""
    for agent in range(t.gained.shape[0]):
        best = -math.inf
        for arm in range(t.world.arms):
            best = max(best, t.offered[agent, arm])
        kept = t.moved_at[checkpoint, agent]
        kept[0], kept[1], kept[2] = t.gained[agent, 0], best, t.gained[agent, 1]
