"""Many own observations in one step: a batch of one is an update, a batch of many is many updates with one share."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit import AAE, UCB, Agent, Geometric, LocalError, on_demand
from cobandit.codec import decode_record, decode_snapshot, encode_record, encode_snapshot
from cobandit.core import Cells, Changes, Observed, Outcome, RetryTimers, Share, Sharing
from cobandit.core.invariants import endpoint_violations, total
from cobandit.core.messages import MAX_OBSERVATIONS
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import ArmTally

ARMS = ("A", "B", "C")
PATIENCE = RetryTimers(first=4.0, least=1.0, growth=2.0, tick=30.0, longest=100.0)
SHARINGS = {
    "paper": on_demand(),
    "doubling": on_demand(Geometric(2)),
    "tolerant": on_demand(loss_tolerant=PATIENCE),
    "tolerant, doubling": on_demand(Geometric(2), loss_tolerant=PATIENCE),
}


def group(policy: type[UCB | AAE], sharing: Sharing) -> Agent:
    """An agent with three peers: one with its arms, one with some of them, one with none."""
    j = Agent("j", policy(ARMS, alpha=0.3, quantum=BERNOULLI), sharing)
    for peer, arms in (("p", ARMS), ("q", ("B", "D")), ("r", ("D",))):
        j.peer_joined(peer, arms)
    return j


def some(arm: str, count: int, reward_sum: int) -> ArmTally:
    """Rewards that are 0 or 1."""
    return ArmTally(arm, count, reward_sum, reward_sum)


pulls = st.lists(st.tuples(st.sampled_from(ARMS), st.integers(0, 1)), min_size=1, max_size=40)
batches = st.lists(
    st.dictionaries(st.sampled_from(ARMS), st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1).map(
        lambda drawn: tuple(some(arm, count, min(count, units)) for arm, (count, units) in drawn.items())
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("policy", [UCB, AAE])
@pytest.mark.parametrize("sharing", SHARINGS.values(), ids=SHARINGS.keys())
@given(pulls=pulls)
@settings(max_examples=40, deadline=None)
def test_a_batch_of_one_is_an_update(policy: type[UCB | AAE], sharing: Sharing, pulls: list[tuple[str, int]]) -> None:
    one, many = group(policy, sharing), group(policy, sharing)
    for time, (arm, units) in enumerate(pulls):
        tallies, now = (some(arm, 1, units),), float(time)
        expected = one.update(arm, float(units), now)
        assert expected.records == (Observed(tallies, now),)
        assert many.update_all(tallies, now) == expected
        assert many.snapshot() == one.snapshot()
        assert many.policy.candidates == one.policy.candidates


@pytest.mark.parametrize("policy", [UCB, AAE])
@pytest.mark.parametrize("sharing", SHARINGS.values(), ids=SHARINGS.keys())
@given(batches=batches)
@settings(max_examples=40, deadline=None)
def test_batches_count_what_single_updates_count_and_are_restored_from_their_records(
    policy: type[UCB | AAE], sharing: Sharing, batches: list[tuple[ArmTally, ...]]
) -> None:
    many, one = group(policy, sharing), group(UCB, sharing)
    start, records = many.snapshot(), []
    for time, tallies in enumerate(batches):
        outcome = many.update_all(tallies, now=float(time))
        records += [decode_record(encode_record(record)) for record in outcome.records]
        shares = [message.receiver for message in outcome.outgoing if isinstance(message, Share)]
        assert len(set(shares)) == len(shares)  # at most one for each
        assert endpoint_violations(many.endpoint) == []
        for arm, count, units, _ in tallies:
            for pull in range(count):
                one.update(arm, float(pull < units), now=float(time))
    assert many.policy.tally == total(many.endpoint) == total(one.endpoint)
    assert many.policy.own_pulls == one.policy.own_pulls
    snapshot = decode_snapshot(encode_snapshot(start))
    again = Agent.restore(snapshot, records, policy=policy(ARMS, alpha=0.3, quantum=BERNOULLI), sharing=sharing)
    assert again.snapshot() == many.snapshot()


def test_a_batch_is_shared_once_and_whole() -> None:
    j = group(UCB, on_demand())
    tallies = (some("A", 3, 2), some("B", 2, 0))
    assert j.update_all(tallies, now=1.0) == Outcome(
        (Observed(tallies, 1.0),),
        (
            Share("j", "p", 1, 5, Changes(cells=(Cells("j", 0, tallies),))),
            Share("j", "q", 1, 2, Changes(cells=(Cells("j", 0, tallies[1:]),))),
        ),
    )


@pytest.mark.parametrize(
    ("tallies", "text"),
    [
        ((), "a list of at least one ArmTally"),
        (None, "a list of at least one ArmTally"),
        ("A", "a list of at least one ArmTally"),
        ((("A", 1, 1, 1),), "a list of ArmTally(arm, observations, reward_sum, square_sum)"),
        ((some("Z", 1, 1),), "arm 'Z' is not one of A, B, C"),
        ((some("A", 0, 0),), "observations of arm 'A' must be a whole number"),
        ((some("A", 2, 3),), "reward sum of arm 'A', in quanta, must be a whole number from 0 to 2"),
        ((some("A", 2, -1),), "reward sum of arm 'A', in quanta, must be a whole number from 0 to 2"),
        ((ArmTally("A", 2, 1, -1),), "square sum of arm 'A' must be a whole number of at least 0"),
        ((ArmTally("A", 2, 1, 2),), "no 2 rewards of arm 'A' add up to 1 and squares of 2"),
        ((some("A", 1, 1), some("B", 1, 1), some("A", 1, 1)), "an arm is in the batch twice"),
        ((some("A", MAX_OBSERVATIONS, 0), some("B", 1, 0)), "start another one"),
    ],
)
def test_a_batch_that_cannot_be_is_refused_and_changes_nothing(tallies: tuple[ArmTally, ...], text: str) -> None:
    j = group(AAE, on_demand())
    before, known = j.snapshot(), j.policy.tally.copy()
    with pytest.raises(LocalError, match=re.escape(text)):
        j.update_all(tallies)
    assert (j.snapshot(), j.policy.tally, j.policy.own_pulls) == (before, known, 0)
