"""How stories say things: messages, what an input did, and how an agent stands."""

from collections.abc import Iterable, Iterator

from cobandit import Agent
from cobandit.core import Changes, Message, Notice, Outcome, Share
from cobandit.values.tally import ArmTally
from lab.swarm.transcript import in_words


def tallies_in_words(entries: Iterable[ArmTally]) -> str:
    """Return for each arm what its rewards add up to, and how many there are."""
    return " ".join(f"{arm}={total}/{count}" for arm, count, total, _ in entries)


def message_in_words(message: Message) -> str:
    """Return a message in words, with what only some readers want to know in brackets."""
    details: list[str] = []
    if isinstance(message, Share) and message.delivery is not None:
        details.append(f"{message.observations} new")
    if not isinstance(message, Notice) and message.delivery is not None:
        details += ["an answer"] * message.delivery.is_answer + ["introduced"] * message.delivery.is_introduced
    changes = message.changes if isinstance(message, Share | Notice) else Changes()
    details += [f"incarnation {told.incarnation}, arms {' '.join(told.arms)}" for told in changes.presences]
    return in_words(message) + (f" [{', '.join(details)}]" if details else "")


def outcome_in_words(outcome: Outcome) -> Iterator[str]:
    """Return what an input did, but for what it made the agent say."""
    if outcome.news:
        yield f"learns {tallies_in_words(outcome.news)}"
    if outcome.returned:
        yield f"gets back {tallies_in_words(outcome.returned)}"
    if outcome.ruled_out:
        yield f"drops {' '.join(outcome.ruled_out)}"
    if outcome.superseded_by is not None:
        yield f"is superseded by session {outcome.superseded_by}"


def total_in_words(agent: Agent) -> str:
    """Return all that an agent knows, and which arms it considers if it does not consider them all."""
    policy = agent.policy
    known = tallies_in_words(policy.tally.entries()) or "nothing"
    gone = "" if policy.candidates == policy.arms else f", considers {' '.join(policy.candidates)}"
    return f"knows {known}, {policy.own_pulls} of its own{gone}"


def log_in_words(agent: Agent) -> Iterator[str]:
    """Return every fact that an agent knows, in the order in which it came to know it."""
    for number, teller, told in agent.snapshot().endpoint.facts:
        source = "" if teller is None else f", told by {teller[0]} in session {teller[1]}"
        yield f"{number}: {in_words(Notice('', '', told)).removeprefix(' to : ')}{source}"


def peer_in_words(agent: Agent, peer: str) -> str:
    """Return what an agent takes a peer to be."""
    view = agent.peers.link(peer)
    return (
        f"is {'here' if view.is_present else 'away'}, session {view.session}, incarnation {view.incarnation}, "
        f"arms {' '.join(view.arms)}, considers {' '.join(sorted(view.candidates))}{', settled' * view.is_settled}"
    )


def link_in_words(agent: Agent, peer: str) -> Iterator[str]:
    """Return how the link to a peer stands: Algorithm 1 first, then the log, then what may have to be said again."""
    view, link = agent.peers.link(peer), agent.endpoint.links[peer]
    yield (
        f"demanded {'yes' if view.demanded else 'no'}, buffer {view.buffered} of {view.threshold}, c {view.c}, "
        f"shares {view.shares_sent} sent {view.shares_received} got"
    )
    retransmit = link.retransmit
    if retransmit is None:
        return
    yield (
        f"log {agent.endpoint.replica.number}, acknowledged {link.acknowledged}, urgent {link.urgent}, "
        f"unacknowledged {view.unacknowledged}; holds {link.held}"
    )
    learned = "" if retransmit.mean < 0 else f", learned {retransmit.mean:g} and {retransmit.deviation:g}"
    yield (
        f"{retransmit.phase.value}{' and owing' * view.owes}, repeated {view.attempts}, "
        f"waits {retransmit.wait:g} until {retransmit.retry_at:g}{learned}"
    )
