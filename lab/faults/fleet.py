"""A fleet of worker processes: starts them, brings rewards around in every way there is, and judges in the end.

It knows nothing of faults; a scenario causes them through `kill`, `restart` and the processes themselves.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from cobandit.live.decide.decision import read
from cobandit.live.drive.joining import reward
from cobandit.values.errors import LocalError
from lab.faults import accounts
from lab.faults.networks import GROUP, Place
from lab.faults.orders import Look, Order, Spec
from lab.faults.process import Process
from lab.faults.truth import Truth, joined, read_truth, reward_of
from lab.faults.verdict import Verdict
from lab.faults.worker import BUG
from lab.swarm.dice import Dice

ARMS = ("red", "green", "blue")
LOOK_EVERY = 0.2
MOST_SHOWN = 5
"""So many violations of one kind are told."""

SABOTAGE_SHOWS_WITHIN = 5.0
"""Seconds. What is broken on purpose stays broken, however long one waits."""


class Plan(NamedTuple):
    """How to try a scenario."""

    seed: int
    is_quick: bool
    folder: Path
    """Empty, and removed afterwards."""
    sabotage: str | None = None
    quick_rate: float = 20.0
    full_rate: float = 40.0
    """Decisions in a second, of each member: in a small trial, and in a whole one."""

    def pick(self, quick: int, full: int) -> int:
        """Return one of two sizes."""
        return quick if self.is_quick else full

    @property
    def rate(self) -> float:
        """Decisions in a second, of each member."""
        return self.quick_rate if self.is_quick else self.full_rate

    @property
    def tick(self) -> float:
        """Seconds of silence after which a member sends what is new."""
        return 0.4 if self.is_quick else 1.0

    @property
    def longest(self) -> float:
        """The longest wait before something is said again, in seconds."""
        return 1.0 if self.is_quick else 5.0

    @property
    def settle_within(self) -> float:
        """Seconds in which everybody must know everything, once the faults are over."""
        if self.sabotage is not None:
            return SABOTAGE_SHOWS_WITHIN
        return 60.0 if self.is_quick else 120.0

    @property
    def known_within(self) -> float:
        """Seconds after which a newcomer must know what others know. A small trial measures no time."""
        return self.settle_within if self.is_quick else 2.0

    @property
    def obeyed_within(self) -> float:
        """Seconds after which all must know what an operator has set."""
        return self.settle_within if self.is_quick else 5.0


FORGETFUL = ("disk-rolled-back", "disk-lost", "disk-lost-clock-back")
"""Scenarios after which a member says, until its next start, what its disk has forgotten."""


class Fleet:
    """Members at work. Leaving the block kills what still runs."""

    def __init__(
        self,
        plan: Plan,
        places: Mapping[str, Place],
        states: Mapping[str, Path] | None = None,
        *,
        given_away: float = 0.15,
    ) -> None:
        self.plan = plan
        self.places = dict(places)
        self.states = {name: plan.folder / f"{name}.state" for name in places} | dict(states or {})
        self._given_away = given_away
        self.declares: dict[str, tuple[str, ...]] = {}
        """Which bandits with names each member declares when it starts, if there are such bandits."""
        self.running: dict[str, Process] = {}
        self.dice = Dice(plan.seed, 1)
        self.faults = 0
        self.violations: list[str] = []
        self._began = time.monotonic()
        self._starts = 0
        self._truth_files: list[tuple[str, Path]] = []
        self._mail = Truth(frozenset(), frozenset())
        self._later: list[str] = []
        """Ids to be rewarded after a restart, or when a member that could not be reached is back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in tuple(self.running):
            self.running.pop(name).kill()

    # Life.

    def start(self, *names: str, clock_behind_s: float = 0.0) -> None:
        """Start members, all those that do not run unless named. It is a violation if one cannot be started."""
        for name in names or [name for name in self.places if name not in self.running]:
            self.running[name] = self.launch(name, clock_behind_s=clock_behind_s)
        for name in names or tuple(self.running):
            if (why := self.running[name].wait_until_started()) is not None:
                raise LocalError(f"{name} could not be started: {why}")

    def launch(
        self,
        name: str,
        *,
        clock_behind_s: float = 0.0,
        state: Path | None = None,
        place: Place | None = None,
        has_state: bool = True,
        is_relay: bool = False,
        is_patient: bool = False,
        is_nameless: bool = False,
        lease: float = 120.0,
    ) -> Process:
        """Begin to start a member. Nobody waits for it."""
        self._starts += 1
        truth = self.plan.folder / f"{self._starts}.truth"
        self._truth_files.append((name, truth))
        where = place or self.places[name]
        spec = Spec(
            url=where.url,
            group=GROUP,
            name=name,
            arms=ARMS,
            state=str(state or self.states[name]) if has_state and not is_nameless else None,
            truth=str(truth),
            seed=self.plan.seed,
            start=self._starts,
            tick=self.plan.tick,
            longest=self.plan.longest,
            rate=self.plan.rate,
            peers=where.peers,
            given_away=self._given_away,
            keys=where.keys,
            clock_behind_s=clock_behind_s,
            is_relay=is_relay or where.is_relay,
            relays=where.relays,
            is_patient=is_patient,
            is_nameless=is_nameless,
            bandits=self.declares.get(name, ()),
            lease=lease,
            sabotage=self.plan.sabotage,
        )
        return Process(spec, where.inside)

    def kill(self, name: str) -> list[str]:
        """Kill a member's process. Return which rewards it was handed that may not be on its disk."""
        process = self.running.pop(name)
        process.kill()
        self.hear_out(name, process)
        self._later += process.take_given_away()
        truth = read_truth(Path(process.spec.truth))
        return sorted(truth.handed - truth.synced)

    def close(self, name: str) -> None:
        """Let a member stop as a program stops."""
        process = self.running.pop(name)
        process.close()
        self.hear_out(name, process)
        self._later += process.take_given_away()

    def restart(self, name: str, unsure: Sequence[str], *, clock_behind_s: float = 0.0) -> None:
        """Start a member that was killed, and bring it again half of what may not be on its disk."""
        self.start(name, clock_behind_s=clock_behind_s)
        again = [token for token in unsure if self.dice.happens(0.5)]
        if again:
            self.running[name].tell(Order("reward", tuple(again)))

    # Work.

    def work(self, seconds: float) -> None:
        """Let the fleet work, and bring rewards around."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            self.bring_rewards()
            time.sleep(min(left, LOOK_EVERY))

    def bring_rewards(self, *, all_of_them: bool = False) -> None:
        """Bring the rewards of decisions that were given away: to their member, to another, into a mailbox."""
        tokens = self._later if all_of_them else []
        if all_of_them:
            self._later = []
        for process in self.running.values():
            tokens += process.take_given_away()
        for token in tokens:
            draw = self.dice.unit()
            if draw < 0.2 and not all_of_them:
                self._later.append(token)
                continue
            if draw < 0.5:
                self._mail_reward(token)
            if draw > 0.4 and self.running:
                self.running[self.dice.pick(sorted(self.running))].tell(Order("reward", (token,)))

    def take_later(self) -> list[str]:
        """Return which decisions of members that are gone were given away."""
        later, self._later = self._later, []
        return later

    def drop_given_away(self, owner: str) -> None:
        """Leave a member's decisions that were given away without a reward for ever."""
        self._later = [token for token in self._later if read(token).member != owner]

    def _mail_reward(self, token: str) -> None:
        owner = read(token).member
        try:
            reward(self.states[owner], token, reward_of(token))
        except LocalError:  # a disk that is full, or held by a process that stands still
            self._later.append(token)
            return
        self._mail = joined((self._mail, Truth(frozenset({token}), frozenset({token}))))

    def looks(self) -> dict[str, Look]:
        """Return how every member is."""
        return {name: process.look() for name, process in sorted(self.running.items())}

    def each(self, order: Order) -> None:
        """Let every member do something, and wait until all have."""
        for process in self.running.values():
            process.tell(order)
        for name, process in self.running.items():
            if (why := process.settled(order.do)) is not None:
                self.violations.append(f"{name} could not sync when all was well: {why}")

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for something. Return whether it came."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK_EVERY)
        return True

    # The end.

    def truth(self, forgiven: Sequence[str] = ()) -> Truth:
        """Return what really happened. What is forgiven was synced on a disk that is gone: it may count, or not."""
        truth = joined([self._mail, *(read_truth(path) for _, path in self._truth_files)])
        return truth._replace(synced=truth.synced - frozenset(forgiven))

    def settle(self, forgiven: Sequence[str] = ()) -> dict[str, Look]:
        """Let everybody rest, bring every reward, and wait until all know all. Return how they are then."""
        for _ in range(2):  # after the first nobody decides, so the second brings what was given away last
            self.bring_rewards(all_of_them=True)
            self.each(Order("rest"))
        bounds = self.truth(forgiven).bounds()
        looks: dict[str, Look] = {}

        def is_settled() -> bool:
            nonlocal looks
            looks = self.looks()
            if self.plan.sabotage is not None and accounts.balance(looks, bounds).twice:
                return True  # and it will not be undone
            if any(look.owes for look in looks.values()) or accounts.disagreements(looks):
                return False
            return not accounts.balance(looks, bounds).violations

        if not self.until(is_settled, self.plan.settle_within):
            self.violations.append(f"after {self.plan.settle_within:.0f} seconds not everybody knows everything")
        return looks

    def verdict(self, scenario: str, *, forgiven: Sequence[str] = (), notes: str = "", may_refuse: str = "") -> Verdict:
        """Judge the fleet, after its faults: everything counted once, everybody talking."""
        self.each(Order("rest"))
        self.each(Order("observe"))
        looks = self.settle(forgiven)
        truth = self.truth(forgiven)
        sums = accounts.balance(looks, truth.bounds())
        for name, process in self.running.items():
            self.hear_out(name, process)
        found = [
            *self.violations,
            *sums.violations[:MOST_SHOWN],
            *accounts.disagreements(looks)[:MOST_SHOWN],
            *accounts.refusals(looks.items(), may_refuse),
            *(f"{name} still owes {look.owes} rewards to others" for name, look in looks.items() if look.owes),
            *(
                f"{name} is in trouble: {what}"
                for name, look in looks.items()
                for what in look.troubles
                if not (scenario in FORGETFUL and what.startswith("the state file"))
            ),
        ]
        pairs, heard = len(looks) * (len(looks) - 1), accounts.talking(looks)
        if heard < pairs:
            found.append(f"only {heard} of {pairs} pairs talk again")
        return Verdict(
            scenario=scenario,
            members=len(looks),
            faults=self.faults,
            handed=len(truth.handed),
            synced=len(truth.synced),
            counted=sums.counted,
            lost=sums.lost,
            twice=sums.twice,
            talking=heard,
            pairs=pairs,
            seconds=time.monotonic() - self._began,
            violations=tuple(found),
            notes=notes,
        )

    def hear_out(self, name: str, process: Process) -> None:
        """Take what a process said that must never be said."""
        self.violations += [f"{name} has taken a second reward for {token}" for token in process.twice]
        self.violations += [f"{name} said: {said.text}" for said in process.said if BUG in said.text]
        process.twice.clear()
        process.said[:] = [said for said in process.said if BUG not in said.text]
