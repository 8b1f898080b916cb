"""Leaves behind relays: relays are killed at any moment and started again, and everything counts once all the same."""

from lab.faults.fleet import Fleet, Plan
from lab.faults.networks import behind_relays
from lab.faults.verdict import Verdict

RELAYS = ("r1", "r2")

AWAY = 6.0
"""Seconds that a relay may be away at most: long enough for its leaves to go to the other one."""


def relays_tls(plan: Plan) -> Verdict:
    """Kill -9 relays at random moments, and a leaf now and then, while rewards reach whomever they reach."""
    leaves = [f"leaf-{number}" for number in range(1, plan.pick(3, 8) + 1)]
    with Fleet(plan, behind_relays(RELAYS, leaves, plan.folder / "keys")) as fleet:
        fleet.start(*RELAYS)
        fleet.start()
        fleet.work(0.5)
        for turn in range(plan.pick(3, 30)):
            name = fleet.dice.pick(RELAYS) if turn % 4 < 3 else fleet.dice.pick(leaves)
            unsure = fleet.kill(name)
            fleet.faults += 1
            fleet.work(fleet.dice.real(0.0, AWAY) if turn % 2 == 0 else fleet.dice.real(0.0, 0.5))
            fleet.restart(name, unsure)
            fleet.work(fleet.dice.scale(0.1, 2.0))
        homes = {home for look in fleet.looks().values() for home in look.homes}
        return fleet.verdict("relays-tls", notes=f"leaves talk to {', '.join(sorted(homes))}")
