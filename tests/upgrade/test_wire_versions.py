"""Members of different versions on one network: who reads what, who writes what to whom, and what is refused how."""

import logging
from zlib import crc32

import msgspec
import pytest
from tests.golden_codec import values
from tests.upgrade.scene import GROUP, Scene, known, played, pull, written_to
from tests.upgrade.version_2 import MESSAGES_2, PACKETS, VERSION_2, Remark

from cobandit.codec import Format, FrameCodec, NotSpokenError, encode
from cobandit.codec.format import version_of
from cobandit.core import Message
from cobandit.live.auth.refusal import Refusal
from cobandit.live.drive.asking import Asker
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import AnyControlMessage, Hello
from cobandit.live.machine.guard import MOST_ERRORS, Guard
from cobandit.live.machine.versions import PRESENT, PeerVersions
from cobandit.values.errors import FutureError, LocalError, OutdatedError, PeerError, UnknownKindError

SAID: dict[str, Message | AnyControlMessage] = {**values.MESSAGES, **values.CONTROL_MESSAGES}
ASKED = values.CONTROL_MESSAGES["status asked"]
VERSION_3 = FrameCodec(Format(3, MESSAGES_2), Format(2, MESSAGES_2))


def frame(*envelope: object) -> bytes:
    content = msgspec.msgpack.encode(envelope)
    return crc32(content).to_bytes(4) + content


# What is read.


@pytest.mark.parametrize("name", SAID)
def test_version_2_reads_version_1_and_writes_it_to_the_byte(name: str) -> None:
    stored = control_messages.pack(SAID[name], GROUP)
    assert PACKETS.decode(stored, GROUP) == SAID[name]
    assert PACKETS.encode(SAID[name], GROUP, 1) == stored


@pytest.mark.parametrize("name", SAID)
def test_version_2_reads_what_it_writes_and_version_1_refuses_it_as_what_it_is(name: str) -> None:
    stored = PACKETS.encode(SAID[name], GROUP)
    assert version_of(stored) == 2
    back = PACKETS.decode(stored, GROUP)
    assert (type(back), back) == (type(SAID[name]), SAID[name])
    text = "^messages of wire version 2 are refused: this side reads version 1, so upgrade this side$"
    with pytest.raises(FutureError, match=text):
        control_messages.unpack(stored, GROUP)


@pytest.mark.parametrize("name", SAID)
def test_version_1_reads_a_later_release_of_version_1_whatever_it_added(name: str) -> None:
    version, group, kind, body = msgspec.msgpack.decode(control_messages.pack(SAID[name], GROUP)[4:])
    left_out: dict[type, list[object]] = {
        control_messages.Hello: [[]],  # what is of bandits with names
        control_messages.PenAsked: [[], False],
        control_messages.PenLent: [[], [], [], False],
        control_messages.RewardsTaken: [0],
        control_messages.RewardsToBring: [0],
    }
    body += left_out.get(type(SAID[name]), [])  # what is added later comes behind
    for more in (None, 7, ["deep", ["er"]], {"a": 1}):
        assert control_messages.unpack(frame(version, group, kind, [*body, more]), GROUP) == SAID[name]
        assert control_messages.unpack(frame(version, group, kind, [*body, more, more], more), GROUP) == SAID[name]


def test_a_tuple_without_names_has_no_fields_that_could_be_added() -> None:
    rewards = control_messages.Rewards("ann", (("d1.x", 0.5),))
    assert control_messages.unpack(frame(1, GROUP, 19, ["ann", [["d1.x", 0.5]], "more"]), GROUP) == rewards
    for wrong in ([["d1.x", 0.5, "more"]], [["d1.x"]]):
        with pytest.raises(PeerError, match="bytes that are not a message were refused: Expected `array` of length 2"):
            control_messages.unpack(frame(1, GROUP, 19, ["ann", wrong]), GROUP)


def test_a_field_more_deep_in_a_control_message_is_ignored_too() -> None:
    told = values.CONTROL_MESSAGES["controls told"]
    assert isinstance(told, control_messages.ControlsTold)
    more = [[*setting, "said by phone"] for setting in told.settings]
    assert control_messages.unpack(frame(1, GROUP, 17, [told.sender, more]), GROUP) == told


def test_a_version_before_the_previous_is_refused_and_says_who_must_be_upgraded() -> None:
    text = (
        "^messages of wire version 1 are refused: this side reads version 2 and version 3, so upgrade their sender to "
        "a cobandit of wire version 2 at least$"
    )
    with pytest.raises(OutdatedError, match=text):
        VERSION_3.decode(encode(values.MESSAGES["share"], GROUP), GROUP)
    share = values.MESSAGES["share"]
    assert VERSION_3.decode(PACKETS.encode(share, GROUP), GROUP) == share


def test_only_neighbouring_versions_are_read_together_and_a_kind_has_one_number() -> None:
    with pytest.raises(LocalError, match="version 1 is not the one before 3"):
        FrameCodec(Format(3, {0: Remark}), Format(1, {0: Remark}))
    with pytest.raises(LocalError, match="a kind of value has one number in a format, not two"):
        Format(1, {0: Remark, 1: Remark})


def test_what_a_version_has_no_word_for_is_not_said_in_it() -> None:
    with pytest.raises(NotSpokenError, match=r"^version 1 has no Remark: it came later$"):
        PACKETS.encode(Remark("ann", "hm"), GROUP, 1)
    with pytest.raises(LocalError, match="only messages can be encoded, not Remark"):
        control_messages.PACKETS.encode(Remark("ann", "hm"), GROUP)


# What is refused, and how.


@pytest.mark.parametrize(
    ("packet", "reason", "error"),
    [
        (PACKETS.encode(Remark("eve", "hm"), GROUP), Refusal.FUTURE, FutureError),
        (frame(99, "whatever", {"it": "is"}), Refusal.FUTURE, FutureError),
        (frame(1, GROUP, 60, ["eve", "hm"]), Refusal.UNKNOWN_KIND, UnknownKindError),
    ],
)
def test_what_is_from_later_is_counted_apart_said_once_and_never_leads_to_quarantine(
    packet: bytes, reason: Refusal, error: type[PeerError], caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann", PRESENT)
        for _ in range(100 * MOST_ERRORS):
            ann.frame(packet, "eve")
        await scene.until(lambda: ann.statistics().refused)
        statistics = ann.statistics()
        assert (statistics.refused, statistics.quarantined) == ({reason.name.lower(): 100 * MOST_ERRORS}, ())
        assert (statistics.troubles, statistics.peers) == ((), ())

    with pytest.raises(error):
        control_messages.unpack(packet, GROUP)
    with caplog.at_level(logging.WARNING, "cobandit"):
        played(PACKETS.decode, scene)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("event=packet_refused ann: refused: messages of ")


def test_nobody_is_put_into_quarantine_for_the_version_of_its_program() -> None:
    guard = Guard()
    for reason in (Refusal.FUTURE, Refusal.OUTDATED, Refusal.UNKNOWN_KIND):
        assert not any(guard.refuse(reason, "eve", 0.0) for _ in range(100 * MOST_ERRORS))
    assert guard.admits("eve", 0.0)
    assert {*guard.refusals.values()} == {100 * MOST_ERRORS}


def test_who_only_asks_counts_apart_what_is_from_later() -> None:
    asker = Asker("memory://nobody", group=GROUP)
    for packet in (
        PACKETS.encode(Remark("ann", "hm"), GROUP),
        b"nonsense",
        control_messages.pack(ASKED, "another group"),
    ):
        asker.frame(packet, "ann")
    assert asker.refusals == {Refusal.FUTURE: 1, Refusal.MALFORMED: 1, Refusal.FOREIGN_GROUP: 1}


def test_who_only_asks_does_so_in_the_oldest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_messages, "PACKETS", PACKETS)
    assert version_of(control_messages.pack(ASKED, GROUP)) == 2
    assert version_of(Asker("memory://nobody", group=GROUP)._question) == 1


# What is written.


def test_a_peer_is_written_to_in_the_newest_version_that_both_read_and_in_the_oldest_until_it_is_known() -> None:
    versions = PeerVersions((1, 2))
    assert (versions.of(None), versions.of("ann")) == (1, 1)
    for reads, newest in (((1, 2), 2), ((1,), 1), ((2, 3), 2), ((0,), 1), ((), 1), ((7, 2, 1), 2)):
        versions.heard("ann", reads)
        assert (reads, versions.of("ann")) == (reads, newest)
    assert (versions.of(None), versions.of("bob")) == (1, 1)


def test_a_hello_says_what_is_read_and_one_without_that_is_of_version_1() -> None:
    hello = values.CONTROL_MESSAGES["hello"]
    version, group, kind, body = msgspec.msgpack.decode(control_messages.pack(hello, GROUP)[4:])
    assert body[-3:] == [[1], False, False]
    assert control_messages.unpack(frame(version, group, kind, body[:-3]), GROUP) == hello


def test_a_mixed_fleet_learns_together_each_pair_in_the_newest_version_that_both_read() -> None:
    async def scene(scene: Scene) -> None:
        old = [await scene.node(name, PRESENT) for name in ("a1", "b1")]
        new = [await scene.node(name, VERSION_2) for name in ("c2", "d2")]
        everybody = [*old, *new]
        await scene.until(lambda: all(len(one.statistics().peers) == 3 for one in everybody))
        await scene.until(lambda: (written_to(new[0]).get("d2"), written_to(new[1]).get("c2")) == (2, 2))
        del scene.sent[:]
        for one in everybody:
            pull(one, 5)
        await scene.until(lambda: [known(one) for one in everybody] == [20] * 4)
        assert [written_to(one) for one in everybody] == [
            {"b1": 1, "c2": 1, "d2": 1},
            {"a1": 1, "c2": 1, "d2": 1},
            {"a1": 1, "b1": 1, "d2": 2},
            {"a1": 1, "b1": 1, "c2": 2},
        ]
        spoken = {(one.sender[-1] + str(one.receiver)[-1], one.version) for one in scene.sent}
        assert spoken == {("11", 1), ("12", 1), ("21", 1), ("22", 2)}
        assert [(one.statistics().refused, one.statistics().quarantined) for one in everybody] == [({}, ())] * 4

    played(PACKETS.decode, scene)


def test_a_hello_is_always_in_the_oldest_version_and_so_is_all_that_is_said_before_one_was_heard() -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann", VERSION_2)
        bob = await scene.node("bob", VERSION_2)
        await scene.until(lambda: (written_to(ann), written_to(bob)) == ({"bob": 2}, {"ann": 2}))
        ann.machine.introduction.greet("bob")
        ann.machine.introduction.greet("nobody")
        ann.machine.answer_with("nobody", control_messages.StatusAsked("ann"))
        ann.machine.answer_with("bob", control_messages.StatusAsked("ann"))
        ann.wake()
        await scene.until(lambda: scene.sent[-1].receiver == "ann" and ann.statistics().communication.received > 2)
        said = {(type(one.content), one.receiver, one.version) for one in scene.sent if one.sender == "ann"}
        assert {version for kind, _, version in said if kind is Hello} == {1}
        assert {(receiver, version) for kind, receiver, version in said if kind is control_messages.StatusAsked} == {
            ("nobody", 1),
            ("bob", 2),
        }

    played(PACKETS.decode, scene)


def test_what_came_with_version_2_is_said_to_those_who_read_it_and_others_miss_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(scene: Scene) -> None:
        ann, _, cleo = [
            await scene.node(name, versions)
            for name, versions in (("ann", VERSION_2), ("bob", PRESENT), ("cleo", VERSION_2))
        ]
        await scene.until(lambda: (written_to(ann), written_to(cleo).get("ann")) == ({"bob": 1, "cleo": 2}, 2))
        for peer in ("bob", "cleo", "nobody"):
            ann.machine.answer_with(peer, Remark("ann", "hm"))  # type: ignore[arg-type]
        pull(ann)
        ann.wake()
        await scene.until(lambda: all(known(one) == 1 for one in scene.nodes.values()))
        assert [one[1:] for one in scene.sent if isinstance(one.content, Remark)] == [("cleo", 2, Remark("ann", "hm"))]
        assert {name: one.statistics().refused for name, one in scene.nodes.items()} == {
            "ann": {},
            "bob": {},
            "cleo": {},
        }

    with caplog.at_level(logging.WARNING, "cobandit"):
        played(PACKETS.decode, scene)
    assert caplog.records == []


def test_who_went_back_to_version_1_and_whose_hello_was_lost_is_heard_all_the_same() -> None:
    """It refuses what it cannot read, says hello to whoever wrote it, and is written to in version 1 from then on."""

    async def scene(scene: Scene) -> None:
        ann, bob = await scene.node("ann", VERSION_2), await scene.node("bob", VERSION_2)
        await scene.until(lambda: (written_to(ann), written_to(bob)) == ({"bob": 2}, {"ann": 2}))
        scene.transports["ann"].loses_announcements = True
        await scene.transports["bob"].close()  # it dies without a word
        back = await scene.node("bob", PRESENT, loses_announcements=True)
        pull(ann)
        await scene.until(lambda: known(back) == 1)
        assert (written_to(ann), written_to(back)) == ({"bob": 1}, {"ann": 1})
        assert back.statistics().refused.keys() <= {"future", "stranger"}
        assert back.statistics().refused["future"] >= 1
        assert (ann.statistics().refused, back.statistics().quarantined) == ({}, ())

    played(PACKETS.decode, scene)


def test_who_cannot_be_read_is_told_so_now_and_then_and_not_each_time() -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann", PRESENT)
        await scene.node("eve", VERSION_2)
        await scene.until(lambda: written_to(ann) == {"eve": 1})
        del scene.sent[:]
        for _ in range(1000):
            ann.frame(PACKETS.encode(Remark("eve", "hm"), GROUP), "eve")
        await scene.until(lambda: ann.statistics().refused)
        await ann.synced()
        told = [one[1:] for one in scene.sent if one.sender == "ann" and one.receiver == "eve"]
        assert [one for one in told if isinstance(one[2], Hello)] == [
            ("eve", 1, ann.machine.introduction.hello())
        ] * len(told)
        assert len(told) <= 1  # it may have been answered when the two met, within the same second

    played(PACKETS.decode, scene)
