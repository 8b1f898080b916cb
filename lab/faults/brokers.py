"""Brokers that restart, and brokers that are gone for long: members go on deciding, say so once, and recover."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from lab.faults.fleet import Fleet, Plan
from lab.faults.networks import broker
from lab.faults.verdict import Verdict
from lab.servers import Server, mosquitto, nats_server

Serve = Callable[[], AbstractContextManager[Server]]
NAMES = ("m1", "m2", "m3", "m4")
NOTICED_WITHIN = 60.0
"""Seconds until every member must have seen that its broker is gone, or back."""


def restart_nats(plan: Plan) -> Verdict:
    """Restart the NATS server, several times."""
    return _restart(plan, "broker-restart-nats", nats_server)


def restart_mqtt(plan: Plan) -> Verdict:
    """Restart the MQTT broker, several times."""
    return _restart(plan, "broker-restart-mqtt", mosquitto)


def gone_nats(plan: Plan) -> Verdict:
    """Do without the NATS server for a minute."""
    return _gone(plan, "broker-gone-nats", nats_server)


def gone_mqtt(plan: Plan) -> Verdict:
    """Do without the MQTT broker for a minute."""
    return _gone(plan, "broker-gone-mqtt", mosquitto)


def _restart(plan: Plan, scenario: str, serve: Serve) -> Verdict:
    with serve() as server, Fleet(plan, broker(server.url, NAMES[: plan.pick(3, 4)])) as fleet:
        fleet.start()
        fleet.work(0.5)
        for _ in range(plan.pick(2, 10)):
            server.stop()
            fleet.work(fleet.dice.real(0.0, plan.pick(1, 3)))
            server.start()
            fleet.faults += 1
            fleet.work(fleet.dice.real(0.1, plan.pick(1, 5)))
        return fleet.verdict(scenario)


def _gone(plan: Plan, scenario: str, serve: Serve) -> Verdict:
    with serve() as server, Fleet(plan, broker(server.url, NAMES[: plan.pick(3, 4)])) as fleet:
        fleet.start()
        fleet.work(1.0)
        server.stop()
        fleet.faults += 1
        if not fleet.until(lambda: all(look.troubles for look in fleet.looks().values()), NOTICED_WITHIN):
            fleet.violations.append("a member has not noticed that its broker is gone")
        before = fleet.looks()
        fleet.work(plan.pick(3, 60))
        after = fleet.looks()
        fleet.violations += [
            f"{name} has stopped to decide without its broker"
            for name in after
            if after[name].decisions <= before[name].decisions
        ]
        for name, process in fleet.running.items():
            said = [entry.text for entry in process.said if server.url in entry.text]
            if len(said) != 1:
                fleet.violations.append(f"{name} said {len(said)} times, and not once, that its broker is gone: {said}")
        server.start()
        if not fleet.until(lambda: not any(look.troubles for look in fleet.looks().values()), NOTICED_WITHIN):
            fleet.violations.append("a member has not noticed that its broker is back")
        alone = sum(after[name].decisions - before[name].decisions for name in after)
        return fleet.verdict(scenario, notes=f"{alone:,} decisions without it")
