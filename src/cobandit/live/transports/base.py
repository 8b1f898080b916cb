"""The contract of a transport: it carries frames between named members of one group.

A transport may lose frames, duplicate, delay and reorder them; the protocol copes. It must not block, deliver to the
wrong member, damage a frame or merge two, or fail because the other side is absent. `cobandit.testing.check_transport`
checks this for every transport.

Everything here runs on the thread of one event loop. A transport does not know what frames contain.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.watched import Reread
from cobandit.live.status.roles import Role
from cobandit.values.errors import LocalError

LARGEST_FRAME = 4 * 2**20
"""In bytes. No transport has to carry more. A transport with a smaller limit sets its own `largest_frame`."""


class Inbox(Protocol):
    """What a transport reports to the member it works for. None of these methods raises or blocks."""

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take a frame. The sender is a name that the transport has proved, or `None` if it proves no names."""

    def reachable(self, peer: str | None) -> None:
        """Note that this member can now reach others: this peer, or (`None`) all that hear an announcement.

        Called for every new connection, including reconnections, so that the member can say that it is here.
        """

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Count something that the transport refused.

        Args:
            reason: Why it was refused.
            sender: The claimed sender, if any.
            host: Where it came from, if known. On some networks this can be forged.
        """

    def trouble(self, what: str | None) -> None:
        """Note that the network does not work, in words for the person who has to act; `None` when it works again.

        A transport reports each trouble once, however often it retries.
        """


class Transport(ABC):
    """Carries frames. All methods are called on one event loop's thread."""

    largest_frame: int = LARGEST_FRAME

    valid_until: float | None = None
    """When the proof of this member's name expires, in seconds since 1970; `None` if it never does."""

    own_may_relay: bool | None = None
    """Whether the proof of this member's name allows it to pass on observations of others; `None` if there is no
    proof."""

    role: Role = Role.MEMBER
    """This member's role in its group; set before opening. Where announcements reach many members, those of leaves need
    not reach leaves, and leaves need only hear those of relays."""

    on_gone: Callable[[str], None] | None = None
    """Called with the name of a member to which something was sent, if the network reports that name as absent; set
    before opening. Most networks cannot tell, and the absence may be over in a moment."""

    has_files: bool = False
    """Whether there are files for `refresh` to check."""

    trust_number: int | None = None
    """The number of the group's trust file in use; `None` if there is none."""

    @property
    def is_connecting(self) -> bool:
        """Whether no member can be reached yet, because a server has not been reached."""
        return False

    @property
    def is_alone(self) -> bool:
        """Whether it is certain that no member that this one talks to is here. Most networks cannot tell."""
        return False

    @abstractmethod
    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        """Start carrying frames for this member.

        Returns soon, even if no member can be reached: it then keeps trying and says so with `Inbox.trouble`.

        Raises:
            LocalError: Something on this side is wrong, so that retrying cannot help: a port that is taken, a
                certificate that does not match.
        """

    @abstractmethod
    def send(self, receiver: str, frame: bytes) -> bool:
        """Send a frame to one member. Never blocks. Returns whether it is on its way; otherwise it is lost.

        Raises:
            LocalError: The frame is larger than `largest_frame`.
        """

    @abstractmethod
    def announce(self, frame: bytes) -> None:
        """Send a frame to every other member that can be reached, known or not.

        Raises:
            LocalError: The frame is larger than `largest_frame`.
        """

    @abstractmethod
    async def close(self) -> None:
        """Deliver what was sent, as far as possible without a long wait, and stop. Harmless if already closed."""

    def may_relay(self, sender: str) -> bool | None:
        """Return whether the latest proof of this sender's name allows it to pass on what others observed.

        `None` where names are not proved. A sender that has not proved its name yet may not.
        """
        del sender
        return None

    def veil(self, receiver: str, about: bytes, secret: bytes) -> bytes | None:
        """Encrypt a short secret so that only a member can read it in a frame; `None` if others cannot read frames.

        Also `None` where nothing is proved: members then share nothing that others do not have.

        Raises:
            NotNowError: The receiver is not known at present.
        """
        del receiver, about, secret
        return None

    def unveil(self, sender: str, about: bytes, said: bytes) -> bytes | None:
        """Decrypt what a sender has veiled for this member; `None` if it is unreadable or about something else."""
        del sender, about, said
        return None

    def seek(self, places: Sequence[str]) -> None:
        """Stay in touch with the members at these places and no others. Called for a leaf when its homes change.

        Does nothing where a server carries frames to names.
        """
        del places

    def place_of(self, peer: str) -> str:
        """Return where a peer was found: the address that was dialled, or its name if there is nothing else."""
        return peer

    def refresh(self) -> Reread:
        """Reread the credential files that have changed, and return the result.

        Credentials that are no longer trusted are refused from now on, and connections made with them end.
        """
        return Reread()

    def check_size(self, frame: bytes) -> None:
        """Raise if a frame is too large for this transport."""
        if len(frame) > self.largest_frame:
            raise LocalError(
                f"a frame of {len(frame)} bytes is more than this transport carries ({self.largest_frame}): "
                "use fewer arms"
            )


def hears(receiver: Role, sender: Role) -> bool:
    """Return whether a member hears the announcements of another: a leaf hears only relays."""
    return receiver is not Role.LEAF or sender is Role.RELAY
