"""Turns a caller's description of a bandit into a declaration: durations, ranges of rewards, windows, policies.

This file owns which texts and numbers are accepted, and the errors for all others. It starts nothing.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from cobandit.core.places import Bandit, check_bandits
from cobandit.learning import Build, Learner
from cobandit.live.decide.allocation import Allocation
from cobandit.live.decide.desk import DeskTerms, units_of
from cobandit.live.decide.holdout import check_holdout
from cobandit.live.drive.option_kinds import check_kinds
from cobandit.live.machine.bandits import MAX_SEGMENTS, Declared
from cobandit.live.status.guardrail import checked_guardrail
from cobandit.policies import Policy
from cobandit.policies.registry import POLICIES, BuiltIn, policy_name
from cobandit.values.checks import check_text, check_whole, is_number
from cobandit.values.errors import LocalError
from cobandit.values.quantum import MILLIONTH, Quantum
from cobandit.values.tally import Arm, checked_arms

PERIODS_IN_A_WINDOW = 10
"""How many periods a window is cut into. So a tenth of it is forgotten at once, and clocks may differ by a tenth of
that. More periods would mean more cells to keep and send; with fewer, a window would end in large steps."""

PERIODS_IN_A_HALF_LIFE, HALF_LIVES = 4, 6
"""How many periods a half-life is cut into, and how many half-lives are kept. Older observations, which count less than
a sixtieth, are dropped."""

CLOCKS_APART = 0.1
"""Seconds by which clocks may always differ: a period is at least ten times as long."""

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


class Said(NamedTuple):
    """A caller's description of a bandit. See `Member.bandit`."""

    name: str
    arms: Sequence[Arm]
    policy: str | BuiltIn | Build
    rewards: tuple[float, float] = (0.0, 1.0)
    quantum: float | None = None
    window: str | float | None = None
    half_life: str | float | None = None
    floors: Mapping[Arm, float] | None = None
    ceilings: Mapping[Arm, float] | None = None
    default_reward: float | None = None
    max_segments: int = MAX_SEGMENTS
    holdout: float = 0.0
    guardrail: tuple[str, float] | None = None


def seconds(what: str, said: str | float) -> float:
    """Return a duration in seconds.

    >>> seconds("window", "7d"), seconds("window", "90 s"), seconds("window", 12)
    (604800.0, 90.0, 12.0)

    Raises:
        LocalError: It is not a duration.
    """
    if is_number(said) and not isinstance(said, str) and 0.0 < said < 1e12:
        return float(said)
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*", said) if isinstance(said, str) else None
    if found is None or found[2] not in _UNITS or not float(found[1]):
        raise LocalError(f"{what} must be a number of seconds, or such as '30min', '12h' or '7d', not {said!r}")
    return float(found[1]) * _UNITS[found[2]]


def declared(said: Said, group: str, member: str) -> Declared:
    """Return the declaration of a bandit.

    Raises:
        LocalError: Some part of the description is invalid.
    """
    check_text("the name of a bandit", said.name)
    check_kinds(said._asdict())
    rewards = _range(said.rewards)
    quantum = _quantum(said.quantum, rewards)
    arms = checked_arms(said.arms)
    period, periods, half_life = _window(said.window, said.half_life)
    bandit = Bandit(said.name, arms, quantum.per_reward, period, periods, half_life, rewards)
    check_bandits([bandit])
    build, seed = _builder(said.policy, quantum, group, member, said.name)
    policy = build(arms)
    check_stateless(policy)
    Learner(policy, bandit)  # refuses a policy that cannot have a window
    if policy.quantum != quantum:
        raise LocalError(
            f"the policy of bandit {said.name!r} counts in {policy.quantum}, and the bandit in {quantum}: let the "
            f"function make policies with quantum={quantum.step!r}, for rewards from 0 to 1"
        )
    allocation = None
    if said.floors or said.ceilings:
        allocation = Allocation(said.floors, said.ceilings)
        allocation.check(arms)
    check_whole("max_segments", said.max_segments, 1, 2**20)
    check_holdout(said.holdout)
    units = units_of(quantum.units, rewards)
    default = None if said.default_reward is None else units(said.default_reward)
    terms = DeskTerms(
        build,
        units,
        default_units=default,
        allocation=allocation,
        seed=seed,
        holdout=float(said.holdout),
    )
    return Declared(bandit, terms, said.max_segments, checked_guardrail(said.guardrail))


def check_stateless(policy: Policy) -> None:
    """Refuse a policy that has its own state. Members rebuild their policies from tallies.

    Raises:
        LocalError: The policy has state.
    """
    if not isinstance(policy, Policy):
        raise LocalError(f"the function for policies must return a Policy, not {policy!r}")
    if policy.stateful:
        raise LocalError(
            f"{type(policy).__name__} keeps state of its own (stateful), and members decide with policies that are "
            "made from tallies, on every thread and after every restart: run it in the simulator, or read the tally"
        )


def _range(rewards: tuple[float, float]) -> tuple[float, float]:
    is_pair = isinstance(rewards, tuple | list) and len(rewards) == 2 and all(map(is_number, rewards))
    if not (is_pair and -1e15 < rewards[0] < rewards[1] < 1e15):
        raise LocalError(f"rewards must be the smallest and the largest one, such as (0, 200), not {rewards!r}")
    return float(rewards[0]), float(rewards[1])


def _quantum(step: float | None, rewards: tuple[float, float]) -> Quantum:
    """Return the quantum of rewards after they are mapped to 0 to 1."""
    if step is None:
        return Quantum(MILLIONTH)
    low, high = rewards
    if not (is_number(step) and 0.0 < step <= high - low):
        raise LocalError(f"quantum {step!r} is not a step of rewards from {low:g} to {high:g}")
    count = round((high - low) / step)
    if abs(count * step - (high - low)) > 1e-9 * (high - low):
        raise LocalError(f"quantum {step!r} does not divide the range from {low:g} to {high:g} into whole steps")
    return Quantum(1.0 / count)


def _window(window: str | float | None, half_life: str | float | None) -> tuple[float, int, float]:
    """Return the length of a period, how many periods count, and the half-life."""
    if window is not None and half_life is not None:
        raise LocalError("a bandit has a window or a half_life, not both: a half-life forgets by itself")
    if window is None and half_life is None:
        return 0.0, 1, 0.0
    if half_life is None:
        assert window is not None
        what, whole, parts, count = "window", seconds("window", window), PERIODS_IN_A_WINDOW, PERIODS_IN_A_WINDOW
    else:
        what, whole, parts = "half_life", seconds("half_life", half_life), PERIODS_IN_A_HALF_LIFE
        count = PERIODS_IN_A_HALF_LIFE * HALF_LIVES
    least = parts * 10.0 * CLOCKS_APART
    if whole < least:
        raise LocalError(
            f"{what} must be at least {least:g} seconds, not {whole:g}: it is cut into {parts} periods, and the clocks "
            f"of members may be {CLOCKS_APART:g} seconds apart, a tenth of a period"
        )
    return whole / parts, count, 0.0 if half_life is None else whole


def _builder(policy: str | BuiltIn | Build, quantum: Quantum, group: str, member: str, name: str) -> tuple[Build, int]:
    seed = int.from_bytes(blake2b(f"{group}\0{member}\0{name}".encode(), digest_size=8).digest()) >> 1
    if isinstance(policy, str):
        if policy_name(policy) not in POLICIES:
            raise LocalError(f"policy {policy!r} is not one of {', '.join(POLICIES)}, nor a function of arms")
        policy = BuiltIn(policy)
    if not isinstance(policy, BuiltIn):
        return policy, seed
    built_in = policy

    def build(arms: Sequence[Arm]) -> Policy:
        return built_in(arms, seed, quantum.step)

    return build, seed
