"""A worker process: one live member that decides, rewards, syncs, and writes down what it does. Run by `process.py`.

It knows nothing of the faults it will meet. Started as `python -m lab.faults.worker`, with a `Spec` as the
first line of its input and an `Order` in each further one.
"""

import logging
import os
import queue
import runpy
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from cobandit.codec import decode_snapshot
from cobandit.live.decide.decision import Decision, read
from cobandit.live.decide.full_names import prefix_of
from cobandit.live.drive.clock import SystemClock
from cobandit.live.drive.joining import connect
from cobandit.live.drive.member import Member
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import CobanditError, LocalError
from cobandit.values.tally import ArmTally
from lab.faults import orders
from lab.faults.named_bandits import BANDITS, SEGMENTS
from lab.faults.orders import Order, Spec
from lab.faults.truth import TruthFile, reward_of

SYNC_EVERY = 0.05
"""Seconds."""

MOST_AT_ONCE = 50
"""So many late decisions are made up for in one go, if this process could not keep its rate."""

SYNC_WITHIN = 60.0
BUG = "which is a bug"
"""Whoever says this has done what must never be."""

SUBJECTS = 500
"""One decision in ten is for one of a tenth of them."""


class ShiftedClock:
    """A clock that is behind."""

    def __init__(self, behind_s: float) -> None:
        self._clock = SystemClock()
        self._behind_s = behind_s

    def now(self) -> float:
        """Return the time."""
        return self._clock.now() - self._behind_s

    def time_of_day(self) -> float:
        """Return what this computer says."""
        return self._clock.time_of_day() - self._behind_s


class Mouth(logging.Handler):
    """Says things to the parent: one whole line each, in one write."""

    def say(self, event: orders.Event) -> None:
        """Say something."""
        os.write(sys.stdout.fileno(), orders.encode(event) + b"\n")

    def emit(self, record: logging.LogRecord) -> None:
        trace = f" {record.exc_info[1]!r}" if record.exc_info else ""
        self.say(orders.Said(record.levelno, record.getMessage() + trace))


class Worker:
    """One member at work."""

    def __init__(self, spec: Spec, member: Member, mouth: Mouth) -> None:
        self._spec = spec
        self._member = member
        self._mouth = mouth
        self._truth = TruthFile(spec.truth)
        self._chance, self._drawn = stream(spec.seed, *spec.name.encode(), spec.start), 0
        self._kept: list[str] = []
        """Decisions that are rewarded a little later, by their id."""
        self._is_deciding = True
        self._first_arm = ""

    def run(self, inbox: "queue.SimpleQueue[Order | None]") -> None:
        """Decide and obey until told to stop."""
        due = synced_at = time.monotonic()
        while True:
            try:
                order = inbox.get(timeout=max(0.0, min(due - time.monotonic(), SYNC_EVERY)) or 0.0001)
            except queue.Empty:
                pass
            else:
                if order is None or order.do == "close":
                    break
                self._obey(order)
            now = time.monotonic()
            late = min(int((now - due) * self._spec.rate) + 1, MOST_AT_ONCE) if now >= due else 0
            if self._is_deciding:
                for _ in range(late):
                    self._decide()
            if late:
                due = now + (1.0 / self._spec.rate if self._is_deciding else SYNC_EVERY)
            if self._is_deciding and now - synced_at >= SYNC_EVERY:
                self._sync()
                synced_at = time.monotonic()
        self._member.close()
        self._mouth.say(orders.Done("close"))

    def _decide(self) -> None:
        self._drawn += 2
        subject = uniform(self._chance, self._drawn)
        decision = self._select(f"user {int(subject * SUBJECTS)}" if subject < 0.1 else None)
        self._first_arm = self._first_arm or decision.arm
        draw = uniform(self._chance, self._drawn + 1)
        if draw < self._spec.given_away:
            self._mouth.say(orders.GivenAway((decision.id,)))
        elif draw < self._spec.given_away + 0.1:
            self._kept.append(decision.id)
        else:
            token = decision.id
            self._truth.hand(token)
            try:
                if not self._member.update(decision, reward_of(token)):
                    self._say_bug(token)
            except LocalError:
                self._truth.refuse(token)
                return
            is_taken = self._member.update(token, reward_of(token))
            if is_taken and read(token).member == self._member.name:  # a name that was lent may have changed since
                self._mouth.say(orders.Twice(token))

    def _select(self, subject: str | None = None) -> Decision:
        """Decide; in a fleet for one segment of one bandit after the other, as they come by chance."""
        bandits = self._member.bandits
        if not bandits:
            return self._member.select_arm(subject)
        self._drawn += 2
        bandit = bandits[int(uniform(self._chance, self._drawn) * len(bandits))]
        segment = SEGMENTS[int(uniform(self._chance, self._drawn + 1) * len(SEGMENTS))]
        return self._member.declared_bandit(bandit).select_arm(segment, subject)

    def _reward(self, token: str) -> bool:
        """Hand over a reward. Return whether it was no news to the member, which then promises nothing of it."""
        self._truth.hand(token)
        try:
            if self._member.update(token, reward_of(token)):
                return False
            self._truth.turn_down(token)
        except LocalError:
            self._truth.refuse(token)
            return False
        return True

    def _say_bug(self, token: str) -> None:
        self._mouth.say(orders.Said(logging.ERROR, f"the first reward of {token} was turned down, {BUG}"))

    def _sync(self) -> str | None:
        kept, self._kept = self._kept, []
        for token in kept:
            if self._reward(token):
                self._say_bug(token)
        try:
            self._member.sync(SYNC_WITHIN)
        except LocalError as error:
            self._mouth.say(orders.Synced(str(error)))
            return str(error)
        self._truth.sync()
        self._mouth.say(orders.Synced())
        return None

    def _obey(self, order: Order) -> None:
        match order.do:
            case "look":
                self._mouth.say(look(self._member, self._first_arm))
                return
            case "control":
                if order.tokens:
                    self._member.kill(order.tokens[0])
                else:
                    self._member.lift()
            case "go" | "rest":
                self._is_deciding = order.do == "go"
            case "observe":
                self._reward(self._select().id)
            case "declare":
                declare(self._member, order.tokens)
            case "reward":
                for token in order.tokens:
                    self._reward(token)
                return  # nobody waits: the next sync, by any caller, covers them
        self._mouth.say(orders.Done(order.do, None if order.do == "go" else self._sync()))


def declare(member: Member, bandits: Sequence[str]) -> None:
    """Declare bandits with names."""
    for name in bandits:
        member.bandit(name, **BANDITS[name])


def look(member: Member, first_arm: str = "") -> orders.Look:
    """Return how a member is."""
    statistics, endpoint = member.statistics(), decode_snapshot(member.snapshot()).endpoint
    said = statistics.communication
    origins: dict[tuple[str, int], tuple[ArmTally, ...]] = {(endpoint.agent, endpoint.incarnation): ()}
    for fact in endpoint.facts:
        for told in fact.told.cells:
            origin = (told.agent, told.incarnation)
            prefix = prefix_of((told.bandit, told.segment))
            tallies = (tally._replace(arm=prefix + tally.arm) for tally in told.tallies)
            origins[origin] = (*origins.get(origin, ()), *tallies)
    return orders.Look(
        incarnation=statistics.incarnation,
        origins=tuple(orders.Origin(*origin, tallies) for origin, tallies in origins.items()),
        # Rewards here are never zero, which looks as if only successes were reported.
        troubles=tuple(what for what in statistics.troubles if "none of them zero" not in what),
        refused=statistics.refused,
        is_superseded=statistics.is_superseded,
        decisions=statistics.decisions,
        owes=len(member._node.machine.outbox.rewards),  # noqa: SLF001  # nobody else needs to know
        first_arm=first_arm,
        control_arm=statistics.control_arm or "",
        known={arm.arm: arm.observations for arm in statistics.arms},
        homes=statistics.homes,
        packets=said.shares + said.repetitions + said.acknowledgements + said.notices + said.letters,
        observations=statistics.observations,
        resident_kb=_resident_kb(),
    )


def _resident_kb() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def main() -> int:
    """Run one worker."""
    spec = orders.decode_spec(sys.stdin.buffer.readline())
    mouth = Mouth()
    logger = logging.getLogger("cobandit")
    logger.addHandler(mouth)
    logger.propagate = False
    if spec.sabotage is not None:
        runpy.run_path(spec.sabotage)
    try:
        member = connect(
            spec.url,
            **({"fleet": spec.group} if spec.bandits else {"group": spec.group, "arms": spec.arms}),
            name=None if spec.is_nameless else spec.name,
            state=spec.state,
            sharing=spec.sharing(),
            peers=spec.peers,
            keys=spec.keys,
            relay=spec.is_relay,
            relays=spec.relays or None,
            lease=spec.lease,
            clock=ShiftedClock(spec.clock_behind_s),
        )
        declare(member, spec.bandits)
    except CobanditError as error:
        mouth.say(orders.NotStarted(str(error)))
        return 1
    inbox: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    worker = Worker(spec, member, mouth)
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    mouth.say(orders.Ready(member.statistics().incarnation))
    worker.run(inbox)
    return 0


def _listen(inbox: "queue.SimpleQueue[Order | None]") -> None:
    for line in sys.stdin.buffer:
        inbox.put(orders.decode_order(line))
    inbox.put(None)  # the parent is gone


if __name__ == "__main__":
    sys.exit(main())
