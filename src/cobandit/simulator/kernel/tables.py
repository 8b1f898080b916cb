"""A scenario as a handful of tables: what compiled code reads and writes.

Agents and arms are positions. An agent's own arms have positions of their own, in the agent's own order, because ties
go to the lowest of those. A row of a table is a record, so that what belongs together lies together.

What a share carries is a slice of its sender's history, from the version last shared to the version now. So the
buffer of the paper is two numbers here, a message under way is two numbers, and nothing for a pair of agents has a
size that grows with the number of arms.
"""

from typing import Any, NamedTuple

import numpy as np

Table = Any
"""A NumPy array, most often of records."""

Record = Any
"""A row of a table."""


def records(shape: int | tuple[int, ...], dtype: np.dtype[np.void]) -> Table:
    """Return a table of empty records, whose fields can be read by name with and without a compiler."""
    return np.zeros(shape, dtype).view(np.recarray)


WORLD = np.dtype(
    [
        ("horizon", np.int64),
        ("agents", np.int64),
        ("arms", np.int64),
        ("delay", np.int64),
        ("if_asked", np.uint64),  # all bits, if an own observation can matter to a peer that has asked; or none
        ("if_not_asked", np.uint64),  # the same for a peer that has not
        ("heard_shares", np.uint64),  # whether a share is answered: a bit for each case, the higher one if it was asked
        ("heard_demands", np.uint64),  # whether one is demanded after it, likewise
        ("policy", np.int64),
        ("own_index", np.int64),  # the address of a user's index function
        ("alpha", np.float64),
        ("confidence", np.int64),
        ("horizon_log", np.float64),  # log(1/delta) when the horizon is known
        ("per_candidate", np.bool_),
        ("cap", np.int64),  # of a threshold per candidate, or of one with phases
        ("phased", np.bool_),  # every pair has a phase of its own
        ("answers_advance", np.bool_),
        ("answers_wait", np.bool_),
        ("literal_notices", np.bool_),
        ("settles", np.bool_),
        ("same_order", np.bool_),  # all agents have all arms, in the order of the world
        ("same_arms", np.bool_),  # all agents have the same arms
        ("one_table", np.bool_),  # everybody always knows the same: see `talking.broadcast`
        ("plain", np.bool_),  # nothing special is asked for: see `plain.py`
        ("has_milestones", np.bool_),  # see `slices.py`
        ("stride_bits", np.int64),  # two to this power observations from milestone to milestone
        ("counts_sizes", np.bool_),
        ("agent_names_size", np.int64),  # bytes of all agents' names on the wire
        ("lossy", np.bool_),  # there are faults, or agents that expect them: see `waiting.py`
        ("tolerant", np.bool_),
        ("direct", np.bool_),  # and nothing is lost: see `direct.py`
        ("has_faults", np.bool_),
        ("loss", np.float64),
        ("duplication", np.float64),
        ("jitter", np.int64),
        ("reordering", np.float64),
        ("held_back", np.int64),
        ("first", np.float64),  # of `RetryTimers`, as the next four
        ("least", np.float64),
        ("growth", np.float64),
        ("tick", np.float64),
        ("longest", np.float64),
        ("is_graph", np.bool_),
        ("arm_bits", np.int64),  # of a cell: see `cells.py`
        ("first_hub", np.int64),  # the position of the first who holds rows: see `hubs.py`
        ("homes", np.int64),  # of a leaf
        ("luck_by_arm", np.bool_),  # the luck of a reward belongs to an arm's pull, and not to any pull
        ("pays_more", np.bool_),  # arms pay other rewards than 0 and 1, or their means change: see `payment.py`
        ("graded", np.bool_),  # arms pay other rewards than the lowest and the highest
        ("moving", np.bool_),  # their means change
        ("per_reward", np.int64),  # quanta of the highest reward
        ("square_unit", np.int64),
        ("square_size", np.float64),
        ("low", np.float64),  # the lowest reward
        ("width", np.float64),  # how far the highest is above it
        ("windowed", np.bool_),  # only what was observed lately counts: see `windows.py`
        ("periods", np.int64),  # of the window
        ("period_slots", np.float64),
        ("plugged", np.int64),  # which plug-in; the next six are its parameters: see `plugging.py`
        ("period", np.int64),
        ("factor", np.float64),  # alpha or beta
        ("weight", np.float64),
        ("pull_back", np.bool_),
        ("release", np.bool_),
        ("others_count", np.bool_),
        ("spend", np.float64),  # of a radius (`accuracy.spend_of`)
        # What follows changes during a run.
        ("decisions", np.int64),
        ("shares", np.int64),  # with relays or on a graph, as the next four
        ("written", np.int64),
        ("parcels_first", np.int64),  # what letters under way tell is from here
        ("parcels_end", np.int64),  # to here
        ("parcels_kept", np.int64),  # what letters to those who are away tell ends here
        ("lacking", np.int64),
        ("settled_after", np.int64),  # decisions, where everybody always knows the same, plus one
        ("bytes", np.int64),
        ("bits", np.float64),
        ("agent_rounds", np.int64),
        ("mail_first", np.int64),
        ("mail_end", np.int64),
        ("kept_end", np.int64),
        ("letters_end", np.int64),  # the top of the stack
        ("made", np.int64),  # the place of the letter that was made last
        ("current", np.int64),  # of the one that is being sent or delivered
        ("sequence", np.int64),  # of messages under way
        ("next_wake", np.float64),  # nobody asked to be woken before this; it may be too early
        ("trace_end", np.int64),
        ("heap_size", np.int64),
        ("dropped", np.int64),  # arms that the decision at hand rules out
        ("overflow", np.bool_),  # mail or trace did not fit: the run is void, and is repeated with more room
        ("no_number", np.int64),  # of how many observations a user's index is not a number; the run is void, and over
        ("no_number_of", np.int64),  # which agent's, and which arm's own position
        ("no_number_arm", np.int64),
        ("present", np.int64),  # the number of the period; changes during a run, as does the next
        ("turns_at", np.float64),  # the next one begins
        ("step", np.int64),  # of the course of the means; changes during a run, as do the next two
        ("bad_reward", np.float64),  # what a user's function returned: the run is void, and over
        ("bad_reward_of", np.int64),  # of which arm, plus one
    ],
    align=True,
)

AGENT = np.dtype(
    [
        # What every share touches comes first, so that it lies together.
        ("own_pulls", np.int64),  # changes during a run, as do the next four
        ("observed", np.int64),  # by row of `knowledge`
        ("candidates", np.int64),  # by row of `knowledge`
        ("away", np.bool_),
        ("spoke_at", np.int64),  # the slot in which it last sent something
        ("history", np.int64),  # where its history begins
        ("row", np.int64),  # of `knowledge`; agents that always know the same share a row
        ("arm_set", np.int64),
        ("name_size", np.int64),
        ("phase_key", np.int64),  # what its name adds to the phases of its pairs
        ("arm_count", np.int64),
        ("reward_key", np.uint64),
        ("policy_key", np.uint64),
        ("decision_key", np.uint64),
        ("toggle_key", np.uint64),
        ("start", np.int64),
        ("stop", np.int64),
        ("clock", np.int64),
        ("rate", np.float64),
        ("log_miss", np.float64),
        ("log_stay", np.float64),
        ("phase", np.float64),
        ("slots_per_radian", np.float64),
        ("slots", np.int64),  # where its explicit slots begin, and end
        ("slots_end", np.int64),
        ("drawn", np.int64),  # changes during a run, as do the next two
        ("toggles_drawn", np.int64),
        ("online_until", np.int64),
        ("network_key", np.uint64),
        ("settled_after", np.int64),  # own pulls, where everybody always knows the same
        (
            "notices",
            np.int64,
        ),  # how often it said that it is here, times two; changes during a run, as do the next seven
        ("number", np.int64),  # of its log (`Replica.number`), where messages may be lost, as the next three
        ("eliminated_at", np.int64),  # the number at which an arm was last dropped
        ("own_eliminated_at", np.int64),  # and not only because others did
        ("presence_at", np.int64),  # the number at which it last said that it is here
        ("last_observed", np.float64),
        ("wake_at", np.float64),
        ("next_retry", np.float64),
        ("protocol_key", np.uint64),  # the chance of a plug-in
        ("picks", np.int64),  # how much of it was used; changes during a run
    ],
    align=True,
)

STEP = np.dtype([("demanded", np.bool_), ("shares", np.bool_)])
"""What a table of a protocol decides in one case (`cobandit.core.protocols.rules.Step`)."""

PAIR = np.dtype(
    [
        ("shared_version", np.int32),  # the sender's version when it last shared with the receiver
        ("shares", np.int32),
        ("share_number", np.int32),  # c of Algorithm 1
        ("shared_usable", np.int32),  # how many of the sender's observations the receiver could use at that version
    ],
    align=True,
)
"""What every share touches."""

BOND = np.dtype(
    [
        ("common", np.int32),  # how many arms both have
        ("notices", np.int32),
        ("believed_candidates", np.int32),  # how many candidates the first of the pair thinks that the second has
        ("retries", np.int32),
        ("acknowledgements", np.int32),
        ("sent", np.int64),  # messages of any kind
    ],
    align=True,
)
"""What else there is between two agents."""

LINK = np.dtype(
    [
        # What every share touches comes first, and what is looked at to repeat shares before it.
        ("retry_at", np.float64),
        ("urgent", np.int64),  # up to which number something does not wait until a buffer is full
        ("acknowledged", np.int64),  # up to which number of this agent's log
        ("phase", np.int8),
        ("present", np.bool_),
        ("can_be_timed", np.bool_),
        ("is_heard", np.bool_),  # whether the peer has said what it has
        ("attempts", np.int32),
        ("held", np.int64),  # up to which number of the peer's log
        ("held_version", np.int32),  # how many of the peer's observations are held
        ("seen", np.int32),  # the highest number of the peer's shares
        ("confirmed", np.int32),  # how many of this agent's observations the peer has acknowledged
        ("seen_by_peer", np.int32),  # the highest number of this agent's shares that the peer has seen
        ("shared_at", np.float64),
        ("sent_at", np.float64),
        ("filled", np.float64),  # how much the buffer had to hold for the last share (`Retransmit.size`)
        ("wait", np.float64),
        ("mean_wait", np.float64),
        ("deviation", np.float64),
        ("peer_notice", np.int64),  # the newest notice of the peer's coming or going
    ],
    align=True,
)
"""What an agent keeps for a peer where messages may be lost: `Link` and `Retransmit`."""

UPLINK = np.dtype(
    [
        ("told", np.int64),  # the number of the relay's log when it last told the leaf
        ("shared_version", np.int32),  # how many own pulls the leaf had when it last shared
        ("share_number", np.int32),  # c of Algorithm 1
        ("shares", np.int32),  # up
        ("answers", np.int32),  # down
        ("seen_up", np.int32),  # the highest number of a share that has arrived, up and down
        ("seen_down", np.int32),
        ("notices", np.int32),
        ("demanded", np.bool_),
        ("present", np.bool_),  # whether the relay is a home of the leaf now
    ],
    align=True,
)
"""A leaf and a relay that it knows: what both of them keep."""

EDGE = np.dtype(
    [
        ("told", np.int64),  # up to which number of the sender's log the receiver was told, with a plug-in
        ("queued", np.int32),  # how many entries wait to be told
        ("sender", np.int32),
        ("receiver", np.int32),
        ("back", np.int32),  # the edge the other way
        ("common", np.int32),  # how many arms both have
        ("share_number", np.int32),  # c of Algorithm 1
        ("shares", np.int32),
        ("seen", np.int32),  # the highest number of a share that has arrived
        ("notices", np.int32),
        ("buffered", np.int32),
        ("demanded", np.bool_),
        ("present", np.bool_),
    ],
    align=True,
)
"""From a hub to another one."""

HUB = np.dtype(
    [
        ("edges", np.int64),  # where its edges begin, and end
        ("edges_end", np.int64),
        ("same_arms", np.bool_),  # whether all its neighbours have its arms
        ("number", np.int64),  # of its log (`Replica.number`); changes during a run, as does the next
        ("tokens", np.int64),  # how many tokens it has to return
    ],
    align=True,
)
"""Who holds rows: a relay, or an agent of a graph. With a plug-in, any node."""

CELL = np.dtype(
    [
        ("value", np.int64),  # what the node knows of it: see `ONE_OBSERVATION`
        ("logged", np.int32),  # the number of its last change
        ("teller", np.int32),  # who told it
    ],
    align=True,
)
"""What a node of a plug-in knows of an agent's observations of an arm."""

ENTRY = np.dtype(
    [
        ("value", np.int64),  # see `ONE_OBSERVATION`
        ("cell", np.int32),
        ("bytes", np.int32),  # of the tally on the wire
        ("news", np.int32),  # how many observations were new to who was told it
    ],
    align=True,
)
"""What is told, or waits to be told, of a cell."""

GROUP = np.dtype([("share", np.int64), ("cells", np.int32), ("head", np.int32)], align=True)
"""In which share an agent's cells were last counted, how many are there, and the bytes of their head."""

TOLD = np.dtype(
    [
        ("value", np.int64),  # what it had observed itself when it last told the arm: see `ONE_OBSERVATION`
        ("radius", np.float64),  # of the confidence interval when the arm was last told
        ("due_at", np.int64),  # the number of its dues at which the arm was last due; or how much was buffered then
        ("buffered", np.int64),  # own pulls of the arm that count for the next telling
    ],
    align=True,
)
"""What an agent of a plug-in keeps for an arm."""

OWN_ARM = np.dtype([("arm", np.int64), ("success", np.float64), ("candidate", np.bool_)], align=True)

SEEN = np.dtype(
    [
        ("position", np.int64),  # the agent's own position of the arm, or -1 if it does not have the arm
        ("name_size", np.int64),  # bytes of the arm's name on the wire
        ("pulls", np.int64),
        ("rewards", np.int64),  # in quanta
        ("squares", np.int64),  # of rewards that are not only 0 and 1
    ],
    align=True,
)

ENTROPY = np.dtype([("known", np.int64), ("entropy", np.float64)], align=True)

PAY = np.dtype(
    [
        ("law", np.int64),
        ("spread", np.float64),
        ("first", np.int64),  # where its values begin, and end
        ("end", np.int64),
        ("address", np.int64),  # of a user's function
    ],
    align=True,
)
"""How an arm pays."""

COURSE = np.dtype([("share", np.float64), ("reward", np.float64), ("expected", np.float64)], align=True)
"""The mean of an arm: as a share of the range, as a reward, and what the arm pays on average."""

VALUE = np.dtype([("cumulative", np.float64), ("share", np.float64)], align=True)
"""A reward that an arm may pay."""

SUM = np.dtype([("rewards", np.int64), ("squares", np.int64)], align=True)
"""Quanta, and units of squares, of some observations."""

OWN_CELL = np.dtype(
    [("pulls", np.int64), ("rewards", np.int64), ("squares", np.int64), ("changed_at", np.int64)], align=True
)
"""What an agent has observed of an arm in one period, and its version when it last did."""

MESSAGE = np.dtype(
    [
        ("arrival", np.int64),
        ("since", np.int64),  # a share carries the sender's history from here, or a notice names this arm
        ("version", np.int32),  # to here
        ("number", np.int32),
        ("sender", np.int32),
        ("receiver", np.int32),
        ("kind", np.int8),
        # What follows is used with relays or on a graph: `since` is then where the parcel begins, `version` its length.
        ("pool", np.int8),  # of the parcel
        ("link", np.int32),
        # And what follows where messages may be lost, but for the first one.
        ("count", np.int32),  # how many observations a share carries
        ("attempt", np.int32),
        ("gone", np.int32),  # how many eliminations a share carries
        ("seen", np.int32),  # the receipt
        ("held_version", np.int32),
        ("is_answer", np.bool_),
        ("is_introduced", np.bool_),  # whether the sender has said that it is here
        ("held", np.int64),
        ("claim_from", np.int64),  # what a message claims to tell of its sender's log
        ("claim_upto", np.int64),
        ("notice", np.int64),  # the number of a notice of coming or going, or of the presence that a share carries
        ("sequence", np.int64),
    ],
    align=True,
)

ONE_OBSERVATION = 1 << 32
"""Knowledge of an arm is one integer: observations in the upper half, rewards in the lower. Merging is one addition."""

MOST_DECISIONS = 2**31 - 1
"""More than this many decisions in one run do not fit the halves."""

ARM_BITS = 16
"""Positions of arms fit these: a history has no room for more."""

AGENT_BITS = 20
"""A planned decision is one integer: the slot, and below it the agent."""


class Tables(NamedTuple):
    """All the tables of one run: what compiled functions take as `t`."""

    world: Record
    agents: Table
    pairs: Table
    """By sender and receiver."""
    bonds: Table
    """By agent and peer."""
    rules: Table
    """The protocol's table: by input, whether a share is demanded, and whether the threshold is reached."""
    demanded: Table
    """By sender, a bit for each receiver."""
    others: Table
    """The same, with all bits but the sender's own."""
    knowledge: Table
    """By row and own position: see `ONE_OBSERVATION`."""
    seen: Table
    """By agent and arm of the world."""
    changed: Table
    """By agent and arm: the version at which the agent last observed the arm."""
    entry_sizes: Table
    """The same places: bytes of the arm's cumulative tally on the wire."""
    recent_sizes: Table
    """By agent, a ring of versions: bytes of the tallies of all arms that it observed after one of them."""
    log_counts: Table
    """log2(n + 1) for some n: bits of Definition 1."""
    own: Table
    """By agent and arm, where there are milestones: what the agent has observed itself. See `ONE_OBSERVATION`."""
    milestones: Table
    """What stood in `own` at some versions: see `slices.py`."""
    history: Table
    """Every agent's own observations, in order: the arm times two, plus the reward if that is 0 or 1."""
    usable: Table
    """By agent and arm set: own observations that an agent with that arm set can use."""
    thresholds: Table
    """f(1), f(2), ...: from the last of them on the threshold stays."""
    mail: Table
    """Messages under way, a ring; and messages kept for agents that are away, a list."""
    trace: Table
    own_arms: Table
    """By agent and own position."""
    members: Table
    """By arm set and arm: whether it is in the set."""
    index: Table
    """Room for the indices of one decision."""
    rough_index: Table
    """The same twice, with fewer digits."""
    logs: Table
    """By number, logarithms that were computed; 0 for the others."""
    entropies: Table
    """By row and own position, for KL-UCB: see `divergence.entropy_of`."""
    dropped: Table
    """Room for the arms that one decision rules out."""
    planned: Table
    """Decisions, in order."""
    heap: Table
    """Decisions of agents whose clock depends on what they do, the next one first."""
    moves: Table
    """When who leaves and joins: slot, agent, kind of trace row; in order."""
    links: Table
    """By agent and peer."""
    letters: Table
    """Messages that were made and not sent yet, and the current one: see `lossy.py`."""
    stack: Table
    """Places of the letters that were not sent yet."""
    counted: Table
    """By receiver, sender and arm, where shares may be missing: what the receiver knows of the sender's."""
    believed: Table
    """By agent, peer and arm: whether the agent thinks that the peer still considers the arm."""
    gone: Table
    """By agent: the arms that it no longer considers, in the order in which they went."""
    cuts: Table
    """By partition, sender and receiver: whether messages are lost."""
    cut_from: Table
    cut_until: Table
    observed: Table
    """By arm: the observations of all agents."""
    checkpoints: Table
    pulls_at: Table
    """By checkpoint, agent and arm."""
    counted_at: Table
    """By checkpoint: shares, messages, bytes, agent-rounds and what was lacking (`result.COUNTED_AT`)."""
    uplinks: Table
    """By leaf, and place of a relay in its order."""
    heard: Table
    """By leaf, place of a relay and arm: the total that the relay told last."""
    hubs: Table
    edges: Table
    """By sender, then receiver."""
    rows: Table
    """By node, agent and arm, with a plug-in."""
    cells: Table
    """By hub and cell: what the hub knows of it (`ONE_OBSERVATION`)."""
    queues: Table
    """By edge, what waits to be told: entries in the order of changes."""
    totals: Table
    """By relay and arm: all rows added up."""
    total_at: Table
    """By relay and arm: the number of the log at which the total last changed."""
    parcels: Table
    """What letters tell: by pool, entries. Those under way are a ring, those kept a list."""
    groups: Table
    """By agent."""
    told: Table
    """By agent and arm, with a plug-in."""
    tokens: Table
    """By agent: the edges over which it has to return a token, in order."""
    pay: Table
    """By arm."""
    course: Table
    """By step and arm."""
    starts: Table
    """By step: its first slot."""
    values: Table
    """Rewards of arms that pay some of a list, those of an arm together."""
    units: Table
    """Where rewards are not only 0 and 1, as the next two: rewards of the same places as in `history`, in quanta."""
    sums: Table
    """By row and own position: what `knowledge` then does not have."""
    counted_sums: Table
    """By receiver, sender and arm: what `counted` then does not have."""
    offered: Table
    """By agent and arm, where means change, as the next two: see `moving.py`."""
    gained: Table
    """By agent: what its pulls paid on average, and how far below the best that was."""
    moved_at: Table
    """By checkpoint and agent: what it gained, the most that one arm offered, how far below the best it was."""
    history_period: Table
    """Where there is a window, as the next three: the periods of the same places as in `history`."""
    ring: Table
    """By agent, place of a period and own position: the part of `knowledge` that is of that period."""
    ring_sums: Table
    """The same places: the part of `sums`."""
    own_ring: Table
    """By agent, place of a period and arm: what the agent has observed itself."""

    @property
    def words(self) -> Table:
        """For each table its address and its shape, as compiled code reads them (`passing.py`)."""
        words: list[int] = []
        for table in self:
            words += table.__array_interface__["data"][0], *table.shape
        return np.array(words, np.uint64)
