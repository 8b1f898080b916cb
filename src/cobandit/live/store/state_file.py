"""What other processes can read from a member's state file, whether the member runs or not: its log and its knowledge.

`cobandit.reward` leaves rewards there. Nothing here changes the file.
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
    """The bandits recorded in a state file."""

    def __init__(self, path: str | Path, member: EndpointState) -> None:
        self._path, self._member = path, member.agent
        self._known = {one.name: one for one in (*member.retired, *member.bandits)}
        self._has_plain = bool(member.arms)
        self._known.setdefault("", Bandit("", (), member.units_per_reward))

    def of(self, name: str) -> Bandit:
        """Return a bandit by name, including one that was declared since the last snapshot.

        Raises:
            UnknownError: The file has no bandit with that name.
        """
        if name not in self._known:
            self._look_through()
        if name not in self._known or not (name or self._has_plain):
            raise UnknownError(f"{self._path}, the state of {self._member}, has {self._words(name)}")
        return self._known[name]

    def _look_through(self) -> None:
        """Find bandits that were declared since the last snapshot."""
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
        LocalError: There is no such file, or it is not a member's.
    """

    def __init__(self, path: str | Path) -> None:
        state = read_state(path)
        member = decode_snapshot(state.agent).endpoint
        self._path = path
        self.bandits = FileBandits(path, member)
        self._log = DecisionLog(self.bandits.of, Signer(member.agent, state.secret))
        self._after = 0

    def more(self) -> list[LogEntry]:
        """Return all decisions, oldest first. Further calls return those made or settled since the last call."""
        return self._log.read(self._unread())

    def _unread(self) -> Iterator[Batch]:
        for number, batch in read_numbered(self._path, self._after):
            yield batch
            self._after = number


def read_log(path: str | Path) -> list[LogEntry]:
    """Return the decisions in a state file, oldest first, each with its reward if there is one.

    Raises:
        LocalError: There is no such file, or it is not a member's.
    """
    return LogReader(path).more()


def check_reward(path: str | Path, claim: Claim, reward: float) -> None:
    """Refuse a reward outside the range of its bandit, as far as the state file records that.

    Args:
        path: The state file.
        claim: The content of the decision's id.
        reward: The reward.

    Raises:
        LocalError: The reward is out of range, there is no such file, or the file knows no such bandit.
    """
    bandit = FileBandits(path, decode_snapshot(read_state(path).agent).endpoint).of(split(claim.arm)[0][0])
    units_of(Quantum(1.0 / bandit.units_per_reward).units, bandit.rewards)(reward)


def is_settled(path: str | Path, decision: str) -> bool:
    """Return whether a decision of this member has its reward or was given up, as far as the disk shows.

    Args:
        path: The state file.
        decision: The decision's id.

    Raises:
        LocalError: There is no such file, or it is not a member's.
    """
    stored = read_stored(path)
    if stored.state is None or not is_genuine(decision, stored.state.secret):
        return False
    decisions = OpenDecisions(stored.state.open_decisions)
    for batch in stored.batches:
        decisions.apply(batch.decided, batch.settled)
    return decisions.is_settled(read(decision).number)


class Copy(NamedTuple):
    """A member's knowledge, for others to start from."""

    member: str
    observations: int
    content: bytes
    """The value for `join(snapshot=...)`."""
    newer_batches: int
    """How many later steps of the member are not included: 0, unless the member shares in a way of its own."""


def read_copy(path: str | Path) -> Copy:
    """Return what a state file's member knows.

    Raises:
        LocalError: There is no such file, or it is not a member's.
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
    """Replay the batches since the snapshot; `None` if that needs the member's own rules, which the file does not have.

    The file does not say which policy the member has. Only a policy that eliminates arms leaves a trace in the records
    that others cannot follow, so both kinds are tried.
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
