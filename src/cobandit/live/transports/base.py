"""What every transport is: something that carries frames between named members of one group.

A transport may lose frames, double them, delay them and let them overtake each other; the protocol does not mind. What
it must not do: block, deliver to the wrong member, damage a frame or glue two together, or fail because the other side
is not there. `cobandit.testing.check_transport` holds every transport to that.

Everything here happens on the thread of one event loop. A transport knows nothing of what frames say.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.watched import Reread
from cobandit.live.status.roles import Role
from cobandit.values.errors import LocalError

LARGEST_FRAME = 4 * 2**20
"""Bytes. No transport has to carry more; a smaller limit of its own is its `largest_frame`."""


class Inbox(Protocol):
    """What a transport tells the member that it works for. None of these ever raises or blocks."""

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take a frame. The sender is a name that the transport has proved, or `None` if it cannot prove any."""

    def reachable(self, peer: str | None) -> None:
        """Note that this member can now reach others: this peer, or (`None`) all who hear an announcement.

        Called whenever a connection is made, also again, so that the member can say that it is here.
        """

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Count something that the transport did not let in.

        Args:
            reason: Why.
            sender: As claimed, if it claimed any.
            host: Where it came from, if that is known. On some networks it can be made up.
        """

    def trouble(self, what: str | None) -> None:
        """Note that the network does not work, in words for the person who must act; `None` when it works again.

        A transport says each trouble once, however often it tries.
        """


class Transport(ABC):
    """Carries frames. All methods are called on one event loop's thread."""

    largest_frame: int = LARGEST_FRAME

    valid_until: float | None = None
    """When what proves this member's name expires, in seconds since 1970; `None` if it never does."""

    own_may_relay: bool | None = None
    """Whether what proves this member's name says that it may pass on what others observed; `None` if nothing does."""

    role: Role = Role.MEMBER
    """What this member is in its group; set before it is opened. Where announcements reach many, those of leaves need
    not reach leaves, and leaves need not hear those of others than relays."""

    on_gone: Callable[[str], None] | None = None
    """Called with the name of a member to which something was sent, if the network says that nobody has that name at
    present; set before it is opened. Most networks cannot tell, and it may be over in a moment."""

    has_files: bool = False
    """Whether there are files that `refresh` looks at."""

    trust_number: int | None = None
    """The number of the group's trust file that is in use; `None` if there is none."""

    @property
    def is_connecting(self) -> bool:
        """Whether nobody can be reached yet, because a server has not been."""
        return False

    @property
    def is_alone(self) -> bool:
        """Whether it is certain that nobody is here with whom this member talks. Most networks cannot tell."""
        return False

    @abstractmethod
    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        """Begin to carry frames for this member.

        Returns soon, also if nobody can be reached: then it goes on trying, and says so with `Inbox.trouble`.

        Raises:
            LocalError: Something on this side is wrong, so that trying again cannot help: a port that is taken, a
                certificate that does not fit.
        """

    @abstractmethod
    def send(self, receiver: str, frame: bytes) -> bool:
        """Send a frame to one member. Never blocks. Return whether it is on its way; a frame that is not is lost.

        Raises:
            LocalError: The frame is larger than `largest_frame`.
        """

    @abstractmethod
    def announce(self, frame: bytes) -> None:
        """Send a frame to every member that can be reached, known or not, but not to this one.

        Raises:
            LocalError: The frame is larger than `largest_frame`.
        """

    @abstractmethod
    async def close(self) -> None:
        """Hand over what was sent, as far as that takes no long wait, and stop. Harmless if it is closed already."""

    def may_relay(self, sender: str) -> bool | None:
        """Return whether the last proof of this sender's name says that it may pass on what others observed.

        `None` where names are not proved. A sender that has proved nothing yet may not.
        """
        del sender
        return None

    def veil(self, receiver: str, about: bytes, secret: bytes) -> bytes | None:
        """Return a short secret as only a member can read it in a frame; `None` if frames are not readable by others.

        `None`, too, where nothing is proved: then members have nothing in common that others do not have.

        Raises:
            NotNowError: The receiver is not known at present.
        """
        del receiver, about, secret
        return None

    def unveil(self, sender: str, about: bytes, said: bytes) -> bytes | None:
        """Return what a sender has veiled for this member; `None` if it is not readable, or about something else."""
        del sender, about, said
        return None

    def seek(self, places: Sequence[str]) -> None:
        """Be in touch with the members at these places, and with nobody else: of a leaf, when its homes change.

        Does nothing where a server carries frames to names.
        """
        del places

    def place_of(self, peer: str) -> str:
        """Return where a peer was found: the address that was dialled, or its name where that is all there is."""
        return peer

    def refresh(self) -> Reread:
        """Read again what has changed of the files that prove who is who, and return what came of it.

        What can no longer be believed is refused from now on, and connections that were made with it end.
        """
        return Reread()

    def check_size(self, frame: bytes) -> None:
        """Refuse a frame that this transport does not carry."""
        if len(frame) > self.largest_frame:
            raise LocalError(
                f"a frame of {len(frame)} bytes is more than this transport carries ({self.largest_frame}): "
                "use fewer arms"
            )


def hears(receiver: Role, sender: Role) -> bool:
    """Return whether a member hears the announcements of another: a leaf hears relays only."""
    return receiver is not Role.LEAF or sender is Role.RELAY
