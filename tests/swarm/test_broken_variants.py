"""Broken variants of the protocol: each leaves out one thing, and the swarm must notice.

A check that never fails proves nothing. Every variant here is a small change that looks harmless; with it the protocol
is broken, and seeds that pass otherwise find it.
"""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from cobandit.agent import Agent
from cobandit.core import (
    Acknowledgement,
    Changes,
    Delivery,
    Endpoint,
    Message,
    Notice,
    Outcome,
    Share,
    credibility,
    uncertain,
)
from cobandit.core import replica as replica_module
from cobandit.core.agenda import Agenda
from cobandit.core.candidates import Candidates
from cobandit.core.exchange import Exchange
from cobandit.core.facts import CellKey, EliminationsKey, Fact, PresenceKey, Teller
from cobandit.core.link import Link
from cobandit.core.members import Members, Peer
from cobandit.core.messages import MAX_NUMBER
from cobandit.core.peers import Peers
from cobandit.core.places import Change
from cobandit.core.replica import News, Replica, Told
from cobandit.core.retransmit import Event, Phase, Retransmit
from cobandit.core.running_totals import RunningTotals
from cobandit.core.speech import Speech
from cobandit.core.totals import Place, Totals
from cobandit.values.errors import CobanditError
from cobandit.values.tally import ArmTally
from lab.swarm import run_seed

Break = Callable[[pytest.MonkeyPatch], None]
VARIANTS: dict[str, Break] = {}
FIRST_SEED: dict[str, int] = {}


def variant(name: str, first_seed: int = 0) -> Callable[[Break], Break]:
    """Give a variant its name, and say which is the first seed that notices."""

    def named(change: Break) -> Break:
        VARIANTS[name], FIRST_SEED[name] = change, first_seed
        return change

    return named


# Merging and the log.


@variant("what comes last counts, not the higher count")
def _(patch: pytest.MonkeyPatch) -> None:
    merge_cell = Replica._merge_cell

    def changed(self: Replica, key: Told, entry: ArmTally, teller: Teller | None) -> tuple[CellKey, ArmTally] | None:
        fact = self._facts.get(key)
        if fact is not None and entry.observations < fact.cell.observations:
            fact.value = entry
            return None
        return merge_cell(self, key, entry, teller)

    patch.setattr(Replica, "_merge_cell", changed)


@variant("what is told is added to what is held")
def _(patch: pytest.MonkeyPatch) -> None:
    merge_cell = Replica._merge_cell

    def changed(self: Replica, key: Told, entry: ArmTally, teller: Teller | None) -> tuple[CellKey, ArmTally] | None:
        fact = self._facts.get(key)
        return merge_cell(self, key, entry if fact is None else entry.plus(fact.cell), teller)

    patch.setattr(Replica, "_merge_cell", changed)


@variant("what comes last says who is here, not session and number", first_seed=73)
def _(patch: pytest.MonkeyPatch) -> None:
    merge = Replica.merge

    def changed(self: Replica, changes: Changes, teller: Teller | None) -> News:
        for presence in changes.presences:
            known = self.presence_of(presence.agent)
            if known is not None:
                self._facts[PresenceKey(presence.agent)].value = known._replace(session=-1)
        return merge(self, changes, teller)

    patch.setattr(Replica, "merge", changed)


@variant("the log is not renumbered by what is received", first_seed=17)
def _(patch: pytest.MonkeyPatch) -> None:
    merge_cell = Replica._merge_cell

    def changed(self: Replica, key: Told, entry: ArmTally, teller: Teller | None) -> tuple[CellKey, ArmTally] | None:
        fact, number, log = self._facts.get(key), self.number, list(self._log)
        before = fact.number if fact is not None else 0
        added = merge_cell(self, key, entry, teller)
        if fact is not None and added is not None:
            self.number, fact.number, self._log = number, before, dict.fromkeys(log)
        return added

    patch.setattr(Replica, "_merge_cell", changed)


@variant("a fact that changes keeps its place in the log")
def _(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Replica, fact: Fact, *, by: int) -> None:
        self.number += by
        fact.number = self.number
        self._log.setdefault(fact, None)

    patch.setattr(Replica, "_changed", changed)


@variant("a share claims more than it tells")
def _(patch: pytest.MonkeyPatch) -> None:
    changes = Replica.changes

    def changed(self: Replica, base: int, wants: Callable[[Fact], bool], *others: Any) -> Changes:
        return changes(self, base, wants, *others)._replace(upto=self.number)

    patch.setattr(replica_module, "MAX_FACTS_PER_MESSAGE", 2)
    patch.setattr(Replica, "changes", changed)


# Who is told what.


def _wants(patch: pytest.MonkeyPatch, also: Callable[[Link, Fact], bool], *, instead: bool = False) -> None:
    """Let a peer want only what it wants and this too, or only this."""
    wants = Link.wants
    patch.setattr(Link, "wants", lambda self, fact: also(self, fact) and (instead or wants(self, fact)))


@variant("earlier incarnations are not returned to their owner")
def _(patch: pytest.MonkeyPatch) -> None:
    _wants(patch, lambda link, fact: fact.key.agent == link.owner.agent)


@variant("the totals of two relays are added", first_seed=58)
def _(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Totals, place: Place) -> ArmTally:
        known = [heard[place].tally[1:] for heard in self._heard.values() if place in heard]
        return ArmTally(place[3], *map(sum, zip((0, 0, 0), *known, strict=True)))

    patch.setattr(Totals, "at", changed)


@variant("a total contains what the leaf observed itself", first_seed=10)
def _(patch: pytest.MonkeyPatch) -> None:
    but = RunningTotals.but
    patch.setattr(RunningTotals, "but", lambda self, _agent, *place: but(self, "nobody", *place))


@variant("of one relay the larger total counts, not the newest", first_seed=140)
def _(patch: pytest.MonkeyPatch) -> None:
    heard = Totals.heard

    def changed(self: Totals, relay: str, session: int, base: int, upto: int, tallies: Any) -> tuple[Change, ...]:
        known = self._heard.get(relay, {})
        larger = [(place, one) for place, one in tallies if place not in known or one[1:] > known[place].tally[1:]]
        return heard(self, relay, session, max(1, base), upto, larger)

    patch.setattr(Totals, "heard", changed)


@variant("an old total counts", first_seed=19)
def _(patch: pytest.MonkeyPatch) -> None:
    heard = Totals.heard

    def changed(self: Totals, relay: str, session: int, base: int, _upto: int, tallies: Any) -> tuple[Change, ...]:
        return heard(self, relay, session, base, MAX_NUMBER + sum(len(one) for one in self._heard.values()), tallies)

    patch.setattr(Totals, "heard", changed)


@variant("a leaf passes rows over and says that it has them", first_seed=140)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(credibility, "is_mistaken", lambda *_: False)


@variant("relays do not tell each other what leaves observed", first_seed=210)
def _(patch: pytest.MonkeyPatch) -> None:
    wants = Link.wants

    def changed(self: Link, fact: Fact) -> bool:
        return wants(self, fact) and not (
            isinstance(fact.key, CellKey) and fact.key.agent not in (self.owner.agent, self.peer.name)
        )

    patch.setattr(Link, "wants", changed)


@variant("a relay passes nothing on", first_seed=132)
def _(patch: pytest.MonkeyPatch) -> None:
    _wants(patch, lambda link, fact: fact.key.agent in (link.owner.agent, link.peer.name))


@variant("earlier incarnations are not told to the others")
def _(patch: pytest.MonkeyPatch) -> None:
    wanted = Replica.wanted

    def is_present(self: Replica, fact: Fact) -> bool:
        key = fact.key
        return not (isinstance(key, CellKey) and key.agent == self.agent and key.incarnation < self.incarnation)

    patch.setattr(
        Replica,
        "wanted",
        lambda self, base, wants, *others: wanted(
            self, base, lambda fact: wants(fact) and is_present(self, fact), *others
        ),
    )


@variant("what a peer has told before it restarted is not told to it")
def _(patch: pytest.MonkeyPatch) -> None:
    _wants(patch, lambda link, fact: fact.teller is None or fact.teller[0] != link.peer.name)


@variant("a peer is told what it has told itself")
def _(patch: pytest.MonkeyPatch) -> None:
    wants = Link.wants
    patch.setattr(Link, "wants", lambda self, fact: wants(self, _retold(fact)))


def _retold(fact: Fact) -> Fact:
    again = Fact(fact.key, fact.value, None)
    again.number = fact.number
    return again


@variant("what a peer does not serve is returned to it", first_seed=8)
def _(patch: pytest.MonkeyPatch) -> None:
    wants = Link.wants

    def changed(self: Link, fact: Fact) -> bool:
        key, peer = fact.key, self.peer
        is_earlier = isinstance(key, CellKey) and key.agent == peer.name and key.incarnation != peer.incarnation
        return wants(self, fact) or (is_earlier and fact.teller != (peer.name, peer.session))

    patch.setattr(Link, "wants", changed)


@variant("eliminations go with no share", first_seed=13)
def _(patch: pytest.MonkeyPatch) -> None:
    _wants(patch, lambda _, fact: not isinstance(fact.key, EliminationsKey))


@variant("the arms in common stay as they were")
def _(patch: pytest.MonkeyPatch) -> None:
    set_arms = Members._set_arms

    def changed(self: Members, peer: Peer, arms: tuple[str, ...]) -> None:
        if hasattr(peer, "common"):
            peer.arms = arms
        else:
            set_arms(self, peer, arms)

    patch.setattr(Members, "_set_arms", changed)


@variant("others are taken to have dropped what this agent has", first_seed=43)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Candidates, "follow_all", lambda _self, *, was_same: ())  # noqa: ARG005


# Sessions and incarnations.


def _begin(patch: pytest.MonkeyPatch, numbers: Callable[[Agent, int, int | None], tuple[int, int | None]]) -> None:
    """Let agents begin with another session and incarnation than their driver says."""
    begin = Agent.begin

    def changed(self: Agent, session: int, now: float, *, incarnation: int | None = None, **options: Any) -> Outcome:
        session, incarnation = numbers(self, session, incarnation)
        return begin(self, session, now, incarnation=incarnation, **options)

    patch.setattr(Agent, "begin", changed)


@variant("a crash does not begin a new incarnation", first_seed=2)
def _(patch: pytest.MonkeyPatch) -> None:
    _begin(patch, lambda _agent, session, _incarnation: (session, None))


@variant("an incarnation is used twice", first_seed=26)
def _(patch: pytest.MonkeyPatch) -> None:
    """It counts on from what the disk remembers, which may have been rolled back."""
    _begin(patch, lambda agent, session, new: (session, None if new is None else agent.incarnation + 1))


@variant("a session is used twice")
def _(patch: pytest.MonkeyPatch) -> None:
    """It counts on from what the disk remembers, which may have been rolled back."""
    _begin(patch, lambda agent, session, new: (agent.session + 1, None if new is None else session))


@variant("an arm is added without a new session", first_seed=5)
def _(patch: pytest.MonkeyPatch) -> None:
    begin = Endpoint.begin

    def changed(self: Endpoint, session: int, incarnation: int, arms: Any, now: float, bandits: Any = None) -> Outcome:
        before, notices, is_new = self.members.session, self.members.notices, incarnation != self.replica.incarnation
        numbers = {name: (link.acknowledged, link.held) for name, link in self.links.items()}
        outcome = begin(self, session, incarnation, arms, now, bandits)
        if not is_new:
            self.members.session, self.members.notices = before, notices + 1
            self.speech.put_presence(self.links.values())
            for name, link in self.links.items():
                link.acknowledged, link.held = numbers[name]
        return outcome

    patch.setattr(Endpoint, "begin", changed)


@variant("what is held outlives an own new session", first_seed=34)
def _(patch: pytest.MonkeyPatch) -> None:
    begin = Endpoint.begin

    def changed(self: Endpoint, *arguments: Any) -> Outcome:
        held = {name: link.held for name, link in self.links.items()}
        outcome = begin(self, *arguments)
        for name, link in self.links.items():
            link.held = held[name]
        return outcome

    patch.setattr(Endpoint, "begin", changed)


@variant("what is acknowledged outlives a restart of the peer")
def _(patch: pytest.MonkeyPatch) -> None:
    hear = Peers.hear

    def changed(self: Peers, link: Link, delivery: Delivery, now: float) -> None:
        before = link.acknowledged
        hear(self, link, delivery, now)
        link.acknowledged = max(before, link.acknowledged)

    begin = Link.begin

    def kept(self: Link) -> None:
        before = self.acknowledged
        begin(self)
        self.acknowledged = before

    patch.setattr(Peers, "hear", changed)
    patch.setattr(Link, "begin", kept)


@variant("share numbers are reset when the peer restarts")
def _(patch: pytest.MonkeyPatch) -> None:
    begin_session_of = Peers.begin_session_of

    def changed(self: Peers, link: Link, session: int) -> None:
        begin_session_of(self, link, session)
        link.exchange.shares_sent = link.shares_received = 0

    patch.setattr(Peers, "begin_session_of", changed)


@variant("a receipt counts for every session of its receiver", first_seed=2)
def _(patch: pytest.MonkeyPatch) -> None:
    hear = Peers.hear

    def changed(self: Peers, link: Link, delivery: Delivery, now: float) -> None:
        receipt = delivery.receipt._replace(session=self.members.session)
        hear(self, link, delivery._replace(receipt=receipt), now)

    patch.setattr(Peers, "hear", changed)


def _heeds(patch: pytest.MonkeyPatch, instead: Callable[[Link, Delivery], bool]) -> None:
    heeds = credibility.is_heeded
    patch.setattr(
        credibility,
        "is_heeded",
        lambda link, delivery, *rest: heeds(link, delivery, *rest) or instead(link, delivery),
    )


@variant("an acknowledgement of an old session is heeded", first_seed=88)
def _(patch: pytest.MonkeyPatch) -> None:
    receive = uncertain.receive_acknowledgement

    def changed(self: Endpoint, message: Acknowledgement, now: float) -> Outcome:
        link = self.links.get(message.sender)
        if link is not None and link.peer.session is not None and message.delivery.session < link.peer.session:
            delivery = message.delivery._replace(session=link.peer.session)
            return receive(self, message._replace(delivery=delivery), now)
        return receive(self, message, now)

    patch.setattr(uncertain, "receive_acknowledgement", changed)


@variant("a late word of a former session is heeded", first_seed=54)
def _(patch: pytest.MonkeyPatch) -> None:
    _heeds(patch, lambda link, delivery: link.peer.session is not None and delivery.session < link.peer.session)


@variant("a session is heeded before it has said what it serves")
def _(patch: pytest.MonkeyPatch) -> None:
    _heeds(patch, lambda link, delivery: link.peer.session is None or delivery.session >= link.peer.session)


# What is held.


@variant("what is held moves on, whatever it builds on", first_seed=4)
def _(patch: pytest.MonkeyPatch) -> None:
    receive = Endpoint.receive

    def changed(self: Endpoint, message: Message, now: float) -> Outcome:
        if not isinstance(message, Acknowledgement):
            message = message._replace(changes=message.changes._replace(base=0))
        return receive(self, message, now)

    patch.setattr(Endpoint, "receive", changed)


@variant("what is held moves on with a share for another session", first_seed=5)
def _(patch: pytest.MonkeyPatch) -> None:
    receive_share = Endpoint._receive_share

    def changed(self: Endpoint, share: Share, now: float) -> Outcome:
        outcome = receive_share(self, share, now)
        link = self.links.get(share.sender)
        is_told = outcome.records and link is not None and share.delivery is not None
        if is_told and share.delivery.session == link.peer.session and share.changes.base <= link.held:  # type: ignore[union-attr]
            link.held = max(link.held, share.changes.upto)  # type: ignore[union-attr]
        return outcome

    patch.setattr(Endpoint, "_receive_share", changed)


@variant("what is held is not acknowledged")
def _(patch: pytest.MonkeyPatch) -> None:
    delivery = Speech._delivery

    def changed(self: Speech, link: Link, attempt: int = 0, *, is_answer: bool = False) -> Delivery:
        told = delivery(self, link, attempt, is_answer=is_answer)
        return told._replace(receipt=told.receipt._replace(held=0))

    patch.setattr(Speech, "_delivery", changed)


# Tokens and repetitions.


@variant("a repetition asks again", first_seed=1)
def _(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Endpoint, link: Link, _delivery: Delivery, now: float) -> tuple[Message, ...]:
        observations = link.exchange.share_received(len(self.candidates.own))
        return (self.speech.share(link, observations, now),) if observations else (self.speech.acknowledge(link),)

    patch.setattr(uncertain, "take_repetition", changed)


@variant("a repetition has a new number")
def _(patch: pytest.MonkeyPatch) -> None:
    repeat = Exchange.repeat

    def changed(self: Exchange, candidate_count: int) -> None:
        repeat(self, candidate_count)
        self.shares_sent += 1

    patch.setattr(Exchange, "repeat", changed)


@variant("any word of the peer stops the repetition", first_seed=2)
def _(patch: pytest.MonkeyPatch) -> None:
    hear = Peers.hear

    def changed(self: Peers, link: Link, delivery: Delivery, now: float) -> None:
        hear(self, link, delivery, now)
        assert link.retransmit is not None
        link.retransmit.take(Event.SEEN)

    patch.setattr(Peers, "hear", changed)


@variant("repetitions are not acknowledged")
def _(patch: pytest.MonkeyPatch) -> None:
    receive_share = Endpoint._receive_share

    def changed(self: Endpoint, share: Share, now: float) -> Outcome:
        outcome = receive_share(self, share, now)
        rest = tuple(message for message in outcome.outgoing if not isinstance(message, Acknowledgement))
        return outcome._replace(outgoing=rest)

    patch.setattr(Endpoint, "_receive_share", changed)


@variant("a lost answer is acknowledged and not repeated", first_seed=2)
def _(patch: pytest.MonkeyPatch) -> None:
    def changed(self: Endpoint, link: Link, delivery: Delivery, _now: float) -> tuple[Message, ...]:
        assert link.retransmit is not None
        if link.retransmit.phase is Phase.WAITING and delivery.receipt.number < link.exchange.shares_sent:
            link.retransmit.phase = Phase.TRUSTING
        return (self.speech.acknowledge(link),)

    patch.setattr(uncertain, "take_repetition", changed)


@variant("answers are answered", first_seed=3)
def _(patch: pytest.MonkeyPatch) -> None:
    take_repetition = uncertain.take_repetition
    patch.setattr(
        uncertain,
        "take_repetition",
        lambda self, link, delivery, now: take_repetition(self, link, delivery._replace(is_answer=False), now),
    )


@variant("a settled pair forgets who has asked")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exchange, "put_off", lambda _self: None)


@variant("waits do not grow")
def _(patch: pytest.MonkeyPatch) -> None:
    repeated = Retransmit.repeated

    def changed(self: Retransmit, now: float) -> None:
        wait = self.wait
        repeated(self, now)
        self.wait, self.retry_at = wait, now + wait

    patch.setattr(Retransmit, "repeated", changed)


# Debts and timers.


@variant("nothing is repeated")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Agenda, "owes", lambda _self, _link: False)


@variant("what is urgent is not repeated", first_seed=1)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Agenda, "_urgency", lambda _self, _fact: 0)
    put_presence = Speech.put_presence

    def changed(self: Speech, links: Collection[Link]) -> int:
        number = put_presence(self, links)
        for link in links:
            link.urgent = 0
        return number

    patch.setattr(Speech, "put_presence", changed)


@variant("eliminations are said only once", first_seed=663)
def _(patch: pytest.MonkeyPatch) -> None:
    eliminate = Endpoint.eliminate

    def changed(self: Endpoint, arm: str, now: float) -> Outcome:
        urgent = {name: link.urgent for name, link in self.links.items()}
        outcome = eliminate(self, arm, now)
        self.agenda.own_eliminated_at = 0
        for name, link in self.links.items():
            link.urgent = urgent[name]
        return outcome

    patch.setattr(Endpoint, "eliminate", changed)


@variant("nothing is flushed by the tick", first_seed=1)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Agenda, "has_unsaid", lambda _self, _link: False)


@variant("a notice cancels the timer", first_seed=302)
def _(patch: pytest.MonkeyPatch) -> None:
    receive = Agent.receive

    def changed(self: Agent, message: Message, now: float | None = None) -> Outcome:
        outcome = receive(self, message, now)
        return outcome._replace(wake_at=None) if isinstance(message, Notice) else outcome

    patch.setattr(Agent, "receive", changed)


TRIED = 10
"""How many seeds are tried, from the first that noticed once; if none does, all up to the last."""

LAST_SEED = 400


@pytest.mark.parametrize("name", VARIANTS)
def test_the_swarm_notices_that(name: str) -> None:
    first = FIRST_SEED[name]
    seeds = (*range(first, first + TRIED), *range(first), *range(first + TRIED, LAST_SEED))
    with pytest.MonkeyPatch.context() as patch:
        VARIANTS[name](patch)
        assert any(_is_caught(seed) for seed in seeds), f"nobody noticed that {name}"


def _is_caught(seed: int) -> bool:
    try:
        return bool(run_seed(seed).violations)
    except (CobanditError, AssertionError):
        return True
