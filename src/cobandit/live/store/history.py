"""The log of decisions: what was chosen, with what probability, and what came of it. For offline analysis.

It is read from the batches in the journal. So it costs nothing extra, and goes back as far as they do.
"""

import io
from collections.abc import Callable, Iterable, Sequence

import msgspec

from cobandit.core.places import Bandit
from cobandit.live.decide.common import Decided
from cobandit.live.decide.decision import Claim, Signer, sign
from cobandit.live.decide.full_names import prefix_of, split
from cobandit.live.decide.holdout import is_held_out, unmarked
from cobandit.live.machine.batch import Batch
from cobandit.values.extras import needed_by

_IN_JSON = {"at": "time", "is_expired": "expired", "is_held_out": "held_out"}


class LogEntry(msgspec.Struct, frozen=True, rename=_IN_JSON):
    """One decision. In JSON, `at` is called `time`, and `is_expired` and `is_held_out` have no `is_`."""

    number: int
    at: float
    """When it was made, in seconds since 1970."""
    arm: str
    propensity: float | None
    """The probability of the arm when it was chosen; `None` if the policy draws at random without giving it."""
    subject: str | None
    reward: float | None = None
    """The reward in its bandit's range, as counted: rounded to the quantum. `None` if there is none (yet).
    """
    rewarded_at: float | None = None
    is_expired: bool = False
    """Whether the decision expired: the reward, if any, is then the default."""
    id: str = ""
    """The id to reward it with (`cobandit reward`)."""
    is_held_out: bool = False
    """Whether the decision belongs to the hold-out: drawn evenly over the arms on offer, and not learned from."""
    bandit: str = ""
    """The bandit of a fleet; empty in a group with one bandit."""
    segment: str = ""

    def to_json(self) -> bytes:
        """Return the entry as one line of JSON."""
        return msgspec.json.encode(self)


def to_parquet(entries: Sequence[LogEntry]) -> bytes:
    """Return decisions as a Parquet file, with the columns of the JSON lines. It needs the extra `sim`."""
    with needed_by("writing Parquet"):
        import pyarrow as pa  # noqa: PLC0415  # members do not need it
        import pyarrow.parquet as pq  # noqa: PLC0415

    text, number = pa.string(), pa.float64()
    kinds = {"number": pa.int64(), "time": number, "propensity": number, "reward": number, "rewarded_at": number}
    kinds |= dict.fromkeys(("expired", "held_out"), pa.bool_())
    names = [field.encode_name for field in msgspec.structs.fields(LogEntry)]
    schema = pa.schema([(name, kinds.get(name, text)) for name in names])
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(msgspec.to_builtins(entries), schema=schema), buffer)
    return buffer.getvalue()


class DecisionLog:
    """What became of one member's decisions, as far as its batches have been read.

    Args:
        bandit_of: Returns the bandit of a name. The plain one has the empty name.
        signer: Signs the ids of the decisions.
    """

    def __init__(self, bandit_of: Callable[[str], Bandit], signer: Signer) -> None:
        self._bandit_of = bandit_of
        self._signer = signer
        self._open: dict[int, LogEntry] = {}

    def read(self, batches: Iterable[Batch]) -> list[LogEntry]:
        """Return all decisions that were made or settled in these batches, oldest first, in their present state."""
        entries: dict[int, LogEntry] = {}
        for batch in batches:
            for decided in batch.decided:
                entries[decided.number] = self._open[decided.number] = self._entry(decided)
            for number, _, units, at, is_expired in batch.settled:
                entry = self._open.pop(number, None)
                if entry is not None:
                    reward = None if units is None else self._bandit_of(entry.bandit).reward(units)
                    entries[number] = msgspec.structs.replace(
                        entry, reward=reward, rewarded_at=at, is_expired=is_expired
                    )
        return list(entries.values())

    def _entry(self, decided: Decided) -> LogEntry:
        number, written, propensity, at, subject, _ = decided
        place, arm = split(written)
        is_apart = is_held_out(written)
        bandit, segment = place if place[0] else ("", "")  # for the plain bandit, a mark looks like a segment
        return LogEntry(
            number,
            at,
            unmarked(arm)[1],
            propensity,
            None if subject is None else subject.removeprefix(prefix_of((bandit, segment))),
            id=sign(Claim(self._signer.name, number, written, at), self._signer.key),
            is_held_out=is_apart,
            bandit=bandit,
            segment=segment,
        )
