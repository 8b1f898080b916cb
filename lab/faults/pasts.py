"""Members whose past is not what it was: a clock set back, a disk rolled back or lost, a state file copied.

What only a lost disk knew is lost. What others have heard of comes back, and counts once.
"""

from collections.abc import Callable

from lab.faults.accounts import known_of
from lab.faults.disk import copy_state, remove_state
from lab.faults.fleet import Fleet, Plan
from lab.faults.networks import Place, broker, mesh
from lab.faults.orders import Look, Order
from lab.faults.process import Process
from lab.faults.verdict import Verdict
from lab.servers import HOST, free_port, nats_server

NAMES = ("m1", "m2", "m3")
VICTIM = "m1"
DAY = 86_400.0
NOTICED_WITHIN = 60.0


def clock_back(plan: Plan) -> Verdict:
    """Start a member again and again, with its clock set back by days: its state is from the future."""
    with Fleet(plan, mesh("tls", NAMES, plan.folder / "keys")) as fleet:
        fleet.start()
        for turn in range(plan.pick(3, 12)):
            fleet.work(fleet.dice.real(0.3, plan.pick(1, 3)))
            unsure = fleet.kill(VICTIM)
            fleet.faults += 1
            fleet.restart(VICTIM, unsure, clock_behind_s=(turn + 1) * DAY)
        return fleet.verdict("clock-back")


def rolled_back(plan: Plan) -> Verdict:
    """Put an older copy of its state under a member, and repeat the rewards that the copy has forgotten."""

    def roll_back(fleet: Fleet) -> None:
        copy_state(fleet.plan.folder / "older", fleet.states[VICTIM])

    return _forgets(plan, "disk-rolled-back", roll_back)


def lost(plan: Plan) -> Verdict:
    """Lose a member's state altogether."""
    return _forgets(plan, "disk-lost", lambda fleet: remove_state(fleet.states[VICTIM]))


def clock_and_disk_back(plan: Plan) -> Verdict:
    """Lose a member's state, and set its clock back: others know incarnations that are later than its new one."""
    return _forgets(plan, "disk-lost-clock-back", lambda fleet: remove_state(fleet.states[VICTIM]), behind_s=DAY)


def twins_tls(plan: Plan) -> Verdict:
    """Run two processes with one identity, in a TLS mesh."""
    places = mesh("tls", NAMES, plan.folder / "keys")
    twin = places[VICTIM]._replace(url=f"tls://{HOST}:{free_port()}")
    return _twins(plan, "twins-tls", places, twin, is_clean=False)


def twins_nats(plan: Plan) -> Verdict:
    """Run two processes with one identity, at a NATS server."""
    with nats_server() as server:
        places = broker(server.url, NAMES)
        return _twins(plan, "twins-nats", places, places[VICTIM], is_clean=False)


def twins_clean(plan: Plan) -> Verdict:
    """Run two processes with one identity, from copies of a state that was left clean."""
    places = mesh("tls", NAMES, plan.folder / "keys")
    twin = places[VICTIM]._replace(url=f"tls://{HOST}:{free_port()}")
    return _twins(plan, "twins-clean", places, twin, is_clean=True)


def _forgets(plan: Plan, scenario: str, forget: Callable[[Fleet], None], behind_s: float = 0.0) -> Verdict:
    forgotten: list[str] = []
    with Fleet(plan, mesh("tls", NAMES, plan.folder / "keys")) as fleet:
        fleet.start()
        for _ in range(plan.pick(1, 5)):
            fleet.work(fleet.dice.real(0.3, plan.pick(1, 3)))
            fleet.settle(forgotten)  # so that the copy has no rewards in its mailbox that will have been counted
            _copy(fleet)
            fleet.each(Order("go"))
            fleet.work(fleet.dice.real(0.3, plan.pick(1, 3)))
            fleet.settle(forgotten)  # everybody has heard everything
            shared = fleet.truth().synced
            fleet.each(Order("go"))
            fleet.work(0.2)
            fleet.kill(VICTIM)
            fleet.faults += 1
            forget(fleet)
            fleet.drop_given_away(VICTIM)  # it cannot know any more what it decided
            fleet.each(Order("rest"))
            forgotten += fleet.truth().handed - shared  # some of it was not heard by anybody
            fleet.start(VICTIM, clock_behind_s=behind_s)
            fleet.settle(forgotten)
            old = sorted(shared)
            fleet.running[VICTIM].tell(Order("reward", fleet.dice.some(old, min(len(old), 200))))
            fleet.each(Order("go"))
        return fleet.verdict(scenario, forgiven=forgotten, may_refuse="forged")  # tokens of a lost secret


def _copy(fleet: Fleet) -> None:
    fleet.running[VICTIM].pause()
    copy_state(fleet.states[VICTIM], fleet.plan.folder / "older")
    fleet.running[VICTIM].resume()


def _twins(plan: Plan, scenario: str, places: dict[str, Place], where: Place, *, is_clean: bool) -> Verdict:
    with Fleet(plan, places, given_away=0.0) as fleet:
        fleet.start()
        for _ in range(plan.pick(1, 4)):
            fleet.work(fleet.dice.real(0.5, plan.pick(1, 3)))
            if is_clean:
                fleet.close(VICTIM)
                copy_state(fleet.states[VICTIM], plan.folder / "older")
                fleet.start(VICTIM)
            else:
                _copy(fleet)
            twin = fleet.launch(VICTIM, state=plan.folder / "older", place=where)
            if (why := twin.wait_until_started()) is not None:
                fleet.violations.append(f"the twin could not be started: {why}")
                continue
            fleet.faults += 1
            _expect_one_to_withdraw(fleet, twin, fleet.plan.pick(1, 5))
            twin.order(Order("rest"))
            if not fleet.until(lambda: _is_heard_out(fleet, twin), NOTICED_WITHIN):  # noqa: B023  # called here
                fleet.violations.append("the younger of two processes is not heard by all")
            twin.close()
            unsure = fleet.kill(VICTIM)
            fleet.restart(VICTIM, unsure)  # it has the rest of what it observed, and others return what the twin did
        return fleet.verdict(scenario)


def _expect_one_to_withdraw(fleet: Fleet, twin: Process, seconds: float) -> None:
    older = fleet.running[VICTIM]
    both = (older, twin)
    if not fleet.until(lambda: any(process.look().is_superseded for process in both), NOTICED_WITHIN):
        fleet.violations.append("neither of two processes with one identity has noticed")
        return
    withdrawn = next(process for process in both if process.look().is_superseded)
    if withdrawn is twin:
        fleet.violations.append("the younger of two processes has withdrawn, and not the older")
    incarnation = withdrawn.look().incarnation
    remaining = twin if withdrawn is older else older
    fleet.work(0.2)  # what was sent before is on its way
    before = _most_known(fleet, remaining, incarnation)
    fleet.work(seconds)
    if _most_known(fleet, remaining, incarnation) != before:
        fleet.violations.append("a process that has withdrawn goes on sharing")


def _most_known(fleet: Fleet, remaining: Process, incarnation: int) -> dict[str, tuple[int, int]]:
    """Return the most that anybody knows of an incarnation. They tell each other, so no more can come to anybody."""
    others = [process.look() for name, process in fleet.running.items() if name != VICTIM]
    most: dict[str, tuple[int, int]] = {}
    for look in (*others, remaining.look()):
        for arm, known in _of_incarnation(look, incarnation).items():
            most[arm] = max(known, most.get(arm, (0, 0)))
    return most


def _is_heard_out(fleet: Fleet, process: Process) -> bool:
    look = process.look()
    own = _of_incarnation(look, look.incarnation)
    return all(
        _of_incarnation(other, look.incarnation) == own for name, other in fleet.looks().items() if name != VICTIM
    )


def _of_incarnation(look: Look, incarnation: int) -> dict[str, tuple[int, int]]:
    origins = tuple(origin for origin in look.origins if origin.incarnation == incarnation)
    return known_of(Look(0, origins, (), {}, False, 0, 0), VICTIM)
