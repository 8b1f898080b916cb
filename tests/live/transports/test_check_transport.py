"""Every promise that the conformance suite checks is one that some broken transport breaks."""

import asyncio
from collections.abc import Callable

import pytest

from cobandit import LocalError
from cobandit.live.transports.base import Inbox
from cobandit.live.transports.memory import Hub, MemoryTransport
from cobandit.testing import check_transport, witness


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process a second is long."""
    monkeypatch.setattr(witness, "PATIENCE", 1.0)
    monkeypatch.setattr(witness, "SAY_AGAIN_AFTER", 0.02)


def check(build: Callable[[Hub], MemoryTransport], *, lossy: bool = False) -> None:
    hub = Hub()
    asyncio.run(check_transport(lambda _: build(hub), lossy=lossy))


def others(transport: MemoryTransport) -> list[MemoryTransport]:
    assert transport._key is not None
    return [m for (group, _), m in transport._hub.members.items() if group == transport._key[0] and m is not transport]


def test_members_of_one_process_pass() -> None:
    check(MemoryTransport)


def test_members_of_one_process_pass_as_a_lossy_network_too() -> None:
    check(MemoryTransport, lossy=True)


class LosesEveryThird(MemoryTransport):
    sent = 0

    def send(self, receiver: str, frame: bytes) -> bool:
        self.sent += 1
        return super().send(receiver, frame) if self.sent % 3 else True


def test_a_network_that_loses_frames_passes_if_it_is_said_to() -> None:
    check(LosesEveryThird, lossy=True)


def test_a_network_that_loses_frames_is_caught_if_it_is_said_not_to() -> None:
    with pytest.raises(AssertionError, match=r"a frame of 5 bytes from 'ann' did not reach 'bob'"):
        check(LosesEveryThird)


class LosesInABurst(MemoryTransport):
    def send(self, receiver: str, frame: bytes) -> bool:
        return True if frame.startswith(b"burst 77 ") else super().send(receiver, frame)


def test_a_transport_that_loses_a_frame_of_a_burst_is_caught() -> None:
    with pytest.raises(AssertionError, match="of a burst of 500 frames 1 were lost"):
        check(LosesInABurst)


class LosesOrder(MemoryTransport):
    held: bytes | None = None

    def send(self, receiver: str, frame: bytes) -> bool:
        if frame.startswith(b"burst 7 "):
            self.held = frame
            return True
        if self.held is not None and frame.startswith(b"burst 9 "):
            super().send(receiver, frame)
            frame, self.held = self.held, None
        return super().send(receiver, frame)


def test_a_transport_that_lets_frames_overtake_is_caught() -> None:
    with pytest.raises(AssertionError, match="a burst of 500 frames arrived in another order"):
        check(LosesOrder)


def test_a_transport_that_lets_frames_overtake_passes_if_it_is_lossy() -> None:
    check(LosesOrder, lossy=True)


class Doubles(MemoryTransport):
    def send(self, receiver: str, frame: bytes) -> bool:
        super().send(receiver, frame)
        return super().send(receiver, frame)


def test_a_transport_that_doubles_frames_is_caught() -> None:
    with pytest.raises(AssertionError, match="sent 9 frames, and 'bob' heard others, more"):
        check(Doubles)


class CutsLongFrames(MemoryTransport):
    def _arrive(self, frame: bytes, sender: str) -> None:
        super()._arrive(frame[:512], sender)


def test_a_transport_that_cuts_frames_is_caught() -> None:
    with pytest.raises(
        AssertionError, match=r"'bob' .* heard 512 bytes that nobody said .*: it is the beginning of a frame"
    ):
        check(CutsLongFrames)


class DamagesLargeFrames(MemoryTransport):
    def _arrive(self, frame: bytes, sender: str) -> None:
        super()._arrive(frame[:70_000] + b"!" + frame[70_001:] if len(frame) > 70_000 else frame, sender)


def test_a_transport_that_damages_frames_is_caught_also_if_it_is_lossy() -> None:
    for lossy in (False, True):
        with pytest.raises(AssertionError, match=r"heard 262144 bytes that nobody said .*: it is damaged or invented"):
            check(DamagesLargeFrames, lossy=lossy)


class GluesInABurst(MemoryTransport):
    held = b""

    def send(self, receiver: str, frame: bytes) -> bool:
        if frame.startswith(b"burst 5 "):
            self.held = frame
            return True
        glued, self.held = self.held + frame, b""
        return super().send(receiver, glued)


def test_a_transport_that_glues_frames_is_caught() -> None:
    with pytest.raises(AssertionError, match="it is two frames glued together"):
        check(GluesInABurst)


class TellsEverybody(MemoryTransport):
    def send(self, receiver: str, frame: bytes) -> bool:
        on_its_way = super().send(receiver, frame)
        for member in others(self) if on_its_way else ():
            if member._key is not None and member._key[1] != receiver:
                self._hand_over(member, frame)
        return on_its_way


def test_a_transport_that_delivers_to_the_wrong_member_is_caught() -> None:
    with pytest.raises(AssertionError, match="'cleo' heard a frame that 'ann' had sent to bob"):
        check(TellsEverybody)


class EchoesAnnouncements(MemoryTransport):
    def announce(self, frame: bytes) -> None:
        super().announce(frame)
        self._hand_over(self, frame)


def test_a_transport_that_announces_to_oneself_is_caught() -> None:
    with pytest.raises(AssertionError, match="'ann' heard what it had announced itself"):
        check(EchoesAnnouncements)


class AnnouncesAbroad(MemoryTransport):
    def announce(self, frame: bytes) -> None:
        for member in tuple(self._hub.members.values()):
            if member is not self:
                self._hand_over(member, frame)


def test_a_transport_that_announces_to_other_groups_is_caught() -> None:
    with pytest.raises(AssertionError, match="'dora' of group 'foreign' heard a frame of group 'tested'"):
        check(AnnouncesAbroad)


class SendsAbroad(MemoryTransport):
    def send(self, receiver: str, frame: bytes) -> bool:
        self.check_size(frame)
        return any(self._hand_over(m, frame) for (_, name), m in self._hub.members.items() if name == receiver)


def test_a_transport_that_does_not_tell_groups_apart_is_caught() -> None:
    with pytest.raises(AssertionError, match="'ann' of group 'tested' heard a frame of group 'foreign'"):
        check(SendsAbroad)


class AnnouncesToOne(MemoryTransport):
    def announce(self, frame: bytes) -> None:
        self.check_size(frame)
        self._hand_over(others(self)[0], frame)


def test_a_transport_that_announces_to_some_is_caught() -> None:
    with pytest.raises(AssertionError, match="an announcement did not reach all others of the group"):
        check(AnnouncesToOne)


class RaisesForStrangers(MemoryTransport):
    def send(self, receiver: str, frame: bytes) -> bool:
        if not super().send(receiver, frame):
            raise LocalError(f"there is no {receiver!r}")
        return True


def test_a_transport_that_raises_for_an_unknown_receiver_is_caught() -> None:
    with pytest.raises(AssertionError, match="must not raise here, but raised LocalError"):
        check(RaisesForStrangers)


class NeverReachable(MemoryTransport):
    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        self._key, self._inbox, self._loop = (group, name), inbox, asyncio.get_running_loop()
        self._hub.members[self._key] = self


def test_a_transport_that_forgets_to_say_reachable_is_caught() -> None:
    with pytest.raises(AssertionError, match="'ann' was opened among others, but its inbox was not told `reachable`"):
        check(NeverReachable)


class TakesAnySize(MemoryTransport):
    def check_size(self, frame: bytes) -> None:
        pass


def test_a_transport_that_takes_frames_that_are_too_large_is_caught() -> None:
    with pytest.raises(AssertionError, match="send of 4194305 bytes, more than `largest_frame`, must raise LocalError"):
        check(TakesAnySize)


class LiesAboutSenders(MemoryTransport):
    def _arrive(self, frame: bytes, sender: str) -> None:
        super()._arrive(frame, sender.upper())


def test_a_transport_that_names_the_wrong_sender_is_caught() -> None:
    with pytest.raises(AssertionError, match="was told that a frame came from 'ANN', but 'ann' sent it"):
        check(LiesAboutSenders)


class ProvesNothing(MemoryTransport):
    def _arrive(self, frame: bytes, sender: str) -> None:
        if self._key is not None and self._inbox is not None:
            self._inbox.frame(frame, None)


def test_a_transport_that_proves_no_sender_passes() -> None:
    check(ProvesNothing)


class ClosesOnce(MemoryTransport):
    async def close(self) -> None:
        assert self._key is not None
        await super().close()


def test_a_transport_that_cannot_be_closed_twice_is_caught() -> None:
    with pytest.raises(AssertionError):
        check(ClosesOnce)


class RaisesAfterClose(MemoryTransport):
    def announce(self, frame: bytes) -> None:
        if self._key is None:
            raise RuntimeError("closed")
        super().announce(frame)


def test_a_transport_that_raises_after_close_is_caught() -> None:
    with pytest.raises(AssertionError, match="announce after close must do nothing, but raised RuntimeError"):
        check(RaisesAfterClose)


class SpeaksAfterClose(MemoryTransport):
    async def close(self) -> None:
        if self._key is not None:
            self._hub.members.pop(self._key, None)


def test_a_transport_that_speaks_after_close_is_caught() -> None:
    with pytest.raises(AssertionError, match="heard 11 bytes that nobody said"):
        check(SpeaksAfterClose)


class NeverForgetsAName(MemoryTransport):
    def send(self, receiver: str, frame: bytes) -> bool:
        return False if (receiver, self._hub) in _GONE else super().send(receiver, frame)

    async def close(self) -> None:
        if self._key is not None:
            _GONE.add((self._key[1], self._hub))
        await super().close()


_GONE: set[tuple[str, Hub]] = set()


def test_a_transport_that_does_not_hear_one_who_comes_back_is_caught() -> None:
    with pytest.raises(AssertionError, match="'ann' sent frames to 'bob' again and again, and none arrived"):
        check(NeverForgetsAName)


class NeverOpens(MemoryTransport):
    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        await asyncio.Event().wait()


def test_a_transport_that_does_not_return_from_open_is_caught() -> None:
    with pytest.raises(AssertionError, match="open of 'ann' did not return within 1 seconds"):
        check(NeverOpens)
