"""What a machine hands out to be stored, and gets back at a start: batches, its whole state, and mail from others.

`cobandit.live.store` stores them.
"""

from typing import NamedTuple

import msgspec

from cobandit.codec import STATE_VERSION, Format, StateCodec
from cobandit.core.pens import BookState, Pen
from cobandit.live.decide.common import Decided, Settled
from cobandit.live.machine.controls import Setting
from cobandit.live.machine.open_decisions import OpenDecisionsState


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What happened in one step."""

    decided: tuple[Decided, ...] = ()
    settled: tuple[Settled, ...] = ()
    records: tuple[bytes, ...] = ()
    """The agent's inputs, for a replay (`cobandit.codec.encode_record`)."""
    settings: tuple[Setting, ...] | None = None
    """The controls, if they changed."""
    rewards_kept: tuple[tuple[str, str, float], ...] = ()
    """Rewards for other members: the member, the token, the reward."""
    rewards_gone: tuple[tuple[str, str], ...] = ()
    """Which of those have arrived: the member, the token."""
    trusted_since: int | None = None
    """Set if others had seen what this journal had forgotten: the first start whose decisions may still be rewarded."""
    lived: float | None = None
    """How many seconds the member has run, over all its starts."""
    pens: tuple[Pen, ...] = ()
    """What a relay's book now says about pens that it lends (`cobandit.core.pens`)."""
    pens_gone: tuple[str, ...] = ()
    """Which pens are no longer in the book."""


class NodeState(msgspec.Struct, frozen=True, array_like=True):
    """Everything that a member knows at one moment."""

    agent: bytes
    """`cobandit.codec.encode_snapshot`."""
    run: int
    """The number of this start; later starts have higher numbers (`cobandit.live.store.restoring.fresh_run`)."""
    secret: bytes
    """The key that signs its decisions."""
    is_clean: bool
    """Whether it stopped cleanly after this, with everything written to disk."""
    settings: tuple[Setting, ...] = ()
    rewards: tuple[tuple[str, str, float], ...] = ()
    open_decisions: OpenDecisionsState = OpenDecisionsState()
    group: str = ""
    book: BookState = BookState()
    """The pens that a relay has lent."""


class Mail(NamedTuple):
    """A reward left by another process."""

    number: int
    token: str
    reward: float


_CURE = ". Restore the file, or remove it to start anew"
BATCHES = StateCodec("a batch of a journal", Format(STATE_VERSION, {64: Batch}), cure=_CURE)
STATES = StateCodec("the state of a member", Format(STATE_VERSION, {65: NodeState}), cure=_CURE)


def encode_batch(batch: Batch) -> bytes:
    """Return a batch as bytes."""
    return BATCHES.encode(batch)


def decode_batch(stored: bytes) -> Batch:
    """Return the batch in these bytes.

    Raises:
        LocalError: They are damaged, or their version cannot be read here.
    """
    batch: Batch = BATCHES.decode(stored)
    return batch


def encode_state(state: NodeState) -> bytes:
    """Return a member's state as bytes."""
    return STATES.encode(state)


def decode_state(stored: bytes) -> NodeState:
    """Return the state in these bytes.

    Raises:
        LocalError: They are damaged, or their version cannot be read here.
    """
    state: NodeState = STATES.decode(stored)
    return state
