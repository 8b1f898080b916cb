"""Messages, records and snapshots to bytes and back: one envelope, one checksum, one serializer.

Read `format.py` first: the envelope, and what a version is. `tables.py` has the kinds, `frames.py` the messages, and
`stored.py` what is stored. Decoding is strict: damaged bytes, a foreign group, a wrong type and a missing field without
a default are refused with a reason. Only extra fields after the known ones are ignored: they come from a later release.
"""

from cobandit.codec.format import Format, NotSpokenError, Translated
from cobandit.codec.frames import LARGEST_MESSAGE, FrameCodec, decode, encode, facts_that_fit, size_of_all
from cobandit.codec.stored import (
    StateCodec,
    decode_record,
    decode_snapshot,
    encode_record,
    encode_snapshot,
)
from cobandit.codec.tables import STATE_VERSION, WIRE_VERSION
from cobandit.values.errors import ForeignGroupError, FutureError, OutdatedError, UnknownKindError

__all__ = [
    "LARGEST_MESSAGE",
    "STATE_VERSION",
    "WIRE_VERSION",
    "ForeignGroupError",
    "Format",
    "FrameCodec",
    "FutureError",
    "NotSpokenError",
    "OutdatedError",
    "StateCodec",
    "Translated",
    "UnknownKindError",
    "decode",
    "decode_record",
    "decode_snapshot",
    "encode",
    "encode_record",
    "encode_snapshot",
    "facts_that_fit",
    "size_of_all",
]
