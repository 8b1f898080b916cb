"""The compiled run of plug-ins: agents that are never away, a network that is at once, all arms for everybody.

The order of events is that of `cobandit.simulator.reference`. A message arrives before anything else happens, so it is
told to its receiver where it is made, and nothing is ever under way. Each plug-in has a file or a function of its own.
"""

import cobandit.simulator.kernel.passing  # noqa: F401  # Numba learns what t is
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.adapting import tell_all, tell_who_asked
from cobandit.simulator.kernel.engine import pull
from cobandit.simulator.kernel.fleet import remember
from cobandit.simulator.kernel.gossiping import gossip
from cobandit.simulator.kernel.jit import entrance, inlined
from cobandit.simulator.kernel.mail import tell
from cobandit.simulator.kernel.planning import halve, plan_halving, pop
from cobandit.simulator.kernel.synchronising import is_time, is_worth_it, synchronise
from cobandit.simulator.kernel.tables import AGENT_BITS, Tables

_LEAVE = int(Kind.LEAVE)
_FAR = 2**62
_AGENT_MASK = (1 << AGENT_BITS) - 1


@entrance
def run(t: Tables) -> None:
    """Walk from event to event until the horizon (`ReferenceRun.run`)."""
    for agent in range(t.world.agents):
        if t.agents[agent].clock == codes.HALVING:
            plan_halving(t, agent, t.agents[agent].start - 1)
    next_planned = next_move = next_checkpoint = 0
    while not t.world.overflow:
        decision = t.planned[next_planned] if next_planned < t.planned.shape[0] else _FAR
        if t.world.heap_size > 0:
            decision = min(decision, t.heap[0])
        slot = min(decision >> AGENT_BITS, t.moves[next_move, 0] if next_move < t.moves.shape[0] else _FAR)
        while next_checkpoint < t.checkpoints.shape[0] and t.checkpoints[next_checkpoint] <= min(slot, t.world.horizon):
            remember(t, t.pulls_at[next_checkpoint], next_checkpoint)
            next_checkpoint += 1
        if slot >= t.world.horizon:
            break
        if next_move < t.moves.shape[0] and t.moves[next_move, 0] == slot:
            hub, kind = t.moves[next_move, 1], t.moves[next_move, 2]
            tell(t, slot, kind, hub, 0, 0, 0, 0)
            t.agents[hub].away = kind == _LEAVE
            next_move += 1
            continue
        agent = decision & _AGENT_MASK
        is_halving = t.agents[agent].clock == codes.HALVING
        if is_halving:
            pop(t)
        else:
            next_planned += 1
        arm, reward = pull(t, slot, agent)
        sent = observed(t, slot, agent, arm, reward)
        if is_halving:
            if sent:
                halve(t.agents[agent])
            plan_halving(t, agent, slot)


@inlined
def observed(t: Tables, slot: int, agent: int, arm: int, reward: int) -> bool:
    """Let the plug-in take an own pull (`Protocol.observed`). Return whether the agent sent a share because of it."""
    if t.world.plugged == codes.GOSSIP:
        return gossip(t, slot, agent, arm, reward)
    if t.world.plugged == codes.AAC:
        return tell_who_asked(t, slot, agent, arm)
    if t.world.plugged == codes.TCOM:
        return tell_all(t, slot, agent, arm)
    if not (is_time(t, agent) if t.world.plugged == codes.PERIODIC_HUB else is_worth_it(t, agent)):
        return False
    return synchronise(t, slot, agent)
