"""What an agent does because it is a relay, or becomes a leaf.

A relay passes on what it hears. Who becomes a leaf knows nothing more of others row by row, because totals are of the
same observations. This file does not know how a message is made, or when a pair talks.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cobandit.core.facts import CellValue, plus
from cobandit.core.link import Link
from cobandit.core.messages import Cells, Changes, Message
from cobandit.core.outcome import Adopted, Outcome
from cobandit.core.pen_names import SettledBlock
from cobandit.core.replica import Replica
from cobandit.values.tally import Arm, ArmTally

if TYPE_CHECKING:
    from cobandit.core.endpoint import Endpoint


def pass_on(endpoint: "Endpoint", teller: Link | None, news: Sequence[ArmTally], now: float) -> tuple[Message, ...]:
    """A relay has heard something new. Leaves hear of it when they ask; other relays once it is enough for a share.

    What members of a mesh observe they tell every relay themselves. What it adopted, nobody told it.
    """
    outgoing: list[Message] = []
    for other in endpoint.links.values():
        if other.is_leaf:
            endpoint.agenda.flush_by(now)
        elif news and (teller is None or teller.is_leaf) and endpoint.peers.is_relay(other.peer.name):
            common = other.peer.common_set
            count = sum(entry.observations for entry in news if entry.arm in common)
            observations = other.exchange.observe(len(endpoint.candidates.own), count)
            if observations:
                outgoing.append(endpoint.speech.share(other, observations, now))
        else:
            endpoint.agenda.schedule(other)
    return tuple(outgoing)


def adopt(endpoint: "Endpoint", told: Cells, settled: Sequence[SettledBlock], now: float) -> Outcome:
    """Count what was observed with a pen that nobody holds: its lender goes on where the last holder ended."""
    endpoint.agenda.look(now)
    news = endpoint.replica.merge(Changes(cells=(told,), settled=tuple(settled)), None)
    added = tuple(entry for _, entry in news.cells)
    outgoing = pass_on(endpoint, None, added, now)
    endpoint.agenda.flush_by(now)
    return Outcome((Adopted(told, tuple(settled), now),), outgoing, news=added, wake_at=endpoint.wake_at)


def drop_rows(replica: Replica) -> tuple[ArmTally, ...]:
    """Know nothing more of what others observed, row by row. Return by how much less is known of each arm."""
    rows = [(key, entry) for key, entry in replica.cells() if key.agent != replica.agent]
    less: dict[Arm, CellValue] = {}
    for key, entry in rows:
        less[key.arm] = plus(less.get(key.arm, (0, 0, 0)), entry[1:])
    replica.drop(key for key, _ in rows)
    replica.forget_totals()
    return tuple(ArmTally(arm, -count, -total, -squares) for arm, (count, total, squares) in less.items())
