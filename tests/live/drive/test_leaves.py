"""Leaves as members that a program opens: over every network, with real relays; and what is refused in clear words."""

import asyncio
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

from cobandit import connect
from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.decide.taken import Taken
from cobandit.live.drive.member import Member
from cobandit.live.status.roles import Role
from cobandit.live.transports.memory import MemoryTransport, hub
from cobandit.values.errors import LocalError
from lab.servers import Missing, free_port, mosquitto, nats_server

GROUP, ARMS = "g", ["A", "B"]
WITHIN = 60.0
SECRET = "a secret of the whole group"
QUICK = on_demand(
    Geometric(2, cap=64), loss_tolerant=RetryTimers(first=0.5, least=0.1, growth=1.5, tick=0.5, longest=5.0)
)
_numbers = iter(range(10**6))


class Network:
    """Where members and relays of one network are, and what proves their names."""

    def __init__(self, kind: str, folder: Path, stack: ExitStack) -> None:
        self.kind, self.folder = kind, folder
        self.ports = [free_port(), free_port()]
        if kind == "tls":
            make_group(GROUP, folder)
        server = {"nats": nats_server, "mqtt": mosquitto}.get(kind)
        self.url = f"memory://leaves-{next(_numbers)}"
        if server is not None:
            try:
                self.url = stack.enter_context(server()).url
            except Missing as missing:
                pytest.skip(str(missing))

    @property
    def is_dialled(self) -> bool:
        return self.kind in ("tls", "udp")

    @property
    def relays(self) -> list[str]:
        """Where its relays are, as leaves are told."""
        if self.is_dialled:
            return [f"127.0.0.1:{port}" for port in self.ports]
        return ["*"] if self.kind in ("memory", "nats") else ["r1", "r2"]

    def proof(self, name: str, *, is_relay: bool = False) -> dict[str, Any]:
        if self.kind == "tls":
            return {"keys": issue(name, self.folder, may_relay=is_relay)}
        return {} if self.kind == "memory" else {"secret": SECRET}

    def relay(self, number: int, **more: Any) -> Member:
        url = f"{self.kind}://127.0.0.1:{self.ports[number - 1]}" if self.is_dialled else self.url
        peers = [f"127.0.0.1:{port}" for port in self.ports] if self.is_dialled else []
        name = f"r{number}"
        options = {**self.proof(name, is_relay=True), **more}
        return connect(url, group=GROUP, name=name, arms=ARMS, sharing=QUICK, peers=peers, relay=True, **options)

    def leaf(self, name: str, **more: Any) -> Member:
        url = f"{self.kind}://" if self.is_dialled else self.url
        options = {**self.proof(name), "relays": self.relays, **more}
        return connect(url, group=GROUP, name=name, arms=ARMS, sharing=QUICK, **options)


@pytest.fixture(params=["memory", "nats", "mqtt", "tls", "udp"])
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Network]:
    with ExitStack() as stack:
        yield Network(request.param, tmp_path, stack)


def observe(members: list[Member], count: int) -> None:
    for _ in range(count):
        for member in members:
            member.update(member.select_arm(), 1.0)


def test_leaves_learn_together_through_relays_and_go_on_with_the_next_one(network: Network) -> None:
    with ExitStack() as stack:
        relays = [stack.enter_context(network.relay(number)) for number in (1, 2)]
        leaves = [stack.enter_context(network.leaf(f"web-{number}")) for number in range(5)]

        def known() -> list[int]:
            return [leaf.statistics().observations for leaf in leaves]

        assert all(len(leaf.statistics().homes) == 1 for leaf in leaves)
        observe(leaves, 20)
        token = leaves[0].select_arm().id
        assert [leaf.update(token, 1.0) for leaf in leaves[1:]] == [Taken.ON_ITS_WAY] * 4
        leaves[1].freeze_arm("B")
        until(lambda: known() == [101] * 5, known)
        until(lambda: all(arm_is_frozen(leaf) for leaf in leaves), lambda: [leaf.statistics() for leaf in leaves])
        assert [{peer.role for peer in leaf.statistics().peers} for leaf in leaves] == [{Role.RELAY}] * 5
        fleet = leaves[2].fleet(WITHIN)
        assert [(one.name, one.role) for one in fleet.members] == [
            ("r1", Role.RELAY),
            ("r2", Role.RELAY),
            ("web-2", Role.LEAF),
        ]
        assert sorted(leaf.name for leaf in fleet.leaves) == [f"web-{number}" for number in range(5)]
        relays[0].close()
        observe(leaves, 20)
        until(lambda: known() == [201] * 5, known)
        assert {leaf.statistics().homes for leaf in leaves} == {("r2",)}


def arm_is_frozen(member: Member) -> bool:
    return [arm.is_frozen for arm in member.statistics().arms] == [False, True]


def test_a_leaf_without_a_relay_decides_at_once_and_finds_one_that_comes_later(network: Network) -> None:
    with network.leaf("web-0") as leaf:
        observe([leaf], 20)
        until(lambda: leaf.is_cut_off, leaf.statistics)
        assert any("relay" in trouble for trouble in leaf.statistics().troubles)
        assert leaf.statistics().settings_from is None
        with network.relay(1) as relay:
            until(lambda: relay.statistics().observations == 20, relay.statistics)
            until(lambda: not leaf.is_cut_off and leaf.statistics().troubles == (), leaf.statistics)


def test_a_flush_waits_for_a_relay_that_was_not_met_yet(tmp_path: Path) -> None:
    network = Network("memory", tmp_path, ExitStack())
    with network.leaf("web-0", flush_every=3600.0) as leaf:
        assert leaf.flush(0.0)  # there is nothing to send
        observe([leaf], 7)
        assert not leaf.flush(0.2)
        with network.relay(1) as relay:
            assert leaf.flush(WITHIN)
            assert relay.statistics().observations == 7


def test_a_flush_after_a_crash_waits_for_a_relay_that_takes_what_was_observed_before(tmp_path: Path) -> None:
    network = Network("memory", tmp_path, ExitStack())
    running, crashed = tmp_path / "running", tmp_path / "crashed"
    running.mkdir()
    with network.leaf("web-0", state=running / "state") as leaf:
        observe([leaf], 7)
        leaf.sync()
        shutil.copytree(running, crashed)
    with network.leaf("web-0", state=crashed / "state") as leaf:
        assert leaf.statistics().observations == 7
        assert not leaf.flush(0.2)
        with network.relay(1) as relay:
            assert leaf.flush(WITHIN)
            assert relay.statistics().observations == 7


def test_a_flush_whose_relay_leaves_before_it_has_heard_anything_waits_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, deaf, hand_over = Network("memory", tmp_path, ExitStack()), set[str](), MemoryTransport._hand_over

    def lossy(transport: MemoryTransport, member: MemoryTransport | None, frame: bytes) -> bool:
        is_lost = member is not None and member._key is not None and member._key[1] in deaf
        return is_lost or hand_over(transport, member, frame)

    monkeypatch.setattr(MemoryTransport, "_hand_over", lossy)
    with network.leaf("web-0", flush_every=3600.0) as leaf, ThreadPoolExecutor(1) as pool:
        with network.relay(1):
            until(lambda: leaf.statistics().homes == ("r1",), leaf.statistics)
            deaf.add("r1")
            observe([leaf], 7)
            sent, flushed = leaf.statistics().communication.sent, pool.submit(leaf.flush, WITHIN)
            until(lambda: leaf.statistics().communication.sent > sent, leaf.statistics)
            deaf.clear()
        with network.relay(2) as relay:
            assert flushed.result()
            assert relay.statistics().observations == 7


def test_a_flush_tells_a_relay_what_it_serves_although_it_does_not_serve_everything() -> None:
    url = f"memory://leaves-{next(_numbers)}"

    def joins(name: str, **options: Any) -> Member:
        return connect(url, fleet="f", name=name, sharing=QUICK, **options)

    with (
        joins("r1", relay=True) as relay,
        joins("web-1", relays=["*"]) as other,
        joins("web-0", relays=["*"], flush_every=3600.0) as leaf,
    ):
        theirs = other.bandit("x", ARMS, rewards=(0.0, 5.0))
        until(lambda: [one.name for one in relay.statistics().bandits] == ["x"], relay.statistics)
        mine, shared = leaf.bandit("x", ARMS, rewards=(0.0, 9.0)), leaf.bandit("y", ARMS)
        until(lambda: len(relay.statistics().bandits) == 2, relay.statistics)
        for bandit in (theirs, mine, shared):
            bandit.update(bandit.select_arm(), 1.0)
        assert not leaf.flush(0.5)
        until(lambda: {one.name: one.observations for one in relay.statistics().bandits}["y"] == 1, relay.statistics)


def test_a_leaf_keeps_its_state_and_its_decisions_across_restarts(tmp_path: Path) -> None:
    network = Network("memory", tmp_path, ExitStack())
    with network.relay(1) as relay:
        with network.leaf("web-0", state=tmp_path / "web-0.db") as leaf:
            observe([leaf], 7)
            token = leaf.select_arm().id
        with network.leaf("web-0", state=tmp_path / "web-0.db") as leaf:
            assert (leaf.statistics().observations, leaf.update(token, 1.0)) == (7, Taken.COUNTED)
            leaf.flush()
            assert relay.statistics().observations == 8


def test_a_leaf_is_found_by_the_name_of_the_dns(tmp_path: Path) -> None:
    network = Network("udp", tmp_path, ExitStack())
    with (
        network.relay(1) as relay,
        network.leaf("web-0", relays=[f"localhost:{network.ports[0]}"], homes=2) as leaf,
    ):
        observe([leaf], 7)
        until(lambda: relay.statistics().observations == 7, leaf.statistics)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"relays": []}, r'the list of relays is empty: name one, or say \["\*"\] for all that are found'),
        ({"relays": "r1"}, r"relays must be a list, such as \['r1'\], not 'r1'"),
        ({"relays": ["m"]}, "m is in its own list of relays: name others, or make it a relay itself"),
        ({"relays": ["r1"], "relay": True}, "m is to be a relay, and is given relays as a leaf is: leave out one"),
        ({"relays": ["r1"], "snapshot": b""}, "a leaf starts from no snapshot: what others observed it hears from"),
        ({"relays": ["r1"], "homes": 9}, "homes must be a whole number from 1 to 8, not 9"),
        ({"relays": [""]}, "relays must be names or addresses"),
        (
            {"relays": ["r1"], "url": "udp://", "secret": SECRET},
            "the relay 'r1' is no address: for tls:// and udp:// relays are given as host:port",
        ),
        (
            {"relays": ["10.0.0.1:7000"], "peers": ["10.0.0.2:7000"], "url": "udp://", "secret": SECRET},
            "peers and relays are both given: a leaf talks to its relays only, so leave out peers",
        ),
    ],
)
def test_what_a_leaf_cannot_be_told_is_refused(options: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    given = {"url": "memory://nobody", **options}
    with pytest.raises(LocalError, match=complaint):
        connect(given.pop("url"), group=GROUP, name="m", arms=ARMS, state=tmp_path / "m.db", **given)


def test_a_relay_of_another_group_is_nobody(tmp_path: Path) -> None:
    for group in ("g", "h"):
        make_group(group, tmp_path / group)
    port = free_port()
    relay_keys, leaf_keys = issue("r1", tmp_path / "h", may_relay=True), issue("web-0", tmp_path / "g")
    with (
        connect(f"tls://127.0.0.1:{port}", group="h", name="r1", arms=ARMS, keys=relay_keys, relay=True) as relay,
        connect("tls://", group="g", name="web-0", arms=ARMS, keys=leaf_keys, relays=[f"127.0.0.1:{port}"]) as leaf,
    ):
        until(lambda: leaf.is_cut_off, leaf.statistics)
        observe([leaf], 5)
        assert (leaf.statistics().peers, relay.statistics().peers) == ((), ())
        assert any("is not of this group 'g'" in trouble for trouble in leaf.statistics().troubles)


def test_with_keys_only_a_member_whose_certificate_says_so_is_found_as_a_relay(tmp_path: Path) -> None:
    make_group(GROUP, tmp_path)
    try:
        server = nats_server()
        with server as hub_of_all:
            keys = {name: issue(name, tmp_path) for name in ("eve", "web-0")}
            with (
                connect(hub_of_all.url, group=GROUP, name="eve", arms=ARMS, keys=keys["eve"]) as eve,
                connect(hub_of_all.url, group=GROUP, name="web-0", arms=ARMS, keys=keys["web-0"], relays=["*"]) as leaf,
            ):
                # Eve says that she is a relay, and has no certificate for it.
                eve._node.machine.agent.endpoint.members.is_relay = True
                eve._node.reachable(None)
                until(lambda: leaf.is_cut_off, leaf.statistics)
                assert (leaf.statistics().peers, leaf.statistics().homes) == ((), ())
    except Missing as missing:
        pytest.skip(str(missing))


def test_leaves_do_not_hear_the_announcements_of_others_than_relays() -> None:
    heard: dict[str, list[bytes]] = {}

    class Ear:
        def __init__(self, name: str) -> None:
            self.frames = heard.setdefault(name, [])

        def frame(self, frame: bytes, sender: str | None) -> None:
            del sender
            self.frames.append(frame)

        def reachable(self, peer: str | None) -> None: ...
        def refused(self, reason: object, sender: str | None, host: str | None = None) -> None: ...
        def trouble(self, what: str | None) -> None: ...

    async def main() -> None:
        members: dict[str, MemoryTransport] = {}
        for name, role in (("leaf-1", Role.LEAF), ("leaf-2", Role.LEAF), ("relay", Role.RELAY), ("mesh", Role.MEMBER)):
            members[name] = MemoryTransport(hub("roles"))
            members[name].role = role
            await members[name].open(name, "g", Ear(name))
        for name, member in members.items():
            member.announce(name.encode())
        await asyncio.sleep(0)
        for member in members.values():
            await member.close()

    asyncio.run(main())
    assert heard == {
        "leaf-1": [b"relay"],
        "leaf-2": [b"relay"],
        "relay": [b"leaf-1", b"leaf-2", b"mesh"],
        "mesh": [b"leaf-1", b"leaf-2", b"relay"],
    }
