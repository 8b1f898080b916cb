"""What a windowed fleet loses against one central learner with the same window, on worlds that change.

In every slot one decision is made, by one agent of ten: three make most of them. The central learner makes them all
itself, with the same policy and window, so it knows everything at once and sends nothing. Means switch four times.
Trials are paired: both meet the same arms, and a difference has the interval of its trials. `python
benchmarks/windows.py` prints a table.
"""

import argparse

import cobandit
from cobandit import Constant, Geometric, on_demand
from cobandit.core import Sharing
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Forgetting, Rate, Scenario, Slots, Switches
from cobandit.simulator.interval import half_width
from cobandit.values.chance import stream, uniform

HORIZON, EVERY, WINDOW = 20_000, 4_000, 2_000
MEANS = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
FAST, SLOW = 3, 7
SHARE_OF_FAST = 0.9

SHARINGS: dict[str, Sharing] = {
    "threshold 1": on_demand(),
    "threshold 4": on_demand(Constant(4)),
    "doubling to 16, phases": on_demand(Geometric(2, cap=16, phases=True)),
    "doubling to 64, phases": on_demand(Geometric(2, cap=64, phases=True)),
}


def arms() -> Arms:
    """Return arms whose means switch: every time another one is the best."""
    turned = tuple(
        (EVERY * step, tuple(MEANS[(arm + 3 * step) % len(MEANS)] for arm in range(len(MEANS))))
        for step in range(1, HORIZON // EVERY)
    )
    return Arms.of(MEANS, changes=Switches(turned))


def agents() -> tuple[AgentSpec, ...]:
    """Return ten agents, of which exactly one decides in each slot."""
    slots: list[list[int]] = [[] for _ in range(FAST + SLOW)]
    key = stream(11)
    for slot in range(HORIZON):
        is_fast, which = uniform(key, 2 * slot) < SHARE_OF_FAST, uniform(key, 2 * slot + 1)
        slots[int(which * FAST) if is_fast else FAST + int(which * SLOW)].append(slot)
    return tuple(AgentSpec(Slots(tuple(own))) for own in slots)


def worlds(policy: str, forgetting: Forgetting | None) -> dict[str, Scenario]:
    """Return the central learner, and the fleets."""
    alpha = None if policy.endswith("thompson") else 1.0
    central = Scenario(HORIZON, arms(), (AgentSpec(Rate(1.0)),), BuiltIn(policy, alpha), forgetting=forgetting)
    fleets = {
        name: Scenario(HORIZON, arms(), agents(), BuiltIn(policy, alpha), sharing, forgetting=forgetting)
        for name, sharing in SHARINGS.items()
    }
    return {"central": central, **fleets}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--policy", default="thompson")
    options = parser.parse_args()
    print(f"{options.policy}, {options.trials} trials, {HORIZON:,} slots, a switch every {EVERY:,}; dynamic regret\n")
    for title, forgetting in ((f"window {WINDOW:,}", Forgetting(window=WINDOW)), ("nothing forgotten", None)):
        results = cobandit.simulate(worlds(options.policy, forgetting), trials=options.trials, seed=1)
        for name in results.about.scenarios:
            regret, shares = results.estimate(name, "dynamic_regret"), results.estimate(name, "shares").mean
            told = (
                f"{title:18} {name:24} {regret.mean:9,.0f} ± {half_width(regret) or 0.0:4,.0f} {shares:10,.0f} shares"
            )
            if name != "central":
                one = results.compare(name, "central", "dynamic_regret").ratio
                told += f"   {one.mean or 0.0:.3f} of central [{one.low or 0.0:.3f}, {one.high or 0.0:.3f}]"
            print(told, flush=True)


if __name__ == "__main__":
    main()
