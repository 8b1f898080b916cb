"""Pods without names and disks, replaced again and again as a Deployment does it; two relays stay, with disks.

Half of the pods are killed. What a graceful pod learned must be known to the next ones, exactly and at once. Rewards
for decisions of pods that are gone come three times each, to pods that live now, and count once. Nothing grows but the
relays' rows, by one for each kill. In the middle one relay is killed, too.
"""

import time
from collections import Counter
from pathlib import Path

from cobandit.live.auth.keys import issue, make_group
from cobandit.live.decide.decision import read
from lab.faults.fleet import ARMS, Fleet, Plan
from lab.faults.networks import GROUP, Place
from lab.faults.orders import Look, Order
from lab.faults.truth import THOUSAND, read_truth, units_of
from lab.faults.verdict import Verdict
from lab.servers import HOST, free_port, nats_server

RELAYS = ("relay-a", "relay-b")
LEASE = 12.0
"""Seconds: in a fleet it is two minutes."""

COPIES = 3
"""So often each reward for a decision of a pod that is gone is brought, to pods chosen by chance."""

GIVEN_AWAY = 0.3
"""This share of decisions is rewarded when the pod is gone."""

ALL_KNOW_WITHIN = 240.0
"""Seconds until everything is counted, once nobody decides: leases have to end."""

RATE = 10.0
"""Decisions of each pod in a second, if all generations are run: with the relays there are eighteen processes."""

FLAT_FROM = 10
"""From this generation on nothing may grow but rows, and these only with kills."""

MOST_GROWTH = 1.25
"""Of the relays' memory, and of packets for each decision: later ones over earlier ones."""


def pods_nats(plan: Plan) -> Verdict:
    """Replace pods at a NATS server."""
    with nats_server() as server:
        places = {name: Place(server.url) for name in RELAYS}
        return Deployment(plan, "pods-nats", places, Place(server.url, relays=RELAYS)).run()


def pods_tls(plan: Plan) -> Verdict:
    """Replace pods that dial their relays, with a certificate for a prefix of names."""
    make_group(GROUP, plan.folder)
    addresses = {name: f"{HOST}:{free_port()}" for name in RELAYS}
    places = {
        name: Place(f"tls://{address}", tuple(addresses.values()), str(issue(name, plan.folder, may_relay=True)))
        for name, address in addresses.items()
    }
    keys = str(issue("pods", plan.folder, is_prefix=True))
    pods = Place("tls://", keys=keys, relays=tuple(addresses.values()))
    return Deployment(plan, "pods-tls", places, pods).run()


class Deployment:
    """A fleet whose pods are replaced."""

    def __init__(self, plan: Plan, scenario: str, relays: dict[str, Place], pods: Place) -> None:
        self._plan, self._scenario, self._pod_place = plan, scenario, pods
        self._fleet = Fleet(plan._replace(full_rate=RATE), relays, given_away=GIVEN_AWAY)
        self._generations, self._pods = plan.pick(3, 40), plan.pick(3, 8)
        self._made = 0
        self._files: dict[str, Path] = {}
        self._kept: set[str] = set()
        """Pods that were closed: all that they were handed must count."""
        self._brought: set[str] = set()
        """Decisions of pods that are gone, whose rewards were brought to others."""
        self._slowest = 0.0
        self._control: str | None = None
        self._kills = 0
        self._rows: list[int] = []
        self._resident: list[int] = []
        self._packets: list[float] = []
        """After each generation: rows and memory of the relays, packets for each decision of its pods."""

    def run(self) -> Verdict:
        """Replace all pods so often, and judge."""
        began, fleet = time.monotonic(), self._fleet
        with fleet:
            for name in RELAYS:
                self._start_relay(name)
            for generation in range(self._generations):
                self._deploy(generation)
                if generation == self._generations // 2:
                    self._kill_relay()
            counted, handed, lost, twice = self._judge()
            for name, process in fleet.running.items():
                fleet.hear_out(name, process)
        rows = f"{self._rows[-1]} rows after {self._kills} kills"
        notes = (
            f"{self._generations} generations of {self._pods}; {rows}; a new pod knew everything after at most "
            f"{self._slowest:.2f} s; {len(self._brought):,} rewards for pods that were gone, {COPIES} times each; "
            f"relays {self._resident[0] / 1024:.0f} to {self._resident[-1] / 1024:.0f} MB; packets for each decision "
            f"{self._packets[0]:.2f} to {self._packets[-1]:.2f}; {handed - counted:,} rewards were lost by kills"
        )
        return Verdict(
            self._scenario,
            members=len(RELAYS) + self._pods,
            faults=fleet.faults,
            handed=handed,
            synced=handed,
            counted=counted,
            lost=lost,
            twice=twice,
            talking=1,
            pairs=1,
            seconds=time.monotonic() - began,
            violations=tuple(fleet.violations),
            notes=notes,
        )

    # Life.

    def _start_relay(self, name: str) -> None:
        fleet = self._fleet
        fleet.running[name] = fleet.launch(name, is_relay=True, is_patient=True, lease=LEASE)
        if (why := fleet.running[name].wait_until_started()) is not None:
            fleet.violations.append(f"{name} could not be started: {why}")
        fleet.running[name].order(Order("rest"))

    def _kill_relay(self) -> None:
        """Kill a relay, let the pods find the other one, and start it again."""
        fleet, name = self._fleet, RELAYS[0]
        fleet.kill(name)
        fleet.faults += 1
        time.sleep(8.0)
        self._start_relay(name)

    def _pods_running(self) -> list[str]:
        return [name for name in self._fleet.running if name not in RELAYS]

    def _deploy(self, generation: int) -> None:
        """Start new pods, look what they know, then end the old ones: half of them without a word."""
        fleet, old = self._fleet, self._pods_running()
        known = min(look.observations for name, look in fleet.looks().items() if name in RELAYS)
        names = [f"pod-{self._made + number}" for number in range(self._pods)]
        self._made += self._pods
        for name in names:
            fleet.places[name] = self._pod_place
            fleet.running[name] = fleet.launch(name, is_nameless=True, is_patient=True)
            self._files[name] = Path(fleet.running[name].spec.truth)
        for name in names:
            if (why := fleet.running[name].wait_until_started()) is not None:
                fleet.violations.append(f"{name} could not be started: {why}")
                return
            self._look_at_newcomer(name, known)
        time.sleep(fleet.dice.real(0.5, 1.5))
        looks = fleet.looks()
        decided = sum(looks[name].decisions for name in names)
        self._packets.append(sum(looks[name].packets for name in names) / max(1, decided))
        gone: list[str] = []
        for place, name in enumerate(old):
            process = fleet.running[name]
            if place % 2:
                fleet.kill(name)
                fleet.faults += 1
                self._kills += 1
            else:
                self._kept.add(name)
                fleet.close(name)
            gone += process.take_given_away()
        self._bring(gone + fleet.take_later())
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
        relays = [look for name, look in fleet.looks().items() if name in RELAYS]
        self._rows.append(max(len(look.origins) for look in relays))
        self._resident.append(max(look.resident_kb for look in relays))

    def _look_at_newcomer(self, name: str, known: int) -> None:
        process, began = self._fleet.running[name], time.monotonic()
        while True:
            look, took = process.look(), time.monotonic() - began
            if look.observations >= known or took > self._plan.known_within:
                break
        self._slowest = max(self._slowest, took)
        if look.observations < known:
            self._fleet.violations.append(f"after {took:.1f} s {name} knows {look.observations:,} of {known:,}")
        if self._control is not None and look.first_arm not in ("", self._control):
            self._fleet.violations.append(f"the first decision of {name} was {look.first_arm}, not {self._control}")

    def _bring(self, tokens: list[str]) -> None:
        """Bring the rewards of decisions of pods that are gone, each several times, to pods that live."""
        fleet, living = self._fleet, self._pods_running()
        for token in tokens:
            self._brought.add(token)
            for _ in range(COPIES):
                fleet.running[fleet.dice.pick(living)].tell(Order("reward", (token,)))

    # The end.

    def _judge(self) -> tuple[int, int, int, int]:
        """Compare what the relays count with what really happened."""
        fleet = self._fleet
        fleet.each(Order("rest"))
        living = self._pods_running()
        handed: set[str] = set()
        least: set[str] = set(self._brought)
        for name, path in self._files.items():
            truth = read_truth(path).handed
            handed |= truth
            if name in self._kept or name in living:
                least |= truth
        must, may = Counter(read(token).arm for token in least), Counter(read(token).arm for token in handed)
        fleet.until(lambda: all(self._has(look, must) for look in self._relay_looks()), ALL_KNOW_WITHIN)
        lost = twice = counted = 0
        highest = {arm: sum(units_of(token) for token in handed if read(token).arm == arm) for arm in ARMS}
        for look in self._relay_looks():
            counted = 0
            for arm in ARMS:
                count, total = _counted(look, arm)
                counted += count
                lost, twice = max(lost, must[arm] - count), max(twice, count - may[arm])
                if not must[arm] <= count <= may[arm] or total > highest[arm] or (total - count) % THOUSAND:
                    fleet.violations.append(
                        f"a relay has counted {count} of {arm} with sum {total}: at least {must[arm]} count, at most "
                        f"{may[arm]} with sum {highest[arm]}"
                    )
        if max(self._rows) > len(RELAYS) + 2 * self._pods + self._kills + 2 * self._pods:
            fleet.violations.append(f"the relays have {max(self._rows)} rows after {self._kills} kills")
        if self._generations > 2 * FLAT_FROM:
            self._judge_growth()
        return counted, len(handed), max(lost, 0), max(twice, 0)

    def _judge_growth(self) -> None:
        half = (FLAT_FROM + self._generations) // 2
        for what, found in (("memory of a relay", self._resident), ("packets for each decision", self._packets)):
            earlier, later = (sum(part) / len(part) for part in (found[FLAT_FROM:half], found[half:]))
            if later > MOST_GROWTH * earlier:
                self._fleet.violations.append(f"the {what} grows: {earlier:.2f} before, {later:.2f} after")

    def _relay_looks(self) -> list[Look]:
        return [self._fleet.running[name].look() for name in RELAYS]

    def _has(self, look: Look, must: Counter[str]) -> bool:
        return all(_counted(look, arm)[0] >= must[arm] for arm in ARMS)


def _counted(look: Look, arm: str) -> tuple[int, int]:
    """Return how often an arm was observed by anybody, and the sum."""
    entries = [entry for origin in look.origins for entry in origin.tallies if entry.arm == arm]
    return sum(entry.observations for entry in entries), sum(entry.reward_sum for entry in entries)
