"""Whatever is wrong, the error says who must act, names what is wrong, and leaves no mark."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from cobandit import (
    AAE,
    UCB,
    Agent,
    CobanditError,
    Constant,
    FromFunction,
    Geometric,
    LocalError,
    Outcome,
    PeerError,
    PerCandidate,
    immediate,
    on_demand,
)
from cobandit.core import (
    Cells,
    Changes,
    Eliminations,
    InputRecord,
    Message,
    Notice,
    Observed,
    Presence,
    Share,
    Threshold,
)
from cobandit.core.credibility import check_observations
from cobandit.core.invariants import total
from cobandit.core.members import Members
from cobandit.core.messages import MAX_INCARNATION, MAX_NUMBER
from cobandit.core.snapshots import state
from cobandit.core.thresholds import LARGEST_THRESHOLD
from cobandit.scenario import AgentSpec, Arms, BuildPolicy, Halving, OnOff, Rate, Scenario, Slots
from cobandit.simulator import run
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import MOST_ARMS, ArmTally, checked_arms

ARMS = ("A", "B")


def seasoned_agent() -> Agent:
    """An agent that has pulled twice, and knows three observations of its peer p."""
    agent = Agent("j", AAE(ARMS, quantum=0.5))
    agent.peer_joined("p", ["A", "B"])
    agent.update("A", 1.0)
    agent.receive(share(rewards("A", 2, 1), rewards("B", 0), number=1))
    agent.update("B", 0.5)
    return agent


def rewards(arm: str, *units: int) -> ArmTally:
    """The tally of these rewards, in halves."""
    return ArmTally(arm, len(units), sum(units), sum(unit * unit for unit in units))


MORE = rewards("A", 2, 1, 0)
"""What p tells next of arm A."""


def share(
    *tallies: ArmTally,
    sender: str = "p",
    receiver: str = "j",
    number: int = 2,
    agent: str | None = None,
    incarnation: int = 0,
    log: tuple[int, int] = (3, 4),
) -> Share:
    """A share that tells this, of the sender if nobody else is named."""
    return Share(sender, receiver, number, 1, Changes(*log, (Cells(agent or sender, incarnation, tallies),)))


def notice(
    sender: str, arms: tuple[str, ...], per_reward: int = 2, *, is_present: bool = True, number: int = 2
) -> Notice:
    """A word of somebody who comes or goes."""
    said = Presence(sender, 0, number, 0, is_present, arms, per_reward)
    return Notice(sender, "j", Changes(presences=(said,)))


def eliminated(arm: str, sender: str = "p") -> Notice:
    return Notice(sender, "j", Changes(eliminations=(Eliminations(sender, 0, (arm,)),)))


@contextmanager
def refused(agent: Agent, error: type[CobanditError], text: str) -> Iterator[None]:
    """The block raises this error with this text, and the agent is as it was."""
    before = everything(agent)
    with pytest.raises(error, match=text):
        yield
    assert everything(agent) == before


def everything(agent: Agent) -> tuple[object, ...]:
    policy = agent.policy
    return (
        state(agent.endpoint),
        agent.endpoint.members.same_arms,
        policy.tally.copy(),
        policy.own_pulls,
        policy.candidates,
        policy.select_arm(),
    )


def test_the_two_kinds_of_error_are_not_each_other() -> None:
    assert issubclass(LocalError, CobanditError)
    assert issubclass(PeerError, CobanditError)
    assert not issubclass(LocalError, PeerError)
    assert not issubclass(PeerError, LocalError)


# You: arms and rewards.


def test_an_unknown_arm_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "arm 'Z' is not one of A, B"):
        agent.update("Z", 1.0)


def test_an_unknown_arm_is_refused_by_a_policy_alone() -> None:
    policy = UCB(ARMS)
    with pytest.raises(LocalError, match="arm 'Z' is not one of A, B"):
        policy.update("Z", 1.0)
    assert (policy.tally.observations, policy.own_pulls) == (0, 0)


def test_an_unknown_arm_is_refused_by_a_replica_alone() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "arm 'Z' is not one of A, B"):
        check_observations([rewards("Z", 1)], agent.endpoint.replica)


@pytest.mark.parametrize("reward", [-0.01, 1.01, 7])
def test_a_reward_outside_zero_to_one_is_refused(reward: float) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, rf"a reward must be a number in \[0, 1\], not {reward}"):
        agent.update("A", reward)


def test_a_reward_that_is_not_a_number_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, r"a reward must be a number in \[0, 1\], not nan"):
        agent.update("A", math.nan)


@pytest.mark.parametrize("reward", [math.inf, -math.inf])
def test_an_infinite_reward_is_refused(reward: float) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, rf"a reward must be a number in \[0, 1\], not {reward}"):
        agent.update("A", reward)


@pytest.mark.parametrize("reward", [True, False])
def test_a_truth_value_is_not_a_reward(reward: bool) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, rf"a reward must be a number in \[0, 1\], not {reward}"):
        agent.update("A", reward)


@pytest.mark.parametrize("reward", ["1", None, [1.0]])
def test_a_string_is_not_a_reward(reward: object) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, r"a reward must be a number in \[0, 1\], not "):
        agent.update("A", reward)  # type: ignore[arg-type]


@pytest.mark.parametrize("units", [-1, 3])
def test_more_quanta_than_a_reward_has_are_refused(units: int) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "the reward sum of arm 'A', in quanta, must be a whole number from 0 to 2, not"):
        agent.update_all([rewards("A", units)])


def test_an_empty_arm_set_is_refused() -> None:
    with pytest.raises(LocalError, match="the arm set is empty: name at least one arm"):
        UCB([])


def test_doubled_arm_names_are_refused() -> None:
    with pytest.raises(LocalError, match="arm names must differ, but A, C is given more than once"):
        UCB(["C", "A", "B", "A", "C"])


def test_arms_given_as_a_string_are_refused() -> None:
    with pytest.raises(LocalError, match=r"arms must be a list of names, not the string 'AB': write \['AB'\]"):
        UCB("AB")


def test_too_many_arms_are_refused() -> None:
    with pytest.raises(LocalError, match=f"{MOST_ARMS + 1} arms are more than the limit of {MOST_ARMS}"):
        checked_arms([str(position) for position in range(MOST_ARMS + 1)])


@pytest.mark.parametrize("name", ["", "x" * 201, 7, None])
def test_an_agent_needs_a_usable_name(name: object) -> None:
    with pytest.raises(LocalError, match="an agent's name must be a string of 1 to 200 bytes in UTF-8"):
        Agent(name, UCB(ARMS))  # type: ignore[arg-type]


# You: peers.


def test_an_agent_is_not_its_own_peer() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "agent 'j' cannot be its own peer"):
        agent.peer_joined("j", ARMS)


@pytest.mark.parametrize("arms", [(), ("A", "A"), "AB", ("",)])
def test_a_peer_with_an_impossible_arm_set_is_refused(arms: tuple[str, ...]) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "arm"):
        agent.peer_joined("q", arms)


def test_one_peer_more_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.core.members.MAX_PEERS", 1)
    agent = seasoned_agent()
    with refused(agent, LocalError, "1 peers are known already, which is the limit"):
        agent.peer_joined("q", ARMS)


def test_a_peer_that_never_joined_cannot_leave() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "'q' cannot leave j: it has not joined"):
        agent.peer_left("q")


def test_a_peer_that_rejoins_with_other_arms_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "p joined with arms A, C but had A, B before"):
        agent.peer_joined("p", ["A", "C"])
    with refused(agent, PeerError, "p joined with arms A but had A, B before"):
        agent.receive(notice("p", ("A",)))


@pytest.mark.parametrize("arms", [("A", "A", "B"), "AB"])
def test_a_peer_that_rejoins_with_doubled_arms_is_refused(arms: tuple[str, ...]) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "arm"):
        agent.peer_joined("p", arms)


# You: eliminations.


def test_the_elimination_of_a_foreign_arm_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "arm 'Z' cannot be eliminated: the candidates are A, B"):
        agent.endpoint.eliminate("Z", 0.0)
    with refused(agent, LocalError, "arm 'Z' is not one of A, B"):
        agent.policy.eliminate("Z")


def test_the_elimination_of_an_arm_that_is_gone_is_refused() -> None:
    agent = seasoned_agent()
    agent.endpoint.eliminate("A", 0.0)
    with refused(agent, LocalError, "arm 'A' cannot be eliminated: the candidates are B"):
        agent.endpoint.eliminate("A", 0.0)


def test_the_elimination_of_the_last_candidate_is_refused() -> None:
    agent = seasoned_agent()
    agent.receive(eliminated("A"))
    with refused(agent, LocalError, "arm 'B' cannot be eliminated: the candidates are B"):
        agent.endpoint.eliminate("B", 0.0)
    with refused(agent, LocalError, "arm 'B' is the last candidate and cannot be eliminated"):
        agent.policy.eliminate("B")


def test_a_peer_with_other_arms_cannot_eliminate_its_last_candidate() -> None:
    agent = Agent("j", AAE(ARMS, quantum=0.5))
    agent.peer_joined("p", ["A", "C"])
    agent.receive(eliminated("A"))
    with refused(agent, PeerError, "p eliminated C, of A, C"):
        agent.receive(eliminated("C"))


def test_two_notices_that_cross_leave_one_candidate() -> None:
    agent = seasoned_agent()
    agent.receive(eliminated("A"))
    assert agent.receive(eliminated("B")).ruled_out == ()
    assert (agent.policy.candidates, agent.endpoint.candidates.own) == (("B",), {"B"})


def test_a_repeated_notice_changes_nothing() -> None:
    agent = seasoned_agent()
    agent.receive(eliminated("A"))
    assert agent.receive(eliminated("A")).ruled_out == ()
    assert (agent.policy.candidates, agent.endpoint.candidates.own) == (("B",), {"B"})


@pytest.mark.parametrize("number", [-1, 0, MAX_NUMBER + 1, 2**63])
def test_a_share_with_an_absurd_number_is_refused(number: int) -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, f"p sent share {number} with 1 observations"):
        agent.receive(share(MORE, number=number))


def test_an_empty_share_is_refused() -> None:
    agent, honest = seasoned_agent(), share(MORE)
    with refused(agent, PeerError, "p sent share 2 with 0 observations"):
        agent.receive(honest._replace(observations=0))
    with refused(agent, PeerError, "p sent an empty share"):
        agent.receive(honest._replace(changes=Changes(3, 4)))


@pytest.mark.parametrize("arms", [None, 3, "AB", ["A", "\ud800"]])
def test_arms_that_are_no_list_of_writable_names_are_refused(arms: list[str]) -> None:
    with pytest.raises(LocalError, match="arm"):
        UCB(arms)


def test_an_arm_that_is_no_name_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, r"arm \['A'\] is not one of A, B"):
        agent.update(["A"], 1.0)  # type: ignore[arg-type]


# Them: who speaks, and to whom.


def test_a_share_from_a_stranger_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "'q' is not known to j: an agent must join before it is heard"):
        agent.receive(share(rewards("A", 1), sender="q"))


@pytest.mark.parametrize("word", [eliminated("A", "q"), notice("q", ARMS, is_present=False)])
def test_a_notice_from_a_stranger_is_refused(word: Notice) -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "'q' is not known to j: an agent must join before it is heard"):
        agent.receive(word)


def test_a_share_from_oneself_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "j received a message from itself: do two processes run under one name"):
        agent.receive(share(rewards("A", 1), sender="j"))


def test_a_share_addressed_to_another_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "p sent a message for 'q' to j"):
        agent.receive(share(MORE, receiver="q"))


def test_a_word_about_a_third_agent_is_refused() -> None:
    agent = seasoned_agent()
    agent.peer_joined("q", ARMS)
    with refused(agent, PeerError, "p speaks of q: agents share only what they observed"):
        agent.receive(share(rewards("A", 1), agent="q"))


def test_a_join_notice_with_doubled_arms_is_the_fault_of_its_sender() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "q cannot join: arm names must differ, but A is given more than once"):
        agent.receive(notice("q", ("A", "A")))


@pytest.mark.parametrize(("sender", "arms"), [("q", ()), ("q", ("",)), ("", ARMS), ("q" * 201, ARMS)])
def test_a_join_notice_without_usable_names_is_the_fault_of_its_sender(sender: str, arms: tuple[str, ...]) -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, f"{sender} cannot join: "):
        agent.receive(notice(sender, arms))


def test_the_elimination_of_an_arm_that_the_peer_does_not_have_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "p eliminated Z, of A, B"):
        agent.receive(eliminated("Z"))


# Them: what a share says.


def test_a_count_that_goes_down_is_old_news() -> None:
    agent = seasoned_agent()
    assert agent.receive(share(rewards("A", 2))).news == ()
    assert agent.policy.tally == total(agent.endpoint)
    assert agent.policy.tally.counts == {"A": 3, "B": 2}


def test_a_sum_that_goes_down_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, r"p sent \(3, 2, 5\) for arm 'A' of p after \(2, 3, 5\): no rewards of at most 2"):
        agent.receive(share(ArmTally("A", 3, 2, 5)))


def test_squares_that_go_down_are_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, r"p sent \(3, 3, 4\) for arm 'A' of p after \(2, 3, 5\): no rewards of at most 2"):
        agent.receive(share(ArmTally("A", 3, 3, 4)))


@pytest.mark.parametrize("value", [(-1, 0, 0), (0, 0, 0), (1, -1, 1), (1, 1, -1)])
def test_a_tally_of_nothing_or_less_is_refused(value: tuple[int, int, int]) -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, rf"p sent \({', '.join(map(str, value))}\) for arm 'A' of p after \(0, 0, 0\)"):
        agent.receive(share(ArmTally("A", *value), incarnation=1))


def test_a_sum_above_its_count_is_refused() -> None:
    agent = seasoned_agent()
    text = r"p sent \(3, 6, 14\) for arm 'A' of p after \(2, 3, 5\): no rewards of at most 2 add up to that \(do both"
    with refused(agent, PeerError, text):
        agent.receive(share(ArmTally("A", 3, 6, 14)))


def test_a_share_after_one_that_is_missing_is_nobody_s_fault() -> None:
    agent = seasoned_agent()
    assert agent.receive(share(MORE, number=5, log=(4, 5))).news == (rewards("A", 0),)
    assert agent.endpoint.links["p"].shares_received == 5


def test_a_first_share_that_is_not_the_first_is_nobody_s_fault() -> None:
    agent = seasoned_agent()
    news = agent.receive(share(rewards("A", 1), number=2000, incarnation=1, log=(1, 2))).news
    assert news == (rewards("A", 1),)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_share_that_a_later_one_overtook_is_ignored(number: int) -> None:
    agent = seasoned_agent()
    agent.receive(share(MORE, number=4, log=(4, 5)))
    before = everything(agent)
    assert agent.receive(share(rewards("B", 0, 1), number=number), now=9.0) == Outcome()
    assert everything(agent) == before


@pytest.mark.parametrize("now", [math.nan, math.inf, True, "0"])
def test_a_time_that_is_none_is_refused(now: float) -> None:
    agent = seasoned_agent()
    attempts: tuple[Callable[[], object], ...] = (
        lambda: agent.update("A", 1.0, now),
        lambda: agent.update_all([rewards("A", 1)], now),
        lambda: agent.receive(share(MORE), now),
        lambda: agent.join(now),
        lambda: agent.wake(now),
        lambda: agent.peer_joined("q", ARMS, now),
        lambda: agent.peer_left("p", now),
        lambda: agent.endpoint.eliminate("A", now),
    )
    for attempt in attempts:
        with refused(agent, LocalError, f"now must be a finite number, not {now!r}"):
            attempt()


def test_an_arm_that_is_listed_twice_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "p listed arm 'A' twice"):
        agent.receive(share(MORE, rewards("A", 2, 1, 0, 0)))


def test_an_arm_that_the_receiver_does_not_have_is_passed_over() -> None:
    agent = seasoned_agent()
    assert agent.receive(share(MORE, rewards("Z", 1))).news == (rewards("A", 0),)
    assert agent.policy.tally.counts == {"A": 4, "B": 2}


@pytest.mark.parametrize(
    ("incarnation", "base", "upto"),
    [(-1, 0, 1), (MAX_INCARNATION, 0, 1), (0, -1, 4), (0, 5, 4), (0, 3, MAX_NUMBER + 1)],
)
def test_impossible_numbers_are_refused(incarnation: int, base: int, upto: int) -> None:
    agent = seasoned_agent()
    text = "p tells of its log from" if incarnation == 0 else f"p tells of incarnation or session {incarnation}"
    with refused(agent, PeerError, text):
        agent.receive(share(MORE, incarnation=incarnation, log=(base, upto)))


def test_something_good_before_something_bad_leaves_no_mark() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "p sent"):
        agent.receive(share(MORE, ArmTally("B", 2, 9, 9)))


# You: thresholds.


@pytest.mark.parametrize("size", [0, -1, 1.0, 1.5, True, "1", None, math.nan, LARGEST_THRESHOLD + 1])
def test_a_constant_threshold_is_a_whole_number_of_at_least_one(size: object) -> None:
    with pytest.raises(LocalError, match=f"a constant threshold must be a whole number from 1 to .*, not {size!r}"):
        Constant(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("base", [1, 0, -2, 1.5, True, LARGEST_THRESHOLD + 1])
def test_a_geometric_threshold_grows(base: float) -> None:
    text = f"the base of a geometric threshold must be a whole number from 2 to .*, not {base}"
    with pytest.raises(LocalError, match=text):
        Geometric(base)  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [lambda cap: Geometric(2, cap=cap), lambda cap: PerCandidate(cap=cap)])
@pytest.mark.parametrize("cap", [0, -1, 2.5, LARGEST_THRESHOLD + 1])
def test_the_cap_of_a_threshold_is_a_whole_number_of_at_least_one(
    threshold: Callable[[float], object], cap: float
) -> None:
    with pytest.raises(LocalError, match=f"the cap of a threshold must be a whole number from 1 to .*, not {cap}"):
        threshold(cap)


def test_a_threshold_of_your_own_that_decreases_is_refused() -> None:
    with pytest.raises(LocalError, match=r"threshold f\(4\) = 5 is below f\(3\) = 7: a threshold must never decrease"):
        FromFunction(lambda c: 7 if c < 4 else 5)


@pytest.mark.parametrize("value", [0, -3])
def test_a_threshold_of_your_own_that_is_zero_is_refused(value: int) -> None:
    with pytest.raises(LocalError, match=rf"threshold f\(1\) must be a whole number of at least 1, not {value}"):
        FromFunction(lambda _: value)


def test_a_threshold_of_your_own_that_is_not_whole_is_refused() -> None:
    with pytest.raises(LocalError, match=r"threshold f\(2\) must be a whole number of at least 1, not 1\.5"):
        FromFunction(lambda c: 1 if c == 1 else 1.5)  # type: ignore[arg-type,return-value]


# You: schedules.


@pytest.mark.parametrize("slots", [(-1,), (0, 1.5), (True,)])
def test_decision_slots_are_whole_numbers_from_zero(slots: tuple[int, ...]) -> None:
    with pytest.raises(LocalError, match=f"a decision slot must be a whole number of at least 0, not {slots[-1]}"):
        Slots(slots)


def test_decision_slots_that_are_not_sorted_are_refused() -> None:
    with pytest.raises(LocalError, match="decision slots must increase, but 3 comes after 5: sort them, once each"):
        Slots((1, 5, 3))


def test_decision_slots_that_are_doubled_are_refused() -> None:
    with pytest.raises(LocalError, match="decision slots must increase, but 5 comes after 5: sort them, once each"):
        Slots((1, 5, 5))


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None])
@pytest.mark.parametrize("schedule", [Rate, Halving, lambda rate: OnOff(rate, toggle=0.5)])
def test_a_rate_is_a_probability(schedule: Callable[[object], object], rate: object) -> None:
    with pytest.raises(LocalError, match=rf"rate must be a number in \[0, 1\], not {rate!r}"):
        schedule(rate)


@pytest.mark.parametrize("toggle", [-0.1, 1.1, math.nan])
def test_the_chance_to_toggle_is_a_probability(toggle: float) -> None:
    with pytest.raises(LocalError, match=rf"toggle must be a number in \[0, 1\], not {toggle!r}"):
        OnOff(0.5, toggle=toggle)


# You: snapshots.


def test_a_record_that_cannot_follow_its_snapshot_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "the reward sum of arm 'A', in quanta, must be a whole number from 0 to 2, not 3"):
        Agent.restore(agent.snapshot(), [Observed((rewards("A", 3),), 0.0)], policy=AAE(ARMS, quantum=0.5))


def test_refused_input_does_not_stop_good_input() -> None:
    agent = seasoned_agent()
    with pytest.raises(PeerError):
        agent.receive(share(ArmTally("A", 3, 9, 9)))
    assert agent.receive(share(MORE)).news == (rewards("A", 0),)


def test_an_error_names_the_agent_that_is_not_known() -> None:
    members = Members("j", ARMS)
    with pytest.raises(PeerError, match="'p' is not known to j"):
        members.get("p")


def test_a_bernoulli_agent_refuses_half_a_reward() -> None:
    agent = Agent("j", UCB(ARMS, quantum=BERNOULLI))
    with refused(agent, LocalError, r"reward 0\.5 is neither 0 nor 1, as a quantum of 1 declares"):
        agent.update("A", 0.5)


def test_a_peer_that_declares_another_quantum_is_refused() -> None:
    agent = seasoned_agent()
    with refused(agent, PeerError, "q counts 1000000 quanta in a reward, j counts 2"):
        agent.receive(notice("q", ARMS, 1_000_000))


# You: something else than what is asked for.


@pytest.mark.parametrize("threshold", [2, lambda c: c, Constant])
def test_what_is_no_threshold_is_refused(threshold: Threshold) -> None:
    with pytest.raises(LocalError, match="is not a threshold: write"):
        on_demand(threshold)
    with pytest.raises(LocalError, match="is not a threshold: write"):
        immediate(threshold)


def test_what_is_no_policy_or_no_sharing_is_refused() -> None:
    with pytest.raises(LocalError, match="an agent needs a policy such as UCB"):
        Agent("j", UCB)  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="an agent shares by on_demand"):
        Agent("j", UCB(ARMS), Geometric(2))  # type: ignore[arg-type]


def test_one_policy_cannot_serve_two_agents() -> None:
    policy = UCB(ARMS)
    Agent("j", policy)
    with pytest.raises(LocalError, match="the policy already belongs to agent j"):
        Agent("p", policy)


@pytest.mark.parametrize("message", [b"bytes", (), None])
def test_what_is_no_message_is_refused(message: Message) -> None:
    agent = seasoned_agent()
    with refused(agent, LocalError, "receive takes one message"):
        agent.receive(message)


@pytest.mark.parametrize("record", [["A", 1, 0.0], Outcome()])
def test_what_is_no_record_is_not_replayed(record: InputRecord) -> None:
    agent = seasoned_agent()
    with pytest.raises(LocalError, match="is not a record"):
        Agent.restore(agent.snapshot(), [record], policy=AAE(ARMS, quantum=0.5))


def test_bytes_are_not_restored() -> None:
    with pytest.raises(LocalError, match="restore takes a snapshot"):
        Agent.restore(b"", policy=UCB(ARMS))  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["ucb", UCB])
def test_a_scenario_needs_something_that_builds_policies(policy: BuildPolicy) -> None:
    with pytest.raises(LocalError, match="policy must be BuiltIn"):
        Scenario(10, Arms.of([0.5]), (AgentSpec(Rate(0.5)),), policy)


def test_a_scenario_needs_schedules_absences_and_sharing() -> None:
    with pytest.raises(LocalError, match="an agent needs a schedule"):
        AgentSpec(0.5)  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="absences must be a tuple of Absence"):
        AgentSpec(Rate(0.5), absences=((1, 2),))  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="sharing must be on_demand"):
        Scenario(10, Arms.of([0.5]), (AgentSpec(Rate(0.5)),), sharing=on_demand)  # type: ignore[arg-type]


def test_a_policy_that_chooses_no_arm_of_its_agent_ends_the_run() -> None:
    class Wild(UCB):
        def select_arm(self) -> str:
            return "wild"

    world = Scenario(10, Arms.of([0.5]), (AgentSpec(Rate(1.0)),), lambda arms, seed: Wild(arms))  # noqa: ARG005
    with pytest.raises(LocalError, match="the policy of agent 0 chose 'wild'"):
        run(world, seed=1)


def test_rewards_of_numpy_are_numbers_too() -> None:
    agent = Agent("j", UCB(ARMS))
    agent.update("A", np.float32(0.5))  # type: ignore[arg-type]
    agent.update("A", np.int64(1))  # type: ignore[arg-type]
    assert total(agent.endpoint).sums["A"] == 1_500_000
