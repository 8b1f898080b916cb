"""What travels between a client and a sidecar, as types. They decode requests, encode answers and make the OpenAPI
document, so the three cannot differ. A key that is not here is refused.
"""  # noqa: D205

from typing import Annotated, Literal

from msgspec import Meta, Struct

from cobandit.live.decide.decision import LONGEST_TOKEN
from cobandit.live.decide.desk import LONGEST_SUBJECT
from cobandit.live.decide.holdout import LARGEST_HOLDOUT
from cobandit.live.machine.bandits import MAX_SEGMENTS
from cobandit.live.sidecar.problems import Problem
from cobandit.live.status.bandit_statistics import BanditStatistics
from cobandit.live.status.fleet import FleetArm
from cobandit.live.status.guardrail import GuardrailStatistics
from cobandit.live.status.lift import Lift
from cobandit.live.status.statistics import ArmStatistics, Statistics
from cobandit.live.status.verdict import Verdict
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS

MOST_IN_BATCH = 1000
"""Maximum decisions or rewards in one request."""

MOST_SEGMENTS = 10_000
MOST_PLACES = 2**20
"""Maximum segments of a bandit that a client declares, and of segments times arms: some 200 MB."""

ArmName = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="The name of an arm.")]
Subject = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_SUBJECT,
        description="Who it is for. The same subject gets the same arm again, as long as that is on offer.",
    ),
]
Among = Annotated[
    list[ArmName], Meta(min_length=1, max_length=MOST_ARMS, description="Choose one of these, and no other arm.")
]
DecisionId = Annotated[
    str, Meta(pattern=r"^d1\.[A-Za-z0-9_-]+$", max_length=LONGEST_TOKEN, description="The id of a decision.")
]
Reward = Annotated[float, Meta(ge=0.0, le=1.0, description="How good it was, from 0 to 1.")]
AnyReward = Annotated[float, Meta(description="How good it was, in the range of its bandit.")]
BanditName = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="The name of a bandit of a fleet.")]
Segment = Annotated[str, Meta(max_length=LONGEST_NAME, description="A segment of the bandit, which learns for itself.")]
Duration = Annotated[str | float, Meta(description="Seconds, or such as 30min, 12h or 7d.")]
IsCounted = Annotated[
    bool,
    Meta(
        description="Whether this request made it count; false if it was rewarded before, has expired, was passed "
        "on or was refused."
    ),
]
GivenUp = Annotated[
    bool,
    Meta(description="Whether it is too old, or its arm is gone: unless it counted before, it never will."),
]
PassedOn = Annotated[
    bool,
    Meta(
        description="Whether the id is another member's, to which the reward is brought. Only that member can tell "
        "whether the id is genuine and the reward is news: it counts it once, or not at all."
    ),
]
Sync = Annotated[bool, Meta(description="Whether to answer only when the reward is on the disk.")]


class SelectRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a decision."""

    subject: Subject | None = None
    among: Among | None = None
    bandit: BanditName | None = None
    segment: Segment = ""


class NewBandit(Struct, frozen=True, forbid_unknown_fields=True):
    """A bandit of a fleet to declare, with the arguments of `fleet.bandit`."""

    name: BanditName
    arms: Annotated[list[ArmName], Meta(min_length=1, max_length=MOST_ARMS)]
    policy: str = "thompson"
    rewards: tuple[float, float] = (0.0, 1.0)
    quantum: float | None = None
    window: Duration | None = None
    half_life: Duration | None = None
    floors: dict[ArmName, float] | None = None
    ceilings: dict[ArmName, float] | None = None
    default_reward: float | None = None
    max_segments: Annotated[
        int,
        Meta(
            description="At most 10,000, and at most 1,048,576 arms in all of them together: larger values are lowered "
            "to this limit."
        ),
    ] = MAX_SEGMENTS
    holdout: Annotated[float, Meta(ge=0.0, le=LARGEST_HOLDOUT, description="The share of decisions held out.")] = 0.0
    guardrail: Annotated[
        tuple[str, float] | None, Meta(description="A second metric, and below which limit its mean must stay.")
    ] = None


class Bandits(Struct, frozen=True):
    """The bandits of a fleet, as this member sees them."""

    bandits: tuple[BanditStatistics, ...]


class SelectedArm(Struct, frozen=True):
    """A decision: the arm to pull, and the id to reward it with."""

    id: DecisionId
    arm: ArmName
    propensity: Annotated[
        float | None, Meta(description="How likely this arm was; null if the policy draws at random and does not tell.")
    ]


class SelectManyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A request for several decisions at once: all of them are made, or none."""

    requests: Annotated[list[SelectRequest], Meta(min_length=1, max_length=MOST_IN_BATCH)]


class SelectedArms(Struct, frozen=True):
    """Decisions, in the order of the requests."""

    decisions: tuple[SelectedArm, ...]


class UpdateRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The reward of a decision."""

    id: DecisionId
    reward: Reward
    sync: Sync = False


class RewardRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The reward of a decision of a fleet, in the range of its bandit."""

    id: DecisionId
    reward: AnyReward
    sync: Sync = False


class Counted(Struct, frozen=True, omit_defaults=True):
    """What became of a reward."""

    counted: IsCounted
    passed_on: PassedOn = False
    given_up: GivenUp = False


class RewardOfOne(Struct, frozen=True, forbid_unknown_fields=True):
    """The reward of one decision of several."""

    id: DecisionId
    reward: Reward


class UpdateManyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The rewards of several decisions, each handled separately."""

    updates: Annotated[list[RewardOfOne], Meta(min_length=1, max_length=MOST_IN_BATCH)]
    sync: Sync = False


class CountedOne(Struct, frozen=True, omit_defaults=True):
    """What became of one reward of several."""

    id: DecisionId
    counted: IsCounted
    passed_on: PassedOn = False
    given_up: GivenUp = False
    problem: Problem | None = None
    """Why it was refused, if it was."""


class CountedMany(Struct, frozen=True):
    """What became of several rewards, in the order of the request."""

    results: tuple[CountedOne, ...]


class WithdrawRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A decision that was never carried out."""

    id: DecisionId


class Withdrawn(Struct, frozen=True):
    """What became of a withdrawal."""

    withdrawn: Annotated[bool, Meta(description="Whether the decision was still open.")]


class ReportRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A value of the guardrail's metric for a decision."""

    id: DecisionId
    metric: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="The metric of the guardrail.")]
    value: Reward


class Reported(Struct, frozen=True):
    """What became of a report."""

    counted: Annotated[
        bool, Meta(description="Whether it counts: once for a decision, while that waits for its reward.")
    ]


class Arms(Struct, frozen=True):
    """Every arm that the member knows, including removed ones, as it sees them."""

    arms: tuple[ArmStatistics, ...]


class NewArm(Struct, frozen=True, forbid_unknown_fields=True):
    """An arm to offer."""

    arm: ArmName


class KillSwitch(Struct, frozen=True):
    """The kill switch."""

    control_arm: Annotated[ArmName | None, Meta(description="The only arm that is pulled; null if the switch is off.")]


class KillSwitchOn(Struct, frozen=True, forbid_unknown_fields=True):
    """A request to turn the kill switch on."""

    control_arm: ArmName


class FleetView(Struct, frozen=True):
    """Every member of the group that answered within two seconds, and what they know together."""

    group: str
    arms: tuple[FleetArm, ...]
    members: tuple[Statistics, ...]
    silent: tuple[str, ...]
    verdict: Verdict | None = None
    """As the member says that knows most."""
    lift: Lift | None = None
    """The same, of the hold-out."""
    guardrail: GuardrailStatistics | None = None
    """The same, of the second metric."""
    bandits: tuple[BanditStatistics, ...] = ()
    """The bandits with names; own observations are of all who answered."""


class Health(Struct, frozen=True):
    """Says that the process answers."""

    status: Literal["alive"] = "alive"


class Readiness(Struct, frozen=True):
    """Says that the member accepts decisions and rewards."""

    status: Literal["ready"] = "ready"
    remark: str | None = None
    """What does not work, and does not keep it from deciding: no relay answers a leaf."""
