"""Members of one process: frames are delivered on the event loop, in order, without loss."""

import asyncio
import os

from cobandit.live.transports.base import Inbox, Transport, hears
from cobandit.values.errors import LocalError


class Hub:
    """The meeting point for members of one process."""

    def __init__(self) -> None:
        self.members: dict[tuple[str, str], MemoryTransport] = {}
        """By group and name."""


_HUBS: dict[str, Hub] = {}


def hub(name: str) -> Hub:
    """Return the hub with this name in this process. The first call creates it."""
    return _HUBS.setdefault(name, Hub())


os.register_at_fork(after_in_child=_HUBS.clear)  # their loop has stayed with the parent: nobody is there any more


class MemoryTransport(Transport):
    """Delivers frames to other members of the same process."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._key: tuple[str, str] | None = None
        self._inbox: Inbox | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_alone(self) -> bool:
        others = (member for key, member in self._hub.members.items() if self._is_of_this_group(key))
        return not any(one is not self and hears(one.role, self.role) and hears(self.role, one.role) for one in others)

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        if (group, name) in self._hub.members:
            raise LocalError(f"{name!r} is already in group {group!r} of this process: give every member its own name")
        self._key, self._inbox = (group, name), inbox
        self._loop = asyncio.get_running_loop()
        self._hub.members[self._key] = self
        self._loop.call_soon(inbox.reachable, None)

    def send(self, receiver: str, frame: bytes) -> bool:
        self.check_size(frame)
        if self._key is None:
            return False
        return self._hand_over(self._hub.members.get((self._key[0], receiver)), frame)

    def announce(self, frame: bytes) -> None:
        self.check_size(frame)
        if self._key is None:
            return
        for key, member in tuple(self._hub.members.items()):
            if member is not self and self._is_of_this_group(key) and hears(member.role, self.role):
                self._hand_over(member, frame)

    async def close(self) -> None:
        if self._key is not None and self._hub.members.get(self._key) is self:
            del self._hub.members[self._key]
        self._key = None

    def _is_of_this_group(self, key: tuple[str, str]) -> bool:
        return self._key is not None and self._key[0] == key[0]

    def _hand_over(self, member: "MemoryTransport | None", frame: bytes) -> bool:
        if member is None or self._key is None or member._loop is None:  # noqa: SLF001
            return False
        member._loop.call_soon(member._arrive, frame, self._key[1])  # noqa: SLF001
        return True

    def _arrive(self, frame: bytes, sender: str) -> None:
        if self._key is not None and self._inbox is not None:
            self._inbox.frame(frame, sender)
