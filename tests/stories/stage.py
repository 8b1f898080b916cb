"""What stories are played on: agents that run, their disks, the messages under way, and what must always hold."""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations

from tests.stories.words import message_in_words, outcome_in_words

from cobandit import AAE, UCB, Agent, on_demand
from cobandit.codec import decode, decode_record, decode_snapshot, encode, encode_snapshot
from cobandit.core import Message, Notice, Outcome, Share, Sharing
from cobandit.core.invariants import endpoint_violations
from cobandit.policies import Policy
from cobandit.values.errors import PeerError
from cobandit.values.tally import ArmTally
from lab.pairs import lasting, pair_violations
from lab.swarm.checks import (
    deadlock,
    incompleteness,
    unknown_earlier_incarnations,
    untrue_acknowledgement,
    untrue_cells,
    untrue_holding,
    wrong_totals,
)
from lab.swarm.disk import Disk
from lab.swarm.history import History, plainly

WRONG = "WRONG: "


class Process:
    """An agent that runs, or did, and its disk."""

    def __init__(self, label: str, agent: Agent) -> None:
        self.label, self.agent = label, agent
        self.disk = self.saved = Disk(encode_snapshot(agent.snapshot()), forgets=False)
        self.is_running = True


class Stage:
    """Agents, and what is between them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 0.0
        self.processes: dict[str, Process] = {}
        self.arms: dict[str, tuple[str, ...]] = {}
        self.sent: list[Message] = []
        self.reasons: dict[str, list[frozenset[str]]] = {}
        """For each arm, which arms those served who have ruled it out themselves, when they did."""
        self.under_way: list[int] = []
        self.lost: set[int] = set()
        self.is_orderly = True
        """Whether nothing was lost, and nothing held back: only then is the paper right about what is under way."""
        self.returns = 0
        self.sessions = 0
        self.sharing: Sharing = on_demand()
        self.policy: type[UCB | AAE] = UCB
        self.history = History()

    def violations(self) -> list[str]:
        """Return what does not hold."""
        wrong: list[str] = []
        for process in self._all_running():
            agent = process.agent
            wrong += endpoint_violations(agent.endpoint) + wrong_totals(agent, self.history)
            wrong += untrue_holding(process.label, agent.endpoint.replica, self.history)
            if lasting(self._restored(process.disk, agent.name).snapshot()) != lasting(agent.snapshot()):
                wrong.append(f"{process.label} would not be restored as it is")
        names = [process.agent.name for process in self._all_running()]
        single = [one.agent.endpoint for one in self._all_running() if names.count(one.agent.name) == 1]
        for one, other in combinations(single, 2):
            there, back = one.links.get(other.name), other.links.get(one.name)
            if there is None or back is None or not (there.peer.is_present and back.peer.is_present):
                continue
            if self.sharing.retry is not None:
                wrong += deadlock(one, other) + untrue_acknowledgement(one, other) + untrue_acknowledgement(other, one)
            elif self.is_orderly:
                said = [self.sent[number - 1] for number in self.under_way]
                shares = [share for share in said if isinstance(share, Share)]
                between = [share for share in shares if {share.sender, share.receiver} == {one.name, other.name}]
                wrong += pair_violations(one, other, between, rejoins=self.returns)
        return wrong

    def lacks(self) -> list[str]:
        """Return who lacks what, and who owes whom."""
        agents = [process.agent for process in self._all_running()]
        wrong = incompleteness(agents, arms_change=True) + unknown_earlier_incarnations(agents)
        for one, other in permutations(agents, 2):
            wrong += [f"{one.name} owes {other.name}"] * one.peers.link(other.name).owes
        return wrong

    # What commands are made of.

    def _start(self, name: str, arms: str) -> None:
        self.arms[name] = tuple(arms.split(","))
        self.processes[name] = Process(name, Agent(name, self._policy(self.arms[name]), self.sharing))

    def _policy(self, arms: Sequence[str]) -> Policy:
        return self.policy(arms, alpha=1.0, quantum=1.0)

    def _restored(self, disk: Disk, name: str) -> Agent:
        snapshot, records = decode_snapshot(disk.snapshot), map(decode_record, disk.records)
        policy = self._policy(tuple(dict.fromkeys((*snapshot.endpoint.arms, *self.arms[name]))))
        return Agent.restore(snapshot, records, policy=policy, sharing=self.sharing)

    def _running(self, label: str) -> Process:
        process = self.processes[label]
        if not process.is_running:
            raise KeyError(label)
        return process

    def _all_running(self) -> list[Process]:
        return [process for process in self.processes.values() if process.is_running]

    def _introduce_others(self, label: str) -> None:
        for peer in self.arms:
            if peer != self._running(label).agent.name:
                self._introduce(label, peer)

    def _introduce(self, label: str, peer: str, arms: str = "") -> None:
        names = arms.split(",") if arms else self.arms[peer]
        self._input(label, lambda agent: agent.peer_joined(peer, names, self.now))

    def _at(self, time: float, act: Callable[[], None]) -> None:
        self.now, before = time, len(self.lines)
        act()
        if len(self.lines) > before:
            self.lines.insert(before, f"at {time:g}:")

    def _wake(self, label: str) -> None:
        self._input(label, lambda agent: agent.wake(self.now))

    def _observe(self, label: str, tallies: Sequence[ArmTally]) -> None:
        agent = self._running(label).agent
        outcome = agent.update_all(tallies, self.now)
        for arm, count, total, _ in tallies:
            for place in range(count):
                self.history.observe(agent.name, agent.incarnation, plainly(arm), int(place < total))
        self._take(self._running(label), outcome)

    def _deliver(self, number: int, label: str | None = None) -> None:
        if number in self.lost:
            raise KeyError(number)
        message = self.sent[number - 1]
        if number in self.under_way:
            self.under_way.remove(number)
        process = self.processes[label or message.receiver]
        if process.is_running:
            self._hear(process, decode(encode(message)), str(number))
        else:
            self.lines.append(f"{process.label} is not there to hear {number}")

    def _hear(self, process: Process, message: Message, called: str) -> None:
        before = process.agent.snapshot()
        try:
            outcome = process.agent.receive(message, self.now)
        except PeerError as error:
            self.lines.append(f"{process.label} refuses {called}: {error}")
            if process.agent.snapshot() != before:
                self.lines.append(f"{WRONG}{process.label} refused it, and changed")
        else:
            self._take(process, outcome, f"hears {called}")

    def _input(self, label: str, act: Callable[[Agent], Outcome]) -> None:
        process = self._running(label)
        self._take(process, act(process.agent))

    def _take(self, process: Process, outcome: Outcome, *effects: str) -> None:
        """Do what the contract says: persist the records, and send the messages."""
        process.disk.append(outcome.records)
        if effects := (*effects, *outcome_in_words(outcome)):
            self.lines.append(f"{process.label} {', '.join(effects)}")
        served = frozenset(process.agent.arms)
        for arm in outcome.ruled_out:
            if not any(reason <= served for reason in self.reasons.get(arm, ())):
                self.lines.append(f"{WRONG}{process.label} drops {arm} because of arms that it does not serve")
        for message in outcome.outgoing:
            self.sent.append(message)
            if isinstance(message, Notice):
                for arm in (arm for told in message.changes.eliminations for arm in told.arms):
                    self.reasons.setdefault(arm, []).append(served)
            self.under_way.append(len(self.sent))
            self.lines.append(f"{len(self.sent)}> {message_in_words(message)}")
            told = message.changes.cells if isinstance(message, Share) else ()
            self.lines += [
                WRONG + wrong for cells in told for wrong in untrue_cells(cells, message.receiver, self.history)
            ]
        if outcome.wake_at != process.agent.wake_at:
            self.lines.append(f"{WRONG}the outcome says to wake at {outcome.wake_at}, not {process.agent.wake_at}")
