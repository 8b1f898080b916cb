"""Nodes of a plug-in as the readable engine drives them: with the same methods as agents of the core.

The engine owns time, randomness, rewards and the network. This file owns what surrounds a call of the protocol: before
it, own pulls are counted and messages are decoded; after it, the protocol's messages are taken out.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from cobandit.policies import UCB, Policy
from cobandit.protocols.node import Node, Note, decoded
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario.scenario import Scenario, peers_of_all, place_of
from cobandit.scenario.tape import Stream, Tape
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class Said(NamedTuple):
    """The result of one input of a node, like `cobandit.core.Outcome` for an agent."""

    outgoing: tuple[Note, ...] = ()
    wake_at: float | None = None


class Produced(Protocol):
    """What the engine uses of an outcome: messages, and when to wake."""

    @property
    def outgoing(self) -> Sequence[Any]:
        """The messages to send, in order."""

    @property
    def wake_at(self) -> float | None:
        """When to wake the actor, if at all."""


class Actor(Protocol):
    """What the engine drives: an `Agent`, or a node of a plug-in."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that it can pull."""

    @property
    def policy(self) -> Policy:
        """What is known, and how to choose."""

    @property
    def wake_at(self) -> float | None:
        """When it wants to be woken."""

    def select_arm(self) -> Arm:
        """Return the arm to pull next."""

    def update(self, arm: Arm, reward: float, now: float | None = None) -> Produced:
        """Take the reward of a pull."""

    def receive(self, message: Any, now: float | None = None) -> Produced:  # noqa: ANN401  # its own kind of message
        """Take a message."""

    def wake(self, now: float) -> Produced:
        """Wake up, at the time that it asked for."""

    def leave(self) -> Produced:
        """Say farewell."""

    def join(self, now: float | None = None, *, is_relay: bool = False, is_leaf: bool = False) -> Produced:
        """Announce its return."""


def meet_plugged(scenario: Scenario, plugged: PlugIn, tape: Tape) -> "list[PluggedNode]":
    """Build the nodes of a plug-in: the agents, and then the hubs. All know their neighbours."""
    names = [scenario.node_name(position) for position in range(scenario.node_count)]
    places = {name: position for position, name in enumerate(names)}
    graph = peers_of_all(scenario)
    nodes = []
    for position in range(scenario.node_count):
        place = place_of(scenario, position, names, tape.key(position, Stream.PROTOCOL), graph)
        policy: Policy = UCB(scenario.arms.names, quantum=scenario.arms.quantum)  # a hub never decides
        if position < len(scenario.agents):
            policy = scenario.new_policy(position, tape.policy_seed(position))
        nodes.append(PluggedNode(Node(place, policy), plugged, places))
    return nodes


class PluggedNode:
    """One node with its instance of the protocol."""

    def __init__(self, node: Node, plugged: PlugIn, places: dict[str, int]) -> None:
        self.node = node
        self.protocol = plugged(node)
        self.name, self.arms, self.policy = node.name, node.arms, node.policy
        self._places = places
        for optional in ("select_arm", "tick", "left", "joined"):
            if not callable(getattr(self.protocol, optional, _nothing)):
                raise LocalError(f"{optional} of {plugged.about.title} must be a method")
        self._select = getattr(self.protocol, "select_arm", node.policy.select_arm)

    @property
    def wake_at(self) -> float | None:
        """When it wants to be woken."""
        return self.node.wake_at

    def select_arm(self) -> Arm:
        """Return the arm chosen by the protocol, or by its policy."""
        arm = self._select()
        if arm not in self.arms:
            raise LocalError(f"the protocol of agent {self.name} chose {arm!r}: its arms are {', '.join(self.arms)}")
        return str(arm)

    def update(self, arm: Arm, reward: float, now: float | None = None) -> Said:
        """Count an own pull, and pass it to the protocol."""
        units = self.policy.quantum.units(reward)
        self.policy.update_units(arm, units)
        self.node.ledger.add(self.node.position, arm, units, self.policy.quantum.square(units))
        return self._call(now, self.protocol.observed, arm, reward)

    def receive(self, note: Note, now: float | None = None) -> Said:
        """Pass a message to the protocol, or note that a node is away or back."""
        sender = self._places[note.sender]
        if note.presence is not None:
            return self.notice(sender, now, is_here=note.presence)
        return self._call(now, self.protocol.received, sender, decoded(note))

    def notice(self, other: int, now: float | None, *, is_here: bool) -> Said:
        """Note that a neighbour is away or back."""
        node = self.node
        here = {*node.here, other} if is_here else {*node.here} - {other}
        node.here = tuple(neighbour for neighbour in node.neighbours if neighbour in here)
        return self._call(now, getattr(self.protocol, "joined" if is_here else "left", _nothing), other)

    def wake(self, now: float) -> Said:
        """Call `tick` at the time that the protocol asked for."""
        self.node.wake_at = None
        return self._call(now, getattr(self.protocol, "tick", _nothing))

    def leave(self) -> Said:
        """Say farewell to the neighbours."""
        self.node.announce(is_here=False)
        return Said(self.node.take())

    def join(self, now: float | None = None, *, is_relay: bool = False, is_leaf: bool = False) -> Said:
        """Announce its return. A hub sends nothing: its neighbours notice."""
        del is_leaf
        if not is_relay:
            self.node.announce(is_here=True)
        return self._call(now, _nothing)

    def _call(self, now: float | None, method: Any, *arguments: object) -> Said:  # noqa: ANN401  # of anybody's class
        self.node.slot = int(now or 0)
        method(*arguments)
        return Said(self.node.take(), self.node.wake_at)


def _nothing(*_: object) -> None:
    """Replaces a method that a protocol does not have."""
