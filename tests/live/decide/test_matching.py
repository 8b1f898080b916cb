"""A live member draws by odds that were computed beside its decisions, and says exactly how likely a draw was."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import cobandit
from cobandit import Agent, Horizon
from cobandit.live.decide.allocation import Allocation, Draw, drawn_by
from cobandit.live.decide.decider import Decider
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.drive.node import Node
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.machine.step import Restored, Terms
from cobandit.live.machine.zero_watch import MANY_REWARDS
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.transports.memory import Hub, MemoryTransport
from cobandit.policies.matching import best_odds
from cobandit.policies.registry import BuiltIn

ARMS = ("A", "B", "C", "D")
RATES = {"A": 0.5, "B": 0.45, "C": 0.2, "D": 0.4}
CHI_SQUARE_3 = 16.27
"""With three degrees of freedom, one in a thousand is above. Seeds are fixed, so it is the same every time."""


class Driven:
    """A member without a loop: it takes a step when it is told."""

    def __init__(self, policy: str = "thompson", *, default: int | None = None, **limits: Mapping[str, float]) -> None:
        clock = VirtualClock()
        agent = Agent("ann", BuiltIn(policy)(ARMS, 7, 0.01), LIVE_SHARING, incarnation=1)
        restored = Restored(agent, Controls(), Outbox(), OpenDecisions(), 1, b"secret", frozenset(), is_new=True)
        terms = Terms("ann", "g", LIVE_SHARING, lambda arms: BuiltIn(policy)(arms, 7, 0.01), 1e9, default)
        self.machine = Machine(terms, restored, clock)
        self.node = Node(self.machine, MemoryJournal(), MemoryTransport(Hub()))
        self.decider: Decider = self.machine.make_decider(
            Allocation(**limits) if limits else None, seed=11, wake=lambda: None
        )

    def propensities(self, draws: int) -> dict[str, float]:
        """What decisions say of themselves, by arm. All of one arm must say the same."""
        found: dict[str, float] = {}
        for _ in range(draws):
            decision = self.decider.select_arm()
            assert decision.propensity is not None
            assert found.setdefault(decision.arm, decision.propensity) == decision.propensity
        return found

    def learn(self, successes: Mapping[str, float] = RATES, count: int = 40) -> None:
        """Reward so many decisions of each arm, this share of them with 1."""
        for arm, rate in successes.items():
            for place in range(count):
                decision = self.decider.select_arm(among=[arm])
                assert self.decider.settle(decision.number, float(place < rate * count))
        self.node.step()


LIMITS: dict[str, dict[str, Any]] = {
    "free": {},
    "floors": {"floors": {"C": 0.1, "D": 0.05}},
    "ceilings": {"ceilings": {"A": 0.3}},
    "both": {"floors": {"C": 0.1}, "ceilings": {"A": 0.2, "B": 0.5}},
}


@pytest.mark.parametrize("limits", LIMITS)
def test_propensities_add_up_to_one_and_are_how_often_arms_are_drawn(limits: str) -> None:
    driven = Driven(**LIMITS[limits])
    driven.learn()
    draws = 20_000
    chosen: Counter[str] = Counter()
    says: dict[str, float] = {}
    for _ in range(draws):
        decision = driven.decider.select_arm()
        assert decision.propensity is not None
        chosen[decision.arm] += 1
        says[decision.arm] = decision.propensity
    assert sum(says.values()) == pytest.approx(1.0, abs=1e-3)  # an arm that was never drawn is not there
    assert sum((chosen[arm] - draws * share) ** 2 / (draws * share) for arm, share in says.items()) < CHI_SQUARE_3
    for arm, floor in LIMITS[limits].get("floors", {}).items():
        assert says[arm] >= floor - 1e-12
    for arm, ceiling in LIMITS[limits].get("ceilings", {}).items():
        assert says[arm] <= ceiling + 1e-9


def test_every_number_between_0_and_1_falls_into_the_interval_that_the_draw_tells() -> None:
    draw = Draw({"A": 0.3, "B": 0.0, "C": 1e-20, "D": 0.5})
    assert [draw.by(chance)[0] for chance in (0.0, 0.374, 0.376, 1.0 - 2**-53)] == ["A", "A", "D", "D"]
    assert draw.by(0.0)[1] + draw.by(0.9)[1] == 1.0


def test_odds_keep_their_proportion_among_the_arms_that_are_there_and_a_new_arm_gets_an_even_share() -> None:
    odds = {"A": 0.6, "B": 0.2, "C": 0.2}
    assert drawn_by(odds, ("A", "B"), None).by(0.0)[1] == pytest.approx(0.75)
    assert drawn_by(odds, ("A", "B", "C", "D"), None).by(0.99)[1] == pytest.approx(0.2)
    assert drawn_by({"A": 1.0, "B": 0.0, "C": 0.0}, ("B", "C"), None).by(0.99) == ("C", 0.5)


def test_a_change_of_knowledge_changes_the_odds_before_the_second_next_decision() -> None:
    driven = Driven()
    assert driven.propensities(50) == dict.fromkeys(ARMS, 0.25)
    decision = driven.decider.select_arm(among=["A"])
    driven.decider.settle(decision.number, 1.0)
    assert driven.decider.select_arm().propensity == 0.25  # nobody computes on the caller's thread
    driven.node.step()
    after = driven.propensities(50)
    # The mean of A is the greatest of two draws now, so A is the best of five with likelihood 2/5.
    assert after["A"] == pytest.approx(0.4, abs=0.005)
    assert after["B"] == pytest.approx(0.2, abs=0.005)
    assert driven.machine.question() is None


def test_decisions_without_a_reward_change_no_odds() -> None:
    driven = Driven()
    driven.propensities(300)
    driven.node.step()
    assert driven.propensities(50) == dict.fromkeys(ARMS, 0.25)


def test_a_frozen_arm_is_never_drawn_and_the_others_have_all() -> None:
    driven = Driven()
    driven.learn()
    driven.machine.operations.set_frozen("A", is_frozen=True)
    at_once = driven.propensities(3000)
    driven.node.step()
    for found in (at_once, driven.propensities(3000)):
        assert "A" not in found
        assert sum(found.values()) == pytest.approx(1.0, abs=1e-3)
    posteriors = driven.machine.agent.policy.posteriors()
    assert posteriors is not None
    odds = dict(zip(ARMS[1:], best_odds(posteriors[1:]), strict=True))  # as if there were no A
    assert {arm: driven.propensities(3000)[arm] for arm in "BD"} == {arm: pytest.approx(odds[arm]) for arm in "BD"}
    driven.machine.operations.set_frozen("A", is_frozen=False)
    assert "A" in driven.propensities(100)


def test_after_the_kill_switch_the_odds_are_as_before() -> None:
    driven = Driven()
    driven.learn()
    before = driven.propensities(3000)
    driven.machine.operations.set_control_arm("C")
    assert driven.propensities(10) == {"C": 1.0}
    driven.node.step()
    driven.machine.operations.set_control_arm(None)
    assert driven.propensities(3000) == before


def test_among_some_arms_a_choice_is_drawn_by_the_odds_that_they_have_to_each_other() -> None:
    driven = Driven()
    driven.learn()
    found = {
        decision.arm: decision.propensity
        for decision in (driven.decider.select_arm(among=["A", "B"]) for _ in range(200))
    }
    assert set(found) == {"A", "B"}
    assert sum(share for share in found.values() if share) == pytest.approx(1.0)


def test_other_policies_have_no_odds() -> None:
    driven = Driven("ucb")
    driven.learn()
    assert driven.machine.question() is None
    assert driven.decider.select_arm().propensity == 1.0


def test_who_reports_clicks_alone_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    driven = Driven()
    open_numbers = []
    for _ in range(MANY_REWARDS):
        open_numbers.append(driven.decider.select_arm().number)
        assert not driven.machine.alerts.troubles
        driven.decider.settle(driven.decider.select_arm().number, 1.0)
    for _ in range(3):
        driven.node.step()
    assert [text for text in caplog.messages if "default_reward = 0" in text] == [
        f"event=no_zero_rewards ann: {trouble}" for trouble in driven.machine.alerts.troubles
    ]
    assert len(driven.node.statistics().troubles) == 1
    driven.decider.select_arm()
    driven.decider.settle(open_numbers[0], 0.0)
    driven.node.step()
    assert not driven.machine.alerts.troubles


@pytest.mark.parametrize(("default", "is_open"), [(0, True), (None, False)])
def test_who_has_a_default_or_rewards_every_decision_is_not_told(default: int | None, is_open: bool) -> None:
    driven = Driven(default=default)
    for _ in range(2 * MANY_REWARDS):
        if is_open:
            driven.decider.select_arm()
        driven.decider.settle(driven.decider.select_arm().number, 1.0)
    driven.node.step()
    assert not driven.machine.alerts.troubles


# As members get it.


def test_members_draw_by_thompson_sampling_unless_they_are_told() -> None:
    with cobandit.connect("memory://matching", group="g", name="ann", arms=ARMS) as ann:
        assert ann.statistics().policy == "Thompson"
        assert ann.select_arm().propensity == 0.25


async def _policy_after_join() -> str:
    async with cobandit.join("memory://matching", group="g", name="ann", arms=ARMS) as ann:
        return ann.statistics().policy


def test_so_do_those_that_join() -> None:
    assert asyncio.run(_policy_after_join()) == "Thompson"


def test_a_policy_may_come_with_parameters() -> None:
    policy = BuiltIn("ucb", alpha=0.5, confidence=Horizon(1000))
    with cobandit.connect("memory://matching", group="g", name="ann", arms=ARMS, policy=policy) as ann:
        assert ann.statistics().policy == "UCB"
        assert ann.select_arm().propensity == 1.0


@pytest.mark.parametrize(("options", "policy"), [({"policy": "ucb"}, "UCB"), ({}, "Thompson")])
def test_a_state_of_a_member_with_ucb_starts_with_the_policy_that_is_asked_for(
    tmp_path: Path, options: dict[str, Any], policy: str
) -> None:
    first = tmp_path / "first.db"
    with cobandit.connect("memory://matching", group="g", name="ann", arms=ARMS, state=first, policy="ucb") as ann:
        for _ in range(40):
            decision = ann.select_arm()
            ann.update(decision, float(decision.arm == "B"))
    shutil.copy(first, tmp_path / "again.db")
    with cobandit.connect(
        "memory://matching", group="g", name="ann", arms=ARMS, state=tmp_path / "again.db", **options
    ) as again:
        assert (again.statistics().policy, again.statistics().own_observations) == (policy, 40)
        assert again.select_arm("a subject whose arm is no chance").arm == "B"
