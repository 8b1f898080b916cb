"""Breaks the start after a crash: it goes on in the old boot, as if nothing had happened. Run inside a worker."""

from collections.abc import Iterable

from cobandit.agent import Agent
from cobandit.core import InputRecord, Sharing
from cobandit.core.state import Snapshot
from cobandit.policies import Policy
from cobandit.runtime import restoring


class Stubborn(Agent):
    @classmethod
    def restore(
        cls,
        snapshot: Snapshot,
        records: Iterable[InputRecord] = (),
        *,
        policy: Policy,
        sharing: Sharing | None = None,
        boot: int | None = None,
    ) -> Agent:
        del boot
        return Agent.restore(snapshot, records, policy=policy, sharing=sharing)


setattr(restoring, "Agent", Stubborn)  # noqa: B010  # it is only imported there
