"""How a member starts: always from its journal, whether that is empty, was closed cleanly, or was left by a crash.

Unless the last stop was clean, the start is a new incarnation. Earlier observations are kept separately, and peers
return what they know of them. So a disk that lost its last writes, was rolled back or copied may forget observations,
but never counts them twice.
"""

import secrets
from collections.abc import Callable, Sequence

from cobandit.agent import Agent
from cobandit.agent.restoring import relearn
from cobandit.core import Began, Changes, Sharing
from cobandit.core.pens import replayed
from cobandit.core.state import FactState, Snapshot
from cobandit.learning import Build
from cobandit.live.decide.clock import Clock
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.sessions import EPOCH, fresh_session
from cobandit.live.machine.step import Restored
from cobandit.live.machine.versions import LAYOUT, Layout
from cobandit.live.store.journal import Journal
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm, checked_arms

_RUN_BITS = _FIRST_PLACE_BITS = 31
"""A decision's number thus has 63 bits, and a start has room for at least two thousand million decisions."""


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
    is_leaf: bool = False,
    secret: bytes | None = None,
) -> Restored:
    """Start a member from its journal.

    Args:
        journal: The journal.
        name: The member's name.
        group: The member's group.
        arms: The arms that it can serve now. Others in the journal count as removed.
        build: Makes a fresh policy for some arms.
        sharing: The sharing settings.
        clock: The clock.
        snapshot: Returns what another member, or an older disk of this one, knew. Used if the journal is empty.
        layout: The format of the journal's snapshot and records.
        is_leaf: Whether it will be a leaf. If this has changed, a new session begins.
        secret: The key that signs decisions from the first start on; random if there is none.

    Raises:
        LocalError: The journal is another member's, is damaged, or was written under incompatible rules.
    """
    offered = checked_arms(arms) if arms else ()
    stored = journal.read()
    if stored.state is None:
        agent = Agent(name, build(offered) if offered else None, sharing, incarnation=fresh_session(0, clock))
        start = snapshot()
        if start is not None:
            agent = start_from_another(start, agent, build, sharing)
        blank = Restored(
            agent,
            Controls(),
            Outbox(),
            OpenDecisions(),
            0,
            secret or secrets.token_bytes(16),
            _absent(agent, offered),
            is_new=True,
        )
        return _begun(blank, clock)
    state = stored.state
    found: Snapshot = layout.snapshots.decode(state.agent)
    if found.endpoint.agent != name:
        raise LocalError(
            f"{journal.name} belongs to member {found.endpoint.agent!r}, not to {name!r}: give every member its own "
            "state"
        )
    if group != state.group:
        raise LocalError(
            f"{journal.name} belongs to a member of group {state.group!r}, not of {group!r}: what one group learned is "
            "not true of another, so give every member its own state"
        )
    records = [layout.records.decode(record) for batch in stored.batches for record in batch.records]
    later = [arm for record in records if isinstance(record, Began) for arm in record.arms]
    all_arms = tuple(dict.fromkeys((*found.endpoint.arms, *later)))
    if bool(all_arms) != bool(offered):
        raise LocalError(
            f"{journal.name} belongs to a member of {'a group' if all_arms else 'a fleet'}, with "
            f"{'arms' if all_arms else 'bandits with names'}: give every member its own state"
        )
    policy, remark = build(all_arms) if all_arms else None, None
    if not records or found.sharing == repr(sharing):
        agent = Agent.restore(found, records, policy=policy, sharing=sharing)
    else:
        agent = Agent.restore(found, policy=policy, sharing=sharing)
        left_out = relearn(agent, records)
        remark = (
            f"{journal.name} was left by a crash, with sharing={found.sharing}, and goes on with sharing={sharing!r}: "
            f"all own observations are kept, {left_out} of its last {len(records)} records are not: peers return them"
        )
    grown = tuple(dict.fromkeys((*agent.arms, *offered)))
    is_clean = state.is_clean and not stored.batches
    if not (is_clean and grown == agent.arms and is_leaf == agent.presence.is_leaf):
        session = fresh_session(agent.session, clock)
        agent.begin(session, clock.now(), incarnation=None if is_clean else session, arms=grown or None)
    controls, open_decisions = Controls(state.settings), OpenDecisions(state.open_decisions)
    rewards = {(peer, token): reward for peer, token, reward in state.rewards}
    book = state.book
    for batch in stored.batches:
        book = replayed(book, batch.pens, batch.pens_gone) if batch.pens or batch.pens_gone else book
        open_decisions.apply(batch.decided, batch.settled)
        open_decisions.lived = open_decisions.lived if batch.lived is None else batch.lived
        if batch.trusted_since is not None:
            open_decisions.trusted_since = batch.trusted_since
        if batch.settings is not None:
            controls = Controls(batch.settings)
        rewards.update({(peer, token): reward for peer, token, reward in batch.rewards_kept})
        for peer, token in batch.rewards_gone:
            rewards.pop((peer, token), None)
    outbox = Outbox((peer, token, reward) for (peer, token), reward in rewards.items())
    found_again = Restored(
        agent,
        controls,
        outbox,
        open_decisions,
        state.run,
        state.secret,
        _absent(agent, offered),
        is_new=False,
        remark=remark,
        book=book,
    )
    return _begun(found_again, clock)


def fresh_run(last: int, clock: Clock) -> int:
    """Return a number for a start, above the last one: seconds, unless the clock is far off."""
    since_epoch = int(max(0.0, clock.now() - EPOCH))
    return max(last + 1, since_epoch if since_epoch < 1 << _RUN_BITS else 0)


def _begun(restored: Restored, clock: Clock) -> Restored:
    """Begin a start whose decision numbers no other start has used, not even one that the disk has forgotten."""
    run, first_place = fresh_run(restored.run, clock), secrets.randbits(_FIRST_PLACE_BITS)
    restored.open_decisions.begin(run, first_place, clock.now())
    return restored._replace(run=run, first_place=first_place)


def start_from_another(snapshot: Snapshot, agent: Agent, build: Build, sharing: Sharing) -> Agent:
    """Return an agent that knows a snapshot's content, as observations of the members that made them.

    When it meets those members, or others that know more, nothing counts twice. It has not received any of this from
    its peers and acknowledges none of it, so they send it everything again.
    """
    source, fresh = snapshot.endpoint, agent.snapshot().endpoint
    if source.units_per_reward != fresh.units_per_reward:
        raise LocalError(
            f"the snapshot counts {source.units_per_reward} quanta in a reward, this member {fresh.units_per_reward}: "
            "give it the same quantum"
        )
    cells = [told for fact in source.facts for told in fact.told.cells]
    if any(told.agent == fresh.agent and told.incarnation >= fresh.incarnation for told in cells):
        raise LocalError("the snapshot is from the future: set this computer's clock")
    served = [told for told in cells if told.tallies[0].arm in fresh.arms]
    settled = [told for fact in source.facts for told in fact.told.settled]
    known = [Changes(settled=(told,)) for told in settled] + [Changes(cells=(told,)) for told in served]
    facts = tuple(FactState(number, None, changes) for number, changes in enumerate(known, 1))
    state = fresh._replace(facts=facts, number=len(facts))
    return Agent.restore(Snapshot(repr(sharing), state), policy=build(fresh.arms), sharing=sharing)


def _absent(agent: Agent, offered: tuple[Arm, ...]) -> frozenset[Arm]:
    return frozenset(agent.arms) - frozenset(offered)
