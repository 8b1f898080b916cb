"""Seals: what they let in, what they refuse, and that nothing raises."""

import asyncio
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from hypothesis import given
from hypothesis import strategies as st

from cobandit.live.auth import anti_replay
from cobandit.live.auth import identity_seal as identity_seal_module
from cobandit.live.auth.anti_replay import WIDTH, ReplayWindows
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.identity_seal import INTRODUCTIONS_A_SECOND, IdentitySeal
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.seal import LARGEST_CLOCK_DIFFERENCE, GroupSeal, Opened, Rejected, Seal
from cobandit.live.auth.veil import LONGEST, unveiled, veiled
from cobandit.live.transports.memory import Hub, MemoryTransport
from cobandit.live.transports.sealed import Sealed
from cobandit.values.errors import LocalError, NotNowError
from lab.diary import Diary

Identities = Callable[[str], Identity]
SECRET = "a secret of a group"


def seal(name: str, group: str = "homepage", secret: str = SECRET) -> Seal:
    made = GroupSeal(secret)
    made.begin(name, group)
    return made


def identity_seal(identity: Identity) -> IdentitySeal:
    made = IdentitySeal(identity)
    made.begin(identity.name, identity.group)
    return made


def acquainted(a: Seal, b: Seal, names: tuple[str, str] = ("a", "b")) -> None:
    """Let two seals open something of each other, so that what follows is as short as it gets."""
    assert isinstance(b.unwrap(a.wrap(names[1], b"hello")), Opened)
    assert isinstance(a.unwrap(b.wrap(names[0], b"hello")), Opened)
    assert isinstance(b.unwrap(a.wrap(names[1], b"hello")), Opened)


@pytest.fixture(params=["group", "identity", "identity acquainted"])
def pair(request: pytest.FixtureRequest, member: Identities) -> tuple[Seal, Seal, Seal]:
    """Seals of a, b and c."""
    if request.param == "group":
        return seal("a"), seal("b"), seal("c")
    a, b, c = (identity_seal(member(name)) for name in "abc")
    if request.param == "identity acquainted":
        acquainted(a, b)
        acquainted(a, c, ("a", "c"))
        acquainted(b, c, ("b", "c"))
    return a, b, c


def test_what_is_wrapped_is_opened_with_its_sender(pair: tuple[Seal, Seal, Seal]) -> None:
    a, b, _ = pair
    is_proved = isinstance(a, IdentitySeal)  # of a group that shares a secret, each can pose as another
    for payload in (b"", b"x", bytes(range(256)) * 100):
        assert b.unwrap(a.wrap("b", payload)) == Opened("a", payload, is_proved)
        assert b.unwrap(a.wrap(None, payload)) == Opened("a", payload, is_proved)
        assert a.unwrap(b.wrap("a", payload)) == Opened("b", payload, is_proved)
        assert len(a.wrap("b", payload)) <= len(payload) + a.overhead
        assert len(a.wrap(None, payload)) <= len(payload) + a.overhead


def test_a_packet_is_opened_once(pair: tuple[Seal, Seal, Seal]) -> None:
    a, b, _ = pair
    for receiver in ("b", None):
        packet = a.wrap(receiver, b"x")
        assert isinstance(b.unwrap(packet), Opened)
        assert b.unwrap(packet) == Rejected(Refusal.REPLAYED, "a")


def test_a_number_from_far_ahead_under_a_name_does_not_make_what_its_owner_sends_a_replay() -> None:
    a, b, impostor = seal("a"), seal("b"), GroupSeal(SECRET)
    impostor.begin("a", "homepage")
    for sequence in (2**64 - 2, time.time_ns() + 2 * LARGEST_CLOCK_DIFFERENCE):
        impostor._sequence = sequence
        assert b.unwrap(impostor.wrap("b", b"x")) == Rejected(Refusal.ABSURD, "a")
    assert b.unwrap(a.wrap("b", b"x")) == Opened("a", b"x", is_proved=False)


def test_a_member_whose_clock_is_somewhat_ahead_is_heard() -> None:
    a, b = GroupSeal(SECRET), seal("b")
    a.begin("a", "homepage")
    a._sequence += LARGEST_CLOCK_DIFFERENCE // 2
    assert b.unwrap(a.wrap("b", b"x")) == Opened("a", b"x", is_proved=False)


def test_packets_may_overtake_each_other(pair: tuple[Seal, Seal, Seal]) -> None:
    a, b, _ = pair
    packets = [a.wrap("b", bytes([n])) for n in range(20)]
    for packet in reversed(packets):
        assert isinstance(b.unwrap(packet), Opened)
    assert {b.unwrap(packet) for packet in packets} == {Rejected(Refusal.REPLAYED, "a")}


def test_a_packet_for_another_receiver_is_refused(pair: tuple[Seal, Seal, Seal]) -> None:
    a, _, c = pair
    assert c.unwrap(a.wrap("b", b"x")) == Rejected(Refusal.FORGED, "a")


def test_ones_own_packet_that_comes_back_is_refused(pair: tuple[Seal, Seal, Seal]) -> None:
    a, _, _ = pair
    for receiver in ("a", "b", None):
        result = a.unwrap(a.wrap(receiver, b"x"))
        assert isinstance(result, Rejected)


def test_no_bit_of_a_packet_can_be_changed(pair: tuple[Seal, Seal, Seal]) -> None:
    a, b, _ = pair
    packet = a.wrap("b", b"frame")
    for at in range(len(packet)):
        for bit in (1, 128):
            changed = packet[:at] + bytes([packet[at] ^ bit]) + packet[at + 1 :]
            assert isinstance(b.unwrap(changed), Rejected), at
    for end in range(len(packet)):
        assert isinstance(b.unwrap(packet[:end]), Rejected)
    assert isinstance(b.unwrap(packet + b"x"), Rejected)
    assert isinstance(b.unwrap(packet), Opened)  # none of that has changed anything


@given(
    packet=st.binary(max_size=400), kind=st.sampled_from([b"", b"\x41", b"\x42", b"\x51", b"\x52", b"\x53", b"\x54"])
)
def test_garbage_is_refused_and_raises_nothing(packet: bytes, kind: bytes, member: Identities) -> None:
    for receiver in (seal("b"), identity_seal(member("b"))):
        assert isinstance(receiver.unwrap(kind + packet), Rejected)


@pytest.mark.parametrize("empty", [b"", b"x", b"\x41" + bytes(20)])
def test_what_is_too_short_is_malformed(empty: bytes, member: Identities) -> None:
    for receiver in (seal("b"), identity_seal(member("b"))):
        assert receiver.unwrap(empty) == Rejected(Refusal.MALFORMED)


def test_a_restarted_sender_is_understood_and_its_former_packets_are_not(pair: tuple[Seal, Seal, Seal]) -> None:
    a, b, _ = pair
    former = [a.wrap("b", b"x") for _ in range(3)]
    assert isinstance(b.unwrap(former[0]), Opened)
    a.begin("a", "homepage")
    assert isinstance(b.unwrap(a.wrap("b", b"new")), Opened)
    assert b.unwrap(former[0]) == Rejected(Refusal.REPLAYED, "a")


def test_another_secret_is_forged_and_another_group_is_foreign() -> None:
    b = seal("b")
    assert b.unwrap(seal("a", secret=SECRET + "!").wrap("b", b"x")) == Rejected(Refusal.FORGED, "a")
    assert b.unwrap(seal("a", group="shop").wrap("b", b"x")) == Rejected(Refusal.FOREIGN_GROUP)


def test_the_same_secret_in_another_group_makes_other_codes() -> None:
    foreign, own = GroupSeal(SECRET), GroupSeal(SECRET)
    foreign.begin("a", "shop")
    own.begin("b", "homepage")
    foreign._group = own._group  # as if the short digests of the two names were the same
    assert own.unwrap(foreign.wrap("b", b"x")) == Rejected(Refusal.FORGED, "a")


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(LocalError, match="openssl rand"):
        GroupSeal("short")


def test_a_certificate_of_a_group_of_the_same_name_is_a_strangers(member: Identities, stranger: Identities) -> None:
    b = identity_seal(member("b"))
    for receiver in ("b", None):
        assert b.unwrap(identity_seal(stranger("a")).wrap(receiver, b"x")) == Rejected(Refusal.STRANGER, "a")


def test_an_identity_seals_for_its_own_name_and_group_only(member: Identities) -> None:
    with pytest.raises(LocalError, match="proves the name"):
        IdentitySeal(member("a")).begin("b", "homepage")
    with pytest.raises(LocalError, match="is for the group"):
        IdentitySeal(member("a")).begin("a", "shop")


def test_members_cannot_pose_as_each_other(member: Identities) -> None:
    a, b, c = (identity_seal(member(name)) for name in "abc")
    acquainted(a, b)
    acquainted(c, b, ("c", "b"))
    for packet in (c.wrap("b", b"x"), c.wrap(None, b"x")):
        at = packet.index(b"\x00\x01c")
        posing = packet[: at + 2] + b"a" + packet[at + 3 :]
        result = b.unwrap(posing)
        assert isinstance(result, Rejected)
        assert result.reason in {Refusal.FORGED, Refusal.STRANGER}
    # Nor with the certificate of the other, which is no secret.
    c._name = b"a"
    assert b.unwrap(c.wrap("b", b"x")) == Rejected(Refusal.FORGED, "a")
    assert b.unwrap(c.wrap(None, b"x")) == Rejected(Refusal.STRANGER, "a")
    c._certificate = a._certificate
    assert b.unwrap(c.wrap("b", b"x")) == Rejected(Refusal.FORGED, "a")
    assert b.unwrap(c.wrap(None, b"x")) == Rejected(Refusal.FORGED, "a")


def test_certificates_are_attached_until_the_peer_shows_that_it_knows(member: Identities) -> None:
    a, b = identity_seal(member("a")), identity_seal(member("b"))
    certificate = member("a").certificate_der
    first = a.wrap("b", b"1")
    assert certificate in first
    assert isinstance(b.unwrap(first), Opened)
    assert certificate in a.wrap("b", b"2")  # nothing was heard of b yet
    answer = b.wrap("a", b"3")
    assert isinstance(a.unwrap(answer), Opened)
    assert certificate not in a.wrap("b", b"4")
    assert isinstance(b.unwrap(a.wrap("b", b"5")), Opened)
    assert member("b").certificate_der not in b.wrap("a", b"6")


def test_a_receiver_that_has_forgotten_everybody_introduces_itself_and_understands_the_next(member: Identities) -> None:
    a, b = identity_seal(member("a")), identity_seal(member("b"))
    acquainted(a, b)
    again = identity_seal(member("b"))
    assert again.unwrap(a.wrap("b", b"lost")) == Rejected(Refusal.STRANGER, "a", introduce=True)
    introduction = again.introduction("a")
    assert introduction is not None
    assert a.unwrap(introduction) == Opened("b", b"")
    assert again.unwrap(a.wrap("b", b"heard")) == Opened("a", b"heard")


def test_introductions_are_few(member: Identities) -> None:
    clock = [member("a").valid_from + 1.0]
    a = IdentitySeal(member("a"), now=lambda: clock[0])
    a.begin("a", "homepage")
    assert sum(a.introduction(str(n)) is not None for n in range(100)) == INTRODUCTIONS_A_SECOND
    clock[0] += 1.0
    assert a.introduction("b") is not None


def test_a_certificate_that_expires_is_refused_from_then_on(member: Identities) -> None:
    clock = [member("b").valid_from + 1.0]
    a, b = identity_seal(member("a")), IdentitySeal(member("b"), now=lambda: clock[0])
    b.begin("b", "homepage")
    clock[0] = member("a").valid_until
    acquainted(a, b)
    clock[0] += 1.0
    assert b.unwrap(a.wrap("b", b"x")) == Rejected(Refusal.STRANGER, "a")
    assert b.unwrap(a.wrap(None, b"x")) == Rejected(Refusal.STRANGER, "a")


def test_a_new_certificate_of_a_known_member_takes_over(
    member: Identities, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from cobandit.live.auth.keys import issue  # noqa: PLC0415

    a, b = identity_seal(member("a")), identity_seal(member("b"))
    acquainted(a, b)
    renewed = Identity.load(issue("a", member("a").path.parent, out=tmp_path_factory.mktemp("new") / "a.pem"))
    acquainted(identity_seal(renewed), b)


def test_windows_slide_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    windows = ReplayWindows()
    assert windows.admit("a", 10_000)
    assert windows.admit("a", 10_000 - WIDTH + 1)
    assert not windows.admit("a", 10_000 - WIDTH)
    assert windows.admit("a", 2**64 - 1)
    assert not windows.admit("a", 10_001)
    monkeypatch.setattr(anti_replay, "MOST_SENDERS", 2)
    assert windows.admit("b", 1)
    assert windows.admit("c", 1)
    assert len(windows._windows) == 2
    assert not windows.admit("c", 1)


def test_a_sealed_transport_delivers_both_ways_and_names_the_sender_if_it_is_proved(member: Identities) -> None:
    async def run(seals: tuple[Seal, Seal], proved: str | None) -> None:
        hub = Hub()
        inboxes = Diary(), Diary()
        a, b = (Sealed(MemoryTransport(hub), one) for one in seals)
        await a.open("a", "homepage", inboxes[0])
        await b.open("b", "homepage", inboxes[1])
        assert a.send("b", b"to b")
        a.announce(b"to all")
        await inboxes[1].hears(b"to b", b"to all")
        assert b.send("a", b"to a")
        await inboxes[0].hears(b"to a")
        assert {sender for _, sender in inboxes[1].frames} == {proved}
        assert inboxes[0].reached == [None]
        with pytest.raises(LocalError, match="more than this transport carries"):
            a.send("b", bytes(a.largest_frame + 1))
        assert a.send("b", bytes(a.largest_frame))
        await inboxes[1].hears(bytes(a.largest_frame))
        await a.close()
        await b.close()

    asyncio.run(run((GroupSeal(SECRET), GroupSeal(SECRET)), None))
    asyncio.run(run((IdentitySeal(member("a")), IdentitySeal(member("b"))), "a"))


def test_a_sealed_transport_counts_what_it_refuses_and_heals_after_a_restart(member: Identities) -> None:
    async def run() -> None:
        hub = Hub()
        ear, other = Diary(), Diary()
        a, b, bare = Sealed(MemoryTransport(hub), IdentitySeal(member("a"))), None, MemoryTransport(hub)
        await a.open("a", "homepage", ear)
        await bare.open("x", "homepage", Diary())
        bare.send("a", b"nonsense")
        await ear.until(lambda _: ear.reasons() == [Refusal.MALFORMED])
        for _ in range(2):
            b = Sealed(MemoryTransport(hub), IdentitySeal(member("b")))
            await b.open("b", "homepage", other)
            while not any(frame == b"to b" for frame, _ in other.frames):
                a.send("b", b"to b")
                await other.until(lambda _: other.frames or other.refusals)
                other.refusals.clear()
            b.send("a", b"to a")
            await ear.until(lambda _: (b"to a", "b") in ear.frames)
            ear.frames.clear()
            other.frames.clear()
            await b.close()
        assert set(ear.reached) == {None, "b"}  # so that a says again what the second b did not understand
        await a.close()

    asyncio.run(run())


def test_a_new_key_is_agreed_on_with_each_member_when_it_is_first_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_group("g", tmp_path)
    a, b, c = (identity_seal(Identity.load(issue(name, tmp_path))) for name in "abc")
    acquainted(a, b)
    acquainted(a, c, ("a", "c"))
    computed: list[str] = []
    compute = identity_seal_module._Peer._computed

    def counted(self: identity_seal_module._Peer, own: EllipticCurvePrivateKey) -> blake2b:
        computed.append(self.name)
        return compute(self, own)

    monkeypatch.setattr(identity_seal_module._Peer, "_computed", counted)
    issue("a", tmp_path, out=tmp_path / "new.pem").replace(tmp_path / "a.pem")
    assert a.refresh().is_renewed
    assert computed == []
    assert a.unwrap(b.wrap("a", b"for the key before")) == Opened("b", b"for the key before")
    assert computed == ["b", "b"]
    assert a.unwrap(b.wrap("a", b"again")) == Opened("b", b"again")
    assert computed == ["b", "b"]
    assert isinstance(c.unwrap(a.wrap("c", b"with the new one")), Opened)
    assert computed == ["b", "b", "c", "a"]  # the last one by c itself, which has not seen the new certificate before


# What is veiled.


def test_what_is_veiled_for_a_member_nobody_outside_reads(pair: tuple[Seal, Seal, Seal]) -> None:
    a, b, c = pair
    if isinstance(a, IdentitySeal) and not a._peers:
        with pytest.raises(NotNowError, match="has not shown its certificate"):
            a.veil("b", b"about", b"a signing key")
        acquainted(a, b)
        acquainted(a, c, ("a", "c"))
    said = a.veil("b", b"about", b"a signing key")
    assert b"signing" not in said
    assert b.unveil("a", b"about", said) == b"a signing key"
    assert a.veil("b", b"about", b"a signing kez")[16:-1] != said[16:-1]  # no stream is used for two secrets
    assert c.unveil("a", b"about", said) == (b"a signing key" if isinstance(c, GroupSeal) else None)
    assert seal("b", secret="a secret of another group").unveil("a", b"about", said) is None
    assert seal("b", group="another").unveil("a", b"about", said) is None
    assert b.unveil("a", b"about something else", said) is None
    assert b.unveil("stranger", b"about", said) == (b"a signing key" if isinstance(b, GroupSeal) else None)
    for place in range(len(said)):
        changed = said[:place] + bytes([said[place] ^ 1]) + said[place + 1 :]
        assert b.unveil("a", b"about", changed) is None
    for wrong in (b"", said[:16], said + b"x", bytes(1000)):
        assert b.unveil("a", b"about", wrong) is None


def test_what_is_too_long_for_a_veil_is_refused_and_not_cut() -> None:
    assert unveiled(bytes(32), b"about", veiled(bytes(32), b"about", bytes(LONGEST))) == bytes(LONGEST)
    with pytest.raises(ValueError, match="at most 64 bytes, not 65"):
        veiled(bytes(32), b"about", bytes(LONGEST + 1))


def test_what_is_veiled_is_read_while_secrets_and_keys_are_replaced(tmp_path: Path, member: Identities) -> None:
    sender, receiver = GroupSeal(("a new secret of a group", SECRET)), GroupSeal((SECRET, "a new secret of a group"))
    for one, name in ((sender, "a"), (receiver, "b")):
        one.begin(name, "homepage")
    assert receiver.unveil("a", b"about", sender.veil("b", b"about", b"key")) == b"key"
    a, b = (identity_seal(member(name)) for name in "ab")
    acquainted(a, b)
    said = a.veil("b", b"about", b"key")
    make_group("homepage", tmp_path)
    b._show(Identity.load(issue("b", tmp_path)))
    for peer in b._peers.values():
        peer.agree("b", b._keys)
    assert b.unveil("a", b"about", said) == b"key"
