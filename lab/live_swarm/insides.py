"""The only file of this world that knows how members are made inside; everything else asks here.

Three kinds of things: what a member knows, for the checks; what a process takes from its surroundings besides time,
network and disk (chance, pauses, the log), so that a seed decides it; and how a member is made and thrown away.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from cobandit.core.places import SEPARATOR, Bandit, Change
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.full_names import prefix_of, split
from cobandit.live.drive import looking, sending, writing
from cobandit.live.drive.member import Member
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import sessions
from cobandit.live.machine.batch import NodeState
from cobandit.live.machine.controls import Setting
from cobandit.live.machine.machine import Machine
from cobandit.live.store import restoring
from cobandit.values.tally import Arm
from lab.swarm.checks.windows import is_inside
from lab.swarm.dice import Dice


class Origin(NamedTuple):
    """Where observations were made: by which member, in which of its incarnations."""

    member: str
    incarnation: int


Tallies = dict[str, tuple[int, int]]
"""Of each cell, or of each arm, how many observations, and their rewards added up, in quanta. Those without any are not
there."""

View = Mapping[Origin, Tallies]
"""What somebody knows, and of whom."""


class Cell(NamedTuple):
    """Where an observation is counted, besides whose it is."""

    bandit: str
    segment: str
    arm: Arm
    period: int


def named(cell: Cell) -> str:
    """Return the name of a cell: that of the arm, if it is one of the plain bandit.

    >>> named(Cell("", "", "A", 0)), cell_of(named(Cell("home", "de", "A", 3)))
    ('A', Cell(bandit='home', segment='de', arm='A', period=3))
    """
    if not cell.bandit:
        return cell.arm
    return f"{prefix_of((cell.bandit, cell.segment))}{cell.arm}{SEPARATOR}{cell.period}"


def cell_of(name: str) -> Cell:
    """Return which cell has a name."""
    (bandit, segment), rest = split(name)
    arm, _, period = rest.partition(SEPARATOR)
    return Cell(bandit, segment, arm, int(period or 0))


def counted_in(machine: Machine, arm: str) -> str:
    """Return the name of the cell in which a member counts an arm at present, from the arm's full name."""
    (bandit, segment), bare = split(arm)
    return named(Cell(bandit, segment, bare, machine.agent.endpoint.replica.period_of(bandit)))


def view_of(machine: Machine) -> View:
    """Return what a member knows, by where it was observed."""
    view: dict[Origin, Tallies] = {}
    for key, (arm, count, units, _) in machine.agent.endpoint.replica.cells():
        cell = Cell(key.bandit, key.segment, arm, key.period)
        view.setdefault(Origin(key.agent, key.incarnation), {})[named(cell)] = (count, units)
    return view


def heard_totals(machine: Machine) -> Tallies:
    """Return what a leaf has heard that everybody else observed; nothing at who is no leaf."""
    heard = [(Cell(one.bandit, one.segment, one.tally.arm, one.period), one.tally) for one in _heard(machine)]
    return {named(cell): (entry.observations, entry.reward_sum) for cell, entry in heard if entry.observations}


def outlived_totals(machine: Machine, sessions: Mapping[str, int]) -> frozenset[str]:
    """Return the cells of which a leaf has heard totals from earlier sessions of these relays than the given ones."""
    stated = machine.agent.endpoint.totals.state()
    old = (one for one in stated if one.session < sessions.get(one.relay, 0))
    return frozenset(named(Cell(one.bandit, one.segment, one.tally.arm, one.period)) for one in old)


def _heard(machine: Machine) -> tuple[Change, ...]:
    return tuple(machine.agent.endpoint.totals.all())


def all_known(machine: Machine, view: View) -> Tallies:
    """Return what a member knows of each cell, of every origin."""
    known: Tallies = {}
    for tallies in (*view.values(), heard_totals(machine)):
        for cell, (count, units) in tallies.items():
            before = known.get(cell, (0, 0))
            known[cell] = before[0] + count, before[1] + units
    return known


def totals_of(machine: Machine) -> Tallies:
    """Return what a member decides by, in all places that it has declared: by the full names of arms."""
    agent = machine.agent
    places = [(name, segment) for name in machine.bandits.declared for segment in agent.segments_of(name)]
    policies = [(prefix_of(at), agent.policy_at(*at)) for at in places]
    policies += [("", agent.policy)] if agent.has_plain else []
    return {
        prefix + arm: (count, policy.tally.sums[arm])
        for prefix, policy in policies
        for arm, count in policy.tally.counts.items()
        if count
    }


def to_decide_by(machine: Machine, known: Tallies) -> Tallies:
    """Return what a member should decide by, given all that it knows: the sum of the periods, the older ones faded."""
    sums: Tallies = {}
    replica, declared = machine.agent.endpoint.replica, machine.bandits.declared
    for name, (count, units) in known.items():
        bandit, segment, arm, period = cell_of(name)
        if not bandit or bandit in declared:
            terms, left = replica.bandits[bandit], count
            if terms.half_life:
                age = max(0, replica.period_of(bandit) - period)
                left = round(count * 0.5 ** (age * terms.period / terms.half_life))
            full = prefix_of((bandit, segment)) + arm
            before = sums.get(full, (0, 0))
            sums[full] = before[0] + left, before[1] + units * left // count
    return {arm: tally for arm, tally in sums.items() if tally[0]}


Served = dict[tuple[str, Arm], Bandit]
"""The arms of bandits that a member serves, each with how its bandit is declared there."""


def serves(machine: Machine) -> Served:
    """Return the arms that a member serves, each with how its bandit is declared there."""
    agent = machine.agent
    plain = {("", arm): Bandit("", (), 1) for arm in agent.arms}
    return plain | {(one.name, arm): one._replace(arms=()) for one in agent.bandits for arm in one.arms}


def is_declared(machine: Machine, arm: str) -> bool:
    """Return whether the bandit of an arm's full name is declared at a member, with the arm."""
    (bandit, _), bare = split(arm)
    if not bandit:
        return bare in machine.agent.arms
    return bandit in machine.bandits.declared and bare in machine.bandits.declared[bandit].bandit.arms


def counts_at(machine: Machine, cell: Cell) -> bool:
    """Return whether a cell is inside its window at a member."""
    return is_inside(machine.agent.endpoint.replica, cell.bandit, cell.period)


def declared_by(machine: Machine) -> dict[str, Bandit]:
    """Return the plain bandit and those that a member has declared since its start; of a relay, all that it serves."""
    served = {one.name: one for one in machine.agent.bandits}
    if machine.terms.is_relay:
        return served
    return {name: one for name, one in served.items() if not name or name in machine.bandits.declared}


def said_of_bandits(machine: Machine) -> frozenset[str]:
    """Return what a member has said since its start of bandits that others declare differently."""
    return frozenset(machine.alerts._said.get(LogEvent.BANDITS_DIFFER, ()))  # noqa: SLF001  # it is said to the log


def incarnation_of(machine: Machine) -> int:
    """Return in which incarnation a member is."""
    return machine.agent.incarnation


def settings_of(machine: Machine) -> tuple[Setting, ...]:
    """Return the controls that a member has heard of."""
    return machine.controls.settings


def informed_by(machine: Machine) -> str | None:
    """Return who has told a member, since its start, what is set."""
    return machine.introduction.settings_from


def may_choose(machine: Machine, bandit: str = "") -> tuple[Arm, ...]:
    """Return what the controls that a member has heard of let it choose."""
    if bandit:
        arms, own_kill = machine.bandits.declared[bandit].bandit.arms, machine.bandits.control_arm_of(bandit)
        left = tuple(arm for arm in arms if arm not in machine.bandits.frozen(bandit))
        return left or arms if own_kill is None else (own_kill,)
    offered, killed, frozen = machine.operations.offered, machine.controls.control_arm, machine.controls.frozen
    if killed in offered:
        return (killed,)
    return tuple(arm for arm in offered if arm not in frozen) or offered


def is_killed(machine: Machine, bandit: str = "") -> bool:
    """Return whether the kill switch is on, as far as a member has heard and can obey."""
    if bandit:
        return machine.bandits.control_arm_of(bandit) is not None
    return machine.controls.control_arm in machine.operations.offered


def waiting_rewards(machine: Machine) -> tuple[tuple[str, str, float], ...]:
    """Return the rewards that a member has to bring to others."""
    return machine.outbox.rewards


def open_decisions(machine: Machine) -> frozenset[int]:
    """Return the numbers of the decisions that wait for their reward."""
    return frozenset(machine.open_decisions.open)


def candidates_of(machine: Machine) -> tuple[Arm, ...]:
    """Return the arms of the plain bandit that the policy has not ruled out."""
    return machine.agent.policy.candidates if machine.agent.has_plain else ()


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
