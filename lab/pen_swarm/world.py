"""A fleet of relays and pods in virtual time: people decide and bring rewards, and all goes wrong that is planned."""

import math
from collections.abc import Callable
from functools import partial

from cobandit.live.auth.refusal import Refusal
from cobandit.live.machine.rewarding import take_reward
from cobandit.live.machine.step import Step
from cobandit.live.store.journal import MemoryJournal
from cobandit.values.errors import CobanditError
from lab.pen_swarm.network import Network
from lab.pen_swarm.plan import Incident, Kind, Plan
from lab.pen_swarm.pod import Pod
from lab.pen_swarm.rest import at_rest
from lab.pen_swarm.station import Station, start_relay, stop_relay
from lab.pen_swarm.truth import Made, Truth
from lab.swarm.dice import Dice
from lab.swarm.transcript import Transcript

MOST_EVENTS = 150_000
_DICE_OF_PEOPLE = 23
NEVER_HONEST = (Refusal.ABSURD, Refusal.MALFORMED, Refusal.OVERSIZED, Refusal.FOREIGN_GROUP, Refusal.FLOOD)
A_WHILE = 900.0
"""Seconds after healing until all rewards are brought once more, and again until everybody decides once more."""


class World:
    """One run of a plan."""

    def __init__(self, plan: Plan, transcript: Transcript) -> None:
        self.plan = plan
        self.network = Network(plan, transcript)
        self.truth = Truth()
        self.violations: list[str] = []
        self.starts = 0
        self.relays: dict[str, Station] = {}
        self.pods: list[Pod] = []
        self._copies: list[Station] = []
        self._transcript = transcript
        self._disks = {name: MemoryJournal() for name in plan.relays}
        self._lost: dict[str, float] = {}
        self._dice = Dice(plan.seed, _DICE_OF_PEOPLE)
        self._per_reward = round(1.0 / plan.quantum)
        self._is_healed = self._is_over = False

    def run(self) -> None:
        """Run until the end, or until something is wrong."""
        plan, network = self.plan, self.network
        for name in plan.relays:
            self._start_relay(name)
        for _ in range(plan.pods):
            self._start_pod()
        for incident in plan.incidents:
            network.at(incident.time, partial(self._befall, incident))
        network.at(plan.heals_at, self._heal)
        network.at(plan.heals_at + A_WHILE, self._bring_all)
        network.at(plan.heals_at + 2.0 * A_WHILE, self._decide_all)
        network.at(plan.quiet_at, partial(setattr, network, "unquiet", []))
        network.at(plan.ends_at, self._finish)
        while not (self._is_over or self.violations):
            network.step()
            if network.events > MOST_EVENTS:
                self.violations.append(f"it is not quiet at time {network.time:g}, after {network.events} events")

    # Who runs.

    def _start_relay(self, name: str) -> None:
        if name not in self.relays:
            self.starts += 1
            self._note(name, "starts")
            station = start_relay(self.plan, self.network, name, self._disks[name], self._stepped)
            self.relays[name] = station

    def _start_pod(self) -> None:
        if len(self.pods) < self.plan.pods:
            self.starts += 1
            pod = Pod(self.plan, self.network, self.starts, self._stepped, self._began, self._pod_gone)
            self.pods.append(pod)
            self._note(pod.name, "starts")
            self._plan_decision(pod)

    def _pod_gone(self, pod: Pod) -> None:
        self._note(pod.name, "is gone")
        if pod in self.pods:
            self.pods.remove(pod)

    def _began(self, station: Station) -> None:
        self._note(station.name, f"is held in session {station.machine.agent.session}")
        self.violations += self.truth.began(station)

    def _stepped(self, station: Station, step: Step) -> None:
        self.violations += self.truth.stepped(station, step, self.network.time) + station.wrong
        if station.machine.lending is not None:
            self.violations += self.truth.compare(station)
        refused = station.machine.guard.refusals
        self.violations += [
            f"{station.name} refused something {reason.value}" for reason in NEVER_HONEST if refused[reason]
        ]

    # What befalls whom.

    def _befall(self, incident: Incident) -> None:
        kind = incident.kind
        if self._is_healed:
            return
        relay = self.relays.get(self.plan.relays[incident.who % len(self.plan.relays)])
        pod = self.pods[incident.who % len(self.pods)] if self.pods else None
        if kind in _OF_RELAYS and relay is not None:
            self._note(relay.name, kind.value)
            self._befall_relay(relay, incident)
        elif kind not in _OF_RELAYS and pod is not None:
            self._note(pod.name, kind.value)
            self._befall_pod(pod, incident)

    def _befall_relay(self, relay: Station, incident: Incident) -> None:
        if incident.kind is Kind.FUSE_RELAY:
            relay.fuse, relay.burnt = incident.amount, partial(self._end_relay, lasting=incident.lasting)
            return
        if incident.kind is Kind.STOP_RELAY:
            stop_relay(relay)
        if incident.kind is Kind.LOSE_DISK:
            self._disks[relay.name] = MemoryJournal()
            self._lost[relay.name] = self.network.time
        self._end_relay(relay, lasting=incident.lasting)

    def _end_relay(self, relay: Station, lasting: float) -> None:
        relay.die()
        if self.relays.get(relay.name) is relay:
            del self.relays[relay.name]
            self._soon(lasting, partial(self._start_relay, relay.name))

    def _befall_pod(self, pod: Pod, incident: Incident) -> None:
        until = min(self.network.time + incident.lasting, self.plan.heals_at)
        match incident.kind:
            case Kind.CUT:
                self.network.cuts.append((pod, None, until))
            case Kind.CUT_FROM_ONE:
                relay = self.plan.relays[int(incident.amount * len(self.plan.relays))]
                self.network.cuts.append((pod, relay, until))
            case Kind.CLOSE_POD | Kind.ZOMBIE:
                if not pod.is_closing:
                    pod.leaves_copy = self._left_copy if incident.kind is Kind.ZOMBIE else None
                    pod.close()
                    self._soon(incident.lasting, self._start_pod)
            case _:
                pod.kill()
                if incident.kind is not Kind.END_POD:
                    self._soon(incident.lasting, self._start_pod)

    def _left_copy(self, station: Station) -> None:
        """Let a process that has given its pen back go on, as a copy of a virtual machine does."""
        station.is_copy = True
        if self._is_healed:
            station.die()
        self._copies.append(station)
        for _ in range(self._dice.whole(1, 6)):
            self.network.at(self.network.time + self._dice.scale(0.1, 30.0), partial(self._use_copy, station))

    def _use_copy(self, station: Station) -> None:
        if station.is_up:
            decision = station.machine.decider.select_arm()
            station.machine.decider.settle(decision.number, 1.0)
            station.work()
            station.machine.flush()
            station.work()

    def _soon(self, seconds: float, act: Callable[[], None]) -> None:
        self.network.at(min(self.network.time + seconds, self.plan.heals_at), act)

    # What people do.

    def _plan_decision(self, pod: Pod) -> None:
        time = self.network.time - math.log(1.0 - self._dice.unit()) * self.plan.gap
        if time < self.plan.heals_at:
            self.network.at(time, partial(self._decide, pod))

    def _decide(self, pod: Pod) -> None:
        if pod.is_up:
            self._plan_decision(pod)
            if pod.station is not None and not pod.is_closing:
                self._let_decide(pod.station)

    def _let_decide(self, station: Station, *, at_once: bool = False) -> None:
        dice, decider = self._dice, station.machine.decider
        decision = decider.select_arm()
        units = dice.pick((0, self._per_reward, dice.whole(0, self._per_reward)))
        made = Made(station.name, decision.number, decision.arm, decision.id, units)
        if (made.pen, made.number) in self.truth.decisions:
            self.violations.append(f"{made.pen} gave number {made.number} to two decisions")
        self.truth.decisions[made.pen, made.number] = made
        self._note(station.name, f"decides {made.arm}, number {made.number}")
        if dice.happens(0.03) and not at_once:
            made.is_withdrawn = decider.withdraw(decision.number)
        if at_once or dice.happens(0.4):
            decider.settle(decision.number, units / self._per_reward)
        for _ in range(0 if at_once else dice.pick((0, 1, 1, 2, 3))):
            pause = dice.scale(0.1, self.plan.heals_at)
            self.network.at(self.network.time + pause, partial(self._bring, made))
        station.work()

    def _bring(self, made: Made) -> bool:
        stations = [*self.relays.values()]
        stations += [pod.station for pod in self.pods if pod.station is not None and not pod.is_closing]
        if not stations:
            return False
        station = self._dice.pick(stations)
        try:
            taken = take_reward(station.machine, made.token, made.units / self._per_reward)
        except CobanditError as error:
            self._note(station.name, f"refuses {made.number} of {made.pen}: {error}")
            return False
        self._note(station.name, f"is given {made.units} for {made.number} of {made.pen}: {taken.value}")
        station.work()
        return True

    # How it ends.

    def _heal(self) -> None:
        self._note("", "the world heals")
        self._is_healed = True
        self.network.heal()
        for station in self._copies:
            station.die()
        for relay in self.relays.values():
            relay.fuse = None
        for name in self.plan.relays:
            self._start_relay(name)
        for _ in range(self.plan.pods):
            self._start_pod()

    def _bring_all(self) -> None:
        for made in self.truth.decisions.values():
            made.is_brought = self._bring(made)

    def _decide_all(self) -> None:
        for pod in self.pods:
            if pod.station is not None and not pod.is_closing:
                self._let_decide(pod.station, at_once=True)

    def _finish(self) -> None:
        self._is_over = True
        relays, unquiet = [self.relays[name] for name in self.plan.relays], self.network.unquiet or []
        self.violations += at_rest(self.plan, relays, self.pods, self.truth, self._lost, unquiet)

    def _note(self, who: str, what: str) -> None:
        self._transcript.note(self.network.time, who, what)


_OF_RELAYS = {Kind.KILL_RELAY, Kind.FUSE_RELAY, Kind.STOP_RELAY, Kind.LOSE_DISK}
