"""What people do with a fleet: they let it decide, and bring rewards: at once, late, twice, never, or elsewhere."""

import math
from enum import Enum
from functools import partial
from typing import Protocol

from cobandit.live.decide.decision import Decision
from cobandit.live.decide.full_names import prefix_of
from cobandit.values.errors import CobanditError, StateError
from lab.live_swarm.computer import Disk
from lab.live_swarm.insides import is_killed, may_choose
from lab.live_swarm.inspector import Inspector
from lab.live_swarm.plan import Plan
from lab.live_swarm.process import Process
from lab.live_swarm.timeline import Timeline
from lab.live_swarm.truth import Made
from lab.live_swarm.worth import Worth
from lab.swarm.dice import Dice
from lab.swarm.transcript import Transcript

_DICE_OF_DECISIONS, _DICE_OF_REWARDS, _DICE_OF_PLACES = 13, 14, 19

MOST_TRIES = 3
"""So often somebody tries to bring a reward to a member that does not run."""

SUBJECTS = 6


class Way(Enum):
    """How a reward is brought."""

    HERE = "to the member that decided"
    ELSEWHERE = "to another member"
    MAIL = "into the mailbox"


_WAYS = (Way.HERE, Way.HERE, Way.ELSEWHERE, Way.MAIL)


class Fleet(Protocol):
    """Whom people can turn to."""

    running: dict[str, Process]
    doubles: dict[str, Process]
    disks: dict[str, Disk]


class People:
    """Everybody who uses a fleet."""

    def __init__(
        self, plan: Plan, timeline: Timeline, transcript: Transcript, inspector: Inspector, fleet: Fleet
    ) -> None:
        self._plan = plan
        self._timeline = timeline
        self._transcript = transcript
        self._inspector = inspector
        self._fleet = fleet
        self._worth = Worth(plan)
        self._dice_of_decisions = [Dice(plan.seed, _DICE_OF_DECISIONS, place) for place in range(len(plan.members))]
        self._dice = Dice(plan.seed, _DICE_OF_REWARDS)
        self._dice_of_places = Dice(plan.seed, _DICE_OF_PLACES)

    def come(self) -> None:
        """Begin to decide."""
        for place, member in enumerate(self._plan.members):
            self._plan_decision(place, member.joins_at)

    def hurry(self, process: Process) -> None:
        """Let a member decide a few times, just before it is killed: nobody will know of it but those who asked."""
        for _ in range(self._dice.whole(1, 3)):
            self._let_decide(process)

    def come_again(self) -> None:
        """Let everybody decide once more, after everything."""
        for process in tuple(self._fleet.running.values()):
            for bandit in (process.member.bandits or ("",)) if process.is_up else ():
                decision = self._select(process, None, bandit)
                if decision is not None:
                    made = self._made(process, decision)
                    self._inspector.given(made)
                    process.member.update(decision, self._said(made))

    def _plan_decision(self, place: int, after: float) -> None:
        gap = self._plan.members[place].gap
        time = after - math.log(1.0 - self._dice_of_decisions[place].unit()) * gap
        if time < self._plan.heals_at:
            self._timeline.at(time, partial(self._decide, place))

    def _decide(self, place: int) -> None:
        self._plan_decision(place, self._timeline.time)
        name = self._plan.members[place].name
        for processes in (self._fleet.running, self._fleet.doubles):
            process = processes.get(name)
            if process is not None and process.is_up:
                self._let_decide(process)

    def _let_decide(self, process: Process) -> None:
        dice = self._dice
        subject = f"s{dice.whole(1, SUBJECTS)}" if dice.happens(0.2) else None
        decision = self._select(process, subject)
        if decision is None:
            return
        made = self._made(process, decision)
        if subject is not None:
            self._check_subject(process, subject, decision)
        if dice.happens(0.03):
            made.is_withdrawn = process.member.withdraw(decision)
        if dice.happens(0.4):
            self._inspector.given(made)
            taken = process.member.update(decision, self._said(made))
            self._note(process.name, f"is given {made.units} for {made.number} at once: {taken}")
        elif dice.happens(0.85):
            self._plan_reward(made)
        if dice.happens(0.4):
            self._plan_reward(made)

    def _made(self, process: Process, decision: Decision) -> Made:
        """Note a decision, and what its reward will be."""
        arm = prefix_of((decision.bandit, decision.segment)) + decision.arm
        quanta = self._worth.quanta(process.name, arm)
        units = self._dice.pick((0, quanta, self._dice.whole(0, quanta)))
        made = Made(
            member=process.name,
            number=decision.number,
            arm=arm,
            token=decision.id,
            at=self._timeline.time,
            units=units,
            start=process.number,
        )
        self._note(process.name, f"decides {made.arm}, number {made.number}, start {process.number}")
        self._inspector.decided(process, made)
        return made

    def _select(self, process: Process, subject: str | None, bandit: str = "") -> Decision | None:
        """Let a member decide; in a fleet for any segment of any bandit, as far as there are some."""
        member, dice = process.member, self._dice_of_places
        if not self._plan.bandits:
            return member.select_arm(subject)
        if not member.bandits:
            return None
        bandit, segment = bandit or dice.pick(member.bandits), dice.pick(self._plan.segments)
        try:
            return member.declared_bandit(bandit).select_arm(segment, subject)
        except StateError as error:
            self._note(process.name, f"refuses: {error}")
            return None

    def _said(self, made: Made) -> float:
        return self._worth.said(made.member, made.arm, made.units)

    def _check_subject(self, process: Process, subject: str, decision: Decision) -> None:
        """Compare with what the subject had before: it keeps its arm as long as that may be chosen."""
        whom = prefix_of((decision.bandit, decision.segment)) + subject
        kept, choice = process.subjects.get(whom), may_choose(process.machine, decision.bandit)
        if is_killed(process.machine, decision.bandit):
            return  # what that chooses is not the subject's own
        rules_out = self._worth.rules_out(process.name, decision.bandit)
        if kept in choice and kept != decision.arm and not rules_out:
            self._inspector.complain(f"{process.name} chose {decision.arm} for {subject}, who had {kept}")
        process.subjects[whom] = decision.arm

    def _plan_reward(self, made: Made) -> None:
        pause = self._dice.scale(0.01, self._plan.heals_at)
        self._timeline.after(pause, partial(self._bring, made, self._dice.pick(_WAYS), MOST_TRIES))

    def _bring(self, made: Made, way: Way, tries: int) -> None:
        fleet = self._fleet
        if not self._plan.rewards_come_late:
            process = fleet.running.get(made.member)
            if process is None or process.number != made.start:
                return
            way = Way.HERE
        if way is Way.MAIL:
            self._inspector.given(made)
            self._note(made.member, f"gets mail: {made.units} for {made.number}")
            disk = fleet.disks[made.member]
            disk.leave_mail(made.token, self._said(made))
            self._inspector.promised(made.token, disk)
            return
        process = fleet.running.get(made.member)
        if way is Way.ELSEWHERE:
            others = [other for other in fleet.running.values() if other.name != made.member and other.is_up]
            process = self._dice.pick(others) if others else None
        if process is None or not process.is_up:
            if tries:
                self._timeline.after(self._dice.scale(0.5, 60.0), partial(self._bring, made, way, tries - 1))
            return
        self._inspector.given(made)
        process.run(self._update(process, made))

    async def _update(self, process: Process, made: Made) -> None:
        try:
            taken = await process.member.updated(made.token, self._said(made))
        except CobanditError as error:
            self._note(process.name, f"refuses {made.units} for {made.number} of {made.member}: {error}")
        else:
            self._note(process.name, f"is given {made.units} for {made.number} of {made.member}: {taken}")

    def _note(self, who: str, what: str) -> None:
        self._transcript.note(self._timeline.time, who, what)
