"""A snapshot and the records since are the agent: through bytes, at every point of a run in which all goes wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit import AAE, UCB, Agent, Policy
from cobandit.codec import decode, decode_record, decode_snapshot, encode, encode_record, encode_snapshot
from cobandit.core import (
    Cells,
    Changes,
    Constant,
    Delivery,
    Eliminations,
    Endpoint,
    Geometric,
    InputRecord,
    LinkView,
    Message,
    Outcome,
    Presence,
    Receipt,
    RetryTimers,
    Share,
    Sharing,
    on_demand,
)
from cobandit.core.retransmit import Phase
from cobandit.core.snapshots import restored, state, view
from cobandit.core.state import EndpointState, FactState
from cobandit.values.errors import LocalError, StrangerError
from cobandit.values.tally import ArmTally
from lab.pairs import lasting

NAMES = ("j", "p", "q")
TIMERS = RetryTimers(first=6.0, least=1.0, growth=1.5, tick=20.0, longest=60.0)


@dataclass(frozen=True)
class Kind:
    """How the agents of a group decide and talk, and which arms they have."""

    policy: Callable[[Sequence[str]], Policy]
    sharing: Sharing
    arms: tuple[str, ...]

    def restored(self, snapshot: bytes, records: Sequence[bytes]) -> Agent:
        kept, happened = decode_snapshot(snapshot), [decode_record(record) for record in records]
        further = [arm for record in happened for arm in getattr(record, "arms", ())]
        arms = tuple(dict.fromkeys((*kept.endpoint.arms, *further)))
        return Agent.restore(kept, happened, policy=self.policy(arms), sharing=self.sharing)


KINDS = {
    "UCB, same arms": Kind(lambda arms: UCB(arms, quantum=0.5), on_demand(loss_tolerant=TIMERS), ("AB", "AB", "AB")),
    "AAE, same arms": Kind(
        lambda arms: AAE(arms, alpha=0.2, quantum=0.5), on_demand(Constant(2), loss_tolerant=TIMERS), ("AB", "BA", "AB")
    ),
    "AAE, different arms": Kind(
        lambda arms: AAE(arms, alpha=0.2, quantum=0.5),
        on_demand(Geometric(2), loss_tolerant=TIMERS),
        ("ABC", "BC", "CD"),
    ),
}


class Group:
    """Three agents over a network that loses, doubles and delays, and what each has written down."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.agents = {
            name: Agent(name, kind.policy(tuple(arms)), kind.sharing)
            for name, arms in zip(NAMES, kind.arms, strict=True)
        }
        self.under_way: list[bytes] = []
        self.snapshots: dict[str, bytes] = {}
        self.records: dict[str, list[bytes]] = {}
        self.now, self.starts = 0.0, 0
        for name, agent in self.agents.items():
            for other in self.agents.values():
                if other is not agent:
                    agent.peer_joined(other.name, other.arms)
            self.write(name)

    def write(self, name: str) -> None:
        """Take a snapshot."""
        self.snapshots[name], self.records[name] = encode_snapshot(self.agents[name].snapshot()), []

    def act(self, what: str, name: str, luck: int) -> None:
        agent = self.agents[name]
        self.now += (luck - 2) if what == "set the clock" else luck % 5
        if what == "pull":
            arm = agent.select_arm()
            self.took(name, agent.update(arm, 0.5 * (luck % 3), self.now))
        elif what in ("receive", "receive again") and self.under_way:
            self.receive(luck, keep=what == "receive again")
        elif what == "lose" and self.under_way:
            del self.under_way[luck % len(self.under_way)]
        elif what == "join":
            self.took(name, agent.join(self.now))
        elif what == "leave":
            self.took(name, agent.leave())
        elif what == "miss":
            self.took(name, agent.peer_left(tuple(agent.peers)[luck % 2], self.now))
        elif what == "wake":
            self.took(name, agent.wake(self.now))
        elif what == "flush":
            self.took(name, agent.flush(self.now))
        elif what == "begin":
            self.begin(agent, arms=agent.arms if luck % 2 else tuple(dict.fromkeys((*agent.arms, "D", "E")))[:luck])
        elif what == "crash":
            self.agents[name] = self.kind.restored(self.snapshots[name], ())
            self.begin(self.agents[name], is_new_life=True)
            self.write(name)
        elif what == "write":
            self.write(name)

    def begin(self, agent: Agent, arms: tuple[str, ...] | None = None, *, is_new_life: bool = False) -> None:
        self.starts += 1
        session = 1000 * (agent.session // 1000 + 1) + self.starts  # different from every one that ever was
        if arms is not None and len(arms) < len(agent.arms):
            arms = None
        incarnation = session if is_new_life else None
        self.took(agent.name, agent.begin(session, self.now, incarnation=incarnation, arms=arms))
        self.took(agent.name, agent.join(self.now))

    def receive(self, luck: int, *, keep: bool) -> None:
        place = luck % len(self.under_way)
        message: Message = decode(self.under_way[place] if keep else self.under_way.pop(place))
        outcome = self.agents[message.receiver].receive(message, self.now)
        self.took(message.receiver, outcome)

    def took(self, name: str, outcome: Outcome) -> None:
        self.records[name] += map(encode_record, outcome.records)
        self.under_way += map(encode, outcome.outgoing)

    def check(self) -> None:
        for name, agent in self.agents.items():
            assert whole(self.kind.restored(self.snapshots[name], self.records[name])) == whole(agent)


def whole(agent: Agent) -> tuple[object, ...]:
    """All that may influence what an agent does next: not when it last heard of whom."""
    policy, endpoint = agent.policy, agent.endpoint
    return (
        encode_snapshot(lasting(agent.snapshot())),
        [view(endpoint, peer)._replace(last_heard=None) for peer in agent.peers],
        (endpoint.members.same_arms, endpoint.candidates.own, endpoint.replica.observations, agent.wake_at),
        (policy.tally, policy.own_pulls, policy.candidates, policy.arms, agent.select_arm()),
    )


acts = st.tuples(
    st.sampled_from(
        ["pull"] * 6
        + ["receive"] * 6
        + ["receive again", "lose", "join", "leave", "miss", "wake", "flush", "begin", "crash", "write"]
        + ["set the clock"]
    ),
    st.sampled_from(NAMES),
    st.integers(0, 9),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(run=st.lists(acts, min_size=10, max_size=60))
def test_a_snapshot_and_the_records_since_are_the_agent(kind: str, run: list[tuple[str, str, int]]) -> None:
    group = Group(KINDS[kind])
    for what, name, luck in run:
        group.act(what, name, luck)
        group.check()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_restored_goes_on_the_same(kind: str) -> None:
    """A long run, after which both live on with the same input."""
    group = Group(KINDS[kind])
    doings = (
        "pull",
        "receive",
        "pull",
        "receive",
        "pull",
        "join",
        "receive",
        "begin",
        "wake",
        "receive",
        "lose",
        "crash",
    )
    for turn in range(360):
        group.act(doings[turn % len(doings)], NAMES[turn % 3], turn * 7 % 10)
    for name, live in group.agents.items():
        again = group.kind.restored(group.snapshots[name], group.records[name])
        for turn in range(6):
            arm, now = live.select_arm(), group.now + 9.0 * turn
            assert again.update(arm, 0.5, now) == live.update(arm, 0.5, now)
            assert again.wake(now + 1.0) == live.wake(now + 1.0)
        for frame in group.under_way:
            message = decode(frame)
            if message.receiver == name:
                assert again.receive(message, group.now + 90.0) == live.receive(message, group.now + 90.0)
        assert whole(again) == whole(live)


# One by one.


def endpoint() -> Endpoint:
    """j, which has something in everything that is kept."""
    j = Endpoint("j", ("A", "B", "C"), on_demand(loss_tolerant=TIMERS), units_per_reward=1, incarnation=3, settles=True)
    j.peer_joined("p", ("B", "A", "C"), 0.0)
    j.peer_joined("q", ("A", "D"), 0.0)
    j.observe((ArmTally("A", 1, 1, 1), ArmTally("C", 1, 0, 0)), 1.0)
    j.eliminate("C", 2.0)
    j.begin(8, 8, ("A", "B", "C"), 3.0)
    j.join(4.0)
    told = Changes(
        0,
        9,
        (
            Cells("p", 2, (ArmTally("A", 5, 2, 2),)),
            Cells("p", 7, (ArmTally("B", 1, 1, 1),)),
            Cells("j", 3, (ArmTally("A", 2, 1, 1),)),
        ),
        (Eliminations("p", 7, ("A",)),),
        (Presence("p", 7, 2, 7, is_present=True, arms=("A", "B", "C"), units_per_reward=1),),
    )
    j.receive(Share("p", "j", 4, 3, told, Delivery(7, 0, Receipt(8, 1, 5), is_introduced=True)), 6.5)
    j.peer_left("q", 7.0)
    return j


def test_how_a_link_stands() -> None:
    assert view(endpoint(), "p") == LinkView(
        peer="p",
        arms=("B", "A", "C"),
        common=("A", "B", "C"),
        candidates=frozenset({"B", "C"}),
        is_present=True,
        session=7,
        incarnation=7,
        last_heard=6.5,
        demanded=True,
        buffered=0,
        c=2,
        threshold=1,
        shares_sent=1,
        shares_received=4,
        is_settled=False,
        held=1,
        unacknowledged=0,
        owes=True,
        phase=Phase.OPEN,
        attempts=0,
        is_known=True,
    )


def test_how_a_link_to_a_stranger_stands() -> None:
    with pytest.raises(StrangerError, match="'r' is not known to j"):
        view(endpoint(), "r")


def test_a_state_is_restored_as_it_was() -> None:
    j = endpoint()
    again = restored(state(j), on_demand(loss_tolerant=TIMERS), settles=True)
    assert state(again) == state(j)
    assert [view(again, peer) for peer in "pq"] == [view(j, peer) for peer in "pq"]
    assert (again.candidates.own, again.agenda.own_eliminated_at) == ({"A", "B"}, 4)


def test_a_state_does_not_change_with_its_endpoint() -> None:
    j = endpoint()
    kept = state(j)
    copy = repr(kept)
    j.observe((ArmTally("A", 1, 1, 1),), 8.0)
    j.peer_left("p", 8.0)
    assert repr(kept) == copy


def damaged(what: str) -> EndpointState:
    kept = state(endpoint())
    link, other = kept.links
    gone = FactState(kept.number + 1, None, Changes(eliminations=(Eliminations("j", 8, ("A", "B", "C")),)))
    foreign = FactState(kept.number + 1, ("p", 7), Changes(cells=(Cells("p", 9, (ArmTally("Z", 1, 1, 1),)),)))
    without = tuple(fact for fact in kept.facts if not any(told.incarnation == 8 for told in fact.told.eliminations))
    return {
        "a peer twice": kept._replace(links=(link, link)),
        "itself as a peer": kept._replace(links=(link._replace(peer="j"), other)),
        "a peer without arms": kept._replace(links=(link._replace(arms=()), other)),
        "no loss tolerance": kept._replace(links=(link._replace(retransmit=None), other)),
        "no arm left": kept._replace(number=kept.number + 1, facts=(*without, gone)),
        "a fact twice": kept._replace(number=kept.number + 1, facts=(*kept.facts, kept.facts[0])),
        "a foreign arm": kept._replace(number=kept.number + 1, facts=(*kept.facts, foreign)),
        "a log that ends too early": kept._replace(number=kept.number - 1),
        "an impossible incarnation": kept._replace(incarnation=-1),
        "no arms": kept._replace(arms=()),
    }[what]


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a peer twice", "p is listed twice"),
        ("itself as a peer", "agent 'j' cannot be its own peer"),
        ("a peer without arms", "the arm set is empty"),
        ("no loss tolerance", "it was made with another loss_tolerant"),
        ("no arm left", "the eliminated arms are not some of the arms"),
        ("a fact twice", "a fact is there twice, or out of order"),
        ("a foreign arm", "a fact is there twice, or out of order"),
        ("a log that ends too early", "a fact is there twice, or out of order"),
        ("an impossible incarnation", "incarnation must be a whole number"),
        ("no arms", "the arm set is empty"),
    ],
)
def test_a_damaged_state_is_refused(what: str, text: str) -> None:
    with pytest.raises(LocalError, match=text):
        restored(damaged(what), on_demand(loss_tolerant=TIMERS), settles=True)


def test_records_are_kept_as_bytes() -> None:
    """Every kind of record, as a run makes them."""
    group, kinds = Group(KINDS["AAE, different arms"]), set()
    for turn in range(200):
        what = ("pull", "receive", "join", "miss", "wake", "flush", "begin", "receive")[turn % 8]
        group.act(what, NAMES[turn % 3], turn % 10)
        happened: list[InputRecord] = [decode_record(record) for name in NAMES for record in group.records[name]]
        kinds |= {type(record).__name__ for record in happened}
    assert kinds == {"Observed", "Received", "Introduced", "PeerLeft", "Woke", "Flushed", "Began"}
