"""One agent's side of the protocol where messages may be lost, doubled, late or out of order, and agents restart.

Fresh shares are the paper's, sent when the paper sends them (`endpoint.py`). This file adds what a message must carry
so that a loss does no lasting harm, and says again what was not acknowledged. When to do so is `delivery.py`; who is
here, with which arms, is `membership.py`.

What an agent owes its peers, all of it acknowledged by receipts and repeated until it is:

* its last share, because it is also the request for the peer's (a token, in the language of docs/loss-tolerance.md);
* which arms it no longer considers;
* what its own former boots observed, and what it knows better than the peer of the *peer's* former boots;
* that it is here, once it said so.

What it observed needs no repetition of its own as long as it goes on: the next share carries everything since the
last receipt. Only when it has made no observation for a long time does `wake` send what is left.
"""

import math
from collections.abc import Sequence

from cobandit.core.delivery import Effect, Event, Phase
from cobandit.core.endpoint import Link, TolerantLink
from cobandit.core.exchange import Sharing
from cobandit.core.membership import TolerantMembership
from cobandit.core.messages import (
    Acknowledgement,
    AgentId,
    Handling,
    Message,
    Receipt,
    Record,
    Share,
)
from cobandit.core.outcome import Flushed, Outcome, PeerJoined, Received, Woke
from cobandit.core.roster import Peer
from cobandit.core.suspicion import check_numbers, check_receipt, check_share
from cobandit.values.checks import check_time
from cobandit.values.errors import PeerError
from cobandit.values.tally import Arm, ArmTally, checked_arms


class TolerantEndpoint(TolerantMembership):
    """The protocol state of one agent that expects messages to be lost."""

    def __init__(
        self,
        agent: AgentId,
        arms: Sequence[Arm],
        sharing: Sharing,
        *,
        units_per_reward: int,
        boot: int = 0,
        settles: bool = False,
    ) -> None:
        super().__init__(agent, arms, sharing, units_per_reward=units_per_reward, boot=boot, settles=settles)
        self._next_retry = -math.inf
        """No wait for a peer is over before this. It may be too early, never too late."""
        self._latest = -math.inf
        """The latest time that any input has had."""

    # Inputs of this agent.

    def observe(self, arm: Arm, units: int, now: float) -> Outcome:
        """Take one own observation; then repeat what was not acknowledged in time."""
        self._look_at_clock(now)
        return self._after(super().observe(arm, units, now), now)

    def observe_all(self, tallies: Sequence[ArmTally], now: float) -> Outcome:
        """Take several own observations at once; then repeat what was not acknowledged in time."""
        self._look_at_clock(now)
        return self._after(super().observe_all(tallies, now), now)

    def _after(self, outcome: Outcome, now: float) -> Outcome:
        """Take it that something was observed."""
        self.last_observed = now
        self.wake_at = now + self._patience.tick
        repeated = self._repeat_what_is_due(now) if now >= self._next_retry else ()
        return outcome._replace(outgoing=outcome.outgoing + repeated, wake_at=self.wake_at)

    def eliminate(self, arm: Arm, now: float) -> Outcome:
        """Stop considering an arm, tell the others, and expect them to acknowledge it."""
        outcome = super().eliminate(arm, now)
        self._expect_from_all(now)
        return outcome._replace(wake_at=self.wake_at)

    def join(self, now: float) -> Outcome:
        """Say to every known peer that this agent is here, and say so again until each is heard of."""
        self.notices += 2
        if self.arms_since is None:
            self.arms_since = self.ledger.origin.boot
        outcome = super().join(now)
        for link in self.links.values():
            link.delivery.is_unheard = True
        self._expect_from_all(now)
        return outcome._replace(wake_at=self.wake_at)

    def wake(self, now: float) -> Outcome:
        """Send what is not acknowledged, if this agent has not observed anything for long."""
        self._look_at_clock(now)
        outgoing: list[Message] = []
        self.wake_at = None
        for link in self.links.values():
            if not (self.owes(link) or self._has_unsaid(link)):
                continue
            if now >= self._flush_at(link) or now < link.delivery.sent_at:
                outgoing += self._repeat(link, now)
            self._wake_by(self._flush_at(link))
        return Outcome((Woke(now),), tuple(outgoing), wake_at=self.wake_at)

    def flush(self, now: float) -> Outcome:
        """Send to everybody who is here what it has not acknowledged, without waiting until a buffer is full."""
        self._look_at_clock(now)
        outgoing: list[Message] = []
        for link in self.links.values():
            if self._has_unsaid(link):
                outgoing += self._repeat(link, now)
        return Outcome((Flushed(now),), tuple(outgoing), wake_at=self.wake_at)

    def peer_left(self, peer: AgentId, now: float) -> Outcome:
        """Take it from the driver that a peer is gone: nobody needs to be told that this agent is here.

        A farewell of the peer itself does not say as much: it may be back already, and its notice under way or lost.
        """
        outcome = super().peer_left(peer, now)
        self.links[peer].delivery.is_unheard = False
        return outcome._replace(wake_at=self.wake_at)

    # What is owed.

    def owes(self, link: TolerantLink) -> bool:
        """Return whether the peer must acknowledge something."""
        return (link.peer.present or link.delivery.is_unheard) and (
            (link.delivery.phase is Phase.WAITING and not self.settled(link)) or self._owes_notice(link)
        )

    def _owes_notice(self, link: TolerantLink) -> bool:
        """Return whether the peer must acknowledge something that does not wait until a buffer is full."""
        delivery = link.delivery
        return (
            delivery.is_unheard
            or (delivery.acknowledged.eliminated < self.own_eliminations and bool(link.peer.common))
            or delivery.acknowledged.formers < self.ledger.formers
            or bool(delivery.returns)
        )

    def _is_worth_it(self, link: TolerantLink) -> bool:
        """Return whether the last share is to be repeated and there is enough to say: as much as a share must have.

        So, but for notices and idle times, an agent never speaks more often on its own accord than its buffers fill.
        """
        is_due = link.delivery.take(Event.DUE) is Effect.REPEAT and not self.settled(link)
        return is_due and link.exchange.has_reached(len(self.candidates))

    @property
    def lacking(self) -> tuple[AgentId, ...]:
        """Who is here and has not acknowledged everything that it can use."""
        return tuple(link.peer.name for link in self.links.values() if self._has_unsaid(link))

    def _has_unsaid(self, link: TolerantLink) -> bool:
        """Return whether the peer can use observations that it has not acknowledged."""
        if not link.peer.present or self.settled(link):
            return False
        changed_at, version = self.ledger.changed_at, link.delivery.acknowledged.version
        return any(changed_at[arm] > version for arm in link.peer.common)

    def _expect_from_all(self, now: float) -> None:
        for link in self.links.values():
            self._expect(link, now)

    def _expect(self, link: TolerantLink, now: float) -> None:
        """Give the peer the usual time to acknowledge something new; a wait that is under way goes on."""
        if link.delivery.retry_at <= now:
            link.delivery.expect(now)
        self._schedule(link)

    def _look_at_clock(self, now: float) -> None:
        """Trust no wait that was computed by a clock which went back since."""
        check_time(now)
        if now < self._latest:
            self._next_retry = -math.inf
        self._latest = now

    def _schedule(self, link: TolerantLink) -> None:
        self._next_retry = min(self._next_retry, link.delivery.retry_at)
        self._wake_by(self._flush_at(link))

    def _flush_at(self, link: TolerantLink) -> float:
        quiet_since = link.delivery.sent_at
        if self.last_observed is not None:
            quiet_since = max(quiet_since, self.last_observed)
        return max(link.delivery.retry_at, quiet_since + self._patience.tick)

    def _wake_by(self, time: float) -> None:
        self.wake_at = time if self.wake_at is None else min(self.wake_at, time)

    # What is said.

    def _repeat_what_is_due(self, now: float) -> tuple[Message, ...]:
        outgoing: list[Message] = []
        self._next_retry = math.inf
        for link in self.links.values():
            if not self.owes(link):
                continue
            if link.delivery.is_over(now) and (self._is_worth_it(link) or self._owes_notice(link)):
                outgoing += self._repeat(link, now)
            self._next_retry = min(self._next_retry, link.delivery.retry_at)
        return tuple(outgoing)

    def _repeat(self, link: TolerantLink, now: float, *, is_answer: bool = False) -> list[Message]:
        """Send the last share again: the same number, the newest state. To the unheard, say who speaks as well."""
        carried = self.ledger.version - link.delivery.acknowledged.version
        link.exchange.repeat(len(self.candidates))
        link.delivery.repeated(now)
        self._schedule(link)
        share = self._message(link, carried, is_answer=is_answer)
        return [self._introduction(link.peer), share] if link.delivery.is_unheard else [share]

    def _share(self, link: Link, observations: int, now: float) -> Share:
        assert isinstance(link, TolerantLink)
        share_number = max(1, link.exchange.share_number - 1)
        link.delivery.shared(self._sharing.threshold.at(share_number, len(self.candidates)), now)
        self._schedule(link)
        return self._message(link, observations)

    def _message(self, link: TolerantLink, observations: int, *, is_answer: bool = False) -> Share:
        delivery, ledger = link.delivery, self.ledger
        acknowledged = delivery.acknowledged
        records: list[Record] = []
        link.shared_version = ledger.version
        if ledger.version > acknowledged.version:
            records.append(ledger.record_since(acknowledged.version, link.peer.common))
        owes_formers = acknowledged.formers < ledger.formers
        if owes_formers:
            records += self._former_records(self.name, ledger.origin.boot, link.peer)
        if delivery.returns and delivery.peer_boot is not None:
            known = self._former_records(link.peer.name, delivery.peer_boot, link.peer)
            records += [record for record in known if record.boot in delivery.returns]
        handling = Handling(
            boot=ledger.origin.boot,
            attempt=delivery.attempts,
            eliminated=tuple(self.eliminated) if acknowledged.eliminated < len(self.eliminated) else (),
            formers=ledger.formers if owes_formers else 0,
            receipt=self._receipt(link),
            is_answer=is_answer,
        )
        return Share(self.name, link.peer.name, link.exchange.shares_sent, observations, tuple(records), handling)

    def _former_records(self, agent: AgentId, boot: int, peer: Peer) -> list[Record]:
        """Return all that is known of an agent's boots before this one, for the arms that the peer has too."""
        return [
            Record(
                agent,
                former,
                0,
                holding.version,
                tuple(entry for entry in holding.tally.entries() if entry.arm in peer.common),
            )
            for former, holding in self.ledger.former_boots(agent, boot)
        ]

    # What is heard.

    def receive(self, message: Message, now: float) -> Outcome:
        """Take a message."""
        self._look_at_clock(now)
        return super().receive(message, now)._replace(wake_at=self.wake_at)

    def peer_joined(self, peer: AgentId, arms: Sequence[Arm], now: float) -> Outcome:
        """Take it from the driver that a peer is here. To say so again of one who is here changes nothing."""
        check_time(now)
        if peer in self.roster and self.roster.get(peer).present:
            self.roster.join(peer, arms)  # with the same arms, or it is refused
            return Outcome((PeerJoined(peer, checked_arms(arms), now),), wake_at=self.wake_at)
        return super().peer_joined(peer, arms, now)._replace(wake_at=self.wake_at)

    def _receive_share(self, share: Share, records: tuple[Received, ...], now: float) -> Outcome:
        link, handling = self._tolerant_link(share.sender), share.handling
        if handling is None:
            raise PeerError(f"{share.sender} is not loss-tolerant and {self.name} is: a whole group must agree")
        check_numbers(self, link, handling.boot, handling.receipt)
        if handling.receipt.boot > self.ledger.origin.boot:  # first of all: the rest is meant for that boot
            return Outcome(superseded_by=handling.receipt.boot)
        if handling.boot < self._newest_boot(link):
            return Outcome(outgoing=(self._acknowledge(link),))  # a word from a former life
        check_receipt(self, link, handling.receipt)
        if not self._is_introduced(handling.receipt) or handling.receipt.boot != self.ledger.origin.boot:
            share = self._without_foreign_arms(share)
        check_share(self, link, share, handling)
        knows_arms = self._knows_arms(link, handling.boot)
        self._hear(link, handling.boot, handling.receipt, now)
        formers = self.ledger.formers
        news, returned = self._merge(share, handling)
        if self.ledger.formers > formers:  # the others must be told, and the sender that it need not say so again
            self._expect_from_all(now)
        ruled_out: tuple[Arm, ...] = ()
        if knows_arms and link.peer.arms_include(handling.eliminated):  # else it is told again, after its introduction
            for arm in handling.eliminated:
                ruled_out += self._follow(link.peer, arm)
            link.delivery.peer_eliminated = max(link.delivery.peer_eliminated, len(handling.eliminated))
        is_whole = knows_arms and self._is_introduced(handling.receipt)
        if handling.formers and is_whole and handling.formers >= link.delivery.peer_formers:  # no older word, late
            link.delivery.peer_formers = handling.formers
            link.delivery.returns = self._better_known(link, share, handling)
        if share.number > link.shares_received and self._is_meant(handling.receipt):
            outgoing = self._take_turn(link, share, handling, now)
        else:
            outgoing = self._take_repetition(link, handling, now) if handling.attempt else []
        if link.delivery.returns:
            self._expect(link, now)
        return Outcome(records, tuple(outgoing), news, ruled_out, returned=returned)

    def _is_meant(self, receipt: Receipt) -> bool:
        """Return whether a share asks the present boot, and not a former one, which may have answered already.

        A peer that asked a former boot asks again as soon as it hears of this one. A peer that has nothing of this
        agent's yet has not been answered by anyone.
        """
        return receipt.boot == self.ledger.origin.boot or not (receipt.number or receipt.version)

    def _take_turn(self, link: TolerantLink, share: Share, handling: Handling, now: float) -> list[Message]:
        """Take a fresh share: it asks for one of this agent's (Algorithm 1, lines 17 to 21)."""
        if handling.receipt.number >= link.exchange.shares_sent:
            link.delivery.answered(now)
        link.shares_received = share.number
        link.delivery.has_counted = True
        if self.settled(link):
            link.exchange.put_off()  # until one of the two comes back with more arms, and there is something to say
            link.delivery.take(Event.ASKED)
            return self._repeat(link, now, is_answer=True) if self._knows_more_eliminations(link) else []
        observations = link.exchange.share_received(len(self.candidates))
        if observations:
            return [self._share(link, observations, now)]
        link.delivery.take(Event.ASKED)
        return []

    def _take_repetition(self, link: TolerantLink, handling: Handling, now: float) -> list[Message]:
        """Answer what was said again: with the answer again, if that is what was lost.

        What is itself an answer is only acknowledged. Otherwise two agents that share often would go on answering old
        repetitions with new ones, and every doubled message would double what follows from it.
        """
        is_lacking = handling.receipt.number < link.exchange.shares_sent
        effect = link.delivery.take(Event.REPEATED_LACKING if is_lacking else Event.REPEATED)
        is_missing = self._knows_more_eliminations(link) if self.settled(link) else effect is Effect.REPEAT
        if is_missing and not handling.is_answer:
            return self._repeat(link, now, is_answer=True)
        return [self._acknowledge(link)]

    def _knows_more_eliminations(self, link: TolerantLink) -> bool:
        return link.delivery.acknowledged.eliminated < len(self.eliminated)

    def _receive_acknowledgement(self, message: Acknowledgement, records: tuple[Received, ...], now: float) -> Outcome:
        link = self._tolerant_link(message.sender)
        check_numbers(self, link, message.boot, message.receipt)
        if message.receipt.boot > self.ledger.origin.boot:
            return Outcome(superseded_by=message.receipt.boot)
        if message.boot < self._newest_boot(link):
            return Outcome()
        check_receipt(self, link, message.receipt)
        if message.receipt.number >= link.exchange.shares_sent:
            link.delivery.quenched()
        self._hear(link, message.boot, message.receipt, now)
        return Outcome(records)

    def _hear(self, link: TolerantLink, boot: int, receipt: Receipt, now: float) -> None:
        """Take what every message says: who speaks, and what it has of this agent's."""
        delivery, own_boot = link.delivery, self.ledger.origin.boot
        if not (link.peer.present or self._said_farewell(link, boot)):  # the driver was wrong, or its notice was lost
            self._greet(link.peer.name, link.peer.arms)
        is_new = boot != delivery.peer_boot
        has_restarted = is_new and delivery.peer_boot is not None
        if has_restarted and delivery.arms_boot is None:
            delivery.arms_boot = delivery.peer_boot  # the driver's word was about that boot
        if is_new:  # what notices said until now may have been said by another boot
            delivery.peer_boot = boot
            delivery.peer_eliminated = delivery.peer_formers = 0
            link.peer.candidates = set(link.peer.arms)
            if self.roster.same_arms:
                link.peer.candidates -= set(self.eliminated)
            delivery.returns = frozenset(former for former, _ in self.ledger.former_boots(link.peer.name, boot))
            if delivery.returns:
                self._expect(link, now)
        if receipt.boot == own_boot:
            delivery.is_known = True
        else:
            receipt = Receipt(own_boot, receipt.number, 0, 0, 0)
        if not has_restarted:
            receipt = Receipt(own_boot, *map(max, receipt[1:], delivery.acknowledged[1:]))
        delivery.acknowledged = receipt
        delivery.is_unheard = (delivery.is_unheard or is_new) and receipt.notice < self.notices
        link.exchange.shares_sent = max(link.exchange.shares_sent, receipt.number)  # or this agent has forgotten some
        if receipt.number >= link.exchange.shares_sent:
            delivery.take(Event.SEEN)
        elif has_restarted:
            delivery.take(Event.FORGOTTEN)
        if has_restarted:  # it may have forgotten anything that it had acknowledged
            delivery.retry_at = min(delivery.retry_at, now)
        if is_new and (self.owes(link) or self._has_unsaid(link)):  # it may have forgotten what it had acknowledged
            self._schedule(link)

    def _merge(self, share: Share, handling: Handling) -> tuple[tuple[ArmTally, ...], tuple[ArmTally, ...]]:
        """Take the records. Return what is new of others, and what is new of this agent's own former boots."""
        news: tuple[ArmTally, ...] = ()
        returned: tuple[ArmTally, ...] = ()
        for record in share.records:
            if record.agent == self.name:
                returned += self.ledger.complete(record)
            elif record.boot < handling.boot:
                news += self.ledger.complete(record)
            elif self.ledger.is_usable(record):
                lacks = not self._is_introduced(handling.receipt)
                news += self.ledger.merge(record, lacks=lacks)  # Algorithm 1, line 16
        return news, returned

    def _better_known(self, link: TolerantLink, share: Share, handling: Handling) -> frozenset[int]:
        """Return the sender's former boots of which this agent knows more than the sender says."""
        said = {
            (record.boot, arm): count
            for record in share.records
            if record.agent == share.sender
            for arm, count, _ in record.tallies
        }
        return frozenset(
            former
            for former, holding in self.ledger.former_boots(share.sender, handling.boot)
            if any(
                entry.observations > said.get((former, entry.arm), 0)
                for entry in holding.tally.entries()
                if entry.arm in link.peer.common_set  # of other arms it does not want to know
            )
        )

    def _greet(self, name: AgentId, arms: Sequence[Arm], *, may_change: bool = False) -> tuple[Arm, ...]:
        was_same = self.roster.same_arms
        ruled_out = super()._greet(name, arms, may_change=may_change)
        changed = was_same != self.roster.same_arms  # pairs that had nothing left to say may have something again
        for link in self.links.values() if changed else (self.links[name],):
            if self.owes(link) or self._has_unsaid(link):
                self._schedule(link)
        return ruled_out
