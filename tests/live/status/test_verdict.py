"""Who leads, how sure that is, and what stopping now would cost: in statistics, for every policy."""

import pytest

import cobandit
from cobandit.live.drive.member import Member
from cobandit.live.status.verdict import Judgement, Standing, Verdict, judged, standing_of
from cobandit.policies import AAE, UCB, Thompson

SOON = Standing(("A", "B"), ((51.0, 951.0), (41.0, 961.0)), 2000, is_of_policy=True)


def test_a_verdict_says_who_leads_how_sure_and_what_stopping_costs() -> None:
    verdict, odds = judged(SOON)
    assert verdict is not None
    assert (verdict.leader, verdict.is_converged, verdict.observations) == ("A", False, 2000)
    assert verdict.p_best == odds["A"] == pytest.approx(0.8584, abs=0.002)
    assert verdict.mean == pytest.approx(51 / 1002)
    assert verdict.loss == pytest.approx(0.000678, rel=0.01)
    assert odds["B"] == pytest.approx(1.0 - odds["A"])
    assert verdict.text == (
        "A leads B, and is the best arm with 86 % probability. Stopping now would cost 0.00068 per decision, 1.3 % of "
        "the expected 0.051: keep going."
    )


@pytest.mark.parametrize(
    ("posterior", "count", "words"),
    [
        ((54.0, 7.0), 59, "C looks better (75 %), but was tried only 59 times."),
        ((2.0, 1.0), 1, "C looks better (86 %), but was tried only 1 time."),
        ((1.0, 1.0), 0, "C looks better (62 %), but was never tried."),
    ],
)
def test_where_another_arm_is_more_likely_the_best_it_is_said(
    posterior: tuple[float, float], count: int, words: str
) -> None:
    known = (381.0, 621.0) if count < 2 else (861.0, 141.0)
    verdict, odds = judged(Standing(("A", "C"), (known, posterior), 1059, True, (1000, count)))
    assert verdict is not None
    assert (verdict.leader, verdict.p_best < odds["C"]) == ("A", True)
    assert words in verdict.text


@pytest.mark.parametrize(
    ("posteriors", "is_converged"),
    [
        (((501.0, 9501.0), (401.0, 9601.0)), True),  # sure
        (((5001.0, 5001.0), (5001.0, 5001.0)), True),  # a tie that it is not worth to decide: 0.8 % of the mean
        (((501.0, 501.0), (501.0, 501.0)), False),  # a tie of which less is known: 2.5 %
        (((501.0, 9501.0), (401.0, 9601.0), (1.0, 1.0)), False),  # one that nobody has tried
    ],
)
def test_a_bandit_has_converged_when_stopping_costs_one_percent_at_most(
    posteriors: tuple[tuple[float, float], ...], is_converged: bool
) -> None:
    verdict = judged(Standing(("A", "B", "C")[: len(posteriors)], posteriors, 1, is_of_policy=True)).verdict
    assert verdict is not None
    assert verdict.is_converged is is_converged
    assert (verdict.loss <= 0.01 * verdict.mean) is is_converged
    assert ("it has converged." in verdict.text) is is_converged


@pytest.mark.parametrize(
    ("posteriors", "words"),
    [
        (((501.0, 9501.0), (401.0, 9601.0)), "Stopping now would cost next to nothing: it has converged."),
        (
            ((51.0, 951_000.0), (41.0, 961_000.0)),
            "cost 0.00000069 per decision, 1.3 % of the expected 0.000054: keep going.",
        ),
        (((3.0, 1.0), (1.0, 1.0)), "cost 0.050 per decision, 6.7 % of the expected 0.75: keep going."),
    ],
)
def test_a_cost_is_told_as_people_write_it(posteriors: tuple[tuple[float, float], ...], words: str) -> None:
    verdict = judged(Standing(("A", "B"), posteriors, 1, is_of_policy=True)).verdict
    assert verdict is not None
    assert verdict.text.endswith(words)


def test_where_nothing_is_known_there_is_no_verdict() -> None:
    assert judged(SOON._replace(observations=0)) == Judgement(None, {})
    assert judged(Standing((), (), 7, is_of_policy=True)) == Judgement(None, {})


def test_one_arm_alone_needs_no_figures() -> None:
    verdict = judged(Standing(("A",), ((2.0, 3.0),), 3, is_of_policy=True)).verdict
    assert verdict is not None
    assert (verdict.p_best, verdict.loss, verdict.text) == (1.0, 0.0, "A is the only arm on offer.")


def test_a_name_does_not_drown_the_sentence() -> None:
    verdict = judged(SOON._replace(arms=("A" * 200, "B"))).verdict
    assert verdict is not None
    assert verdict.text.startswith("A" * 39 + "… leads B, and")


def test_policies_without_posteriors_are_judged_by_their_tallies_and_it_is_said() -> None:
    policies = [Thompson(["A", "B"], seed=1), UCB(["A", "B"]), AAE(["A", "B"])]
    for policy in policies:
        for _ in range(3):
            policy.update("A", 1.0)
        policy.update("B", 0.25)
    standings = [standing_of(policy, ["A", "B"]) for policy in policies]
    assert [standing.is_of_policy for standing in standings] == [True, False, False]
    assert {standing.posteriors for standing in standings} == {((4.0, 1.0), (1.25, 1.75))}
    texts = [str(judged(standing).verdict.text) for standing in standings]  # type: ignore[union-attr]
    assert texts[1] == texts[2] == texts[0] + " This is by the counts alone: the policy has no posteriors."


def teach(member: Member, count: int) -> Verdict:
    for _ in range(count):
        decision = member.select_arm()
        member.update(decision, decision.arm == "A")
    member.sync()
    verdict = member.statistics().verdict
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("policy", ["thompson", "ucb"])
def test_statistics_have_the_verdict_on_what_is_known_now(policy: str) -> None:
    with cobandit.connect("memory://verdict", group="g", name="a", arms=["A", "B"], policy=policy) as member:
        assert member.statistics().verdict is None
        first, second = teach(member, 50), teach(member, 50)
        assert [(one.leader, one.observations, one.is_of_policy) for one in (first, second)] == [
            ("A", 50, policy == "thompson"),
            ("A", 100, policy == "thompson"),
        ]
        assert second.p_best > 0.9
        told = member.statistics()
        assert sum(arm.p_best or 0.0 for arm in told.arms) == pytest.approx(1.0)
        assert told.verdict == second  # nothing has changed
        propensities = [arm.propensity for arm in told.arms]
        assert propensities == [None, None] if policy == "ucb" else sum(map(float, propensities)) == pytest.approx(1.0)  # type: ignore[arg-type]
        member.freeze_arm("A")
        told = member.statistics()
        assert told.verdict is not None
        assert (told.verdict.leader, [arm.p_best for arm in told.arms]) == ("B", [None, 1.0])


def test_propensities_are_those_of_the_next_decision() -> None:
    floors = {"B": 0.25}
    with cobandit.connect("memory://propensity", group="g", name="a", arms=["A", "B"], floors=floors) as member:
        teach(member, 200)
        told = {arm.arm: arm.propensity for arm in member.statistics().arms}
        assert told == pytest.approx({"A": 0.75, "B": 0.25}, abs=0.01)
        decision = member.select_arm()
        assert decision.propensity == told[decision.arm]
        member.kill("B")
        assert {arm.arm: arm.propensity for arm in member.statistics().arms} == {"A": 0.0, "B": 1.0}


def test_members_that_are_asked_tell_their_verdicts_too() -> None:
    with (
        cobandit.connect("memory://verdicts", group="g", name="a", arms=["A", "B"]) as ann,
        cobandit.connect("memory://verdicts", group="g", name="b", arms=["A", "B"]) as bob,
    ):
        teach(bob, 100)
        fleet = ann.fleet()
        told = {member.name: member.verdict for member in fleet.members}["b"]
        assert told is not None
        assert (told.leader, told.observations) == ("A", 100)
        assert fleet.verdict == max((m.verdict for m in fleet.members if m.verdict), key=lambda one: one.observations)
