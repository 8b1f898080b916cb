"""What a machine is told once and starts from, and what each of its steps produces."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.core import Message, Sharing
from cobandit.live.machine.batch import Batch
from cobandit.live.machine.control_messages import AnyControlMessage
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.homes import HOMES
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.versions import PRESENT, Versions
from cobandit.policies import Policy
from cobandit.values.tally import Arm

Build = Callable[[Sequence[Arm]], Policy]
"""Makes a fresh policy for some arms."""


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
    is_relay: bool = False
    """Whether it passes on what others observed."""
    forget_after: float = math.inf
    """Who was not heard for so many seconds is gone."""
    relays: tuple[str, ...] = ()
    """Where the relays of a leaf are (`homes.py`); empty for who is no leaf."""
    homes: int = HOMES
    """How many of them a leaf talks to."""
    relays_have_names: bool = True
    """Whether relays are found by their names, or at addresses."""

    @property
    def is_leaf(self) -> bool:
        """Whether it talks to relays only."""
        return bool(self.relays)


class Restored(NamedTuple):
    """A member as its journal knows it."""

    agent: Agent
    controls: Controls
    outbox: Outbox
    open_decisions: OpenDecisions
    run: int
    secret: bytes
    removed: frozenset[Arm]
    is_new: bool
    first_place: int = 0
    """Where the numbers of this start's decisions begin."""
    remark: str | None = None
    """What the operator should know about this start."""


class Step(NamedTuple):
    """What one step produced: write the batch, then send the rest."""

    batch: Batch
    outgoing: list[tuple[str, Message | AnyControlMessage]]
    mail_done: list[int]
    askers: list[str]
    """Who wants to know how this member is."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write down."""
        batch = self.batch
        parts = (batch.decided, batch.settled, batch.records, batch.rewards_kept, batch.rewards_gone, self.mail_done)
        return batch.settings is None and batch.trusted_since is None and batch.lived is None and not any(parts)
