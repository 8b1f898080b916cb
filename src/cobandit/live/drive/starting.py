"""Starts a member: turns the caller's options into a journal, a transport, a machine and a node."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from cobandit.codec import decode_snapshot
from cobandit.core import Sharing
from cobandit.core.pen_names import lender_of
from cobandit.core.pens import LEASE
from cobandit.core.places import check_arm
from cobandit.core.state import Snapshot
from cobandit.live.auth.proof import Proof
from cobandit.live.decide.allocation import Allocation
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.holdout import check_holdout
from cobandit.live.drive.background import Background
from cobandit.live.drive.declaring import check_stateless
from cobandit.live.drive.node import Node
from cobandit.live.drive.pen_asking import Lent
from cobandit.live.drive.sending import LONGEST_BETWEEN_ANNOUNCEMENTS
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.holding import Leftovers, holder
from cobandit.live.machine.homes import HOMES, MAX_HOMES
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import FLUSH_EVERY, PenTerms, Restored, Terms
from cobandit.live.machine.versions import PRESENT, Layout, Versions
from cobandit.live.status.guardrail import checked_guardrail
from cobandit.live.store.journal import MOST_BATCHES_IN_MEMORY, Journal, MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.live.transports.addresses import LONGEST_ADDRESS
from cobandit.live.transports.base import Transport
from cobandit.live.transports.urls import relay_places, transport_for, unproved
from cobandit.policies import Policy
from cobandit.policies.registry import POLICIES, THOMPSON, BuiltIn, policy_name
from cobandit.values.checks import check_name, check_positive, check_whole, is_name, plain
from cobandit.values.errors import LocalError
from cobandit.values.tally import LONGEST_NAME, Arm

PolicyOf = Callable[[Sequence[Arm]], Policy]

LIVE_POLICY = THOMPSON
"""The default policy of live members."""

LEAST_FORGET_AFTER = 2 * LONGEST_BETWEEN_ANNOUNCEMENTS
"""Seconds. A present member is heard at least twice in this time."""

LEAST_LEASE = 10.0
"""Seconds."""

MOST_SLOTS = 1000
"""How many members may share a name with a star."""


class Options(NamedTuple):
    """The options of `join` and `connect`. See `join`."""

    url: str | Transport
    group: str
    name: str | None
    arms: tuple[Arm, ...]
    state: str | Path | None
    policy: str | BuiltIn | PolicyOf
    quantum: float
    sharing: Sharing
    peers: tuple[str, ...]
    proof: Proof
    floors: Mapping[Arm, float] | None
    ceilings: Mapping[Arm, float] | None
    expire_after: float
    forget_after: float
    default_reward: float | None
    log_limit: int | None
    snapshot: bytes | str | Path | None
    relay: bool
    clock: Clock
    relays: tuple[str, ...] = ()
    homes: int = HOMES
    lease: float = LEASE
    flush_every: float = FLUSH_EVERY
    holdout: float = 0.0
    guardrail: tuple[str, float] | None = None


async def start(options: Options, home: Background, versions: Versions = PRESENT) -> Node:
    """Start a member: its journal, then its transport, then its task. Runs on the background loop.

    Raises:
        LocalError: Something on this side is wrong. Everything opened was closed again.
    """
    _check_before_files(options)
    opening = home.loop.run_in_executor(home.executor, _open_journal, options, versions.layout)
    try:
        name, journal, proof, transport = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(lambda opened: _close_unwanted(opened, home))
        raise
    options = options._replace(name=name, proof=proof, url=transport)
    try:
        return await _start_with(options, home, versions, journal, lambda: _restored(options, journal, versions.layout))
    except BaseException:
        await asyncio.shield(home.loop.run_in_executor(home.executor, journal.close))  # perhaps after a write under way
        raise


def _check_before_files(options: Options) -> None:
    """Refuse now what would be refused after opening the state file, because a refusal must leave no file behind."""
    if not isinstance(options.url, Transport) and "*" not in f"{options.url}{options.proof.keys}":
        transport = transport_for(options.url, peers=options.peers, proof=options.proof, relays=options.relays)
        _check_role(options, options.name, transport)
    if options.floors or options.ceilings:
        Allocation(options.floors, options.ceilings).check(options.arms)


async def start_with_pen(options: Options, home: Background, lent: Lent, leftovers: Leftovers | None) -> Node:
    """Start a member whose name is lent, and whose disk is the relay that lent it.

    Args:
        options: The process's options, without a name.
        home: The loop.
        lent: The pen.
        leftovers: What the same process has left from its previous pen.

    Raises:
        LocalError: Something on this side is wrong.
        PeerError: The relay has sent an invalid pen.
    """
    named = options._replace(name=lent.answer.pen, relays=(lent.place,), homes=1)

    def restored() -> Restored:
        return holder(
            lent.answer,
            lent.asked,
            build=builder(named),
            sharing=options.sharing,
            clock=options.clock,
            before=leftovers,
        )

    return await _start_with(named, home, PRESENT, MemoryJournal(), restored)


async def _start_with(
    options: Options, home: Background, versions: Versions, journal: Journal, restored_from: Callable[[], Restored]
) -> Node:
    assert options.name is not None
    transport = options.url
    if not isinstance(transport, Transport):
        transport = transport_for(transport, peers=options.peers, proof=options.proof, relays=options.relays)
    _check_role(options, options.name, transport)
    restored = restored_from()
    allocation = None
    if options.floors or options.ceilings:
        allocation = Allocation(options.floors, options.ceilings)
        allocation.check(options.arms)
    machine = Machine(_terms(options, restored, versions), restored, options.clock)
    if restored.held is not None:
        machine.introduction.heard_settings(restored.held.lender)
    machine.alerts.trouble(LogEvent.STATE_DAMAGED, journal.damage)
    for event, remark in (
        (LogEvent.STATE_INCOMPLETE, journal.remark),
        (LogEvent.STATE_INCOMPLETE, restored.remark),
        (LogEvent.NAMES_UNPROVED, unproved(options.url, options.proof)),
    ):
        if remark is not None:
            machine.alerts.say(logging.WARNING, event, remark)
    node = Node(machine, journal, transport, executor=home.executor, matcher=home.matcher)
    machine.make_decider(allocation, seed=_seed(options.group, options.name), wake=lambda: _call(home, node))
    try:
        await node.start()
    except asyncio.CancelledError:
        await transport.close()  # it may be open, or half open
        raise
    return node


def _terms(options: Options, restored: Restored, versions: Versions) -> Terms:
    assert options.name is not None
    relays, are_names = relay_places(options.url, options.relays)
    return Terms(
        options.name,
        options.group,
        options.sharing,
        builder(options),
        options.expire_after,
        None if options.default_reward is None else restored.agent.policy.quantum.units(options.default_reward),
        versions,
        options.relay,
        options.forget_after,
        relays,
        options.homes,
        relays_have_names=are_names,
        holdout=options.holdout,
        guardrail=checked_guardrail(options.guardrail),
        pens=PenTerms(lease=options.lease, flush_every=options.flush_every),
    )


def _first_secret(options: Options) -> bytes | None:
    """Return the secret a relay signs with from its first start on, so that it knows its pens after losing its disk."""
    source = options.proof.lasting_secret() if options.relay else None
    return None if source is None else blake2b(source, person=b"cobandit pens", digest_size=32).digest()


def look_at_state(options: Options) -> None:
    """Check whether a member could start from its state file, without changing anything.

    Raises:
        LocalError: It could not, or part of the file is damaged or missing.
    """
    from cobandit.live.store.sqlite_journal import check_whole, checked_place, read_stored  # noqa: PLC0415

    assert options.state is not None
    _check_before_files(options)
    journal, path = MemoryJournal(), checked_place(Path(options.state))
    if path.is_file() and path.stat().st_size:  # an empty file counts as none
        check_whole(path)
        journal.name = f"the state {path}"
        journal.take(read_stored(path))
    _restored(options, journal, PRESENT.layout)


def _check_role(options: Options, name: str | None, transport: Transport) -> None:
    if options.relay and transport.own_may_relay is False:
        raise LocalError(
            f"{name} is to be a relay, and its certificate does not say that it may: make one with "
            f"`cobandit keys agent {name} --relay`, or start it without relay"
        )


def _restored(options: Options, journal: Journal, layout: Layout) -> Restored:
    assert options.name is not None
    return restore(
        journal,
        name=options.name,
        group=options.group,
        arms=options.arms,
        build=builder(options),
        sharing=options.sharing,
        clock=options.clock,
        snapshot=lambda: _snapshot(options.snapshot),
        layout=layout,
        is_leaf=bool(options.relays),
        secret=_first_secret(options),
    )


def _close_unwanted(opened: "asyncio.Future[_Opened]", home: Background) -> None:
    """Close a journal that was opened for a caller that no longer waits for it."""
    if not opened.cancelled() and opened.exception() is None:
        home.executor.submit(opened.result()[1].close)


_Opened = tuple[str, Journal, Proof, str | Transport]


def _open_journal(options: Options, layout: Layout) -> _Opened:
    """Return the name, journal, proof and address. A star stands for the first free number."""
    assert options.name is not None
    if options.state is None:
        limit = MOST_BATCHES_IN_MEMORY if options.log_limit is None else options.log_limit
        return options.name, MemoryJournal(limit, is_read_again=False), options.proof, options.url
    from cobandit.live.store.sqlite_journal import LOG_LIMIT, SqliteJournal, StateInUseError  # noqa: PLC0415

    limit = LOG_LIMIT if options.log_limit is None else options.log_limit
    if "*" not in options.name:
        return options.name, SqliteJournal(options.state, log_limit=limit, layout=layout), options.proof, options.url
    for slot in range(1, MOST_SLOTS + 1):
        name, state, keys = (
            None if text is None else str(text).replace("*", str(slot))
            for text in (options.name, options.state, options.proof.keys)
        )
        assert name is not None
        assert state is not None
        proof = options.proof._replace(keys=keys)
        try:
            return name, SqliteJournal(state, log_limit=limit, layout=layout), proof, _numbered(options.url, slot)
        except StateInUseError:
            continue
    raise LocalError(f"all of {options.name} from 1 to {MOST_SLOTS} are taken by running processes")


def _numbered(url: str | Transport, slot: int) -> str | Transport:
    """Return the address of one of several members that were started alike: `7100+*` is 7101 for the first.

    >>> _numbered("udp://127.0.0.1:7100+*", 3)
    'udp://127.0.0.1:7103'
    """
    found = _STARRED_PORT.fullmatch(url) if isinstance(url, str) else None
    return url if found is None else f"{found['before']}{int(found['port']) + slot}"


_STARRED_PORT = re.compile(r"(?P<before>.*:)(?P<port>[0-9]{1,5})\+\*/?")


def checked(options: Options) -> Options:
    """Return the options, or raise an error that says what is wrong with them."""
    options = Options(*map(plain, options))
    check_name("the name of a group", options.group, LONGEST_NAME)
    if options.name is None:
        _check_nameless(options)
    else:
        check_name("the name of a member", options.name, LONGEST_NAME)
        if lender_of(options.name) is not None:
            raise LocalError(f"{options.name!r} is a name as relays lend it: give the member another one, without ~")
    for what in ("expire_after", "lease", "flush_every"):
        check_positive(what, getattr(options, what))
    if options.lease < LEAST_LEASE:
        raise LocalError(f"lease must be at least {LEAST_LEASE:g} seconds, not {options.lease:g}: networks stand still")
    check_positive("forget_after", options.forget_after)
    if options.forget_after < LEAST_FORGET_AFTER:
        raise LocalError(
            f"forget_after must be at least {LEAST_FORGET_AFTER:g} seconds, not {options.forget_after:g}: members that "
            "are here say so every ten minutes"
        )
    check_holdout(options.holdout)
    checked_guardrail(options.guardrail)
    for arm in options.arms:
        check_arm(arm)
    _check_relays(options)
    if options.sharing.retry is None:
        raise LocalError("live members need loss_tolerant=RetryTimers(...), in seconds: real networks lose messages")
    if ("*" in (options.name or "")) != (options.state is not None and "*" in str(options.state)):
        raise LocalError("use a star in both name and state, so that every worker has its own name and state")
    if isinstance(options.url, str) and _STARRED_PORT.fullmatch(options.url) and "*" not in (options.name or ""):
        raise LocalError("a star in the address needs one in name and state too: it is the number that they get")
    if isinstance(options.policy, str) and policy_name(options.policy) not in POLICIES:
        raise LocalError(f"policy {options.policy!r} is not one of {', '.join(POLICIES)}, nor a function of arms")
    return options


def _check_nameless(options: Options) -> None:
    """Refuse options that need a name if the member has none."""
    if options.state is not None:
        raise LocalError("a member with a state file needs a name that never changes: the file belongs to that name")
    if options.relay:
        raise LocalError("a relay needs a name, always the same, and a state file")
    if not options.relays:
        raise LocalError(
            'a member needs a name, unique in its group; or relays=[...], one of which lends it a name (["*"] for any)'
        )


def _check_relays(options: Options) -> None:
    """Refuse relays that a leaf cannot use."""
    if not options.relays:
        return
    if options.relay:
        raise LocalError(
            f"{options.name} is to be a relay, and is given relays as a leaf is: leave out one of the two. Relays find "
            "each other as members do, for tls:// and udp:// by peers"
        )
    if not all(is_name(relay, LONGEST_ADDRESS) for relay in options.relays):
        raise LocalError(f"relays must be names or addresses, not {options.relays!r}")
    if options.name in options.relays:
        raise LocalError(f"{options.name} is in its own list of relays: name others, or make it a relay itself")
    if options.snapshot is not None:
        raise LocalError(
            "a leaf starts from no snapshot: what others observed it hears from a relay. Give the snapshot to a relay"
        )
    check_whole("homes", options.homes, 1, MAX_HOMES)


def _no_plain(arms: Sequence[Arm]) -> Policy:
    del arms
    raise LocalError("a fleet has bandits with names: decide with fleet.bandit(...).select_arm()")


def builder(options: Options) -> PolicyOf:
    """Return a function that makes policies for a list of arms, according to the options."""
    policy, quantum = options.policy, options.quantum
    if not options.arms:
        return _no_plain
    if isinstance(policy, str):
        policy = BuiltIn(policy)
    if not isinstance(policy, BuiltIn):
        own = policy

        def stateless(arms: Sequence[Arm]) -> Policy:
            made = own(arms)
            check_stateless(made)
            return made

        return stateless
    built_in, seed = policy, _seed(options.group, options.name or "")
    return lambda arms: built_in(arms, seed, quantum)


def _seed(group: str, name: str) -> int:
    """Return a seed that depends only on this member's name and group."""
    return int.from_bytes(blake2b(f"{group}\0{name}".encode(), digest_size=7).digest())


def _snapshot(source: bytes | str | Path | None) -> Snapshot | None:
    if source is None:
        return None
    if isinstance(source, bytes):
        return decode_snapshot(source)
    try:
        return decode_snapshot(Path(source).read_bytes())
    except OSError as error:
        raise LocalError(f"the snapshot {source} cannot be read: {error.strerror}") from error


def _call(home: Background, node: Node) -> None:
    home.loop.call_soon_threadsafe(node.wake)
