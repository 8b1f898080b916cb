"""How a member introduces itself, and learns what the others have set before its first decision."""

from typing import TYPE_CHECKING

from cobandit.live.machine import control_messages

if TYPE_CHECKING:
    from cobandit.live.machine.machine import Machine

DECLARE_WITHIN = 0.1
"""Seconds until the others hear of a declared bandit, together with all that were declared in the meantime."""


class Introduction:
    """The introductions of one member."""

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine
        self.due_at: float | None = None
        """When to introduce this member again, with more bandits."""
        self.introduced_as: tuple[int, int] | None = None
        """The session and notice of the first hello since this start. Answers to earlier ones may be old."""
        self.awaits_settings = False
        """Whether this member has just started, and does not know yet what the others have set."""
        self.settings_from: str | None = None
        """The first member to send its settings since this start; `None` if none has."""

    def look(self, now: float) -> None:
        """Do what is due."""
        if self.due_at is not None and now >= self.due_at:
            self.introduce()

    def introduce(self) -> None:
        """Announce this member to every known peer."""
        machine, terms, self.due_at = self._machine, self._machine.terms, None
        if machine.holding is not None and machine.holding.is_out_of_session:
            machine.holding.superseded()
            return
        machine.take(machine.agent.join(machine.clock.now(), is_relay=terms.is_relay, is_leaf=terms.is_leaf))
        if self.introduced_as is None:
            self.introduced_as = (machine.agent.session, machine.agent.presence.number)

    def introduce_soon(self) -> None:
        """Announce this member in a moment, so that several bandits declared in a row need only one announcement."""
        if self.due_at is None:
            self.due_at = self._machine.clock.now() + DECLARE_WITHIN

    def greet(self, peer: str) -> None:
        """Greet a peer that has become reachable, and again until it introduces itself."""
        machine = self._machine
        machine.answer_with(peer, self.hello(wants_answer=True))
        if peer not in machine.agent.peers:
            machine.discovery.greeted(peer, machine.clock.now())

    def hello(self, *, wants_answer: bool = False, answers: tuple[int, int] | None = None) -> control_messages.Hello:
        """Return this member's introduction."""
        machine, presence = self._machine, self._machine.agent.presence
        return control_messages.Hello(
            machine.terms.name,
            arms=machine.agent.arms,
            units_per_reward=presence.units_per_reward,
            session=machine.agent.session,
            notice=presence.number,
            incarnation=machine.agent.incarnation,
            controls=machine.controls.digest,
            wants_answer=wants_answer,
            answers=answers,
            is_new=self.awaits_settings,
            reads=machine.terms.versions.packets.reads,
            is_relay=presence.is_relay,
            is_leaf=presence.is_leaf,
            bandits=presence.bandits,
        )

    def heard_settings(self, sender: str) -> None:
        """Note that a member has answered and sent its settings, or that it has the same ones."""
        self.settings_from = self.settings_from or sender

    def settings_known(self) -> None:
        """Note that the wait at the start is over, and answer again the leaves that wait for this relay."""
        machine, self.awaits_settings = self._machine, False
        waiting, machine.discovery.waiting = machine.discovery.waiting, {}
        for leaf, hello in waiting.items():
            machine.answer_with(leaf, self.hello(answers=hello))
