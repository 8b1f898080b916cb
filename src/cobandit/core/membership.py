"""Who is here, with which arms, where notices may be lost, late or out of order, and agents restart.

A notice counts if it is newer than what was heard: it carries the boot that speaks and a number. Receipts say what was
heard. What is owed because of it, and said again, is `tolerant.py`.
"""

from collections.abc import Sequence

from cobandit.core.delivery import Delivery, Event
from cobandit.core.endpoint import Endpoint, Link, TolerantLink
from cobandit.core.exchange import Exchange, Sharing
from cobandit.core.ledger import Origin
from cobandit.core.messages import (
    MOST_BOOTS,
    MOST_OBSERVATIONS,
    Acknowledgement,
    AgentId,
    Eliminated,
    Join,
    Leave,
    Receipt,
    Share,
)
from cobandit.core.outcome import Outcome, Received
from cobandit.core.roster import Peer
from cobandit.values.errors import PeerError
from cobandit.values.tally import Arm


class TolerantMembership(Endpoint):
    """What one agent knows of who is here, when it expects notices to be lost."""

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

    # What is said.

    def _introduction(self, peer: Peer) -> Join:
        return super()._introduction(peer)._replace(boot=self.ledger.origin.boot, notice=self.notices)

    def _dismissal(self, peer: Peer, arm: Arm) -> Eliminated:
        return super()._dismissal(peer, arm)._replace(boot=self.ledger.origin.boot)

    def _farewell(self, peer: Peer) -> Leave:
        return super()._farewell(peer)._replace(boot=self.ledger.origin.boot, notice=self.notices + 1)

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

    def _acknowledge(self, link: TolerantLink) -> Acknowledgement:
        return Acknowledgement(self.name, link.peer.name, self.ledger.origin.boot, self._receipt(link))

    # What is heard.

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

    def _is_news(self, notice: Join | Leave) -> bool:
        """Return whether no later notice was taken: an agent must not be taken for gone because of an old farewell."""
        if not (0 <= notice.boot < MOST_BOOTS and 0 <= notice.notice <= MOST_OBSERVATIONS):
            raise PeerError(f"{notice.sender} sent notice {notice.notice} of boot {notice.boot}")
        link = self.links.get(notice.sender)
        if link is None:
            return True
        return notice.boot >= self._newest_boot(link) and (notice.boot, notice.notice) > link.delivery.peer_notice

    def _said_farewell(self, link: TolerantLink, boot: int) -> bool:
        """Return whether that boot of the peer said that it goes away: it is gone until it says that it is here."""
        notice_boot, notice = link.delivery.peer_notice
        return notice_boot == boot and notice % 2 == 1

    def _newest_boot(self, link: TolerantLink) -> int:
        """Return the newest boot of the peer that was heard of, by a share or by a notice."""
        return max(link.delivery.peer_boot or 0, link.delivery.peer_notice[0])

    def _return(self, link: Link) -> None:
        super()._return(link)
        assert link.delivery is not None
        link.delivery.take(Event.ASKED)
        link.delivery.is_unheard = link.delivery.acknowledged.notice < self.notices

    # Which arms.

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

    # Links.

    def _new_link(self, peer: Peer, exchange: Exchange) -> TolerantLink:
        return TolerantLink(peer, exchange, Delivery(self._patience, self.ledger.origin.boot))

    def _tolerant_link(self, name: AgentId) -> TolerantLink:
        link = self._link(name)
        assert isinstance(link, TolerantLink)
        return link
