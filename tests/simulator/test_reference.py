"""The readable engine: the order inside a slot, delay, absence, and results that follow from the trace."""

import math
from collections import Counter
from itertools import pairwise

import pytest

from cobandit import UCB, Geometric, immediate, on_demand, silent
from cobandit.codec import encode
from cobandit.core import Cells, Changes, Notice, Presence, Share, Sharing
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Halving,
    Kind,
    OnOff,
    Rate,
    Row,
    Scenario,
    Sine,
    Slots,
    Tape,
    transcript,
)
from cobandit.scenario.schedules import gap, log_of_miss
from cobandit.scenario.tape import Stream, bernoulli_reward
from cobandit.simulator import Result, run
from cobandit.simulator.reference import ReferenceRun
from cobandit.values.chance import uniform
from cobandit.values.tally import ArmTally

SURE = Arms(("A", "B"), (1.0, 0.0))
"""Arms without luck: A always pays, B never."""

VARIED = (
    AgentSpec(Rate(0.7)),
    AgentSpec(Rate(0.1), start=100),
    AgentSpec(Sine(0.3), stop=700),
    AgentSpec(OnOff(0.8, toggle=0.05)),
    AgentSpec(Rate(0.4), absences=(Absence(200, 500), Absence(800))),
)


def at(*slots: int, start: int = 0, stop: int | None = None, absences: tuple[Absence, ...] = ()) -> AgentSpec:
    return AgentSpec(Slots(slots), start=start, stop=stop, absences=absences)


def varied(sharing: Sharing | None = None, policy: str = "ucb", delay: int = 0) -> Scenario:
    arms = Arms.of([0.2, 0.5, 0.8])
    return Scenario(1000, arms, VARIED, BuiltIn(policy, alpha=1.0), sharing or on_demand(), delay)


def traced(scenario: Scenario, seed: int = 1, trial: int = 0) -> tuple[Result, list[Row]]:
    rows: list[Row] = []
    return run(scenario, seed=seed, trial=trial, trace=rows), rows


def told(*agents: AgentSpec, sharing: Sharing | None = None, delay: int = 0, horizon: int = 100) -> list[str]:
    """The transcript of a run with sure arms."""
    scenario = Scenario(horizon, SURE, agents, sharing=sharing or on_demand(), delay=delay)
    _, rows = traced(scenario)
    return transcript(rows, agents="jpq", arms=SURE.names).splitlines()


def only(rows: list[Row], kind: Kind) -> list[Row]:
    return [row for row in rows if row.kind == kind]


# The order inside a slot.


def test_agents_decide_in_the_order_of_the_scenario_and_learn_within_the_slot() -> None:
    assert told(at(0), at(0)) == [
        "slot 0: j pulls A, reward 1",
        "slot 0: j -> p share 1 with 1 observation",
        "slot 0: p receives share 1 of j",
        "slot 0: p pulls B, reward 0",  # p knows of A already
        "slot 0: p -> j share 1 with 1 observation",
        "slot 0: j receives share 1 of p",
    ]


def test_without_delay_a_share_is_answered_before_the_next_agent_decides() -> None:
    assert told(at(0, 2), at(0, 1, 2))[6:] == [
        "slot 1: p pulls A, reward 1",
        "slot 2: j pulls A, reward 1",
        "slot 2: j -> p share 2 with 1 observation",
        "slot 2: p receives share 2 of j",
        "slot 2: p -> j share 2 with 1 observation",
        "slot 2: j receives share 2 of p",
        "slot 2: p pulls A, reward 1",
    ]


def test_without_delay_a_share_is_answered_before_the_next_one_goes_out() -> None:
    """In slot 2 the answer of p arrives before j's second share of the slot, to q, is sent."""
    assert [line for line in told(at(0, 2), at(0, 1), at(0, 1)) if line.startswith("slot 2")] == [
        "slot 2: j pulls A, reward 1",
        "slot 2: j -> p share 2 with 1 observation",
        "slot 2: p receives share 2 of j",
        "slot 2: p -> j share 2 with 1 observation",
        "slot 2: j receives share 2 of p",
        "slot 2: j -> q share 2 with 1 observation",
        "slot 2: q receives share 2 of j",
        "slot 2: q -> j share 2 with 1 observation",
        "slot 2: j receives share 2 of q",
    ]


def test_inside_a_slot_agents_leave_then_messages_arrive_then_agents_decide() -> None:
    assert told(at(0), at(1, 5, absences=(Absence(1, 5),)), at(1), delay=1, sharing=immediate(), horizon=6) == [
        "slot 0: j pulls A, reward 1",
        "slot 0: j -> p share 1 with 1 observation",
        "slot 0: j -> q share 1 with 1 observation",
        "slot 1: p leaves",  # before j's share arrives: it is kept
        "slot 1: q receives share 1 of j",  # before q decides
        "slot 1: q pulls B, reward 0",
        "slot 1: q -> j share 1 with 1 observation",
        "slot 1: q -> p share 1 with 1 observation",  # the leave notice is still under way
        "slot 2: j receives share 1 of q",
        "slot 5: p joins",
        "slot 5: p receives share 1 of j",  # what was kept, in the order of sending
        "slot 5: p receives share 1 of q",
        "slot 5: p pulls A, reward 1",
        "slot 5: p -> j share 1 with 1 observation",
        "slot 5: p -> q share 1 with 1 observation",
    ]


# Delay.


@pytest.mark.parametrize("delay", [1, 7])
def test_every_share_arrives_exactly_after_the_delay(delay: int) -> None:
    agents = (AgentSpec(Rate(0.7)), AgentSpec(Rate(0.1)), AgentSpec(Rate(0.4)))
    _, rows = traced(Scenario(500, SURE, agents, delay=delay))
    sent = [(row.slot + delay, row.other, row.agent, row.a) for row in only(rows, Kind.SHARE)]
    arrived = [(row.slot, row.agent, row.other, row.a) for row in only(rows, Kind.DELIVERY)]
    assert arrived == [share for share in sent if share[0] < 500]
    assert len(arrived) > 50


def test_without_delay_every_share_arrives_at_once() -> None:
    _, rows = traced(Scenario(500, SURE, (AgentSpec(Rate(0.7)), AgentSpec(Rate(0.1)))))
    for row, following in pairwise(rows):
        if row.kind == Kind.SHARE:
            assert following == Row(row.slot, Kind.DELIVERY, row.other, row.agent, row.a, 0, 0)


def test_with_delay_an_agent_does_not_know_what_is_still_under_way() -> None:
    assert told(at(0), at(1, 2), delay=2, sharing=immediate())[2:] == [
        "slot 1: p pulls A, reward 1",
        "slot 1: p -> j share 1 with 1 observation",
        "slot 2: p receives share 1 of j",
        "slot 2: p pulls B, reward 0",
        "slot 2: p -> j share 2 with 1 observation",
        "slot 3: j receives share 1 of p",
        "slot 4: j receives share 2 of p",
    ]


# Start, stop and absence.


def test_an_agent_decides_from_its_start_until_its_stop() -> None:
    _, rows = traced(Scenario(100, SURE, (AgentSpec(Rate(1.0), start=20, stop=30), AgentSpec(Rate(1.0), start=95))))
    slots = {agent: [row.slot for row in only(rows, Kind.DECISION) if row.agent == agent] for agent in (0, 1)}
    assert slots == {0: list(range(20, 30)), 1: list(range(95, 100))}


def test_an_agent_that_has_not_started_is_known_and_receives() -> None:
    assert told(at(0), at(0, 5, start=3))[1:3] == [
        "slot 0: j -> p share 1 with 1 observation",
        "slot 0: p receives share 1 of j",
    ]


def test_an_agent_that_stopped_still_answers() -> None:
    assert told(at(0, 2), at(0, 1, 5, stop=3))[-4:] == [
        "slot 2: j -> p share 2 with 1 observation",
        "slot 2: p receives share 2 of j",
        "slot 2: p -> j share 2 with 1 observation",
        "slot 2: j receives share 2 of p",
    ]


def test_an_agent_that_is_away_does_not_decide_and_receives_what_was_kept_on_its_return() -> None:
    assert told(at(0, 3), at(0, 1, 3, 4, 6, absences=(Absence(2, 6),)), sharing=immediate(), delay=1) == [
        "slot 0: j pulls A, reward 1",
        "slot 0: j -> p share 1 with 1 observation",
        "slot 0: p pulls A, reward 1",
        "slot 0: p -> j share 1 with 1 observation",
        "slot 1: p receives share 1 of j",
        "slot 1: j receives share 1 of p",
        "slot 1: p pulls B, reward 0",
        "slot 1: p -> j share 2 with 1 observation",
        "slot 2: p leaves",
        "slot 2: j receives share 2 of p",
        "slot 3: j pulls A, reward 1",  # j has p's notice, and buffers for it
        "slot 6: p joins",
        "slot 6: p pulls A, reward 1",
        "slot 6: p -> j share 3 with 1 observation",
        "slot 7: j receives share 3 of p",
    ]


def test_on_demand_what_was_buffered_for_an_absent_agent_flows_after_its_return() -> None:
    assert told(at(0, 3, 4, 7), at(0, 1, absences=(Absence(2, 6),)))[6:] == [
        "slot 1: p pulls A, reward 1",
        "slot 2: p leaves",
        "slot 3: j pulls A, reward 1",  # a share was demanded, but p said that it leaves
        "slot 4: j pulls A, reward 1",
        "slot 6: p joins",
        "slot 7: j pulls A, reward 1",
        "slot 7: j -> p share 2 with 3 observations",
        "slot 7: p receives share 2 of j",
        "slot 7: p -> j share 2 with 1 observation",
        "slot 7: j receives share 2 of p",
    ]


def test_shares_that_were_under_way_to_an_absent_agent_arrive_on_its_return() -> None:
    agents = (AgentSpec(Rate(1.0)), AgentSpec(Rate(1.0), absences=(Absence(10, 50),)))
    _, rows = traced(Scenario(100, SURE, agents, sharing=immediate(), delay=5))
    received = [row for row in only(rows, Kind.DELIVERY) if row.agent == 1]
    assert [row.a for row in received] == list(range(1, len(received) + 1))
    on_return = [row.a for row in received if row.slot == 50]
    assert on_return == list(range(6, 16))  # sent in slots 5 to 14: the leave notice of slot 10 arrives in slot 15
    assert not [row for row in received if 10 <= row.slot < 50]


def test_an_agent_that_never_returns_keeps_its_messages_waiting() -> None:
    in_flight: list[int] = []
    agents = (at(0, 1, 2), at(0, absences=(Absence(1),)))
    scenario = Scenario(10, SURE, agents, sharing=immediate())
    run(scenario, seed=1, watch=lambda engine: in_flight.append(len(engine.in_flight())))
    assert in_flight[-1] == 0  # its notice was heard, so nobody sent it anything
    delayed = Scenario(10, SURE, agents, sharing=immediate(), delay=2)
    run(delayed, seed=1, watch=lambda engine: in_flight.append(len(engine.in_flight())))
    assert in_flight[-1] == 3  # sent before the notice arrived


def test_every_leave_and_join_is_a_notice_to_every_other_agent() -> None:
    agents = (at(0), at(0, absences=(Absence(1, 3), Absence(5))), at(0))
    result, rows = traced(Scenario(10, SURE, agents))
    assert result.communication.notices.tolist() == [[0, 0, 0], [3, 0, 3], [0, 0, 0]]
    assert [(row.slot, row.kind, row.agent) for row in rows if row.kind in (Kind.JOIN, Kind.LEAVE)] == [
        (1, Kind.LEAVE, 1),
        (3, Kind.JOIN, 1),
        (5, Kind.LEAVE, 1),
    ]


def test_an_agent_may_come_back_and_leave_in_one_slot() -> None:
    _, rows = traced(Scenario(10, SURE, (at(0), at(0, 3, 4, absences=(Absence(1, 3), Absence(3, 4))))))
    moves = [(row.slot, row.kind) for row in rows if row.kind in (Kind.JOIN, Kind.LEAVE)]
    assert moves == [(1, Kind.LEAVE), (3, Kind.JOIN), (3, Kind.LEAVE), (4, Kind.JOIN)]
    assert [row.slot for row in only(rows, Kind.DECISION) if row.agent == 1] == [0, 4]


def test_absence_does_not_move_the_other_decision_slots_of_an_agent() -> None:
    always = AgentSpec(Rate(0.3))
    away = AgentSpec(Rate(0.3), absences=(Absence(200, 400),))
    slots = []
    for spec in (always, away):
        _, rows = traced(Scenario(600, SURE, (spec, always)))
        slots.append([row.slot for row in only(rows, Kind.DECISION) if row.agent == 0])
    assert slots[1] == [slot for slot in slots[0] if not 200 <= slot < 400]


def test_nothing_happens_at_or_after_the_horizon() -> None:
    agents = (at(0, 9, 10, 11), at(0, absences=(Absence(9, 10),)))
    _, rows = traced(Scenario(10, SURE, agents, sharing=immediate(), delay=1))
    assert max(row.slot for row in rows) == 9
    assert Kind.JOIN not in {row.kind for row in rows}


def test_a_halving_agent_slows_down_by_sending() -> None:
    """Under immediate broadcast every decision is a share; alone, none is."""
    agents = (AgentSpec(Halving(1.0)), AgentSpec(Rate(1.0)))
    broadcasting, _ = traced(Scenario(1000, SURE, agents, sharing=immediate()))
    alone, _ = traced(Scenario(1000, SURE, agents, sharing=silent()))
    assert alone.decisions == [1000, 1000]
    assert broadcasting.decisions[0] < 20
    assert broadcasting.communication.shares[0, 1] == broadcasting.decisions[0]


def test_a_halving_agent_does_not_slow_down_by_answering() -> None:
    """Rebuilt from 20 traces: its rate halves after each decision that is followed by a share of its own, only."""
    sent = answered = 0
    for seed in range(20):
        _, rows = traced(Scenario(1000, SURE, (AgentSpec(Rate(0.1)), AgentSpec(Halving(1.0)))), seed)
        key = Tape(seed).key(1, Stream.DECISIONS)
        rate, slot, drawn = 1.0, -1, 0
        for row, following in pairwise([*rows, rows[0]]):
            if (row.kind, row.agent) == (Kind.DECISION, 1):
                slot += gap(uniform(key, drawn), log_of_miss(rate))
                drawn += 1
                assert row.slot == slot
                if following.kind == Kind.SHARE:
                    rate /= 2
                    sent += 1
            answered += (row.kind, row.agent, following.kind) == (Kind.DELIVERY, 1, Kind.SHARE)
    assert min(sent, answered) >= 20


# Seeds, trials and paired tapes.


@pytest.mark.parametrize("policy", ["ucb", "aae", "kl-ucb", "thompson"])
@pytest.mark.parametrize("delay", [0, 3])
def test_the_same_seed_gives_the_same_trace(policy: str, delay: int) -> None:
    scenario = varied(policy=policy, delay=delay)
    assert traced(scenario, seed=5) == traced(scenario, seed=5)


def test_another_seed_or_trial_gives_another_trace() -> None:
    traces = [traced(varied(), seed, trial)[1] for seed, trial in ((5, 0), (6, 0), (5, 1), (1, 5))]
    for position, rows in enumerate(traces):
        assert rows not in traces[:position]


def test_a_run_without_a_trace_has_the_same_result() -> None:
    assert run(varied(), seed=5, trial=2) == traced(varied(), 5, 2)[0]


def test_on_one_tape_every_way_of_sharing_meets_the_same_decision_slots() -> None:
    slots = []
    for sharing in (on_demand(), immediate(), silent(), on_demand(Geometric(2))):
        for policy in ("ucb", "aae"):
            _, rows = traced(varied(sharing, policy))
            slots.append([(row.slot, row.agent) for row in only(rows, Kind.DECISION)])
    assert all(each == slots[0] for each in slots)
    assert len(slots[0]) > 1000


def test_on_one_tape_the_luck_of_a_pull_depends_on_its_number_alone() -> None:
    tape = Tape(5, 2)
    scenario = varied()
    _, rows = traced(scenario, 5, 2)
    pulls: Counter[int] = Counter()
    for row in only(rows, Kind.DECISION):
        key = tape.key(row.agent, Stream.REWARDS)
        assert row.a == bernoulli_reward(key, pulls[row.agent], scenario.arms.means[row.other])
        pulls[row.agent] += 1
        assert row.b == pulls[row.agent]


# Results.


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("sharing", [on_demand(), immediate(Geometric(2))], ids=["on demand", "immediate"])
def test_a_result_follows_from_the_trace(sharing: Sharing, delay: int) -> None:
    scenario = varied(sharing, delay=delay)
    result, rows = traced(scenario)
    pulls = [[0] * 3 for _ in VARIED]
    shares = [[0] * len(VARIED) for _ in VARIED]
    regret = 0.0
    realised = [0.0] * len(VARIED)
    bits = 0.0
    for row in rows:
        if row.kind == Kind.DECISION:
            pulls[row.agent][row.other] += 1
            realised[row.agent] += 0.8 - row.a
            regret += 0.8 - scenario.arms.means[row.other]
        if row.kind == Kind.SHARE:
            shares[row.agent][row.other] += 1
            bits += 2 * 3 * math.log2(row.b + 1)
    assert result.agents == ("0", "1", "2", "3", "4")
    assert result.pulls.tolist() == pulls
    assert result.decisions == [sum(row) for row in pulls]
    assert result.group_regret == pytest.approx(regret)
    assert result.realised_regrets == pytest.approx(realised)
    assert result.realised_regret == pytest.approx(sum(realised))
    assert result.realised_regret != pytest.approx(result.group_regret)
    assert result.communication.shares.tolist() == shares
    assert result.shares == sum(map(sum, shares))
    assert result.communication.definition_bits == pytest.approx(bits)
    assert result.notices == result.communication.notices.sum() == 3 * 4


def test_checkpoints_keep_the_counts_at_the_beginning_of_their_slots() -> None:
    scenario = varied()
    _, rows = traced(scenario)
    at_once = run(scenario, seed=1, checkpoints=[700, 0, 300, 1000])
    assert at_once.checkpoints.tolist() == [0, 300, 700, 1000]
    for slot, pulls, shares, regret in zip(
        (0, 300, 700, 1000), at_once.pulls_at, at_once.shares_at, at_once.group_regret_at, strict=True
    ):
        earlier = [row for row in rows if row.slot < slot]
        chosen = Counter((row.agent, row.other) for row in only(earlier, Kind.DECISION))
        assert pulls.tolist() == [[chosen[agent, arm] for arm in range(3)] for agent in range(len(VARIED))]
        assert shares == len(only(earlier, Kind.SHARE))
        assert regret == pytest.approx(sum(0.8 - scenario.arms.means[arm] for _, arm in chosen.elements()))
    assert at_once.group_regret_at[-1] == at_once.group_regret


def test_the_observations_of_all_shares_are_pulls_that_were_shared_once() -> None:
    """What an agent shared with a peer, in all, is what it had observed by then: nothing twice, nothing left out."""
    _, rows = traced(varied())
    carried: Counter[tuple[int, int]] = Counter()
    versions: dict[tuple[int, int], int] = {}
    for row in only(rows, Kind.SHARE):
        carried[row.agent, row.other] += row.b
        versions[row.agent, row.other] = row.c
    assert dict(carried) == versions


def test_the_size_of_a_run_is_that_of_its_messages() -> None:
    result, _ = traced(Scenario(10, SURE, (at(0, absences=(Absence(3, 4),)), at(1))))
    share = Share("0", "1", 1, 1, Changes(cells=(Cells("0", 0, (ArmTally("A", 1, 1, 1),)),)))
    answer = Share("1", "0", 1, 1, Changes(cells=(Cells("1", 0, (ArmTally("B", 1, 0, 0),)),)))
    here = Presence("0", 0, 2, 0, is_present=True, arms=("A", "B"), units_per_reward=1)
    farewell = here._replace(number=1, is_present=False)
    said = [encode(share), encode(answer)]
    said += [encode(Notice("0", "1", Changes(presences=(one,)))) for one in (here, farewell)]
    assert result.communication.bytes == sum(map(len, said))


def test_silent_agents_send_nothing() -> None:
    agents = (AgentSpec(Rate(0.7)), AgentSpec(Rate(0.1)), AgentSpec(Rate(0.4)))
    result, rows = traced(Scenario(1000, SURE, agents, sharing=silent()))
    assert {row.kind for row in rows} == {Kind.DECISION}
    assert (result.shares, result.notices, result.communication.bytes, result.communication.definition_bits) == (
        0,
        0,
        0,
        0.0,
    )


def test_silent_agents_learn_alone() -> None:
    alone, _ = traced(Scenario(300, Arms.of([0.2, 0.7]), (AgentSpec(Rate(0.5)),)))
    together, _ = traced(Scenario(300, Arms.of([0.2, 0.7]), (AgentSpec(Rate(0.5)),) * 3, sharing=silent()))
    assert together.pulls[0].tolist() == alone.pulls[0].tolist()


# Different arms.


WORLD = Arms(("x", "y", "z"), (0.3, 0.6, 0.9))
DIFFERENT = (
    AgentSpec(Rate(0.9), arms=("x", "y")),
    AgentSpec(Rate(0.5), arms=("z", "y")),
    AgentSpec(Rate(0.5)),
    AgentSpec(Rate(0.5), arms=("x",)),
)


@pytest.mark.parametrize("policy", ["ucb", "aae", "kl-ucb", "thompson"])
def test_agents_pull_only_arms_of_their_own(policy: str) -> None:
    result, _ = traced(Scenario(2000, WORLD, DIFFERENT, BuiltIn(policy, alpha=1.0)))
    pulled = [{name for name, count in zip(WORLD.names, row, strict=True) if count} for row in result.pulls.tolist()]
    assert pulled == [{"x", "y"}, {"y", "z"}, {"x", "y", "z"}, {"x"}]


def test_regret_is_against_the_best_arm_that_the_agent_can_pull() -> None:
    result, rows = traced(Scenario(500, WORLD, DIFFERENT))
    best = [0.6, 0.9, 0.9, 0.3]
    regrets = [0.0] * 4
    for row in only(rows, Kind.DECISION):
        regrets[row.agent] += best[row.agent] - WORLD.means[row.other]
    assert result.regrets == pytest.approx(regrets)
    assert result.regrets[3] == 0.0
    assert result.group_regret == pytest.approx(sum(regrets))


def test_agents_without_an_arm_in_common_do_not_share() -> None:
    result, _ = traced(Scenario(500, WORLD, DIFFERENT))
    assert (result.communication.shares[1, 3], result.communication.shares[3, 1]) == (0, 0)
    assert result.communication.shares[0, 1] > 0


def test_only_common_arms_count_for_the_size_by_definition() -> None:
    """x and y against y and z: one arm in common, two numbers in a share of one observation."""
    agents = (AgentSpec(Slots((0, 1)), arms=("x", "y")), AgentSpec(Slots(()), arms=("y", "z")))
    result, rows = traced(Scenario(10, WORLD, agents))
    assert [(row.a, row.b, row.c) for row in only(rows, Kind.SHARE)] == [(1, 1, 2)]  # x is not for the other
    assert result.communication.definition_bits == 2.0


# Eliminations.


def test_eliminations_stand_before_the_decision_that_made_them() -> None:
    arms = Arms(("A", "B", "C"), (1.0, 0.0, 0.0))
    _, rows = traced(Scenario(200, arms, (AgentSpec(Rate(1.0)),), BuiltIn("aae", alpha=0.3)))
    assert transcript(rows[:7], agents="j", arms=arms.names).splitlines() == [
        "slot 0: j pulls A, reward 1",
        "slot 1: j pulls B, reward 0",
        "slot 2: j eliminates B, 2 left",
        "slot 2: j pulls C, reward 0",
        "slot 3: j eliminates C, 1 left",
        "slot 3: j pulls A, reward 1",
        "slot 4: j pulls A, reward 1",
    ]


def test_agents_with_the_same_arms_eliminate_each_arm_once() -> None:
    arms = Arms(("A", "B", "C"), (1.0, 0.0, 0.5))
    result, rows = traced(Scenario(500, arms, (AgentSpec(Rate(0.8)),) * 3, BuiltIn("aae", alpha=0.5)))
    assert sorted(row.other for row in only(rows, Kind.ELIMINATION)) == [1, 2]
    assert result.notices == 2 * 2


def test_agents_that_settled_stop_sharing() -> None:
    result, rows = traced(Scenario(500, SURE, (AgentSpec(Rate(0.8)),) * 2, BuiltIn("aae", alpha=0.5)))
    (elimination,) = only(rows, Kind.ELIMINATION)
    assert max(row.slot for row in only(rows, Kind.SHARE)) <= elimination.slot
    assert result.shares < 100


# The engine as others see it.


def test_a_watch_sees_every_step_of_a_run() -> None:
    seen: list[tuple[int, int, int]] = []

    def watch(engine: ReferenceRun) -> None:
        in_flight = engine.in_flight()
        versions = [agent.endpoint.replica.observations for agent in engine.agents]
        seen.append((engine.slot, sum(versions), len(in_flight)))

    run(Scenario(10, SURE, (at(0), at(0))), seed=1, watch=watch)
    assert seen == [(0, 1, 1), (0, 1, 0), (0, 2, 1), (0, 2, 0)]


def test_an_engine_knows_its_result_at_every_point() -> None:
    decisions: list[int] = []
    run(
        Scenario(10, SURE, (at(0, 1, 2),), sharing=silent()),
        seed=1,
        watch=lambda engine: decisions.append(sum(engine.result().decisions)),
    )
    assert decisions == [1, 2, 3]


def test_a_policy_of_ones_own_can_be_run() -> None:
    own = Scenario(200, SURE, VARIED[:2], policy=lambda arms, _: UCB(arms, alpha=0.5, quantum=1))
    built_in = Scenario(200, SURE, VARIED[:2], policy=BuiltIn("ucb", alpha=0.5))
    assert run(own, seed=1) == run(built_in, seed=1)
