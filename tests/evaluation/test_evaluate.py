"""What another policy would have brought: the figures, what is left out, and what is refused, in words."""

import math
import random
from pathlib import Path

import pytest

import cobandit
from cobandit.evaluation import Column, evaluate, read_decisions
from cobandit.live.store.history import to_parquet
from cobandit.values.errors import LocalError

Log = list[dict[str, object]]


def row(arm: str, propensity: object, reward: object, **more: object) -> dict[str, object]:
    return {"arm": arm, "propensity": propensity, "reward": reward, **more}


LOG: Log = [row("A", 0.8, 1.0), row("B", 0.2, 0.0), row("A", 0.5, 0.0), row("B", 0.5, 1.0), row("B", 0.25, 0.5)]


def test_the_values_are_those_of_the_formulas() -> None:
    found = evaluate(LOG, {"A": 0.5, "B": 0.5})
    weights, rewards = [0.625, 2.5, 1.0, 1.0, 2.0], [1.0, 0.0, 0.0, 1.0, 0.5]
    weighted = math.fsum(w * r for w, r in zip(weights, rewards, strict=True))
    # q before each decision: with the mean of all as one more observation of every arm
    q_a, q_b = [0.0, 1.0, 0.75, 4 / 9, 0.5], [0.0, 1.0, 0.25, 1 / 6, 0.5]
    chosen = [q_a[0], q_b[1], q_a[2], q_b[3], q_b[4]]
    robust = [0.5 * a + 0.5 * b + w * (r - q) for a, b, w, r, q in zip(q_a, q_b, weights, rewards, chosen, strict=True)]
    assert found.inverse_propensity.value == pytest.approx(weighted / 5)
    assert found.self_normalised.value == pytest.approx(weighted / sum(weights))
    assert found.doubly_robust.value == pytest.approx(sum(robust) / 5)
    assert found.logged.value == pytest.approx(0.5)
    assert found.effective == pytest.approx(sum(weights) ** 2 / sum(w * w for w in weights))
    assert (found.decisions, found.unrewarded, found.certain, found.untold) == (5, 0, 0, 0)


def test_the_interval_is_the_plus_four_interval_of_a_share() -> None:
    log = [row("A", 0.5, float(place < 30)) for place in range(100)] + [row("B", 0.5, 1.0)] * 100
    z = 1.959963984540054
    n, share = 100 + z * z, (30 + z * z / 2) / (100 + z * z)
    spread = 30 * (1 - share) ** 2 + 70 * share**2
    spread = spread * 200 / 199 + z * z / 2 * ((1 - share) ** 2 + share**2)
    half = z * math.sqrt(spread) / n
    found = evaluate(log, "A").self_normalised
    assert [found.value, found.low, found.high] == pytest.approx([0.3, share - half, share + half])


def test_rewards_that_are_all_alike_do_not_make_the_interval_a_point() -> None:
    found = evaluate([row("AB"[place % 2], 0.5, 0.0) for place in range(60)], "A")
    assert found.self_normalised.value == 0.0
    assert 0.05 < found.self_normalised.high < 0.25


def test_decisions_for_one_subject_are_one_unit() -> None:
    dice = random.Random(1)
    log = [row("AB"[dice.random() < 0.5], 0.5, float(dice.random() < 0.5), id=str(place)) for place in range(200)]
    many = [{**entry, "id": f"{entry['id']} {again}"} for entry in log for again in range(5)]
    same = [{**entry, "subject": str(entry["id"]).split()[0]} for entry in many]
    once, apart, together = (evaluate(rows, "A") for rows in (log, many, same))
    assert [apart.effective, together.effective] == pytest.approx([5 * once.effective, once.effective])
    assert together.self_normalised.high == pytest.approx(once.self_normalised.high)
    assert together.inverse_propensity.low == pytest.approx(once.inverse_propensity.low)
    assert apart.self_normalised.high < once.self_normalised.high


def test_a_decision_that_is_logged_again_with_its_reward_counts_once() -> None:
    log = [row("A", 0.5, None, id="1"), row("B", 0.5, 0.0, id="2"), row("A", 0.5, 1.0, id="1")]
    found = evaluate(log, "A")
    assert (found.decisions, found.unrewarded, found.self_normalised.value) == (2, 0, 1.0)


def test_what_says_nothing_is_left_out_and_counted() -> None:
    more = [row("A", 0.5, None), row("A", 1.0, 1.0), row("B", 1.0, 1.0), row("A", None, 1.0)]
    found = evaluate([*LOG, *more], "A")
    assert (found.decisions, found.unrewarded, found.certain, found.untold) == (5, 1, 2, 1)
    assert found.self_normalised == evaluate(LOG, "A").self_normalised
    assert evaluate([*LOG, row("A", 0.5, None)], "A", unrewarded=0.0) == evaluate([*LOG, row("A", 0.5, 0.0)], "A")


def test_an_arm_some_arms_shares_and_a_column_can_say_the_same() -> None:
    by_column = [{**entry, "new": "B", "odds": {"B": 1.0, "A": None}} for entry in LOG]
    found = [evaluate(by_column, target) for target in ("B", ["B"], {"B": 1.0}, Column("new"), Column("odds"))]
    assert len({(one.inverse_propensity, one.self_normalised, one.doubly_robust) for one in found}) == 1
    assert [one.target for one in found] == ["always B", "B evenly", "B 1", "column new", "column odds"]


def test_arms_that_were_not_always_on_offer_are_noticed() -> None:
    dice = random.Random(2)
    log = [row("AB"[dice.random() < 0.5], 0.5, 1.0) for _ in range(200)] + [
        row("AC"[n % 2], 0.5, 1.0) for n in range(200)
    ]
    cautions = evaluate(log, "B").cautions
    assert [caution.split(":")[0] for caution in cautions] == [
        f"the weights are {sum(2 for entry in log if entry['arm'] == 'B') / 400:.3f} on average, and should be 1"
    ]


def test_too_few_decisions_are_a_caution() -> None:
    assert evaluate(LOG, "A").cautions == (
        "the effective sample size is 1.9: below 30, intervals are not to be relied on",
    )


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ([row("A", 1.0, 1.0), row("B", 1, 0.0)], "every propensity of this log is 0 or 1"),
        ([row("A", 1.0, 1.0), row("B", 0.0, 0.0)], "every propensity of this log is 0 or 1"),
        ([row("A", None, 1.0)], "no decision of this log has a propensity"),
        ([row("A", 0.5, None)], "no decision of this log has a reward"),
        ([], "this log has no decisions"),
        ([*LOG, row("A", 0.0, 1.0)], "arm 'A' was chosen with propensity 0, which is impossible"),
        ([*LOG, row("A", 1.5, 1.0)], "decision 6 has propensity 1.5, which is none"),
        ([*LOG, row("A", math.nan, 1.0)], "decision 6 has propensity nan, which is none"),
        ([*LOG, row("A", "0.5", 1.0)], "decision 6 has propensity '0.5', which is none"),
        ([*LOG, row("A", 0.5, math.inf)], "decision 6 has reward inf, which is no number"),
        ([*LOG, row("A", 0.5, True)], "decision 6 has reward True, which is no number"),
        ([{"propensity": 0.5}], "decision 1 has no arm"),
        (["A"], "decision 1 is 'A', not one of a log"),
    ],
)
def test_a_log_that_says_nothing_or_cannot_be_is_refused(log: Log, words: str) -> None:
    with pytest.raises(LocalError, match=words):
        evaluate(log, "A")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("Z", "arm 'Z' is in no decision that counts, so the log says nothing of it: there are A, B"),
        ({"A": 0.5, "B": 0.4}, "the shares of the other policy must add up to 1, not 0.9"),
        ({"A": -0.5, "B": 1.5}, r"the share of arm 'A' must be a number in \[0, 1\], not -0.5"),
        ([], "the arms of the other policy must be some, each once"),
        (["A", "A"], "the arms of the other policy must be some, each once"),
        (
            Column("new"),
            "the column 'new' must have an arm, or arms and their shares, in every decision; in one it has None",
        ),
    ],
)
def test_a_policy_that_cannot_be_is_refused(target: str, words: str) -> None:
    with pytest.raises(LocalError, match=words):
        evaluate(LOG, target)


def test_a_confidence_of_one_is_refused() -> None:
    with pytest.raises(LocalError, match=r"the confidence must be between 0 and 1, not 1\.0"):
        evaluate(LOG, "A", confidence=1.0)


def test_the_log_of_a_member_is_evaluated_as_it_is_and_as_parquet(tmp_path: Path) -> None:
    with cobandit.connect(
        "memory://evaluate", group="g", name="a", arms=["A", "B"], floors={"A": 0.4, "B": 0.4}
    ) as member:
        for place in range(100):
            member.update(member.select_arm("ann" if place < 3 else None), place % 2)
        member.select_arm()
        entries = list(member.log())
    path = tmp_path / "log.parquet"
    path.write_bytes(to_parquet(entries))
    found = evaluate(entries, ["A", "B"])
    assert (found.decisions, found.unrewarded) == (100, 1)
    assert [found.logged.value, found.logged.low, found.logged.high] == pytest.approx([0.5, 0.4, 0.6], abs=0.01)
    assert evaluate(read_decisions(path), ["A", "B"]) == found
