"""The only file of this world that knows how members are made inside; everything else asks here.

Three kinds of things: what a member knows, for the checks; what a process takes from its surroundings besides time,
network and disk (chance, pauses, the log), so that a seed decides it; and how a member is made and thrown away.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from cobandit.live.auth.refusal import Refusal
from cobandit.live.drive import looking, sending, writing
from cobandit.live.drive.member import Member
from cobandit.live.machine import sessions
from cobandit.live.machine.batch import NodeState
from cobandit.live.machine.controls import Setting
from cobandit.live.machine.machine import Machine
from cobandit.live.store import restoring
from cobandit.values.tally import Arm
from lab.swarm.dice import Dice


class Origin(NamedTuple):
    """Where observations were made: by which member, in which of its incarnations."""

    member: str
    incarnation: int


Tallies = dict[Arm, tuple[int, int]]
"""Of each arm how many observations, and their rewards added up, in quanta. Arms without any are not there."""

View = Mapping[Origin, Tallies]
"""What somebody knows, and of whom."""


def view_of(machine: Machine) -> View:
    """Return what a member knows, by where it was observed."""
    view: dict[Origin, Tallies] = {}
    for key, (arm, count, units, _) in machine.agent.endpoint.replica.cells():
        view.setdefault(Origin(key.agent, key.incarnation), {})[arm] = (count, units)
    return view


def _tallies(tally: Any) -> Tallies:  # noqa: ANN401  # the core's
    sums = tally.sums
    return {arm: (count, sums[arm]) for arm, count in tally.counts.items() if count}


def totals_of(machine: Machine) -> Tallies:
    """Return what a member decides by."""
    return _tallies(machine.agent.policy.tally)


def heard_totals(machine: Machine) -> Tallies:
    """Return what a leaf has heard that everybody else observed; nothing at who is no leaf."""
    heard = [one.tally for one in machine.agent.endpoint.totals.all()]
    return {entry.arm: (entry.observations, entry.reward_sum) for entry in heard if entry.observations}


def incarnation_of(machine: Machine) -> int:
    """Return in which incarnation a member is."""
    return machine.agent.incarnation


def settings_of(machine: Machine) -> tuple[Setting, ...]:
    """Return the controls that a member has heard of."""
    return machine.controls.settings


def informed_by(machine: Machine) -> str | None:
    """Return who has told a member, since its start, what is set."""
    return machine.settings_from


def may_choose(machine: Machine) -> tuple[Arm, ...]:
    """Return what the controls that a member has heard of let it choose."""
    offered, killed, frozen = machine.operations.offered, machine.controls.control_arm, machine.controls.frozen
    if killed in offered:
        return (killed,)
    return tuple(arm for arm in offered if arm not in frozen) or offered


def is_killed(machine: Machine) -> bool:
    """Return whether the kill switch is on, as far as a member has heard and can obey."""
    return machine.controls.control_arm in machine.operations.offered


def waiting_rewards(machine: Machine) -> tuple[tuple[str, str, float], ...]:
    """Return the rewards that a member has to bring to others."""
    return machine.outbox.rewards


def open_decisions(machine: Machine) -> frozenset[int]:
    """Return the numbers of the decisions that wait for their reward."""
    return frozenset(machine.open_decisions.open)


def arms_of(machine: Machine) -> tuple[Arm, ...]:
    """Return the arms that a member knows, removed ones too."""
    return machine.agent.arms


def candidates_of(machine: Machine) -> tuple[Arm, ...]:
    """Return the arms that the policy has not ruled out."""
    return machine.agent.policy.candidates


def is_superseded(machine: Machine) -> bool:
    """Return whether a member says that another process speaks for it."""
    return machine.succession.superseded_by is not None


def quarantined_by(machine: Machine) -> tuple[str, ...]:
    """Return to whom a member does not listen."""
    return machine.guard.quarantined(machine.clock.now())


def refusals_of(machine: Machine) -> Counter[Refusal]:
    """Return what a member has refused."""
    return machine.guard.refusals


def rank(setting: Setting) -> tuple[int, str]:
    """Return which of two words on the same control wins: the higher."""
    return setting.stamp, setting.by


def as_unclean(state: NodeState) -> NodeState:
    """Return what is read from a disk that is not the one that was left."""
    return msgspec.structs.replace(state, is_clean=False)


# What a process takes from its surroundings.


class SeededSecrets:
    """Stands where `secrets` is."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def token_bytes(self, count: int) -> bytes:
        return bytes(self._dice.whole(0, 255) for _ in range(count))

    def randbits(self, count: int) -> int:
        return self._dice.whole(0, (1 << count) - 1)


class _Ear(logging.Handler):
    """Hears of bugs that a member has caught, and says that it goes on."""

    def __init__(self, bugs: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._bugs = bugs

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._bugs.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


@contextmanager
def surroundings(dice: Dice, *, batches_until_snapshot: int, forget_after: float, bugs: list[str]) -> Iterator[None]:
    """Let a seed decide what members draw by chance and how long they pause; and hear of bugs that they log."""
    changes = {
        (restoring, "secrets"): SeededSecrets(dice),
        (sessions, "secrets"): SeededSecrets(dice),
        (writing, "MAIL_EVERY"): writing.MAIL_EVERY,  # see `look_for_mail_every`
        (writing, "BATCHES_UNTIL_SNAPSHOT"): batches_until_snapshot,
        (sending, "LONGEST_BETWEEN_ANNOUNCEMENTS"): min(sending.LONGEST_BETWEEN_ANNOUNCEMENTS, forget_after / 4.0),
        (looking, "LOOK_EVERY"): 0.05,  # not 5 ms: nobody is in a hurry here, and each look costs real time
        (looking, "LOOKS_UNTIL_IDLE"): 2,
    }
    before = {place: getattr(*place) for place in changes}
    log, ear = logging.getLogger("cobandit"), _Ear(bugs)
    level, propagates = log.level, log.propagate
    log.addHandler(ear)
    log.setLevel(logging.ERROR)
    log.propagate = False
    try:
        for (module, name), value in changes.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)
        log.removeHandler(ear)
        log.setLevel(level)
        log.propagate = propagates


def look_for_mail_every(seconds: float) -> None:
    """Let members look into their mailboxes so often from now on."""
    writing.MAIL_EVERY = seconds


def throw_away(member: Member) -> None:
    """Take it that the process of a member is gone: nothing is left to close when the interpreter ends."""
    member._shut("was killed")  # noqa: SLF001  # to close it would be a farewell
