"""A fleet can be asked by somebody who is no member, over every network, and is not changed by it."""

import asyncio
import re
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

import cobandit
from cobandit.live.auth.identity import Identity
from cobandit.live.drive.asking import QUIET, Asker
from cobandit.live.drive.member import Member
from cobandit.live.drive.rounds import Rounds
from cobandit.live.machine.answers import Answers
from cobandit.live.machine.control_messages import StatusTold
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import ArmStatistics, PeerStatistics, Statistics, encode_statistics
from cobandit.values.errors import LocalError, PeerError
from lab.servers import Server, free_port

ARMS = ["A", "B"]
SECRET = "a secret of the whole group"
WITHIN = 60.0


def until(asker: Asker, is_so: Callable[[Fleet], bool]) -> Fleet:
    deadline = time.monotonic() + 60.0
    while not is_so(fleet := asker.ask(2.0)):
        assert time.monotonic() < deadline, fleet
    return fleet


def until_true(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_fleet(member: Member, is_so: Callable[[Fleet], bool]) -> Fleet:
    deadline = time.monotonic() + 60.0
    while not is_so(fleet := member.fleet()):
        assert time.monotonic() < deadline, fleet
    return fleet


def _have_shared(fleet: Fleet) -> bool:
    return all(peer.shares_received for member in fleet.members for peer in member.peers)


def have_met(count: int) -> Callable[[Fleet], bool]:
    return lambda fleet: len(fleet.members) == count and all(len(m.peers) == count - 1 for m in fleet.members)


def decided(members: list[Member]) -> None:
    for member in members:
        member.update(member.select_arm(), 1.0)
        member.sync()


def check(fleet: Fleet, names: list[str]) -> None:
    assert [member.name for member in fleet.members] == names
    assert fleet.silent == ()
    assert [(m.decisions, m.own_observations) for m in fleet.members] == [(1, 1)] * len(names)
    assert [[peer.name for peer in m.peers if peer.name not in names] for m in fleet.members] == [[]] * len(names)
    assert sum(arm.observations for arm in fleet.arms()) == len(names)


def test_members_of_this_process_answer() -> None:
    with ExitStack() as stack:
        names = ["a", "b", "c"]
        members = [
            stack.enter_context(cobandit.connect("memory://asked", group="g", name=name, arms=ARMS)) for name in names
        ]
        asker = stack.enter_context(Asker("memory://asked", group="g"))
        until(asker, have_met(3))
        decided(members)
        check(asker.ask(), names)
        members[0].freeze_arm("A")
        frozen = until(asker, lambda fleet: all(arm.frozen_at == (3 if arm.arm == "A" else 0) for arm in fleet.arms()))
        assert [(arm.arm, arm.offered_at) for arm in frozen.arms()] == [("A", 0), ("B", 3)]


def test_members_on_nats_answer_who_knows_the_secret_and_nobody_else(nats: Server) -> None:
    with ExitStack() as stack:
        names = ["a", "b"]
        members = [
            stack.enter_context(cobandit.connect(nats.url, group="g", name=name, arms=ARMS, secret=SECRET))
            for name in names
        ]
        asker = stack.enter_context(Asker(nats.url, group="g", secret=SECRET))
        until(asker, have_met(2))
        decided(members)
        check(asker.ask(), names)
        stranger = stack.enter_context(Asker(nats.url, group="g", secret="another secret altogether"))
        assert stranger.ask(1.0) == Fleet("g", (), ())


def test_members_on_nats_with_keys_answer_who_has_keys(nats: Server, member: Callable[[str], Identity]) -> None:
    with ExitStack() as stack:
        names = ["a", "b"]
        members = [
            stack.enter_context(
                cobandit.connect(nats.url, group="homepage", name=name, arms=ARMS, keys=member(name).path)
            )
            for name in names
        ]
        asker = stack.enter_context(Asker(nats.url, group="homepage", keys=member("operator").path))
        until(asker, have_met(2))
        decided(members)
        check(asker.ask(), names)


def test_from_one_address_all_members_of_a_tls_mesh_are_found_and_nobody_looks_for_the_guest_later(
    member: Callable[[str], Identity],
) -> None:
    with ExitStack() as stack:
        first, names = f"127.0.0.1:{free_port()}", ["a", "b", "c"]
        members = [
            stack.enter_context(
                cobandit.connect(
                    f"tls://{first}" if name == "a" else "tls://127.0.0.1:0",
                    group="homepage",
                    name=name,
                    arms=ARMS,
                    peers=[] if name == "a" else [first],
                    keys=member(name).path,
                )
            )
            for name in names
        ]
        with Asker(f"tls://{first}", group="homepage", keys=member("operator").path) as asker:
            until(asker, have_met(3))
            decided(members)
            check(asker.ask(), names)
        dialled = [{there for there, _ in one._node._transport._mesh._dialling} for one in members]  # type: ignore[attr-defined]
        ports = {one._node._transport.address for one in members}  # type: ignore[attr-defined]
        assert all(addresses <= ports for addresses in dialled)
        # The address may also be given apart, as members have it.
        with Asker("tls://0.0.0.0:0", group="homepage", peers=[first], keys=member("operator").path) as asker:
            assert [one.name for one in until(asker, lambda fleet: len(fleet.members) == 3).members] == names


def test_members_on_udp_answer() -> None:
    with ExitStack() as stack:
        first, names = f"127.0.0.1:{free_port()}", ["a", "b"]
        for name in names:
            url, peers = (f"udp://{first}", []) if name == "a" else ("udp://127.0.0.1:0", [first])
            stack.enter_context(cobandit.connect(url, group="g", name=name, arms=ARMS, peers=peers, secret=SECRET))
        asker = stack.enter_context(Asker(f"udp://{first}", group="g", secret=SECRET))
        assert [one.name for one in until(asker, have_met(2)).members] == names


def test_who_does_not_answer_though_present_is_named() -> None:
    with (
        cobandit.connect("memory://silent", group="g", name="a", arms=ARMS) as member,
        cobandit.connect("memory://silent", group="g", name="b", arms=ARMS) as other,
        Asker("memory://silent", group="g") as asker,
    ):
        until(asker, have_met(2))
        other._node._transport._inbox = None  # type: ignore[attr-defined]  # it hears nothing any more
        fleet = asker.ask(1.0)
        assert ([one.name for one in fleet.members], fleet.silent) == ([member.name], ("b",))


def test_whoever_cannot_ask_is_told_why(member: Callable[[str], Identity], tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="tls:// needs keys: make a file for yourself with `cobandit keys agent`"):
        Asker("tls://127.0.0.1:7000", group="homepage")
    with pytest.raises(LocalError, match=r"tls://0\.0\.0\.0:0 is not a member's address: name one"):
        Asker("tls://0.0.0.0:0", group="homepage", keys=member("operator").path)
    with pytest.raises(LocalError, match="is not an address: it must begin with"):
        Asker("homepage", group="homepage")
    with pytest.raises(LocalError, match="is not an address: it must begin with"):
        Asker("nats://[::1", group="homepage")  # the bracket is not closed
    with pytest.raises(LocalError, match=r"cannot read the key file .*none\.pem"):
        Asker("tls://127.0.0.1:7000", group="homepage", keys=tmp_path / "none.pem")
    other = Asker("tls://127.0.0.1:7000", group="other", keys=member("operator").path)
    with pytest.raises(LocalError, match=r"is for the group 'homepage', not 'other'"), other:
        pass


def test_a_member_asks_the_others_and_names_who_is_silent() -> None:
    with ExitStack() as stack:
        ann, bob, eve = (
            stack.enter_context(cobandit.connect("memory://asks-itself", group="g", name=name, arms=ARMS))
            for name in ("ann", "bob", "eve")
        )
        until_fleet(ann, have_met(3))
        decided([ann, bob, eve])
        check(ann.fleet(), ["ann", "bob", "eve"])
        fleet = until_fleet(ann, _have_shared)
        boots = {member.name: member.incarnation for member in fleet.members}
        heard = {peer.name: peer.incarnation for peer in fleet.members[0].peers}
        assert heard == {"bob": boots["bob"], "eve": boots["eve"]}
        eve._node._transport.send = lambda *_: False  # type: ignore[method-assign]  # nobody hears it any more
        fleet = ann.fleet(2.0)
        assert ([member.name for member in fleet.members], fleet.silent) == (["ann", "bob"], ("eve",))
        with pytest.raises(LocalError, match="wait must be"):
            ann.fleet(0.0)


def test_who_asks_while_a_round_is_under_way_gets_the_same_answer_and_a_member_that_stops_ends_it() -> None:
    with ExitStack() as stack:
        ann, bob = (
            stack.enter_context(cobandit.connect("memory://asks-once", group="g", name=name, arms=ARMS))
            for name in ("ann", "bob")
        )
        until_fleet(ann, have_met(2))
        bob._node._transport.send = lambda *_: False  # type: ignore[method-assign]
        with ThreadPoolExecutor(2) as pool:
            rounds = [pool.submit(ann.fleet, 600.0) for _ in range(2)]
            until_true(lambda: ann._node._rounds._round is not None and not ann._node._rounds._round.done())
            ann.close()
            first, second = (one.result(60.0) for one in rounds)
        assert first == second
        assert ([member.name for member in first.members], first.silent) == (["ann"], ("bob",))


def collected(answers: Answers, *messages: StatusTold, **more: Any) -> Fleet:
    """Return what is collected of messages that come as soon as somebody asks."""

    async def listen() -> Fleet:
        def ask(answered: Collection[str]) -> None:
            for message in () if set(answered) - {"ann"} else messages:
                answers.take(message)

        return await asyncio.wait_for(
            Rounds(answers).collect(ask, 600.0, quiet_s=0.0, **more), WITHIN
        )  # it ends by itself

    return asyncio.run(listen())


@pytest.fixture(scope="module")
def bobs() -> Statistics:
    with cobandit.connect("memory://told", group="g", name="bob", arms=ARMS) as bob:
        return bob.statistics()


def told(statistics: Statistics, sender: str = "bob", **changed: Any) -> StatusTold:
    return StatusTold(sender, encode_statistics(msgspec.structs.replace(statistics, **changed)))


def test_an_answer_that_nobody_waits_for_is_dropped_unread(bobs: Statistics) -> None:
    answers = Answers("g")
    answers.take(StatusTold("bob", b"not statistics"))
    assert collected(answers, told(bobs)).members == (bobs,)


GHOST = PeerStatistics("ghost", True, 1, 0.0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sender": "eve"}, "eve told how bob is"),
        ({"group": "other"}, "told how it is in group 'other'"),
        ({"decisions": 2**60}, "at `$.decisions`"),
        ({"observed": -1}, "at `$.observed`"),
        ({"uptime_s": float("nan")}, "at `$.uptime_s`"),
        ({"uptime_s": float("inf")}, "at `$.uptime_s`"),
        ({"peers": (GHOST, GHOST)}, "name something twice"),
        ({"peers": (GHOST,) * 10_001}, "at `$.peers`"),
        ({"arms": (ArmStatistics("A", 1, 1, 0.5, -0.5, 5.0, True, False, False),)}, "at `$.arms[0].low`"),
        ({"arms": (ArmStatistics("A", 1, 1, None, None, None, True, False, False),) * 2}, "name something twice"),
        ({"troubles": ("x" * 10_001,)}, "length <= 10000"),
    ],
)
def test_what_a_member_cannot_have_said_of_itself_is_refused(
    bobs: Statistics, changed: dict[str, Any], why: str
) -> None:
    answers = Answers("g")
    message = told(bobs, **changed)

    async def listen() -> Fleet:
        def ask(_: Collection[str]) -> None:
            with pytest.raises(PeerError, match=re.escape(why)):
                answers.take(message)

        return await Rounds(answers).collect(ask, 0.01, quiet_s=0.0)

    assert asyncio.run(listen()).members == ()


def test_of_two_processes_with_one_name_the_one_counts_that_speaks_for_it(bobs: Statistics) -> None:
    older = msgspec.structs.replace(bobs, incarnation=1, is_superseded=True)
    newer = msgspec.structs.replace(bobs, incarnation=2)
    for order in ((older, newer), (newer, older)):
        assert collected(Answers("g"), *(told(one) for one in order)).members == (newer,)


def test_a_member_waits_for_those_whom_it_knows_itself_and_a_guest_for_all_who_are_spoken_of(bobs: Statistics) -> None:
    spoken_of = told(bobs, peers=(GHOST,))
    ann = msgspec.structs.replace(bobs, name="ann", peers=(msgspec.structs.replace(GHOST, name="bob"),))
    alone = collected(Answers("g"), spoken_of, own=ann)
    assert ([member.name for member in alone.members], alone.silent) == (["ann", "bob"], ())
    ghost = told(bobs, name="ghost", sender="ghost")
    guest = collected(Answers("g"), spoken_of, ghost)
    assert ([member.name for member in guest.members], guest.silent) == (["bob", "ghost"], ())


def test_a_thousand_arms_are_told_over_udp_where_they_do_not_fit_one_packet() -> None:
    arms = [f"a headline with number {number}" for number in range(1000)]
    url = f"udp://127.0.0.1:{free_port()}"
    with (
        cobandit.connect(url, group="g", name="a", arms=arms, secret=SECRET) as member,
        Asker(url, group="g", secret=SECRET) as asker,
    ):
        fleet = until(asker, lambda fleet: bool(fleet.members))
        assert [arm.arm for arm in fleet.members[0].arms] == arms
        assert member.statistics().troubles == ()


def test_who_names_whom_it_expects_does_not_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = list[tuple[float, Collection[str]]]()
    collect = Rounds.collect

    async def noted(self: Rounds, *arguments: Any, quiet_s: float, expected: Collection[str]) -> Fleet:
        rounds.append((quiet_s, expected))
        return await collect(self, *arguments, quiet_s=0.0, expected=expected)

    monkeypatch.setattr(Rounds, "collect", noted)
    network = "memory://asked-again"
    with cobandit.connect(network, group="g", name="ann", arms=ARMS), Asker(network, group="g") as asker:
        asked = [asker.ask(WITHIN, expected=expected) for expected in ((), ("ann",))]
    assert [[member.name for member in fleet.members] for fleet in asked] == [["ann"], ["ann"]]
    assert rounds == [(QUIET, frozenset()), (0.0, frozenset({"ann"}))]
