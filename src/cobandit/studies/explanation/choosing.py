"""Which two agents to listen to: as told, or the fastest and the slowest that have an arm in common.

How often agents decide is read from their schedules alone; nothing is run.
"""

from collections.abc import Sequence

from cobandit.scenario.scenario import AgentSpec, Scenario
from cobandit.scenario.tape import Tape
from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError

MOST_SLOTS = 20_000
"""So far ahead are schedules read."""

MOST_DECISIONS = 1_000_000
"""And so many decisions of all agents together, about."""


def chosen_pair(scenario: Scenario, tape: Tape, agents: Sequence[int] | None = None) -> tuple[int, int]:
    """Return the positions of two agents, the first of which is shown above the other.

    Args:
        scenario: The world.
        tape: The chance that decision times depend on.
        agents: Positions of the two; the one that decides most and the one that decides least by default.

    Raises:
        LocalError: The scenario has one agent, or the two have no arm in common or are not two.
    """
    count = len(scenario.agents)
    if count < 2:
        raise LocalError("the scenario has one agent, which talks to nobody: give it a second one under [[agents]]")
    if agents is None:
        return _fast_and_slow(scenario, tape)
    for position in agents:
        check_whole("an agent", position, 0, count - 1)
    if len(agents) != 2 or agents[0] == agents[1]:
        raise LocalError(f"name two different agents, not {' and '.join(map(str, agents))}")
    if not _have_common_arm(scenario, agents[0], agents[1]):
        raise LocalError(
            f"agents {agents[0]} and {agents[1]} have no arm in common and never talk: name two others, or none"
        )
    return agents[0], agents[1]


def _fast_and_slow(scenario: Scenario, tape: Tape) -> tuple[int, int]:
    slots = min(scenario.horizon, MOST_SLOTS, max(1, MOST_DECISIONS // len(scenario.agents)))
    decisions = [
        _decisions(spec, tape, position, scenario.horizon, slots) for position, spec in enumerate(scenario.agents)
    ]
    by_speed = sorted(range(len(decisions)), key=lambda position: -decisions[position])
    slowest_first = sorted(by_speed, key=lambda position: (decisions[position] == 0, decisions[position]))
    for fast in by_speed:
        for slow in slowest_first:
            if fast != slow and _have_common_arm(scenario, fast, slow):
                return fast, slow
    raise LocalError("no two agents of the scenario have an arm in common, so nobody talks: let some share an arm")


def _decisions(spec: AgentSpec, tape: Tape, position: int, horizon: int, slots: int) -> int:
    """Return how often an agent decides in the first slots, if it shares with every decision."""
    clock = spec.schedule.clock(tape.clock_keys(position, horizon))
    end = slots if spec.stop is None else min(slots, spec.stop)
    count, slot = 0, clock.next_slot(spec.start - 1)
    while slot < end:
        away = any(one.leave <= slot and (one.rejoin is None or slot < one.rejoin) for one in spec.absences)
        if not away:
            count += 1
            clock.decided(sent=True)
        slot = clock.next_slot(slot)
    return count


def _have_common_arm(scenario: Scenario, one: int, other: int) -> bool:
    return not set(scenario.arms_of(one)).isdisjoint(scenario.arms_of(other))
