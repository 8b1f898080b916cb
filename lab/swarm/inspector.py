"""Looks at everything that happens, and calls the checks: after every event where they are cheap, else at the end."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cobandit.core import AgentId, Bandit, Message, Share
from cobandit.core.invariants import endpoint_violations
from cobandit.core.retransmit import RetryTimers
from lab.swarm.checks import (
    Pace,
    ShareCounts,
    deadlock,
    held_of_another,
    incompleteness,
    lost_in_window,
    not_passed_on,
    told_in_vain,
    unfollowed,
    unknown_earlier_incarnations,
    untrue_acknowledgement,
    untrue_cells,
    untrue_holding,
    wrong_totals,
)
from lab.swarm.checks.pace import endless_chain
from lab.swarm.history import History, Where
from lab.swarm.process import Process


class Inspector:
    """Knows what really happened, and compares."""

    def __init__(
        self,
        patience: RetryTimers,
        *,
        arms_change: bool = False,
        definitions: Mapping[AgentId, Sequence[Bandit]] | None = None,
    ) -> None:
        self._arms_change = arms_change
        self._definitions = definitions or {}
        """How each agent declares bandits with names."""
        self.history = History()
        self.counts = ShareCounts()
        self.violations: list[str] = []
        self._paces: defaultdict[tuple[AgentId, int, AgentId], Pace] = defaultdict(lambda: Pace(patience))

    def observed(self, process: Process, observations: Sequence[tuple[Where, int]]) -> None:
        """Note that a process is about to observe something: where, and with which rewards."""
        made = process.endpoint.replica.observations
        if self.history.of(process.name, process.incarnation).observations != made:
            self.violations.append(
                f"{process.name}, incarnation {process.incarnation}, makes observation {made + 1} again"
            )
        for where, units in observations:
            self.history.observe(process.name, process.incarnation, where, units)

    def turned(self, name: AgentId) -> None:
        """Note that a period has begun at an agent, which then counts its shares from the first again."""
        self.counts.starts[name] += 1

    def started(self, name: AgentId) -> None:
        """Note that an agent was started again, or came back."""
        self.counts.starts[name] += 1
        self.disturbed(name)

    def disturbed(self, name: AgentId) -> None:
        """Note that an agent has a reason to speak earlier: a start, an elimination, a clock that was set."""
        for (sender, _, _), pace in self._paces.items():
            if sender == name:
                pace.begin()

    def heard(self, process: Process, message: Message) -> None:
        """Note that a process has taken a message."""
        self._paces[process.name, process.endpoint.session, message.sender].begin()
        if isinstance(message, Share):
            is_relay = process.endpoint.members.is_relay
            if any(is_relay or told.agent == process.name for told in message.changes.cells):
                self.disturbed(process.name)  # what it has learned of itself, it has to tell everyone; a relay all
            self.violations += untrue_holding(process.name, process.endpoint.replica, self.history)
            self.violations += held_of_another(process.agent, self._definitions)

    def sends(self, process: Process, message: Message, now: float, *, chain: int) -> None:
        """Note that a process sends a message; `chain` counts how many went before that it follows from."""
        if chain:
            self.violations += endless_chain(chain)
        if not isinstance(message, Share):
            return
        sender, receiver, session = message.sender, message.receiver, process.endpoint.session
        if message.is_fresh:
            self.counts.fresh[sender, receiver] += 1
            self.violations += self.counts.one_sided(sender, receiver)
            self._paces[sender, session, receiver].begin(now)
        elif not chain:
            self.violations += self._paces[sender, session, receiver].repeat(sender, receiver, now)
        for told in message.changes.cells:
            self.violations += untrue_cells(told, message.receiver, self.history)
        self.violations += told_in_vain(process.endpoint, message)

    def after(self, process: Process, others: Iterable[Process]) -> None:
        """Look at a process to which something happened, and at its pairs."""
        self.violations += wrong_totals(process.agent, self.history)
        for other in others:
            if other.name != process.name:
                self.violations += deadlock(process.endpoint, other.endpoint)
                self.violations += untrue_acknowledgement(process.endpoint, other.endpoint)
                self.violations += unfollowed(process.endpoint, other.endpoint)

    def at_rest(self, processes: Sequence[Process]) -> None:
        """Look at everyone who is here when it is quiet."""
        agents = [process.agent for process in processes]
        for process in processes:
            self.violations += endpoint_violations(process.agent.endpoint)
            self.violations += untrue_holding(process.name, process.endpoint.replica, self.history)
            self.violations += lost_in_window(process.agent, self.history)
            self.after(process, processes)
        for one in agents:
            for other in agents:
                if one is not other:
                    self.violations += self.counts.beyond_theorem_2(one.endpoint, other.endpoint)
        self.violations += incompleteness(agents, arms_change=self._arms_change) + unknown_earlier_incarnations(agents)
        self.violations += not_passed_on(agents)
