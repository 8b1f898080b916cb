"""Packets that are lost, and networks that fall apart, between members with a network of their own each."""

from lab.faults.cable import Cable
from lab.faults.fleet import Fleet, Plan
from lab.faults.networks import mesh
from lab.faults.verdict import Verdict

LOSS = 0.1
NAMES = ("m1", "m2", "m3", "m4", "m5")


def loss_tls(plan: Plan) -> Verdict:
    """Lose 10 % of all packets under TLS."""
    return _loss(plan, "loss-tls", "tls")


def loss_udp(plan: Plan) -> Verdict:
    """Lose 10 % of all packets under UDP."""
    return _loss(plan, "loss-udp", "udp")


def partition_tls(plan: Plan) -> Verdict:
    """Cut the network in two under TLS, several times."""
    return _partition(plan, "partition-tls", "tls")


def partition_udp(plan: Plan) -> Verdict:
    """Cut the network in two under UDP, several times."""
    return _partition(plan, "partition-udp", "udp")


def _loss(plan: Plan, scenario: str, scheme: str) -> Verdict:
    names = NAMES[: plan.pick(3, 5)]
    with Cable(names, plan.seed) as cable:
        cable.lose(LOSS)
        with Fleet(plan, mesh(scheme, names, plan.folder / "keys", cable.hosts)) as fleet:
            fleet.start()
            fleet.work(plan.pick(2, 60))
            fleet.settle()  # the loss goes on: everybody must know everything all the same
            fleet.faults = cable.lost
            share = cable.lost / max(1, cable.lost + cable.carried)
            cable.mend()
            return fleet.verdict(scenario, notes=f"{share:.1%} of {cable.lost + cable.carried:,} packets lost")


def _partition(plan: Plan, scenario: str, scheme: str) -> Verdict:
    names = NAMES[: plan.pick(4, 5)]
    with (
        Cable(names, plan.seed) as cable,
        Fleet(plan, mesh(scheme, names, plan.folder / "keys", cable.hosts)) as fleet,
    ):
        fleet.start()
        fleet.work(plan.pick(1, 3))
        for _ in range(plan.pick(1, 4)):
            left = fleet.dice.some(names, fleet.dice.whole(1, len(names) - 1))
            cable.cut(left, [name for name in names if name not in left])
            fleet.faults += 1
            fleet.work(plan.pick(2, 20))
            cable.mend()
            fleet.work(plan.pick(0, 5))
        return fleet.verdict(scenario, notes=f"{cable.lost:,} packets lost")
