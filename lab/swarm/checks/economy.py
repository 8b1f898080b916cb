"""Invariant 10: nobody is told of arms that it does not serve, nor what its present session has told itself."""

from cobandit.core import Endpoint, Share
from cobandit.core.facts import CellKey


def told_in_vain(sender: Endpoint, share: Share) -> list[str]:
    """Return which cells a share tells though the receiver has no use for them, as far as the sender knows it."""
    peer = sender.links[share.receiver].peer
    told = [
        CellKey(cells.agent, cells.incarnation, entry.arm, cells.bandit, cells.segment, cells.period)
        for cells in share.changes.cells
        for entry in cells.tallies
    ]
    itself = {
        fact.key
        for fact in sender.replica.wanted(share.changes.base, lambda fact: fact.teller == (peer.name, peer.session))
    }
    foreign = [
        f"{sender.name} tells {peer.name} of {key}, which it does not serve"
        for key in told
        if not peer.serves(key.bandit, key.arm)
    ]
    return foreign + [
        f"{sender.name} tells {peer.name} of {key}, as it has told itself" for key in told if key in itself
    ]
