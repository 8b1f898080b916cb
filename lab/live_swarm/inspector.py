"""Looks at every step of every member, and compares what it knows with what really happened.

Every function here says what is wrong in a sentence; no sentence is what everybody wants to see.
"""

from collections.abc import Container, Mapping

from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.common import Settled
from cobandit.live.decide.full_names import prefix_of, split
from cobandit.live.machine.controls import FURTHEST_AHEAD
from cobandit.live.machine.step import Step
from cobandit.values.tally import Arm
from lab.live_swarm.computer import Disk
from lab.live_swarm.insides import (
    Origin,
    View,
    all_known,
    cell_of,
    counted_in,
    counts_at,
    incarnation_of,
    informed_by,
    may_choose,
    quarantined_by,
    rank,
    refusals_of,
    settings_of,
    to_decide_by,
    totals_of,
)
from lab.live_swarm.plan import Plan
from lab.live_swarm.process import Process
from lab.live_swarm.timeline import Timeline
from lab.live_swarm.truth import Made, Place, Truth
from lab.live_swarm.worth import Worth

NEVER_HONEST = (Refusal.ABSURD, Refusal.MALFORMED, Refusal.OVERSIZED, Refusal.FOREIGN_GROUP, Refusal.FLOOD)
"""No honest member says what is refused for these reasons. A token may be refused as forged: it may be older than the
disk of the member that made it."""


class Inspector:
    """Knows what really happened, and compares."""

    def __init__(self, plan: Plan, timeline: Timeline) -> None:
        self.truth = Truth()
        self.violations: list[str] = []
        self._plan = plan
        self._timeline = timeline
        self._worth = Worth(plan)
        self._ranks: dict[tuple[int, str], tuple[int, str]] = {}
        """The highest word on each control that each process has heard of."""

    def complain(self, what: str) -> None:
        """Note that something is wrong."""
        self.violations.append(what)

    # What people do.

    def decided(self, process: Process, made: Made) -> None:
        """Take it that a member has decided."""
        (bandit, _), arm = split(made.arm)
        if arm not in (choice := may_choose(process.machine, bandit)):
            self.complain(f"{process.name} chose {made.arm}, but controls let it choose {choice}")
        known = self.truth.decisions.get((made.member, made.number))
        if known is not None:
            self.complain(f"{process.name} gave number {made.number} to two decisions")
        self.truth.decisions[made.member, made.number] = made

    def given(self, made: Made) -> None:
        """Take it that somebody brings a decision's reward somewhere."""
        made.is_given = True
        self.truth.may_count(made.member, made.number, made.arm, made.units)

    # What members do.

    def restored(self, process: Process) -> None:
        """Look at a member that is as its disk knows it, before it has done anything."""
        before, now = process.disk.content.known, process.view
        if before != now:
            self.complain(f"{process.name} starts with {dict(now)}, but its disk knew {dict(before)}")
        if process.settings != process.disk.content.settings:
            self.complain(f"{process.name} starts with controls {process.settings}, not those on its disk")
        self._begin_incarnation(process)
        self._compare_totals(process)

    def came_up(self, process: Process, running: Mapping[str, Process], doubles: Container[str]) -> None:
        """Look at a member that can be used from now on: it obeys what the one had heard who told it what is set."""
        teller = informed_by(process.machine)
        known, settings = process.others.get(teller or "", (None, ()))
        if known is None or running.get(known.name) is not known or known.name in doubles:
            return  # it is not certain who that was
        has = {setting.key: rank(setting) for setting in settings_of(process.machine)}
        for setting in settings:
            if self._plan.clock_error <= FURTHEST_AHEAD and has.get(setting.key, (0, "")) < rank(setting):
                self.complain(f"{process.name} is up, was told by {teller} what is set, and does not know {setting}")

    def stepped(self, process: Process, step: Step) -> None:
        """Look at a member that has taken a step, before any of it is written."""
        origin = self._origin(process)
        if self.truth.used.get(origin) != process.number:
            self._begin_incarnation(process)
        for entry in step.batch.settled:
            self._settled(process, origin, entry)
        process.promises += [token for _, token, _ in step.batch.rewards_kept]
        self._compare_view(process, origin)
        self._compare_totals(process)
        self._compare_settings(process)
        for pair in self.truth.twice:
            if all(_knows(process.view, place) for place in pair):
                self.complain(f"{process.name} counts a decision twice: as {pair[0]} and as {pair[1]}")
        if quarantined := quarantined_by(process.machine):
            self.complain(f"{process.name} does not listen to {', '.join(quarantined)}, who did nothing wrong")
        refused = refusals_of(process.machine)
        for reason in NEVER_HONEST:
            if refused[reason]:
                self.complain(f"{process.name} refused something {reason.value}")

    def wrote(self, process: Process) -> None:
        """Take it that what a process has done is on its disk."""
        self.truth.wrote(self._origin(process))
        if process.settings != process.disk.content.settings:
            self.complain(f"{process.name} has heard {process.settings}, and wrote {process.disk.content.settings}")
        for setting in process.settings:
            self.truth.written_words[setting.key] = max(
                self.truth.written_words.get(setting.key, (0, "")), rank(setting)
            )
        for token in process.promises:
            self.promised(token, process.disk)
        process.promises.clear()

    def promised(self, token: str, disk: Disk) -> None:
        """Take it that a reward is on a disk, and must come to the member that decided."""
        self.truth.promised.setdefault(token, []).append(disk)

    def ended(self, process: Process) -> None:
        """Take it that a process is gone."""
        if hasattr(process, "machine"):
            self.truth.forgot(self._origin(process))
        for failure in process.loop.failures:
            self.complain(f"{process.name} failed: {failure}")

    # How.

    def _origin(self, process: Process) -> Origin:
        return Origin(process.name, incarnation_of(process.machine))

    def _begin_incarnation(self, process: Process) -> None:
        """Take it that a process is in an incarnation: a new one, or that in which it was stopped in good order."""
        origin = self._origin(process)
        last = self.truth.used.get(origin)
        if last is not None and process.disk.left_clean_by != last:
            self.complain(f"{process.name} uses incarnation {origin.incarnation} again, after a start that may forget")
        self.truth.used[origin] = process.number

    def _settled(self, process: Process, origin: Origin, entry: Settled) -> None:
        made = self.truth.decisions.get((process.name, entry.number))
        if entry.number in process.settled:
            self.complain(f"{process.name} settled decision {entry.number} a second time")
        process.settled.add(entry.number)
        if made is None or made.arm != entry.arm:
            self.complain(f"{process.name} settled decision {entry.number} for {entry.arm}, which nobody made")
            return
        if entry.is_expired:
            self._expired(process, entry, made)
        elif entry.units is not None and not (made.is_given and entry.units == made.units):
            self.complain(f"{process.name} counted {entry.units} for decision {entry.number}, which nobody gave")
        if entry.units is not None:
            cell = counted_in(process.machine, entry.arm)
            self.truth.observed(origin, cell, entry.number, entry.units)

    def _expired(self, process: Process, entry: Settled, made: Made) -> None:
        self.truth.expired.add((process.name, entry.number))
        if entry.units is not None:
            if entry.units != self._worth.default(process.name, entry.arm):
                self.complain(f"{process.name} counted {entry.units} for a decision that expired")
            self.truth.may_count(process.name, entry.number, entry.arm, entry.units)
            age = self._timeline.time - made.at
            if age < 0.99 * self._plan.expire_after - self._plan.forgiven:
                self.complain(f"{process.name} let a decision expire after {age:g} seconds")

    def _compare_view(self, process: Process, own: Origin) -> None:
        for origin, tallies in process.view.items():
            logs = self.truth.logs.get(origin, {})
            for arm, (count, total) in tallies.items():
                log = logs.get(arm)
                written = 0 if log is None else len(log.numbers) if origin == own else log.written
                if log is None or count > written:
                    self.complain(f"{process.name} knows {count} of {arm} of {origin}, who has written {written}")
                elif log.sums[count] != total:
                    self.complain(f"{process.name} has {total} for {count} of {arm} of {origin}: {log.sums[count]}")
        mine, known = self.truth.logs.get(own, {}), process.view.get(own, {})
        for arm, log in mine.items():
            most = len(log.numbers) if counts_at(process.machine, cell_of(arm)) else 0
            if most != known.get(arm, (0, 0))[0]:
                self.complain(f"{process.name} knows {known.get(arm)} of its own {most} of {arm}")

    def _compare_totals(self, process: Process) -> None:
        """Compare what a member decides by: it is the sum of its parts, and no more than there ever was."""
        known = all_known(process.machine, process.view)
        parts, totals = to_decide_by(process.machine, known), totals_of(process.machine)
        if totals != parts:
            self.complain(f"{process.name} decides by {totals}, but its parts add up to {parts}")
        sums: dict[Arm, tuple[int, int]] = {}
        for cell, (count, total) in known.items():
            bandit, segment, arm, _ = cell_of(cell)
            before = sums.get(full := prefix_of((bandit, segment)) + arm, (0, 0))
            sums[full] = before[0] + count, before[1] + total
        for arm, (count, total) in sums.items():
            bounds, quanta = self.truth.bounds[arm], self._worth.quanta(process.name, arm)
            lost = count * quanta - total
            if count > bounds.count or total > bounds.most or lost > bounds.count * quanta - bounds.least:
                self.complain(f"{process.name} has {total} in {count} of {arm}; there is no more than {bounds}")

    def _compare_settings(self, process: Process) -> None:
        for setting in process.settings:
            key = (process.number, setting.key)
            if (setting.key, setting.value, setting.by) not in self.truth.words:
                self.complain(f"{process.name} has heard {setting}, which nobody said")
            if rank(setting) < self._ranks.get(key, (0, "")):
                self.complain(f"{process.name} went back from {self._ranks[key]} to {setting}")
            self._ranks[key] = rank(setting)


def _knows(view: View, place: Place) -> bool:
    tallies = view.get(place.origin)
    return tallies is not None and tallies.get(place.arm, (0, 0))[0] >= place.nth
