"""What happened, line by line, and a fingerprint of it."""

from hashlib import blake2b

from cobandit.core import Acknowledgement, Changes, Message, Notice, Receipt, Share


class Transcript:
    """Takes note of everything. The lines are kept only on request."""

    __slots__ = ("_hash", "lines")

    def __init__(self, *, keep: bool = False) -> None:
        self._hash = blake2b(digest_size=16)
        self.lines: list[str] | None = [] if keep else None

    def note(self, time: float, who: str, what: str, content: bytes = b"", message: Message | None = None) -> None:
        """Take note of one thing: bytes count for the fingerprint, words for the reader."""
        self._hash.update(f"{time!r}|{who}|{what}|".encode())
        self._hash.update(content)
        if self.lines is not None:
            self.lines.append(f"{time:10.2f}  {who:>4}  {what}{'' if message is None else f' {in_words(message)}'}")

    @property
    def fingerprint(self) -> str:
        """A hash of everything so far."""
        return self._hash.hexdigest()


def in_words(message: Message) -> str:
    """Return a message as a person would say it.

    >>> from cobandit.core import Eliminations
    >>> in_words(Notice("j", "p", Changes(eliminations=(Eliminations("j", 3, ("A",)),))))
    'j to p: j.3 considers no more A'
    """
    way = f"{message.sender} to {message.receiver}:"
    match message:
        case Share(number=number, observations=observations, changes=changes, delivery=delivery):
            told = f"log {changes.base} to {changes.upto}: {_told(changes) or 'nothing'}"
            if delivery is None:
                return f"{way} share {number}, {observations} observations, {told}"
            again = f" again ({delivery.attempt})" if delivery.attempt else ""
            return f"{way} session {delivery.session}, share {number}{again}, {told}; {_seen(delivery.receipt)}"
        case Acknowledgement(delivery=delivery):
            return f"{way} session {delivery.session} acknowledges; {_seen(delivery.receipt)}"
        case Notice(changes=changes):
            return f"{way} {_told(changes)}"


def _told(changes: Changes) -> str:
    cells = (
        f"{told.agent}.{told.incarnation} {' '.join(f'{arm}={total}/{count}' for arm, count, total, _ in told.tallies)}"
        for told in changes.cells
    )
    gone = (f"{told.agent}.{told.incarnation} considers no more {' '.join(told.arms)}" for told in changes.eliminations)
    here = (
        f"{told.agent} {'is here' if told.is_present else 'goes away'} as {told.session}/{told.number}"
        for told in changes.presences
    )
    return ", ".join((*cells, *gone, *here))


def _seen(receipt: Receipt) -> str:
    return f"has of session {receipt.session}: share {receipt.number}, log {receipt.held}"
