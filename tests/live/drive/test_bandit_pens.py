"""Members of a fleet without a name: pens with bandits, which are handed on, changed, and rewarded after their pods."""

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.live.drive.test_pens import crash
from tests.waiting import until

from cobandit import connect
from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.core.pen_names import lender_of
from cobandit.core.places import Bandit
from cobandit.live.decide.decision import Decision
from cobandit.live.drive.member import Member
from cobandit.live.drive.named_bandit import NamedBandit
from cobandit.live.machine import control_messages
from cobandit.live.machine.serving import Serving
from cobandit.values.errors import LocalError

QUICK = on_demand(
    Geometric(2, cap=64), loss_tolerant=RetryTimers(first=0.5, least=0.1, growth=1.5, tick=0.5, longest=5.0)
)
ARMS = ["A", "B"]
SEGMENTS = ("", "de")
_networks = itertools.count()


class Fleet:
    """Relays with disks, which may declare nothing, and pods without names."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.url, self._folder, self._stack = f"memory://bandit-pens-{next(_networks)}", folder, stack
        self.ahead = 0.0

    def now(self) -> float:
        return time.time()

    def time_of_day(self) -> float:
        return time.time() + self.ahead

    def relay(self, name: str, **more: Any) -> Member:
        options = {"state": self._folder / f"{name}.db", "lease": 10.0, "sharing": QUICK, "clock": self, **more}
        return self._stack.enter_context(connect(self.url, fleet="shop", name=name, relay=True, **options))

    def pod(self, **more: Any) -> Member:
        options = {"relays": ["*"], "flush_every": 0.3, "sharing": QUICK, "clock": self, **more}
        return self._stack.enter_context(connect(self.url, fleet="shop", **options))


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(tmp_path, stack)


def home_of(pod: Member, **more: Any) -> NamedBandit:
    return pod.bandit("home", ARMS, **{"rewards": (0, 200), "holdout": 0.4, **more})


def observe(bandit: NamedBandit, count: int) -> list[Decision]:
    made = [bandit.select_arm(segment) for _ in range(count) for segment in SEGMENTS]
    for one in made:
        assert bandit.update(one, 150.0)
    return made


def known(member: Member) -> tuple[int, int]:
    """Return how many observations of `home` a member knows, and how many that were held out."""
    found = [bandit for bandit in member.statistics().bandits if bandit.name == "home"]
    if not found:
        return 0, 0
    return found[0].observations, 0 if found[0].lift is None else found[0].lift.held_out


def sides(made: list[Decision]) -> tuple[int, int]:
    held_out = sum(one.is_held_out for one in made)
    return len(made) - held_out, held_out


def _knows(member: Member, expected: tuple[int, int]) -> Callable[[], bool]:
    return lambda: known(member) == expected


def rows(relay: Member) -> set[str]:
    return relay.on_loop(lambda: {key.agent for key, _ in relay.machine.agent.endpoint.replica.cells()})


def test_pods_learn_together_and_the_next_one_goes_on_with_the_pen(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobandit.live.machine.calendar_time.BELIEVED_AFTER", 0.0)
    relays = [fleet.relay(name) for name in ("r1", "r2")]
    home_of(relays[0], window="10h"), home_of(relays[1], window="10h")
    made: list[Decision] = []
    names = set()
    open_ids: list[Decision] = []
    for generation in range(3):
        pod = fleet.pod(relays=["r1"])
        assert lender_of(pod.name) == "r1"
        names.add(pod.name)
        home = home_of(pod, window="10h")
        until(_knows(pod, sides(made)))
        for one in open_ids:  # of the pod before, by the one that has its pen now
            assert pod.update(one.id, 50.0)
            assert not pod.update(one.id, 50.0)
        made += open_ids
        made += observe(home, 10)
        open_ids = [home.select_arm("de") for _ in range(6)] if generation < 2 else []
        pod.close()
    assert len(names) == 1
    until(lambda: all(known(relay) == sides(made) for relay in relays), lambda: ([*map(known, relays)], sides(made)))
    assert [rows(relay) for relay in relays] == [names] * 2
    fleet.ahead = 11 * 3600.0
    last = fleet.pod(relays=["r1"])
    home = home_of(last, window="10h")
    assert last.name in names
    new = observe(home, 5)
    until(lambda: all(known(one) == sides(new) for one in (last, *relays)), lambda: [*map(known, (last, *relays))])


def test_a_fleet_whose_relays_know_no_bandit_yet_counts_everything(fleet: Fleet) -> None:
    relay = fleet.relay("r1")
    pods = [fleet.pod() for _ in range(2)]
    first = {pod.name for pod in pods}
    bandits = [home_of(pod) for pod in pods]
    mail = pods[0].bandit("mail", ["C"])
    made = [one for bandit in bandits for one in observe(bandit, 10)]
    until(lambda: not first & {pod.name for pod in pods})  # with other pens, in which the bandits are
    made += [one for bandit in bandits for one in observe(bandit, 10)]
    assert mail.update(mail.select_arm(), 1.0)
    everybody = [relay, *pods]

    def told() -> list[tuple[int, int]]:
        for pod in pods:
            pod.flush(1.0)
            pod.catch_up()
        return [*map(known, everybody)]

    until(lambda: told() == [sides(made)] * 3, lambda: (told(), sides(made)))
    late = fleet.pod()
    name = late.name
    late_home = home_of(late)
    until(lambda: known(late) == sides(made), lambda: known(late))
    assert late.name == name  # its relay knew the bandit, so nothing had to change
    assert (
        sum(arm.observations for arm in late_home.statistics("de").arms)
        == sides([one for one in made if one.segment == "de"])[0]
    )


def test_rewards_for_pods_that_are_gone_count_once_wherever_they_are_brought(fleet: Fleet) -> None:
    relays = [fleet.relay(name) for name in ("r1", "r2")]
    for relay in relays:
        home_of(relay)
    gone, here = fleet.pod(relays=["r1"]), fleet.pod(relays=["r2"])
    home = home_of(gone)
    made = observe(home, 5)
    waiting = [home.select_arm(segment) for _ in range(30) for segment in SEGMENTS]
    assert {one.is_held_out for one in waiting} == {True, False}
    assert gone.flush(60.0)
    crash(gone)
    home_of(here)
    for one in waiting:
        for member in (here, relays[1], relays[0]):
            member.update(one.id, 20.0)
    made += waiting
    until(lambda: all(known(one) == sides(made) for one in relays), lambda: ([*map(known, relays)], sides(made)))
    for one in waiting:
        assert not relays[0].update(one.id, 20.0)
    with pytest.raises(LocalError, match="from 0 to 200"):
        relays[0].update(waiting[0].id, 201.0)


def test_a_pen_of_a_relay_that_dies_is_left_and_nothing_counts_twice(fleet: Fleet) -> None:
    relays = [fleet.relay(name) for name in ("r1", "r2")]
    for relay in relays:
        home_of(relay)
    pod = fleet.pod(relays=["r1", "r2"])
    home = home_of(pod)
    made = observe(home, 10)
    pod.flush(5.0)
    lender = next(relay for relay in relays if relay.name == lender_of(pod.name))
    other = next(relay for relay in relays if relay is not lender)
    crash(lender)
    before = pod.name
    made += observe(home, 10)
    until(lambda: lender_of(pod.name) == other.name, lambda: pod.name)
    made += observe(home, 10)  # through the same object
    assert home.select_arm("de").signer.name != before
    back = fleet.relay(lender.name)
    until(lambda: known(other) == sides(made), lambda: (known(other), sides(made)))
    until(lambda: known(back) == sides(made), lambda: (known(back), sides(made)))


def test_what_a_relay_does_not_serve_is_not_taken_as_acknowledged(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    hears = Serving.compare
    monkeypatch.setattr(Serving, "compare", lambda *_: None)
    relay = fleet.relay("r1")
    pod = fleet.pod()
    name = pod.name
    home = home_of(pod)
    until(lambda: pod.name != name)
    made = observe(home, 10)
    pod.sync()
    assert not pod.flush(1.0)
    assert pod.on_loop(lambda: pod.machine.holding and pod.machine.holding.unacknowledged) == len(made)
    monkeypatch.setattr(Serving, "compare", hears)
    pod.catch_up()
    until(lambda: known(relay) == sides(made), lambda: known(relay))
    until(lambda: pod.flush(1.0))


def test_a_pod_offers_only_the_arms_that_it_declares(fleet: Fleet) -> None:
    relay = fleet.relay("r1")
    relay.bandit("home", ["A", "B", "C"])
    pod = fleet.pod()
    home = pod.bandit("home", ["B", "A"])
    assert {home.select_arm().arm for _ in range(100)} == {"A", "B"}
    assert {*home.arms} == {"A", "B"}
    with pytest.raises(LocalError, match="not one of"):
        home.freeze_arm("C")
    name = pod.name
    pod.bandit("home", ["A", "B", "C"])
    assert {home.select_arm().arm for _ in range(200)} == {"A", "B", "C"}
    with pytest.raises(LocalError, match=r"declared differently than before \(rewards: "):
        pod.bandit("home", ["A"], rewards=(0, 2))
    assert pod.name == name


def test_a_pod_has_no_more_segments_than_can_be_handed_on(fleet: Fleet) -> None:
    relay = fleet.relay("r1")
    home_of(relay, window="10h")
    home = home_of(fleet.pod(), window="10h")
    for number in range(2048 // (2 * 11)):
        home.select_arm(f"segment {number}")
    with pytest.raises(LocalError, match="at most 2,048 combinations"):
        home.select_arm("one more")
    assert len(home.segments) == 2048 // (2 * 11)
    assert home.select_arm("segment 0").segment == "segment 0"


def test_segments_that_a_pod_has_only_heard_of_take_half_of_its_room(fleet: Fleet) -> None:
    home = home_of(fleet.relay("r1"), window="10h", holdout=0.0)  # of what is held out, no segment hears
    most = 2048 // (2 * 11)
    for number in range(most):
        home.update(home.select_arm(f"segment {number}"), 1.0)
    pod = home_of(fleet.pod(), window="10h", holdout=0.0)
    until(lambda: len(pod.segments) == most // 2)
    for number in range(most):  # in any of them it may decide
        pod.select_arm(f"segment {number}")
    with pytest.raises(LocalError, match="at most 2,048 combinations"):
        pod.select_arm("one more")
    assert len(pod.segments) == most


def test_who_differs_about_a_bandit_does_not_take_turns_and_what_else_was_declared_stays(fleet: Fleet) -> None:
    relay = fleet.relay("r1")
    machine, lending, home = relay.machine, relay.machine.lending, Bandit("home", ("A", "B"), 100)
    assert lending is not None
    mail, other = home._replace(name="mail"), home._replace(rewards=(0.0, 5.0))
    relay.on_loop(lambda: setattr(machine.serving, "wanted", (home,)))
    until(lambda: machine.agent.bandits == (home,))

    def ask(bandit: Bandit, sender: str) -> None:
        units = machine.agent.presence.units_per_reward
        asked = control_messages.PenAsked(sender, sender.encode(), (), units, bandits=(bandit,))
        lending.asked(asked, machine.clock.now())

    def both() -> None:
        machine.serving.wanted = (home, mail)
        ask(other, "two")

    relay.on_loop(both)
    until(lambda: machine.agent.bandits == (other, mail))
    sessions = set()
    for _ in range(5):
        for bandit, sender in ((home, "one"), (other, "two")):
            relay.on_loop(functools.partial(ask, bandit, sender))
            relay.sync()
            sessions.add(machine.agent.session)
    assert machine.agent.bandits == (other, mail)
    assert len(sessions) == 1
    assert len(lending.book.pens) == 1


def test_who_is_of_a_group_gets_no_pen_of_a_fleet(fleet: Fleet) -> None:
    fleet.relay("r1")
    with pytest.raises(LocalError, match="is a relay of a fleet"):
        connect(fleet.url, group="shop", arms=ARMS, relays=["*"], sharing=QUICK)
