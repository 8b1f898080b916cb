"""Leaves and their relays, as machines in virtual time: who talks to whom, and what reaches whom by which way."""

from collections import Counter
from typing import Any
from unittest.mock import Mock

import pytest

from cobandit.core import Cells, Changes, Delivery, Presence, Receipt, Share
from cobandit.core.messages import EVERYBODY_ELSE
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.decision import Claim, read, sign
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.machine import control_messages
from cobandit.live.machine.homes import SILENT_AFTER
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.routing import TRIED_WAIT
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.machine.step import Terms
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.policies import UCB
from cobandit.values.errors import NotNowError
from cobandit.values.tally import ArmTally

GROUP, ARMS = "g", ("A", "B")
RELAYS = ("r1", "r2")


class Fleet:
    """Machines that hear each other at once, unless they are down. What a step says is written down before."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.clock.time = 1_800_000_000.0
        self.machines: dict[str, Machine] = {}
        self.journals: dict[str, MemoryJournal] = {}
        self.down: set[str] = set()
        self.sent: Counter[tuple[str, str]] = Counter()
        """Packets, by sender and receiver."""
        self.inboxes: dict[str, list[tuple[bytes, str | None]]] = {}

    def start(self, name: str, *, relays: tuple[str, ...] = (), is_relay: bool = False, **more: Any) -> Machine:
        journal = self.journals.setdefault(name, MemoryJournal())
        restored = restore(
            journal,
            name=name,
            group=GROUP,
            arms=ARMS,
            build=UCB,
            sharing=LIVE_SHARING,
            clock=self.clock,
            is_leaf=bool(relays),
        )
        terms = Terms(name, GROUP, LIVE_SHARING, UCB, 1e6, None, is_relay=is_relay, relays=relays, **more)
        made = self.machines[name] = Machine(terms, restored, self.clock)
        made.make_decider(None, seed=1, wake=lambda: None)
        journal.replace(made.state(is_clean=False))
        if made.leaf is not None:
            made.leaf.begin()
        made.introduction.introduce()
        self.inboxes[name] = []
        for other in tuple(self.machines):
            if other != name and made.leaf is None and self.machines[other].leaf is None:
                made.introduction.greet(other)
        return made

    def relays(self) -> None:
        for name in RELAYS:
            self.start(name, is_relay=True)
        self.talk()

    def leaf(self, name: str, relays: tuple[str, ...] = RELAYS) -> Machine:
        made = self.start(name, relays=relays)
        self.talk()
        return made

    def stop(self, name: str) -> None:
        """Stop one in good order."""
        made = self.machines[name]
        made.take_leave()
        self.talk()
        self.journals[name].replace(made.state(is_clean=True))
        del self.machines[name]

    def talk(self, rounds: int = 12) -> None:
        """Let all say what they have to say, without letting time pass."""
        for _ in range(rounds):
            for name, made in tuple(self.machines.items()):
                packets, self.inboxes[name] = self.inboxes[name], []
                if name in self.down:
                    continue
                step = made.step(packets)
                self.journals[name].write((step.batch,), ())
                for receiver, content in step.outgoing:
                    self.sent[name, receiver] += 1
                    if receiver in self.inboxes:
                        self.inboxes[receiver].append((control_messages.pack(content, GROUP), name))

    def wait(self, seconds: float, tick: float = 0.5) -> None:
        """Let time pass."""
        until = self.clock.time + seconds
        while self.clock.time < until:
            self.clock.time += tick
            self.talk(6)

    def home_of(self, name: str) -> str:
        leaf = self.machines[name].leaf
        assert leaf is not None
        (home,) = leaf.homes.talking
        return home


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet()
    made.relays()
    return made


def observe(made: Machine, count: int) -> None:
    for _ in range(count):
        made.decider.settle(made.decider.select_arm().number, 1.0)


def known(made: Machine) -> int:
    return made.agent.policy.tally.observations


def test_a_leaf_has_one_link_and_hears_what_all_others_observed(fleet: Fleet) -> None:
    leaves = [fleet.leaf(f"web-{number}") for number in range(6)]
    assert {fleet.home_of(made.terms.name) for made in leaves} == {"r1", "r2"}
    for made in leaves:
        observe(made, 10)
    fleet.wait(200.0)
    assert [known(made) for made in fleet.machines.values()] == [60] * 8
    assert [len(made.peers) for made in leaves] == [1] * 6
    assert not any(sender.startswith("web") and receiver.startswith("web") for sender, receiver in fleet.sent)
    # What a leaf holds is its own row and totals.
    assert [set(made.agent.endpoint.replica.agents) for made in leaves] == [{made.terms.name} for made in leaves]


def test_a_decision_costs_a_thirtieth_of_a_packet_once_buffers_have_their_full_size(fleet: Fleet) -> None:
    leaves = [fleet.leaf(f"web-{number}") for number in range(20)]
    for decisions in (192, 256):
        fleet.sent.clear()
        for _ in range(decisions):
            for made in leaves:
                observe(made, 1)
            fleet.clock.time += 0.05
            fleet.talk(3)
    # For each full buffer of 64 a share and its answer; and what relays tell each other.
    between_relays = fleet.sent["r1", "r2"] + fleet.sent["r2", "r1"]
    assert fleet.sent.total() - between_relays == 2 * 20 * 256 / 64
    assert fleet.sent.total() / (20 * 256) < 0.05


def test_leaves_that_are_idle_say_next_to_nothing(fleet: Fleet) -> None:
    leaves = [fleet.leaf(f"web-{number}") for number in range(4)]
    for made in leaves:
        observe(made, 10)
    fleet.wait(300.0)
    fleet.sent.clear()
    fleet.wait(600.0, tick=5.0)
    assert fleet.sent.total() == 0


def test_a_leaf_whose_relay_is_killed_goes_to_the_next_one_and_nothing_is_lost(fleet: Fleet) -> None:
    leaves = [fleet.leaf(f"web-{number}") for number in range(6)]
    for made in leaves:
        observe(made, 100)
    fleet.wait(5.0)
    fleet.down.add("r1")
    for made in leaves:
        observe(made, 100)
    fleet.wait(SILENT_AFTER + 1.0)
    assert {fleet.home_of(made.terms.name) for made in leaves} == {"r2"}
    fleet.wait(200.0)
    assert [known(made) for made in (*leaves, fleet.machines["r2"])] == [1200] * 7
    fleet.down.clear()
    fleet.start("r1", is_relay=True)
    fleet.wait(200.0)
    assert [known(made) for made in fleet.machines.values()] == [1200] * 8


def test_leaves_come_back_to_a_relay_that_is_back(fleet: Fleet) -> None:
    leaves = [fleet.leaf(f"web-{number}") for number in range(6)]
    before = [fleet.home_of(made.terms.name) for made in leaves]
    fleet.stop("r1")
    fleet.wait(5.0)
    assert {fleet.home_of(made.terms.name) for made in leaves} == {"r2"}
    fleet.start("r1", is_relay=True)
    fleet.wait(1300.0, tick=5.0)
    assert [fleet.home_of(made.terms.name) for made in leaves] == before
    # Who was left has heard so, and does not go on telling.
    assert sorted(name for made in (fleet.machines["r1"], fleet.machines["r2"]) for name in made.peers) == [
        "r1",
        "r2",
        *(f"web-{number}" for number in range(6)),
    ]


def test_without_any_relay_a_leaf_decides_and_says_once_what_is_wrong() -> None:
    fleet = Fleet()
    made = fleet.leaf("web-0")
    observe(made, 100)
    fleet.wait(60.0)
    assert (known(made), made.leaf is not None and made.leaf.homes.is_cut_off) == (100, True)
    (trouble,) = made.alerts.troubles
    assert trouble.startswith("none of its relays answers (r1, r2): it goes on deciding, keeps what it learns")
    fleet.relays()
    fleet.wait(70.0)
    assert (made.alerts.troubles, known(fleet.machines[fleet.home_of("web-0")])) == ((), 100)


# Rewards.


def test_a_reward_that_comes_to_any_leaf_is_brought_to_the_one_that_decided_and_counts_once(fleet: Fleet) -> None:
    leaves = [fleet.leaf(f"web-{number}") for number in range(6)]
    decisions = [made.decider.select_arm().id for made in leaves]
    fleet.talk()
    for made in leaves:
        for token in decisions:
            if not token_is_of(token, made):
                made.rewards_for_others.offer(owner_of(token), token, 1.0)
    fleet.wait(30.0)
    assert [made.agent.knowledge.own_by_arm() for made in leaves] == [{"A": 1, "B": 0}] * 6
    assert [made.outbox.rewards for made in fleet.machines.values()] == [()] * 8
    assert [made.rewards_for_others.handed_on for made in leaves] == [5] * 6
    assert {made.rewards_for_others.given_up for made in fleet.machines.values()} == {0}


def owner_of(token: str) -> str:
    return read(token).member


def token_is_of(token: str, made: Machine) -> bool:
    return owner_of(token) == made.terms.name


def test_a_reward_waits_at_a_relay_for_a_leaf_that_is_away(fleet: Fleet) -> None:
    one, other = fleet.leaf("web-0"), fleet.leaf("web-1")
    token = one.decider.select_arm().id
    fleet.talk()
    fleet.stop("web-0")
    other.rewards_for_others.offer("web-0", token, 1.0)
    fleet.wait(30.0)
    assert other.outbox.rewards == ()
    assert [made.outbox.rewards for made in relays_of(fleet) if made.outbox.rewards] == [(("web-0", token, 1.0),)]
    again = fleet.leaf("web-0")
    fleet.wait(70.0)  # its home may be the other relay, which is asked within a minute
    assert again.agent.knowledge.own_by_arm() == {"A": 1, "B": 0}
    assert [made.outbox.rewards for made in relays_of(fleet)] == [(), ()]


def relays_of(fleet: Fleet) -> list[Machine]:
    return [fleet.machines[name] for name in RELAYS]


def test_a_relay_that_has_taken_a_reward_brings_it_though_it_is_killed_in_between(fleet: Fleet) -> None:
    one, other = fleet.leaf("web-0"), fleet.leaf("web-1")
    token = one.decider.select_arm().id
    fleet.talk()
    fleet.down.add("web-0")
    home = fleet.home_of("web-1")
    other.rewards_for_others.offer("web-0", token, 1.0)
    fleet.wait(2.0)
    assert (other.outbox.rewards, other.rewards_for_others.handed_on) == ((), 1)
    fleet.start(home, is_relay=True)  # from its journal, as it was when it was killed
    fleet.down.clear()
    fleet.wait(70.0)
    assert (one.agent.knowledge.own_by_arm(), [made.outbox.waiting for made in relays_of(fleet)]) == (
        {"A": 1, "B": 0},
        [0, 0],
    )


def test_a_relay_does_not_say_that_it_takes_a_reward_before_it_is_written_down(fleet: Fleet) -> None:
    one = fleet.leaf("web-0")
    relay = fleet.machines[fleet.home_of("web-0")]
    token = sign(Claim("web-9", 1, "A", 1.0), b"key of web-9")
    step = relay.step([(control_messages.pack(control_messages.RewardsToBring("web-0", ((token, 1.0),)), GROUP), None)])
    assert step.batch.rewards_kept == (("web-9", token, 1.0),)
    assert ("web-0", control_messages.RewardsTaken(relay.terms.name, (token,))) in step.outgoing
    assert one.outbox.waiting == 0


def test_of_what_another_relay_has_only_that_is_taken_which_can_be_brought(fleet: Fleet) -> None:
    fleet.leaf("web-0")
    home = fleet.home_of("web-0")
    other = "r1" if home == "r2" else "r2"
    here, elsewhere = (sign(Claim(name, 1, "A", 1.0), b"a key") for name in ("web-0", "web-9"))
    message = control_messages.RewardsToBring(other, ((here, 1.0), (elsewhere, 1.0), ("no token", 1.0)))
    step = fleet.machines[home].step([(control_messages.pack(message, GROUP), None)])
    assert step.batch.rewards_kept == (("web-0", here, 1.0),)
    assert (other, control_messages.RewardsTaken(home, (here, "no token"))) in step.outgoing


def test_a_reward_for_a_leaf_that_is_dead_does_not_go_round_between_relays_that_have_both_met_it(fleet: Fleet) -> None:
    one, other = fleet.leaf("web-0"), fleet.leaf("web-1")
    token = one.decider.select_arm().id
    first = fleet.home_of("web-0")
    fleet.down.add(first)
    observe(one, 100)
    fleet.wait(SILENT_AFTER + 1.0)
    assert fleet.home_of("web-0") != first
    fleet.down = {"web-0"}  # it dies, and both relays take it to be here
    fleet.inboxes[first].clear()
    other.rewards_for_others.offer("web-0", token, 1.0)
    fleet.wait(200.0)
    assert [made.agent.peers.is_present("web-0") for made in relays_of(fleet)] == [True, True]
    before = [made.rewards_for_others.handed_on for made in relays_of(fleet)]
    fleet.wait(300.0)
    assert [made.rewards_for_others.handed_on for made in relays_of(fleet)] == before
    assert sum(made.outbox.waiting for made in relays_of(fleet)) == 1


def test_a_relay_that_cannot_bring_rewards_to_a_leaf_itself_takes_no_more_for_it(fleet: Fleet) -> None:
    one, other = fleet.leaf("web-0"), fleet.leaf("web-1")
    tokens = [one.decider.select_arm().id for _ in range(3)]
    fleet.talk()
    home = fleet.home_of("web-0")
    second = "r1" if home == "r2" else "r2"
    relay = fleet.machines[home]

    def taken(token: str) -> bool:
        message = control_messages.RewardsToBring(second, ((token, 1.0),), is_doubtful=True)
        step = relay.step([(control_messages.pack(message, GROUP), None)])
        return (second, control_messages.RewardsTaken(home, (token,))) in step.outgoing

    assert taken(tokens[0])  # the leaf was just heard
    fleet.talk()
    fleet.down.add("web-0")
    other.rewards_for_others.offer("web-0", tokens[1], 1.0)
    fleet.wait(20.0)
    assert relay.outbox.wait_of("web-0") >= TRIED_WAIT
    assert not taken(tokens[2])


def test_a_reward_that_its_owner_cannot_take_yet_is_handed_on_once_and_expires(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = fleet.start("web-0", relays=RELAYS, homes=2), fleet.leaf("web-1")
    fleet.wait(5.0)
    for relay in relays_of(fleet):
        monkeypatch.setattr(relay.rewards_for_others, "_expire_after", 3600.0)
    token = one.decider.select_arm().id
    fleet.talk()
    monkeypatch.setattr(one.settling, "settle_token", Mock(side_effect=NotNowError("its bandit is not declared yet")))
    other.rewards_for_others.offer("web-0", token, 1.0)

    def live(times: int, tick: float) -> None:
        for _ in range(times):
            observe(one, 70)  # so both relays have just heard it
            fleet.wait(20 * tick, tick)

    live(5, tick=3.0)
    assert sum(made.rewards_for_others.handed_on for made in relays_of(fleet)) == 1
    assert sum(made.outbox.waiting for made in relays_of(fleet)) == 1
    live(20, tick=20.0)
    assert sum(made.rewards_for_others.handed_on for made in relays_of(fleet)) == 1
    assert [made.rewards_for_others.given_up for made in relays_of(fleet)].count(1) == 1


def test_an_answer_that_the_network_repeats_hurries_a_relay_once(fleet: Fleet) -> None:
    fleet.talk()
    relay, token = fleet.machines["r1"], sign(Claim("web-9", 1, "A", 1.0), b"a key")
    relay.rewards_for_others.take_over("web-9", token, 1.0)
    (number,) = (
        message.number
        for to, message in relay.step([]).outgoing
        if to == "r2" and isinstance(message, control_messages.RewardsToBring)
    )

    def asks_again() -> bool:
        answer = control_messages.RewardsTaken("r2", ("another",), number)
        step = relay.step([(control_messages.pack(answer, GROUP), None)])
        return any(isinstance(message, control_messages.RewardsToBring) for _, message in step.outgoing)

    assert [asks_again() for _ in range(3)] == [True, False, False]


def test_only_a_relay_can_say_that_it_brings_a_reward_on(fleet: Fleet) -> None:
    fleet.start("mesh-1")
    fleet.talk()
    relay = fleet.machines["r1"]
    token = sign(Claim("web-9", 1, "A", 1.0), b"a key")
    relay.rewards_for_others.take_over("web-9", token, 1.0)
    relay.step([(control_messages.pack(control_messages.RewardsTaken("mesh-1", (token,)), GROUP), None)])
    assert relay.outbox.rewards == (("web-9", token, 1.0),)
    relay.step([(control_messages.pack(control_messages.RewardsTaken("r2", (token,)), GROUP), None)])
    assert relay.outbox.waiting == 0


def test_an_old_answer_of_a_relay_that_has_brought_a_reward_back_loses_nothing(fleet: Fleet) -> None:
    fleet.talk()
    relay, token = fleet.machines["r1"], sign(Claim("web-9", 1, "A", 1.0), b"a key")
    numbers = []
    for _ in range(2):  # it is handed on, and is back before the answer to that
        relay.rewards_for_others.take_over("web-9", token, 1.0)
        sent = [message for to, message in relay.step([]).outgoing if to == "r2"]
        numbers += [message.number for message in sent if isinstance(message, control_messages.RewardsToBring)]
        fleet.clock.time += 100.0
    old, new = (control_messages.RewardsTaken("r2", (token,), number) for number in numbers)
    relay.step([(control_messages.pack(old, GROUP), None)])
    assert relay.outbox.rewards == (("web-9", token, 1.0),)
    relay.step([(control_messages.pack(new, GROUP), None)])
    assert relay.outbox.waiting == 0


def test_a_reward_that_a_mesh_member_has_for_a_leaf_goes_through_a_relay(fleet: Fleet) -> None:
    mesh, leaf = fleet.start("mesh-1"), fleet.leaf("web-0")
    fleet.talk()
    token = leaf.decider.select_arm().id
    fleet.talk()
    mesh.rewards_for_others.offer("web-0", token, 1.0)
    fleet.wait(10.0)
    assert (leaf.agent.knowledge.own_by_arm(), mesh.outbox.waiting) == ({"A": 1, "B": 0}, 0)
    assert "web-0" not in mesh.agent.peers


# Settings.


def test_what_is_set_at_one_leaf_reaches_all(fleet: Fleet) -> None:
    leaves = [fleet.leaf(f"web-{number}") for number in range(4)]
    leaves[0].operations.set_frozen("B", is_frozen=True)
    fleet.talk()
    assert {made.controls.frozen for made in fleet.machines.values()} == {frozenset("B")}
    late = fleet.leaf("web-9")
    assert (late.controls.frozen, late.introduction.settings_from) == (frozenset("B"), fleet.home_of("web-9"))
    assert not any(made.outbox.lacks_controls(peer, made.controls.digest) for made in leaves for peer in made.peers)


def test_a_leaf_hears_the_settings_at_the_end_of_the_wait_of_a_relay_that_starts_beside_it() -> None:
    fleet = Fleet()
    relay, leaf = fleet.start("r1", is_relay=True), fleet.start("web-0", relays=("r1",))
    relay.introduction.awaits_settings = leaf.introduction.awaits_settings = True
    fleet.talk()
    assert (relay.discovery.newcomers, leaf.discovery.newcomers) == ({"web-0"}, {"r1"})
    assert (relay.introduction.settings_from, leaf.introduction.settings_from) == (None, None)
    relay.operations.set_frozen("B", is_frozen=True)  # it was told so, say
    relay.introduction.settings_known()
    fleet.talk()
    assert (leaf.introduction.settings_from, leaf.controls.frozen, leaf.discovery.newcomers) == (
        "r1",
        frozenset("B"),
        set(),
    )


# Who is who.


def test_a_member_of_a_mesh_does_not_meet_leaves(fleet: Fleet) -> None:
    mesh, leaf = fleet.start("mesh-1"), fleet.leaf("web-0")
    hello = control_messages.pack(leaf.introduction.hello(wants_answer=True), GROUP)
    assert mesh.step([(hello, "web-0")]).outgoing == []
    assert "web-0" not in mesh.agent.peers
    observe(mesh, 50)
    observe(leaf, 50)
    fleet.wait(200.0)
    assert (known(mesh), known(leaf)) == (100, 100)


def test_who_is_no_relay_is_not_talked_to(fleet: Fleet) -> None:
    mesh, leaf = fleet.start("mesh-1"), fleet.leaf("web-0", ("mesh-1",))
    fleet.wait(10.0)
    assert (leaf.peers, "web-0" in mesh.agent.peers) == ((), False)
    assert leaf.alerts.troubles != ()
    said = mesh.introduction.hello()
    leaf.step([(control_messages.pack(said, GROUP), "mesh-1")])
    assert leaf.peers == ()


@pytest.mark.parametrize("role", ["stranger", "home"])
def test_a_total_from_who_is_no_relay_changes_nothing(role: str, fleet: Fleet) -> None:
    leaf = fleet.leaf("web-0")
    sender = "eve" if role == "stranger" else fleet.home_of("web-0")
    leaf.guard.may_relay = lambda _: False  # its certificate does not say so now
    presence = Presence(sender, 7, 4, 7, is_present=True, arms=ARMS, units_per_reward=1_000_000, is_relay=True)
    told = Changes(0, 9, cells=(Cells(EVERYBODY_ELSE, 0, (ArmTally("A", 1000, 0, 0),)),), presences=(presence,))
    delivery = Delivery(7, 0, Receipt(leaf.agent.session, 0, 0), is_introduced=True)
    leaf.step([(control_messages.pack(Share(sender, "web-0", 1, 0, told, delivery), GROUP), sender)])
    assert (known(leaf), leaf.guard.refusals[Refusal.ABSURD]) == (0, 1)


def test_a_leaf_that_becomes_a_member_of_the_mesh_and_a_leaf_again_loses_and_doubles_nothing(fleet: Fleet) -> None:
    mesh, other = fleet.start("mesh-1"), fleet.leaf("web-1")
    for is_leaf in (True, False, True, False):
        made = fleet.start("web-0", relays=RELAYS if is_leaf else ())
        fleet.talk()
        observe(made, 10)
        observe(other, 10)
        fleet.wait(1300.0, tick=5.0)  # who is idle may hear no sooner than after the longest wait, twice
        assert made.agent.presence.is_leaf == is_leaf
        assert {known(one) for one in fleet.machines.values()} == {known(mesh)}
        assert ("mesh-1" in made.peers) != is_leaf
        fleet.stop("web-0")
    assert known(mesh) == 80


def test_a_member_that_took_a_leaf_for_one_of_the_mesh_is_told_that_it_is_none(fleet: Fleet) -> None:
    mesh = fleet.start("mesh-1")
    fleet.start("web-0")
    fleet.talk()
    assert mesh.agent.peers.is_present("web-0")
    fleet.machines.pop("web-0")  # killed; and it comes back as a leaf
    leaf = fleet.leaf("web-0")
    observe(mesh, 200)
    fleet.wait(200.0)
    assert ("web-0" in mesh.agent.peers, known(leaf)) == (False, 200)


# Finding relays.


def test_a_leaf_that_looks_for_relays_is_shown_them_and_kept_in_mind_by_its_home_only(fleet: Fleet) -> None:
    leaf = fleet.start("web-0", relays=("*",))
    sought = control_messages.pack(control_messages.RelaySought("web-0"), GROUP)
    for name in RELAYS:
        fleet.inboxes[name].append((sought, "web-0"))
    fleet.talk()
    home = fleet.home_of("web-0")
    assert [name for name in RELAYS if "web-0" in fleet.machines[name].agent.peers] == [home]
    assert leaf.peers == (home,)


def test_who_is_no_relay_does_not_answer_a_leaf_that_looks_for_one(fleet: Fleet) -> None:
    mesh = fleet.start("mesh-1")
    fleet.talk()
    sought = control_messages.pack(control_messages.RelaySought("web-0"), GROUP)
    assert mesh.step([(sought, "web-0")]).outgoing == []


def test_who_has_lost_its_disk_is_told_everything_though_nobody_observes_anything_more() -> None:
    fleet = Fleet()  # without relays
    ann, bob = fleet.start("ann"), fleet.start("bob")
    fleet.talk()
    observe(ann, 30)
    observe(bob, 20)
    fleet.wait(200.0)
    told = ann.agent.policy.tally.entries()
    assert bob.agent.policy.tally.entries() == told
    del fleet.machines["bob"], fleet.journals["bob"]
    fleet.clock.time += 10.0
    again = fleet.start("bob")
    assert again.agent.policy.tally.observations == 0
    fleet.wait(200.0)
    assert again.agent.policy.tally.entries() == told
