"""Bytes on the wire: what goes in comes out, and what is not a message is refused with a reason."""

from collections.abc import Callable, Sequence
from typing import get_args
from zlib import crc32

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cobandit import AAE, Agent, LocalError, PeerError, Snapshot, on_demand
from cobandit.codec import (
    LARGEST_MESSAGE,
    STATE_VERSION,
    WIRE_VERSION,
    decode,
    decode_record,
    decode_snapshot,
    encode,
    encode_record,
    encode_snapshot,
    facts_that_fit,
)
from cobandit.core import (
    Acknowledgement,
    Adopted,
    Bandit,
    Began,
    Cells,
    Changes,
    Delivery,
    Eliminations,
    Flushed,
    Forgot,
    InputRecord,
    Introduced,
    Limited,
    Message,
    Notice,
    Observed,
    PeerJoined,
    PeerLeft,
    Presence,
    Receipt,
    Received,
    Share,
    Turned,
    Woke,
)
from cobandit.core.messages import MAX_INCARNATION, MAX_NUMBER, MAX_OBSERVATIONS
from cobandit.core.pen_names import SettledBlock
from cobandit.core.replica import MAX_FACTS_PER_MESSAGE
from cobandit.values.errors import FutureError, UnknownKindError
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, ArmTally

# Every field is named: hypothesis makes up those that are not, and takes numbers that no message has (2**64 and more).
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
some_arms = st.lists(names, max_size=4).map(tuple)
counts, numbers = st.integers(0, MAX_OBSERVATIONS), st.integers(0, MAX_NUMBER)
sums, starts = st.integers(0, 2**63 - 1), st.integers(0, MAX_INCARNATION - 1)
tallies = st.lists(st.builds(ArmTally, names, counts, sums, sums), max_size=4).map(tuple)
cells = st.builds(Cells, names, starts, tallies, names, names, numbers)
eliminations = st.builds(Eliminations, names, starts, some_arms)
quanta, seconds = st.integers(1, 10**9), st.floats(0.0, 1e9)
bandits = st.builds(Bandit, names, some_arms, quanta, seconds, st.integers(1, 64), seconds, st.tuples(seconds, seconds))
presences = st.builds(
    Presence,
    *(names, starts, numbers, starts, st.booleans(), some_arms, quanta),
    bandits=st.lists(bandits, max_size=2).map(tuple),
)
settled = st.builds(SettledBlock, names, starts, numbers, st.binary(max_size=32))
all_changes = st.builds(
    Changes,
    numbers,
    numbers,
    st.lists(cells, max_size=3).map(tuple),
    st.lists(eliminations, max_size=2).map(tuple),
    st.lists(presences, max_size=2).map(tuple),
    st.lists(settled, max_size=2).map(tuple),
)
receipts = st.builds(Receipt, starts, numbers, numbers)
deliveries = st.builds(Delivery, starts, numbers, receipts, st.booleans(), st.booleans())
shares = st.builds(Share, names, names, numbers, numbers, all_changes, st.none() | deliveries)
notices = st.builds(Notice, names, names, all_changes, numbers, st.booleans())
acknowledgements = st.builds(Acknowledgement, names, names, deliveries)
messages: st.SearchStrategy[Message] = st.one_of(shares, notices, acknowledgements)

CELLS = Cells("j", 0, (ArmTally("A", 2, 1, 1),))
SHARE = Share("j", "p", 1, 2, Changes(cells=(CELLS,)))
RECEIPT = Receipt(session=4, number=5, held=6)
DELIVERY = Delivery(3, 1, RECEIPT, is_answer=True, is_introduced=True)
ELIMINATED = Eliminations("j", 3, ("B",))
HERE = Presence("j", 3, 4, 3, is_present=True, arms=("A", "B"), units_per_reward=1)
DELIVERED = Share("j", "p", 1, 2, Changes(7, 9, (CELLS,), (ELIMINATED,), (HERE,)), DELIVERY)
NOTICE = Notice("j", "p", Changes(presences=(HERE,)))
ACKNOWLEDGEMENT = Acknowledgement("j", "p", DELIVERY)
ONE_OF_EACH: tuple[Message, ...] = (SHARE, NOTICE, ACKNOWLEDGEMENT)
KINDS = len(ONE_OF_EACH)


def sealed(body: bytes) -> bytes:
    """These bytes behind their checksum, as they would be sent."""
    return crc32(body).to_bytes(4) + body


def frame(*envelope: object) -> bytes:
    """A frame with a right checksum, whatever is in it."""
    return sealed(msgspec.msgpack.encode(envelope))


@given(messages)
def test_a_message_survives_the_wire(message: Message) -> None:
    """Named tuples are equal to each other whatever they are called, so equality alone would not show it."""
    back = decode(encode(message))
    assert back == message
    assert repr(back) == repr(message)


def test_there_is_one_of_each_kind() -> None:
    assert {type(message) for message in ONE_OF_EACH} == set(get_args(Message))


def test_the_numbers_of_the_kinds_never_change() -> None:
    starts = [encode(message)[4:8] for message in ONE_OF_EACH]
    assert starts == [bytes([0x94, 1, 0xA0, kind]) for kind in range(KINDS)]


def test_an_acknowledgement_is_these_bytes() -> None:
    body = b"\x93\xa1j\xa1p\x95\x03\x01\x93\x04\x05\x06\xc3\xc3"
    assert encode(ACKNOWLEDGEMENT) == sealed(b"\x94\x01\xa0\x02" + body)
    assert encode(ACKNOWLEDGEMENT, "ab") == sealed(b"\x94\x01\xa2ab\x02" + body)


def largest(arm_count: int, incarnations: int) -> Share:
    """The longest names of the widest characters, and the largest numbers."""
    arms = [f"{position:04}" + "x" * (LONGEST_NAME - 4) for position in range(arm_count)]
    listed = tuple(ArmTally(arm, MAX_OBSERVATIONS, 2**63 - 1, 2**63 - 1) for arm in arms)
    told = tuple(Cells("j", incarnation, listed) for incarnation in range(incarnations))
    return Share("j", "p", 1, MAX_OBSERVATIONS, Changes(MAX_NUMBER, MAX_NUMBER, told))


def test_the_largest_share_of_one_incarnation_fits_into_a_message() -> None:
    share = largest(MOST_ARMS, 1)
    stored = encode(share)
    assert len(stored) <= LARGEST_MESSAGE
    assert decode(stored) == share


def test_as_many_facts_as_a_message_may_tell_fit_into_one() -> None:
    encode(largest(MOST_ARMS, MAX_FACTS_PER_MESSAGE // MOST_ARMS))


@pytest.mark.parametrize("envelope", [("", 1, ("j", "p")), (1, ("j", "p")), ("of another layout",), ()])
def test_a_message_of_a_later_version_is_refused_as_such_whatever_is_in_it(envelope: tuple[object, ...]) -> None:
    for version in (WIRE_VERSION + 1, 1000):
        text = f"^messages of wire version {version} are refused: this side reads version 1, so upgrade this side$"
        with pytest.raises(FutureError, match=text):
            decode(frame(version, *envelope))


@pytest.mark.parametrize("version", [0, -1, None, True, "1", 1.0])
def test_what_has_no_version_is_not_a_message(version: object) -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused") as refused:
        decode(frame(version, "", 1, NOTICE))
    assert type(refused.value) is PeerError


@pytest.mark.parametrize("kind", [-1, KINDS, 255])
def test_a_message_of_an_unknown_kind_is_refused(kind: int) -> None:
    text = f"^messages of unknown kind {kind} are refused: their sender is of a later release than this side$"
    with pytest.raises(UnknownKindError, match=text):
        decode(frame(WIRE_VERSION, "", kind, ("j", "p")))


@pytest.mark.parametrize("message", [*ONE_OF_EACH, DELIVERED])
def test_a_message_is_read_by_its_own_group_only(message: Message) -> None:
    stored = encode(message, "one")
    assert decode(stored, "one") == message
    with pytest.raises(PeerError, match="a message of group 'one' was refused: this side is of group 'other'"):
        decode(stored, "other")
    with pytest.raises(PeerError, match="a message of group 'one' was refused: this side is of group ''"):
        decode(stored)
    with pytest.raises(PeerError, match="a message of group '' was refused: this side is of group 'one'"):
        decode(encode(message), "one")


@pytest.mark.parametrize("message", [*ONE_OF_EACH, DELIVERED])
def test_every_wrong_bit_is_noticed(message: Message) -> None:
    whole = encode(message)
    for position in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(PeerError, match=f"a message of {len(whole)} bytes was refused: it is damaged"):
            decode(bytes(damaged))


@pytest.mark.parametrize("message", ONE_OF_EACH)
def test_a_message_under_the_number_of_another_kind_is_refused_or_read_as_that_kind(message: Message) -> None:
    """Its first fields may be right for the other kind, and those behind are then taken for fields from later."""
    for kind in range(KINDS):
        wanted = type(ONE_OF_EACH[kind])
        try:
            got = decode(frame(WIRE_VERSION, "", kind, message))
        except PeerError:
            assert wanted is not type(message)
        else:
            assert (type(got), tuple(got)) == (wanted, message[: len(got)])


@pytest.mark.parametrize("message", ONE_OF_EACH)
def test_a_truncated_message_is_refused_wherever_it_is_cut(message: Message) -> None:
    whole = encode(message)
    for length in range(len(whole)):
        with pytest.raises(PeerError, match=r"were refused|was refused: it is damaged"):
            decode(whole[:length])
        with pytest.raises(PeerError, match="bytes that are not a message were refused"):
            decode(sealed(whole[4:length]))


def test_a_message_with_something_behind_it_is_refused() -> None:
    whole = encode(NOTICE)
    text = rf"a message of {len(whole) + 1} bytes was refused: it is damaged \(its checksum is wrong\)"
    with pytest.raises(PeerError, match=text):
        decode(whole + b"\x00")
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(whole[4:] + b"\x00"))


NO_CHANGES = (0, 0, (), (), ())
NO_DELIVERY = (0, 0, (0, 0, 0), False, False)


def changed(whole: tuple[object, ...], place: int, value: object) -> tuple[object, ...]:
    return (*whole[:place], value, *whole[place + 1 :])


WRONG_SHARES: list[object] = [
    changed(SHARE, 0, None),
    changed(SHARE, 0, b"j"),
    changed(SHARE, 1, 7),
    changed(SHARE, 2, "1"),
    changed(SHARE, 2, 1.0),
    changed(SHARE, 2, True),
    changed(SHARE, 3, None),
    changed(SHARE, 4, "changes"),
    changed(SHARE, 5, "delivery"),
    changed(SHARE, 5, ()),
    SHARE[:4],
    {"sender": "j"},
    "share",
]
WRONG_CHANGES: list[object] = [
    changed(NO_CHANGES, 0, "0"),
    changed(NO_CHANGES, 1, 0.5),
    changed(NO_CHANGES, 2, "cells"),
    changed(NO_CHANGES, 2, (("j", 0),)),
    changed(NO_CHANGES, 2, (("j", 0, (("A", 1, 1),)),)),
    changed(NO_CHANGES, 2, (("j", 0, (("A", 1.5, 1, 1),)),)),
    changed(NO_CHANGES, 2, (("j", None, ()),)),
    changed(NO_CHANGES, 2, (("j", 0, (), 7),)),
    changed(NO_CHANGES, 2, (("j", 0, (), "", None),)),
    changed(NO_CHANGES, 2, (("j", 0, (), "", "", "0"),)),
    changed(NO_CHANGES, 3, (("j", 0),)),
    changed(NO_CHANGES, 3, (("j", 0, "A"),)),
    changed(NO_CHANGES, 3, (("j", "0", ()),)),
    changed(NO_CHANGES, 4, (HERE[:6],)),
    changed(NO_CHANGES, 4, (changed(HERE, 1, None),)),
    changed(NO_CHANGES, 4, (changed(HERE, 4, 1),)),
    changed(NO_CHANGES, 4, (changed(HERE, 5, ("A", 1)),)),
]
WRONG_DELIVERIES: list[object] = [
    changed(NO_DELIVERY, 0, "0"),
    changed(NO_DELIVERY, 1, None),
    changed(NO_DELIVERY, 2, None),
    changed(NO_DELIVERY, 2, (0, 0)),
    changed(NO_DELIVERY, 2, (0, 0, 0.5)),
    changed(NO_DELIVERY, 2, ("0", 0, 0)),
    changed(NO_DELIVERY, 3, 1),
    changed(NO_DELIVERY, 4, None),
    NO_DELIVERY[:2],
]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        *((0, body) for body in WRONG_SHARES),
        *((0, changed(SHARE, 4, told)) for told in WRONG_CHANGES),
        *((0, changed(SHARE, 5, delivery)) for delivery in WRONG_DELIVERIES),
        *((1, ("j", "p", told)) for told in WRONG_CHANGES),
        (1, ("j", "p")),
        (1, ("j", "p", None)),
        *((2, ("j", "p", delivery)) for delivery in WRONG_DELIVERIES),
        (2, ("j", "p")),
        (2, ("j", "p", None)),
    ],
)
def test_a_field_of_a_wrong_type_is_refused(kind: int, body: object) -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused: "):
        decode(frame(WIRE_VERSION, "", kind, body))


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (0, ("j", "p", 1, 2, NO_CHANGES), Share("j", "p", 1, 2, Changes(), None)),
        (0, ("j", "p", 1, 2, (), (3, 1, RECEIPT)), Share("j", "p", 1, 2, Changes(), Delivery(3, 1, RECEIPT))),
        (1, ("j", "p", (7, 8)), Notice("j", "p", Changes(7, 8))),
        (1, ("j", "p", (7, 8, (("j", 0, ()),))), Notice("j", "p", Changes(7, 8, (Cells("j", 0, ()),)))),
        (2, ("j", "p", (3, 1, RECEIPT)), Acknowledgement("j", "p", Delivery(3, 1, RECEIPT))),
    ],
)
def test_what_has_a_default_may_be_missing_behind(kind: int, body: object, message: Message) -> None:
    assert decode(frame(WIRE_VERSION, "", kind, body)) == message


MORE_TALLY = ("A", 2, 1, 1, "more")
MORE_CELLS = ("j", 0, (MORE_TALLY,), "", "", 0, "more")
MORE_CHANGES = (7, 9, (MORE_CELLS,), ((*ELIMINATED, "more"),), ((*HERE, "more"),), (), "more")
MORE_DELIVERY = (3, 1, (*RECEIPT, "more", "more"), True, True, "more")


@pytest.mark.parametrize("more", [None, 7, "text", b"bytes", (), ((1, ("deep",)),), {"a": (1,)}])
@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (0, (*SHARE, "more"), SHARE),
        (0, (*DELIVERED[:4], MORE_CHANGES, DELIVERY), DELIVERED),
        (0, (*DELIVERED[:5], MORE_DELIVERY), DELIVERED),
        (0, (*DELIVERED[:4], MORE_CHANGES, MORE_DELIVERY, "more"), DELIVERED),
        (1, ("j", "p", MORE_CHANGES, 3, True, "more"), Notice("j", "p", DELIVERED.changes, 3, is_introduced=True)),
        (2, ("j", "p", MORE_DELIVERY, "more"), ACKNOWLEDGEMENT),
    ],
)
def test_fields_of_a_later_release_are_ignored_however_deep_they_are(
    kind: int, body: tuple[object, ...], message: Message, more: object
) -> None:
    got = decode(frame(WIRE_VERSION, "", kind, _replaced(body, more)))
    assert got == message
    assert repr(got) == repr(message)


def test_a_field_of_a_later_release_in_the_envelope_is_ignored() -> None:
    assert decode(frame(WIRE_VERSION, "", 1, NOTICE, "more", 7)) == NOTICE


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (2, ("j", "p", (*MORE_DELIVERY[:2], ("4", 5, 6, "more"), True, True))),
        (2, ("j", "p", (3, 1, (4, 5), True, True, "more"), "more")),
        (1, ("j", "p", changed(MORE_CHANGES, 2, (("j", 0, (("A", 2, 1),), "", "", 0, "more"),)))),
        (1, ("j",)),
        (0, (*SHARE[:4], "more", None, "more")),
        (0, (*SHARE[:5], "more", "more")),
    ],
)
def test_what_is_wrong_is_refused_also_before_fields_of_a_later_release(kind: int, body: tuple[object, ...]) -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused: "):
        decode(frame(WIRE_VERSION, "", kind, body))


def _replaced(value: object, more: object) -> object:
    if isinstance(value, tuple):
        return tuple(_replaced(entry, more) for entry in value)
    return more if value == "more" else value


def test_a_name_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(b"\x94\x01\xa0\x01\x93\xa1\xff\xa1p\x90"))
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(b"\x94\x01\xa1\xff\x01\x93\xa1j\xa1p\x90"))


def test_a_message_above_the_limit_is_refused_unread() -> None:
    with pytest.raises(PeerError, match=f"a message of {LARGEST_MESSAGE + 1} bytes was refused"):
        decode(encode(NOTICE) + bytes(LARGEST_MESSAGE + 1 - len(encode(NOTICE))))


def test_bytes_that_nest_without_end_are_refused() -> None:
    with pytest.raises(PeerError, match="bytes that are not a message were refused"):
        decode(sealed(b"\x94\x01\xa0\x00" + b"\x91" * 100_000))


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
    agent = Agent("j", AAE(["A", "B"], quantum=0.5), incarnation=3)
    agent.peer_joined("p", ["B", "C"])
    agent.update("B", 0.5, now=1.5)
    told = Changes(cells=(Cells("p", 1, (ArmTally("B", 2, 4, 8),)),))
    agent.receive(Share("p", "j", 1, 2, told), now=2.5)
    agent.peer_left("p")
    return agent.snapshot()


def tolerant_snapshot() -> Snapshot:
    """Of an agent with something in everything that loss tolerance keeps."""
    agent = Agent("j", AAE(["A", "B", "C"], quantum=0.5), on_demand(loss_tolerant=True), incarnation=3)
    agent.peer_joined("p", ["A", "B", "C"])
    agent.update("B", 0.5, now=1.5)
    agent.endpoint.eliminate("A", 2.0)
    earlier, present = Cells("p", 1, (ArmTally("B", 2, 4, 8),)), Cells("p", 4, (ArmTally("C", 1, 0, 0),))
    here = Presence("p", 4, 2, 4, is_present=True, arms=("A", "B", "C"), units_per_reward=2)
    told = Changes(0, 6, (earlier, present), (Eliminations("p", 4, ("C",)),), (here,))
    agent.receive(Share("p", "j", 1, 2, told, Delivery(4, 1, Receipt(3, 1, 1), is_introduced=True)), now=2.5)
    agent.begin(7, 2.75, incarnation=7)
    agent.join(now=3.0)
    return agent.snapshot()


@pytest.mark.parametrize("make", [some_snapshot, tolerant_snapshot])
def test_a_snapshot_survives_storage(make: Callable[[], Snapshot]) -> None:
    back = decode_snapshot(encode_snapshot(make()))
    assert back == make()
    assert type(back) is Snapshot
    assert repr(back) == repr(make())


def test_a_snapshot_of_another_version_is_refused_before_it_is_read() -> None:
    later = frame(STATE_VERSION + 1, "a shape that only a later version knows")
    text = "^the bytes are a snapshot of an agent of state version 2, and this program reads 1: use a "
    with pytest.raises(LocalError, match=text):
        decode_snapshot(later)


def test_a_truncated_snapshot_is_refused_wherever_it_is_cut() -> None:
    whole = encode_snapshot(some_snapshot())
    for length in range(len(whole)):
        with pytest.raises(LocalError, match="the bytes are not a snapshot of an agent"):
            decode_snapshot(whole[:length])


def test_a_message_is_not_a_snapshot() -> None:
    text = "^the bytes are not a snapshot of an agent that this program knows, but something of kind 1$"
    with pytest.raises(LocalError, match=text):
        decode_snapshot(encode(NOTICE))


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


RECORDS: tuple[InputRecord, ...] = (
    Observed((ArmTally("A", 2, 1, 1), ArmTally("B", 1, 0, 0)), 1.5),
    Received(DELIVERED, 2.5),
    PeerJoined("p", ("A", "B"), 0.0),
    PeerLeft("p", 3.0),
    Introduced(4.5),
    Woke(5.5),
    Flushed(7.5),
    Began(9, 8, ("A", "B", "C"), 8.5),
    Forgot("p", 9.5),
    Adopted(Cells("r~1-1", 1, (ArmTally("A", 1, 1, 1),)), (SettledBlock("r~1-1", 1, 0, b"\x01"),), 10.5),
    Turned(3600.0, 11.5),
    Limited(30),
)


@pytest.mark.parametrize("record", [*RECORDS, *(Received(message, 2.5) for message in ONE_OF_EACH)])
def test_a_record_survives_being_persisted(record: InputRecord) -> None:
    back = decode_record(encode_record(record))
    assert back == record
    assert repr(back) == repr(record)


def test_the_numbers_of_the_records_never_change() -> None:
    assert {type(record) for record in RECORDS} == set(get_args(InputRecord))
    assert [encode_record(record)[4:8] for record in RECORDS] == [
        bytes([0x94, 1, 0xA0, kind]) for kind in range(32, 44)
    ]


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"\x94\x01\xa0\x20\x90",
        b"\x94\x01\xa0\x03\x90",
        b"\x94\x01\xa0\x21\x93\x07\x90\x00",
        b"\x94\x01\xa0\x21\x93\x03\x90\xcb\x40\x04\x00\x00\x00\x00\x00\x00",
        b"\x94\x02\xa0\x20\x90",
    ],
)
def test_bytes_that_are_no_record_are_refused(stored: bytes) -> None:
    with pytest.raises(LocalError, match="record"):
        decode_record(sealed(stored))


def test_a_flipped_bit_on_the_disk_is_found_wherever_it_is() -> None:
    record, snapshot = encode_record(Received(DELIVERED, 2.5)), encode_snapshot(some_snapshot())
    for stored, read in ((record, decode_record), (snapshot, decode_snapshot)):
        for place in range(8 * len(stored)):
            flipped = bytearray(stored)
            flipped[place // 8] ^= 1 << place % 8
            with pytest.raises(LocalError, match="their checksum is wrong"):
                read(bytes(flipped))


def test_a_message_that_nobody_would_take_is_not_made() -> None:
    long = tuple(Cells("j", start, (ArmTally("A" * 200, 1, 1, 1),) * 100) for start in range(300))
    with pytest.raises(LocalError, match="bytes is more than anybody takes: the limit is 4194304"):
        encode(Share("j", "p", 1, 1, Changes(cells=long)))


def test_only_messages_and_records_are_encoded() -> None:
    with pytest.raises(LocalError, match="only messages can be encoded"):
        encode(PeerLeft("p", 3.0))  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="only a record can be encoded"):
        encode_record(NOTICE)  # type: ignore[arg-type]


@pytest.mark.parametrize("read", [decode, decode_record, decode_snapshot])
@pytest.mark.parametrize("value", [None, "text", 3])
def test_only_bytes_can_be_decoded(read: Callable[[bytes], object], value: bytes) -> None:
    with pytest.raises(LocalError, match="only bytes can be decoded, not"):
        read(value)


def told(count: int, arms: Sequence[str], name: str) -> Share:
    """The longest message of so many facts: every cell of another incarnation."""
    here = Presence(name, 2**53 - 1, MAX_NUMBER, 2**53 - 1, True, tuple(arms), 10**9)
    gone = Eliminations(name, 2**53 - 1, tuple(arms))
    cells = tuple(
        Cells(name, 2**53 - 1 - place, (ArmTally(max(arms, key=len), MAX_OBSERVATIONS, 2**63 - 1, 2**63 - 1),))
        for place in range(count)
    )
    delivery = Delivery(2**53 - 1, MAX_NUMBER, Receipt(2**53 - 1, MAX_NUMBER, MAX_NUMBER), True, True)
    changes = Changes(MAX_NUMBER, MAX_NUMBER, cells, (gone,), (here,))
    return Share(name, name, MAX_NUMBER, MAX_NUMBER, changes, delivery)


@pytest.mark.parametrize("largest", [4_096, 65_536, 2**20])
@pytest.mark.parametrize("arms", [("A",), tuple(f"arm number {place}" for place in range(40)), ("x" * 200, "B")])
def test_so_many_facts_fit_a_packet(largest: int, arms: tuple[str, ...]) -> None:
    facts = facts_that_fit(largest, arms)
    assert len(encode(told(facts, arms, "n" * LONGEST_NAME), "g" * LONGEST_NAME)) <= largest
    short = len(encode(told(2 * facts + 20, arms, "n" * LONGEST_NAME)))
    assert short > largest  # and not many more do


def test_arms_that_leave_no_room_in_a_packet_are_said() -> None:
    with pytest.raises(LocalError, match="the names of 9 arms leave no room in a packet of 2048 bytes: use fewer arms"):
        facts_that_fit(2_048, ["x" * 100 + str(place) for place in range(9)])
