"""Relays and leaves: a leaf holds totals of what others observed, however many they are, and counts nothing twice."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping

import pytest

from cobandit import UCB, Agent, Constant, LocalError, PeerError, on_demand
from cobandit.codec import decode_snapshot, encode_snapshot
from cobandit.core import Cells, Changes, Delivery, Message, Outcome, Presence, Receipt, Share
from cobandit.core.facts import Fact
from cobandit.core.link import Link
from cobandit.core.messages import EVERYBODY_ELSE
from cobandit.core.places import Change
from cobandit.core.state import TotalState
from cobandit.core.totals import Totals
from cobandit.values.tally import ArmTally

ARMS = ("A", "B")


# What a leaf keeps.


def some(arm: str, count: int, units: int) -> ArmTally:
    return ArmTally(arm, count, units, units)


def heard(totals: Totals, relay: str, session: int, base: int, upto: int, told: list[ArmTally]) -> tuple[ArmTally, ...]:
    changes = totals.heard(relay, session, base, upto, [(("", "", 0, entry.arm), entry) for entry in told])
    return tuple(change.tally for change in changes)


def all_of(totals: Totals) -> tuple[ArmTally, ...]:
    return tuple(change.tally for change in totals.all())


def test_of_one_relay_the_newest_total_counts_and_the_change_is_returned() -> None:
    totals = Totals()
    assert heard(totals, "r", 1, 0, 7, [some("A", 5, 2), some("B", 1, 1)]) == (some("A", 5, 2), some("B", 1, 1))
    assert heard(totals, "r", 1, 7, 9, [some("A", 6, 2)]) == (some("A", 1, 0),)
    assert heard(totals, "r", 1, 0, 7, [some("A", 5, 2)]) == ()  # late
    assert heard(totals, "r", 1, 7, 9, [some("A", 6, 2)]) == ()  # again
    assert all_of(totals) == (some("A", 6, 2), some("B", 1, 1))


def test_of_two_relays_the_one_that_knows_more_counts_for_each_arm() -> None:
    totals = Totals()
    heard(totals, "r", 1, 0, 7, [some("A", 5, 2), some("B", 1, 1)])
    assert heard(totals, "s", 9, 0, 3, [some("A", 4, 4), some("B", 3, 0)]) == (some("B", 2, -1),)
    assert all_of(totals) == (some("A", 5, 2), some("B", 3, 0))


def test_a_relay_that_has_lost_its_disk_lowers_its_totals_and_late_words_do_not_bring_them_back() -> None:
    totals = Totals()
    heard(totals, "r", 1, 0, 7, [some("A", 5, 2), some("B", 1, 1)])
    assert heard(totals, "r", 2, 0, 1, [some("A", 1, 1)]) == (some("A", -4, -1), some("B", -1, -1))
    assert heard(totals, "r", 1, 7, 99, [some("A", 9, 9)]) == ()
    assert heard(totals, "r", 2, 1, 2, [some("B", 1, 0)]) == (some("B", 1, 0),)
    assert totals.state() == (TotalState("r", 2, 1, some("A", 1, 1)), TotalState("r", 2, 2, some("B", 1, 0)))


def test_a_relay_that_has_lost_its_disk_and_has_nothing_to_tell_yet_takes_back_its_totals() -> None:
    totals, replica = Totals(), Agent("l", UCB(ARMS, quantum=1.0), on_demand()).endpoint.replica
    heard(totals, "r", 1, 0, 7, [some("A", 5, 2)])
    heard(totals, "s", 1, 0, 7, [some("A", 1, 1)])
    for peer, changes, session in (("r", Changes(), 2), ("r", Changes(0, 3), 1), ("r", Changes(2, 3), 2)):
        assert totals.take(peer, changes, session, replica) == (changes, ())
    assert totals.take("r", Changes(0, 3), 2, replica) == (Changes(0, 3), (Change("", "", 0, some("A", -4, -1)),))
    assert totals.state() == (TotalState("s", 1, 7, some("A", 1, 1)),)


# A small fleet.


class Fleet:
    """Relays and leaves that talk at once; what is said to those who are away is lost."""

    def __init__(self, relays: Iterable[str], leaves: Mapping[str, Iterable[str]], *, is_tolerant: bool) -> None:
        self.now = 0.0
        self.messages = 0
        self.sent: list[Message] = []
        self.away: set[str] = set()
        self.sharing = on_demand(Constant(1), loss_tolerant=is_tolerant)
        self.relays = tuple(relays)
        self.agents = {name: self.started(name) for name in (*self.relays, *leaves)}
        for relay in self.relays:
            for other in self.relays:
                if other != relay:
                    self.agents[relay].peer_joined(other, ARMS, 0.0)
        for leaf, homes in leaves.items():
            for home in homes:
                self.agents[leaf].peer_joined(home, ARMS, 0.0)
                self.agents[home].peer_joined(leaf, ARMS, 0.0)
        for name in self.agents:
            self.join(name)

    def started(self, name: str, incarnation: int = 1) -> Agent:
        return Agent(name, UCB(ARMS, quantum=1.0), self.sharing, incarnation=incarnation)

    def join(self, name: str) -> None:
        is_relay = name in self.relays
        self.deliver(self.agents[name].join(self.now, is_relay=is_relay, is_leaf=not is_relay))

    def pull(self, name: str, arm: str, reward: float) -> None:
        self.now += 1.0
        self.deliver(self.agents[name].update(arm, reward, self.now))

    def wait(self, until: float) -> None:
        """Let time pass."""
        while (times := [one.wake_at for one in self.here if one.wake_at is not None]) and min(times) <= until:
            self.now = max(self.now, min(times))
            for one in self.here:
                if one.wake_at is not None and one.wake_at <= self.now:
                    self.deliver(one.wake(self.now))
        self.now = until

    @property
    def here(self) -> list[Agent]:
        return [one for name, one in self.agents.items() if name not in self.away]

    def deliver(self, outcome: Outcome) -> None:
        under_way = deque(outcome.outgoing)
        while under_way:
            message = under_way.popleft()
            self.messages += 1
            self.sent.append(message)
            if message.receiver not in self.away:
                under_way += self.agents[message.receiver].receive(message, self.now).outgoing

    def known(self, name: str) -> dict[str, tuple[int, int]]:
        tally = self.agents[name].policy.tally
        return {arm: (tally.counts[arm], tally.sums[arm]) for arm in ARMS}


def fleet(*, homes: int = 1, is_tolerant: bool = True) -> Fleet:
    relays = ("r0", "r1")
    leaves = {f"l{place}": (relays[place % 2], relays[1 - place % 2])[:homes] for place in range(6)}
    return Fleet(relays, leaves, is_tolerant=is_tolerant)


@pytest.mark.parametrize("homes", [1, 2])
@pytest.mark.parametrize("is_tolerant", [False, True])
def test_everybody_comes_to_know_what_all_observed_and_nobody_counts_anything_twice(
    homes: int, is_tolerant: bool
) -> None:
    world = fleet(homes=homes, is_tolerant=is_tolerant)
    for turn in range(60):
        world.pull(f"l{turn % 6}", ARMS[turn % 2], float(turn % 3 == 0))
        for name in world.agents:
            observed = sum(count for count, _ in world.known(name).values())
            assert observed <= turn + 1
    world.wait(1e6)
    for turn in range(6):  # on a network that loses nothing, who wants to know must speak
        world.pull(f"l{turn}", "A", 1.0)
    world.wait(2e6)
    whole = {"A": (36, 16), "B": (30, 10)}
    if is_tolerant:
        assert [world.known(name) for name in world.agents] == [whole] * len(world.agents)
    else:
        assert world.known("r0") == whole or world.known("r1") == whole


def test_what_a_leaf_holds_and_hears_does_not_grow_with_the_fleet() -> None:
    sizes = []
    for count in (4, 40):
        world = Fleet(("r",), {f"l{place}": ("r",) for place in range(count)}, is_tolerant=True)
        for place in range(count):
            world.pull(f"l{place}", "A", 1.0)
        world.wait(1e6)
        leaf = world.agents["l0"]
        assert world.known("l0") == {"A": (count, count), "B": (0, 0)}
        assert [key[:2] for key, _ in leaf.endpoint.replica.cells()] == [("l0", 1)]
        sizes.append(len(encode_snapshot(leaf.snapshot())))
    assert sizes[1] - sizes[0] < 8  # some numbers are longer


def test_a_leaf_talks_at_its_own_pace_two_messages_for_each_full_buffer() -> None:
    world = Fleet(("r",), {"fast": ("r",), "slow": ("r",)}, is_tolerant=True)
    world.wait(1000.0)
    before = world.messages
    for turn in range(300):
        world.pull("slow" if turn % 100 == 0 else "fast", "A", 1.0)
    assert world.messages - before == 2 * 300
    assert world.known("fast") == {"A": (300, 300), "B": (0, 0)}


def test_a_leaf_with_two_homes_goes_on_when_one_dies_and_nothing_counts_twice_when_it_is_back() -> None:
    world = fleet(homes=2)
    for turn in range(12):
        world.pull(f"l{turn % 6}", "A", 1.0)
    world.away.add("r0")
    for turn in range(12):
        world.pull(f"l{turn % 6}", "A", 1.0)
    world.wait(1e5)
    assert all(world.known(name) == {"A": (24, 24), "B": (0, 0)} for name in world.agents if name != "r0")
    world.away.clear()
    world.agents["r0"] = world.started("r0", 50)  # without its disk
    for name in world.agents:
        if name != "r0":
            world.agents["r0"].peer_joined(name, ARMS, world.now)
    world.join("r0")
    world.pull("l0", "B", 0.0)
    world.wait(1e7)
    assert [world.known(name) for name in world.agents] == [{"A": (24, 24), "B": (1, 0)}] * len(world.agents)


def test_a_leaf_that_lost_its_disk_gets_its_own_back_and_counts_it_once() -> None:
    world = fleet()
    for turn in range(12):
        world.pull(f"l{turn % 6}", "A", 1.0)
    world.agents["l0"] = world.started("l0", 50)
    world.agents["l0"].peer_joined("r0", ARMS, world.now)
    world.join("l0")
    world.wait(1e6)
    assert world.known("l0") == {"A": (12, 12), "B": (0, 0)}
    assert world.agents["l0"].policy.own_pulls == 2


def test_snapshots_and_records_bring_leaves_and_relays_back_exactly() -> None:
    world = fleet(homes=2)
    for turn in range(12):
        world.pull(f"l{turn % 6}", "A", 1.0)
    for name, agent in world.agents.items():
        stored = decode_snapshot(encode_snapshot(agent.snapshot()))
        again = Agent.restore(stored, policy=UCB(ARMS, quantum=1.0), sharing=world.sharing)
        assert again.snapshot() == agent.snapshot()
        assert again.policy.tally == agent.policy.tally
        answers = [one.flush(world.now + 1.0).outgoing for one in (again, agent)]
        assert answers[0] == answers[1], name


# Who may say what.


def told(sender: str, *cells: Cells, is_relay: bool, is_leaf: bool = False) -> Share:
    presence = Presence(sender, 7, 2, 7, True, ARMS, 1, is_relay, is_leaf)
    return Share(
        sender, "j", 1, 1, Changes(0, 3, cells, (), (presence,)), Delivery(7, 0, Receipt(1, 0, 0), False, True)
    )


TOTAL = Cells(EVERYBODY_ELSE, 0, (some("A", 5, 2),))


def one(*, is_leaf: bool) -> Agent:
    agent = Agent("j", UCB(ARMS, quantum=1.0), on_demand(loss_tolerant=True), incarnation=1)
    agent.join(0.0, is_leaf=is_leaf)
    agent.peer_joined("p", ARMS, 0.0)
    return agent


@pytest.mark.parametrize("is_leaf", [False, True])
def test_a_total_from_who_is_not_a_relay_is_refused(is_leaf: bool) -> None:
    j = one(is_leaf=is_leaf)
    before = j.snapshot()
    with pytest.raises(PeerError, match="p tells a total of what others observed, and is not a relay"):
        j.receive(told("p", TOTAL, is_relay=False), 1.0)
    assert j.snapshot() == before


@pytest.mark.parametrize("total", [(0, 0, 0), (5, 6, 6), (2**44, 0, 0), (5, 2, 9), (-1, 0, 0)])
def test_an_impossible_total_is_refused(total: tuple[int, int, int]) -> None:
    j = one(is_leaf=True)
    before = j.snapshot()
    with pytest.raises(PeerError, match="p sent a total of"):
        j.receive(told("p", Cells(EVERYBODY_ELSE, 0, (ArmTally("A", *total),)), is_relay=True), 1.0)
    assert j.snapshot() == before


def test_who_is_taken_for_a_leaf_or_not_for_one_passes_over_what_is_not_for_it_and_hears_it_again() -> None:
    row = Cells("q", 4, (some("A", 5, 2),))
    for is_leaf, heard, passed_over in ((True, TOTAL, row), (False, row, TOTAL)):
        j = one(is_leaf=is_leaf)
        outcome = j.receive(told("p", passed_over, is_relay=True), 1.0)
        assert (outcome.news, j.endpoint.links["p"].held) == ((), 0)
        outcome = j.receive(told("p", heard, is_relay=True)._replace(number=2), 2.0)
        assert (outcome.news, j.endpoint.links["p"].held) == ((some("A", 5, 2),), 3)


@pytest.mark.parametrize("roles", [(False, True), (True, False)])
def test_who_becomes_a_leaf_or_is_one_no_more_counts_nothing_twice(roles: tuple[bool, bool]) -> None:
    row, own = Cells("q", 4, (some("A", 5, 2),)), ("A", 1.0)
    j = one(is_leaf=roles[0])
    j.update(*own, 0.5)
    j.receive(told("p", TOTAL if roles[0] else row, is_relay=True), 1.0)
    assert j.policy.tally.observations == 6
    with pytest.raises(LocalError, match="it must begin a new session"):
        j.join(2.0, is_leaf=roles[1])
    start = j.snapshot()
    records = [*j.begin(9, 3.0).records, *j.join(3.0, is_leaf=roles[1]).records]
    assert (j.policy.tally.observations, j.policy.own_pulls) == (1, 1)
    again = Agent.restore(start, records, policy=UCB(ARMS, quantum=1.0), sharing=j.sharing)
    assert (again.policy.tally, again.snapshot()) == (j.policy.tally, j.snapshot())
    answer = told("p", TOTAL if roles[1] else row, is_relay=True)._replace(number=2)
    assert answer.delivery is not None
    j.receive(answer._replace(delivery=answer.delivery._replace(receipt=Receipt(9, 0, 0))), 4.0)
    assert j.policy.tally.observations == 6


def test_nobody_is_a_relay_and_a_leaf() -> None:
    j = one(is_leaf=False)
    with pytest.raises(LocalError, match="j cannot be a relay and a leaf"):
        j.join(1.0, is_relay=True, is_leaf=True)
    with pytest.raises(PeerError, match="p says that it is a relay and a leaf"):
        j.receive(told("p", is_relay=True, is_leaf=True), 1.0)


@pytest.mark.parametrize("is_tolerant", [False, True])
def test_a_relay_is_not_told_what_it_has_told_itself(is_tolerant: bool) -> None:
    world = fleet(is_tolerant=is_tolerant)
    for leaf in ("l0", "l1"):
        world.pull(leaf, "A", 1.0)
    back = [said for said in world.sent if isinstance(said, Share) and (said.sender, said.receiver) == ("r1", "r0")]
    assert {told.agent for share in back for told in share.changes.cells} == {"l1"}


@pytest.mark.parametrize("others", [2, 40])
def test_what_a_leaf_that_comes_over_costs_a_relay_does_not_depend_on_how_many_there_are(
    others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(("r", "s"), {f"leaf-{number}": ("r",) for number in range(others)}, is_tolerant=True)
    for number in range(others):
        fleet.pull(f"leaf-{number}", "A", 1.0)
        fleet.pull(f"leaf-{number}", "B", 0.0)
    fleet.wait(fleet.now + 1e6)
    assert {told.agent for told, _ in fleet.agents["s"].endpoint.replica.cells()} == {
        f"leaf-{number}" for number in range(others)
    }
    looked_at, wants = list[str](), Link.wants

    def wants_and_counts(link: Link, fact: Fact) -> bool:
        looked_at.append(type(fact.key).__name__)
        return wants(link, fact)

    monkeypatch.setattr(Link, "wants", wants_and_counts)
    leaf = fleet.started("newcomer")
    leaf.peer_joined("s", ARMS, fleet.now)
    (hello,) = leaf.join(fleet.now, is_leaf=True).outgoing
    fleet.agents["s"].receive(hello, fleet.now)
    assert Counter(looked_at) == {"TotalKey": 7, "PresenceKey": 7}
