"""What happened, line by line, and a fingerprint of it."""

from hashlib import blake2b

from cobandit.core import Acknowledgement, Eliminated, Join, Leave, Message, Share
from cobandit.core.messages import Receipt


class Transcript:
    """Takes note of everything. The lines are kept only if somebody wants to read them."""

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

    >>> in_words(Join("j", "p", ("A", "B"), 1, boot=3, notice=2))
    'j to p: boot 3, notice 2, I am here'
    """
    way = f"{message.sender} to {message.receiver}:"
    match message:
        case Share(number=number, observations=observations, records=records, handling=handling):
            told = ", ".join(f"{r.agent}.{r.boot} from {r.base} to {r.version}" for r in records) or "nothing"
            if handling is None:
                return f"{way} share {number}, {observations} observations, {told}"
            again = f" again ({handling.attempt})" if handling.attempt else ""
            gone = f", no more {' '.join(handling.eliminated)}" if handling.eliminated else ""
            formers = f", formers {handling.formers}" if handling.formers else ""
            return (
                f"{way} boot {handling.boot}, share {number}{again}, {told}{gone}{formers}, {_seen(handling.receipt)}"
            )
        case Acknowledgement(boot=boot, receipt=receipt):
            return f"{way} boot {boot} acknowledges, {_seen(receipt)}"
        case Eliminated(arm=arm):
            return f"{way} no more {arm}"
        case Join(boot=boot, notice=notice):
            return f"{way} boot {boot}, notice {notice}, I am here"
        case Leave(boot=boot, notice=notice):
            return f"{way} boot {boot}, notice {notice}, I go away"


def _seen(receipt: Receipt) -> str:
    more = (("eliminations", receipt.eliminated), ("formers", receipt.formers), ("notice", receipt.notice))
    rest = "".join(f", {what} {count}" for what, count in more if count)
    return f"has of boot {receipt.boot}: share {receipt.number}, version {receipt.version}{rest}"
