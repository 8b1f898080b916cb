"""What a machine is configured with and starts from, and what each of its steps produces."""

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
"""Seconds after which the holder of a pen sends its lender everything that it has counted."""


class PenTerms(NamedTuple):
    """The terms for pens."""

    secret: bytes | None = None
    """What keys of pens are derived from. Derived from a private key or a group's secret, it outlives the disk. `None`
    uses the secret in the state."""
    lease: float = LEASE
    """Seconds of silence after which a holder loses its pen."""
    flush_every: float = FLUSH_EVERY
    """Seconds after which a holder sends its lender what is not acknowledged. A kill loses at most this much."""
    patience: float = 5.0
    """Seconds of silence from a lender that owes an answer, after which a holder looks for another."""


class Held(NamedTuple):
    """A pen, as its holder knows it."""

    lender: str
    session: int
    first_number: int
    lease: float
    to_bring: tuple[tuple[str, str, float], ...] = ()
    """Rewards for decisions with earlier pens of this process, which their lenders have not acknowledged."""
    given_back: tuple[PenReturned, ...] = ()
    """Earlier pens of this process that must be ended."""


class Terms(NamedTuple):
    """A member's configuration."""

    name: str
    group: str
    sharing: Sharing
    build: Build
    expire_after: float
    default_units: int | None
    """What a decision counts with if it is never rewarded; `None` to forget it."""
    versions: Versions = PRESENT
    is_relay: bool = False
    """Whether it passes on observations of others."""
    forget_after: float = math.inf
    """Seconds of silence after which a member is gone."""
    relays: tuple[str, ...] = ()
    """The places of a leaf's relays (`homes.py`); empty if this is not a leaf."""
    homes: int = HOMES
    """How many of them a leaf talks to."""
    relays_have_names: bool = True
    """Whether relays are found by name rather than by address."""
    holdout: float = 0.0
    """The share of decisions that are held out."""
    guardrail: GuardrailTerms | None = None
    """The second metric to watch."""
    pens: PenTerms = PenTerms()
    """The terms on which it lends pens, if it is a relay, or holds one."""

    @property
    def is_leaf(self) -> bool:
        """Whether it talks only to relays."""
        return bool(self.relays)


class Restored(NamedTuple):
    """A member's state as restored from its journal."""

    agent: Agent
    controls: Controls
    outbox: Outbox
    open_decisions: OpenDecisions
    run: int
    secret: bytes
    removed: frozenset[Arm]
    is_new: bool
    first_place: int = 0
    """The place at which this start's decision numbers begin."""
    remark: str | None = None
    """What the operator should know about this start."""
    book: BookState = BookState()
    """The pens that it has lent, if it is a relay."""
    held: Held | None = None
    """The pen that it holds, if its name is one."""


class Step(NamedTuple):
    """What one step produced: write the batch, then send the rest."""

    batch: Batch
    outgoing: list[tuple[str, Message | AnyControlMessage]]
    mail_done: list[int]
    askers: list[str]
    """Those that asked for this member's status."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
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
