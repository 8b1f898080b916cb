"""A machine that runs: it takes steps, writes, then sends, as the node of a live member does; relays have disks."""

from collections.abc import Callable
from functools import partial

from cobandit.live.machine.control_messages import pack
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import PenTerms, Restored, Step, Terms
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.policies import Policy
from cobandit.policies.registry import BuiltIn
from cobandit.values.tally import Arm
from lab.pen_swarm.network import Network
from lab.pen_swarm.plan import ARMS, GROUP, Plan
from lab.rebuilding import difference

SECRET = b"what outlives every disk"
_A_MOMENT = 1e-6


class Station:
    """A machine that runs under a name."""

    machine: Machine

    def __init__(
        self, plan: Plan, network: Network, process: object, stepped: Callable[["Station", Step], None]
    ) -> None:
        self.is_up = True
        self.is_copy = False
        """Whether it is a copy of a process that has given its pen back."""
        self.journal: MemoryJournal | None = None
        self.wrong: list[str] = []
        """What its records would not rebuild."""
        self.process = process
        """The process that it is in: cuts befall processes."""
        self.fuse: float | None = None
        """If it is to end at its next write: before it, or after it, with some of what is sent."""
        self.burnt: Callable[[Station], None] = lambda _: None
        self._plan, self._network = plan, network
        self._stepped = stepped
        self._batches = 0
        self._alarm: float | None = None

    def run(
        self, restored: Restored, *, name: str, is_relay: bool, began: Callable[["Station"], None] = lambda _: None
    ) -> None:
        """Begin."""
        plan = self._plan
        terms = Terms(
            name,
            GROUP,
            plan.sharing,
            partial(policy, plan, name),
            plan.expire_after,
            None,
            is_relay=is_relay,
            relays=() if restored.held is None else (restored.held.lender,),
            pens=PenTerms(SECRET if plan.keeps_secret else None, plan.lease, plan.flush_every, plan.patience),
        )
        self.machine = Machine(terms, restored, self._network)
        if plan.max_facts is not None:
            self.machine.limit_facts(plan.max_facts)
        self.machine.make_decider(None, seed=plan.seed, wake=lambda: None)
        began(self)
        self._network.doors[name].append(self)
        if self.journal is not None:
            self.journal.replace(self.machine.state(is_clean=False))
        if self.machine.leaf is not None:
            self.machine.leaf.begin()
        self.machine.introduction.introduce()
        self.machine.publish()
        for relay in plan.relays if is_relay else ():
            if relay != name:
                self.machine.introduction.greet(relay)
        self.work()

    @property
    def name(self) -> str:
        """Its name."""
        return self.machine.terms.name

    @property
    def is_giving_back(self) -> bool:
        """Whether it has told its lender that it needs its pen no more."""
        holding = self.machine.holding
        return holding is not None and holding.is_giving_back

    def receive(self, packet: bytes, sender: str) -> None:
        """Take a packet."""
        if self.is_up:
            self.work(((packet, sender),))

    def work(self, packets: tuple[tuple[bytes, str], ...] = ()) -> None:
        """Take a step; write, then send."""
        if not self.is_up:
            return
        if packets and self.machine.rewards_for_others.are_offered:
            self.work()  # as if they had come apart
        step = self.machine.step(packets)
        if self.fuse is not None and not step.is_empty:
            if self.fuse >= 0.5:
                self._write(step)
                self._send(step, int((self.fuse - 0.5) * 2.0 * len(step.outgoing)))
            self.burnt(self)
            return
        self._write(step)
        self._send(step, len(step.outgoing))
        due = self.machine.due_at()
        if due is not None:
            at = max(due - self._network.now() + self._network.time, self._network.time) + _A_MOMENT
            if self._alarm is None or at < self._alarm or self._alarm <= self._network.time:
                self._alarm = at
                self._network.at(at, self._wake)

    def _wake(self) -> None:
        if self.is_up and self._alarm is not None and self._network.time >= self._alarm:
            self._alarm = None
            self.work()

    def _write(self, step: Step) -> None:
        self._stepped(self, step)
        if self.journal is not None and not step.is_empty:
            self.journal.write([step.batch])
            self._batches += 1
            if self._batches % self._plan.batches_until_snapshot == 0:
                self.keep(self.journal, is_clean=False)

    def keep(self, journal: MemoryJournal, *, is_clean: bool) -> None:
        """Let a snapshot take the place of the records, which must say the same."""
        state = self.machine.state(is_clean=is_clean)
        wrong = difference(journal.read(), state, partial(policy, self._plan, self.name), self._plan.sharing)
        if wrong is not None:
            self.wrong.append(wrong)
        journal.replace(state)

    def _send(self, step: Step, most: int) -> None:
        for receiver, message in step.outgoing[:most]:
            self._network.carry(self.process, self.name, receiver, pack(message, GROUP), type(message).__name__)

    def die(self) -> None:
        """End here and now."""
        self.is_up = False
        doors = self._network.doors[self.name]
        if self in doors:
            doors.remove(self)


def start_relay(
    plan: Plan,
    network: Network,
    name: str,
    journal: MemoryJournal,
    stepped: Callable[[Station, Step], None],
) -> Station:
    """Start a relay from its disk."""
    station = Station(plan, network, name, stepped)
    station.journal = journal
    found = restore(
        journal,
        name=name,
        group=GROUP,
        arms=ARMS,
        build=partial(policy, plan, name),
        sharing=plan.sharing,
        clock=network,
    )
    station.run(found, name=name, is_relay=True)
    return station


def stop_relay(station: Station) -> None:
    """Stop a relay in good order."""
    assert station.journal is not None
    station.machine.take_leave()
    station.work()
    if station.is_up:
        station.keep(station.journal, is_clean=True)
        station.die()


def policy(plan: Plan, name: str, arms: tuple[Arm, ...]) -> Policy:
    """Return a fresh policy."""
    return BuiltIn(plan.policy)(arms, sum(name.encode()), plan.quantum)
