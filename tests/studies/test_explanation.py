"""An explanation tells what happened: its events are the readable engine's, its rules are those of the protocol."""

import html
import re
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from cobandit import (
    Constant,
    FromFunction,
    Geometric,
    LocalError,
    PerCandidate,
    RetryTimers,
    immediate,
    on_demand,
    silent,
)
from cobandit.core.protocols.registry import protocol_of
from cobandit.core.protocols.rules import Input
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    Bernoulli,
    BuiltIn,
    Discrete,
    Faults,
    Halving,
    Kind,
    Partition,
    Rate,
    RewardRange,
    Row,
    Scenario,
    Slots,
    Tape,
    transcript,
)
from cobandit.scenario.file import read_scenario
from cobandit.scenario.paying import Pay
from cobandit.simulator import run
from cobandit.studies.explanation import FIGURE_1, FIGURE_1_NAMES, Explanation, explain, listening
from cobandit.studies.explanation.choosing import chosen_pair
from cobandit.studies.explanation.conversation import Cause, Conversation, Ending, Form
from cobandit.studies.explanation.listening import MOST_MOMENTS, USUAL_MOMENTS, USUAL_SHARES, listen

ROOT = Path(__file__).parent.parent.parent

TWO = Scenario(300, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.15))))
THREE = replace(TWO, agents=(*TWO.agents, AgentSpec(Rate(0.5), arms=("1",))))
ROUGH = Faults(loss=0.3, duplication=0.2, jitter=3, reordering=0.2, partitions=(Partition(40, 60, (0,), (1, 2)),))
LEAVING = (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.3), absences=(Absence(20, 60), Absence(150))), AgentSpec(Rate(0.5)))

ON_DEMAND_WORLDS = {
    "as in the paper": TWO,
    "three agents, one with an arm less": THREE,
    "a constant threshold": replace(TWO, sharing=on_demand(Constant(3))),
    "doubling thresholds": replace(TWO, sharing=on_demand(Geometric(2, cap=16))),
    "answers that do not advance": replace(TWO, sharing=on_demand(Geometric(2, cap=8, answers_advance=False))),
    "a threshold of one's own": replace(TWO, sharing=on_demand(FromFunction(lambda c: c))),
    "a delay": replace(THREE, delay=3),
    "as printed, and messages are lost": replace(THREE, delay=1, faults=replace(ROUGH, loss=0.05)),
    "eliminations": replace(THREE, policy=BuiltIn("aae", alpha=0.1), sharing=on_demand(PerCandidate(cap=16)), delay=1),
    "absences": replace(TWO, agents=LEAVING, delay=2),
    "halving": replace(TWO, agents=(AgentSpec(Rate(1.0)), AgentSpec(Halving(0.5)))),
}
TOLERANT_WORLDS = {
    "loss-tolerant": replace(
        THREE, sharing=on_demand(loss_tolerant=RetryTimers(first=8, tick=30)), faults=ROUGH, delay=2
    ),
    "loss-tolerant within the slot": replace(
        THREE, sharing=on_demand(loss_tolerant=RetryTimers(first=8, tick=30)), faults=replace(ROUGH, jitter=1)
    ),
    "loss-tolerant with eliminations and absences": replace(
        TWO,
        agents=LEAVING,
        policy=BuiltIn("aae", alpha=0.3),
        sharing=on_demand(Geometric(2, cap=8), loss_tolerant=RetryTimers(first=8, tick=20)),
        faults=ROUGH,
        delay=1,
    ),
}
OTHER_WORLDS = {
    "immediate broadcast": replace(THREE, sharing=immediate(), delay=1),
    "immediate broadcast with absences": replace(TWO, agents=LEAVING, sharing=immediate(Constant(2))),
    "silence": replace(TWO, sharing=silent()),
}
WORLDS = ON_DEMAND_WORLDS | TOLERANT_WORLDS | OTHER_WORLDS


@cache
def conversations(name: str) -> list[Conversation]:
    """Of every pair, both ways round, with two seeds; two hundred slots each."""
    pairs = list(permutations(range(len(WORLDS[name].agents)), 2))
    return [listen(WORLDS[name], pair, seed=seed, slots=200) for seed in range(2) for pair in pairs]


def trace_of(conversation: Conversation) -> list[Row]:
    """What the engine tells of the two, by a run that nobody listens to, up to the end of the conversation."""
    rows: list[Row] = []
    run(conversation.scenario, seed=conversation.seed, trial=conversation.trial, trace=rows)
    both = set(conversation.pair)
    alone = (Kind.DECISION, Kind.ELIMINATION, Kind.JOIN, Kind.LEAVE)
    mine = [row for row in rows if (row.agent in both if row.kind in alone else {row.agent, row.other} == both)]
    if conversation.ending is Ending.HORIZON:
        return mine
    return [row for row in mine if row.slot < mine[0].slot + 200]


def shown(explanation: Explanation) -> list[list[str]]:
    """The cells of the table of events."""
    table = explanation.html().split('<table id="events">')[1].split("</table>")[0]
    return [
        [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in re.findall(r"<tr data-moment.*?</tr>", table)
    ]


# What happened.


@pytest.mark.parametrize("name", WORLDS)
def test_the_events_are_the_trace_of_the_two(name: str) -> None:
    for conversation in conversations(name):
        assert conversation.rows == trace_of(conversation)


@pytest.mark.parametrize("name", WORLDS)
def test_the_table_on_the_page_tells_every_row_of_the_trace_and_what_it_leaves_out(name: str) -> None:
    conversation = listen(WORLDS[name], (0, 1), seed=1, slots=200)
    told = [(line[0], line[1]) for line in shown(Explanation(conversation, ("ann", "bob"), "world", ()))]
    arms = conversation.scenario.arms.names
    expected = [
        tuple(line.removeprefix("slot ").split(": ", 1))
        for line in transcript(trace_of(conversation), ["ann", "bob"], arms).splitlines()
    ]
    silent_arrivals = re.compile(r"(ann|bob) receives the (acknowledgement|notice) of (ann|bob)")
    assert [line for line in told if not silent_arrivals.fullmatch(line[1])] == expected
    untold = sum(bool(silent_arrivals.fullmatch(what)) for _, what in told)
    forms = (Form.ACKNOWLEDGEMENT, Form.NOTICE)
    assert untold == sum(len(flight.arrivals) for flight in conversation.flights if flight.form in forms)


@pytest.mark.parametrize(
    ("pays", "rewards", "legend"),
    [
        (Bernoulli(), {"5", "-5"}, ("reward 5<", "reward -5<")),
        (Discrete((-5.0, 2.5), (0.4, 0.6)), {"2.5", "-5"}, ("reward of at least 0<", "reward below 0<")),
    ],
)
def test_rewards_of_another_range_are_told_in_it(pays: Pay, rewards: set[str], legend: tuple[str, str]) -> None:
    world = replace(TWO, arms=Arms(("A",), (-0.5,), RewardRange(-5.0, 5.0), pays))
    page = Explanation(listen(world, (0, 1), seed=1, slots=100), ("ann", "bob"), "world", ())
    told = [line[1].rpartition(" ")[2] for line in shown(page) if " pulls " in line[1]]
    assert set(told) == rewards
    assert all(words in page.html() for words in legend)
    drawn = re.findall(r'class="pull (won|not) side-\d" cx="[^"]*" cy="\d\d', page.html())
    assert [word == "won" for word in drawn] == [not reward.startswith("-") for reward in told]


@pytest.mark.parametrize("name", WORLDS)
def test_every_side_is_what_the_engine_ends_with(name: str) -> None:
    world = replace(WORLDS[name], horizon=120)
    conversation = listen(world, (0, 1), seed=5, slots=120)
    shares = run(world, seed=5).communication.shares
    fresh = (Form.SHARE, Form.ANSWER)
    assert [len(conversation.sent(side, *fresh)) for side in (0, 1)] == [shares[0, 1], shares[1, 0]]
    for before, after in zip(conversation.moments, conversation.moments[1:], strict=False):
        other = 1 - after.actor
        if after.slot == before.slot and after.cause is not Cause.WAKE:
            assert after.sides[other].buffered == before.sides[other].buffered


@pytest.mark.parametrize("name", ["as in the paper", "a delay", "immediate broadcast"])
def test_a_message_takes_as_long_as_the_delay(name: str) -> None:
    for conversation in conversations(name):
        taken = {
            conversation.moments[arrival].slot - conversation.moments[flight.sent].slot
            for flight in conversation.flights
            for arrival in flight.arrivals
        }
        assert taken == {conversation.scenario.delay}


def test_a_doubled_message_arrives_twice_and_a_lost_one_never() -> None:
    flights = [flight for one in conversations("loss-tolerant") for flight in one.flights]
    assert {(len(flight.arrivals), flight.is_lost) for flight in flights} == {
        (0, False),
        (0, True),
        (1, False),
        (2, False),
    }


def test_of_two_copies_that_arrive_at_once_the_first_is_answered_and_the_second_is_known() -> None:
    world = replace(TWO, sharing=TOLERANT_WORLDS["loss-tolerant"].sharing, faults=Faults(loss=0.3, duplication=1.0))
    answered = known = 0
    for seed in range(4):
        conversation = listen(world, (0, 1), seed=seed, slots=200)
        for flight in conversation.flights:
            cause = conversation.moments[flight.sent]
            if cause.cause is not Cause.SHARE:
                continue
            assert cause.flight is not None
            is_new = conversation.flights[cause.flight].number > cause.before.heard
            assert is_new == (flight.form is Form.ANSWER)
            answered += is_new
            known += not is_new
    assert min(answered, known) > 20


def test_messages_wait_for_who_is_away() -> None:
    away = AgentSpec(Slots((30,)), absences=(Absence(6, 20),))
    conversation = listen(replace(TWO, agents=(AgentSpec(Slots((5,))), away), delay=3), (0, 1), seed=1)
    flown = [
        (flight.form, flight.says, conversation.moments[flight.sent].slot, conversation.moments[arrival].slot)
        for flight in conversation.flights
        for arrival in flight.arrivals
    ]
    assert flown == [
        (Form.SHARE, "", 5, 20),
        (Form.NOTICE, "leaves", 6, 9),
        (Form.NOTICE, "is here", 20, 23),
        (Form.SHARE, "", 30, 33),
    ]


# Which rule.


@pytest.mark.parametrize("name", ON_DEMAND_WORLDS | OTHER_WORLDS)
def test_what_an_agent_did_is_what_the_cited_rule_says(name: str) -> None:
    seen = 0
    for conversation in conversations(name):
        protocol = protocol_of(conversation.scenario.exchange.rules)
        told = Explanation(conversation, ("ann", "bob"), "world", ()).told
        for moment, (_, rule) in zip(conversation.moments, told, strict=True):
            if not rule.startswith(protocol.source or protocol.title):
                continue
            happened = Input.OBSERVATION if moment.cause is Cause.PULL else Input.SHARE
            case = (happened, moment.before.demanded, moment.is_reached)
            fresh = [conversation.flights[place].form for place in moment.sent]
            shared = Form.SHARE in fresh or Form.ANSWER in fresh
            assert protocol.table[case] == (moment.after.demanded, shared)
            assert moment.after.buffered == (0 if shared else moment.counted)
            assert rule == protocol.cited(case)
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("name", TOLERANT_WORLDS)
def test_whoever_says_something_again_follows_a_rule_of_loss_tolerance(name: str) -> None:
    rules: dict[Form, set[str]] = {Form.REPETITION: set(), Form.ACKNOWLEDGEMENT: set()}
    for conversation in conversations(name):
        told = Explanation(conversation, ("ann", "bob"), "world", ()).told
        for flight in conversation.flights:
            if flight.form in rules:
                rules[flight.form].add(told[flight.sent].rule)
    numbers = {form: {rule.removeprefix("loss tolerance, rule ") for rule in found} for form, found in rules.items()}
    assert numbers[Form.ACKNOWLEDGEMENT] == {"6"}
    usual = {"6", "7"} if "eliminations" in name else {"4", "6"}
    assert usual <= numbers[Form.REPETITION] <= {"4", "6", "7", "8"}


def test_figure_1_is_told_like_the_paper() -> None:
    told = explain(FIGURE_1, names=FIGURE_1_NAMES).told
    expected = (ROOT / "tests" / "studies" / "figure-1b-told.txt").read_text(encoding="utf-8")
    assert "".join(f"{sentence} ({rule})\n" for sentence, rule in told) == expected


# What it comes to.


@pytest.mark.parametrize("name", ON_DEMAND_WORLDS | TOLERANT_WORLDS)
def test_no_pair_sends_more_shares_than_theorem_2_allows(name: str) -> None:
    for conversation in conversations(name):
        counts = Explanation(conversation, ("ann", "bob"), "world", ()).counts
        stays = not any(conversation.scenario.agents[position].absences for position in conversation.pair)
        if name == "answers that do not advance":
            assert (counts.allowed, counts.why_none) == (
                None,
                "it is about answers that fill a threshold and advance it",
            )
        elif not stays:
            assert (counts.allowed, counts.why_none) == (None, "it is about agents that stay")
        else:
            assert counts.allowed is not None
            assert max(counts.shares) <= counts.allowed


def test_immediate_broadcast_would_have_sent_what_it_does_send_on_the_same_tape() -> None:
    for conversation in conversations("a delay"):
        last = conversation.moments[-1].slot
        broadcast = replace(conversation.scenario, sharing=immediate(), horizon=last + 1)
        ref = run(broadcast, seed=conversation.seed).communication.shares
        counts = Explanation(conversation, ("ann", "bob"), "world", ()).counts
        if conversation.pair in ((0, 1), (1, 0)):  # they choose other arms on other knowledge, but have the same ones
            assert list(counts.immediate) == [ref[conversation.pair], ref[conversation.pair[::-1]]]


# Which two, and how long.


def test_the_fastest_and_the_slowest_that_share_an_arm_are_chosen() -> None:
    agents = (
        AgentSpec(Rate(0.2), arms=("0",)),
        AgentSpec(Rate(0.9), arms=("1",)),
        AgentSpec(Rate(0.1), arms=("0",)),
        AgentSpec(Rate(0.4), arms=("0", "1")),
        AgentSpec(Slots(()), arms=("0", "1")),
    )
    assert chosen_pair(replace(TWO, agents=agents), Tape(1)) == (1, 3)
    assert chosen_pair(TWO, Tape(1)) == (0, 1)
    assert chosen_pair(replace(TWO, agents=TWO.agents[::-1]), Tape(1)) == (1, 0)
    assert chosen_pair(TWO, Tape(1), (1, 0)) == (1, 0)


@pytest.mark.parametrize(
    ("agents", "named", "text"),
    [
        (1, None, "the scenario has one agent, which talks to nobody: give it a second one under [[agents]]"),
        (2, (0, 2), "an agent must be a whole number from 0 to 1, not 2"),
        (2, (1, 1), "name two different agents, not 1 and 1"),
    ],
)
def test_two_that_cannot_be_are_refused(agents: int, named: tuple[int, int] | None, text: str) -> None:
    with pytest.raises(LocalError) as refused:
        explain(replace(TWO, agents=TWO.agents[:agents]), agents=named)
    assert str(refused.value) == text


def test_two_that_never_talk_are_refused() -> None:
    apart = replace(TWO, agents=(AgentSpec(Rate(0.9), arms=("0",)), AgentSpec(Rate(0.1), arms=("1",))))
    with pytest.raises(LocalError, match="no two agents of the scenario have an arm in common"):
        explain(apart)
    with pytest.raises(LocalError, match="agents 1 and 0 have no arm in common and never talk"):
        explain(apart, agents=(1, 0))


def test_a_dozen_shares_are_enough_unless_told_otherwise() -> None:
    usual = listen(TWO, (0, 1), seed=1)
    assert usual.ending is Ending.ENOUGH
    assert USUAL_SHARES <= sum(flight.form in (Form.SHARE, Form.ANSWER) for flight in usual.flights) < USUAL_SHARES + 3
    alone = listen(OTHER_WORLDS["silence"], (0, 1), seed=1)
    assert (alone.ending, len(alone.moments) >= USUAL_MOMENTS, len(alone.moments) < USUAL_MOMENTS + 3) == (
        *(Ending.ENOUGH, True, True),
    )
    whole = listen(replace(TWO, horizon=30), (0, 1), seed=1)
    assert (whole.ending, whole.rows) == (Ending.HORIZON, trace_of(whole))


def test_slots_are_counted_from_the_first_in_which_something_happens() -> None:
    late = replace(TWO, agents=tuple(replace(agent, start=100) for agent in TWO.agents))
    conversation = listen(late, (0, 1), seed=1, slots=10)
    assert (conversation.moments[0].slot >= 100, conversation.ending) == (True, Ending.SLOTS)
    assert conversation.moments[-1].slot - conversation.moments[0].slot < 10


def test_a_page_has_a_limit_and_says_when_it_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_MOMENTS", 50)
    cut = explain(TWO, slots=500)
    assert (cut.conversation.ending, 50 <= len(cut.conversation.moments) < 60) == (Ending.LIMIT, True)
    assert f"cut there: a page shows {MOST_MOMENTS:,} moments at most" in cut.html()


def test_a_large_world_is_not_run_for_ever_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_STEPS", 40)
    cut = explain(THREE, slots=500)
    assert cut.conversation.ending is Ending.LARGE
    assert 0 < len(cut.conversation.moments) < 40
    assert "cut there: with 3 agents, more would take too long" in cut.html()


# The page.


@pytest.mark.parametrize("name", WORLDS)
def test_the_page_is_one_file_with_everything_in_the_picture(name: str) -> None:
    explanation = explain(WORLDS[name], title="my <world>", command=("cobandit", "explain", "my world.toml"))
    page = explanation.html()
    assert not re.search(r"""\b(src|href)=|@import|url\((?!#past\))|https?://(?!www\.w3\.org/2000/svg)""", page)
    assert "<title>How agent" in page
    assert "my &lt;world&gt;" in page
    assert "cobandit explain &#x27;my world.toml&#x27;" in page
    conversation = explanation.conversation
    arrows = sum(max(1, len(flight.arrivals)) for flight in conversation.flights)
    picture = page.split('<svg id="timelines"')[1].split("</svg>")[0]
    assert picture.count('<g class="moment"') == len(conversation.moments)
    assert picture.count('<g class="flight') == arrows
    assert picture.count('class="cross"') == sum(flight.is_lost for flight in conversation.flights)


@pytest.mark.parametrize("name", WORLDS)
def test_the_table_says_that_somebody_asked_only_where_agents_ask(name: str) -> None:
    explanation = explain(WORLDS[name])
    keeps = [cell for line in shown(explanation) for cell in line[4:]]
    assert any(cell.endswith(", asked") for cell in keeps) == (name in ON_DEMAND_WORLDS | TOLERANT_WORLDS)
    away = explain(OTHER_WORLDS["immediate broadcast with absences"], agents=(0, 1), slots=60)
    assert {re.sub(r"^\d+", "n", cell) for line in shown(away) for cell in line[4:]} == {
        "n (threshold 2)",
        "n (threshold 2), other away",
    }


@pytest.mark.parametrize("name", WORLDS)
def test_immediate_broadcast_is_not_compared_with_itself(name: str) -> None:
    is_compared = "mmediate broadcast would have sent" in explain(WORLDS[name]).html()
    assert is_compared == ("immediate" not in name)


def test_every_line_of_the_table_has_all_its_cells_or_is_one_with_the_line_above() -> None:
    table = explain(WORLDS["a delay"]).html().split('<table id="events">')[1].split("</table>")[0]
    lines = re.findall(r"<tr data-moment.*?</tr>", table)
    assert {(len(re.findall("<td", line)), 'colspan="5"' in line) for line in lines} == {(6, False), (2, True)}
    assert "<td></td>" not in table


LOST = "one loss can silence both forever"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("as in the paper", False),
        ("as printed, and messages are lost", True),
        ("loss-tolerant", False),
        ("immediate broadcast", False),
    ],
)
def test_the_rule_says_what_a_lost_message_does(name: str, says: bool) -> None:
    page = explain(WORLDS[name]).html()
    assert (LOST in page) == says
    assert ("sent again</strong>" in page) == (name == "loss-tolerant")


def test_lost_messages_are_counted_beside_all_that_were_sent() -> None:
    explanation = explain(replace(TWO, faults=Faults(loss=0.3)), seed=3)
    lost = sum(flight.is_lost for flight in explanation.conversation.flights)
    sent = len(explanation.conversation.flights)
    assert (lost, explanation.counts.messages) == (2, sent)
    assert f'messages lost on the way</div><div class="soft">of {sent} that the two sent</div>' in explanation.html()


@pytest.mark.parametrize("faults", [Faults(loss=1.0), Faults(jitter=50)], ids=["lost", "under way"])
def test_no_label_of_the_picture_is_cut_where_it_ends_with_a_message(faults: Faults) -> None:
    world = replace(TWO, sharing=on_demand(Constant(100)), faults=faults)
    whole = explain(world, slots=300).conversation
    first, sent = whole.moments[0].slot, whole.moments[whole.flights[0].sent].slot
    page = explain(world, slots=sent - first + 1).html()
    width = int(re.findall(r'<svg id="timelines" viewBox="0 0 (\d+)', page)[0])
    pills = re.findall(r'<g class="pill" transform="translate\(([\d.-]+) [\d.-]+\)"><rect x="-([\d.]+)"', page)
    assert len(pills) == 1
    assert [at for at, half in pills if not float(half) <= float(at) <= width - float(half)] == []


def test_names_of_arms_are_text_wherever_they_stand() -> None:
    arms = Arms(("</script><b>", "B"), (0.2, 0.8))
    explanation = explain(replace(TWO, arms=arms))
    page = explanation.html()
    assert any("</script><b>" in told.sentence for told in explanation.told)
    assert "</script><b>" not in page
    assert page.count("</script>") == 2


def test_two_who_do_nothing_have_a_page_too() -> None:
    page = explain(replace(TWO, agents=(AgentSpec(Slots(())), AgentSpec(Slots(()))))).html()
    assert "Neither agent does anything" in page


SHARINGS = {
    "as printed": "",
    "doubling": "threshold = { geometric = 2 }",
    "lost": "loss = 0.2\ndelay = 3",
    "lost and repeated": "loss = 0.2\nloss_tolerant = true",
    "doubled": "duplication = 0.3\ndelay = 2",
}


@pytest.mark.parametrize("sharing", SHARINGS.values(), ids=SHARINGS)
@pytest.mark.parametrize("policy", ["ucb", "aae"])
def test_shares_are_numbered_as_they_are_sent_and_repetitions_as_what_they_repeat(
    policy: str, sharing: str, tmp_path: Path
) -> None:
    file = tmp_path / "world.toml"
    agents = "".join(f"[[agents]]\ncount = 2\nrate = {rate}\n" for rate in (0.5, 0.1))
    world = (
        f"horizon = 400\n[arms]\nmeans = [0.2, 0.5, 0.8]\n{agents}[policy]\nname = '{policy}'\n[sharing]\n{sharing}\n"
    )
    file.write_text(world, encoding="utf-8")
    conversation = explain(read_scenario(file).scenario, seed=1).conversation
    for side in (0, 1):
        number = 0
        for flight in (flight for flight in conversation.flights if flight.sender == side):
            number += flight.form in (Form.SHARE, Form.ANSWER)
            if flight.form in (Form.SHARE, Form.ANSWER, Form.REPETITION):
                assert flight.number == number
