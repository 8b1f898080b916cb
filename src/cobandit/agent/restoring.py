"""Rebuilding an agent after a stop or a crash, from a snapshot and from records, which are inputs to replay.

This file checks what must fit a snapshot, and maps each record to its input. It decides nothing: the agent handles a
record as it handled the input.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cobandit.core import (
    Adopted,
    Began,
    Endpoint,
    Flushed,
    Forgot,
    InputRecord,
    Introduced,
    Limited,
    Observed,
    PeerJoined,
    PeerLeft,
    Received,
    Sharing,
    Turned,
    Woke,
)
from cobandit.core.invariants import endpoint_violations
from cobandit.core.snapshots import restored
from cobandit.core.state import EndpointState, Snapshot
from cobandit.policies import Policy
from cobandit.values.errors import LocalError, PeerError

if TYPE_CHECKING:
    from cobandit.agent.agent import Agent


def checked(snapshot: Snapshot, policy: Policy | None, sharing: Sharing | None) -> EndpointState:
    """Return the contents of a snapshot, unless policy or sharing cannot continue from it.

    Raises:
        LocalError: They cannot.
    """
    if not isinstance(snapshot, Snapshot):
        raise LocalError("restore takes a snapshot: turn bytes into one with cobandit.codec.decode_snapshot")
    kept = snapshot.endpoint
    _check_policy(kept, policy)
    was_tolerant = any(link.retransmit is not None for link in kept.links)
    is_tolerant = sharing is not None and sharing.retry is not None
    if kept.links and was_tolerant != is_tolerant:
        raise LocalError(
            f"the snapshot of {kept.agent} was made with sharing={snapshot.sharing}: pass the same to restore"
        )
    return kept


def endpoint_of(kept: EndpointState, sharing: Sharing, *, settles: bool) -> Endpoint:
    """Return the stored endpoint.

    Raises:
        LocalError: What was stored is damaged.
    """
    try:
        endpoint = restored(kept, sharing, settles=settles)
    except (KeyError, ValueError, PeerError) as error:
        reason = f"unknown name {error}" if isinstance(error, KeyError) else str(error)
        raise LocalError(f"the snapshot of {kept.agent} is damaged: {reason}") from error
    if damage := endpoint_violations(endpoint):
        raise LocalError(f"the snapshot of {kept.agent} is damaged: {damage[0]}")
    return endpoint


def replay_all(agent: "Agent", records: Iterable[InputRecord], made_under: str) -> None:
    """Replay to an agent all that happened since its snapshot.

    Args:
        agent: The agent as it was then.
        records: What happened, in order.
        made_under: The sharing of that time, in words.

    Raises:
        LocalError: The records do not fit.
    """
    for record in records:
        if repr(agent.sharing) != made_under:
            raise LocalError(f"records made under {made_under} cannot be replayed under {agent.sharing!r}")
        try:
            replay(agent, record)
        except PeerError as error:  # it was accepted once, so the record is wrong
            raise LocalError(f"a record does not fit the snapshot of {agent.name}: {error}") from error


def relearn(agent: "Agent", records: Iterable[InputRecord]) -> int:
    """Learn from records that were made under another `sharing`, ignoring what they say about sending.

    All own observations are taken, and what peers said up to the first message that does not fit. Then begin a new
    incarnation: the peers return the rest.

    Returns:
        How many records were left out.
    """
    left_out, fits = 0, True
    for record in records:
        if not (fits or isinstance(record, Observed | Began)):
            left_out += 1
            continue
        try:
            replay(agent, record)
        except PeerError:
            left_out, fits = left_out + 1, False
    return left_out


def replay(agent: "Agent", record: InputRecord) -> None:
    """Replay one input to an agent."""
    match record:
        case Observed(tallies, now, settled, elsewhere):
            agent.update_all(tallies, now, settled, elsewhere)
        case Turned(time, now):  # an earlier time is recorded only if it went back
            agent.turn(time, now, is_back=time < agent.calendar.time)
        case Adopted(told, settled, now):
            agent.adopt_told(told, settled, now)
        case Received(message, now):
            agent.receive(message, now)
        case PeerJoined(peer, arms, now):
            agent.peer_joined(peer, arms, now)
        case PeerLeft(peer, now):
            agent.peer_left(peer, now)
        case Forgot(peer, now):
            agent.forget(peer, now)
        case Introduced(now, is_relay, is_leaf):
            agent.join(now, is_relay=is_relay, is_leaf=is_leaf)
        case Limited(most):
            agent.limit_facts(most)
        case Woke(now) | Flushed(now):
            (agent.wake if isinstance(record, Woke) else agent.flush)(now)
        case Began(session, incarnation, arms, now, bandits):
            agent.begin(session, now, incarnation=incarnation, arms=arms or None, bandits=bandits)
        case other:
            raise LocalError(f"{other!r} is not a record: pass the records of each outcome, in order")


def _check_policy(kept: EndpointState, policy: Policy | None) -> None:
    """Refuse a policy that cannot continue from a state."""
    if policy is None:
        if kept.arms:
            raise LocalError(f"the snapshot of {kept.agent} has arms {', '.join(kept.arms)}, and there is no policy")
        return
    if not set(kept.arms) <= set(policy.arms) or policy.quantum.per_reward != kept.units_per_reward:
        raise LocalError(
            f"the snapshot of {kept.agent} has arms {', '.join(kept.arms)} and {kept.units_per_reward} quanta "
            f"in a reward, but the policy has {', '.join(policy.arms)} and {policy.quantum.per_reward}"
        )
    if policy.own_pulls or policy.tally.observations or policy.candidates != policy.arms:
        raise LocalError("restore needs a fresh policy: this one has observations or eliminations already")
