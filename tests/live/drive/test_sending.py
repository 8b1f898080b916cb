"""When a member announces itself again: ever less often, and a leaf that its relays answer only every ten minutes."""

from types import SimpleNamespace
from typing import Any

import pytest

from cobandit.live.drive.sending import LONGEST_BETWEEN_ANNOUNCEMENTS, Sending

NOTHING: Any = SimpleNamespace(outgoing=[])


class Scene:
    """A leaf, or a member of a mesh, of which only the announcements are real."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, homes: SimpleNamespace | None) -> None:
        self.now, self.announced, self.greeted = 100.0, list[float](), list[float]()
        machine: Any = SimpleNamespace(
            clock=SimpleNamespace(now=lambda: self.now),
            leaf=None if homes is None else SimpleNamespace(homes=homes),
            terms=SimpleNamespace(name="web-1"),
            succession=SimpleNamespace(superseded_by=None),
            introduction=SimpleNamespace(hello=lambda: "hello"),
        )
        transport: Any = SimpleNamespace(announce=lambda _: self.announced.append(self.now))
        self.sending = Sending(machine, transport)
        monkeypatch.setattr(self.sending, "packed", lambda *_: b"packet")
        monkeypatch.setattr(self.sending, "ask", lambda *_: self.greeted.append(self.now))

    def run(self, until: float) -> None:
        while self.sending.due_at is not None and self.sending.due_at <= until:
            self.now = max(self.now, self.sending.due_at)
            self.sending.send(NOTHING)


def homes(*, are_all_talking: bool) -> SimpleNamespace:
    talking = ("r1",) if are_all_talking else ()
    return SimpleNamespace(takes_any=True, talking=talking, are_all_talking=are_all_talking)


def test_who_has_no_relay_yet_announces_itself_ever_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    for relays in (None, homes(are_all_talking=False)):
        scene = Scene(monkeypatch, relays)
        scene.sending.announce_soon()
        scene.run(until=200.0)
        assert scene.announced == [100.0, 102.0, 106.0, 114.0, 130.0, 162.0]


def test_a_leaf_whose_relays_answer_announces_itself_once_and_then_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, homes(are_all_talking=True))
    scene.sending.announce_soon()
    scene.run(until=100.0 + 2.0 * LONGEST_BETWEEN_ANNOUNCEMENTS)
    assert scene.announced == scene.greeted == [100.0, 700.0, 1300.0]
    scene.sending.announce_soon()  # it is connected anew: at once, whoever answers
    scene.run(until=scene.now + 100.0)
    assert scene.announced == [100.0, 700.0, 1300.0, 1300.0]


def test_what_is_said_within_a_moment_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, None)
    for _ in range(3):
        scene.sending.announce_soon(0.5)
        scene.sending.send(NOTHING)
        scene.now += 0.125
    scene.run(until=101.0)
    assert scene.announced == [100.5]
    scene.sending.announce_soon(0.5)
    scene.sending.announce_soon()  # that one need not wait
    scene.run(until=102.0)
    assert scene.announced == [100.5, 100.5]
