"""The methods of an Azure Personalizer client on a cobandit member. See docs/guides/from-personalizer.md."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import cobandit

MOST_EVENTS = 100_000
"""So many events with ids of the caller's own are remembered, by this process. Decision ids need no memory."""


class Ranked(NamedTuple):
    """What `rank` answers."""

    event_id: str
    reward_action_id: str
    probability: float | None


class Personalizer:
    """Rank and reward.

    Args:
        url: Where the other processes of this loop are, as in `cobandit.connect`.
        loop: The name of the learning loop.
        actions: All actions that there are.
        exploration: The share of calls that explore; Personalizer's default is 0.2.
        reward_wait_s: The reward wait time, in seconds.
        default_reward: What an event counts with that was not rewarded in that time.
        options: Whatever else `cobandit.connect` takes: `name`, `state`, `peers`, `keys`.
    """

    def __init__(
        self,
        url: str,
        *,
        loop: str,
        actions: Sequence[str],
        exploration: float = 0.2,
        reward_wait_s: float = 600.0,
        default_reward: float = 0.0,
        **options: Any,
    ) -> None:
        self.member: cobandit.Member = cobandit.connect(
            url,
            group=loop,
            arms=actions,
            floors=dict.fromkeys(actions, exploration / len(actions)),
            expire_after=reward_wait_s,
            default_reward=default_reward,
            **options,
        )
        self._decisions: OrderedDict[str, str] = OrderedDict()

    def rank(
        self, actions: Sequence[str], *, excluded_actions: Sequence[str] = (), event_id: str | None = None
    ) -> Ranked:
        """Choose one of these actions. Without an event id of your own, the decision's id is the event's."""
        decision = self.member.select_arm(among=[action for action in actions if action not in excluded_actions])
        if event_id is None:
            return Ranked(decision.id, decision.arm, decision.propensity)
        self._decisions[event_id] = decision.id
        if len(self._decisions) > MOST_EVENTS:
            self._decisions.popitem(last=False)
        return Ranked(event_id, decision.arm, decision.propensity)

    def reward(self, event_id: str, value: float) -> None:
        """Reward an event. A second reward of the same event counts nothing."""
        self.member.update(self._decisions.get(event_id, event_id), value)

    def serve_baseline(self, action: str) -> None:
        """Show the baseline and nothing else, in every process of the loop, until `serve_learned`."""
        self.member.kill(action)

    def serve_learned(self) -> None:
        """Show what was learned again."""
        self.member.lift()

    def close(self) -> None:
        """Leave the loop."""
        self.member.close()
