"""How a member starts: always from its journal, whether that is empty, was left clean, or by a crash.

A start after anything but a clean stop is a new incarnation: what was observed before is kept apart, and peers return
what they know of it. So a disk that lost its last writes, was rolled back or copied can forget, and never counts twice.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.core import Began, Changes, Sharing
from cobandit.core.state import FactState, Snapshot
from cobandit.policies import Policy
from cobandit.runtime.clock import Clock
from cobandit.runtime.controls import Controls
from cobandit.runtime.errands import Errands
from cobandit.runtime.journal import Journal
from cobandit.runtime.outstanding import Outstanding
from cobandit.runtime.sessions import EPOCH, fresh_session
from cobandit.runtime.state_versions import LAYOUT, Layout
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm, checked_arms

Build = Callable[[Sequence[Arm]], Policy]

_RUN_BITS = _FIRST_PLACE_BITS = 31
"""So that a decision's number has 63 bits, and a start has room for two thousand million decisions at least."""


class Restored(NamedTuple):
    """A member as its journal knows it."""

    agent: Agent
    controls: Controls
    errands: Errands
    outstanding: Outstanding
    run: int
    secret: bytes
    removed: frozenset[Arm]
    is_new: bool
    first_place: int = 0
    """Where the numbers of this start's decisions begin."""


def restore(
    journal: Journal,
    *,
    name: str,
    group: str,
    arms: Sequence[Arm],
    build: Build,
    sharing: Sharing,
    clock: Clock,
    snapshot: Callable[[], Snapshot | None] = lambda: None,
    layout: Layout = LAYOUT,
) -> Restored:
    """Start a member from its journal.

    Args:
        journal: The journal.
        name: The member's name.
        group: The member's group.
        arms: The arms that it can serve now. Others that the journal knows count as removed.
        build: Makes a fresh policy for some arms.
        sharing: How it talks.
        clock: What time it is.
        snapshot: Returns what another member, or an older disk of this one, knew: the start if the journal is empty.
        layout: How the journal's snapshot and records are written.

    Raises:
        LocalError: The journal is another member's, is damaged, or was written under rules that do not fit.
    """
    offered = checked_arms(arms)
    stored = journal.read()
    if stored.state is None:
        agent = Agent(name, build(offered), sharing, incarnation=fresh_session(0, clock))
        start = snapshot()
        if start is not None:
            agent = start_from_another(start, agent, build, sharing)
        blank = Restored(
            agent,
            Controls(),
            Errands(),
            Outstanding(),
            0,
            secrets.token_bytes(16),
            _absent(agent, offered),
            is_new=True,
        )
        return _begun(blank, clock)
    state = stored.state
    found: Snapshot = layout.snapshots.decode(state.agent)
    if found.endpoint.agent != name:
        raise LocalError(
            f"the state belongs to member {found.endpoint.agent!r}, not to {name!r}: give every member its own state"
        )
    if group != state.group:
        raise LocalError(
            f"the state belongs to a member of group {state.group!r}, not of {group!r}: what one group learned is not "
            "true of another, so give every member its own state"
        )
    records = [layout.records.decode(record) for batch in stored.batches for record in batch.records]
    later = [arm for record in records if isinstance(record, Began) for arm in record.arms]
    agent = Agent.restore(
        found, records, policy=build(tuple(dict.fromkeys((*found.endpoint.arms, *later)))), sharing=sharing
    )
    grown = tuple(dict.fromkeys((*agent.arms, *offered)))
    is_clean = state.is_clean and not stored.batches
    if not (is_clean and grown == agent.arms):
        session = fresh_session(agent.session, clock)
        agent.begin(session, clock.now(), incarnation=None if is_clean else session, arms=grown)
    controls, outstanding = Controls(state.settings), Outstanding(state.outstanding)
    rewards = {(peer, token): reward for peer, token, reward in state.rewards}
    for batch in stored.batches:
        outstanding.apply(batch.decided, batch.settled)
        if batch.trusted_since is not None:
            outstanding.trusted_since = batch.trusted_since
        if batch.settings is not None:
            controls = Controls(batch.settings)
        rewards.update({(peer, token): reward for peer, token, reward in batch.rewards_kept})
        for peer, token in batch.rewards_gone:
            rewards.pop((peer, token), None)
    errands = Errands((peer, token, reward) for (peer, token), reward in rewards.items())
    found_again = Restored(
        agent, controls, errands, outstanding, state.run, state.secret, _absent(agent, offered), is_new=False
    )
    return _begun(found_again, clock)


def fresh_run(last: int, clock: Clock) -> int:
    """Return a number for a start, above the last one: seconds, unless the clock is out of its mind."""
    since_epoch = int(max(0.0, clock.now() - EPOCH))
    return max(last + 1, since_epoch if since_epoch < 1 << _RUN_BITS else 0)


def _begun(restored: Restored, clock: Clock) -> Restored:
    """Begin a start whose decisions have numbers that no other start gave out, nor one that the disk has forgotten."""
    run, first_place = fresh_run(restored.run, clock), secrets.randbits(_FIRST_PLACE_BITS)
    restored.outstanding.begin(run, first_place)
    return restored._replace(run=run, first_place=first_place)


def start_from_another(snapshot: Snapshot, agent: Agent, build: Build, sharing: Sharing) -> Agent:
    """Return an agent that knows what a snapshot knows, as observations of those who made them.

    So when it meets them, or anyone who knows more, nothing is counted twice. It has heard none of this from its peers
    and acknowledges none of it, so they tell it everything again.
    """
    source, fresh = snapshot.endpoint, agent.snapshot().endpoint
    if source.units_per_reward != fresh.units_per_reward:
        raise LocalError(
            f"the snapshot counts {source.units_per_reward} quanta in a reward, this member {fresh.units_per_reward}: "
            "give it the same quantum"
        )
    cells = [told for fact in source.facts for told in fact.told.cells]
    if any(told.agent == fresh.agent and told.incarnation >= fresh.incarnation for told in cells):
        raise LocalError("the snapshot is from the future: set this machine's clock")
    served = [told for told in cells if told.tallies[0].arm in fresh.arms]
    facts = tuple(FactState(number, None, Changes(cells=(told,))) for number, told in enumerate(served, 1))
    state = fresh._replace(facts=facts, number=len(facts))
    return Agent.restore(Snapshot(repr(sharing), state), policy=build(fresh.arms), sharing=sharing)


def _absent(agent: Agent, offered: tuple[Arm, ...]) -> frozenset[Arm]:
    return frozenset(agent.arms) - frozenset(offered)
