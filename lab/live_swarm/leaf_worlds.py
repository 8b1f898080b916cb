"""Worlds with relays and leaves: the same members, networks, disks and faults, but most of them talk to relays only.

A plan of the mesh becomes one of these: its first members are relays, the others are leaves with names and disks. What
befalls relays is limited where a loss would be right: a relay that is gone for good, or that forgets, takes with it
what only it held. One world in three has such relays; then nobody is asked what became of rewards for others.
"""

from dataclasses import replace

from lab.live_swarm.allowed import AS_IT_IS, Allowed
from lab.live_swarm.plan import Incident, Kind, MemberPlan, Plan, plan
from lab.swarm.dice import Dice

_DICE_OF_LEAVES = 17

_ARMS = {Kind.ADD_ARM, Kind.REMOVE_ARM}
"""Relays must serve all arms: an operator gives a new one to them first. These worlds have no such operator."""

_FORGETTING = {Kind.ROLL_BACK, Kind.LOSE_DISK, Kind.POWER}
_FOR_GOOD = {Kind.GO, Kind.DIE}
_OF_RELAYS = (Kind.KILL, Kind.KILL_AFTER_WRITE, Kind.KILL_WHILE_SENDING, Kind.STOP)


def leaf_plan(seed: int, allowed: Allowed = AS_IT_IS) -> Plan:
    """Return the world of a seed, with relays and leaves.

    >>> made = leaf_plan(3)
    >>> sorted(made.relays | made.leaves) == sorted(member.name for member in made.members)
    True
    """
    mesh, dice = plan(seed, allowed), Dice(seed, _DICE_OF_LEAVES)
    relay_count = min(dice.pick((1, 2, 2, 3)), len(mesh.members) - 1)
    forgets = dice.happens(0.33)
    arms = tuple(sorted({arm for member in mesh.members for arm in member.arms}))
    members = tuple(
        _member(member, arms, is_relay=place < relay_count, forgets=forgets)
        for place, member in enumerate(mesh.members)
    )
    incidents = [one for one in mesh.incidents if _can_be(one, relay_count, forgets=forgets)]
    incidents += [_of_relay(dice, relay_count, mesh.heals_at) for _ in range(dice.pick((0, 1, 1, 3)))]
    return replace(
        mesh,
        members=members,
        incidents=tuple(sorted(incidents, key=lambda incident: incident.time)),
        policy="ucb" if mesh.policy == "aae" else mesh.policy,  # which leaves do not rule out arms for each other
        relays=frozenset(member.name for member in members[:relay_count]),
        leaves=frozenset(member.name for member in members[relay_count:]),
        rewards_come_late=mesh.rewards_come_late and not forgets,
        default_reward=None if forgets else mesh.default_reward,
        keeps_controls=mesh.keeps_controls and not forgets,
    )


def relays_of(plan: Plan, name: str) -> tuple[str, ...]:
    """Return which relays a member is given: a leaf all of them, or whoever says hello if there is a server."""
    if name not in plan.leaves:
        return ()
    return ("*",) if plan.has_broker else tuple(sorted(plan.relays))


def _member(member: MemberPlan, arms: tuple[str, ...], *, is_relay: bool, forgets: bool) -> MemberPlan:
    changed = member._replace(arms=arms)
    return changed._replace(joins_at=0.0, forgets=member.forgets and forgets) if is_relay else changed


def _can_be(incident: Incident, relay_count: int, *, forgets: bool) -> bool:
    if incident.kind in _ARMS:
        return False
    if incident.member >= relay_count:
        return True
    return incident.kind not in (_FOR_GOOD | {Kind.TWIN} | (set() if forgets else _FORGETTING))


def _of_relay(dice: Dice, relay_count: int, heals_at: float) -> Incident:
    """Return one more misfortune of a relay: they are what these worlds are about."""
    time, lasting = dice.real(0.05, 0.95) * heals_at, dice.scale(0.5, heals_at)
    return Incident(time, dice.pick(_OF_RELAYS), dice.whole(0, relay_count - 1), lasting, dice.unit())
