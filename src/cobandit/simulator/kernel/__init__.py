"""The compiled engine: a second implementation of the same rules on arrays, allowed because it is proved equal.

The same tape in, the same trace out, row by row, as from the readable engine; `tests/parity` holds it to that.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cobandit.policies.base import no_number
from cobandit.scenario.paying import bad_reward
from cobandit.scenario.payments import Payments
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Tape
from cobandit.scenario.trace import Row
from cobandit.simulator.kernel import codes, engine, fleet, plugged, plugging
from cobandit.simulator.kernel.bits import full_sets
from cobandit.simulator.kernel.cells import ring_room
from cobandit.simulator.kernel.choosing import MOST_LOGS
from cobandit.simulator.kernel.filling import (
    exchange_of,
    fill_agents,
    fill_arms,
    fill_cuts,
    fill_links,
    fill_moves,
    fill_rules,
    fill_thresholds,
    fill_world,
)
from cobandit.simulator.kernel.payment import fill_payments, fill_sums, moving_of
from cobandit.simulator.kernel.planning import plan
from cobandit.simulator.kernel.refusing import why_not_compiled
from cobandit.simulator.kernel.sizes import fill_sizes
from cobandit.simulator.kernel.slices import SPARE, fill_milestones
from cobandit.simulator.kernel.tables import (
    BOND,
    ENTROPY,
    MESSAGE,
    MOST_DECISIONS,
    PAIR,
    SUM,
    TOLD,
    Record,
    Table,
    Tables,
    records,
)
from cobandit.simulator.kernel.windows import fill_window
from cobandit.simulator.kernel.wiring import communication, fill_wiring
from cobandit.simulator.result import COUNTED_AT, Communication, Result, received
from cobandit.values.errors import LocalError

__all__ = ["run"]

_FIRST_ROOM = 1024


def run(
    scenario: Scenario,
    *,
    seed: int,
    trial: int = 0,
    trace: list[Row] | None = None,
    checkpoints: Sequence[int] = (),
    sizes: bool = True,
) -> Result:
    """Run a scenario once, compiled.

    Args:
        scenario: The world.
        seed: The seed of all chance.
        trial: Which of the trials with this seed it is.
        trace: A list that receives a row for everything that happens.
        checkpoints: Slots at whose beginning the counts so far are kept.
        sizes: Whether to count bytes and bits as well as messages.

    Raises:
        LocalError: The scenario uses something of your own that has no compiled form, or is too large.
    """
    if why := why_not_compiled(scenario):
        raise LocalError(f"{why}: use the readable engine")
    is_lossy = not scenario.faults.are_none or exchange_of(scenario).retry is not None
    may_wait = is_lossy or scenario.delay > 0 or any(agent.absences for agent in scenario.agents)
    may_wait = may_wait or scenario.topology is not None
    likely = 2 * len(scenario.agents) ** 2 if scenario.topology is None else scenario.node_count
    room = Room(max(_FIRST_ROOM, likely) if may_wait else 1, 0 if trace is None else _FIRST_ROOM, 1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # on purpose; compiled code does not look
        while True:
            tables = prepare(scenario, Tape(seed, trial), checkpoints, room, sizes=sizes)
            if scenario.plugged is not None:
                plugged.run(tables)
            elif scenario.topology is None:
                engine.run(tables)
            else:
                fleet.run(tables)
            if tables.world.no_number:
                raise _no_number(scenario, tables.world)
            if tables.world.bad_reward_of:
                arm = scenario.arms.names[tables.world.bad_reward_of - 1]
                raise bad_reward(arm, float(tables.world.bad_reward), scenario.arms.rewards)
            if not tables.world.overflow:
                break
            room = Room(4 * room.mail, 4 * room.trace, 4 * room.parcels)
    if trace is not None:
        trace.extend(Row(*row) for row in tables.trace[: tables.world.trace_end].tolist())
    return _result(scenario, tables)


def _no_number(scenario: Scenario, world: Record) -> LocalError:
    arm = scenario.arms_of(world.no_number_of)[world.no_number_arm]
    return no_number(arm, int(world.no_number))


class Room(NamedTuple):
    """How much there may be of what grows during a run."""

    mail: int
    trace: int
    parcels: int
    """How many times as much as at first."""


def prepare(scenario: Scenario, tape: Tape, checkpoints: Sequence[int], room: Room, *, sizes: bool) -> Tables:
    """Return the tables of a run before slot 0."""
    world = fill_world(scenario, counts_sizes=sizes, traced=room.trace > 0)[0]
    paid = fill_payments(world, scenario, Payments(scenario, tape))
    slots: list[int] = []
    agents = fill_agents(scenario, tape, slots)
    own_arms, seen, members = fill_arms(scenario)
    likely = int(np.sum(agents.rate * np.maximum(0, agents.stop - agents.start)))
    enough = _FIRST_ROOM + min(likely + likely // 50, MOST_DECISIONS)  # more is made where it does not suffice
    planned, most = plan(agents, np.array(slots, np.int64), scenario.horizon, enough)
    planned.sort()
    if most > MOST_DECISIONS:
        raise LocalError(f"{most} decisions are more than the compiled engine counts ({MOST_DECISIONS})")
    if world.one_table:
        agents.row = 0
    count, is_mesh, sharing = len(scenario.agents), _is_mesh(scenario), exchange_of(scenario)
    met = count if is_mesh else 0  # who has something for each of the others
    pairs = records((met, met), PAIR)
    pairs.share_number = 1
    bonds = records((met, met), BOND)
    if is_mesh and (world.lossy or world.settles or not world.same_arms):  # or nobody looks, and they take no memory
        bonds.believed_candidates = agents.arm_count
        in_common = members.astype(np.int32) @ members.astype(np.int32).T
        bonds.common = in_common[agents.arm_set][:, agents.arm_set]
    cuts, cut_from, cut_until = fill_cuts(scenario)
    if scenario.plugged is not None:
        plugging.fill_parameters(world, scenario, scenario.plugged)
        wiring, told, tokens = plugging.fill_plugged(scenario, scenario.plugged)
    else:
        wiring = fill_wiring(scenario, members, agents, arm_bits=int(world.arm_bits), room=room.parcels)
        told, tokens = records((0, 0), TOLD), np.zeros((0, 0), np.int64)
    letters = records(room.mail if world.lossy or not is_mesh else 0, MESSAGE)
    knowledge = np.zeros((1 if world.one_table else count, own_arms.shape[1]), np.int64)
    return Tables(
        world=world,
        agents=agents,
        pairs=pairs,
        bonds=bonds,
        rules=fill_rules(sharing.rules),
        demanded=full_sets(met),
        others=full_sets(met),
        knowledge=knowledge,
        seen=seen,
        history=np.zeros(most + SPARE, np.uint16),
        **fill_milestones(world, seen.shape, most),
        **fill_sizes(seen.shape),
        usable=np.zeros((count, len(members)), np.int64),
        thresholds=fill_thresholds(sharing.threshold),
        mail=records((2, ring_room(room.mail)), MESSAGE),
        trace=np.zeros((room.trace, len(Row._fields)), np.int64),
        own_arms=own_arms,
        members=members,
        index=np.zeros(own_arms.shape[1]),
        rough_index=np.zeros((2, own_arms.shape[1]), np.float32),
        logs=np.zeros(min(most + 3, MOST_LOGS)),
        entropies=records(knowledge.shape if world.policy == codes.KL_UCB else (0, 0), ENTROPY),
        dropped=np.zeros(own_arms.shape[1], np.int64),
        planned=planned,
        heap=np.zeros(count, np.int64),
        moves=fill_moves(scenario),
        links=fill_links(count if world.lossy else 0, world.first),
        letters=letters,
        stack=np.zeros(len(letters), np.int64),
        counted=np.zeros((count, count, len(scenario.arms.names)) if world.has_faults else (0, 0, 0), np.int64),
        believed=_believed(seen, world),
        gone=np.zeros((count, own_arms.shape[1]) if world.lossy else (0, 0), np.int64),
        cuts=cuts,
        cut_from=cut_from,
        cut_until=cut_until,
        observed=np.zeros(len(scenario.arms.names), np.int64),
        checkpoints=np.array(sorted(checkpoints), np.int64),
        pulls_at=np.zeros((len(checkpoints), count, len(scenario.arms.names)), np.int64),
        counted_at=np.zeros((len(checkpoints), len(COUNTED_AT)), np.int64),
        told=told,
        tokens=tokens,
        units=np.zeros(most if world.graded else 0, np.int32),
        sums=records((1 if world.one_table else count, own_arms.shape[1]) if world.graded else (0, 0), SUM),
        counted_sums=records(
            (count, count, len(scenario.arms.names)) if world.graded and world.has_faults else (0, 0, 0), SUM
        ),
        **paid,
        **fill_sums(world, scenario, len(checkpoints)),
        **fill_window(world, scenario, own_arms.shape[1], most),
        **wiring._asdict(),
    )


def _is_mesh(scenario: Scenario) -> bool:
    """Return whether agents have something for each of the others. Plug-ins have edges."""
    return scenario.topology is None and scenario.plugged is None


def _believed(seen: Table, world: Record) -> Table:
    """Return which arms every agent thinks that every peer considers, where it must be known arm by arm."""
    if not world.lossy or not world.settles or (world.same_arms and not world.tolerant):
        return np.zeros((0, 0, 0), np.bool_)
    has_arm = seen.position >= 0
    return np.repeat(has_arm[None], len(has_arm), axis=0)


def _result(scenario: Scenario, tables: Tables) -> Result:
    world = tables.world
    owns = [scenario.arms_of(agent) for agent in range(world.agents)]
    bests = {own: scenario.arms.best(own) for own in dict.fromkeys(owns)}
    best = np.array([bests[own] for own in owns])
    return Result(
        agents=tuple(str(agent) for agent in range(world.agents)),
        pulls=tables.seen.pulls,
        gaps=np.where(tables.seen.position >= 0, best[:, None] - np.array(scenario.arms.expected), 0.0),
        rewards=received(scenario.arms, tables.seen.pulls, tables.seen.rewards),
        best=best,
        communication=_communication(scenario, tables),
        lacking=int(world.lacking),
        checkpoints=tables.checkpoints,
        pulls_at=tables.pulls_at,
        moving=moving_of(tables),
        **dict(zip(COUNTED_AT, tables.counted_at.T, strict=True)),
    )


def _communication(scenario: Scenario, tables: Tables) -> Communication:
    if scenario.plugged is not None:
        return plugging.communication(scenario, tables)
    if scenario.topology is not None:
        return communication(scenario, tables)
    return Communication(
        shares=tables.pairs.shares,
        notices=tables.bonds.notices,
        retries=tables.bonds.retries,
        acknowledgements=tables.bonds.acknowledgements,
        bytes=int(tables.world.bytes),
        definition_bits=float(tables.world.bits),
        agent_rounds=int(tables.world.agent_rounds),
    )
