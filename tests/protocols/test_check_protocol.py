"""The conformance suite notices every promise that is broken, and says which."""

import random
from typing import Any

import pytest

from cobandit.protocols import About, Node
from cobandit.protocols.registry import PLUG_INS
from cobandit.testing import check_protocol
from cobandit.values.checks import check_positive
from cobandit.values.tally import ArmTally

_REMEMBERED: list[int] = []


class Fair:
    """Tell everybody own news after every pull."""

    about = About(title="fair", told="They are fair", survives=frozenset({"delay", "loss", "duplication"}))

    def __init__(self, node: Node, *, size: float = 1.0) -> None:
        self.node, self.size = node, size
        check_positive("size", size)

    def observed(self, arm: str, reward: float) -> None:
        for other in self.node.neighbours:
            self.node.tell(other, self.node.news_for(other, source=self.node.position))

    def received(self, sender: int, message: Any) -> None:
        self.node.learn(message, sender)


class DrawsElsewhere(Fair):
    def observed(self, arm: str, reward: float) -> None:
        if random.random() < 0.5:
            super().observed(arm, reward)


class Remembers(Fair):
    def observed(self, arm: str, reward: float) -> None:
        _REMEMBERED.append(1)
        if len(_REMEMBERED) % 3:
            super().observed(arm, reward)


class SpeaksToAll(Fair):
    def observed(self, arm: str, reward: float) -> None:
        for other in range(self.node.agents):
            if other != self.node.position:
                self.node.send(other, [])


class CountsTwice(Fair):
    """Adds what it is told: a message that comes twice counts twice."""

    def observed(self, arm: str, reward: float) -> None:
        for other in self.node.neighbours:
            self.node.send(other, [arm, reward])

    def received(self, sender: int, message: Any) -> None:
        arm, reward = message
        self.node.policy.learn([ArmTally(arm, 1, reward, reward)])


class Invents(Fair):
    def observed(self, arm: str, reward: float) -> None:
        for other in self.node.neighbours:
            self.node.send(other, [(self.node.position, arm, 1, 1, 1)])  # as if every reward had been 1


class Breaks(Fair):
    def received(self, sender: int, message: Any) -> None:
        self.node.send(self.node.position, "me")


class TakesAnything(Fair):
    def __init__(self, node: Node, *, size: float = 1.0) -> None:
        self.node, self.size = node, size


class NamesNonsense(Fair):
    about = About(title="x", told="x", survives=frozenset({"sunshine"}))  # type: ignore[arg-type]


def test_who_keeps_every_promise_passes() -> None:
    check_protocol(Fair)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (DrawsElsewhere, "the same tape gave two different runs"),
        (Remembers, "the same tape gave two different runs"),
        (SpeaksToAll, "it did what is not allowed: the protocol of agent 0 sends to 2: its neighbours are 1, 3"),
        (CountsTwice, "it says that it survives duplication, but then: .*(counts twice|counted twice)"),
        (Invents, "never made so"),
        (Breaks, "that is itself"),
        (TakesAnything, "size was taken although it is not a number"),
        (NamesNonsense, "about.survives names 'sunshine'"),
    ],
)
def test_who_breaks_one_is_told_which(build: type[Any], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        check_protocol(build)


def test_a_refusal_of_the_simplest_world_is_told() -> None:
    class Never(Fair):
        def __init__(self, node: Node) -> None:
            super().__init__(node, size=-1.0)

    with pytest.raises(
        AssertionError, match="four agents that all know each other are refused: size must be a positive number"
    ):
        check_protocol(Never)


@pytest.mark.parametrize("word", PLUG_INS)
def test_every_protocol_of_the_registry_keeps_every_promise(word: str) -> None:
    check_protocol(PLUG_INS[word])
