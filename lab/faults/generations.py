"""Pods without a disk and with names that never come again, replaced again and again; one memory stays.

What a generation learned must be known to the next: at once, exactly, and though half of it was killed.
"""

import time
from pathlib import Path

from lab.faults.accounts import known_of
from lab.faults.fleet import ARMS, Fleet, Plan
from lab.faults.networks import Place
from lab.faults.orders import Look, Order
from lab.faults.truth import THOUSAND, read_truth, tallies
from lab.faults.verdict import Verdict
from lab.servers import nats_server

MEMORY = "memory"
MUST_KNOW, MUST_KNOW_OF_LITTLE = 0.95, 0.8
"""This share of it; in a small trial buffers that are not full yet are more of the whole."""

ALL_KNOW_WITHIN = 150.0
"""Seconds without a decision: who is quiet for a minute says what is left, and a relay passes it on."""

IDLE = 10.0
"""Seconds for which nobody decides, while packets are counted."""

MOST_IDLE_PACKETS = 4.0
"""So many packets a member may send in that time, for each of the living."""

Held = dict[tuple[str, int, str], int]
"""How many observations of an incarnation's arm."""


def generations_nats(plan: Plan) -> Verdict:
    """Replace pods at a NATS server, generation by generation, half of them killed."""
    count, pods = plan.pick(3, 40), plan.pick(3, 8)
    with nats_server() as server:
        return Deployments(plan, server.url, pods).run(count)


class Deployments:
    """A fleet whose members are replaced."""

    def __init__(self, plan: Plan, url: str, pods: int) -> None:
        self._plan, self._pods = plan, pods
        self._must_know = MUST_KNOW_OF_LITTLE if plan.is_quick else MUST_KNOW
        self._place = Place(url)
        # What a mesh of patient members has not told the memory yet is less of the whole if they decide more.
        self._fleet = Fleet(plan._replace(quick_rate=60.0), {MEMORY: self._place}, given_away=0.0)
        self._closed: set[str] = set()
        self._files: dict[str, Path] = {}
        self._control: str | None = None
        self._least_known = 1.0
        self._slowest = 0.0
        self._most_idle = 0.0

    def run(self, count: int) -> Verdict:
        """Replace all pods so often."""
        began, fleet = time.monotonic(), self._fleet
        with fleet:
            fleet.running[MEMORY] = fleet.launch(MEMORY, is_relay=True, is_patient=True)
            fleet.running[MEMORY].wait_until_started()
            fleet.running[MEMORY].order(Order("rest"))
            for generation in range(count):
                self._deploy(generation)
            if not self._plan.is_quick:
                self._count_idle_packets()
            memory = fleet.running[MEMORY].look()
            counted, lost, twice, handed = self._judge(memory)
            for name, process in fleet.running.items():
                fleet.hear_out(name, process)
            refused = memory.refused
        notes = (
            f"{count} generations of {self._pods}; a newcomer knew at least {self._least_known:.1%} of what was "
            f"acknowledged, after at most {self._slowest:.2f} s"
        )
        if not self._plan.is_quick:
            notes += f"; at most {self._most_idle:.0f} packets of a member in {IDLE:.0f} idle seconds"
        strange = {reason: number for reason, number in refused.items() if reason not in ("stranger", "replayed")}
        found = [*fleet.violations, *([f"{MEMORY} has refused {strange}"] if strange else [])]
        return Verdict(
            "generations-nats",
            members=1 + self._pods,
            faults=fleet.faults,
            handed=handed,
            synced=handed,
            counted=counted,
            lost=lost,
            twice=twice,
            talking=1,
            pairs=1,
            seconds=time.monotonic() - began,
            violations=tuple(found),
            notes=notes,
        )

    # One deployment.

    def _deploy(self, generation: int) -> None:
        """Start new pods, look what they know, then end the old ones: half of them without a word."""
        fleet, old = self._fleet, [name for name in self._fleet.running if name != MEMORY]
        before = self._acknowledged()
        letters = "abcdefghijklmnopqrstuvwxyz"
        names = ["web-" + "".join(fleet.dice.pick(letters) for _ in range(8)) for _ in range(self._pods)]
        for name in names:
            fleet.places[name] = self._place
            fleet.running[name] = fleet.launch(name, has_state=False, is_patient=True)
            self._files[name] = Path(fleet.running[name].spec.truth)
        for name in names:
            if (why := fleet.running[name].wait_until_started()) is not None:
                fleet.violations.append(f"{name} could not be started: {why}")
                return
            self._look_at_newcomer(name, before)
        fleet.work(fleet.dice.real(0.5, 1.5))
        for place, name in enumerate(old):
            if place % 2:
                fleet.kill(name)
                fleet.faults += 1
            else:
                self._closed.add(name)
                fleet.close(name)
        if generation % 4 == 1:  # set by a pod that will be gone, and obeyed by all that come
            self._control = None if self._control else fleet.dice.pick(ARMS)
            fleet.running[names[0]].order(Order("control", () if self._control is None else (self._control,)))
            heard = self._control or ""
            if not fleet.until(
                lambda: all(look.control_arm == heard for look in fleet.looks().values()), self._plan.obeyed_within
            ):
                fleet.violations.append(
                    f"the kill switch is not known to all after {self._plan.obeyed_within:g} seconds"
                )

    def _look_at_newcomer(self, name: str, before: Held) -> None:
        process, began, total = self._fleet.running[name], time.monotonic(), sum(before.values())
        while True:
            look = process.look()
            knows = _held(look)
            known = sum(min(count, knows.get(key, 0)) for key, count in before.items())
            took = time.monotonic() - began
            if known >= self._must_know * total or took > self._plan.known_within:
                break
        share = known / total if total else 1.0
        self._least_known, self._slowest = min(self._least_known, share), max(self._slowest, took)
        if share < self._must_know:
            self._fleet.violations.append(f"after {took:.1f} s {name} knows {share:.1%} of what was acknowledged")
        if self._control is not None and look.first_arm not in ("", self._control):
            self._fleet.violations.append(f"the first decision of {name} was {look.first_arm}, not {self._control}")

    def _acknowledged(self) -> Held:
        """Return what anybody holds that another one observed."""
        held: Held = {}
        for name, look in self._fleet.looks().items():
            for key, count in _held(look).items():
                if key[0] != name:
                    held[key] = max(held.get(key, 0), count)
        return held

    # The end.

    def _count_idle_packets(self) -> None:
        fleet = self._fleet
        fleet.each(Order("rest"))
        if not fleet.until(self._all_agree, ALL_KNOW_WITHIN):
            fleet.violations.append(f"after {ALL_KNOW_WITHIN:.0f} seconds not everybody knows everything")
        before = {name: look.packets for name, look in fleet.looks().items()}
        time.sleep(IDLE)
        sent = {name: look.packets - before[name] for name, look in fleet.looks().items()}
        self._most_idle = float(max(sent.values()))
        if self._most_idle > MOST_IDLE_PACKETS * len(sent):
            fleet.violations.append(f"with nothing to say, members send {sent} packets in {IDLE:.0f} seconds")

    def _all_agree(self) -> bool:
        """Return whether all know what the memory knows, and that knows all of the living."""
        held = {name: _held(look) for name, look in self._fleet.looks().items()}
        passed_on = all(count <= held[name].get(key, 0) for name in held for key, count in held[MEMORY].items())
        return passed_on and all(
            held[MEMORY].get(key, 0) == count for name in held for key, count in held[name].items() if key[0] == name
        )

    def _judge(self, memory: Look) -> tuple[int, int, int, int]:
        """Compare what the memory knows of every pod that ever was with what that pod has really observed."""
        counted = lost = twice = handed = 0
        for name, path in self._files.items():
            truth = read_truth(path)
            known = known_of(memory, name)
            most = tallies(truth.handed).get(name, {})
            handed += sum(count for count, _ in most.values())
            for arm in {*known, *most}:
                (count, total), (many, highest) = known.get(arm, (0, 0)), most.get(arm, (0, 0))
                counted += count
                twice += max(0, count - many)
                if count > many or total > highest or (total - count) % THOUSAND:
                    self._fleet.violations.append(f"of {name} {count} of {arm} are known, {many} were handed over")
                if name in self._closed and count < many:
                    lost += many - count
                    self._fleet.violations.append(f"{name} was closed: {count} of {arm} are known, of {many}")
        return counted, lost, twice, handed


def _held(look: Look) -> Held:
    return {
        (origin.member, origin.incarnation, entry.arm): entry.observations
        for origin in look.origins
        for entry in origin.tallies
    }
