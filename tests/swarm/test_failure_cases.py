"""The failures that a design must survive, each by its name, in a world made for it, with every check on."""

import math
import re
from dataclasses import replace

import pytest

from cobandit import UCB, Agent, Constant, on_demand
from cobandit.core import Acknowledgement, Outcome, TolerantEndpoint
from cobandit.core.delivery import Patience
from cobandit.scenario.faults import Faults, Partition
from cobandit.testing.swarm import Transcript
from cobandit.testing.swarm.plan import Incident, Kind, Member, Plan
from cobandit.testing.swarm.world import World
from cobandit.wire import decode_snapshot, encode_snapshot

ARMS = ("a0", "a1")
PATIENCE = Patience(first=20.0, least=2.0, growth=1.5, tick=60.0, longest=400.0)
BOTH_WAYS = Partition(0, 40, (0,), (1,))


def member(gap: float = 5.0, stops_at: float = 1e9, *, forgets: bool = False) -> Member:
    return Member(ARMS, 0.0, gap, stops_at, stops_at == 1e9, forgets)


CALM = Plan(
    seed=1,
    members=(member(), member()),
    means={"a0": 0.3, "a1": 0.7},
    eliminates=False,
    alpha=1.0,
    sharing=on_demand(Constant(1), loss_tolerant=PATIENCE),
    patience=PATIENCE,
    delay=3,
    faults=Faults(),
    incidents=(),
    heals_at=500.0,
    stops_at=600.0,
    ends_at=50_000.0,
)


def lived(plan: Plan) -> str:
    """Run a world, see that nothing is wrong, and return its transcript."""
    transcript = Transcript(keep=True)
    world = World(plan, transcript)
    world.run()
    assert world.inspector.violations == []
    return "\n".join(transcript.lines or ())


def test_in_a_calm_world_hardly_anything_is_repeated() -> None:
    text = lived(CALM)
    said = re.findall(r"says .* share \d+( again)?", text[: text.index("THE WORLD HEALS")])
    assert said.count(" again") <= len(said) // 20  # an answer may be much later than usual, though nothing is lost


def test_the_first_shares_of_both_sides_are_lost() -> None:
    text = lived(replace(CALM, faults=Faults(partitions=(BOTH_WAYS,))))
    assert text.count("which is lost") >= 2
    assert "share 1 again (1)" in text
    assert "share 9," in text  # and on they go


@pytest.mark.parametrize("side", [0, 1])
def test_a_partition_that_cuts_one_way_only(side: int) -> None:
    cut = Partition(100, 400, (side,), (1 - side,), one_way=True)
    text = lived(replace(CALM, faults=Faults(partitions=(cut,))))
    lost = re.findall(r"says (\d) to .*\n.*which is lost", text)
    assert set(lost) == {str(side)}
    assert len(lost) < 20  # of the 60 pulls that were made meanwhile


@pytest.mark.parametrize("sent", [0.0, 0.99], ids=["between commit and send", "between send and the next commit"])
def test_a_crash(sent: float) -> None:
    text = lived(replace(CALM, incidents=(Incident(200.0, Kind.FUSE, 0, amount=sent),)))
    assert "crashes in the middle of sending" in text
    assert "0  starts as boot 1025" in text


@pytest.mark.parametrize("position", [0, 1])
def test_a_crash_without_fsync_loses_what_was_sent_and_counts_nothing_twice(position: int) -> None:
    members = tuple(member(forgets=other == position) for other in range(2))
    text = lived(replace(CALM, members=members, incidents=(Incident(300.0, Kind.CRASH, position, 5.0),)))
    assert f"{position}.0 from 0 to" in text  # the peer returns what it has


def test_a_restart_loop_that_is_faster_than_a_round_trip() -> None:
    loop = tuple(Incident(200.0 + 2.0 * turn, Kind.CRASH, 0, 1.0) for turn in range(10))
    assert lived(replace(CALM, incidents=loop)).count("0  starts as boot") == 10


def test_all_agents_restart_at_once() -> None:
    members = (member(), member(9.0), member(2.0))
    crash = tuple(Incident(200.0, Kind.CRASH, agent, 5.0) for agent in range(3))
    assert lived(replace(CALM, members=members, incidents=crash)).count("starts as boot 1025") == 3


@pytest.mark.parametrize("far", [0.0, 0.5, 0.9])
def test_a_disk_is_rolled_back(far: float) -> None:
    text = lived(
        replace(CALM, members=(member(1.0), member()), incidents=(Incident(300.0, Kind.ROLL_BACK, 0, 5.0, far),))
    )
    assert "0.0 from 0 to" in text[text.index("rolled back") :]


def test_a_disk_is_lost_and_the_boot_chosen_then_is_too_low() -> None:
    crashes = tuple(Incident(50.0 * turn, Kind.CRASH, 0, 1.0) for turn in (1, 2, 3))
    text = lived(replace(CALM, incidents=(*crashes, Incident(300.0, Kind.LOSE_DISK, 0, 1.0))))
    assert "0  hears that it is superseded by boot 3075" in text
    assert "0  starts as boot 4101" in text


def test_two_processes_with_one_identity() -> None:
    text = lived(replace(CALM, incidents=(Incident(200.0, Kind.DOUBLE, 0, 200.0),)))
    assert "0  hears that it is superseded by boot 1025" in text


@pytest.mark.parametrize("jump", [-5_000.0, -30.0, 30.0, 5_000.0])
def test_a_clock_jumps(jump: float) -> None:
    loss = Faults(loss=0.3)
    lived(replace(CALM, faults=loss, incidents=(Incident(200.0, Kind.JUMP, 0, amount=jump),)))


def test_an_agent_stops_pulling_right_after_a_lost_send() -> None:
    stopped = replace(CALM, members=(member(5.0, stops_at=30.0), member()), faults=Faults(partitions=(BOTH_WAYS,)))
    text = lived(stopped)
    last_pull = text.rindex("0  pulls")
    assert "0  wakes" in text[last_pull:]


def test_very_fast_against_very_slow_costs_what_the_slow_one_pulls() -> None:
    text = lived(replace(CALM, members=(member(0.05), member(100.0)), faults=Faults(loss=0.2)))
    assert text.count("0  pulls") > 9_000
    assert text.count(" says ") < 12 * text.count("1  pulls")


def test_a_dead_peer_costs_a_logarithm_of_messages() -> None:
    patience = replace(PATIENCE, longest=1e6)
    gone = replace(
        CALM,
        patience=patience,
        sharing=on_demand(Constant(1), loss_tolerant=patience),
        incidents=(Incident(100.0, Kind.CRASH, 1, 1e9),),
        heals_at=20_000.0,
        stops_at=20_100.0,
        ends_at=1e8,
    )
    text = lived(gone)
    spoken = text[text.index("1  crashes") : text.index("THE WORLD HEALS")].count("0 to 1")
    assert 5 <= spoken <= 2 + math.log(20_000.0 / patience.least, patience.growth)


def test_a_message_of_an_old_boot_after_two_restarts_is_old() -> None:
    j, p = (Agent(name, UCB(ARMS, quantum=1.0), on_demand(loss_tolerant=True)) for name in "jp")
    j.peer_joined("p", ARMS)
    p.peer_joined("j", ARMS)
    (late,) = j.update("a0", 1.0, now=0.0).outgoing
    for boot in (1, 2):
        j = restarted(j, boot)
        for message in flushed(j).outgoing:
            p.receive(message, now=0.0)
    before = p.snapshot()
    outcome = p.receive(late, now=0.0)
    assert [type(message) for message in outcome.outgoing] == [Acknowledgement]
    assert (outcome.news, outcome.records, p.snapshot()) == ((), (), before)
    (acknowledgement,) = outcome.outgoing
    former = Agent("j", UCB(ARMS, quantum=1.0), on_demand(loss_tolerant=True))
    former.peer_joined("p", ARMS)
    assert former.receive(acknowledgement, now=0.0).superseded_by == 2  # whoever said it, learns that it is over


def restarted(agent: Agent, boot: int) -> Agent:
    snapshot = decode_snapshot(encode_snapshot(agent.snapshot()))
    policy = UCB(ARMS, quantum=1.0)
    again = Agent.restore(snapshot, policy=policy, sharing=on_demand(loss_tolerant=True), boot=boot)
    again.join(now=0.0)
    return again


def flushed(agent: Agent) -> Outcome:
    assert isinstance(agent.endpoint, TolerantEndpoint)
    assert agent.endpoint.wake_at is not None
    return agent.wake(agent.endpoint.wake_at)
