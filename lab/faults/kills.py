"""Processes that are killed at any moment, and started again from their state file; and processes that stand still."""

from contextlib import ExitStack

from lab.faults.fleet import Fleet, Plan
from lab.faults.networks import Place, broker, mesh
from lab.faults.verdict import Verdict
from lab.servers import nats_server


def kill_tls(plan: Plan) -> Verdict:
    """Kill -9 at random moments, in a TLS mesh."""
    names = _names(plan.pick(3, 6))
    return _kill(plan, "kill-tls", mesh("tls", names, plan.folder / "keys"))


def kill_nats(plan: Plan) -> Verdict:
    """Kill -9 at random moments, at a NATS server."""
    with nats_server() as server:
        return _kill(plan, "kill-nats", broker(server.url, _names(plan.pick(3, 6))))


def pause(plan: Plan) -> Verdict:
    """Let processes stand still (SIGSTOP) for some seconds, and go on."""
    names = _names(plan.pick(3, 5))
    with ExitStack() as stack:
        fleet = stack.enter_context(Fleet(plan, mesh("tls", names, plan.folder / "keys")))
        fleet.start()
        fleet.work(0.5)
        for _ in range(plan.pick(2, 12)):
            still = fleet.dice.some(names, fleet.dice.whole(1, 2))
            for name in still:
                fleet.running[name].pause()
                fleet.faults += 1
            awake = {name: process for name, process in fleet.running.items() if name not in still}
            sleeping = {name: fleet.running.pop(name) for name in still}
            fleet.work(fleet.dice.real(0.5, plan.pick(1, 8)))
            fleet.running = {**awake, **sleeping}
            for process in sleeping.values():
                process.resume()
            fleet.work(fleet.dice.real(0.1, plan.pick(1, 3)))
        return fleet.verdict("pause")


def _kill(plan: Plan, scenario: str, places: dict[str, Place]) -> Verdict:
    with Fleet(plan, places) as fleet:
        fleet.start()
        fleet.work(0.3)
        for _ in range(plan.pick(5, 100)):
            name = fleet.dice.pick(sorted(places))
            unsure = fleet.kill(name)
            fleet.faults += 1
            if fleet.dice.happens(0.3):  # sometimes the others notice that it is gone
                fleet.work(fleet.dice.real(0.0, 1.0))
            fleet.restart(name, unsure)
            fleet.work(fleet.dice.scale(0.01, 0.8))
        return fleet.verdict(scenario)


def _names(count: int) -> list[str]:
    return [f"m{number}" for number in range(1, count + 1)]
