"""Broken variants of pens: each leaves out one thing, and fleets of relays and pods must notice.

Every variant is a small change that looks harmless. With it something is counted twice, or lost, in a world that is
fine otherwise.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cobandit.core import Endpoint, parts, settled, snapshots
from cobandit.core.facts import CellKey
from cobandit.core.pens import Book, Pen, Phase, Whose
from cobandit.core.replica import Replica
from cobandit.core.speech import Speech
from cobandit.core.state import EndpointState
from cobandit.live.machine.holding import Holding
from cobandit.live.machine.lending import Lending
from cobandit.values.errors import CobanditError
from lab.pen_swarm import run_seed

Break = Callable[[pytest.MonkeyPatch], None]
VARIANTS: dict[str, Break] = {}
SEEDS: dict[str, Sequence[int]] = {}


def variant(name: str, *seeds: int) -> Callable[[Break], Break]:
    """Give a variant its name, and say which seeds notice."""

    def named(change: Break) -> Break:
        VARIANTS[name], SEEDS[name] = change, seeds
        return change

    return named


@variant("a pen is handed on before all is acknowledged", 18)
def _(patch: pytest.MonkeyPatch) -> None:
    give_back = Holding._give_back

    def changed(self: Holding, now: float) -> None:
        patch.setattr(self._machine.agent.peers, "last_wanted_by", lambda _: 0)
        give_back(self, now)

    patch.setattr(Holding, "_give_back", changed)


@variant("a pen is lent to two at once", 0)
def _(patch: pytest.MonkeyPatch) -> None:
    lend = Book.lend

    def changed(self: Book, nonce: bytes, *arguments: Any, **more: Any) -> Pen | None:
        held = next((pen for pen in self.pens.values() if pen.phase == Phase.LENT.value), None)
        return lend(self, nonce if held is None else held.nonce, *arguments, **more)

    patch.setattr(Book, "lend", changed)


@variant("what an ended pen reports late is merged", 3)
def _(patch: pytest.MonkeyPatch) -> None:
    hears = Book.hears

    def changed(self: Book, name: str, session: int, now: float) -> bool:
        pen = self.pens.get(name)
        return hears(self, name, session, now) or (pen is not None and pen.session == session)

    patch.setattr(Book, "hears", changed)


@variant("settled numbers come in another message than their cells", 27)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parts, "_is_of_pen", lambda _: False)
    patch.setattr(Speech, "next_part", lambda *_: ())  # what is left waits for the next share


@variant("the gate does not look whether a decision is settled", 0)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settled, "is_settled", lambda *_: False)


@variant("the lender adopts decisions while their holder has them", 0)
def _(patch: pytest.MonkeyPatch) -> None:
    whose = Book.whose

    def changed(self: Book, name: str) -> Whose:
        found = whose(self, name)
        return Whose.LENDER if found is Whose.HOLDER else found

    patch.setattr(Book, "whose", changed)


@variant("a relay that has lost its disk adopts at once", 0)
def _(patch: pytest.MonkeyPatch) -> None:
    whose = Book.whose

    def changed(self: Book, name: str) -> Whose:
        found = whose(self, name)
        return Whose.LENDER if found is Whose.NOBODY_YET else found

    patch.setattr(Book, "whose", changed)


@variant("a relay that has lost its disk lends the same names again", 0)
def _(patch: pytest.MonkeyPatch) -> None:
    lend = Book.lend

    def changed(self: Book, nonce: bytes, _: int, *arguments: Any, **more: Any) -> Pen | None:
        return lend(self, nonce, 7, *arguments, **more)

    patch.setattr(Book, "lend", changed)


@variant("the session of a holder is not checked", 12)
def _(patch: pytest.MonkeyPatch) -> None:
    hears = Book.hears

    def changed(self: Book, name: str, session: int, now: float) -> bool:
        pen = self.pens.get(name)
        return hears(self, name, session if pen is None else pen.session, now)

    patch.setattr(Book, "hears", changed)


@variant("a new holder gives out numbers that an earlier one gave out", 0)
def _(patch: pytest.MonkeyPatch) -> None:
    close = Book.close
    patch.setattr(Book, "close", lambda self, name, _, *more: close(self, name, 0, *more))


@variant("a holder goes on counting while it gives its pen back", 139)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Holding, "is_giving_back", property(lambda _: False, lambda *_: None), raising=False)
    patch.setattr(Lending, "keeps", lambda *_: False)  # or the lender counts itself what it had brought
    patch.setattr(Holding, "brought", lambda *_: None)


@variant("rewards that wait for a holder are forgotten when its pen is over", 1)
def _(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Lending, pen: str, _: float) -> None:
        self._machine.rewards_for_others.take_back(pen)

    patch.setattr(Lending, "_over", changed)


@variant("what was not acknowledged is not brought after a switch", 2)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Holding, "counted", lambda *_: None)


@variant("what an earlier holder observed is not told again when it grows", 13)
def _(patch: pytest.MonkeyPatch) -> None:
    observe = Replica.observe

    def changed(self: Replica, tallies: Any, numbers: Any = ()) -> None:
        tallies = tuple(tallies)
        keys = [CellKey(self.agent, self.incarnation, entry.arm) for entry in tallies]
        tellers = {key: self._facts[key].teller for key in keys if key in self._facts}
        observe(self, tallies, numbers)
        for key, teller in tellers.items():
            self._facts[key].teller = teller

    patch.setattr(Replica, "observe", changed)


@variant("how many facts a message tells is forgotten by a snapshot", 0)
def _(patch: pytest.MonkeyPatch) -> None:
    def changed(state: EndpointState, *rest: Any, **more: Any) -> Endpoint:
        return snapshots.restored(state._replace(max_facts=None), *rest, **more)

    patch.setattr("cobandit.agent.restoring.restored", changed)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_world_notices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = SEEDS[name]
    assert not any(run_seed(seed).violations for seed in seeds)  # they are fine otherwise
    VARIANTS[name](monkeypatch)
    assert any(is_noticed(seed) for seed in seeds)


def is_noticed(seed: int) -> bool:
    """Return whether the world of a seed goes wrong: also if it breaks."""
    try:
        return bool(run_seed(seed).violations)
    except (CobanditError, AssertionError, KeyError):
        return True
