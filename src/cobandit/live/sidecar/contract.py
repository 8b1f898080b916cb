"""The API as a table: every operation with its path, its types, its statuses and an example of each.

Routes and the OpenAPI document are both generated from this table, so what is served is what is documented. `api.py`
has a method with each operation's name.
"""

from typing import Any, NamedTuple

import msgspec

from cobandit.live.sidecar import schemas
from cobandit.live.status.bandit_statistics import BanditStatistics
from cobandit.live.status.statistics import ArmStatistics, Communication, PeerStatistics, Statistics

JSON, PLAIN = "application/json", "text/plain"

WITH_BODY = (400, 408, 413, 415, 422)
"""The statuses with which any request with a body can be refused."""

REFUSED = {
    400: "The body is not JSON. The client must act.",
    401: "The token is missing or wrong. The client must act.",
    403: "The token is read-only. The client must use the other token.",
    404: "There is no such arm or bandit, or no such decision of this member. The client must act.",
    408: "The body did not arrive in time. The client must act.",
    409: "The current state of the arms does not allow it. The operator of the fleet must act.",
    413: "The body is too long. The client must act.",
    415: "The body is not sent as application/json in UTF-8. The client must act.",
    422: "The body is JSON of the wrong shape, or a value is not allowed. The client must act.",
    431: "The headers are too long. The client must act.",
    500: "A bug in the sidecar, described in its log. The operator of the sidecar must act.",
    503: "Not now: too many requests are in progress, the disk does not work, or the sidecar is stopping. Try again.",
}


class Operation(NamedTuple):
    """One operation that a client can request."""

    name: str
    """The operation's id, and the name of its method in `api.py`."""
    method: str
    path: str
    summary: str
    taken: type[msgspec.Struct] | None = None
    """The type of the request's body."""
    given: type[msgspec.Struct] | None = None
    """The type of the answer's body; `None` for an answer without one."""
    status: int = 200
    example: Any = None
    """An example request."""
    answer: Any = None
    """The answer to it."""
    refused: tuple[int, ...] = ()
    """Further statuses of refusals, besides those of every operation."""
    media_type: str = JSON
    is_open: bool = False
    """Whether it needs no token."""
    description: str = ""
    also: int | None = None
    """Another possible status of the answer, with the same body."""

    @property
    def statuses(self) -> tuple[int, ...]:
        """Every status of a refusal, in ascending order."""
        usual: tuple[int, ...] = (431, 503) if self.is_open else (401, 431, 500, 503)
        if self.method != "GET":
            usual = (403, *usual)
        return tuple(sorted({*usual, *self.refused, *(WITH_BODY if self.taken is not None else ())}))


ID = "d1.lKV3ZWItMc8ABg3FJqkAAKFBy0HZ0gIBAAAAAD6tGJ9qgG0x"
_ARM = ArmStatistics("red", 412, 140, 0.31, 0.24, 0.38, is_candidate=True, is_frozen=False, is_removed=False)
_NEW_ARM = ArmStatistics("violet", 0, 0, None, None, None, is_candidate=True, is_frozen=False, is_removed=False)
_PEER = PeerStatistics(
    name="web-2",
    is_present=True,
    common_arms=1,
    heard_s=0.8,
    shares_sent=31,
    shares_received=29,
    repetitions=0,
    held=272,
    lacks=3,
)
_STATISTICS = Statistics(
    name="web-1",
    group="homepage",
    at=1_770_000_000.0,
    uptime_s=3600.0,
    incarnation=1_769_996_400_000,
    policy="UCB",
    decisions=141,
    own_observations=140,
    observations=412,
    open_decisions=1,
    arms=(_ARM,),
    control_arm=None,
    peers=(_PEER,),
    communication=Communication(shares=31, acknowledgements=29, bytes_sent=4096, received=60, bytes_received=4000),
    refused={},
    quarantined=(),
    troubles=(),
    synced_batches=120,
)
_FLEET_ARM = {
    "arm": "red",
    "observations": 412,
    "share": 1.0,
    "mean": 0.31,
    "low": 0.24,
    "high": 0.38,
    "frozen_at": 0,
    "offered_at": 1,
}
_BANDIT = BanditStatistics(
    name="homepage",
    arms=("red", "green"),
    segments=2,
    observations=412,
    own_observations=140,
    rewards=(0.0, 200.0),
    window_s=604_800.0,
)
_SELECTED = {"id": ID, "arm": "red", "propensity": 1.0}

OPERATIONS = (
    Operation(
        name="select",
        method="POST",
        path="/v1/select",
        summary="Decide which arm to pull",
        description="Local to the sidecar: no wait for the network. Do not repeat it after a lost answer: that "
        "would be another decision, and the first stays open until it expires.",
        taken=schemas.SelectRequest,
        given=schemas.SelectedArm,
        example={"subject": "visitor-17", "among": ["red", "green"]},
        answer=_SELECTED,
        refused=(404, 409),
    ),
    Operation(
        name="select_many",
        method="POST",
        path="/v1/select-many",
        summary="Decide several times at once",
        description="All decisions are made, or none: if one of them has nothing to choose from, nothing is done. If "
        "the arms change in the meantime, the decisions made so far are withdrawn.",
        taken=schemas.SelectManyRequest,
        given=schemas.SelectedArms,
        example={"requests": [{"subject": "visitor-17"}, {}]},
        answer={"decisions": [_SELECTED, _SELECTED]},
        refused=(404, 409),
    ),
    Operation(
        name="update",
        method="POST",
        path="/v1/update",
        summary="Reward a decision",
        description="It counts once, however often you repeat it, even after a restart of the sidecar. If the decision "
        "is another member's, the reward is passed on, and that member counts it if the id is genuine.",
        taken=schemas.UpdateRequest,
        given=schemas.Counted,
        example={"id": ID, "reward": 1.0, "sync": True},
        answer={"counted": True},
        refused=(404,),
    ),
    Operation(
        name="update_many",
        method="POST",
        path="/v1/update-many",
        summary="Reward several decisions at once",
        description="Each is handled separately: a refused one does not affect the others. A body of the wrong shape "
        "is refused as a whole.",
        taken=schemas.UpdateManyRequest,
        given=schemas.CountedMany,
        example={"updates": [{"id": ID, "reward": 1.0}]},
        answer={"results": [{"id": ID, "counted": True}]},
    ),
    Operation(
        name="report",
        method="POST",
        path="/v1/report",
        summary="Report a value of the guardrail's metric",
        description="Send it before the decision's reward, to the member that decided; 0 if nothing went wrong. It "
        "counts once per decision. An arm that violates the guardrail is frozen at every member.",
        taken=schemas.ReportRequest,
        given=schemas.Reported,
        example={"id": ID, "metric": "errors", "value": 0.0},
        answer={"counted": True},
        refused=(404, 409),
    ),
    Operation(
        name="reward",
        method="POST",
        path="/v1/reward",
        summary="Reward a decision of a fleet, in the range of its bandit",
        description="Like update, for rewards in any range: money, seconds. A reward outside the range is refused, and "
        "the message gives the range.",
        taken=schemas.RewardRequest,
        given=schemas.Counted,
        example={"id": ID, "reward": 12.5},
        answer={"counted": True},
        refused=(404, 409),
    ),
    Operation(
        name="withdraw",
        method="POST",
        path="/v1/withdraw",
        summary="Take back a decision that was never carried out",
        description="Only the member that decided can take it back. A decision that is not open does not change.",
        taken=schemas.WithdrawRequest,
        given=schemas.Withdrawn,
        example={"id": ID},
        answer={"withdrawn": True},
        refused=(404, 409),
    ),
    Operation(
        name="bandits",
        method="GET",
        path="/v1/bandits",
        summary="The bandits of a fleet, as this member sees them",
        given=schemas.Bandits,
        answer=schemas.Bandits((_BANDIT,)),
    ),
    Operation(
        name="declare",
        method="POST",
        path="/v1/bandits",
        summary="Declare a bandit of a fleet, or more arms of one",
        description="Members that make the same declaration learn together. Repeating it is harmless. A different "
        "declaration is refused, and the message says which value differs.",
        taken=schemas.NewBandit,
        given=schemas.Bandits,
        example={"name": "homepage", "arms": ["red", "green"], "window": "7d", "rewards": [0, 200]},
        answer=schemas.Bandits((_BANDIT,)),
        refused=(409,),
    ),
    Operation(
        name="arms",
        method="GET",
        path="/v1/arms",
        summary="The arms, as this member sees them",
        given=schemas.Arms,
        answer=schemas.Arms((_ARM,)),
    ),
    Operation(
        name="add_arm",
        method="POST",
        path="/v1/arms",
        summary="Offer an arm at this member",
        description="201 if it was not offered before, 200 if it was. At the next start, the list in the member's file "
        "applies.",
        taken=schemas.NewArm,
        given=ArmStatistics,
        example={"arm": "violet"},
        answer=_NEW_ARM,
        status=201,
        also=200,
        refused=(409,),
    ),
    Operation(
        name="remove_arm",
        method="DELETE",
        path="/v1/arms/{arm}",
        summary="Stop offering an arm at this member",
        description="What is known of it stays. The last arm cannot be removed. Repeating it is harmless.",
        status=204,
        refused=(404, 409),
    ),
    Operation(
        name="freeze_arm",
        method="PUT",
        path="/v1/arms/{arm}/freeze",
        summary="Freeze an arm: no traffic, at every member",
        description="The last arm that is not frozen cannot be frozen.",
        status=204,
        refused=(404, 409),
    ),
    Operation(
        name="unfreeze_arm",
        method="DELETE",
        path="/v1/arms/{arm}/freeze",
        summary="Let the policy choose an arm again, at every member",
        status=204,
        refused=(404,),
    ),
    Operation(
        name="kill_switch",
        method="GET",
        path="/v1/kill-switch",
        summary="The state of the kill switch",
        given=schemas.KillSwitch,
        answer={"control_arm": None},
    ),
    Operation(
        name="kill",
        method="PUT",
        path="/v1/kill-switch",
        summary="Turn the kill switch on, at every member",
        description="From then on, every member pulls only this arm.",
        taken=schemas.KillSwitchOn,
        given=schemas.KillSwitch,
        example={"control_arm": "red"},
        answer={"control_arm": "red"},
        refused=(404,),
    ),
    Operation(
        name="lift",
        method="DELETE",
        path="/v1/kill-switch",
        summary="Turn the kill switch off, at every member",
        status=204,
    ),
    Operation(
        name="statistics",
        method="GET",
        path="/v1/statistics",
        summary="The state of this member",
        given=Statistics,
        answer=_STATISTICS,
    ),
    Operation(
        name="fleet",
        method="GET",
        path="/v1/fleet",
        summary="The state of every member of the group",
        description="Asks the other members and waits at most two seconds for their answers.",
        given=schemas.FleetView,
        answer={"group": "homepage", "arms": [_FLEET_ARM], "members": [_STATISTICS], "silent": ["web-2"]},
    ),
    Operation(
        name="metrics",
        method="GET",
        path="/metrics",
        summary="The member's metrics, in Prometheus format",
        media_type=PLAIN,
        answer='cobandit_decisions_total{group="homepage",member="web-1"} 141.0\n',
    ),
    Operation(
        name="health",
        method="GET",
        path="/healthz",
        summary="Whether the process answers",
        given=schemas.Health,
        answer={"status": "alive"},
        is_open=True,
    ),
    Operation(
        name="readiness",
        method="GET",
        path="/readyz",
        summary="Whether the member takes decisions and rewards",
        given=schemas.Readiness,
        answer={"status": "ready"},
        is_open=True,
    ),
)

PROBES = frozenset(operation.path for operation in OPERATIONS if operation.is_open)
"""Paths that are always served, however many requests are under way."""

HEALTH = "/healthz"
"""The probe that asks only whether the process lives."""
