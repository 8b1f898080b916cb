"""Membership for humans: `cobandit.join` and `cobandit.connect`, and what a member can do.

A member decides here and now, on the caller's thread, and learns with the others in the background. This file is the
door; what happens behind it is in `cobandit.live.decide` (deciding) and `node.py` (the network).
"""

import asyncio
import inspect
import os
import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from cobandit.core import Sharing
from cobandit.live.auth.proof import Proof
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.decider import Decider
from cobandit.live.decide.decision import Decision, Signer, is_genuine, read
from cobandit.live.drive.background import Background, at_end, background, exit_on_sigterm
from cobandit.live.drive.clock import NeverBack, SystemClock
from cobandit.live.drive.node import Node
from cobandit.live.drive.starting import LIVE_POLICY, Options, PolicyOf, checked, look_at_state, start
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import Statistics
from cobandit.live.store.history import DecisionLog, LogEntry
from cobandit.live.transports.base import Transport
from cobandit.policies.registry import BuiltIn
from cobandit.values.checks import check_positive, check_probability
from cobandit.values.errors import LocalError, NotNowError, StateError, UnknownError
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm

Value = TypeVar("Value")
Taken = ParamSpec("Taken")

THIRTY_DAYS = 30 * 24 * 3600.0
ONE_DAY = 24 * 3600.0
STOP_WITHIN = 10.0
"""Seconds that a member may take to say farewell when the interpreter ends."""


def join(
    url: str | Transport,
    *,
    group: str,
    name: str,
    arms: Sequence[Arm],
    state: str | Path | None = None,
    policy: str | BuiltIn | PolicyOf = LIVE_POLICY,
    quantum: float = MILLIONTH,
    sharing: Sharing | None = None,
    peers: Sequence[str] = (),
    keys: str | Path | None = None,
    trust: str | Path | None = None,
    secret: str | Sequence[str] | None = None,
    secret_file: str | Path | None = None,
    floors: Mapping[Arm, float] | None = None,
    ceilings: Mapping[Arm, float] | None = None,
    expire_after: float = THIRTY_DAYS,
    forget_after: float = ONE_DAY,
    default_reward: float | None = None,
    log_limit: int | None = None,
    snapshot: bytes | str | Path | None = None,
    relay: bool = False,
    clock: Clock | None = None,
    close_on_sigterm: bool = False,
) -> "Joining":
    """Join a group, from asynchronous code: `async with cobandit.join(...) as member`.

    Args:
        url: Where the others are: `memory://name`, `tls://host:port`, `nats://host:port`, `mqtt://host:port`,
            `udp://host:port`; or a transport of your own.
        group: The group that learns together. Others on the same network are not heard.
        name: This member's name, unique in its group and always the same. A star, in name and state, stands for the
            first number that no running process has taken: for worker processes that are all started alike. Then a
            star in keys stands for it too, and a port may be given as `7100+*`, which is 7101 for the first.
        arms: The arms that this member can serve.
        state: The file in which it keeps what it must not forget. Without one it forgets everything when it stops.
        policy: `"thompson"`, `"ucb"`, `"aae"`, `"kl-ucb"`; `BuiltIn("ucb", alpha=1.0)`, say, for one with parameters;
            or a function that makes a policy for a list of arms.
        quantum: The smallest step of a reward, the same in the whole group; for the policies that are named.
        sharing: How it talks; `LIVE_SHARING` by default. It must be loss-tolerant, with times in seconds.
        peers: For `tls` and `udp`: addresses of some other members.
        keys: The member's key file, from `cobandit keys agent`. Read again when it changes, as the next files.
        trust: The group's trust file, from `cobandit keys group`: what is revoked, and while the group's authority is
            being replaced, both. Without it, certificates count until they expire.
        secret: A secret of the whole group, instead of keys, where there is no `tls`. Of two, it sends with the first
            and accepts both.
        secret_file: Instead, a file with the secret, or with two, a line each.
        floors: For some arms, the least share of decisions.
        ceilings: For some arms, the greatest share of decisions.
        expire_after: A decision without a reward is given up when its member has run for so many seconds since.
        forget_after: A member that was not heard for so many seconds is taken to be gone: it is not written to any
            more, until it is heard again. At least 1,200: each says every ten minutes that it is here.
        default_reward: What a decision counts with that is given up; `None` to forget it.
        log_limit: How many decisions the log in the state file keeps; a million by default.
        snapshot: What to start from if the state is empty: `member.snapshot()` of any member, or a file with it.
        relay: Whether it passes on what others observed, to newcomers at once, so that what a member learned does not
            die with its name. For members that always run, such as `cobandit agent`. With keys, its certificate must
            say that it may (`cobandit keys agent NAME --relay`).
        clock: What time it is, in seconds since 1970; for tests.
        close_on_sigterm: Let SIGTERM end the program as `sys.exit(143)` does, so that `with` blocks are left and every
            member is closed. For programs that do not handle the signal themselves; call it on the main thread.

    Raises:
        LocalError: Something here is wrong, and says what to do. An unreachable network is not: the member decides, and
            goes on trying.
    """
    if close_on_sigterm:
        exit_on_sigterm()
    return Joining(
        checked(
            Options(
                url=url,
                group=group,
                name=name,
                arms=tuple(arms) if not isinstance(arms, str) else arms,  # type: ignore[arg-type]  # refused later, in words
                state=state,
                policy=policy,
                quantum=quantum,
                sharing=sharing or LIVE_SHARING,
                peers=tuple(peers) if not isinstance(peers, str) else peers,  # type: ignore[arg-type]  # as above
                proof=Proof(keys, trust, secret, secret_file),
                floors=floors,
                ceilings=ceilings,
                expire_after=expire_after,
                forget_after=forget_after,
                default_reward=default_reward,
                log_limit=log_limit,
                snapshot=snapshot,
                relay=relay,
                clock=SystemClock() if clock is None else NeverBack(clock),
            )
        )
    )


def _takes_what(other: Callable[Taken, object]) -> Callable[[Callable[..., Value]], Callable[Taken, Value]]:
    """Give a function the signature of another, for people, editors and type checkers."""

    def same(function: Callable[..., Value]) -> Callable[Taken, Value]:
        signature = inspect.signature(other).replace(return_annotation=function.__annotations__["return"])
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return same


@_takes_what(join)
def connect(*arguments: Any, **options: Any) -> "Member":  # noqa: ANN401  # those of `join`
    """Join a group, from synchronous code: Flask, Django, Celery, threads. Takes what `join` takes.

    >>> with connect("memory://docs", group="homepage", name="web-1", arms=["A", "B"]) as member:
    ...     decision = member.select_arm()
    ...     member.update(decision, reward=1.0)
    True
    """
    joining = join(*arguments, **options)
    return _result(background().submit(joining.start()))


def check_start(*arguments: Any, **options: Any) -> None:  # noqa: ANN401  # those of `join`
    """Look whether a member could start from its state, and start nothing. Takes what `join` takes.

    Raises:
        LocalError: It could not, or something in the state is damaged or missing.
    """
    look_at_state(join(*arguments, **options).options)


class Joining:
    """A member that is about to start: use it with `async with`, or await it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._member: Member | None = None

    async def start(self) -> "Member":
        """Start the member. Runs on the background loop."""
        home = background()
        return Member(await start(self.options, home), home)

    def __await__(self) -> Generator[Any, None, "Member"]:
        return self._started().__await__()

    async def _started(self) -> "Member":
        starting = background().submit(self.start())
        try:
            return await asyncio.wrap_future(starting)
        except asyncio.CancelledError:
            if starting.done() and not starting.cancelled() and starting.exception() is None:
                await starting.result().aclose()  # it was there already, and nobody else knows of it
            raise

    async def __aenter__(self) -> "Member":
        self._member = await self
        return self._member

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._member is not None
        await self._member.aclose()


class Member:
    """One member of a group. Every method may be called from any thread."""

    def __init__(self, node: Node, home: Background) -> None:
        self._node = node
        self._decider: Decider | _Shut = node.machine.decider
        self._background = home
        self._forget_end = at_end(self.close)
        _MEMBERS.add(self)

    @property
    def name(self) -> str:
        """This member's name."""
        return self._node.machine.terms.name

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that this member knows, removed ones too."""
        return self._node.machine.agent.arms

    @property
    def offered_arms(self) -> tuple[Arm, ...]:
        """The arms that this member serves: all but the removed ones."""
        return self._node.machine.offered

    @property
    def is_open(self) -> bool:
        """Whether it decides: `False` once it is closed."""
        return not isinstance(self._decider, _Shut)

    @property
    def disk_trouble(self) -> str | None:
        """Why the disk does not take what is decided and rewarded; `None` if it does."""
        return self._node.disk_trouble

    # Deciding.

    def select_arm(self, subject: str | None = None, *, among: Collection[Arm] | None = None) -> Decision:
        """Decide which arm to pull. Local: no I/O, and no waiting for the network.

        Args:
            subject: Who it is for, if the same subject is to get the same arm again, as long as that is on offer. Kept
                by this member, across restarts, for the 100,000 subjects seen last.
            among: Choose one of these, if not every arm will do this time: something is sold out, or not for everybody.
                Floors and ceilings of the others do not count then.

        Raises:
            LocalError: None of the arms to choose from is on offer: they are frozen, removed, or the kill switch is on
                to another one.
        """
        return self._decider.select_arm(subject, among)

    def check_choice(self, among: Collection[Arm]) -> None:
        """Look whether `select_arm(among=...)` could choose one of these now, without deciding.

        Raises:
            LocalError: None of them is on offer.
        """
        self._decider.check_choice(among)

    def update(self, decision: Decision | str, reward: float | bool) -> bool:
        """Reward a decision, given itself or its id. Counts once, however often it is repeated.

        The decision may be of an earlier start, or of another member: then the reward is brought there.

        Returns:
            Whether it is taken: `False` if it was rewarded before, or has expired. Of another member's decision always
            `True`: it waits here for that member, which alone can count it. `statistics()` says how many wait, were
            brought, and were given up because their member did not come.

        Raises:
            LocalError: The reward is not a number in [0, 1], or the id is not one, or too many rewards wait for members
                that cannot be reached. Nothing changed.
        """
        if isinstance(reward, bool):  # clicked, or not
            reward = float(reward)
        decider = self._decider
        if type(decision) is Decision and decision.signer is decider.signer:
            return decider.settle(decision.number, reward)
        if not isinstance(decision, str | Decision):
            raise LocalError(f"{decision!r} is neither a decision nor the id of one")
        token = decision if isinstance(decision, str) else decision.id
        taken = self._update_at_decider(token, reward)
        return self._change(lambda: self._node.machine.settle_token(token, reward)) if taken is None else taken

    async def updated(self, decision: str, reward: float) -> bool:
        """`update` by id, from asynchronous code: the caller's loop never waits for the network or the disk."""
        taken = self._update_at_decider(decision, reward)
        if taken is not None:
            return taken
        asked = self._background.submit(self._node.act(lambda: self._node.machine.settle_token(decision, reward)))
        return await asyncio.wrap_future(asked)

    def withdraw(self, decision: Decision | str) -> bool:
        """Take a decision back that was never carried out, so that it counts neither now nor when it would expire.

        Returns:
            Whether it was still open.

        Raises:
            LocalError: It is a decision of another member: only the one that decided can take it back.
        """
        token = decision if isinstance(decision, str) else decision.id
        claim = read(token)
        if claim.member != self.name:
            raise StateError(f"the decision was made by {claim.member!r}: only that member can withdraw it")
        self._check_genuine(token)
        return self._decider.open_since(claim.number) == claim.at and self._decider.withdraw(claim.number)

    def _update_at_decider(self, token: str, reward: float) -> bool | None:
        """Reward a decision by its id if that needs no waiting; `None` if only the network side can tell."""
        decider, machine = self._decider, self._node.machine
        claim = read(token)
        decider.units(reward)
        if claim.member != machine.terms.name:
            machine.outbox.check_room(claim.member, token, machine.agent.met, len(machine.foreign))
            machine.foreign.append((claim.member, token, float(reward)))
            self._background.loop.call_soon_threadsafe(self._node.wake)
            return True
        self._check_genuine(token)
        if decider.open_since(claim.number) == claim.at:
            return decider.settle(claim.number, reward)
        return None

    def _check_genuine(self, token: str) -> None:
        if not is_genuine(token, self._node.machine.secret):
            raise UnknownError(
                f"the id {token[:80]!r} was not made by {self.name} with its present state: it is changed, made up, or "
                "older than the state file"
            )

    # Operating.

    def freeze_arm(self, arm: Arm) -> None:
        """Give an arm no more traffic, here and at every member, until `unfreeze_arm`. What is known of it stays."""
        self._change(lambda: self._node.machine.set_frozen(arm, is_frozen=True))

    def unfreeze_arm(self, arm: Arm) -> None:
        """Give an arm back to the policy, here and at every member."""
        self._change(lambda: self._node.machine.set_frozen(arm, is_frozen=False))

    def kill(self, control_arm: Arm) -> None:
        """Turn the kill switch on: every member pulls this arm and no other, until `lift`."""
        self._change(lambda: self._node.machine.set_control_arm(control_arm))

    def lift(self) -> None:
        """Turn the kill switch off, here and at every member."""
        self._change(lambda: self._node.machine.set_control_arm(None))

    def forget(self, name: str) -> None:
        """Say that a member is gone for good, here and everywhere: it is not written to, and not in the statistics.

        What it observed stays. If it is heard again, all is as before: nothing is lost or counted twice. Members that
        said farewell are forgotten without this, and those that were not heard for `forget_after`.
        """
        self._change(lambda: self._node.machine.set_gone(name))

    def add_arm(self, arm: Arm) -> None:
        """Offer one more arm, at this member: others may not have it, or not yet."""
        self._check_open()
        _result(self._background.submit(self._node.add_arm(arm)))

    def remove_arm(self, arm: Arm) -> None:
        """Offer an arm no more, at this member. What is known of it stays, and others may go on with it."""
        self._change(lambda: self._node.machine.remove_arm(arm))

    def catch_up(self) -> None:
        """Ask every other member for one share, and return at once.

        Members that decide need not: with what they learn they ask for what others learned. One that only listens is
        told nothing by members that are busy, until it asks.
        """
        self._change(self._node.machine.introduce)

    def statistics(self) -> Statistics:
        """Return how this member is, as an immutable value."""
        return self._on_loop(self._node.statistics)

    def fleet(self, wait_s: float = 2.0) -> Fleet:
        """Ask the other members that are here how they are, and return what they and this one say.

        It returns as soon as all have answered; `silent` names those who have not within so many seconds. Who asks
        while a round is under way gets the answer of that round.
        """
        check_positive("wait", wait_s)
        self._check_open()
        return _result(self._background.submit(self._node.fleet(wait_s)))

    def snapshot(self) -> bytes:
        """Return all that this member knows of the arms, for another member to start from, on line or off."""
        machine = self._node.machine
        return self._on_loop(lambda: machine.terms.versions.layout.snapshots.encode(machine.agent.snapshot()))

    def log(self) -> Iterator[LogEntry]:
        """Return the decisions that are still in the log, oldest first, with propensities and rewards."""
        self.sync()
        machine = self._node.machine
        log = DecisionLog(machine.agent.policy.quantum.per_reward, Signer(self.name, machine.secret))
        return iter(log.read(self._node.history()))

    def flush(self, timeout: float = 5.0) -> bool:
        """Send to every member that is here what it lacks, without waiting until there is enough for a share.

        Closing does the same, for a second at most. Returns whether all have acknowledged it within so many seconds.
        """
        self._check_open()
        return _result(self._background.submit(self._node.flush(timeout)))

    def sync(self, timeout: float | None = 30.0) -> None:
        """Return when everything rewarded so far is on the disk.

        Raises:
            LocalError: The disk does not take it, or not within so many seconds. Nothing is lost: it is tried again.
        """
        self._check_open()
        _result(self._background.submit(self._node.synced()), timeout)

    async def synced(self) -> None:
        """`sync`, from asynchronous code."""
        self._check_open()
        await asyncio.wrap_future(self._background.submit(self._node.synced()))

    # Leaving.

    def close(self) -> None:
        """Say farewell, write everything down, and stop. Harmless if it is closed already."""
        if self._shut("is closed"):
            _result(self._background.submit(self._node.stop()), STOP_WITHIN, may_cancel=False)

    async def aclose(self) -> None:
        """`close`, from asynchronous code."""
        if self._shut("is closed"):
            await asyncio.shield(asyncio.wrap_future(self._background.submit(self._node.stop())))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cobandit member {self.name!r} of group {self._node.machine.terms.group!r}>"

    def _shut(self, why: str) -> bool:
        """Decide no more. Return whether it did until now."""
        was_open = not isinstance(self._decider, _Shut)
        self._decider = _Shut(f"the member {self.name!r} {why}")
        self._forget_end()
        _MEMBERS.discard(self)
        return was_open

    def _check_open(self) -> None:
        if isinstance(self._decider, _Shut):
            raise NotNowError(f"{self._decider.why}: open another with cobandit.connect or cobandit.join")

    def _on_loop(self, work: Callable[[], Value]) -> Value:
        """Look at something where it lives."""
        self._check_open()

        async def run() -> Value:
            return work()

        return _result(self._background.submit(run()))

    def _change(self, work: Callable[[], Value]) -> Value:
        """Change something where it lives, between two steps."""
        self._check_open()
        return _result(self._background.submit(self._node.act(work)))


class _Shut:
    """Stands where a decider was: every use says why there is none."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever was wanted
        raise NotNowError(f"{self.why}: open another with cobandit.connect or cobandit.join")


_MEMBERS: "weakref.WeakSet[Member]" = weakref.WeakSet()


def _after_fork() -> None:
    for member in tuple(_MEMBERS):
        member._shut("was opened before this process was forked, and belongs to the other one")  # noqa: SLF001


os.register_at_fork(after_in_child=_after_fork)


def reward(state: str | Path, decision: str, reward: float) -> None:
    """Reward a decision by its id, from another process on the same computer, whether its member runs or not.

    Args:
        state: The state file of the member that decided.
        decision: The decision's id.
        reward: The reward, in [0, 1].
    """
    from cobandit.live.store.sqlite_journal import leave_mail  # noqa: PLC0415

    read(decision)
    check_probability("a reward", reward)
    leave_mail(state, decision, reward)


def _result(future: "Future[Value]", timeout: float | None = None, *, may_cancel: bool = True) -> Value:
    """Wait for the background loop."""
    if background().is_here():
        raise LocalError("this was called on cobandit's own thread, where it would wait for itself")
    try:
        return future.result(timeout)
    except FutureTimeoutError as error:
        if future.done():
            raise
        if may_cancel:  # a member that stops must not be interrupted: its disk may be at work
            future.cancel()
        raise NotNowError(f"it did not happen within {timeout} seconds: see statistics().troubles") from error
