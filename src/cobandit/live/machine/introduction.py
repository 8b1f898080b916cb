"""How a member says that it is here, and hears what the others have set before it decides for the first time."""

from typing import TYPE_CHECKING

from cobandit.live.machine import control_messages

if TYPE_CHECKING:
    from cobandit.live.machine.machine import Machine

DECLARE_WITHIN = 0.1
"""Seconds after which the others hear of a bandit that was declared, and of all that were since."""


class Introduction:
    """The greetings of one member."""

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine
        self.due_at: float | None = None
        """When to say that this member is here again, with more bandits."""
        self.introduced_as: tuple[int, int] | None = None
        """The session and notice of the first hello since this start: answers to earlier ones may be old."""
        self.awaits_settings = False
        """Whether it has just started, and does not know yet what the others have set."""
        self.settings_from: str | None = None
        """Who told it the settings first, since this start; `None` if nobody has yet."""

    def look(self, now: float) -> None:
        """Do what is due."""
        if self.due_at is not None and now >= self.due_at:
            self.introduce()

    def introduce(self) -> None:
        """Say to every known peer that this member is here."""
        machine, terms, self.due_at = self._machine, self._machine.terms, None
        if machine.holding is not None and machine.holding.is_out_of_session:
            machine.holding.superseded()
            return
        machine.take(machine.agent.join(machine.clock.now(), is_relay=terms.is_relay, is_leaf=terms.is_leaf))
        if self.introduced_as is None:
            self.introduced_as = (machine.agent.session, machine.agent.presence.number)

    def introduce_soon(self) -> None:
        """Say that this member is here within a moment: of several bandits that are declared in a row, only once."""
        if self.due_at is None:
            self.due_at = self._machine.clock.now() + DECLARE_WITHIN

    def greet(self, peer: str) -> None:
        """Say to a peer that can be reached now that this member is here, and again until it is known who that is."""
        machine = self._machine
        machine.answer_with(peer, self.hello(wants_answer=True))
        if peer not in machine.agent.peers:
            machine.discovery.greeted(peer, machine.clock.now())

    def hello(self, *, wants_answer: bool = False, answers: tuple[int, int] | None = None) -> control_messages.Hello:
        """Return how this member introduces itself."""
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
        """Note that a member has answered and told its settings, or that it has no others than this one."""
        self.settings_from = self.settings_from or sender

    def settings_known(self) -> None:
        """Note that the wait of a start is over, and answer the leaves again that wait for this relay's word."""
        machine, self.awaits_settings = self._machine, False
        waiting, machine.discovery.waiting = machine.discovery.waiting, {}
        for leaf, hello in waiting.items():
            machine.answer_with(leaf, self.hello(answers=hello))
