"""What a clerk is told once, and what each of its turns produces."""

from typing import NamedTuple

from cobandit.core import Message, Sharing
from cobandit.runtime.journal import Batch
from cobandit.runtime.letters import AnyLetter
from cobandit.runtime.restoring import Build
from cobandit.runtime.versions import PRESENT, Versions


class Terms(NamedTuple):
    """What a member was told about itself."""

    name: str
    group: str
    sharing: Sharing
    build: Build
    expire_after: float
    default_units: int | None
    """What a decision counts with that was never rewarded; `None` to forget it."""
    versions: Versions = PRESENT


class Turn(NamedTuple):
    """What one turn produced: write the batch, then send the rest."""

    batch: Batch
    outgoing: list[tuple[str, Message | AnyLetter]]
    mail_done: list[int]
    askers: list[str]
    """Who wants to know how this member is."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write down."""
        batch = self.batch
        parts = (batch.decided, batch.settled, batch.records, batch.rewards_kept, batch.rewards_gone, self.mail_done)
        return batch.settings is None and batch.trusted_since is None and not any(parts)
