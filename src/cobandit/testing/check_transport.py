"""What every transport must do, checked: put your own through it.

The suite knows nothing about how frames travel. It checks the promises of `cobandit.live.transports.base` on which
live members rest. What may be said and heard is judged by `cobandit.testing.witness`.
"""

import hashlib

from cobandit.testing.witness import BuildTransport, Member, Witness
from cobandit.values.errors import LocalError

NAMES = ("ann", "bob", "cleo", "dora", "emil")
"""All names that the suite asks for. The last two are of another group."""

GROUP, FOREIGN_GROUP = "tested", "foreign"

LARGE = 256 * 2**10
"""Bytes of the largest frame that is sent, if the transport carries it."""

BURST = 500
LARGEST_OF_BURST = 2_000


async def check_transport(build: BuildTransport, *, lossy: bool = False) -> None:
    """Raise `AssertionError` unless the transports that `build` returns keep every promise.

    Args:
        build: Returns a new, unopened transport for a member of this name. All of them share one network, on which no
            other member has one of the `NAMES`. A name is built again after the earlier one was closed.
        lossy: Whether frames on this network may be lost, duplicated and reordered. Otherwise all must arrive, in
            order.

    >>> import asyncio
    >>> from cobandit.live.transports.memory import Hub, MemoryTransport
    >>> hub = Hub()
    >>> asyncio.run(check_transport(lambda name: MemoryTransport(hub)))
    """
    witness = Witness(build)
    try:
        ann, bob, cleo = [await witness.join(name, GROUP) for name in NAMES[:3]]
        dora, emil = [await witness.join(name, FOREIGN_GROUP) for name in NAMES[3:]]
        await _are_told_that_they_are_reachable(witness)
        await witness.introduce(ann, bob, cleo)
        await witness.introduce(dora, emil)
        await _frames_arrive_intact(witness, ann, bob, lossy=lossy)
        await _only_the_receiver_hears(witness, (ann, bob, cleo), (dora, emil), lossy=lossy)
        await _all_others_hear_an_announcement(witness, (ann, bob, cleo), (dora, emil), lossy=lossy)
        await _an_unknown_receiver_does_no_harm(witness, ann, bob, lossy=lossy)
        await _too_large_a_frame_is_refused(witness, ann, bob, lossy=lossy)
        await _a_burst_is_not_damaged(witness, ann, bob, lossy=lossy)
        await _one_who_comes_back_is_heard(witness, ann, bob, lossy=lossy)
    finally:
        for member in witness.members:
            await member.transport.close()


async def _deliver(witness: Witness, sender: Member, receiver: Member, frame: bytes, *, lossy: bool) -> None:
    """Send a frame once, or again and again if frames may be lost; wait until it is there."""
    before = receiver.heard.count(frame)
    on_its_way = False

    def say() -> None:
        nonlocal on_its_way
        if lossy or not on_its_way:
            on_its_way = witness.send(sender, receiver.name, frame)

    await witness.until(
        f"a frame of {len(frame)} bytes from {sender.name!r} did not reach {receiver.name!r}",
        lambda: receiver.heard.count(frame) > before,
        say,
    )


async def _are_told_that_they_are_reachable(witness: Witness) -> None:
    for member in witness.members:
        await witness.until(
            f"{member.name!r} was opened among others, but its inbox was not told `reachable`",
            lambda member=member: bool(member.reached),  # type: ignore[misc]
        )


async def _frames_arrive_intact(witness: Witness, ann: Member, bob: Member, *, lossy: bool) -> None:
    large = min(ann.transport.largest_frame, bob.transport.largest_frame, LARGE)
    frames = [
        b"plain",
        b"",
        b"\0",
        b"\0" * 1_000,
        bytes(range(256)) * 3,
        b"\r\nPUB x 1\r\n.\r\n\r\n",
        b"\xff\xfe broken utf-8 \xc3\x28",
        _noise("large", large),
        b"after the large one",
    ]
    for sender, receiver in ((ann, bob), (bob, ann)):
        before = len(receiver.heard)
        for frame in frames:
            await _deliver(witness, sender, receiver, frame, lossy=lossy)
        assert lossy or receiver.heard[before:] == frames, (
            f"{sender.name!r} sent {len(frames)} frames, and {receiver.name!r} heard others, more, or in another order"
        )


async def _only_the_receiver_hears(
    witness: Witness, here: tuple[Member, Member, Member], foreign: tuple[Member, Member], *, lossy: bool
) -> None:
    """The frames that come after are what must be heard: what should not be heard would have come before them."""
    ann, bob, cleo = here
    dora, emil = foreign
    await _deliver(witness, ann, bob, b"for bob alone", lossy=lossy)
    witness.send(dora, ann.name, b"across the border")
    witness.send(ann, dora.name, b"across the border, too")
    await _deliver(witness, ann, cleo, b"for cleo, later", lossy=lossy)
    await _deliver(witness, cleo, ann, b"for ann, later", lossy=lossy)
    await _deliver(witness, dora, emil, b"for emil, later", lossy=lossy)
    await _deliver(witness, emil, dora, b"for dora, later", lossy=lossy)


async def _all_others_hear_an_announcement(
    witness: Witness, here: tuple[Member, Member, Member], foreign: tuple[Member, Member], *, lossy: bool
) -> None:
    ann, bob, cleo = here
    dora, emil = foreign
    said = b"to whom it may concern"

    def say() -> None:
        if lossy:
            witness.announce(ann, said)

    witness.announce(ann, said)
    await witness.until(
        "an announcement did not reach all others of the group",
        lambda: all(said in member.heard for member in (bob, cleo)),
        say,
    )
    # Each side is said something later, so that an echo or a leak would have come before it.
    await _deliver(witness, bob, ann, b"for ann, who announced", lossy=lossy)
    await _deliver(witness, ann, bob, b"for bob, who heard it", lossy=lossy)
    await _deliver(witness, dora, emil, b"for emil, who did not hear it", lossy=lossy)
    await _deliver(witness, emil, dora, b"for dora, who did not hear it", lossy=lossy)
    assert lossy or [bob.heard.count(said), cleo.heard.count(said)] == [1, 1], "an announcement was heard twice"


async def _an_unknown_receiver_does_no_harm(witness: Witness, ann: Member, bob: Member, *, lossy: bool) -> None:
    witness.send(ann, "nobody knows this name", b"is anybody there?")
    await _deliver(witness, ann, bob, b"somebody is there", lossy=lossy)


async def _too_large_a_frame_is_refused(witness: Witness, ann: Member, bob: Member, *, lossy: bool) -> None:
    frame = bytes(ann.transport.largest_frame + 1)
    for what, say in (
        ("send", lambda: ann.transport.send(bob.name, frame)),
        ("announce", lambda: ann.transport.announce(frame)),
    ):
        try:
            say()
        except LocalError:
            continue
        raise AssertionError(f"{what} of {len(frame)} bytes, more than `largest_frame`, must raise LocalError")
    await _deliver(witness, ann, bob, b"after too large a frame", lossy=lossy)


async def _a_burst_is_not_damaged(witness: Witness, ann: Member, bob: Member, *, lossy: bool) -> None:
    burst = [
        b"burst %d " % number + _noise(f"burst {number}", number * 7919 % LARGEST_OF_BURST) for number in range(BURST)
    ]
    sent = set(burst)
    before = len(bob.heard)
    refused = sum(not witness.send(ann, bob.name, frame) for frame in burst)

    def heard() -> list[bytes]:
        return [frame for frame in bob.heard[before:] if frame in sent]

    if lossy:
        await witness.until(f"of a burst of {BURST} frames none arrived", lambda: bool(heard()))
        await _deliver(witness, ann, bob, b"after the burst", lossy=lossy)
        return
    assert not refused, f"of a burst of {BURST} small frames, send did not take {refused}"
    await _deliver(witness, ann, bob, b"after the burst", lossy=lossy)
    lost = len(sent - set(heard()))
    assert not lost, f"of a burst of {BURST} frames {lost} were lost, though a later one arrived"
    assert heard() == burst, f"a burst of {BURST} frames arrived in another order, or doubled"


async def _one_who_comes_back_is_heard(witness: Witness, ann: Member, bob: Member, *, lossy: bool) -> None:
    await witness.leave(bob)
    for _ in range(2):
        await witness.leave(bob)
    for what, say in (
        ("send", lambda: bob.transport.send(ann.name, b"from beyond")),
        ("announce", lambda: bob.transport.announce(b"from beyond")),
    ):
        try:
            say()
        except Exception as error:
            raise AssertionError(f"{what} after close must do nothing, but raised {error!r}") from error
    witness.send(ann, bob.name, b"for one who is not there")
    back = await witness.join(bob.name, bob.group)
    await witness.until(
        f"{bob.name!r} came back, but its inbox was not told `reachable`",
        lambda: bool(back.reached),
    )
    await witness.introduce(ann, back)
    await _deliver(witness, ann, back, b"welcome back", lossy=lossy)
    await _deliver(witness, back, ann, b"here again", lossy=lossy)


def _noise(seed: str, size: int) -> bytes:
    """Return bytes without any pattern, the same for the same seed."""
    return hashlib.shake_256(seed.encode()).digest(size)
