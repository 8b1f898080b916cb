"""What a machine is told once and starts from, and what each of its steps produces."""

import math
from collections.abc import Sized
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.core import Message, Sharing
from cobandit.core.pens import LEASE, BookState
from cobandit.learning import Build
from cobandit.live.machine.batch import Batch
from cobandit.live.machine.control_messages import AnyControlMessage, PenReturned
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.homes import HOMES
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.versions import PRESENT, Versions
from cobandit.live.status.guardrail import GuardrailTerms
from cobandit.values.tally import Arm

FLUSH_EVERY = 10.0
"""Seconds after which a holder of a pen tells its lender all that it has counted."""


class PenTerms(NamedTuple):
    """What concerns pens."""

    secret: bytes | None = None
    """What keys of pens are made from. From a private key or a group's secret it outlives the disk; `None` takes the
    secret of the state."""
    lease: float = LEASE
    """Seconds after which a holder that was not heard has lost its pen."""
    flush_every: float = FLUSH_EVERY
    """Seconds after which a holder tells its lender what it has not acknowledged: so much is lost with a kill."""
    patience: float = 5.0
    """Seconds without a word from a lender that owes one, after which a holder looks for another."""


class Held(NamedTuple):
    """A pen, as its holder knows it."""

    lender: str
    session: int
    first_number: int
    lease: float
    to_bring: tuple[tuple[str, str, float], ...] = ()
    """Rewards of decisions with earlier pens of this process, which their lenders have not acknowledged."""
    given_back: tuple[PenReturned, ...] = ()
    """Earlier pens of this process that are to be ended."""


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
    holdout: float = 0.0
    """The share of decisions that are held out."""
    guardrail: GuardrailTerms | None = None
    """The second metric that is watched."""
    pens: PenTerms = PenTerms()
    """On what conditions it lends pens, if it is a relay, or holds one."""

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
    book: BookState = BookState()
    """What it has lent, if it is a relay."""
    held: Held | None = None
    """The pen that it holds, if its name is one."""


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
        parts: tuple[Sized, ...] = (
            batch.decided,
            batch.settled,
            batch.records,
            batch.rewards_kept,
            batch.rewards_gone,
            self.mail_done,
        )
        parts += (batch.pens, batch.pens_gone)
        return batch.settings is None and batch.trusted_since is None and batch.lived is None and not any(parts)
