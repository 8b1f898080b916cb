"""Members that pass on what others observed: what a member learned does not die with its name."""

from pathlib import Path

import pytest

from cobandit import connect
from cobandit.core import Cells, Changes, Delivery, Notice, Presence, Receipt, Share
from cobandit.core.messages import EVERYBODY_ELSE
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.clock import Clock
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.drive.joining import check_start
from cobandit.live.machine import control_messages
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.machine.step import Terms
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.policies import UCB
from cobandit.values.errors import LocalError
from cobandit.values.tally import ArmTally

GROUP, ARMS = "g", ["A", "B"]


def machine(name: str, clock: Clock, *, is_relay: bool = False) -> Machine:
    restored = restore(MemoryJournal(), name=name, group=GROUP, arms=ARMS, build=UCB, sharing=LIVE_SHARING, clock=clock)
    made = Machine(Terms(name, GROUP, LIVE_SHARING, UCB, 1e6, None, is_relay=is_relay), restored, clock)
    made.make_decider(None, seed=1, wake=lambda: None)
    made.introduction.introduce()
    return made


class Fleet:
    """Machines that hear each other at once."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.clock.time = 1_800_000_000.0
        self.machines: dict[str, Machine] = {}

    def start(self, name: str, *, is_relay: bool = False) -> Machine:
        made = self.machines[name] = machine(name, self.clock, is_relay=is_relay)
        for other in tuple(self.machines):
            if other != name:
                made.introduction.greet(other)
        return made

    def talk(self, rounds: int = 10) -> None:
        """Let all say what they have to say, without letting time pass."""
        inboxes: dict[str, list[tuple[bytes, str | None]]] = {name: [] for name in self.machines}
        for _ in range(rounds):
            for name, made in self.machines.items():
                packets, inboxes[name] = inboxes[name], []
                for receiver, content in made.step(packets).outgoing:
                    if receiver in inboxes:
                        inboxes[receiver].append((control_messages.pack(content, GROUP), name))


def observe(made: Machine, count: int) -> None:
    for _ in range(count):
        made.decider.settle(made.decider.select_arm().number, 1.0)


def known(made: Machine) -> int:
    return made.agent.policy.tally.observations


@pytest.mark.parametrize("is_relay", [True, False])
def test_a_newcomer_hears_at_once_what_one_observed_who_is_gone(*, is_relay: bool) -> None:
    fleet = Fleet()
    memory, first = fleet.start("memory", is_relay=is_relay), fleet.start("web-a")
    fleet.talk()
    for _ in range(20):
        observe(first, 5)
        fleet.talk()
    heard = known(memory)
    del fleet.machines["web-a"]
    second = fleet.start("web-b")
    fleet.talk()
    assert known(second) == (heard if is_relay else 0)
    # A relay asks for more with every answer; others wait until they have something to say themselves.
    assert heard == (80 if is_relay else 5)


def test_two_relays_come_to_rest() -> None:
    fleet = Fleet()
    for name in ("memory-1", "memory-2"):
        fleet.start(name, is_relay=True)
    first = fleet.start("web-a")
    fleet.talk()
    observe(first, 50)
    fleet.talk(50)
    assert [made.step(()).outgoing for made in fleet.machines.values()] == [[], [], []]


@pytest.mark.parametrize("may_relay", [True, False, None])
def test_who_says_that_it_is_a_relay_must_have_a_certificate_that_says_so(*, may_relay: bool | None) -> None:
    fleet = Fleet()
    ann = fleet.start("ann")
    ann.guard.may_relay = lambda _: may_relay
    hello = control_messages.Hello("eve", tuple(ARMS), 1_000_000, 7, 2, b"", is_relay=True)
    presence = Presence("eve", 7, 4, 7, is_present=True, arms=tuple(ARMS), units_per_reward=1_000_000, is_relay=True)
    notice = Notice("eve", "ann", Changes(presences=(presence,)), 7, is_introduced=True)
    for content in (hello, notice):
        ann.step([(control_messages.pack(content, GROUP), "eve")])
    is_refused = may_relay is False
    assert ann.guard.refusals[Refusal.ABSURD] == (2 if is_refused else 0)
    assert ("eve" in ann.agent.peers) is not is_refused


@pytest.mark.parametrize("may_relay", [True, False, None])
@pytest.mark.parametrize("later", [0, 1])
def test_a_relay_that_has_lost_the_role_speaks_for_nobody_else(later: int, *, may_relay: bool | None) -> None:
    fleet = Fleet()
    relay, ann = fleet.start("relay", is_relay=True), fleet.start("ann")
    fleet.talk()
    ann.guard.may_relay = lambda _: may_relay
    for number, agent in enumerate(("bob", EVERYBODY_ELSE, "relay", "ann"), 1):
        delivery = Delivery(relay.agent.session + later, 0, Receipt(ann.agent.session, 0, 0), is_introduced=True)
        told = Changes(cells=(Cells(agent, 7, (ArmTally("A", 10, 0, 0),)),))
        ann.step([(control_messages.pack(Share("relay", "ann", number, 0, told, delivery), GROUP), "relay")])
    is_refused = may_relay is False
    assert ann.guard.refusals == ({Refusal.ABSURD: 2} if is_refused else {})
    # In a session that has not said that it is a relay it is none.
    assert known(ann) == (20 if is_refused or later else 30)


def test_a_member_without_such_a_certificate_cannot_start_as_a_relay(tmp_path: Path) -> None:
    make_group("g", tmp_path)
    keys = issue("ann", tmp_path)
    with pytest.raises(LocalError, match="ann is to be a relay, and its certificate does not say that it may"):
        connect("tls://127.0.0.1:0", group="g", name="ann", arms=ARMS, keys=keys, relay=True)


def test_a_refused_relay_leaves_no_state_file_and_a_check_refuses_it_too(tmp_path: Path) -> None:
    make_group("g", tmp_path)
    keys, state = issue("ann", tmp_path), tmp_path / "ann.db"
    for begin in (connect, check_start):
        with pytest.raises(LocalError, match="ann is to be a relay, and its certificate does not say that it may"):
            begin("tls://127.0.0.1:0", group="g", name="ann", arms=ARMS, keys=keys, relay=True, state=state)
    assert not state.exists()
