"""What every journal must do, checked: put your own through it.

The suite knows nothing about where a journal keeps things. It checks the promises of `cobandit.live.store.journal`.
"""

from collections.abc import Callable

from cobandit.live.decide.common import Decided, Settled
from cobandit.live.machine.batch import Batch, NodeState
from cobandit.live.machine.controls import Setting
from cobandit.live.machine.open_decisions import OpenDecisionsState
from cobandit.live.store.journal import Journal, Stored
from cobandit.values.errors import LocalError

OpenJournal = Callable[[], Journal]

_BATCHES = [
    Batch(
        decided=(
            Decided(1, "A", 1.0, 10.25, None),
            Decided(2, "ü\0", None, 11.5, "visitor 7"),
        )
    ),
    Batch(
        settled=(
            Settled(1, "A", 1_000_000, 12.0),
            Settled(2, "ü\0", None, 13.0, is_expired=True),
        )
    ),
    Batch(
        records=(
            b"",
            b"\x00\xff" * 1000,
        ),
        settings=(Setting("kill", "A", 3, "edge-7"),),
    ),
    Batch(rewards_kept=(("edge-8", "d1.token", 0.25),), rewards_gone=(("edge-9", "d1.other"),)),
]
_STATE = NodeState(
    agent=b"\x00an agent",
    run=2**40,
    secret=bytes(16),
    is_clean=True,
    settings=(Setting("freeze B", None, 2**50, "edge-7"),),
    rewards=(("edge-8", "d1.token", 0.5),),
    open_decisions=OpenDecisionsState(
        open=((2**33, "A", 1.5),), subjects=(("s", "A", None), ("t", "B", 0.5)), written=((1, 7),), late=(9,)
    ),
)


def check_journal(open_journal: OpenJournal, *, is_exclusive: bool = True) -> None:
    """Raise `AssertionError` unless the journal keeps every promise.

    Args:
        open_journal: Opens the journal: empty the first time, and then the same one again.
        is_exclusive: Whether only one process can open it at a time, which a journal on disk must ensure.

    >>> from cobandit.live.store.journal import MemoryJournal
    >>> journal = MemoryJournal()
    >>> check_journal(lambda: journal, is_exclusive=False)
    """
    journal = open_journal()
    assert journal.read() == Stored(None, []), "a new journal must be empty"
    assert journal.mail() == [], "a new journal must have no mail"
    journal.write(_BATCHES[:1])
    journal.write(_BATCHES[1:3])
    journal.write(())
    assert journal.read() == Stored(None, _BATCHES[:3]), "what is written must be read, whole and in order"
    if is_exclusive:
        _is_opened_by_one_at_a_time(open_journal)
    journal = _reopened(journal, open_journal)
    assert journal.read() == Stored(None, _BATCHES[:3]), "what was written must be there after a restart"
    _keeps_all_or_nothing(journal)
    journal.replace(_STATE)
    assert journal.read() == Stored(_STATE, []), "a snapshot must stand in the place of the batches before it"
    journal.write(_BATCHES[3:])
    journal = _reopened(journal, open_journal)
    assert journal.read() == Stored(_STATE, _BATCHES[3:]), "after a snapshot, only later batches count"
    logged = [batch for batch in journal.history() if batch.decided or batch.settled]
    assert logged == _BATCHES[:2], "the history must keep batches from before a snapshot"
    journal.close()


def _is_opened_by_one_at_a_time(open_journal: OpenJournal) -> None:
    try:
        open_journal().close()
    except LocalError:
        return
    raise AssertionError("a journal that is open must not be opened again: two members would write into it")


def _keeps_all_or_nothing(journal: Journal) -> None:
    broken = Batch(records=(object(),))  # type: ignore[arg-type]  # nothing can write this
    try:
        journal.write((*_BATCHES[3:], broken))
    except Exception:  # noqa: BLE001  # whatever the encoder says
        assert journal.read() == Stored(None, _BATCHES[:3]), "of a write that failed nothing may be kept"


def _reopened(journal: Journal, open_journal: OpenJournal) -> Journal:
    journal.close()
    return open_journal()
