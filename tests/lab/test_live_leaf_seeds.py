"""Live fleets of relays and leaves in which everything goes wrong; and broken variants that they must notice."""

from collections.abc import Callable
from typing import Any

import pytest

from cobandit.core.running_totals import RunningTotals
from cobandit.live.decide.decision import read
from cobandit.live.machine import control_messages
from cobandit.live.machine.homes import Homes
from cobandit.live.machine.inbound import Inbound
from cobandit.live.machine.leaf import Leaf
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.rewards_for_others import RewardsForOthers
from cobandit.live.machine.routing import Routing
from cobandit.values.tally import ArmTally
from lab.live_swarm.leaf_worlds import leaf_plan
from lab.live_swarm.running import run_seed

SEEDS, CHUNK = 12, 4
Break = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_seed_with_relays_and_leaves_violates_an_invariant(first: int) -> None:
    verdicts = [run_seed(seed, plan_of=leaf_plan) for seed in range(first, first + CHUNK)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}


def test_the_same_seed_does_the_same_again() -> None:
    assert run_seed(1, plan_of=leaf_plan) == run_seed(1, plan_of=leaf_plan)


def _a_farewell_is_the_last_word(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Leaf, name: str) -> None:
        self._machine.answer_with(name, self._machine.introduction.hello(wants_answer=True))

    patch.setattr(Leaf, "_greet", changed)


def _a_leaf_stays_with_a_relay_that_is_silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Homes, "_leave", lambda *_: ([], []))
    patch.setattr(Homes, "left", lambda *_: None)


def _a_relay_says_that_it_has_rewards_that_it_does_not_keep(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RewardsForOthers, "take_over", lambda *_: True)


def _a_relay_keeps_rewards_in_memory_only(patch: pytest.MonkeyPatch) -> None:
    def changed(self: RewardsForOthers, peer: str, token: str, reward: float) -> bool:
        self._outbox.add_reward(peer, token, reward)
        return True

    patch.setattr(RewardsForOthers, "take_over", changed)


def _rewards_for_others_are_not_handed_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Routing, "due", lambda *_: iter(()))
    patch.setattr(Routing, "due_at", lambda *_: None)


def _relays_take_all_rewards_of_relays(patch: pytest.MonkeyPatch) -> None:
    """Then each hands on what the other has handed on, for ever."""

    def changed(self: Inbound, message: control_messages.RewardsToBring, now: float) -> None:
        del now
        machine = self._machine
        taken = tuple(token for token, _ in message.rewards)
        for token, reward in message.rewards:
            machine.rewards_for_others.take_over(read(token).member, token, reward)
        machine.answer_with(message.sender, control_messages.RewardsTaken(machine.terms.name, taken, message.number))

    patch.setattr(Inbound, "_take_over", changed)


def _a_total_contains_what_the_leaf_observed_itself(patch: pytest.MonkeyPatch) -> None:
    but = RunningTotals.but

    def changed(self: RunningTotals, agent: str, arm: str) -> ArmTally:
        del agent
        return but(self, "nobody", arm)

    patch.setattr(RunningTotals, "but", changed)


def _leaves_are_not_told_what_is_set(patch: pytest.MonkeyPatch) -> None:
    answer_with = Machine.answer_with

    def changed(self: Machine, receiver: str, message: Any) -> None:
        is_settings = isinstance(message, control_messages.ControlsTold)
        if not (is_settings and self.terms.is_relay and not self.agent.peers.is_relay(receiver)):
            answer_with(self, receiver, message)

    patch.setattr(Machine, "answer_with", changed)


def _a_leaf_takes_everybodys_word(patch: pytest.MonkeyPatch) -> None:
    admits = Leaf.admits

    def changed(self: Leaf, content: Any, now: float) -> bool:
        admits(self, content, now)
        return True

    patch.setattr(Leaf, "admits", changed)


VARIANTS: dict[str, tuple[Break, int]] = {
    "a farewell is the last word": (_a_farewell_is_the_last_word, 33),
    "a leaf stays with a relay that is silent": (_a_leaf_stays_with_a_relay_that_is_silent, 5),
    "a relay says that it has what it does not keep": (_a_relay_says_that_it_has_rewards_that_it_does_not_keep, 21),
    "a relay keeps rewards in memory only": (_a_relay_keeps_rewards_in_memory_only, 127),
    "rewards are not handed on": (_rewards_for_others_are_not_handed_on, 0),
    "relays take all rewards of relays": (_relays_take_all_rewards_of_relays, 55),
    "a total contains what the leaf observed": (_a_total_contains_what_the_leaf_observed_itself, 0),
    "leaves are not told what is set": (_leaves_are_not_told_what_is_set, 20),
    "a leaf takes everybody's word": (_a_leaf_takes_everybodys_word, 29),
}
"""Each with the first seed that notices."""

TRIED = 3
"""Seeds that are tried from there on."""


@pytest.mark.parametrize("name", VARIANTS)
def test_a_broken_variant_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, first = VARIANTS[name]
    change(monkeypatch)
    assert any(run_seed(seed, plan_of=leaf_plan).violations for seed in range(first, first + TRIED))
