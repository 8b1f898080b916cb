"""From a scenario and its tape to tables, in plain Python. `refusing.py` says what cannot be written as tables."""

from functools import lru_cache
from itertools import product

import numpy as np

from cobandit.core import Geometric, PerCandidate, Sharing, Threshold, silent
from cobandit.core.protocols.rules import Input, Rules, Step
from cobandit.core.retransmit import UNKNOWN
from cobandit.core.thresholds import TABULATED_SHARES, answers_wait, phase_key
from cobandit.policies import AAE, UCB, Confidence, Horizon
from cobandit.policies.confidence import log_inverse_delta
from cobandit.policies.registry import BuiltIn
from cobandit.scenario.scenario import IndexFunction, Scenario, relay_name
from cobandit.scenario.schedules import Halving, OnOff, Rate, Schedule, Sine, Slots, log_of_miss
from cobandit.scenario.tape import Stream, Tape
from cobandit.scenario.topology import Graph, Relays
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.bits import WORD
from cobandit.simulator.kernel.custom import address_of
from cobandit.simulator.kernel.lossy import EMPTY
from cobandit.simulator.kernel.tables import AGENT, AGENT_BITS, LINK, OWN_ARM, SEEN, STEP, WORLD, Record, Table, records
from cobandit.values.chance import stream
from cobandit.values.errors import LocalError

_POLICIES = {
    "ucb": codes.UCB,
    "kl-ucb": codes.KL_UCB,
    "aae": codes.AAE,
    "ucb-v": codes.UCB_V,
    "thompson": codes.THOMPSON,
    "normal-thompson": codes.NORMAL_THOMPSON,
}


def exchange_of(scenario: Scenario) -> Sharing:
    """Return how agents talk by a table. Those of a plug-in do not."""
    return silent() if scenario.plugged else scenario.exchange


def fill_world(scenario: Scenario, *, counts_sizes: bool, traced: bool) -> Table:
    """Return the table of single facts."""
    table = records(1, WORLD)
    world = table[0]
    world.horizon = scenario.horizon
    world.agents = len(scenario.agents)
    if scenario.node_count >= 1 << AGENT_BITS:
        raise LocalError(f"the compiled engine takes at most {(1 << AGENT_BITS) - 1} agents and relays")
    world.is_graph = isinstance(scenario.topology, Graph)
    if isinstance(scenario.topology, Relays):
        world.first_hub, world.homes = world.agents, scenario.topology.homes
    world.arms = len(scenario.arms.names)
    world.arm_bits = (len(scenario.arms.names) - 1).bit_length()
    world.delay = scenario.delay
    world.luck_by_arm = scenario.luck == "arm"
    world.counts_sizes = counts_sizes
    _fill_choice(world, scenario)
    _fill_talk(world, scenario)
    own_arms = list(dict.fromkeys(scenario.arms_of(agent) for agent in range(world.agents)))
    world.same_order = all(own == scenario.arms.names for own in own_arms)
    world.same_arms = all(set(own) == set(own_arms[0]) for own in own_arms)
    world.agent_names_size = sum(text_size(str(agent)) for agent in range(world.agents))
    sharing = exchange_of(scenario)
    thresholds = fill_thresholds(sharing.threshold)
    constant = len(thresholds) == 1 and not world.per_candidate
    nobody_waits = scenario.delay == 0 and not any(agent.absences for agent in scenario.agents)
    simple = constant and nobody_waits and world.same_order
    faults, retry = scenario.faults, sharing.retry
    world.has_faults = not faults.are_none
    world.tolerant = retry is not None
    world.lossy = world.has_faults or world.tolerant
    world.loss, world.duplication, world.jitter = faults.loss, faults.duplication, faults.jitter
    world.reordering, world.held_back = faults.reordering, faults.held_back
    if retry is not None:
        world.first, world.least, world.growth = retry.first, retry.least, retry.growth
        world.tick, world.longest = retry.tick, retry.longest
    world.next_wake = np.inf
    world.letters_end = EMPTY
    simple = simple and not world.lossy and scenario.topology is None and scenario.forgetting is None
    world.one_table = simple and thresholds[0] == 1 and _shares_everything(sharing.rules)
    has_slices = world.same_order and not world.one_table and scenario.topology is None and scenario.plugged is None
    world.has_milestones = has_slices and scenario.arms.are_binary and scenario.forgetting is None
    is_direct = world.tolerant and not world.has_faults and nobody_waits and world.same_order
    world.direct = is_direct and not world.settles and not traced
    one_size = world.answers_wait or thresholds[0] == 1  # an answer needs as much as any other share
    world.plain = simple and one_size and _shares_if_asked(sharing.rules) and not traced
    return table


def _fill_choice(world: Record, scenario: Scenario) -> None:
    policy = scenario.policy
    confidence: Confidence
    if isinstance(policy, BuiltIn):
        world.policy, world.alpha, confidence = _POLICIES[policy.name], policy.exploration, policy.confidence
    else:
        assert isinstance(policy, IndexFunction)
        world.policy, world.alpha, confidence = codes.CUSTOM_INDEX, policy.alpha, policy.confidence
        world.own_index = address_of(policy.index)
    world.settles = world.policy == codes.AAE and not world.is_graph  # where others further on may want what passes
    if isinstance(confidence, Horizon):
        power = AAE.horizon_power if world.policy == codes.AAE else UCB.horizon_power
        world.confidence, world.horizon_log = codes.HORIZON, log_inverse_delta(confidence, 0, 0, power)
    else:
        world.confidence = codes.CONFIDENCES[confidence]


def _fill_talk(world: Record, scenario: Scenario) -> None:
    sharing = exchange_of(scenario)
    world.if_asked, world.if_not_asked = (
        np.uint64(2**WORD - 1 if _matters(sharing.rules, demanded=demanded) else 0) for demanded in (True, False)
    )
    for demanded, reached in product((False, True), repeat=2):
        step, case = sharing.rules[Input.SHARE, demanded, reached], 2 * demanded + reached
        world.heard_shares |= np.uint64(step.shares << case)
        world.heard_demands |= np.uint64(step.demanded << case)
    threshold = sharing.threshold
    world.answers_advance, world.answers_wait = threshold.answers_advance, answers_wait(threshold)
    world.per_candidate = isinstance(threshold, PerCandidate)
    world.phased = isinstance(threshold, Geometric) and threshold.phases
    world.cap = threshold.cap if isinstance(threshold, PerCandidate | Geometric) else 0
    world.literal_notices = sharing.literal_notices


def _matters(rules: Rules, *, demanded: bool) -> bool:
    """Return whether an own observation shares or changes anything, with a demand or without."""
    return any(rules[Input.OBSERVATION, demanded, reached] != Step(demanded, shares=False) for reached in (True, False))


def _shares_everything(rules: Rules) -> bool:
    """Return whether everybody always knows the same, where one observation is enough for a share."""
    shares = rules[Input.OBSERVATION, True, True] == Step(demanded=True, shares=True)
    return shares and rules[Input.SHARE, True, False] == Step(demanded=True, shares=False)


def _shares_if_asked(rules: Rules) -> bool:
    """Return whether an own observation is shared if it was asked for and is enough, and changes nothing otherwise."""
    waits = rules[Input.OBSERVATION, True, False] == Step(demanded=True, shares=False)
    return waits and rules[Input.OBSERVATION, True, True].shares and not _matters(rules, demanded=False)


def fill_rules(rules: Rules) -> Table:
    """Return a protocol's table."""
    table = records((len(Input), 2, 2), STEP)
    for (happened, demanded, reached), step in rules.items():
        table[int(happened), int(demanded), int(reached)] = step
    return table


@lru_cache(maxsize=64)
def fill_thresholds(threshold: Threshold) -> Table:
    """Return f(1), f(2), ... up to where it stops growing."""
    values = np.array([threshold.at(number, 1) for number in range(1, TABULATED_SHARES + 1)], np.int64)
    return values[: 1 + int(np.argmax(values == values[-1]))]


def fill_agents(scenario: Scenario, tape: Tape, slots: list[int]) -> Table:
    """Return the table of agents, and after them of relays.

    The explicit slots of those that have them are appended to `slots`.
    """
    count, specs = len(scenario.agents), scenario.agents
    table = records(scenario.node_count, AGENT)
    own_arms = [scenario.arms_of(position) for position in range(count)]
    own_arms += [scenario.arms.names] * scenario.relay_count
    sets: dict[tuple[str, ...], int] = {}
    members: dict[frozenset[str], int] = {}
    for own in dict.fromkeys(own_arms[:count]):  # agents with the same tuple share one look at it
        sets[own] = members.setdefault(frozenset(own), len(members))
    names = [*map(str, range(count)), *map(relay_name, range(scenario.relay_count))]
    table.row = np.arange(len(table))
    table.arm_count = table.candidates = [len(own) for own in own_arms]
    table.arm_set[:count] = [sets[own] for own in own_arms[:count]]
    table.name_size = [text_size(name) for name in names]
    threshold = exchange_of(scenario).threshold
    if isinstance(threshold, Geometric) and threshold.phases:
        table.phase_key = [phase_key(name) for name in names]
    horizon = scenario.horizon
    table.start[:count] = [spec.start for spec in specs]
    table.stop[:count] = [horizon if spec.stop is None else min(spec.stop, horizon) for spec in specs]
    table.online_until = table.spoke_at = -1
    table.last_observed = table.next_retry = -np.inf
    table.wake_at = np.inf
    table.notices = 0 if scenario.topology is None else 2  # then everybody has said before the run that it is here
    positions = np.arange(len(table), dtype=np.uint64)
    for column, purpose in (
        ("decision_key", Stream.DECISIONS),
        ("toggle_key", Stream.TOGGLES),
        ("reward_key", Stream.REWARDS),
        ("policy_key", Stream.POLICY),
        ("network_key", Stream.NETWORK),
        ("protocol_key", Stream.PROTOCOL),
    ):
        kind = np.array([purpose], np.uint64)
        table[column] = stream(tape.trial_key, positions, kind)  # of all agents at once
    table.clock[count:] = codes.SLOTS  # relays decide nothing
    alike: dict[int, list[int]] = {}
    for position, spec in enumerate(specs):  # agents with the same schedule are filled at once
        alike.setdefault(id(spec.schedule), []).append(position)
    for group in alike.values():
        _fill_clocks(table, np.array(group), specs[group[0]].schedule, slots, scenario, tape)
    return table


def _fill_clocks(
    table: Table, group: Table, schedule: Schedule, slots: list[int], scenario: Scenario, tape: Tape
) -> None:
    columns: dict[str, float]
    match schedule:
        case Rate(rate):
            columns = {"clock": codes.RATE, "rate": rate, "log_miss": log_of_miss(rate)}
        case Halving(rate):
            columns = {"clock": codes.HALVING, "rate": rate, "log_miss": log_of_miss(rate)}
        case OnOff(rate, toggle):
            columns = {"clock": codes.ON_OFF, "log_miss": log_of_miss(rate), "log_stay": log_of_miss(toggle)}
        case Sine(phase, slots_per_radian):
            columns = {"clock": codes.SINE, "phase": phase, "slots_per_radian": slots_per_radian}
        case Slots(explicit):
            columns = {"clock": codes.SLOTS, "slots": len(slots), "slots_end": len(slots) + len(explicit)}
            slots.extend(explicit)
        case _:
            columns = {"clock": codes.SLOTS}
            for position in group.tolist():
                table.slots[position] = len(slots)
                slots.extend(_walk(scenario, tape, position))
                table.slots_end[position] = len(slots)
    for name, value in columns.items():
        table[name][group] = value


def _walk(scenario: Scenario, tape: Tape, position: int) -> list[int]:
    """Walk a schedule of the user's in plain Python. It cannot depend on what its agent does."""
    spec = scenario.agents[position]
    clock = spec.schedule.clock(tape.clock_keys(position, scenario.horizon))
    slots: list[int] = []
    slot = clock.next_slot(spec.start - 1)
    while slot < scenario.horizon:
        slots.append(slot)
        slot = clock.next_slot(slot)
    return slots


def fill_arms(scenario: Scenario) -> tuple[Table, Table, Table]:
    """Return the arms by agent and own position, by agent and arm of the world, and which arms are in which arm set."""
    names = scenario.arms.names
    where = {name: position for position, name in enumerate(names)}
    owns = [scenario.arms_of(agent) for agent in range(len(scenario.agents))]
    own_arms = records((len(owns), max(map(len, owns))), OWN_ARM)
    seen = records((len(owns), len(names)), SEEN)
    seen.position = -1
    seen.name_size = [text_size(name) for name in names]
    arm, success, candidate, position = own_arms.arm, own_arms.success, own_arms.candidate, seen.position
    shares = np.array([scenario.arms.rewards.share_of(mean) for mean in scenario.arms.means])
    for own in dict.fromkeys(owns):  # agents with the same arms are filled at once
        agents = [agent for agent, arms in enumerate(owns) if arms == own] if len(set(owns)) > 1 else slice(None)
        places = np.array([where[name] for name in own])
        arm[agents, : len(own)] = places
        success[agents, : len(own)] = shares[places]
        candidate[agents, : len(own)] = True
        position[np.ix_(np.arange(len(owns))[agents], places)] = np.arange(len(own))
    sets = list(dict.fromkeys(frozenset(own) for own in owns))
    return own_arms, seen, np.array([[name in members for name in names] for members in sets], np.bool_)


def fill_links(count: int, first_wait: float) -> Table:
    """Return the table of links before anything was said."""
    links = records((count, count), LINK)
    links.wait = first_wait
    links.filled = 1.0
    links.mean_wait = UNKNOWN
    links.present = True
    return links


def fill_cuts(scenario: Scenario) -> tuple[Table, Table, Table]:
    """Return who cannot reach whom in each partition, and when each begins and ends."""
    partitions, count = scenario.faults.partitions, len(scenario.agents)
    cuts = np.zeros((len(partitions), count, count), np.bool_)
    for place, partition in enumerate(partitions):
        cuts[np.ix_([place], partition.senders, partition.receivers)] = True
        if not partition.one_way:
            cuts[np.ix_([place], partition.receivers, partition.senders)] = True
    start, stop = ([getattr(partition, end) for partition in partitions] for end in ("start", "stop"))
    return cuts, np.array(start, np.int64), np.array(stop, np.int64)


def fill_moves(scenario: Scenario) -> Table:
    """Return when who leaves and joins."""
    moves = [
        (slot, agent, int(kind))
        for agent, spec in enumerate(scenario.agents)
        for absence in spec.absences
        for slot, kind in ((absence.leave, Kind.LEAVE), (absence.rejoin, Kind.JOIN))
        if slot is not None
    ]
    for away in scenario.topology.absences if isinstance(scenario.topology, Relays) else ():
        relay = len(scenario.agents) + away.relay
        moves.append((away.leave, relay, int(Kind.LEAVE)))
        if away.rejoin is not None:
            moves.append((away.rejoin, relay, int(Kind.JOIN)))
    return np.array(sorted(moves), np.int64).reshape(-1, 3)


def text_size(text: str) -> int:
    """Return how many bytes a string takes in MessagePack."""
    size = len(text.encode())
    return size + (1 if size < 32 else 2 if size < 256 else 3)
