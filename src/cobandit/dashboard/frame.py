"""What the page shows at one moment, as values: everything that the browser gets, and nothing that it must work out.

A `Frame` is made from a fleet's statistics (`framing.py`) and sent as JSON. The browser draws it and computes nothing
but positions. Times are seconds since 1970 by the server's clock, unless they end with `_s`.
"""

import msgspec

from cobandit.live.status.verdict import Verdict

FRAME_VERSION = 1

MOST_ARMS = 200
"""So many arms are shown one by one, those with most traffic first."""

MOST_LINES = 7
"""So many arms have a line of their own over time; the others are added up."""

MOST_MEMBERS = 200
"""So many members are listed."""

MOST_IN_MATRIX = 60
"""So many members are in the matrix of who talks to whom."""

MOST_EVENTS = 200
MOST_POINTS = 240
"""So many moments are kept over time. When there are more, every other one goes: history gets coarser, not shorter."""


class ArmShown(msgspec.Struct, frozen=True):
    """One arm, as the group sees it."""

    arm: str
    observations: int
    share: float
    """Of all observations of the members that answered."""
    recent_share: float | None
    """Of the observations of about the last half minute; `None` if there were none."""
    mean: float | None
    low: float | None
    high: float | None
    """As the member sees it that knows most of this arm. `None`: nothing known, or the policy has no interval."""
    offered_at: int
    """How many of the members that answered may still choose it: a candidate there, neither frozen nor removed."""
    frozen_at: int
    """At how many it is frozen."""
    members: int
    """How many of the members that answered have it."""
    state: str
    """`candidate` (a member may choose it), `frozen`, `ruled out` (by all), `removed`, `switched off` (kill switch)."""
    p_best: float | None = None
    """How likely it is the best of the arms on offer, as the member says whose verdict is that of the fleet."""
    true_mean: float | None = None
    """If it is known, as in a demonstration."""


class MemberShown(msgspec.Struct, frozen=True):
    """One member."""

    name: str
    state: str
    """`here`, `silent` (no answer, and no farewell), `left` (it is gone), `superseded` (runs elsewhere too),
    `not asked` (only its peer was looked at)."""
    heard_s: float | None
    """Seconds since any member heard it, or since it answered: how stale what is known of it is."""
    is_seen_from: bool = False
    """Whether this page is served by this member's sidecar."""
    decisions: int | None = None
    """This and what follows as it last said; `None` if it has said nothing yet."""
    own_observations: int | None = None
    observations: int | None = None
    missing: int | None = None
    """Observations of the group that it does not know yet."""
    open_decisions: int | None = None
    shares: int | None = None
    packets: int | None = None
    uptime_s: float | None = None
    refused: int | None = None
    troubles: tuple[str, ...] = ()


class Pairs(msgspec.Struct, frozen=True):
    """Who talks to whom: a row for each member that talks, a column for each that is talked to, both as in `names`.

    `None` where nothing is known: on the diagonal, for members that did not answer, for pairs that never met.
    """

    names: tuple[str, ...]
    shares: tuple[tuple[int | None, ...], ...]
    """Shares sent from the row's member to the column's."""
    heard_s: tuple[tuple[float | None, ...], ...]
    """Seconds since the row's member last heard the column's."""
    lacks: tuple[tuple[int | None, ...], ...]
    """Observations of the row's member that the column's has not acknowledged."""
    left_out: int = 0
    """Members that there is no room for."""


class Messages(msgspec.Struct, frozen=True):
    """What talking on demand saves, counted since each member was started, over the restarts that were seen."""

    shares: int
    """Fresh shares sent."""
    packets: int
    """All packets: shares, repetitions, acknowledgements, notices, control messages."""
    bytes: int
    immediate: int
    """Shares that immediate broadcast would have sent for the same observations."""
    observed: int
    """Observations that were counted in that time."""


class Event(msgspec.Struct, frozen=True):
    """Something that happened."""

    number: int
    """Rises by one; never used twice by one server."""
    at: float
    kind: str
    """`joined`, `left`, `silent`, `back`, `restarted`, `ruled out`, `frozen`, `unfrozen`, `kill switch`, `arms`,
    `refused`, `quarantine`, `trouble`, `settled` (a trouble is over), `superseded`."""
    who: str
    text: str
    """One plain sentence or clause, without the name."""


class Line(msgspec.Struct, frozen=True):
    """One arm over time: how many observations there were between each moment and the one before."""

    arm: str
    """Its name; empty if this is the rest."""
    counts: tuple[int, ...]
    is_rest: bool = False
    """Whether this stands for all arms that have no line of their own."""
    key: int = 0
    """Its letter and colour, from 1: the same in every browser. 0 if this is the rest."""


class Series(msgspec.Struct, frozen=True):
    """How it went. All tuples are as long as `at`; the first count of every line is 0: nothing was watched before."""

    at: tuple[float, ...]
    lines: tuple[Line, ...]
    shares: tuple[int, ...]
    """Shares sent until each moment, as in `Messages`; on a straight line while only one member was looked at."""
    immediate: tuple[int, ...]
    regret: tuple[float, ...] | None = None
    """The group's regret until each moment, if the true means are known."""


class BanditShown(msgspec.Struct, frozen=True):
    """One bandit with a name, in short."""

    name: str
    arms: int
    segments: int
    observations: int
    is_declared: bool
    """Whether the member that serves the page has declared it, so that its segments can be looked at."""


class Frame(msgspec.Struct, frozen=True):
    """All of it."""

    version: int
    group: str
    at: float
    next_s: float
    """The next frame comes within about so many seconds."""
    policy: str
    """The name of the members' policy; several are joined with commas."""
    watching_since: float
    seen_from: str | None
    """The member whose sidecar serves the page; `None` for a demonstration."""
    is_whole: bool
    """Whether the other members were asked; if not, only what one member knows is shown, and the rest follows."""
    control_arm: str | None
    """The arm of the kill switch, if it is on anywhere."""
    decisions: int
    observations: int
    candidates: int
    """How many arms may still be chosen by a member."""
    arms: tuple[ArmShown, ...]
    arms_left_out: int
    members: tuple[MemberShown, ...]
    members_left_out: int
    pairs: Pairs
    messages: Messages
    events: tuple[Event, ...]
    """Newest first."""
    series: Series
    verdict: Verdict | None = None
    """Who leads, how sure that is, and what stopping now would cost: as the member says that knows most."""
    bandits: tuple[BanditShown, ...] = ()
    """Those of a fleet, by name. Their segments come one at a time (`places.py`)."""
    regret: float | None = None
    """The group's regret so far, if the true means are known."""
    has_ended: bool = False
    """Whether nothing more will come: a demonstration that is over."""

    def to_json(self) -> bytes:
        """Return this as JSON, in one line."""
        return msgspec.json.encode(self)
