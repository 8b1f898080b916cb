"""The log of decisions: what was chosen, how likely that was, and what came of it. For analysis off line.

It is read from the batches in the journal, so it costs nothing extra to keep, and goes back as far as they do.
"""

from collections.abc import Iterable, Iterator

import msgspec

from cobandit.live.machine.batch import Batch


class LogEntry(msgspec.Struct, frozen=True, rename={"at": "time", "is_expired": "expired"}):
    """One decision. In JSON, `at` is called `time` and `is_expired` is called `expired`."""

    number: int
    at: float
    """When it was made, in seconds since 1970."""
    arm: str
    propensity: float | None
    """How likely the arm was when it was chosen; `None` if the policy draws at random and does not tell."""
    subject: str | None
    reward: float | None = None
    """The reward in [0, 1], as it was counted: rounded to the quantum. `None` if there is none (yet)."""
    rewarded_at: float | None = None
    is_expired: bool = False
    """Whether it was given up: then the reward, if any, is the default."""

    def to_json(self) -> bytes:
        """Return this as one line of JSON."""
        return msgspec.json.encode(self)


def log_entries(batches: Iterable[Batch], units_per_reward: int) -> Iterator[LogEntry]:
    """Return every decision in these batches, oldest first, each with its reward if that is in them too."""
    entries: dict[int, LogEntry] = {}
    for batch in batches:
        for number, arm, propensity, at, subject, _ in batch.decided:
            entries[number] = LogEntry(number, at, arm, propensity, subject)
        for number, _, units, at, is_expired in batch.settled:
            entry = entries.get(number)
            if entry is not None:
                reward = None if units is None else units / units_per_reward
                entries[number] = msgspec.structs.replace(entry, reward=reward, rewarded_at=at, is_expired=is_expired)
    return iter(entries.values())
