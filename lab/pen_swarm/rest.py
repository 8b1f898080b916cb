"""What must be so when a world has healed and time has passed: everything counts once, all know it, and it is quiet."""

from collections.abc import Mapping, Sequence

from cobandit.core.facts import SettledKey
from cobandit.core.pen_names import lender_of
from lab.pen_swarm.plan import ARMS, Plan
from lab.pen_swarm.pod import Pod
from lab.pen_swarm.station import Station
from lab.pen_swarm.truth import Made, Truth, cells_of


def at_rest(
    plan: Plan,
    relays: Sequence[Station],
    pods: Sequence[Pod],
    truth: Truth,
    lost: Mapping[str, float],
    unquiet: Sequence[str],
) -> list[str]:
    """Return what is wrong at the end.

    Args:
        plan: The world.
        relays: Those that run: all.
        pods: Those that run.
        truth: What happened.
        lost: When each relay last lost its disk, if it did.
        unquiet: What was said when it should be quiet.
    """
    wrong = [f"it should be quiet, but {said}" for said in unquiet if "Acknowledgement" not in said][:3]
    views = {relay.name: cells_of(relay) for relay in relays}
    counted = truth.counted(relays[0])
    first = views[relays[0].name]
    wrong += [f"{name} knows {view}, {relays[0].name} knows {first}" for name, view in views.items() if view != first]
    numbers = [settled_of(relay) for relay in relays]
    wrong += ["the relays do not know the same decisions to be settled"] * any(one != numbers[0] for one in numbers)
    for decision, made in truth.decisions.items():
        lender = lender_of(made.pen)
        assert lender is not None
        what = f"decision {made.number} of {made.pen}"
        acknowledged = truth.acknowledged.get(decision)
        if acknowledged is not None and made not in counted and acknowledged > lost.get(lender, -1.0):
            wrong.append(f"{what} was acknowledged by {lender}, and is not counted")
        if made not in counted and _must_count(plan, made, is_lost=lender in lost):
            wrong.append(f"{what} is not counted, though its reward was brought")
    for pod in pods:
        wrong += _lacking(pod, relays[0])
    return wrong


def _must_count(plan: Plan, made: Made, *, is_lost: bool) -> bool:
    if made.is_withdrawn or not made.is_brought or plan.expire_after < plan.ends_at:
        return False
    return not is_lost or (len(plan.relays) > 1 and plan.keeps_secret)


def settled_of(relay: Station) -> dict[object, object]:
    """Return which decisions a relay knows to be settled."""
    facts = relay.machine.agent.endpoint.replica.facts()
    return {fact.key: fact.value for fact in facts if isinstance(fact.key, SettledKey)}


def _lacking(pod: Pod, relay: Station) -> list[str]:
    """Return what a pod lacks: a pen, or some of what all have observed."""
    station = pod.station
    if station is None:
        return [f"{pod.name} has no pen"]
    holding = station.machine.holding
    assert holding is not None
    wrong = [f"{station.name} holds a pen that is over"] * holding.is_over
    wrong += [f"{station.name} waits for its lender"] * bool(holding.unacknowledged)
    wrong += [f"{station.name} still has rewards for others"] * bool(station.machine.outbox.waiting)
    mine, all_of = station.machine.agent.policy.tally, relay.machine.agent.policy.tally
    wrong += [
        f"{station.name} has {mine.sums[arm]} in {mine.counts[arm]} of {arm}: there are {all_of.counts[arm]}"
        for arm in ARMS
        if (mine.counts[arm], mine.sums[arm]) != (all_of.counts[arm], all_of.sums[arm])
    ]
    return wrong
