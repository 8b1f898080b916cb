"""What a loss-tolerant peer cannot have said. Whatever a network does, it does not make a message say these things.

Each function raises `PeerError` and changes nothing. A message that is only old, doubled or out of order is none of
their business.
"""

from cobandit.core.endpoint import Endpoint, TolerantLink
from cobandit.core.messages import MOST_BOOTS, MOST_OBSERVATIONS, Handling, Receipt, Share
from cobandit.values.errors import PeerError

LARGEST_JUMP = 2**20
"""A share whose number is further above the last one than this was not sent by a program that counts."""

SPARE_BOOTS = 2**40
"""Boots that nobody is driven into by a peer who says that it knows them: an agent must always find a later one."""


def check_numbers(endpoint: Endpoint, link: TolerantLink, boot: int, receipt: Receipt) -> None:
    """Refuse numbers that no agent has."""
    if not 0 <= boot < MOST_BOOTS:
        raise PeerError(f"{link.peer.name} speaks of itself as boot {boot}")
    if not (0 <= receipt.boot < MOST_BOOTS and all(0 <= value <= MOST_OBSERVATIONS for value in receipt[1:])):
        raise PeerError(f"{link.peer.name} sent an impossible receipt: {receipt}")
    if receipt.boot > endpoint.ledger.origin.boot and receipt.boot >= MOST_BOOTS - SPARE_BOOTS:
        raise PeerError(
            f"{link.peer.name} knows boot {receipt.boot} of {endpoint.name}, after which there are few more"
        )


def check_receipt(endpoint: Endpoint, link: TolerantLink, receipt: Receipt) -> None:
    """Refuse a receipt for what was never said."""
    name = link.peer.name
    if receipt.boot != endpoint.ledger.origin.boot:
        return
    if link.delivery.is_known and receipt.number > link.exchange.shares_sent:
        raise PeerError(f"{name} acknowledges share {receipt.number}, but only {link.exchange.shares_sent} were sent")
    if (
        receipt.version > endpoint.ledger.version
        or receipt.eliminated > len(endpoint.eliminated)
        or receipt.formers > endpoint.ledger.formers
        or receipt.notice > endpoint.notices + 1
    ):
        raise PeerError(f"{name} acknowledges more than {endpoint.name} has said: do two processes run under one name?")


def check_share(endpoint: Endpoint, link: TolerantLink, share: Share, handling: Handling) -> None:
    """Refuse a share with absurd numbers, foreign records or impossible eliminations."""
    sender, own_boot = share.sender, endpoint.ledger.origin.boot
    highest = link.shares_received + LARGEST_JUMP if link.delivery.has_counted else MOST_OBSERVATIONS
    if not 0 <= share.number <= highest:
        raise PeerError(f"{sender} sent share {share.number} after share {link.shares_received}")
    for what, value in (("observations", share.observations), ("attempt", handling.attempt)):
        if not 0 <= value <= MOST_OBSERVATIONS:
            raise PeerError(f"{sender} sent a share with {what} {value}")
    if not 0 <= handling.formers <= MOST_OBSERVATIONS:
        raise PeerError(f"{sender} sent a share that knows {handling.formers} changes of its former boots")
    gone = set(handling.eliminated)
    is_certain = handling.boot == (link.delivery.arms_boot or 0)  # a later boot may have arms that are not known yet
    fits = gone < set(link.peer.arms) or not is_certain
    if gone and not (fits and len(gone) == len(handling.eliminated)):
        raise PeerError(f"{sender} eliminated {', '.join(handling.eliminated)}, of {', '.join(link.peer.arms)}")
    for record in share.records:
        newest = handling.boot if record.agent == sender else own_boot - 1
        if record.agent not in (sender, endpoint.name):
            raise PeerError(f"{sender} sent a record of {record.agent}: agents share only what they observed")
        if record.boot > newest:
            raise PeerError(f"{sender} sent a record of boot {record.boot} of {record.agent}, which is not before")
        is_current = record.agent == sender and record.boot == handling.boot
        if not is_current and record.base:
            raise PeerError(f"{sender} sent only a part of what boot {record.boot} of {record.agent} observed")
        endpoint.ledger.check(record, is_over=not is_current)
    endpoint.ledger.check_boots(sender, share.records)
