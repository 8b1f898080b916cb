"""The wait at a start: who could not say in time that it is here takes nobody's silence for an answer."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from cobandit.live.drive import first_settings
from cobandit.live.drive.first_settings import FirstSettings
from cobandit.live.log_events import LogEvent


class Start:
    """One start, with a network and a machine of which only what the wait looks at is there."""

    def __init__(self, *, has_announced: bool, is_connecting: bool = False) -> None:
        self.said: list[tuple[int, LogEvent]] = []
        self.machine: Any = SimpleNamespace(
            introduction=SimpleNamespace(settings_from=None, settings_known=lambda: None),
            leaf=None,
            peers=(),
            controls="none",
            discovery=SimpleNamespace(newcomers=set(), unanswered=()),
            alerts=SimpleNamespace(say=lambda level, event, _text: self.said.append((level, event))),
        )
        self.transport: Any = SimpleNamespace(is_alone=False, is_connecting=is_connecting)
        self.sending: Any = SimpleNamespace(has_announced=has_announced)
        self.wait = FirstSettings(self.machine, self.transport, self.sending)  # type: ignore[arg-type]

    async def looks(self) -> None:
        for _ in range(5):
            self.wait.look()
            await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def first_second_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_settings, "ALONE_AFTER", 0.0)
    monkeypatch.setattr(first_settings, "ANSWERED_WITHIN", 3600.0)


@pytest.mark.parametrize(("has_announced", "is_connecting"), [(False, False), (True, True)])
def test_who_says_late_that_it_is_here_waits_for_an_answer(has_announced: bool, is_connecting: bool) -> None:
    async def scene() -> Start:
        start = Start(has_announced=has_announced, is_connecting=is_connecting)
        task = asyncio.create_task(start.wait.hear())
        await start.looks()
        start.sending.has_announced, start.transport.is_connecting = True, False  # now it is said
        await start.looks()
        start.machine.discovery.newcomers, start.machine.peers = {"new"}, ("new",)  # and one answers that is new too
        await start.looks()
        assert not task.done()
        start.machine.introduction.settings_from = "old"
        await start.looks()
        await task
        return start

    assert asyncio.run(scene()).said == [(logging.INFO, LogEvent.SETTINGS_TOLD)]


def test_who_said_so_in_time_and_reached_nobody_is_alone() -> None:
    async def scene() -> Start:
        start = Start(has_announced=True)
        await start.wait.hear()
        return start

    assert asyncio.run(scene()).said == [(logging.INFO, LogEvent.STARTS_ALONE)]


def test_who_never_reached_its_server_does_not_say_that_nobody_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_settings, "ANSWERED_WITHIN", 0.0)

    async def scene() -> Start:
        start = Start(has_announced=True, is_connecting=True)
        await start.wait.hear()
        return start

    assert asyncio.run(scene()).said == [(logging.WARNING, LogEvent.SETTINGS_NOT_TOLD)]
