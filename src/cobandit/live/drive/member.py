"""The interface of a member. Every method may be called from any thread.

A member decides immediately, on the caller's thread, and learns with the others in the background. This file is the
facade. Behind it are `cobandit.live.decide` (deciding) and `node.py` (the network). It never reads the machine
directly, because that belongs to the loop. What it reads from a caller's thread is constant, published (`Known`), or
fetched on the loop.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from types import TracebackType
from typing import Any, Self, TypeVar

from cobandit.core.pen_names import lender_of
from cobandit.core.places import check_arm
from cobandit.learning import Build
from cobandit.live.decide.decider import Decider
from cobandit.live.decide.decision import Decision, Signer, is_genuine, read
from cobandit.live.decide.full_names import split
from cobandit.live.decide.taken import Taken
from cobandit.live.drive.background import Background, at_end, result_of
from cobandit.live.drive.declaring import Said, declared
from cobandit.live.drive.named_bandit import NamedBandit
from cobandit.live.drive.node import Node
from cobandit.live.drive.pens import PenKeeper
from cobandit.live.machine.bandits import MAX_SEGMENTS
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.rewarding import take_reward
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import Statistics
from cobandit.live.store.history import DecisionLog, LogEntry
from cobandit.policies.registry import THOMPSON, BuiltIn
from cobandit.values.checks import (
    check_finite,
    check_positive,
    check_probability,
    is_number,
    plain,
    plain_arguments,
)
from cobandit.values.errors import LocalError, NotNowError, StateError, UnknownError
from cobandit.values.tally import Arm

Value = TypeVar("Value")

STOP_WITHIN = 10.0
"""Seconds that a member may take to say farewell when the interpreter exits."""


class Member:
    """One member of a group. Every method may be called from any thread.

    Args:
        node: The network side of the member. The member must be created on the loop where the node runs.
        home: That loop.
        keeper: Supplies the member with names, if it has none of its own.
    """

    def __init__(self, node: Node, home: Background, keeper: PenKeeper | None = None) -> None:
        self._node, self._keeper = node, keeper
        machine = node.machine
        self._name, self._group = machine.terms.name, machine.terms.group
        self._clock, self._expire_after = machine.clock, machine.terms.expire_after
        self._source = machine.decider
        """Publishes what the machine knows, even after this member is closed."""
        self._decider: Decider | _Shut = machine.decider
        self.desks = machine.decider.desks
        """The desks of named bandits, by place."""
        self._background = home
        self._forget_end = at_end(self.close)
        if keeper is not None:
            keeper.moved = self._move_to
        _MEMBERS.add(self)

    @property
    def name(self) -> str:
        """This member's name. A name lent by a relay may change later."""
        return self._name

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that this member knows, including removed ones."""
        return self._source.published.arms

    @property
    def offered_arms(self) -> tuple[Arm, ...]:
        """The arms that this member serves: all except removed ones."""
        return self._source.published.offered

    @property
    def is_open(self) -> bool:
        """Whether the member decides: `False` once it is closed."""
        return not isinstance(self._decider, _Shut)

    @property
    def disk_trouble(self) -> str | None:
        """Why decisions and rewards cannot be written to disk; `None` if they can."""
        return self._node.disk_trouble

    @property
    def is_cut_off(self) -> bool:
        """Whether the member is a leaf and none of its relays answers. It still decides."""
        return self._node.is_cut_off

    # Deciding.

    def select_arm(self, subject: str | None = None, *, among: Collection[Arm] | None = None) -> Decision:
        """Decide which arm to pull. Local: no I/O, and no waiting for the network.

        Args:
            subject: Who the decision is for, if the same subject should get the same arm again while it is on offer.
                This member remembers the 100,000 subjects seen last, across restarts. For a subject that it has not
                seen, it makes the same draw as every other member with the same odds.
            among: Choose one of these arms, if not every arm is possible this time: something is sold out, or not for
                every user. Floors and ceilings of the other arms then do not count.

        Raises:
            LocalError: None of the arms to choose from is on offer: they are frozen or removed, or the kill switch
                points to another arm.
        """
        return self._decider.select_arm(subject, among)

    @plain_arguments
    def bandit(
        self,
        name: str,
        arms: Sequence[Arm],
        *,
        policy: str | BuiltIn | Build = THOMPSON,
        rewards: tuple[float, float] = (0.0, 1.0),
        quantum: float | None = None,
        window: str | float | None = None,
        half_life: str | float | None = None,
        floors: Mapping[Arm, float] | None = None,
        ceilings: Mapping[Arm, float] | None = None,
        default_reward: float | None = None,
        max_segments: int = MAX_SEGMENTS,
        holdout: float = 0.0,
        guardrail: tuple[str, float] | None = None,
    ) -> NamedBandit:
        """Declare one of the bandits of a fleet and return it. Members that make the same declaration learn together.

        Call it at any time, and again to add arms. What the bandit learned survives a restart; declare it again then.

        Args:
            name: The bandit's name in the fleet.
            arms: The bandit's arms.
            policy: As in `join`; one per segment.
            rewards: The smallest and the largest reward: money, seconds, anything.
            quantum: The smallest step of a reward; a millionth of the range by default.
            window: Forget observations older than this: `"7d"`, or seconds.
            half_life: Halve the weight of an observation each time this has passed: `"2d"`, or seconds.
            floors: For some arms, the smallest share of decisions in each segment.
            ceilings: For some arms, the largest share.
            default_reward: The reward to count for an expired decision; `None` to drop the decision.
            max_segments: How many segments the bandit may have at this member.
            holdout: The share of decisions, or of subjects, that are held out, as in `join`, over all segments.
            guardrail: A second metric and its limit, as in `join`, over all segments.

        Raises:
            LocalError: The declaration is invalid, or differs from an earlier one. Nothing changes.
        """
        self.check_open()
        if self._source.published.arms:
            raise StateError(f"{self.name} is in a group with one bandit: open a member with fleet={self._group!r}")
        said = Said(
            name,
            arms,
            policy,
            *(rewards, quantum, window, half_life, floors, ceilings, default_reward, max_segments, holdout, guardrail),
        )
        result_of(self._background.submit(self._node.declare(declared(said, self._group, self.name))))
        return NamedBandit(self, name)

    @property
    def is_fleet(self) -> bool:
        """Whether the member has named bandits, and no other."""
        return not self._source.published.arms

    @property
    def bandits(self) -> tuple[str, ...]:
        """The names of the bandits declared at this member."""
        return tuple(self.machine.bandits.declared)

    def declared_bandit(self, name: str) -> NamedBandit:
        """Return a bandit that is declared at this member.

        Raises:
            UnknownError: The bandit is not declared here.
        """
        if name not in self.machine.bandits.declared:
            raise UnknownError(
                f"bandit {name!r} is not declared at {self.name}, only {', '.join(self.bandits) or 'none'}"
            )
        return NamedBandit(self, name)

    @property
    def machine(self) -> Machine:
        """The machine that the bandits of a fleet read, on the loop."""
        return self._node.machine

    def check_choice(self, among: Collection[Arm]) -> None:
        """Check whether `select_arm(among=...)` could choose one of these arms now, without deciding.

        Raises:
            LocalError: None of them is on offer.
        """
        self._decider.check_choice(among)

    def update(self, decision: Decision | str, reward: float | bool | Decimal) -> Taken:
        """Reward a decision, given as the decision or its id. It counts once, however often you repeat the call.

        The decision may be from an earlier start, or from another member; the reward is then delivered to that member.

        Returns:
            What became of the reward. The result is true if the reward counts or may count later: `COUNTED` here;
            `ON_ITS_WAY` to another member, the only one that can count it; `COUNTED_BEFORE`; or `GIVEN_UP`, because
            the decision is too old. `statistics()` says how many rewards are waiting, were delivered, and were given
            up because their member did not come back.

        Raises:
            LocalError: The reward is outside its bandit's range, [0, 1] by default; or the id is invalid; or too many
                rewards are waiting for members that cannot be reached. Nothing changes.
        """
        counted: float = reward if type(reward) is float else _number(reward)
        decider = self._decider
        if type(decision) is Decision and decision.signer is decider.signer:
            return Taken.COUNTED if decider.settle(decision.number, counted) else self._settled_before(decision.at)
        token = _id_of(decision)
        taken = self._update_at_decider(token, counted)
        return result_of(self._background.submit(self._update_at_machine(token, counted))) if taken is None else taken

    async def updated(self, decision: str, reward: float) -> Taken:
        """`update` by id, from asynchronous code: your loop never waits for the network or the disk."""
        decision, reward = _id_of(decision), _number(reward)
        taken = self._update_at_decider(decision, reward)
        if taken is not None:
            return taken
        return await asyncio.wrap_future(self._background.submit(self._update_at_machine(decision, reward)))

    def report(self, decision: Decision | str, metric: str, value: float | bool) -> bool:
        """Report a value of the guardrail's metric for a decision, before its reward: an error, a timeout, a complaint.

        Also report 0 where nothing went wrong: the guardrail watches the mean of the reported values. A value counts at
        once, and still counts if the decision is later withdrawn or never rewarded.

        Returns:
            Whether the value counts: once per decision, while the decision waits for its reward, and not after a
            restart.

        Raises:
            LocalError: It is not the guardrail's metric, the decision is another member's, or the value is not a number
                in [0, 1].
        """
        token = _id_of(decision)
        decider, claim = self._decider, read(token)
        bandit, metric = split(claim.arm)[0][0], plain(metric)
        guardrail = self._node.machine.guardrails.terms.get(bandit)
        if guardrail is None or metric != guardrail.metric:
            watched = "there is none" if guardrail is None else f"that is {guardrail.metric!r}"
            which, where = (f"bandit {bandit!r}", "fleet.bandit") if bandit else ("the guardrail", "connect")
            raise UnknownError(f"{metric!r} is not the metric of {which}: {watched} ({where}(guardrail=...))")
        if claim.member != decider.signer.name:
            raise StateError(f"the decision was made by {claim.member!r}: only that member can take a report on it")
        _check_genuine(token, decider.signer)
        told = _number(value)
        check_probability(f"a value of {metric!r}", told)
        return decider.open_since(claim.number) == claim.at and decider.report(claim.number, told)

    def withdraw(self, decision: Decision | str) -> bool:
        """Take back a decision that was never carried out, so that it does not count, not even when it would expire.

        Returns:
            Whether the decision was still open.

        Raises:
            LocalError: The decision is another member's: only the member that decided can take it back.
        """
        token = _id_of(decision)
        decider, claim = self._decider, read(token)
        if claim.member != decider.signer.name:
            raise StateError(f"the decision was made by {claim.member!r}: only that member can withdraw it")
        _check_genuine(token, decider.signer)
        return decider.open_since(claim.number) == claim.at and decider.withdraw(claim.number)

    def _update_at_decider(self, token: str, reward: float) -> Taken | None:
        """Reward a decision by its id if that needs no waiting; `None` if only the network side can judge it."""
        decider, claim = self._decider, read(token)
        is_own = claim.member == decider.signer.name
        if is_own:
            _check_genuine(token, decider.signer)
        if is_own or decider.knows(claim.arm):
            decider.units(reward, claim.arm)
        else:  # who decided knows the range; no other value would ever be taken there
            check_finite("a reward", reward)
        if not is_own:
            return None
        if decider.open_since(claim.number) == claim.at:
            return Taken.COUNTED if decider.settle(claim.number, reward) else self._settled_before(claim.at)
        return None

    def _settled_before(self, at: float) -> Taken:
        """Return what becomes of a reward for a decision from that time that is no longer open."""
        return Taken.GIVEN_UP if self._clock.now() - at >= self._expire_after else Taken.COUNTED_BEFORE

    async def _update_at_machine(self, token: str, reward: float) -> Taken:
        """Reward a decision by its id, on the loop. Rewards for other members need not wait for a step."""
        node, member = self._node, read(token).member
        if node.machine.terms.name in (member, lender_of(member)):
            return await node.act(lambda: take_reward(node.machine, token, float(reward)))
        taken = take_reward(node.machine, token, float(reward))
        node.wake()
        return taken

    # Operating.

    @plain_arguments
    def freeze_arm(self, arm: Arm) -> None:
        """Stop sending traffic to an arm, at every member, until `unfreeze_arm`. What is known of it stays."""
        self.change(lambda: self._node.machine.operations.set_frozen(arm, is_frozen=True))

    @plain_arguments
    def unfreeze_arm(self, arm: Arm) -> None:
        """Let the policy choose an arm again, at every member."""
        self.change(lambda: self._node.machine.operations.set_frozen(arm, is_frozen=False))

    @plain_arguments
    def kill(self, control_arm: Arm) -> None:
        """Turn the kill switch on: every member pulls only this arm, until `lift`.

        In a fleet, this applies to every bandit that has the arm. Use `NamedBandit.kill` for a single bandit.
        """
        self.change(lambda: self._node.machine.operations.set_control_arm(control_arm))

    def lift(self) -> None:
        """Turn the kill switch off, at every member."""
        self.change(lambda: self._node.machine.operations.set_control_arm(None))

    @plain_arguments
    def forget(self, name: str) -> None:
        """Declare a member gone for good, at every member: nothing is sent to it, and statistics leave it out.

        Its observations stay. If it is heard again, everything is as before: nothing is lost or counted twice. Members
        that said farewell, or have been silent for `forget_after`, are forgotten without this.
        """
        self.change(lambda: self._node.machine.operations.set_gone(name))

    @plain_arguments
    def add_arm(self, arm: Arm) -> None:
        """Offer one more arm at this member. Others may not have it, or not yet."""
        self.check_open()
        if not self._source.published.arms:
            raise StateError("in a fleet, arms belong to bandits: declare the bandit again, with more arms")
        check_arm(arm)
        result_of(self._background.submit(self._node.add_arm(arm)))

    @plain_arguments
    def remove_arm(self, arm: Arm) -> None:
        """Stop offering an arm at this member. What is known of it stays, and others may continue to offer it."""
        self.change(lambda: self._node.machine.operations.remove_arm(arm))

    def catch_up(self) -> None:
        """Ask every other member for one share, and return at once.

        Members that decide do not need this: by sharing what they learn, they ask for what others learned. A member
        that only listens hears nothing from busy members until it asks.
        """
        self.change(lambda: self._node.machine.introduction.introduce())  # noqa: PLW0108  # looked up on the loop

    def statistics(self) -> Statistics:
        """Return this member's state as an immutable value, with a verdict on what it knows now."""
        self.check_open()
        return result_of(self._background.submit(self._node.fresh_statistics()))

    def fleet(self, wait_s: float = 2.0) -> Fleet:
        """Ask the other members that are here for their statistics, and return them with this member's.

        Returns as soon as all have answered; `silent` names the members that did not answer within the given seconds.
        A call made while a round is under way gets the answer of that round.
        """
        check_positive("wait", wait_s)
        self.check_open()
        return result_of(self._background.submit(self._node.fleet(wait_s)))

    def snapshot(self) -> bytes:
        """Return everything this member knows about the arms, for another member to start from, online or offline."""
        machine = self._node.machine
        return self.on_loop(lambda: machine.terms.versions.layout.snapshots.encode(machine.agent.snapshot()))

    def log(self) -> Iterator[LogEntry]:
        """Return the decisions that are still in the log, oldest first, with propensities and rewards."""
        self.sync()
        machine = self._node.machine
        bandits = self.on_loop(lambda: dict(machine.agent.endpoint.replica.bandits))
        return iter(DecisionLog(bandits.__getitem__, self._source.signer).read(self._node.history()))

    def flush(self, timeout: float = 5.0) -> bool:
        """Send every member that is here what it lacks, without waiting until there is enough for a share.

        It is sent again if no answer comes, and to members that are met meanwhile. Closing does the same, for a second
        at most.

        Returns:
            Whether all of them acknowledged everything observed before the call within the given seconds. Members that
            are not here are not waited for, so it is true if nobody else is (`statistics().peers` shows who is). It is
            false if nobody is because the network does not work, which with `tls://` and `udp://` looks the same as
            that nobody answers at the addresses given, and at a leaf without a relay that serves what it has observed.
        """
        self.check_open()
        return result_of(self._background.submit(self._node.flush(_seconds(timeout))))

    def sync(self, timeout: float | None = 30.0) -> None:
        """Wait until everything rewarded so far is on disk.

        Raises:
            LocalError: It could not be written, or not within the given seconds. Nothing is lost: the member retries.
        """
        self.check_open()
        seconds = None if timeout is None else _seconds(timeout)
        result_of(self._background.submit(self._node.synced()), seconds)

    async def synced(self) -> None:
        """`sync`, for asynchronous code."""
        self.check_open()
        await asyncio.wrap_future(self._background.submit(self._node.synced()))

    # Leaving.

    def close(self) -> None:
        """Say farewell, write everything to disk and stop. Harmless if the member is already closed."""
        if self._shut("is closed"):
            result_of(self._background.submit(self._stop()), STOP_WITHIN, may_cancel=False)

    async def aclose(self) -> None:
        """`close`, for asynchronous code."""
        if self._shut("is closed"):
            await asyncio.shield(asyncio.wrap_future(self._background.submit(self._stop())))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cobandit member {self.name!r} of group {self._group!r}>"

    async def _stop(self) -> None:
        if self._keeper is not None:
            await self._keeper.end()
        await self._node.stop()

    def _move_to(self, node: Node) -> None:
        """Continue as another member, under the next lent name. Earlier decisions belong to the previous one."""
        self._node, self._source = node, node.machine.decider
        self.desks = node.machine.decider.desks
        if not isinstance(self._decider, _Shut):
            self._decider = node.machine.decider
        self._name = node.machine.terms.name

    def _shut(self, why: str) -> bool:
        """Stop deciding. Return whether it was deciding until now."""
        was_open = not isinstance(self._decider, _Shut)
        self._decider = _Shut(f"the member {self.name!r} {why}")
        self._forget_end()
        _MEMBERS.discard(self)
        return was_open

    # Also for the bandits of a fleet.

    def check_open(self) -> None:
        """Raise `NotNowError` if the member is closed."""
        if isinstance(self._decider, _Shut):
            raise NotNowError(f"{self._decider.why}: open another with cobandit.connect or cobandit.join")

    def on_loop(self, work: Callable[[], Value]) -> Value:
        """Read something on the loop."""
        self.check_open()

        async def run() -> Value:
            return work()

        return result_of(self._background.submit(run()))

    def change(self, work: Callable[[], Value]) -> Value:
        """Change something on the loop, between two steps."""
        self.check_open()
        return result_of(self._background.submit(self._node.act(work)))


def _check_genuine(token: str, signer: Signer) -> None:
    if not is_genuine(token, signer.key):
        raise UnknownError(
            f"the id {token[:80]!r} was not made by {signer.name} with its present state: it is changed, made up, or "
            "older than the state file"
        )


class _Shut:
    """Replaces a closed member's decider: every use raises an error that says why."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever was requested
        raise NotNowError(f"{self.why}: open another with cobandit.connect or cobandit.join")


_MEMBERS: "weakref.WeakSet[Member]" = weakref.WeakSet()


def _after_fork() -> None:
    for member in tuple(_MEMBERS):
        member._shut("was opened before this process was forked, and belongs to the other one")  # noqa: SLF001


os.register_at_fork(after_in_child=_after_fork)


def _id_of(decision: object) -> str:
    """Return the id of a decision, which may be given as a decision or as its id."""
    if isinstance(decision, Decision):
        return decision.id
    if not isinstance(decision, str):
        raise LocalError(f"{decision!r} is neither a decision nor the id of one")
    return str.__str__(decision)


def _seconds(timeout: object) -> float:
    """Return a timeout that threads accept."""
    seconds = plain(timeout)
    if not (is_number(seconds) and seconds >= 0.0):
        raise LocalError(f"timeout must be a number of seconds, not {timeout!r}")
    return float(min(seconds, threading.TIMEOUT_MAX))


def _number(value: Any) -> Any:  # noqa: ANN401  # values that are not numbers are refused where they would count
    """Return a number of any kind as Python's: booleans, decimals, and NumPy's numbers."""
    value = plain(value)
    return float(value) if isinstance(value, bool) else value
