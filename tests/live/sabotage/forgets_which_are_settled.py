"""Breaks the journal: which decisions were rewarded is not written down. Run inside a worker."""

import msgspec

from cobandit.live.machine.batch import BATCHES, Batch

_encode = BATCHES.encode


def encode_without_settled(batch: Batch) -> bytes:
    return _encode(msgspec.structs.replace(batch, settled=()))


setattr(BATCHES, "encode", encode_without_settled)  # noqa: B010  # every journal writes with it
