"""Bytes on the wire: what goes in comes out, and what is not a message is refused with a reason."""

from collections.abc import Callable
from typing import get_args
from zlib import crc32

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cobandit import AAE, Agent, LocalError, PeerError, Snapshot, on_demand
from cobandit.core import (
    Acknowledgement,
    Eliminated,
    Flushed,
    InputRecord,
    Introduced,
    Join,
    Leave,
    Message,
    Observed,
    ObservedMany,
    PeerJoined,
    PeerLeft,
    Received,
    Record,
    Share,
    Woke,
)
from cobandit.core.messages import MOST_BOOTS, MOST_OBSERVATIONS, Handling, Receipt
from cobandit.core.state import SNAPSHOT_VERSION
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, ArmTally
from cobandit.wire import (
    LARGEST_MESSAGE,
    WIRE_VERSION,
    decode,
    decode_record,
    decode_snapshot,
    encode,
    encode_record,
    encode_snapshot,
)

# Every field is named: hypothesis makes up those that are not, and takes numbers that no message has (2**64 and more).
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
counts = st.integers(0, MOST_OBSERVATIONS)
tallies = st.builds(ArmTally, names, counts, counts)
boots = st.integers(0, MOST_BOOTS - 1)
records = st.builds(Record, names, boots, counts, counts, st.lists(tallies, max_size=4).map(tuple))
receipts = st.builds(Receipt, counts, counts, counts, counts, counts, counts)
handlings = st.builds(Handling, counts, counts, st.lists(names, max_size=4).map(tuple), counts, receipts, st.booleans())
shares = st.builds(Share, names, names, counts, counts, st.lists(records, max_size=3).map(tuple), st.none() | handlings)
acknowledgements = st.builds(Acknowledgement, names, names, counts, receipts)
eliminations = st.builds(Eliminated, names, names, names, boots)
joins = st.builds(Join, names, names, st.lists(names, max_size=4).map(tuple), st.integers(1, 2**32), boots, counts)
leaves = st.builds(Leave, names, names, boots, counts)
messages: st.SearchStrategy[Message] = st.one_of(shares, eliminations, joins, leaves, acknowledgements)

SHARE = Share("j", "p", 1, 2, (Record("j", 0, 0, 2, (ArmTally("A", 2, 1),)),))
RECEIPT = Receipt(boot=4, number=5, version=6, eliminated=7, formers=8, notice=9)
HANDLED = SHARE._replace(handling=Handling(3, 1, ("B",), 2, RECEIPT, is_answer=True))
ACKNOWLEDGEMENT = Acknowledgement("j", "p", 3, RECEIPT)
ONE_OF_EACH: tuple[Message, ...] = (
    SHARE,
    Eliminated("j", "p", "A"),
    Join("j", "p", ("A", "B"), 1),
    Leave("j", "p"),
    ACKNOWLEDGEMENT,
)
KINDS = len(ONE_OF_EACH)


def sealed(body: bytes) -> bytes:
    """These bytes behind their checksum, as they would be sent."""
    return crc32(body).to_bytes(4) + body


def frame(*envelope: object) -> bytes:
    """A frame with a right checksum, whatever is in it."""
    return sealed(msgspec.msgpack.encode(envelope))


@given(shares)
def test_a_share_survives_the_wire(share: Share) -> None:
    assert decode(encode(share)) == share


@given(eliminations)
def test_an_elimination_notice_survives_the_wire(notice: Eliminated) -> None:
    assert decode(encode(notice)) == notice


@given(joins)
def test_a_join_notice_survives_the_wire(notice: Join) -> None:
    assert decode(encode(notice)) == notice


@given(leaves)
def test_a_leave_notice_survives_the_wire(notice: Leave) -> None:
    assert decode(encode(notice)) == notice


@given(acknowledgements)
def test_an_acknowledgement_survives_the_wire(acknowledgement: Acknowledgement) -> None:
    assert decode(encode(acknowledgement)) == acknowledgement


@given(messages)
def test_a_message_comes_back_as_the_type_it_was(message: Message) -> None:
    """Named tuples are equal to each other whatever they are called, so equality alone would not show it."""
    back = decode(encode(message))
    assert type(back) is type(message)
    if isinstance(back, Share):
        assert all(type(record) is Record for record in back.records)
        assert all(type(entry) is ArmTally for record in back.records for entry in record.tallies)
        assert back.handling is None or (type(back.handling), type(back.handling.receipt)) == (Handling, Receipt)


def test_there_is_one_of_each_kind() -> None:
    assert [type(message) for message in ONE_OF_EACH] == [Share, Eliminated, Join, Leave, Acknowledgement]
    assert {type(message) for message in ONE_OF_EACH} == set(get_args(Message))


def test_the_numbers_of_the_kinds_never_change() -> None:
    starts = [encode(message)[4:8] for message in ONE_OF_EACH]
    assert starts == [bytes([0x94, 2, 0xA0, kind]) for kind in range(KINDS)]


def test_a_leave_notice_is_these_bytes() -> None:
    assert encode(Leave("j", "p")) == b"\xd7\xf4\x8f\xb0\x94\x02\xa0\x03\x94\xa1j\xa1p\x00\x00"
    assert encode(Leave("j", "p", boot=3, notice=5)) == sealed(b"\x94\x02\xa0\x03\x94\xa1j\xa1p\x03\x05")


def test_a_leave_notice_of_a_group_is_these_bytes() -> None:
    assert encode(Leave("j", "p"), "ab") == sealed(b"\x94\x02\xa2ab\x03\x94\xa1j\xa1p\x00\x00")


def test_a_join_notice_is_these_bytes() -> None:
    start = b"\x94\x02\xa0\x02\x96\xa1j\xa1p\x92\xa1A\xa1B\x01"
    assert encode(Join("j", "p", ("A", "B"), 1)) == sealed(start + b"\x00\x00")
    assert encode(Join("j", "p", ("A", "B"), 1, boot=3, notice=4)) == sealed(start + b"\x03\x04")


def test_an_elimination_notice_is_these_bytes() -> None:
    assert encode(Eliminated("j", "p", "A")) == sealed(b"\x94\x02\xa0\x01\x94\xa1j\xa1p\xa1A\x00")
    assert encode(Eliminated("j", "p", "A", boot=3)) == sealed(b"\x94\x02\xa0\x01\x94\xa1j\xa1p\xa1A\x03")


def test_a_share_is_these_bytes() -> None:
    start = b"\x94\x02\xa0\x00\x96\xa1j\xa1p\x01\x02\x91\x95\xa1j\x00\x00\x02\x91\x93\xa1A\x02\x01"
    assert encode(SHARE) == sealed(start + b"\xc0")
    handling = b"\x96\x03\x01\x91\xa1B\x02\x96\x04\x05\x06\x07\x08\x09"
    assert encode(HANDLED) == sealed(start + handling + b"\xc3")
    asked = HANDLED._replace(handling=Handling(3, 1, ("B",), 2, RECEIPT, is_answer=False))
    assert encode(asked) == sealed(start + handling + b"\xc2")


def test_an_acknowledgement_is_these_bytes() -> None:
    assert encode(ACKNOWLEDGEMENT) == sealed(b"\x94\x02\xa0\x04\x94\xa1j\xa1p\x03\x96\x04\x05\x06\x07\x08\x09")


def test_the_largest_share_fits_into_a_message() -> None:
    """All arms of the largest set, with the longest names of the widest characters and the largest numbers."""
    arms = [f"{position:04}" + "\U0001f3b0" * (LONGEST_NAME - 4) for position in range(MOST_ARMS)]
    listed = tuple(ArmTally(arm, MOST_OBSERVATIONS, MOST_OBSERVATIONS) for arm in arms)
    share = Share("j", "p", 1, MOST_OBSERVATIONS, (Record("j", 0, 0, MOST_OBSERVATIONS, listed),))
    stored = encode(share)
    assert len(stored) <= LARGEST_MESSAGE
    assert decode(stored) == share


def test_a_message_of_another_version_is_refused() -> None:
    for version in (1, WIRE_VERSION + 1):
        text = f"wire version {version} was refused: this side speaks version {WIRE_VERSION}"
        with pytest.raises(PeerError, match=text):
            decode(frame(version, 3, ("j", "p")))
        with pytest.raises(PeerError, match=text):
            decode(frame(version, "", 3, ("j", "p")))


@pytest.mark.parametrize("kind", [-1, KINDS, 255])
def test_a_message_of_an_unknown_kind_is_refused(kind: int) -> None:
    with pytest.raises(PeerError, match=f"a message of unknown kind {kind} was refused"):
        decode(frame(WIRE_VERSION, "", kind, ("j", "p")))


@pytest.mark.parametrize("message", [*ONE_OF_EACH, HANDLED])
def test_a_message_is_read_by_its_own_group_only(message: Message) -> None:
    stored = encode(message, "one")
    assert decode(stored, "one") == message
    with pytest.raises(PeerError, match="a message of group 'one' was refused: this side is of group 'other'"):
        decode(stored, "other")
    with pytest.raises(PeerError, match="a message of group 'one' was refused: this side is of group ''"):
        decode(stored)
    with pytest.raises(PeerError, match="a message of group '' was refused: this side is of group 'one'"):
        decode(encode(message), "one")


@pytest.mark.parametrize("message", [*ONE_OF_EACH, HANDLED])
def test_every_wrong_bit_is_noticed(message: Message) -> None:
    whole = encode(message)
    for position in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(PeerError, match=f"a message of {len(whole)} bytes was refused: it is damaged"):
            decode(bytes(damaged))


@pytest.mark.parametrize("message", ONE_OF_EACH)
def test_a_message_under_the_number_of_another_kind_is_refused(message: Message) -> None:
    for kind in range(KINDS):
        if type(ONE_OF_EACH[kind]) is not type(message):
            with pytest.raises(PeerError, match="bytes that are not a message were refused"):
                decode(frame(WIRE_VERSION, "", kind, message))


@pytest.mark.parametrize("message", ONE_OF_EACH)
def test_a_truncated_message_is_refused_wherever_it_is_cut(message: Message) -> None:
    whole = encode(message)
    for length in range(len(whole)):
        with pytest.raises(PeerError, match=r"were refused|was refused: it is damaged"):
            decode(whole[:length])
        with pytest.raises(PeerError, match="bytes that are not a message were refused"):
            decode(sealed(whole[4:length]))


def test_a_message_with_something_behind_it_is_refused() -> None:
    whole = encode(Leave("j", "p"))
    with pytest.raises(PeerError, match=r"a message of 16 bytes was refused: it is damaged \(its checksum is wrong\)"):
        decode(whole + b"\x00")
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(whole[4:] + b"\x00"))


@pytest.mark.parametrize(
    "body",
    [
        ("j", "p", "1", 2, ()),
        ("j", "p", 1.0, 2, ()),
        ("j", "p", True, 2, ()),
        ("j", 7, 1, 2, ()),
        (None, "p", 1, 2, ()),
        (b"j", "p", 1, 2, ()),
        ("j", "p", 1, 2, "records"),
        ("j", "p", 1, 2, (("j", 0, 0, 1, (("A", 1.5, 1),)),)),
        ("j", "p", 1, 2, (("j", 0, 0, 1, (("A", 1),)),)),
        ("j", "p", 1, 2, (("j", 0, 0, 1),)),
        ("j", "p", 1, 2),
        ("j", "p", 1, 2, (), "more"),
        ("j", "p", 1, 2, (), None, "more"),
        ("j", "p", 1, 2, (), ()),
        ("j", "p", 1, 2, (), (0, 0, (), 0)),
        ("j", "p", 1, 2, (), (0, 0, (), 0, None)),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0))),
        ("j", "p", 1, 2, (), (0, 0, "A", 0, (0, 0, 0, 0, 0))),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0, 0.5))),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0, 0, 0.5))),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0, 0, None))),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0, 0, 0, 0))),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0, 0, 0), 1)),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0, 0, 0), None)),
        ("j", "p", 1, 2, (), (0, 0, (), 0, (0, 0, 0, 0, 0, 0), False, 0)),
        {"sender": "j"},
        "share",
    ],
)
def test_a_share_with_a_field_of_a_wrong_type_is_refused(body: object) -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused: "):
        decode(frame(WIRE_VERSION, "", 0, body))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (1, ("j", "p")),
        (1, ("j", "p", "A", "0")),
        (1, ("j", "p", "A", None)),
        (1, ("j", "p", "A", 0, 0)),
        (2, ("j", "p", ("A",))),
        (2, ("j", "p", ("A",), 1, 0.0, 0)),
        (2, ("j", "p", ("A",), 1, 0, "2")),
        (2, ("j", "p", ("A",), 1, 0, 2, 0)),
        (3, ("j",)),
        (3, ("j", "p", True, 0)),
        (3, ("j", "p", 0, None)),
        (3, ("j", "p", 0, 1, 0)),
        (4, ("j", "p", 0)),
        (4, ("j", "p", 0, (0, 0, 0, 0))),
        (4, ("j", "p", 0, (0, 0, 0, 0, 0, "0"))),
        (4, ("j", "p", 0, (0, 0, 0, 0, 0, 0, 0))),
    ],
)
def test_a_notice_or_an_acknowledgement_with_a_field_of_a_wrong_type_is_refused(kind: int, body: object) -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused: "):
        decode(frame(WIRE_VERSION, "", kind, body))


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (0, ("j", "p", 1, 2, ()), Share("j", "p", 1, 2, (), None)),
        (
            0,
            ("j", "p", 1, 2, (), (3, 1, (), 0, (4, 5, 6, 7, 8))),
            Share("j", "p", 1, 2, (), Handling(3, 1, (), 0, RECEIPT._replace(notice=0), is_answer=False)),
        ),
        (1, ("j", "p", "A"), Eliminated("j", "p", "A", boot=0)),
        (2, ("j", "p", ("A",), 1), Join("j", "p", ("A",), 1, boot=0, notice=0)),
        (3, ("j", "p"), Leave("j", "p", boot=0, notice=0)),
        (4, ("j", "p", 3, (4, 5, 6, 7, 8)), ACKNOWLEDGEMENT._replace(receipt=RECEIPT._replace(notice=0))),
    ],
)
def test_only_what_loss_tolerance_adds_may_be_missing_behind_and_is_then_nothing(
    kind: int, body: object, message: Message
) -> None:
    assert decode(frame(WIRE_VERSION, "", kind, body)) == message


def test_a_name_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(b"\x94\x02\xa0\x03\x94\xa1\xff\xa1p\x00\x00"))
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(b"\x94\x02\xa1\xff\x03\x94\xa1j\xa1p\x00\x00"))


def test_a_message_above_the_limit_is_refused_unread() -> None:
    with pytest.raises(PeerError, match=f"a message of {LARGEST_MESSAGE + 1} bytes was refused"):
        decode(encode(Leave("j", "p")) + bytes(LARGEST_MESSAGE + 1 - len(encode(Leave("j", "p")))))


def test_bytes_that_nest_without_end_are_refused() -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(b"\x94\x02\xa0\x00" + b"\x91" * 100_000))


@given(st.binary(max_size=200))
@example(b"")
@example(bytes(4))
@example(b"\xc1")
def test_arbitrary_bytes_are_the_error_of_a_peer(received: bytes) -> None:
    with pytest.raises(PeerError, match="refused"):
        decode(received)


@given(st.binary(max_size=200))
@example(b"")
@example(b"\x90")
@example(b"\xc1")
def test_arbitrary_bytes_with_a_right_checksum_are_a_message_or_the_error_of_a_peer(received: bytes) -> None:
    try:
        message = decode(sealed(received))
    except PeerError:
        return
    assert decode(encode(message)) == message


@given(messages, st.data())
def test_a_message_with_a_wrong_byte_and_a_right_checksum_is_a_message_or_the_error_of_a_peer(
    message: Message, data: st.DataObject
) -> None:
    damaged = bytearray(encode(message))[4:]
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        got = decode(sealed(bytes(damaged)))
    except PeerError:
        return
    assert type(got) in get_args(Message)
    assert decode(encode(got)) == got


def some_snapshot() -> Snapshot:
    agent = Agent("j", AAE(["A", "B"], quantum=0.5), boot=3)
    agent.peer_joined("p", ["B", "C"])
    agent.update("B", 0.5, now=1.5)
    agent.receive(Share("p", "j", 1, 2, (Record("p", 1, 0, 2, (ArmTally("B", 2, 4),)),)), now=2.5)
    agent.peer_left("p")
    return agent.snapshot()


def tolerant_snapshot() -> Snapshot:
    """Of an agent with something in everything that loss tolerance keeps."""
    agent = Agent("j", AAE(["A", "B", "C"], quantum=0.5), on_demand(loss_tolerant=True), boot=3)
    agent.peer_joined("p", ["A", "B", "C"])
    agent.update("B", 0.5, now=1.5)
    agent.endpoint.eliminate("A", 2.0)
    handling = Handling(4, 1, ("C",), 2, Receipt(3, 1, 1, 1, 0))
    former = Record("p", 1, 0, 2, (ArmTally("B", 2, 4),))
    agent.receive(Share("p", "j", 1, 2, (former, Record("p", 4, 0, 1, (ArmTally("C", 1, 0),))), handling), now=2.5)
    agent.join(now=3.0)
    return agent.snapshot()


@pytest.mark.parametrize("make", [some_snapshot, tolerant_snapshot])
def test_a_snapshot_survives_storage(make: Callable[[], Snapshot]) -> None:
    back = decode_snapshot(encode_snapshot(make()))
    assert back == make()
    assert type(back) is Snapshot
    assert repr(back) == repr(make())


def test_a_snapshot_of_another_version_is_refused_before_it_is_read() -> None:
    later = frame(SNAPSHOT_VERSION + 1, "a shape that only a later version knows")
    with pytest.raises(LocalError, match="the snapshot has version 4, this program reads version 3: use the version"):
        decode_snapshot(later)


def test_a_truncated_snapshot_is_refused_wherever_it_is_cut() -> None:
    whole = encode_snapshot(some_snapshot())
    for length in range(len(whole)):
        with pytest.raises(LocalError, match="the bytes are not a snapshot of an agent"):
            decode_snapshot(whole[:length])


def test_a_message_is_not_a_snapshot() -> None:
    with pytest.raises(LocalError, match="the snapshot has version 2, this program reads version 3"):
        decode_snapshot(encode(Leave("j", "p")))


def test_a_snapshot_that_nests_without_end_is_refused() -> None:
    with pytest.raises(LocalError, match="the bytes are not a snapshot of an agent"):
        decode_snapshot(b"\x92\x01" + b"\x91" * 100_000)


@given(st.binary(max_size=200))
@example(b"")
def test_arbitrary_bytes_are_never_a_snapshot(stored: bytes) -> None:
    with pytest.raises(LocalError, match="snapshot"):
        decode_snapshot(stored)


@given(st.data())
def test_a_snapshot_with_a_wrong_byte_is_a_snapshot_or_the_error_of_the_caller(data: st.DataObject) -> None:
    damaged = bytearray(encode_snapshot(some_snapshot()))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        got = decode_snapshot(bytes(damaged))
    except LocalError:
        return
    assert type(got) is Snapshot


@pytest.mark.parametrize(
    "record",
    [
        Observed("A", 3, 1.5),
        Received(SHARE, 2.5),
        Received(HANDLED, 2.5),
        Received(ACKNOWLEDGEMENT, 2.5),
        Received(Leave("j", "p"), 2.5),
        PeerJoined("p", ("A", "B"), 0.0),
        PeerLeft("p", 3.0),
        Introduced(4.5),
        Woke(5.5),
        ObservedMany((ArmTally("A", 2, 1), ArmTally("B", 1, 0)), 6.5),
        Flushed(7.5),
    ],
)
def test_a_record_survives_being_persisted(record: InputRecord) -> None:
    back = decode_record(encode_record(record))
    assert back == record
    assert type(back) is type(record)


def test_the_numbers_of_the_records_never_change() -> None:
    of_each: tuple[InputRecord, ...] = (
        Observed("A", 3, 1.5),
        Received(SHARE, 2.5),
        PeerJoined("p", ("A", "B"), 0.0),
        PeerLeft("p", 3.0),
        Introduced(4.5),
        Woke(5.5),
        ObservedMany((ArmTally("A", 2, 1),), 6.5),
        Flushed(7.5),
    )
    assert [encode_record(record)[4:7] for record in of_each] == [bytes([0x93, 2, kind]) for kind in range(8)]


@pytest.mark.parametrize("stored", [b"", b"\x93\x01\x00\x90", b"\x93\x02\x09\x90", b"\x93\x02\x01\x92\xc4\x01\x00\x00"])
def test_bytes_that_are_no_record_are_refused(stored: bytes) -> None:
    with pytest.raises(LocalError, match="record"):
        decode_record(sealed(stored))


def test_a_flipped_bit_on_the_disk_is_found_wherever_it_is() -> None:
    record, snapshot = encode_record(Received(HANDLED, 2.5)), encode_snapshot(some_snapshot())
    for stored, read in ((record, decode_record), (snapshot, decode_snapshot)):
        for place in range(8 * len(stored)):
            flipped = bytearray(stored)
            flipped[place // 8] ^= 1 << place % 8
            with pytest.raises(LocalError, match="their checksum is wrong"):
                read(bytes(flipped))


def test_a_message_that_nobody_would_take_is_not_made() -> None:
    long = tuple(Record("j", boot, 0, 1, (ArmTally("A" * 200, 1, 1),) * 100) for boot in range(300))
    with pytest.raises(LocalError, match="bytes is more than anybody takes: the limit is 4194304"):
        encode(Share("j", "p", 1, 1, long))


def test_only_messages_and_records_are_encoded() -> None:
    with pytest.raises(LocalError, match="only messages can be encoded"):
        encode(PeerLeft("p", 3.0))  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="only the records of an outcome can be encoded"):
        encode_record(Leave("j", "p"))  # type: ignore[arg-type]


@pytest.mark.parametrize("read", [decode, decode_record, decode_snapshot])
@pytest.mark.parametrize("value", [None, "text", 3])
def test_only_bytes_can_be_decoded(read: Callable[[bytes], object], value: bytes) -> None:
    with pytest.raises(LocalError, match="only bytes can be decoded, not"):
        read(value)
