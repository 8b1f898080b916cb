"""The interface of one bandit of a fleet. Every method may be called from any thread.

It decides immediately, like a member with one bandit. All bandits of a member share its links, its journal and its
name. The only state of this file is which bandit it is.
"""

from collections.abc import Callable, Collection
from decimal import Decimal
from typing import TYPE_CHECKING

from cobandit.live.decide.decision import Decision
from cobandit.live.decide.taken import Taken
from cobandit.live.machine.bandits import Bandits
from cobandit.live.status.bandit_statistics import SegmentStatistics, segment_of
from cobandit.live.status.verdict import Judgement, Standing, Verdict, judged, standing_of
from cobandit.values.checks import check_text, plain, plain_arguments
from cobandit.values.tally import Arm

if TYPE_CHECKING:
    from cobandit.live.drive.member import Member


class NamedBandit:
    """One bandit of a fleet, as `Member.bandit` returns it.

    Args:
        member: The member that declared it.
        name: Its name.
    """

    def __init__(self, member: "Member", name: str) -> None:
        self._member, self.name = member, name

    @property
    def _bandits(self) -> Bandits:
        """The bandits of its member, which changes when a lent name changes."""
        return self._member.machine.bandits

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Its arms."""
        return self._bandits.declared[self.name].bandit.arms

    @property
    def segments(self) -> tuple[str, ...]:
        """The segments that this member decides in: used here or heard of from others, as far as there is room."""
        return tuple(segment for name, segment in tuple(self._member.desks) if name == self.name)

    def select_arm(
        self, segment: str = "", subject: str | None = None, *, among: Collection[Arm] | None = None
    ) -> Decision:
        """Decide which arm to pull. Local: no I/O, and no waiting for the network.

        Args:
            segment: The segment to decide in. Each segment learns separately and is created on first use.
            subject: Who the decision is for, as in `Member.select_arm`.
            among: Choose one of these arms.

        Raises:
            LocalError: The maximum number of segments is reached, or none of the arms to choose from is on offer.
            NotNowError: The member is closed.
        """
        self._member.check_open()
        if type(segment) is not str:
            segment = _text(segment)
        desk = self._member.desks.get((self.name, segment))
        if desk is None:
            desk = self._bandits.desk(self.name, segment)
        return desk.select_arm(subject, among)

    def update(self, decision: Decision | str, reward: float | bool | Decimal) -> Taken:
        """Reward a decision, given as the decision or its id. Like `Member.update`, which takes all bandits'."""
        return self._member.update(decision, reward)

    def report(self, decision: Decision | str, metric: str, value: float | bool) -> bool:
        """Report a value of this bandit's guardrail metric, like `Member.report`."""
        return self._member.report(decision, metric, value)

    def withdraw(self, decision: Decision | str) -> bool:
        """Take back a decision that was never carried out."""
        return self._member.withdraw(decision)

    @plain_arguments
    def freeze_arm(self, arm: Arm) -> None:
        """Stop sending traffic to an arm of this bandit, at every member, until `unfreeze_arm`."""
        self._change(lambda: self._bandits.set_frozen(self.name, arm, is_frozen=True))

    @plain_arguments
    def unfreeze_arm(self, arm: Arm) -> None:
        """Let the policy choose an arm again, at every member."""
        self._change(lambda: self._bandits.set_frozen(self.name, arm, is_frozen=False))

    @plain_arguments
    def kill(self, control_arm: Arm) -> None:
        """Turn this bandit's kill switch on: every member pulls only this arm of it, until `lift`."""
        self._change(lambda: self._bandits.set_control_arm(self.name, control_arm))

    def lift(self) -> None:
        """Turn this bandit's kill switch off, at every member."""
        self._change(lambda: self._bandits.set_control_arm(self.name, None))

    def statistics(self, segment: str = "") -> SegmentStatistics:
        """Return what is known about a segment: all its arms, with rewards in this bandit's range."""
        machine, segment = self._member.machine, _text(segment)
        return self._member.on_loop(lambda: segment_of(machine.agent, machine.bandits, self.name, segment))

    def verdict(self, segment: str = "") -> Verdict | None:
        """Return which arm leads in a segment, how sure that is and what stopping now would cost; `None` if unknown.

        Computed on your thread, in a few milliseconds for sixteen arms. Words and figures are in the range of this
        bandit's rewards.
        """
        verdict = self.judged(segment)[1].verdict
        return None if verdict is None else verdict.in_range(self._bandits.declared[self.name].bandit.rewards)

    def judged(self, segment: str = "") -> tuple[SegmentStatistics, Judgement]:
        """Return what is known about a segment, and the judgement on it."""
        machine, segment = self._member.machine, _text(segment)

        def known() -> tuple[SegmentStatistics, Standing, tuple[float, float]]:
            told = segment_of(machine.agent, machine.bandits, self.name, segment)
            policy = machine.agent.learners.seen((self.name, segment)).policy
            withheld = machine.bandits.withheld(self.name)
            arms = [arm for arm in policy.candidates if arm not in withheld]
            return told, standing_of(policy, arms), machine.bandits.declared[self.name].bandit.rewards

        told, standing, rewards = self._member.on_loop(known)
        return told, judged(standing, rewards=rewards)

    def _change(self, work: Callable[[], None]) -> None:
        self._member.change(work)

    def __repr__(self) -> str:
        return f"<bandit {self.name!r} of {self._member!r}>"


def _text(segment: object) -> str:
    """Return the name of a segment as Python's string."""
    plain_segment: str = plain(segment)
    check_text("a segment", plain_segment)
    return plain_segment
