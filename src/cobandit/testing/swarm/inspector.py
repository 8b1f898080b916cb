"""Looks at everything that happens, and calls the checks: after every event where they are cheap, else at the end."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from cobandit.core import AgentId, Message, Share
from cobandit.core.delivery import Patience
from cobandit.core.invariants import endpoint_violations
from cobandit.core.ledger import Origin
from cobandit.testing.swarm.checks import (
    Pace,
    ShareCounts,
    deadlock,
    incompleteness,
    unknown_former_boots,
    untrue_holding,
    untrue_record,
    wrong_totals,
)
from cobandit.testing.swarm.checks.pace import endless_chain
from cobandit.testing.swarm.history import History
from cobandit.testing.swarm.process import Process


class Inspector:
    """Knows what really happened, and compares."""

    def __init__(self, patience: Patience, *, arms_change: bool = False) -> None:
        self._arms_change = arms_change
        self.history = History()
        self.counts = ShareCounts()
        self.violations: list[str] = []
        self._paces: defaultdict[tuple[AgentId, int, AgentId], Pace] = defaultdict(lambda: Pace(patience))

    def observed(self, process: Process, arm: str, units: int) -> None:
        """Take it that a process is about to observe something."""
        life = self.history.of(process.name, process.boot)
        version = process.agent.endpoint.ledger.version
        if life.version != version:
            self.violations.append(f"{process.name}, boot {process.boot}, makes observation {version + 1} again")
        life.observe(arm, units)

    def started(self, name: AgentId) -> None:
        """Take it that an agent was started again, or came back."""
        self.counts.starts[name] += 1
        self.disturbed(name)

    def disturbed(self, name: AgentId) -> None:
        """Take it that an agent has a reason to speak earlier: a start, an elimination, a clock that was set."""
        for (sender, _, _), pace in self._paces.items():
            if sender == name:
                pace.begin()

    def heard(self, process: Process, message: Message) -> None:
        """Take it that a process has taken a message."""
        self._paces[process.name, process.boot, message.sender].begin()
        if isinstance(message, Share):
            ledger, links = process.agent.endpoint.ledger, process.endpoint.links
            if any(record.agent == process.name for record in message.records):
                self.disturbed(process.name)  # what it has learned of itself, it has to tell everyone
            for record in message.records:
                origin = Origin(record.agent, record.boot)
                is_over = record.agent == process.name or record.boot != links[record.agent].delivery.peer_boot
                self.violations += untrue_holding(process.name, ledger, origin, self.history, is_over=is_over)

    def sends(self, process: Process, message: Message, now: float, *, chain: int) -> None:
        """Take it that a process sends a message; `chain` counts how many went before that it follows from."""
        if chain:
            self.violations += endless_chain(chain)
        if not isinstance(message, Share) or message.handling is None:
            return
        sender, receiver = message.sender, message.receiver
        if not message.handling.attempt:
            self.counts.fresh[sender, receiver] += 1
            self.violations += self.counts.one_sided(sender, receiver)
            self._paces[sender, process.boot, receiver].begin(now)
        elif not chain:
            self.violations += self._paces[sender, process.boot, receiver].repeat(sender, receiver, now)
        for record in message.records:
            is_over = (record.agent, record.boot) != (sender, message.handling.boot)
            self.violations += untrue_record(record, self.history, is_over=is_over)

    def after(self, process: Process, others: Iterable[Process]) -> None:
        """Look at a process to which something happened, and at its pairs."""
        self.violations += wrong_totals(process.agent)
        for other in others:
            if other.name != process.name:
                self.violations += deadlock(process.endpoint, other.endpoint)

    def at_rest(self, processes: Sequence[Process]) -> None:
        """Look at everyone who is here when it is quiet."""
        agents = [process.agent for process in processes]
        for process in processes:
            self.violations += endpoint_violations(process.agent.endpoint)
            for origin in process.agent.endpoint.ledger.held:
                self.violations += untrue_holding(
                    process.name, process.agent.endpoint.ledger, origin, self.history, is_over=True
                )
            self.after(process, processes)
        for one in agents:
            for other in agents:
                if one is not other:
                    self.violations += self.counts.beyond_theorem_2(one.endpoint, other.endpoint)
        self.violations += incompleteness(agents, arms_change=self._arms_change) + unknown_former_boots(agents)
