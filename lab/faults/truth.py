"""What really happened, kept beside the fleet: which decisions were handed a reward, and which of those were synced.

A worker writes a line before it hands over a reward, and a line after a sync, into a file of its own that is not its
state. So whatever it is killed in the middle of, the file knows at least as much as its journal promised. The rewards
are made such that sums tell on counts: every one is a whole number of thousands of quanta, and one. This file knows
nothing of processes and networks.
"""

import os
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from cobandit.live.decide.decision import read
from cobandit.values.quantum import MILLIONTH
from lab.faults.named_bandits import in_range

THOUSAND = 1000
"""A sum of rewards, in quanta, is the number of rewards modulo this."""

HANDED, REFUSED, TURNED_DOWN, SYNCED = "h", "x", "o", "s"

Tallies = dict[str, tuple[int, int]]
"""For each arm, by its full name: how many observations, and their sum in quanta."""


def units_of(token: str) -> int:
    """Return the reward of a decision, in quanta: always the same, from any process, and however often."""
    return int.from_bytes(blake2b(token.encode(), digest_size=4).digest()) % THOUSAND * THOUSAND + 1


def reward_of(token: str) -> float:
    """Return the reward of a decision, in the range of its bandit."""
    return in_range(read(token).arm, units_of(token) * MILLIONTH)


class TruthFile:
    """Where one worker writes what it does. Every line is with the system before the next thing happens."""

    def __init__(self, path: str | Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._unsynced = 0

    def hand(self, token: str) -> None:
        """Write that a reward is about to be handed over."""
        os.write(self._file, f"{HANDED} {token}\n".encode())
        self._unsynced += 1

    def refuse(self, token: str) -> None:
        """Write that it was not taken, with an error that says so."""
        os.write(self._file, f"{REFUSED} {token}\n".encode())

    def turn_down(self, token: str) -> None:
        """Write that it was no news to the member, which promises nothing of it: it is counted already, or given up."""
        os.write(self._file, f"{TURNED_DOWN} {token}\n".encode())

    def sync(self) -> None:
        """Write that all that was handed over so far is synced."""
        if self._unsynced:
            os.write(self._file, f"{SYNCED}\n".encode())
            os.fsync(self._file)
            self._unsynced = 0


class Truth(NamedTuple):
    """Which decisions were handed a reward, and which must be counted whatever happened."""

    handed: frozenset[str]
    synced: frozenset[str]

    def bounds(self) -> "Bounds":
        """Return what must be counted, and what can be."""
        return Bounds(tallies(self.synced), tallies(self.handed))


class Bounds(NamedTuple):
    """What must be counted, and what can be, by the member that decided."""

    least: dict[str, Tallies]
    most: dict[str, Tallies]


def read_truth(path: Path) -> Truth:
    """Return what a worker wrote."""
    handed: set[str] = set()
    synced: set[str] = set()
    waiting: Counter[str] = Counter()  # one process may be handed a reward several times
    for line in path.read_text(encoding="ascii").splitlines() if path.exists() else ():
        kind, _, token = line.partition(" ")
        if kind == HANDED:
            waiting[token] += 1
        elif kind == REFUSED:
            waiting -= Counter((token,))
        elif kind == TURNED_DOWN:
            waiting -= Counter((token,))
            handed.add(token)
        else:
            synced |= waiting.keys()
            handed |= waiting.keys()
            waiting.clear()
    return Truth(frozenset(handed | waiting.keys()), frozenset(synced))


def joined(truths: Iterable[Truth]) -> Truth:
    """Return what several wrote."""
    handed: set[str] = set()
    synced: set[str] = set()
    for truth in truths:
        handed |= truth.handed
        synced |= truth.synced
    return Truth(frozenset(handed), frozenset(synced))


def tallies(tokens: Iterable[str]) -> dict[str, Tallies]:
    """Return the tallies of some rewarded decisions, by the member that decided."""
    result: dict[str, Tallies] = {}
    for token in tokens:
        claim = read(token)
        own = result.setdefault(claim.member, {})
        count, total = own.get(claim.arm, (0, 0))
        own[claim.arm] = (count + 1, total + units_of(token))
    return result
