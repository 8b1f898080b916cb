"""What a share and an acknowledgement do where messages may be lost. Loss tolerance, and nothing else.

There every message names its sender's session and says what the sender has of the receiver's (`Delivery`). So a share
is either fresh and asks for one of this agent's, as in Algorithm 1, or it is a repetition and is answered with what was
lost. The observations of a session that is over count; its requests do not.

`retransmit.py` and `agenda.py` decide when to repeat something. Where nothing is lost, `endpoint.py` needs none of
this.
"""

from typing import TYPE_CHECKING

from cobandit.core import credibility
from cobandit.core.link import Link
from cobandit.core.messages import Acknowledgement, AgentId, Changes, Delivery, Message, Share
from cobandit.core.outcome import Outcome, Received
from cobandit.core.pen_checks import without_pens
from cobandit.core.retransmit import Event, Phase
from cobandit.values.errors import PeerError

if TYPE_CHECKING:
    from cobandit.core.endpoint import Endpoint


def receive_share(endpoint: "Endpoint", share: Share, delivery: Delivery, now: float) -> Outcome:
    """Handle a valid share: fresh, repeated, late or doubled."""
    if later := _superseded_by(endpoint, share.sender, delivery, share.changes):
        return Outcome(superseded_by=later)
    link, speech = endpoint.peers.admit(share.sender, share.changes, delivery), endpoint.speech
    endpoint.agenda.look(now)
    heeded = credibility.is_heeded(link, delivery, share.changes)
    if heeded:
        endpoint.peers.hear(link, delivery, now)
    continued = heeded and credibility.continues(link, delivery, share.changes, endpoint.session)
    counted = share.changes if continued else without_pens(share.changes)
    outcome = endpoint.merge(link, share, counted, delivery.session, now, is_heeded=heeded)
    if not heeded:  # its observations count, its request does not; it may not know of a later session
        is_over = delivery.session < (link.peer.session or 0)
        return outcome._replace(outgoing=((speech.acknowledge(link),) if is_over else ()) + outcome.outgoing)
    is_taken = endpoint.witnesses.is_whole
    is_taken = is_taken and not credibility.is_mistaken(share.changes, endpoint.members, endpoint.replica)
    if is_taken and credibility.continues(link, delivery, share.changes, endpoint.session):
        link.held = max(link.held, share.changes.upto)
    if share.number > link.shares_received and credibility.is_meant(delivery.receipt, endpoint.session):
        answer = _take_fresh(endpoint, link, share, delivery, now)
    else:
        answer = take_repetition(endpoint, link, delivery, now) if delivery.attempt else ()
    return outcome._replace(outgoing=(answer or speech.next_part(link, now)) + outcome.outgoing)


def _take_fresh(endpoint: "Endpoint", link: Link, share: Share, delivery: Delivery, now: float) -> tuple[Message, ...]:
    """Handle a fresh share: it asks for one of this agent's (Algorithm 1, lines 17 to 21)."""
    retransmit = link.retransmit
    assert retransmit is not None
    if delivery.receipt.number >= link.exchange.shares_sent:
        retransmit.answered(now)
    link.shares_received = share.number
    if endpoint.candidates.are_settled(link.peer):
        link.exchange.put_off()  # until one of the two has more arms, and there is something to say
        retransmit.take(Event.ASKED)
        is_missing = _knows_more_eliminations(endpoint, link)
        return (endpoint.speech.repeat(link, now, is_answer=True),) if is_missing else ()
    answer = endpoint.answer(link, now)
    if not answer:
        retransmit.take(Event.ASKED)
    return answer


def take_repetition(endpoint: "Endpoint", link: Link, delivery: Delivery, now: float) -> tuple[Message, ...]:
    """Answer a repetition: with the answer again, if that was lost.

    A repetition that is itself an answer is only acknowledged. Otherwise two agents that share often would go on
    answering old repetitions with new ones, and every doubled message would double what follows from it.
    """
    assert link.retransmit is not None
    is_lacking = delivery.receipt.number < link.exchange.shares_sent
    is_missing = is_lacking and link.retransmit.phase is Phase.WAITING
    if endpoint.candidates.are_settled(link.peer):
        is_missing = _knows_more_eliminations(endpoint, link)
    if is_missing and not delivery.is_answer:
        return (endpoint.speech.repeat(link, now, is_answer=True),)
    return (endpoint.speech.acknowledge(link),)


def receive_acknowledgement(endpoint: "Endpoint", message: Acknowledgement, now: float) -> Outcome:
    """Handle a message that only says what a peer has of this agent's.

    Raises:
        PeerError: Messages are not lost here, or it says something impossible.
    """
    delivery, nothing = message.delivery, Changes()
    if endpoint.sharing.retry is None:
        raise PeerError(f"{message.sender} is loss-tolerant and {endpoint.name} is not: a whole group must agree")
    if later := _superseded_by(endpoint, message.sender, delivery, nothing):
        return Outcome(superseded_by=later)
    link = endpoint.peers.admit(message.sender, nothing, delivery)
    if not credibility.is_heeded(link, delivery, nothing):
        return Outcome()
    assert link.retransmit is not None
    endpoint.agenda.look(now)
    if delivery.receipt.number >= link.exchange.shares_sent:
        link.retransmit.quenched()
    endpoint.peers.hear(link, delivery, now)
    return Outcome((Received(message, now),), endpoint.speech.next_part(link, now))


def _knows_more_eliminations(endpoint: "Endpoint", link: Link) -> bool:
    return endpoint.replica.number_of(endpoint.candidates.key) > link.acknowledged


def _superseded_by(endpoint: "Endpoint", sender: AgentId, delivery: Delivery, changes: Changes) -> int:
    """Return the later session or incarnation of this agent that a message knows, or 0. Strangers are not believed."""
    credibility.check_delivery(sender, delivery, endpoint.name, endpoint.session)
    is_known = sender in endpoint.met or any(told.agent == sender for told in changes.presences)
    if not is_known:
        return 0
    return credibility.latest_life(delivery.receipt, changes, endpoint.replica, endpoint.session)
