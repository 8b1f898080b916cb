"""Members without a name, with real relays: they take pens, hand them on, and change them when a relay dies."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

from cobandit import connect
from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.core.pen_names import lender_of
from cobandit.live.auth.identity_seal import IdentitySeal
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.auth.seal import GroupSeal
from cobandit.live.decide.taken import Taken
from cobandit.live.drive import node, pens
from cobandit.live.drive.background import background
from cobandit.live.drive.member import Member
from cobandit.live.machine.rewarding import take_reward
from cobandit.values.errors import LocalError
from lab.servers import Missing, free_port, nats_server

GROUP, ARMS = "g", ["A", "B"]
WITHIN = 60.0
QUICK = on_demand(
    Geometric(2, cap=64), loss_tolerant=RetryTimers(first=0.5, least=0.1, growth=1.5, tick=0.5, longest=5.0)
)
_numbers = iter(range(10**6))


class Network:
    """Two relays with disks, and members without names and disks."""

    def __init__(self, kind: str, folder: Path, stack: ExitStack) -> None:
        self.kind, self.folder = kind, folder
        self.ports = {"r1": free_port(), "r2": free_port()}
        self.url = f"memory://pens-{next(_numbers)}"
        if kind == "tls":
            make_group(GROUP, folder)
            issue("pods", folder, is_prefix=True)
        if kind == "nats":
            try:
                self.url = stack.enter_context(nats_server()).url
            except Missing as missing:
                pytest.skip(str(missing))

    def relay(self, name: str, **more: Any) -> Member:
        options: dict[str, Any] = {"state": self.folder / f"{name}.state", "lease": 10.0, **more}
        url = self.url
        if self.kind == "tls":
            url = f"tls://127.0.0.1:{self.ports[name]}"
            options["peers"] = [f"127.0.0.1:{port}" for port in self.ports.values()]
            keys = self.folder / f"{name}.pem"
            options["keys"] = keys if keys.exists() else issue(name, self.folder, may_relay=True)
        return connect(url, group=GROUP, name=name, arms=ARMS, sharing=QUICK, relay=True, **options)

    def pod(self, **more: Any) -> Member:
        options: dict[str, Any] = {"relays": ["*"], "flush_every": 0.5, **more}
        url = self.url
        if self.kind == "tls":
            url = "tls://"
            options["relays"] = [f"127.0.0.1:{port}" for port in self.ports.values()]
            options["keys"] = next(self.folder.glob("pods*.pem"))
        return connect(url, group=GROUP, arms=ARMS, sharing=QUICK, **options)


@pytest.fixture(params=["memory", "nats", "tls"])
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Network]:
    with ExitStack() as stack:
        yield Network(request.param, tmp_path, stack)


def observe(members: list[Member], count: int) -> None:
    for _ in range(count):
        for member in members:
            member.update(member.select_arm(), 1.0)


def known(members: list[Member]) -> list[int]:
    return [member.statistics().observations for member in members]


def is_frozen(member: Member) -> bool:
    return any(arm.arm == "B" and arm.is_frozen for arm in member.statistics().arms)


def crash(member: Member) -> None:
    """End a member as a kill would: nothing more is sent, nor written."""

    async def end() -> None:
        killed = member._node
        if member._keeper is not None:
            await member._keeper.end()
        assert killed._task is not None
        killed._task.cancel()
        with suppress(asyncio.CancelledError):
            await killed._task
        await killed._transport.close()
        await killed._writing.close()

    background().submit(end()).result()
    member._shut("was killed")


def test_a_pen_is_handed_on_with_all_that_was_learned(network: Network) -> None:
    with ExitStack() as stack:
        relays = [stack.enter_context(network.relay(name)) for name in ("r1", "r2")]
        first = [network.pod() for _ in range(3)]
        assert all(lender_of(pod.name) in ("r1", "r2") for pod in first)
        assert len({pod.name for pod in first}) == 3
        observe(first, 20)
        open_ids = [pod.select_arm().id for pod in first]
        first[0].freeze_arm("B")
        for pod in first:
            pod.close()
        until(lambda: known(relays) == [60, 60], lambda: known(relays))
        until(lambda: all(map(is_frozen, relays)), lambda: [relay.statistics() for relay in relays])
        again = [stack.enter_context(network.pod()) for _ in range(3)]
        assert [pod.select_arm().arm for pod in again] == ["A"] * 3
        until(lambda: known(again) == [60] * 3, lambda: known(again))
        assert all(again[0].update(token, 1.0) for token in open_ids)  # of pods that are gone
        for pod in again[1:]:
            for token in open_ids:
                pod.update(token, 1.0)
        members = [*relays, *again]
        until(lambda: known(members) == [63] * 5, lambda: known(members))
        assert [pod.flush(WITHIN) for pod in again] == [True] * 3
        assert known(members) == [63] * 5


def test_a_pen_that_was_given_back_is_the_next_ones(network: Network) -> None:
    with network.relay("r1") as relay:
        with network.pod() as pod:
            name = pod.name
            observe([pod], 5)
        with network.pod() as pod:
            assert (pod.name, known([pod, relay])) == (name, [5, 5])


def test_a_pen_of_a_relay_that_dies_is_left_for_another_and_nothing_counts_twice(network: Network) -> None:
    with ExitStack() as stack:
        relays = {name: network.relay(name) for name in ("r1", "r2")}
        pods = [stack.enter_context(network.pod()) for _ in range(4)]
        observe(pods, 30)
        until(lambda: known(pods) == [120] * 4, lambda: known(pods))
        open_ids = [pod.select_arm().id for pod in pods]
        dead = lender_of(pods[0].name)
        assert dead is not None
        crash(relays[dead])
        observe(pods, 30)
        until(lambda: all(lender_of(pod.name) != dead for pod in pods), lambda: [pod.name for pod in pods])
        observe(pods, 30)
        for pod, token in zip(pods, open_ids, strict=True):
            assert pod.update(token, 1.0)
        relays[dead] = network.relay(dead)
        members = [*relays.values(), *pods]
        until(lambda: known(members) == [364] * 6, lambda: known(members))
        for relay in relays.values():
            stack.callback(relay.close)


def test_who_closes_hands_on_all_rewards_for_others_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "FLUSH_WITHIN", WITHIN)
    with ExitStack() as stack:
        network = Network("memory", tmp_path, stack)
        relay = stack.enter_context(network.relay("r1"))
        decider, bringer = stack.enter_context(network.pod()), network.pod()
        ids, machine = [decider.select_arm().id for _ in range(3000)], bringer._node.machine
        bringer.change(lambda: [take_reward(machine, token, 1.0) for token in ids])
        bringer.close()
        until(lambda: known([relay]) == [3000], lambda: known([relay]))


def test_without_a_relay_it_decides_and_tells_later(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pens, "FIRST_WITHIN", 0.3)
    with ExitStack() as stack:
        pod = stack.enter_context(network.pod())
        assert lender_of(pod.name) is None
        assert "alone-" in pod.name
        observe([pod], 10)
        relay = stack.enter_context(network.relay("r1"))
        until(lambda: known([relay]) == [10], lambda: known([relay]))


def test_who_counts_otherwise_is_refused(tmp_path: Path) -> None:
    with ExitStack() as stack:
        network = Network("memory", tmp_path, stack)
        stack.enter_context(network.relay("r1"))
        with pytest.raises(LocalError) as refused:
            network.pod(quantum=0.01)
        assert str(refused.value) == (
            "no relay lends this process a pen: r1 counts 1000000 quanta in a reward, not 100: a whole group must "
            "declare the same quantum"
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {},
            'a member needs a name, unique in its group; or relays=[...], one of which lends it a name (["*"] for any)',
        ),
        (
            {"state": "x.state", "relays": ["*"]},
            "a member with a state file needs a name that never changes: the file belongs to that name",
        ),
        ({"relay": True}, "a relay needs a name, always the same, and a state file"),
        (
            {"relays": ["*"], "lease": 1.0},
            "lease must be at least 10 seconds, not 1: networks stand still",
        ),
        ({"relays": ["*"], "flush_every": 0.0}, "flush_every must be a positive number, not 0.0"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(LocalError) as refused:
        connect("memory://refused", group=GROUP, arms=ARMS, **options)
    assert str(refused.value) == words


@pytest.mark.parametrize("proof", ["secret", "keys"])
def test_who_listens_to_packets_does_not_get_the_key_of_a_pod(
    proof: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = list[bytes]()
    for kind in (GroupSeal, IdentitySeal):
        wrap = kind.wrap

        def recording(self: Any, to: str | None, frame: bytes, wrap: Callable[..., bytes] = wrap) -> bytes:
            frames.append(frame)
            return wrap(self, to, frame)

        monkeypatch.setattr(kind, "wrap", recording)
    at, of_relay, of_pod = f"127.0.0.1:{free_port()}", dict[str, Any](), dict[str, Any]()
    if proof == "secret":
        of_relay = of_pod = {"secret": "a secret of the whole group"}
    else:
        make_group(GROUP, tmp_path)
        of_relay = {"keys": issue("r1", tmp_path, may_relay=True)}
        of_pod = {"keys": issue("pods", tmp_path, is_prefix=True)}
    with (
        connect(f"udp://{at}", group=GROUP, name="r1", arms=ARMS, sharing=QUICK, relay=True, **of_relay) as relay,
        connect("udp://", group=GROUP, arms=ARMS, sharing=QUICK, relays=[at], **of_pod) as pod,
    ):
        assert lender_of(pod.name) == "r1"
        key = pod._node.machine.decider.signer.key
        token = pod.select_arm().id
        pod.close()
        assert relay.update(token, 1.0) is Taken.COUNTED
    assert len(key) == 16
    assert sum(pod.name.encode() in frame for frame in frames) > 0
    assert not any(key in frame for frame in frames)
