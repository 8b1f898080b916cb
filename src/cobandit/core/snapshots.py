"""The state of an endpoint as plain values: for drivers, which use nothing else of it, and for storage."""

from collections.abc import Iterable
from typing import NamedTuple

from cobandit.core.credibility import check_changes
from cobandit.core.endpoint import Endpoint
from cobandit.core.exchange import Sharing
from cobandit.core.facts import TotalKey, told
from cobandit.core.link import Link
from cobandit.core.messages import AgentId
from cobandit.core.places import check_bandits
from cobandit.core.replica import MAX_FACTS_PER_MESSAGE, Replica
from cobandit.core.retransmit import Phase
from cobandit.core.state import EndpointState, FactState, LinkState
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class LinkView(NamedTuple):
    """The state of a link, for drivers: they do not use the link itself."""

    peer: AgentId
    arms: tuple[Arm, ...]
    common: tuple[Arm, ...]
    candidates: frozenset[Arm]
    """The arms that the peer still considers, as far as it has said (C_j' of Algorithm 5)."""
    is_present: bool
    session: int | None
    incarnation: int
    last_heard: float | None
    demanded: bool
    buffered: int
    c: int
    threshold: int
    """f(c): how much must be buffered before the next share."""
    shares_sent: int
    shares_received: int
    is_settled: bool
    """Whether the pair has nothing left to learn."""
    held: int
    """How many observations of the peer's present incarnation this agent holds."""
    unacknowledged: int
    """How many observations of this incarnation the peer has not acknowledged."""
    owes: bool
    """Whether the peer must acknowledge something."""
    phase: Phase | None
    attempts: int
    is_known: bool
    """Whether the peer has heard of this agent's session."""


def view(endpoint: Endpoint, peer: AgentId) -> LinkView:
    """Return the state of the link to a peer.

    Raises:
        StrangerError: No agent of that name has joined.
    """
    known = endpoint.members.get(peer)
    link, candidates, replica = endpoint.met[peer], endpoint.candidates, endpoint.replica
    exchange, retransmit = link.exchange, link.retransmit
    return LinkView(
        peer=known.name,
        arms=known.arms,
        common=known.common,
        candidates=candidates.of(known),
        is_present=known.is_present,
        session=known.session,
        incarnation=known.incarnation,
        last_heard=known.last_heard,
        demanded=exchange.demanded,
        buffered=exchange.buffered,
        c=exchange.c,
        threshold=exchange.threshold.at(exchange.c, candidates.count),
        shares_sent=exchange.shares_sent,
        shares_received=link.shares_received,
        is_settled=candidates.are_settled(known),
        held=replica.observations_of(known.name, known.incarnation),
        unacknowledged=0 if retransmit is None else replica.observations - retransmit.confirmed,
        owes=endpoint.agenda.owes(link),
        phase=None if retransmit is None else retransmit.phase,
        attempts=0 if retransmit is None else retransmit.attempts,
        is_known=retransmit is not None and retransmit.is_known,
    )


def state(endpoint: Endpoint) -> EndpointState:
    """Return everything that an endpoint knows, as plain frozen values."""
    replica, agenda = endpoint.replica, endpoint.agenda
    return EndpointState(
        agent=endpoint.name,
        incarnation=replica.incarnation,
        session=endpoint.session,
        arms=endpoint.arms,
        units_per_reward=replica.units_per_reward,
        notices=endpoint.members.notices,
        own_eliminated_at=agenda.own_eliminated_at,
        number=replica.number,
        facts=facts_state(replica),
        links=tuple(link_state(link) for links in (endpoint.forgotten, endpoint.links) for link in links.values()),
        last_observed=agenda.last_observed,
        latest=agenda.latest,
        wake_at=agenda.wake_at,
        claims=endpoint.witnesses.claims,
        totals=endpoint.totals.state(),
        lives=tuple(sorted(replica.lives)),
        bandits=tuple(endpoint.members.bandits.values()),
        retired=tuple(
            bandit for name, bandit in replica.bandits.items() if name and name not in endpoint.members.bandits
        ),
        time=replica.calendar.time,
        dropped=replica.dropped,
        max_facts=None if replica.max_facts == MAX_FACTS_PER_MESSAGE else replica.max_facts,
    )


def restored(state: EndpointState, sharing: Sharing, *, settles: bool = False) -> Endpoint:
    """Rebuild an endpoint from what `state` returned.

    Raises:
        LocalError: The state is damaged, or was made with another `loss_tolerant`.
        PeerError: One of its facts cannot be true.
    """
    endpoint = Endpoint(
        state.agent,
        state.arms,
        sharing,
        units_per_reward=state.units_per_reward,
        incarnation=state.incarnation,
        settles=settles,
    )
    candidates, agenda = endpoint.candidates, endpoint.agenda
    endpoint.members.session, endpoint.members.notices = state.session, state.notices
    if not (state.arms or state.bandits or state.retired) and any(fact.told.cells for fact in state.facts):
        raise LocalError("the arm set is empty, and there are no other bandits")
    check_bandits(state.bandits)
    for bandit in state.retired:  # there may be more than can be served at a time
        check_bandits((bandit,))
    endpoint.members.serve(state.bandits)
    endpoint.replica.calendar.time = state.time
    endpoint.replica.serve((*state.bandits, *state.retired))
    for fact in state.facts:
        check_changes(fact.told, state.agent, endpoint.replica)
    restore_facts(endpoint.replica, state.number, state.facts)
    endpoint.replica.lives.update(state.lives)
    endpoint.replica.dropped = state.dropped
    endpoint.replica.max_facts = state.max_facts or MAX_FACTS_PER_MESSAGE
    endpoint.replica.observations += state.dropped
    endpoint.witnesses.restore(state.claims)
    said = endpoint.replica.presence_of(state.agent)
    if said is not None:
        endpoint.peers.take_role(is_relay=said.is_relay, is_leaf=said.is_leaf)
    endpoint.totals.restore(state.totals)
    if candidates.own and not set(candidates.eliminated) < candidates.own:
        raise LocalError("the eliminated arms are not some of the arms")
    candidates.own.difference_update(candidates.eliminated)
    for saved in state.links:
        if saved.peer in endpoint.met:
            raise LocalError(f"{saved.peer} is listed twice")
        link = endpoint.peers.add_link(saved.peer, saved.arms, saved.bandits)
        if (link.retransmit is None) != (saved.retransmit is None):
            raise LocalError("it was made with another loss_tolerant, which changes what is kept for every peer")
        if saved.forgotten_at is not None:
            endpoint.forget(saved.peer, 0.0)
        restore_link(link, saved)
    agenda.own_eliminated_at = state.own_eliminated_at
    agenda.last_observed, agenda.latest = state.last_observed, state.latest
    agenda.wake_at = state.wake_at  # joining may have set a timer
    return endpoint


def facts_state(replica: Replica) -> tuple[FactState, ...]:
    """Return all facts as plain values, in the order of their last change."""
    return tuple(
        FactState(fact.number, fact.teller, told([fact]))
        for fact in replica.facts()
        if not isinstance(fact.key, TotalKey)
    )


def restore_facts(replica: Replica, number: int, facts: Iterable[FactState]) -> None:
    """Restore what `facts_state` returned; `number` is the end of the log.

    Raises:
        LocalError: A fact is there twice, or out of order.
    """
    for place, state in enumerate(facts):
        last = replica.number
        replica.merge(state.told, state.teller)
        if len(replica.facts()) != place + 1 or not last < state.number <= number:
            raise LocalError("a fact is there twice, or out of order")
        replica.renumber(state.number)
    replica.number = number


def link_state(link: Link) -> LinkState:
    """Return everything that is kept for one peer, as plain frozen values."""
    peer = link.peer
    return LinkState(
        peer=peer.name,
        arms=peer.arms,
        is_present=peer.is_present,
        session=peer.session,
        incarnation=peer.incarnation,
        last_heard=peer.last_heard,
        exchange=link.exchange.state(),
        shares_received=link.shares_received,
        acknowledged=link.acknowledged,
        held=link.held,
        urgent=link.urgent,
        is_gone=link.is_gone,
        is_heard=link.is_heard,
        is_unconfirmed=link.is_unconfirmed,
        retransmit=None if link.retransmit is None else link.retransmit.state(),
        forgotten_at=link.forgotten_at,
        bandits=peer.bandits,
    )


def restore_link(link: Link, state: LinkState) -> None:
    """Restore what `link_state` returned."""
    for name in ("is_present", "session", "incarnation", "last_heard"):
        setattr(link.peer, name, getattr(state, name))
    for name in ("shares_received", "acknowledged", "held", "urgent", "is_gone", "is_heard"):
        setattr(link, name, getattr(state, name))
    link.is_unconfirmed, link.forgotten_at = state.is_unconfirmed, state.forgotten_at
    link.exchange.restore(state.exchange)
    if link.retransmit is not None and state.retransmit is not None:
        link.retransmit.restore(state.retransmit)
