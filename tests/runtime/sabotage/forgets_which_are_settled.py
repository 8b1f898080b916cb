"""Breaks the journal: which decisions were rewarded is not written down. Run inside a worker."""

from cobandit.runtime import sqlite_journal
from cobandit.runtime.journal import Batch, encode_batch


def encode_without_settled(batch: Batch) -> bytes:
    return encode_batch(Batch(batch.decided, (), batch.records, batch.settings, batch.rewards_kept, batch.rewards_gone))


setattr(sqlite_journal, "encode_batch", encode_without_settled)  # noqa: B010  # it is only imported there
