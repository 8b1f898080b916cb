"""When a process changes its pen, with relays and nodes that only play their part."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from cobandit.live.auth.proof import Proof
from cobandit.live.drive import pen_asking, pens
from cobandit.live.drive.pen_asking import PenAsker, Wanted
from cobandit.live.drive.pens import PenKeeper
from cobandit.live.machine.control_messages import PenAsked, PenLent, pack, unpack
from cobandit.live.machine.holding import Leftovers
from cobandit.live.transports.base import Inbox, Transport

GROUP = "g"


class Played:
    """A node that wants another pen at once, and does nothing more once it is abandoned."""

    def __init__(self, name: str, said: list[str]) -> None:
        self.name, self.pen_wanted, self.wants_pen, self.is_lender_silent = name, asyncio.Event(), True, False
        alerts = SimpleNamespace(
            say=lambda *told: said.append(told[2]), say_once=lambda *told: said.append(told[2]), trouble=None
        )
        holding = SimpleNamespace(leftovers=Leftovers, bring=None, is_out_of_session=False)
        terms, bandits = SimpleNamespace(name=name), SimpleNamespace(declared={})
        self.machine: Any = SimpleNamespace(alerts=alerts, holding=holding, terms=terms, bandits=bandits)
        self.pen_wanted.set()

    async def abandon(self) -> Leftovers:
        return Leftovers(unacknowledged=(("r", "id", 1.0),))


class Relays:
    """What the asker hears, and what becomes of each start, in turn."""

    def __init__(self, answers: list[str | None], starts: list[Exception | None]) -> None:
        self._answers, self._starts = answers, starts
        self.said: list[str] = []
        self.began: list[tuple[str, Leftovers | None]] = []

    def asker(self, _: object) -> Any:
        async def ask(*_: object) -> Any:
            await asyncio.sleep(0)
            pen = self._answers.pop(0)
            return pen and SimpleNamespace(answer=SimpleNamespace(pen=pen), place="r")

        return SimpleNamespace(ask=ask, refusal=None, prefix="")

    async def begin(self, _: str | None, lent: Any, leftovers: Leftovers | None) -> Any:
        trouble = self._starts.pop(0)
        if trouble is not None:
            raise trouble
        self.began.append((lent.answer.pen, leftovers))
        return Played(lent.answer.pen, self.said)


@pytest.mark.parametrize("trouble", [OSError("no socket is free"), RuntimeError("whatever")])
def test_a_process_that_has_left_a_pen_takes_another_whatever_goes_wrong_first(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    monkeypatch.setattr(pens, "TRY_AGAIN_AFTER", 0.0)
    relays = Relays(["r~1-1", "r~1-2", None, "s~1-1"], [None, trouble, None])

    async def run() -> None:
        keeper, moved = PenKeeper(relays.asker, relays.begin), asyncio.Event()
        keeper.moved = lambda _: moved.set()
        await keeper.start()
        async with asyncio.timeout(60.0):
            await moved.wait()
        await keeper.end()

    asyncio.run(run())
    assert relays.began == [("r~1-1", None), ("s~1-1", Leftovers(unacknowledged=(("r", "id", 1.0),)))]


def test_a_process_that_ends_without_another_pen_says_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pens, "END_WITHIN", 0.0)
    relays = Relays(["r~1-1", "r~1-2"], [None, OSError("no socket is free")])

    async def run() -> None:
        keeper = PenKeeper(relays.asker, relays.begin)
        await keeper.start()
        async with asyncio.timeout(60.0):
            while not relays.said:  # noqa: ASYNC110  # a list has no event
                await asyncio.sleep(0)
        await keeper.end()

    asyncio.run(run())
    assert relays.said == [
        "no other pen can be taken: no socket is free",
        "stops before a relay has lent it another pen: 1 reward may count nowhere",
    ]


class LateFirst(Transport):
    """Two relays behind a server. Whoever is asked first answers only when the other one is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        del name, group
        self._inbox = inbox

    def send(self, receiver: str, frame: bytes) -> bool:
        self.asked.append(receiver)
        first = self.asked[0]
        if receiver != first:
            asked = unpack(frame, GROUP)
            assert isinstance(asked, PenAsked)
            lent = PenLent(first, asked.nonce, f"{first}~1-1", 2, 0, b"key", (), (), 1, 0, (), 120.0)
            self._inbox.frame(pack(lent, GROUP), first)
        return True

    def announce(self, frame: bytes) -> None:
        del frame

    async def close(self) -> None:
        pass


def test_an_answer_that_is_late_is_of_the_relay_that_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pen_asking, "EACH_WITHIN", 0.01)
    transport = LateFirst()
    lent = asyncio.run(PenAsker(Wanted(transport, GROUP, ("r", "s"), Proof(), ("A",), 1)).ask(10.0))
    assert lent is not None
    assert (lent.answer.sender, lent.place) == (transport.asked[0], transport.asked[0])
