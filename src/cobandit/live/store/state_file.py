"""What can be read from a member's state file by others, whether the member runs or not: its log, and what it knows.

Leaving a reward there is `cobandit.reward`. Nothing here changes the file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.codec import decode_record, decode_snapshot, encode_snapshot
from cobandit.core import Began
from cobandit.core.places import Bandit
from cobandit.core.state import EndpointState, Snapshot
from cobandit.live.decide.decision import Claim, Signer, is_genuine, read
from cobandit.live.decide.desk import units_of
from cobandit.live.decide.full_names import split
from cobandit.live.machine.batch import Batch
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.store.history import DecisionLog, LogEntry
from cobandit.live.store.journal import Stored
from cobandit.live.store.sqlite_journal import check_whole, read_numbered, read_state, read_stored
from cobandit.policies import AAE, UCB
from cobandit.values.errors import LocalError, UnknownError
from cobandit.values.quantum import Quantum


class FileBandits:
    """The bandits that a state file tells of."""

    def __init__(self, path: str | Path, member: EndpointState) -> None:
        self._path, self._member = path, member.agent
        self._known = {one.name: one for one in (*member.retired, *member.bandits)}
        self._has_plain = bool(member.arms)
        self._known.setdefault("", Bandit("", (), member.units_per_reward))

    def of(self, name: str) -> Bandit:
        """Return a bandit by its name: one that was declared since the last snapshot, too.

        Raises:
            UnknownError: The file knows none of that name.
        """
        if name not in self._known:
            self._look_through()
        if name not in self._known or not (name or self._has_plain):
            raise UnknownError(f"{self._path}, the state of {self._member}, has {self._words(name)}")
        return self._known[name]

    def _look_through(self) -> None:
        """Look for what was declared since the last snapshot."""
        for _, batch in read_numbered(self._path, 0):
            for record in map(decode_record, batch.records):
                if isinstance(record, Began):
                    self._known |= {one.name: one for one in record.bandits or () if one.name}

    def _words(self, name: str) -> str:
        names = [repr(one) for one in self._known if one]
        if not names:
            return f"one bandit, without a name, and no bandit {name!r}" if self._has_plain else "no bandits yet"
        return f"no bandit {name!r}, only {', '.join(sorted(names))}" if name else "only bandits with names"


class LogReader:
    """The log of decisions in a state file.

    Raises:
        LocalError: There is no such file, or it is none of a member.
    """

    def __init__(self, path: str | Path) -> None:
        state = read_state(path)
        member = decode_snapshot(state.agent).endpoint
        self._path = path
        self.bandits = FileBandits(path, member)
        self._log = DecisionLog(self.bandits.of, Signer(member.agent, state.secret))
        self._after = 0

    def more(self) -> list[LogEntry]:
        """Return all decisions, oldest first; and when called again, those that were made or settled since."""
        return self._log.read(self._unread())

    def _unread(self) -> Iterator[Batch]:
        for number, batch in read_numbered(self._path, self._after):
            yield batch
            self._after = number


def read_log(path: str | Path) -> list[LogEntry]:
    """Return the decisions in a state file, oldest first, each with its reward if there is one.

    Raises:
        LocalError: There is no such file, or it is none of a member.
    """
    return LogReader(path).more()


def check_reward(path: str | Path, claim: Claim, reward: float) -> None:
    """Refuse a reward that is not in the range of its bandit, as far as a state file tells of that.

    Args:
        path: The state file.
        claim: What the decision's id says.
        reward: The reward.

    Raises:
        LocalError: It is not; or there is no such file; or the file knows no such bandit.
    """
    bandit = FileBandits(path, decode_snapshot(read_state(path).agent).endpoint).of(split(claim.arm)[0][0])
    units_of(Quantum(1.0 / bandit.units_per_reward).units, bandit.rewards)(reward)


def is_settled(path: str | Path, decision: str) -> bool:
    """Return whether a decision of this file's member has its reward, or was given up, as far as that is on the disk.

    Args:
        path: The state file.
        decision: The decision's id.

    Raises:
        LocalError: There is no such file, or it is none of a member.
    """
    stored = read_stored(path)
    if stored.state is None or not is_genuine(decision, stored.state.secret):
        return False
    decisions = OpenDecisions(stored.state.open_decisions)
    for batch in stored.batches:
        decisions.apply(batch.decided, batch.settled)
    return decisions.is_settled(read(decision).number)


class Copy(NamedTuple):
    """What a member knows, for others to start from."""

    member: str
    observations: int
    content: bytes
    """What `join(snapshot=...)` takes."""
    newer_batches: int
    """So many steps of the member since then are not in it: 0, unless the member shares in a way of its own."""


def read_copy(path: str | Path) -> Copy:
    """Return what the member of a state file knows.

    Raises:
        LocalError: There is no such file, or it is none of a member.
    """
    stored = read_stored(path)
    check_whole(path)
    if stored.state is None:
        raise LocalError(f"{path} holds no member yet: start it once")
    last = decode_snapshot(stored.state.agent)
    if not last.endpoint.arms:
        raise LocalError(
            f"{path} belongs to a member of a fleet: members can only start from snapshots of groups with one bandit"
        )
    newest = _brought_up_to_date(stored, last)
    snapshot = last if newest is None else newest
    state = snapshot.endpoint
    cells = (told for fact in state.facts for told in fact.told.cells)
    observations = sum(entry.observations for told in cells for entry in told.tallies)
    missing = len(stored.batches) if newest is None else 0
    return Copy(state.agent, observations, encode_snapshot(snapshot), missing)


def _brought_up_to_date(stored: Stored, snapshot: Snapshot) -> Snapshot | None:
    """Replay what happened since the snapshot; `None` if that takes the member's own rules, which are not in the file.

    The file does not say which policy the member has. Only one that eliminates arms leaves a trace in the records that
    another cannot follow, so the two kinds are tried.
    """
    records = [decode_record(record) for batch in stored.batches for record in batch.records]
    if not records:
        return snapshot
    state = snapshot.endpoint
    for kind in (UCB, AAE):
        policy = kind(state.arms, quantum=1.0 / state.units_per_reward)
        try:
            return Agent.restore(snapshot, records, policy=policy, sharing=LIVE_SHARING).snapshot()
        except LocalError:
            continue
    return None
