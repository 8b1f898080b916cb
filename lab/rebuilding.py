"""What is written must rebuild what is known, at any moment: looked at before a snapshot takes the place of records."""

from collections.abc import Callable

from cobandit.agent import Agent
from cobandit.codec import decode_record, decode_snapshot
from cobandit.core.exchange import Sharing
from cobandit.core.state import EndpointState
from cobandit.live.machine.batch import NodeState
from cobandit.live.store.journal import Stored
from cobandit.policies import Policy
from cobandit.values.tally import Arm


def difference(
    stored: Stored, state: NodeState, build: Callable[[tuple[Arm, ...]], Policy], sharing: Sharing
) -> str | None:
    """Return what a member would not know, or know otherwise, if it were rebuilt from what is stored."""
    if stored.state is None:
        return None
    before, now = decode_snapshot(stored.state.agent), decode_snapshot(state.agent).endpoint
    records = [decode_record(record) for batch in stored.batches for record in batch.records]
    policy = build(now.arms) if now.arms else None
    rebuilt = Agent.restore(before, records, policy=policy, sharing=sharing).snapshot().endpoint
    wrong = [
        f"{name} {was!r} instead of {known!r}"
        for name, was, known in zip(now._fields, _lasting(rebuilt), _lasting(now), strict=True)
        if was != known
    ]
    return f"the records of {now.agent} rebuild {'; '.join(wrong)}" if wrong else None


def _lasting(state: EndpointState) -> EndpointState:
    """Return a state without when peers were last heard: what changes nothing else has no record."""
    return state._replace(latest=None, links=tuple(link._replace(last_heard=None) for link in state.links))
