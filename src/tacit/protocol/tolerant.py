"""One agent's side of the protocol where messages may be lost, doubled, late or out of order, and agents restart.

Fresh shares are the paper's, sent when the paper sends them (`endpoint.py`). This file adds what a message must carry
so that a loss does no lasting harm, and says again what was not acknowledged. When to do so is `delivery.py`.

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

from tacit.checks import check_time
from tacit.errors import PeerError
from tacit.protocol.delivery import Delivery, Effect, Event, Phase
from tacit.protocol.endpoint import Endpoint, Link, TolerantLink
from tacit.protocol.exchange import Exchange, Sharing
from tacit.protocol.ledger import Origin
from tacit.protocol.messages import (
    MOST_BOOTS,
    MOST_OBSERVATIONS,
    Acknowledgement,
    AgentId,
    Eliminated,
    Handling,
    Join,
    Leave,
    Message,
    Receipt,
    Record,
    Share,
)
from tacit.protocol.outcome import Flushed, Outcome, PeerJoined, Received, Woke
from tacit.protocol.roster import Peer
from tacit.protocol.suspicion import check_numbers, check_receipt, check_share
from tacit.tally import Arm, ArmTally, checked_arms


class TolerantEndpoint(Endpoint):
    """The protocol state of one agent that expects messages to be lost."""

    links: dict[AgentId, TolerantLink]  # type: ignore[assignment]  # every link is made by `_new_link`

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
        assert sharing.patience is not None
        self._patience = sharing.patience
        self.arms_since = None if boot else 0
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

    def start_again(self, boot: int, arms: Sequence[Arm] | None = None) -> None:
        """Begin a new boot, after a start that may have forgotten something. Introduce yourself with `join` then.

        Args:
            boot: The new boot, above all earlier ones.
            arms: The arms, if they may be more than before: those of before come first.
        """
        self.ledger.start_again(boot, arms)
        if arms is not None and len(arms) > len(self.roster.arms):
            self._grow(arms)
        self.notices = 0
        for link in self.links.values():
            link.shared_version = 0
            link.exchange.buffered = 0
            link.delivery.acknowledged = Receipt(boot, link.delivery.acknowledged.number, 0, 0, 0)
            link.delivery.is_known = link.delivery.has_counted = False

    def _grow(self, arms: Sequence[Arm]) -> None:
        """Take it that this boot has more arms. Others may have observed them, and must be asked for everything."""
        was_same = self.roster.same_arms
        self.candidates |= set(arms) - set(self.roster.arms)
        self.roster.grow(arms)
        self.arms_since = self.ledger.origin.boot
        for link in self.links.values():
            link.delivery.peer_formers = 0
        self._relink()
        self._reconsider(was_same=was_same)

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

    def _receipt(self, link: TolerantLink) -> Receipt:
        delivery = link.delivery
        boot = self._newest_boot(link)
        version = self.ledger.version_held(Origin(link.peer.name, boot))
        notice = delivery.peer_notice[1] if delivery.peer_notice[0] == boot else 0
        if boot != (
            delivery.arms_boot or 0
        ):  # it has taken a farewell at most, and does not know the arms of that boot
            notice = min(notice, 1)
        if boot != delivery.peer_boot:  # it has said no more than that it is here
            return Receipt(boot, link.shares_received, version, 0, 0, notice)
        return Receipt(boot, link.shares_received, version, delivery.peer_eliminated, delivery.peer_formers, notice)

    def _newest_boot(self, link: TolerantLink) -> int:
        """Return the newest boot of the peer that was heard of, by a share or by a notice."""
        return max(link.delivery.peer_boot or 0, link.delivery.peer_notice[0])

    def _acknowledge(self, link: TolerantLink) -> Acknowledgement:
        return Acknowledgement(self.name, link.peer.name, self.ledger.origin.boot, self._receipt(link))

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

    def _receive_eliminated(self, notice: Eliminated, records: tuple[Received, ...]) -> Outcome:
        if not 0 <= notice.boot < MOST_BOOTS:
            raise PeerError(f"{notice.sender} speaks of itself as boot {notice.boot}")
        link = self._tolerant_link(notice.sender)
        is_certain = notice.boot == (link.delivery.arms_boot or 0)
        if not (self._knows_arms(link, notice.boot) and (is_certain or link.peer.arms_include((notice.arm,)))):
            return Outcome(records)  # it has arms that are not known yet
        # Until a boot is known, notices of several boots may come in any order: together they may say too much.
        is_known = link.delivery.peer_boot is not None
        if notice.boot != link.delivery.peer_boot if is_known else link.peer.candidates == {notice.arm}:
            return Outcome(records)  # what counts comes with its shares, again if need be
        return super()._receive_eliminated(notice, records)

    def _receive_join(self, notice: Join, records: tuple[Received, ...]) -> Outcome:
        link = self.links.get(notice.sender)
        if self._is_news(notice):
            outcome = super()._receive_join(notice, records)
            delivery = self.links[notice.sender].delivery
            delivery.peer_notice, delivery.arms_boot = (notice.boot, notice.notice), notice.boot
            return outcome
        if link is not None and notice.boot < self._newest_boot(link):
            return Outcome(outgoing=(self._acknowledge(link),))  # it should know that its boot is over
        return Outcome(records)

    def _receive_leave(self, notice: Leave, records: tuple[Received, ...]) -> Outcome:
        link = self._tolerant_link(notice.sender)
        if self._is_news(notice):
            super()._receive_leave(notice, records)
            link.delivery.peer_notice = (notice.boot, notice.notice)
        return Outcome(records)

    def _is_news(self, notice: Join | Leave) -> bool:
        """Return whether no later notice was taken: an agent must not be taken for gone because of an old farewell."""
        if not (0 <= notice.boot < MOST_BOOTS and 0 <= notice.notice <= MOST_OBSERVATIONS):
            raise PeerError(f"{notice.sender} sent notice {notice.notice} of boot {notice.boot}")
        link = self.links.get(notice.sender)
        if link is None:
            return True
        return notice.boot >= self._newest_boot(link) and (notice.boot, notice.notice) > link.delivery.peer_notice

    # Who is here, with which arms.

    def _is_introduced(self, receipt: Receipt) -> bool:
        """Return whether the sender of a receipt knows which arms this agent has now, and so sends all that it can use.

        An agent that never had others need not ask. One that has grown, or has come back without its disk, does. Only
        this boot's introduction counts: of an earlier boot that had these arms, and a later one that had others, it may
        have forgotten the later one.
        """
        return not self.arms_since or (receipt.boot == self.ledger.origin.boot and receipt.notice > 1)

    def _knows_arms(self, link: TolerantLink, boot: int) -> bool:
        """Return whether the arms of that boot of the peer are known. What it rules out depends on them."""
        delivery = link.delivery
        told_by = delivery.peer_boot if delivery.arms_boot is None else delivery.arms_boot
        return told_by is None or boot == told_by

    def _may_change_arms(self, notice: Join) -> bool:
        link = self.links.get(notice.sender)
        return link is not None and notice.boot > (link.delivery.arms_boot or 0)

    def _without_foreign_arms(self, share: Share) -> Share:
        """Return a share without arms that this agent does not have now. A former boot may have had them."""
        own = self.ledger.own.counts
        if all(entry.arm in own for record in share.records for entry in record.tallies):
            return share
        return share._replace(
            records=tuple(
                record._replace(tallies=tuple(entry for entry in record.tallies if entry.arm in own))
                for record in share.records
            )
        )

    def _reconsider(self, *, was_same: bool) -> tuple[Arm, ...]:
        """Take it that arm sets are others now. Return which arms this agent drops for that.

        While all have the same arms there is one candidate set, and nobody keeps apart who said what. Once they have
        different ones, nobody may be taken to have dropped an arm that it has not named itself. Once they have the
        same, what one has dropped, all drop.
        """
        is_same = self.roster.same_arms
        ruled_out: tuple[Arm, ...] = ()
        if was_same and not is_same:
            for peer in self.roster:
                peer.candidates = set(peer.arms)
        if is_same and not was_same:
            for peer in self.roster:
                for arm in peer.arms:
                    if arm not in peer.candidates:
                        ruled_out += self._follow(peer, arm)
        return ruled_out

    def _introduction(self, peer: Peer) -> Join:
        return super()._introduction(peer)._replace(boot=self.ledger.origin.boot, notice=self.notices)

    def _dismissal(self, peer: Peer, arm: Arm) -> Eliminated:
        return super()._dismissal(peer, arm)._replace(boot=self.ledger.origin.boot)

    def _farewell(self, peer: Peer) -> Leave:
        return super()._farewell(peer)._replace(boot=self.ledger.origin.boot, notice=self.notices + 1)

    def _said_farewell(self, link: TolerantLink, boot: int) -> bool:
        """Return whether that boot of the peer said that it goes away: it is gone until it says that it is here."""
        notice_boot, notice = link.delivery.peer_notice
        return notice_boot == boot and notice % 2 == 1

    def _return(self, link: Link) -> None:
        super()._return(link)
        assert link.delivery is not None
        link.delivery.take(Event.ASKED)
        link.delivery.is_unheard = link.delivery.acknowledged.notice < self.notices

    def _greet(self, name: AgentId, arms: Sequence[Arm], *, may_change: bool = False) -> tuple[Arm, ...]:
        was_same = self.roster.same_arms
        ruled_out = super()._greet(name, arms, may_change=may_change)
        changed = was_same != self.roster.same_arms  # pairs that had nothing left to say may have something again
        for link in self.links.values() if changed else (self.links[name],):
            if self.owes(link) or self._has_unsaid(link):
                self._schedule(link)
        return ruled_out

    def _new_link(self, peer: Peer, exchange: Exchange) -> TolerantLink:
        return TolerantLink(peer, exchange, Delivery(self._patience, self.ledger.origin.boot))

    def _tolerant_link(self, name: AgentId) -> TolerantLink:
        link = self._link(name)
        assert isinstance(link, TolerantLink)
        return link
