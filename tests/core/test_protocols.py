"""A protocol is data: its table is complete, its words fit every case of it, and it cites the paper's lines."""

import pickle
from collections.abc import Iterator

import pytest

from cobandit import LocalError, RetryTimers, immediate, on_demand, silent
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.core.protocols.on_demand import ON_DEMAND
from cobandit.core.protocols.registry import PROTOCOLS, protocol_of, register
from cobandit.core.protocols.rules import Input, Protocol, Rule, Rules, rules
from cobandit.core.protocols.silent import SILENT

OBSERVATION, SHARE, LEAVE, JOIN = Input
WHATEVER = [Rule(what, None, None, None, shares=False) for what in Input]

ECHO = Protocol(
    rules(
        "echo",
        Rule(OBSERVATION, None, None, None, shares=False),
        Rule(SHARE, None, reached=True, demanded_after=None, shares=True),
        Rule(SHARE, None, reached=False, demanded_after=None, shares=False),
        *WHATEVER[2:],
    ),
    word="echo",
    title="echo",
    told="They talk when they are talked to",
    rule=("A share is answered, and nothing else is said.",),
)


@pytest.fixture
def echo() -> Iterator[Protocol]:
    register(ECHO)
    yield ECHO
    del PROTOCOLS["echo"]


def test_the_names_of_the_protocols() -> None:
    assert {protocol.name: (word, protocol.label, protocol.title) for word, protocol in PROTOCOLS.items()} == {
        "on_demand": ("odc", "ODC", "on demand"),
        "immediate": ("ibc", "IBC", "immediate broadcast"),
        "silent": ("none", "NONE", "no communication"),
    }


def test_what_follows_from_a_table_alone() -> None:
    assert {name: (p.table.talks, p.table.asks) for name, p in [*PROTOCOLS.items(), ("echo", ECHO)]} == {
        "odc": (True, True),
        "ibc": (True, False),
        "none": (False, False),
        "echo": (True, True),
    }


def test_only_communication_on_demand_is_bounded_by_theorems_and_may_be_loss_tolerant() -> None:
    assert {word: (protocol.theorems, protocol.tolerant) for word, protocol in PROTOCOLS.items()} == {
        "odc": ((1, 2), True),
        "ibc": ((), False),
        "none": ((), False),
    }


def test_the_lines_of_algorithm_1() -> None:
    cases = [case for case in ON_DEMAND.table if case[0] in (OBSERVATION, SHARE)]
    assert {case: ON_DEMAND.cited(case) for case in cases} == {
        (OBSERVATION, True, True): "Algorithm 1, lines 8 to 11",
        (OBSERVATION, True, False): "Algorithm 1, line 7",
        (OBSERVATION, False, True): "Algorithm 1, line 7",
        (OBSERVATION, False, False): "Algorithm 1, line 7",
        (SHARE, True, True): "Algorithm 1, lines 17 to 19",
        (SHARE, False, True): "Algorithm 1, lines 17 to 19",
        (SHARE, True, False): "Algorithm 1, line 21",
        (SHARE, False, False): "Algorithm 1, line 21",
    }
    for protocol in (IMMEDIATE, SILENT, ECHO):
        assert {protocol.cited(case) for case in protocol.table} == {protocol.title}


@pytest.mark.parametrize("protocol", [*PROTOCOLS.values(), ECHO], ids=lambda protocol: protocol.name)
def test_there_is_a_sentence_for_every_case_and_it_says_whether_there_is_a_share(protocol: Protocol) -> None:
    happened = {OBSERVATION: "pulled", SHARE: "got", LEAVE: "heard", JOIN: "heard"}
    usual = dict.fromkeys(["other", "asked", "wait", "of", "only", "needed", "them"], "x")
    usual |= {name.capitalize(): "X" for name in usual}
    for case, step in protocol.table.items():
        sentence = protocol.sentence(case).format(**usual, **{happened[case[0]]: "This"})
        assert sentence.startswith("This")
        assert sentence.endswith(".")
        assert ("it shares" in sentence or "it answers" in sentence) == step.shares


def test_every_way_to_share_belongs_to_its_protocol_also_in_another_process() -> None:
    for sharing, protocol in ((on_demand(), ON_DEMAND), (immediate(), IMMEDIATE), (silent(), SILENT)):
        copy = pickle.loads(pickle.dumps(sharing))
        assert copy == sharing
        assert (copy.rules.name, copy.rules.lines) == (protocol.name, protocol.table.lines)
        assert protocol_of(copy.rules) is protocol


def test_a_table_that_nobody_registered_gets_general_words() -> None:
    found = protocol_of(ECHO.table)
    assert (found.table, found.word, found.title) == (ECHO.table, "", "the table echo")


def test_a_registered_protocol_is_found(echo: Protocol) -> None:
    assert protocol_of(echo.table) is echo


@pytest.mark.parametrize(
    "twice", [Protocol(ECHO.table, "odc", "", "", ()), Protocol(rules("still", *WHATEVER), "still", "", "", ())]
)
def test_neither_a_word_nor_a_table_can_be_taken_twice(twice: Protocol) -> None:
    before = dict(PROTOCOLS)
    with pytest.raises(LocalError, match=f"^{twice.name} has the word or the table of .*, which is there already$"):
        register(twice)
    assert before == PROTOCOLS


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (WHATEVER[:3], "t: a table must decide all 16 cases, not 12"),
        ([*WHATEVER, WHATEVER[1]], "t: (<Input.SHARE: 1>, False, False) is decided twice"),
        (
            [Rule(OBSERVATION, None, None, None, shares=True)],
            "t: only a buffer that has reached its threshold is shared",
        ),
        ([Rule(JOIN, None, reached=True, demanded_after=None, shares=True)], "t: a notice looks at no buffer"),
        ([Rule(LEAVE, None, reached=True, demanded_after=None, shares=False)], "t: a notice looks at no buffer"),
    ],
)
def test_a_table_that_cannot_be_followed_is_refused(rows: list[Rule], text: str) -> None:
    with pytest.raises(LocalError) as refused:
        rules("t", *rows)
    assert str(refused.value).startswith(text)


def test_a_table_that_is_not_complete_can_still_be_named() -> None:
    assert protocol_of(Rules("own")).told == "They talk by a table of your own"


@pytest.mark.parametrize("value", [None, 1, "yes", 2.0])
def test_loss_tolerance_is_true_false_or_timers(value: bool) -> None:
    with pytest.raises(LocalError, match=r"loss_tolerant must be True, False or RetryTimers\(\.\.\.\), not "):
        on_demand(loss_tolerant=value)


def test_loss_tolerance_without_timers_has_the_usual_ones() -> None:
    assert on_demand(loss_tolerant=True) == on_demand(loss_tolerant=RetryTimers())
    assert on_demand(loss_tolerant=False) == on_demand()
    usual = f"on_demand(Constant(size=1, answers_advance=True, answers_wait=True), {RetryTimers()!r})"
    assert repr(on_demand(loss_tolerant=True)) == usual
