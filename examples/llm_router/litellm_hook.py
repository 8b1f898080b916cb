"""A hook for LiteLLM's router: which deployment of a model to ask, learned by all replicas of the router together.

member = cobandit.connect(..., arms=[deployment["model_info"]["id"] for deployment in model_list])
litellm.callbacks = [LearnedRouting(member, "chat")]
router = litellm.Router(model_list=model_list)
"""

from typing import Any

from litellm.integrations.custom_logger import CustomLogger

import cobandit

DECISIONS = "cobandit"
"""Where in a request's metadata its decisions are: of each deployment that was asked, the newest last."""


class LearnedRouting(CustomLogger):  # type: ignore[misc]
    """Chooses among the healthy deployments of one model, and counts how it went.

    Args:
        member: The member of this process. Its arms are the ids of the deployments.
        model: The model name that several deployments share.
        slow_s: An answer that takes this long is worth nothing, one at once is worth 1, and a failure is worth 0.
        by_feedback: Do not count answers by their time: you reward `metadata["cobandit"]` when users have judged.
    """

    def __init__(self, member: cobandit.Member, model: str, *, slow_s: float = 10.0, by_feedback: bool = False) -> None:
        super().__init__()
        self.member, self.model, self.slow_s, self.by_feedback = member, model, slow_s, by_feedback

    async def async_filter_deployments(
        self,
        model: str,
        healthy_deployments: list[dict[str, Any]],
        messages: object,
        request_kwargs: dict[str, Any] | None = None,
        parent_otel_span: object = None,
    ) -> list[dict[str, Any]]:
        """Leave one deployment: the router has taken out those that cool down, and asks again for each retry."""
        by_id = {deployment["model_info"]["id"]: deployment for deployment in healthy_deployments}
        choice = by_id.keys() & set(self.member.offered_arms)
        if model != self.model or not choice or request_kwargs is None:
            return healthy_deployments
        decision = self.member.select_arm(among=choice)
        decisions = request_kwargs.setdefault("metadata", {}).setdefault(DECISIONS, {})
        decisions.setdefault(decision.arm, []).append(decision.id)
        return [by_id[decision.arm]]

    async def async_log_success_event(
        self,
        kwargs: dict[str, Any],
        response_obj: object,
        start_time: Any,
        end_time: Any,
    ) -> None:
        """Count an answer: the faster, the better."""
        if not self.by_feedback:
            seconds = (end_time - start_time).total_seconds()
            self._reward(kwargs, max(0.0, 1.0 - seconds / self.slow_s))

    async def async_log_failure_event(
        self,
        kwargs: dict[str, Any],
        response_obj: object,
        start_time: Any,
        end_time: Any,
    ) -> None:
        """Count a failure."""
        self._reward(kwargs, 0.0)

    def _reward(self, kwargs: dict[str, Any], reward: float) -> None:
        asked = kwargs.get("litellm_params") or {}
        decisions = (asked.get("metadata") or {}).get(DECISIONS, {})
        if waiting := decisions.get((asked.get("model_info") or {}).get("id")):
            self.member.update(waiting.pop(0), reward)
