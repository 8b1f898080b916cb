"""The replica counts everything once, whoever tells it, how often, in which order and in whatever pieces."""

import re
from collections.abc import Iterable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import Cells, Changes, Eliminations, Presence
from cobandit.core import replica as module
from cobandit.core.credibility import check_changes, check_observations
from cobandit.core.facts import CellKey, EliminationsKey, Fact, PresenceKey, Teller
from cobandit.core.messages import MAX_INCARNATION, MAX_NUMBER, MAX_OBSERVATIONS
from cobandit.core.replica import News, Replica
from cobandit.core.snapshots import facts_state, restore_facts
from cobandit.core.state import FactState
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.quantum import Quantum
from cobandit.values.tally import ArmTally, Tally

ARMS = ("A", "B", "C")
PER_REWARD = 10
P = ("p", 7)
"""Session 7 of p, which tells what these tests tell."""


def replica(
    agent: str = "j", incarnation: int = 0, arms: Iterable[str] = ARMS, per_reward: int = PER_REWARD
) -> Replica:
    return Replica(agent, incarnation, arms, per_reward)


def rewards(arm: str, *units: int) -> ArmTally:
    """The tally of these rewards."""
    return ArmTally(arm, len(units), sum(units), sum(unit * unit for unit in units))


def tally(*entries: ArmTally) -> Tally:
    total = Tally(ARMS)
    total.add_all(entries)
    return total


def cells(agent: str, incarnation: int, *tallies: ArmTally) -> Changes:
    return Changes(cells=(Cells(agent, incarnation, tallies),))


def presence(session: int, number: int, agent: str = "p", *, is_present: bool = True) -> Presence:
    return Presence(agent, session, number, session, is_present, ARMS, PER_REWARD)


def take(receiver: Replica, changes: Changes, teller: Teller | None = P) -> News:
    check_changes(changes, "p", receiver)
    return receiver.merge(changes, teller)


def everything(_: Fact) -> bool:
    return True


def facts(of: Replica) -> set[Changes]:
    """What is known, whoever told it and whenever."""
    return {fact.told for fact in facts_state(of)}


def total(of: Replica) -> Tally:
    """All that is known, added up."""
    return tally(*(entry for _, entry in of.cells()))


def whole(of: Replica) -> tuple[object, ...]:
    """All that there is in it."""
    own = {arm: of.own_count(arm) for arm in sorted(of.arms)}
    return facts_state(of), of.number, of.incarnation, of.observations, own, total(of)


# Own observations.


def test_an_observation_is_a_change() -> None:
    own = replica(incarnation=4)
    own.observe([rewards("B", 10)])
    own.observe([rewards("A", 0)])
    own.observe([rewards("B", 5)])
    assert facts_state(own) == (
        FactState(2, None, cells("j", 4, ArmTally("A", 1, 0, 0))),
        FactState(3, None, cells("j", 4, ArmTally("B", 2, 15, 125))),
    )
    assert (own.number, own.observations) == (3, 3)
    assert [own.own_count(arm) for arm in ARMS] == [1, 2, 0]


def test_a_batch_is_a_change_of_each_of_its_arms() -> None:
    """The log advances by how many observations are new."""
    own = replica()
    own.observe([rewards("B", 10, 5), rewards("A", 0, 1, 2)])
    assert [(fact.number, fact.told.cells[0].tallies) for fact in facts_state(own)] == [
        (2, (ArmTally("B", 2, 15, 125),)),
        (5, (ArmTally("A", 3, 3, 5),)),
    ]
    assert own.number == 5


@pytest.mark.parametrize(
    ("tallies", "text"),
    [
        ((), "a list of at least one ArmTally, not ()"),
        ("A", "a list of at least one ArmTally, not 'A'"),
        ([("A", 1, 1, 1)], "a list of ArmTally(arm, observations, reward_sum, square_sum), not of ('A', 1, 1, 1)"),
        ([rewards("Z", 1)], "arm 'Z' is not one of A, B, C: update only arms of this agent"),
        ([ArmTally("A", 0, 0, 0)], "the number of observations of arm 'A' must be a whole number from 1 to"),
        ([ArmTally("A", 1, 11, 121)], "the reward sum of arm 'A', in quanta, must be a whole number from 0 to 10"),
        ([ArmTally("A", 1, -1, 1)], "the reward sum of arm 'A', in quanta, must be a whole number from 0 to 10"),
        ([ArmTally("A", 2, 10, -1)], "the square sum of arm 'A' must be a whole number of at least 0"),
        ([ArmTally("A", 2, 10, 49)], "no 2 rewards of arm 'A' add up to 10 and squares of 49"),
        ([ArmTally("A", 2, 10, 101)], "no 2 rewards of arm 'A' add up to 10 and squares of 101"),
        ([rewards("A", 1), rewards("B", 1), rewards("A", 1)], "an arm is in the batch twice: add the two up"),
        (
            [ArmTally("A", MAX_OBSERVATIONS - 1, 0, 0), rewards("B", 0)],
            f"{MAX_OBSERVATIONS + 1} observations are more than the {MAX_OBSERVATIONS} of one incarnation",
        ),
    ],
)
def test_observations_that_cannot_be_are_refused(tallies: list[ArmTally], text: str) -> None:
    own = replica()
    own.observe([rewards("A", 3)])
    before = whole(own)
    with pytest.raises(LocalError, match=re.escape(text)):
        check_observations(tallies, own)
    assert whole(own) == before


def test_the_last_observation_of_an_incarnation_is_taken() -> None:
    own = replica()
    own.observe([rewards("A", 3)])
    check_observations([ArmTally("A", MAX_OBSERVATIONS - 1, 0, 0)], own)
    own.begin(1)
    check_observations([ArmTally("A", MAX_OBSERVATIONS, 0, 0)], own)


# Incarnations.


def test_a_new_incarnation_begins_at_nothing_and_keeps_what_was() -> None:
    own = replica()
    own.observe([rewards("A", 3)])
    own.begin(4)
    own.observe([rewards("A", 1), rewards("B", 1)])
    assert facts(own) == {
        cells("j", 0, rewards("A", 3)),
        cells("j", 4, rewards("A", 1)),
        cells("j", 4, rewards("B", 1)),
    }
    assert (own.observations, own.own_count("A")) == (2, 1)
    assert total(own) == tally(rewards("A", 3, 1), rewards("B", 1))


@pytest.mark.parametrize("incarnation", [-1, 0, 3, MAX_INCARNATION, 3.5, True])
def test_a_new_incarnation_is_above_the_last(incarnation: int) -> None:
    own = replica(incarnation=3)
    own.observe([rewards("A", 3)])
    before = whole(own)
    text = f"incarnation must be a whole number from 4 to {MAX_INCARNATION - 1}, not {incarnation!r}"
    with pytest.raises(LocalError, match=text):
        own.begin(incarnation)
    assert whole(own) == before


@pytest.mark.parametrize("incarnation", [0, MAX_INCARNATION - 1])
def test_the_first_and_the_last_incarnation(incarnation: int) -> None:
    assert replica(incarnation=incarnation).incarnation == incarnation


@pytest.mark.parametrize("incarnation", [-1, MAX_INCARNATION, 0.5, "1"])
def test_an_incarnation_that_cannot_be(incarnation: int) -> None:
    with pytest.raises(LocalError, match=f"incarnation must be a whole number from 0 to .*, not {incarnation!r}"):
        replica(incarnation=incarnation)


# What it is told.


def test_a_first_word_is_all_news() -> None:
    receiver = replica()
    told = Changes(
        cells=(Cells("p", 2, (rewards("A", 2, 3), rewards("B", 0))),),
        eliminations=(Eliminations("p", 2, ("C",)),),
        presences=(presence(7, 2),),
    )
    assert take(receiver, told) == News(
        cells=((CellKey("p", 2, "A"), rewards("A", 2, 3)), (CellKey("p", 2, "B"), rewards("B", 0))),
        eliminations=(EliminationsKey("p", 2),),
        presences=(presence(7, 2),),
    )
    assert facts_state(receiver) == (
        FactState(2, P, cells("p", 2, rewards("A", 2, 3))),
        FactState(3, P, cells("p", 2, rewards("B", 0))),
        FactState(4, P, Changes(eliminations=(Eliminations("p", 2, ("C",)),))),
        FactState(5, P, Changes(presences=(presence(7, 2),))),
    )
    assert receiver.number == 5


def test_a_later_word_brings_the_difference() -> None:
    receiver = replica()
    take(receiver, cells("p", 0, rewards("A", 2, 3), rewards("B", 0)))
    news = take(receiver, cells("p", 0, rewards("A", 2, 3, 4, 1), rewards("B", 0)), ("q", 1))
    assert news == News(((CellKey("p", 0, "A"), rewards("A", 4, 1)),))
    assert facts_state(receiver) == (
        FactState(3, P, cells("p", 0, rewards("B", 0))),
        FactState(5, ("q", 1), cells("p", 0, rewards("A", 2, 3, 4, 1))),
    )


@pytest.mark.parametrize(
    "old",
    [
        cells("p", 0, rewards("A", 1, 1, 1)),
        cells("p", 0, rewards("A", 1)),
        cells("p", 0, ArmTally("A", 3, 30, 5)),
        Changes(eliminations=(Eliminations("p", 0, ("B",)),)),
        Changes(eliminations=(Eliminations("p", 0, ()),)),
        Changes(presences=(presence(7, 3),)),
        Changes(presences=(presence(7, 3, is_present=False),)),
        Changes(presences=(presence(6, 9, is_present=False),)),
        Changes(),
    ],
)
def test_old_news_is_no_news_whatever_it_says(old: Changes) -> None:
    receiver = replica()
    take(receiver, cells("p", 0, rewards("A", 1, 1, 1)))
    take(receiver, Changes(eliminations=(Eliminations("p", 0, ("B", "C")),), presences=(presence(7, 3),)))
    before = whole(receiver)
    assert take(receiver, old, ("q", 9)) == News()
    assert whole(receiver) == before


@pytest.mark.parametrize(("session", "number"), [(7, 4), (8, 0), (MAX_INCARNATION - 1, MAX_NUMBER)])
def test_the_later_session_and_number_is_the_last_word(session: int, number: int) -> None:
    receiver = replica()
    take(receiver, Changes(presences=(presence(7, 3),)))
    later = presence(session, number, is_present=False)
    assert take(receiver, Changes(presences=(later,))) == News(presences=(later,))
    assert facts(receiver) == {Changes(presences=(later,))}


def test_eliminations_are_only_ever_added() -> None:
    receiver = replica()
    for arms in (("B",), ("C", "B"), ("A",)):
        take(receiver, Changes(eliminations=(Eliminations("p", 0, arms),)))
    assert receiver.eliminated("p", 0) == ("B", "C", "A")
    assert receiver.eliminated("p", 1) == ()


def test_what_it_is_told_of_other_arms_it_passes_over() -> None:
    receiver = replica(arms=("A",))
    assert take(receiver, cells("p", 0, ArmTally("Z", 100, -7, 3), rewards("A", 1))) == News(
        ((CellKey("p", 0, "A"), rewards("A", 1)),)
    )
    assert facts(receiver) == {cells("p", 0, rewards("A", 1))}


def test_every_place_is_a_cell_of_its_own() -> None:
    receiver, places = replica(), [("p", 0), ("p", 1), ("q", 0)]
    told = tuple(Cells(*place, (rewards("A", units),)) for units, place in enumerate(places))
    take(receiver, Changes(cells=told))
    assert facts(receiver) == {Changes(cells=(one,)) for one in told}
    assert receiver.changes(0, everything).cells == told
    assert total(receiver) == tally(rewards("A", *range(len(places))))


@pytest.mark.parametrize("place", [{"bandit": "b"}, {"segment": "s" * 200}, {"period": 3}])
def test_what_is_not_served_is_passed_over(place: dict[str, str | int]) -> None:
    receiver = replica()
    assert take(receiver, Changes(cells=(Cells("p", 0, (rewards("A", 1),), **place),))) == News()  # type: ignore[arg-type]
    assert whole(receiver) == whole(replica())


def test_what_others_say_of_an_own_incarnation_that_lies_ahead_is_passed_over() -> None:
    receiver = replica(incarnation=4)
    assert take(receiver, cells("j", 5, rewards("A", 1))) == News()
    assert whole(receiver) == whole(replica(incarnation=4))
    receiver.begin(5)


def test_of_two_words_on_an_incarnation_that_is_over_which_cannot_both_be_true_the_first_stays() -> None:
    receiver = replica()
    take(receiver, Changes(presences=(presence(9, 2),)))
    take(receiver, cells("p", 5, rewards("A", PER_REWARD)))
    before = whole(receiver)
    lie = Cells("p", 5, (rewards("A", 0, 0, 0),))
    assert take(receiver, Changes(cells=(lie,))) == News()
    assert whole(receiver) == before
    take(receiver, cells("p", 9, rewards("A", PER_REWARD)))
    with pytest.raises(PeerError, match="no rewards of at most"):  # of the present one it is an offence
        take(receiver, cells("p", 9, rewards("A", 0, 0, 0)))


# Any order, any number of times, in any pieces, through anybody.


def prefixes(observed: list[tuple[str, int]], agent: str, incarnation: int) -> list[Changes]:
    """What an incarnation with these observations may tell at any time."""
    told: list[Changes] = []
    so_far: dict[str, list[int]] = {}
    for arm, units in observed:
        so_far.setdefault(arm, []).append(units)
        told.append(cells(agent, incarnation, rewards(arm, *so_far[arm])))
    return told


@st.composite
def words(draw: st.DrawFn) -> list[Changes]:
    """All that was ever true of two agents, fact by fact, and each at every time."""
    told: list[Changes] = []
    for agent in ("p", "q"):
        for incarnation in range(draw(st.integers(1, 2))):
            pulls = draw(st.lists(st.tuples(st.sampled_from(ARMS), st.integers(0, PER_REWARD)), max_size=8))
            told += prefixes(pulls, agent, incarnation)
            gone = draw(st.permutations(ARMS))[: draw(st.integers(0, 3))]
            told += [
                Changes(eliminations=(Eliminations(agent, incarnation, tuple(gone[: count + 1])),))
                for count in range(len(gone))
            ]
        told += [
            Changes(presences=(presence(session, number, agent, is_present=number % 2 == 0),))
            for session, number in sorted(draw(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=4)))
        ]
    return told


def together(told: Iterable[Changes]) -> Changes:
    """Several words in one message, which tells of the cells of one incarnation only once."""
    parts = list(told)
    tallies: dict[tuple[str, int], tuple[ArmTally, ...]] = {}
    for one in (one for part in parts for one in part.cells):
        key = one.agent, one.incarnation
        tallies[key] = (*tallies.get(key, ()), *one.tallies)
    return Changes(
        cells=tuple(Cells(*key, entries) for key, entries in tallies.items()),
        eliminations=tuple(one for part in parts for one in part.eliminations),
        presences=tuple(one for part in parts for one in part.presences),
    )


def heard(messages: Iterable[Changes]) -> Replica:
    receiver = replica()
    for message in messages:
        take(receiver, message)
    return receiver


@st.composite
def shuffled(draw: st.DrawFn, told: list[Changes]) -> list[Changes]:
    """These words in any order, some of them twice, each alone."""
    twice = draw(st.lists(st.sampled_from(told), max_size=10)) if told else []
    return draw(st.permutations([*told, *twice]))


@given(words(), st.data())
def test_order_and_repetition_make_no_difference(told: list[Changes], data: st.DataObject) -> None:
    one, other = (data.draw(shuffled(told)) for _ in range(2))
    assert facts(heard(one)) == facts(heard(other)) == facts(heard(told))
    assert total(heard(one)) == total(heard(told))


@given(words(), st.data())
def test_what_is_heard_again_is_no_news(told: list[Changes], data: st.DataObject) -> None:
    receiver = heard(told)
    before = whole(receiver)
    for word in data.draw(shuffled(told)):
        assert take(receiver, word, ("q", 1)) == News()
    assert whole(receiver) == before


@given(words(), st.data())
def test_pieces_make_no_difference(told: list[Changes], data: st.DataObject) -> None:
    """A message may tell each fact only once, so a piece is one value of some of them."""
    messages: list[Changes] = []
    left = data.draw(shuffled(told))
    while left:
        piece = {_key(word): word for word in left[: data.draw(st.integers(1, 5))]}
        messages.append(together(piece.values()))
        left = [word for word in left if word not in piece.values()]
    assert facts(heard(messages)) == facts(heard(told))


@given(words(), st.data())
def test_it_makes_no_difference_through_whom(told: list[Changes], data: st.DataObject) -> None:
    """Each of three hears a part, and passes on what it then knows, in any order."""
    parts: list[list[Changes]] = [[], [], []]
    for word in told:
        for place in data.draw(st.sets(st.integers(0, 2), min_size=1)):
            parts[place].append(word)
    passed = [heard(part).changes(0, everything) for part in parts]
    assert facts(heard(data.draw(st.permutations(passed)))) == facts(heard(told))


@given(words(), st.data())
def test_the_news_add_up_to_what_is_known(told: list[Changes], data: st.DataObject) -> None:
    receiver, learned = replica(), total(replica())
    for word in data.draw(shuffled(told)):
        learned.add_all(added for _, added in take(receiver, word).cells)
    assert learned == total(receiver)


def _key(word: Changes) -> object:
    if word.cells:
        (told,) = word.cells
        return told.agent, told.incarnation, told.tallies[0].arm
    return ("gone", word.eliminations[0].agent) if word.eliminations else word.presences[0].agent


# What it tells.


def busy() -> Replica:
    """Five facts, changed in the order A, p's B, p's eliminations, p's presence, B, A again."""
    own = replica()
    own.observe([rewards("A", 1)])
    take(own, cells("p", 0, rewards("B", 2)))
    take(own, Changes(eliminations=(Eliminations("p", 0, ("C",)),), presences=(presence(7, 2),)))
    own.observe([rewards("B", 3)])
    own.observe([rewards("A", 4)])
    return own


def test_changes_are_what_changed_since_in_full() -> None:
    own = busy()
    assert own.changes(0, everything) == Changes(
        base=0,
        upto=6,
        cells=(Cells("p", 0, (rewards("B", 2),)), Cells("j", 0, (rewards("B", 3), rewards("A", 1, 4)))),
        eliminations=(Eliminations("p", 0, ("C",)),),
        presences=(presence(7, 2),),
    )
    assert own.changes(4, everything) == Changes(4, 6, (Cells("j", 0, (rewards("B", 3), rewards("A", 1, 4))),))
    assert own.changes(5, everything) == Changes(5, 6, (Cells("j", 0, (rewards("A", 1, 4),)),))
    assert own.changes(6, everything) == Changes(6, 6)


def test_changes_are_only_what_is_wanted() -> None:
    own = busy()
    assert own.changes(0, lambda fact: isinstance(fact.key, PresenceKey)) == Changes(0, 6, presences=(presence(7, 2),))
    assert own.changes(0, lambda _: False) == Changes(0, 6)


def test_what_is_wanted_is_read_from_the_end() -> None:
    assert [fact.number for fact in busy().wanted(0, everything)] == [6, 5, 4, 3, 2]
    assert [fact.key for fact in busy().wanted(4, everything)] == [CellKey("j", 0, "A"), CellKey("j", 0, "B")]


def test_numbers_of_facts() -> None:
    own = busy()
    assert own.number_of(CellKey("j", 0, "A")) == 6
    assert own.number_of(EliminationsKey("p", 0)) == 3
    assert own.number_of(CellKey("q", 0, "A")) == 0


def test_a_fact_that_is_put_again_is_a_change() -> None:
    own = busy()
    assert own.put(EliminationsKey("j", 0), ("B",)) == 7
    assert own.put(EliminationsKey("j", 0), ("B", "C")) == 8
    assert own.changes(6, everything) == Changes(6, 8, eliminations=(Eliminations("j", 0, ("B", "C")),))


def test_who_is_here() -> None:
    own = busy()
    assert (own.presence_of("p"), own.presence_of("q")) == (presence(7, 2), None)
    farewell = presence(7, 3, is_present=False)
    take(own, Changes(presences=(farewell,)))
    assert own.presence_of("p") == farewell


def test_what_is_held_of_an_incarnation() -> None:
    own = busy()
    assert [own.observations_of(*origin) for origin in (("p", 0), ("p", 1), ("j", 0))] == [1, 0, 3]


Act = tuple[str, str, int]
acts = st.lists(
    st.tuples(
        st.sampled_from(["observe", "hear", "eliminate", "say", "tell", "lose", "late", "begin"]),
        st.sampled_from(ARMS),
        st.integers(0, PER_REWARD),
    ),
    max_size=40,
)


class Pair:
    """A replica that things happen to, and a neighbour that is told from time to time."""

    def __init__(self) -> None:
        self.sender, self.receiver = replica("j"), replica("p")
        self.others: dict[str, list[int]] = {}
        self.gone: tuple[str, ...] = ()
        self.held = 0
        self.sent: list[Changes] = []

    def act(self, what: str, arm: str, units: int) -> None:
        sender = self.sender
        if what == "observe":
            sender.observe([rewards(arm, units)])
        elif what == "hear":
            self.others.setdefault(arm, []).append(units)
            take(sender, cells("q", 0, rewards(arm, *self.others[arm])), ("q", 0))
        elif what == "eliminate" and arm not in self.gone:
            self.gone += (arm,)
            sender.put(EliminationsKey("j", sender.incarnation), self.gone)
        elif what == "say":
            sender.put(PresenceKey("j"), presence(3, sender.number, "j"))
        elif what == "begin":
            sender.begin(sender.incarnation + 1)
            self.gone = ()
        elif what in ("tell", "lose"):
            self.sent.append(sender.changes(self.held, everything))
            if what == "tell":
                self.deliver(self.sent[-1])
        elif what == "late" and self.sent:
            self.deliver(self.sent[units % len(self.sent)])

    def deliver(self, told: Changes) -> None:
        take(self.receiver, told, ("j", 0))
        if told.base <= self.held:
            self.held = max(self.held, told.upto)

    def receiver_facts(self) -> set[Changes]:
        """What the neighbour knows, but for what an incarnation that is over had eliminated."""
        now = self.sender.incarnation
        return {known for known in facts(self.receiver) if all(told[1] == now for told in known.eliminations)}

    def tell_all(self, size: int) -> None:
        """Tell in parts of this size until there is nothing left."""
        while True:
            told = self.sender.changes(self.held, everything)
            assert len(parts(told)) <= size + len(told.presences)
            self.deliver(told)
            if told.upto == self.sender.number:
                return


def parts(told: Changes) -> list[object]:
    """The facts in a message."""
    tallies = [(one.agent, one.incarnation, entry) for one in told.cells for entry in one.tallies]
    return [*tallies, *told.eliminations, *told.presences]


@given(acts)
def test_what_changed_since_brings_a_neighbour_up_to_date(happened: list[Act]) -> None:
    pair = Pair()
    for what, arm, units in happened:
        pair.act(what, arm, units)
        if what == "tell":
            assert pair.held == pair.sender.number
            assert pair.receiver_facts() == facts(pair.sender)
    pair.act("tell", "A", 0)
    assert pair.receiver_facts() == facts(pair.sender)


@given(acts, st.integers(1, 4))
def test_parts_tell_everything_and_an_acknowledged_part_skips_nothing(happened: list[Act], size: int) -> None:
    with patch.object(module, "MAX_FACTS_PER_MESSAGE", size):
        pair = Pair()
        for what, arm, units in happened:
            pair.act(what, arm, units)
            held_facts = [fact for fact in facts_state(pair.sender) if fact.number <= pair.held]
            assert {fact.told for fact in held_facts} <= facts(pair.receiver)
        pair.tell_all(size)
    assert pair.receiver_facts() == facts(pair.sender)
    assert pair.held == pair.sender.number


@given(acts, st.integers(1, 4))
def test_the_oldest_changes_are_told_first(happened: list[Act], size: int) -> None:
    """And with every part, who speaks."""
    pair = Pair()
    for what, arm, units in happened:
        pair.act(what, arm, units)
    state, told, base = facts_state(pair.sender), 0, 0
    while told < len(state):
        with patch.object(module, "MAX_FACTS_PER_MESSAGE", size):
            changes = pair.sender.changes(base, everything)
        part = state[told : told + size]
        introduction = [fact for fact in state[told + size :] if fact.told.presences]
        expected = [one for fact in (*part, *introduction) for one in parts(fact.told)]
        assert sorted(map(repr, parts(changes))) == sorted(map(repr, expected))
        told += len(part)
        assert changes[:2] == (base, pair.sender.number if told == len(state) else part[-1].number)
        base = changes.upto


def test_a_part_ends_with_what_it_tells_and_says_who_speaks() -> None:
    own, here = busy(), (presence(7, 2),)
    with patch.object(module, "MAX_FACTS_PER_MESSAGE", 2):
        assert [own.changes(base, everything) for base in (0, 3, 5)] == [
            Changes(0, 3, (Cells("p", 0, (rewards("B", 2),)),), (Eliminations("p", 0, ("C",)),), here),
            Changes(3, 5, (Cells("j", 0, (rewards("B", 3),)),), presences=here),
            Changes(5, 6, (Cells("j", 0, (rewards("A", 1, 4),)),)),
        ]


# State.


def again(of: Replica) -> Replica:
    twin = replica(of.agent, of.incarnation)
    restore_facts(twin, of.number, facts_state(of))
    return twin


@given(acts)
def test_what_is_restored_is_the_same_and_goes_on_the_same(happened: list[Act]) -> None:
    pair = Pair()
    for what, arm, units in happened:
        pair.act(what, arm, units)
    for one in (pair.sender, pair.receiver):
        twin = again(one)
        assert whole(twin) == whole(one)
        for both in (one, twin):
            both.observe([rewards("B", 3)])
            take(both, cells("r", 0, rewards("C", 1)), ("r", 0))
        assert whole(twin) == whole(one)
        assert twin.changes(0, everything) == one.changes(0, everything)


def test_numbers_have_gaps_where_a_fact_changed_again() -> None:
    own = busy()
    assert [fact.number for fact in facts_state(own)] == [2, 3, 4, 5, 6]
    assert whole(again(own)) == whole(own)


def test_an_arm_that_was_observed_before_and_after_another_is_restored() -> None:
    own = replica()
    for arm in "AAAB":
        own.observe([rewards(arm, 1)])
    own.observe([rewards("A", 1)])
    assert whole(again(own)) == whole(own)


def test_a_log_goes_on_where_it_ended() -> None:
    own = replica()
    restore_facts(own, 9, facts_state(busy()))
    assert (own.number, own.put(EliminationsKey("j", 0), ("B",))) == (9, 10)


@pytest.mark.parametrize(
    ("number", "order"),
    [
        (5, (0, 1, 2, 3, 4)),  # the log ends before its last fact
        (6, (0, 1, 2, 4, 3)),
        (6, (1, 0, 2, 3, 4)),
        (9, (0, 1, 2, 3, 4, 4)),
        (9, (0, 0, 1, 2, 3, 4)),
    ],
)
def test_facts_that_are_doubled_or_out_of_order_are_not_restored(number: int, order: tuple[int, ...]) -> None:
    state = facts_state(busy())
    with pytest.raises(LocalError, match="a fact is there twice, or out of order"):
        restore_facts(replica(), number, [state[place] for place in order])


@pytest.mark.parametrize(
    "told",
    [
        Changes(),
        cells("p", 0, rewards("Z", 1)),
        cells("p", 0, rewards("A", 1), rewards("B", 1)),
        Changes(eliminations=(Eliminations("p", 0, ()),)),
    ],
)
def test_a_state_that_is_not_one_fact_is_not_restored(told: Changes) -> None:
    with pytest.raises(LocalError, match="a fact is there twice, or out of order"):
        restore_facts(replica(), 9, [FactState(5, P, told)])


# Squares, and 64 bits.


@given(
    st.sampled_from([1, 2, 10, 1000, 32_768, 10**6, 10**9]),
    st.lists(st.tuples(st.sampled_from(ARMS), st.floats(0.0, 1.0)), max_size=30),
    st.data(),
)
def test_squares_are_exact_whoever_adds_them_up(
    per_reward: int, pulls: list[tuple[str, float]], data: st.DataObject
) -> None:
    quantum = Quantum(1 / per_reward)
    sender, receiver = replica("p", per_reward=per_reward), replica("j", per_reward=per_reward)
    squares = dict.fromkeys(ARMS, 0)
    for arm, reward in pulls:
        units = quantum.units(round(reward)) if per_reward == 1 else quantum.units(reward)
        squares[arm] += quantum.square(units)
        entry = ArmTally(arm, 1, units, quantum.square(units))
        check_observations([entry], sender)
        sender.observe([entry])
        if data.draw(st.booleans()):
            take(receiver, sender.changes(0, everything))
    take(receiver, sender.changes(0, everything))
    assert total(sender).squares == total(receiver).squares == squares


@pytest.mark.parametrize("per_reward", [1, 2, 1000, 32_768, 32_769, 10**6, 10**9])
def test_the_largest_cell_fits_64_bits(per_reward: int) -> None:
    quantum = Quantum(1 / per_reward)
    largest = ArmTally(
        "A", MAX_OBSERVATIONS, MAX_OBSERVATIONS * per_reward, MAX_OBSERVATIONS * quantum.square(per_reward)
    )
    assert max(largest[1:]) < 2**63
    receiver = replica(per_reward=per_reward)
    check_observations([largest], receiver)
    take(receiver, cells("p", 0, largest))
    assert facts(receiver) == {cells("p", 0, largest)}


def test_no_peer_moves_the_log_past_its_limit() -> None:
    own = replica()
    own.number = MAX_NUMBER - 1
    try:
        take(own, cells("p", 0, rewards("A", 1, 1)))
    except PeerError:
        return
    check_changes(own.changes(0, everything), "j", replica("p"))


def test_an_incarnation_that_others_know_is_not_begun() -> None:
    own = replica(incarnation=4)
    take(own, cells("j", 5, rewards("A", 1, 1, 1)))
    try:
        own.begin(5)
    except LocalError:
        return
    own.observe([rewards("A", 1)])
    assert len(facts_state(own)) == len(facts(own)) == 1
