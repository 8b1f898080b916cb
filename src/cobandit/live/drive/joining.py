"""Joining a group: `cobandit.join` and `cobandit.connect`, and `cobandit.reward` for processes without a member.

This file owns the options of a member, collected in one `Options` value. `member.py` owns what a member can do, and
`starting.py` how it is started.
"""

import asyncio
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from cobandit.core import Sharing
from cobandit.core.pens import LEASE
from cobandit.live.auth.proof import Proof
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.decision import read
from cobandit.live.drive.background import Background, background, exit_on_sigterm, result_of
from cobandit.live.drive.clock import NeverBack, SystemClock
from cobandit.live.drive.member import Member
from cobandit.live.drive.node import Node
from cobandit.live.drive.option_kinds import check_kinds
from cobandit.live.drive.pen_asking import Lent, PenAsker, Wanted
from cobandit.live.drive.pens import PenKeeper
from cobandit.live.drive.starting import (
    LIVE_POLICY,
    Options,
    PolicyOf,
    builder,
    checked,
    look_at_state,
    start,
    start_with_pen,
)
from cobandit.live.machine.holding import Leftovers
from cobandit.live.machine.homes import HOMES
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.machine.step import FLUSH_EVERY
from cobandit.live.transports.base import Transport
from cobandit.policies.registry import BuiltIn
from cobandit.values.checks import plain
from cobandit.values.errors import LocalError
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm, checked_arms

Value = TypeVar("Value")
Taken = ParamSpec("Taken")

THIRTY_DAYS = 30 * 24 * 3600.0
ONE_DAY = 24 * 3600.0


def join(
    url: str | Transport,
    *,
    group: str | None = None,
    arms: Sequence[Arm] | None = None,
    fleet: str | None = None,
    name: str | None = None,
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
    holdout: float = 0.0,
    guardrail: tuple[str, float] | None = None,
    log_limit: int | None = None,
    snapshot: bytes | str | Path | None = None,
    relay: bool = False,
    relays: Sequence[str] | None = None,
    homes: int = HOMES,
    lease: float = LEASE,
    flush_every: float = FLUSH_EVERY,
    clock: Clock | None = None,
    close_on_sigterm: bool = False,
) -> "Joining":
    """Join a group, from asynchronous code: `async with cobandit.join(...) as member`.

    Args:
        url: The network: `memory://name`, `tls://host:port`, `nats://host:port`, `mqtt://host:port`,
            `udp://host:port`; or your own transport.
        group: The group that learns together, with one bandit. Other groups on the same network are not heard.
        fleet: Instead of group and arms: a fleet that learns together, with any number of bandits. Declare them with
            `Member.bandit`, which also takes the settings of each bandit.
        name: This member's name, unique in its group and always the same. A star in name and state stands for the
            first number that no running process has taken: use it for worker processes that all start the same way.
            A star in keys then stands for the same number, and a port may be given as `7100+*`, which is 7101 for the
            first. Without a name and a state, one of the relays lends the member a name: for pods, which have neither.
        arms: The arms that this member can serve.
        state: The file in which the member keeps what it must not forget. Without one, it forgets everything when it
            stops.
        policy: `"thompson"`, `"ucb"`, `"aae"` or `"kl-ucb"`; for one with parameters, `BuiltIn("ucb", alpha=1.0)`, for
            example; or a function that makes a policy for a list of arms.
        quantum: The smallest step of a reward, the same in the whole group. For policies given by name.
        sharing: How the member communicates; `LIVE_SHARING` by default. It must be loss-tolerant, with times in
            seconds.
        peers: For `tls` and `udp`: addresses of some other members.
        keys: The member's key file, from `cobandit keys agent`. This file, the trust file and the secret file are
            reread when they change.
        trust: The group's trust file, from `cobandit keys group`. It lists what is revoked and, while the group's
            authority is being replaced, both authorities. Without it, certificates are valid until they expire.
        secret: A secret shared by the whole group, instead of keys, where there is no `tls`. If you pass two, the
            member sends with the first and accepts both.
        secret_file: Instead of `secret`: a file with the secret, or with two, one per line.
        floors: For some arms, the smallest share of decisions.
        ceilings: For some arms, the largest share of decisions.
        expire_after: A decision without a reward expires once its member has run for this many seconds.
        forget_after: A member that has not been heard for this many seconds counts as gone: it is sent nothing more
            until it is heard again. At least 1,200, because each member says every ten minutes that it is here.
        default_reward: The reward to count for an expired decision; `None` to drop the decision.
        holdout: The share of decisions, or of subjects, that are made evenly over the arms on offer, marked in the log
            and not learned from. `statistics().lift` says how much more the bandit brings.
        guardrail: A second metric, and the limit that its mean must stay below for every arm, such as
            `("errors", 0.02)`. Pass its values to `member.report`. An arm that violates it is frozen everywhere.
        log_limit: How many decisions the log in the state file keeps; a million by default.
        snapshot: What to start from if the state is empty: the `member.snapshot()` of any member, or a file with it.
        relay: Whether the member passes on what others observed, to newcomers at once, so that what a member learned
            does not die with its name. For members that always run, such as `cobandit relay`. With keys, its
            certificate must allow it (`cobandit keys agent NAME --relay`).
        relays: The group's relays. Setting this makes the member a leaf: it talks only to relays, so what it stores
            and sends does not depend on the number of other members. Give addresses for `tls` and `udp` (a DNS name
            stands for all its addresses) and names for other networks; `["*"]` means all relays that announce
            themselves.
        homes: How many relays a leaf talks to at the same time. If one falls silent, the leaf picks another.
        lease: For a relay: seconds after which a silent process loses a name that this relay lent it.
        flush_every: For a member without its own name: seconds after which its relay has heard of every reward. Rewards
            since then are lost if the process is killed.
        clock: Returns the time, in seconds since 1970; for tests.
        close_on_sigterm: Make SIGTERM end the program as `sys.exit(143)` does, so that `with` blocks exit and every
            member is closed. For programs that do not handle the signal themselves. Call this on the main thread.

    Raises:
        LocalError: Something on this side is wrong; the message says what to do. An unreachable network is not an
            error: the member decides anyway and keeps trying.
    """
    check_kinds(locals())
    group, arms = _group(group, arms, fleet)
    if fleet is not None and ((floors, ceilings, default_reward, snapshot, guardrail) != (None,) * 5 or holdout):
        raise LocalError(
            "floors, ceilings, default_reward, holdout and guardrail belong to a bandit: pass them to fleet.bandit(...)"
        )
    if close_on_sigterm:
        exit_on_sigterm()
    return Joining(
        checked(
            Options(
                url=url,
                group=group,
                name=name,
                arms=arms,
                state=state,
                policy=policy,
                quantum=quantum,
                sharing=sharing or LIVE_SHARING,
                peers=tuple(peers) if not isinstance(peers, str) else peers,  # type: ignore[arg-type]  # refused later, in words
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
                relays=_relays(relays),
                homes=homes,
                lease=lease,
                flush_every=flush_every,
                holdout=holdout,
                guardrail=guardrail,
            )
        )
    )


def _group(group: str | None, arms: Sequence[Arm] | None, fleet: str | None) -> tuple[str, tuple[Arm, ...]]:
    """Return the name of the group, and the arms of its only bandit, if it has one."""
    if fleet is not None:
        if group is not None or arms is not None:
            raise LocalError("say fleet=..., for many bandits, or group=... and arms=[...], for one; not both")
        return fleet, ()
    if group is None or arms is None:
        raise LocalError("a member needs group=... and arms=[...]; or fleet=..., and its bandits are declared later")
    return group, checked_arms(arms)


def _relays(relays: Sequence[str] | None) -> tuple[str, ...]:
    if relays is None:
        return ()
    relays = plain(relays)
    if isinstance(relays, str):
        raise LocalError(f"relays must be a list, such as [{relays!r}], not {relays!r}")
    if not relays:
        raise LocalError(
            'the list of relays is empty: name one, or say ["*"] for all that are found, or leave relays out to talk '
            "to every member"
        )
    return tuple(relays)


def _takes_what(other: Callable[Taken, object]) -> Callable[[Callable[..., Value]], Callable[Taken, Value]]:
    """Give a function the signature of another, for people, editors and type checkers."""

    def same(function: Callable[..., Value]) -> Callable[Taken, Value]:
        signature = inspect.signature(other).replace(return_annotation=function.__annotations__["return"])
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return same


@_takes_what(join)
def connect(*arguments: Any, **options: Any) -> Member:  # noqa: ANN401  # those of `join`
    """Join a group, from synchronous code: Flask, Django, Celery, threads. Takes the same arguments as `join`.

    >>> with connect("memory://docs", group="homepage", name="web-1", arms=["A", "B"]) as member:
    ...     decision = member.select_arm()
    ...     member.update(decision, reward=1.0)
    <Taken.COUNTED: 'counted'>
    """
    joining = join(*arguments, **options)
    return result_of(background().submit(joining.start()))


def check_start(*arguments: Any, **options: Any) -> None:  # noqa: ANN401  # those of `join`
    """Check whether a member could start from its state, without starting it. Takes the same arguments as `join`.

    Raises:
        LocalError: It could not start, or something in the state is damaged or missing.
    """
    look_at_state(join(*arguments, **options).options)


class Joining:
    """A member that is about to start. Use it with `async with`, or await it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._member: Member | None = None

    async def start(self) -> Member:
        """Start the member. Runs on the background loop."""
        home, options = background(), self.options
        if options.name is not None:
            return Member(await start(options, home), home)
        keeper = PenKeeper(lambda node: _asker(options, node), lambda *pen: _begin(options, home, *pen))
        return Member(await keeper.start(), home, keeper)

    def __await__(self) -> Generator[Any, None, Member]:
        return self._started().__await__()

    async def _started(self) -> Member:
        starting = background().submit(self.start())
        try:
            return await asyncio.wrap_future(starting)
        except asyncio.CancelledError:
            if starting.done() and not starting.cancelled() and starting.exception() is None:
                await starting.result().aclose()  # it had already started, unknown to any caller
            raise

    async def __aenter__(self) -> Member:
        self._member = await self
        return self._member

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._member is not None
        await self._member.aclose()


def _asker(options: Options, node: Node | None) -> PenAsker:
    """Return an asker for a pen, for the arms and bandits that the process has now."""
    per_reward = builder(options)(options.arms).quantum.per_reward if options.arms else 1
    arms = options.arms if node is None else node.machine.agent.arms
    bandits = () if node is None else tuple(one.bandit for one in node.machine.bandits.declared.values())
    return PenAsker(Wanted(options.url, options.group, options.relays, options.proof, arms, per_reward, bandits))


async def _begin(
    options: Options, home: Background, name: str | None, lent: Lent | None, leftovers: Leftovers | None
) -> Node:
    if lent is None:
        return await start(options._replace(name=name), home)
    return await start_with_pen(options, home, lent, leftovers)


def reward(state: str | Path, decision: str, reward: float) -> bool:
    """Reward a decision by its id, from another process on the same machine, whether its member is running or not.

    Returns whether the reward was left for the member. It is not if the decision already has a reward on disk, or has
    expired.

    Args:
        state: The state file of the member that decided.
        decision: The decision's id.
        reward: The reward, in the range of the decision's bandit: [0, 1] in a group with one bandit.

    Raises:
        LocalError: The reward is out of range, the file is not a member's state, or it has no such bandit. Nothing
            changes.
    """
    from cobandit.live.store.sqlite_journal import leave_mail  # noqa: PLC0415
    from cobandit.live.store.state_file import check_reward, is_settled  # noqa: PLC0415

    check_reward(state, read(decision), reward)
    if is_settled(state, decision):
        return False
    leave_mail(state, decision, reward)
    return True
