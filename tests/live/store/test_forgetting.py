"""What a state file may forget, and what must not count again because of that."""

import shutil
from pathlib import Path

import pytest

from cobandit import UCB, Agent
from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.live.decide.common import Decided, Settled
from cobandit.live.decide.taken import Taken
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.machine.batch import NodeState
from cobandit.live.machine.control_messages import ControlMessage, pack
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.open_decisions import MOST_RUNS, MOST_UNWRITTEN, PLACES, OpenDecisions, OpenDecisionsState
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.sessions import EPOCH
from cobandit.live.machine.step import Restored, Terms
from cobandit.live.store.journal import Journal, MemoryJournal
from cobandit.live.store.restoring import fresh_run, restore
from cobandit.live.store.sqlite_journal import SqliteJournal

SHARING = on_demand(Geometric(2, cap=4), loss_tolerant=RetryTimers(first=1.0, least=0.1, tick=1.0, longest=5.0))


def test_a_decision_that_was_written_is_known_though_threads_hand_in_out_of_order() -> None:
    open_decisions = OpenDecisions()
    late, early = (1 << PLACES) + 6, (1 << PLACES) + 5
    decided = [Decided(number, "A", 1.0, 0.0, None) for number in (late, early)]
    open_decisions.apply(decided, [Settled(late, "A", 1, 0.0)])
    assert not open_decisions.claim_unwritten(late, run=2)


def test_of_starts_that_were_too_long_ago_nothing_is_claimed() -> None:
    runs = tuple((run, 9) for run in range(2, 2 + MOST_RUNS))
    open_decisions = OpenDecisions(OpenDecisionsState(written=runs))
    assert not open_decisions.claim_unwritten(1 << PLACES, run=5000)
    assert open_decisions.claim_unwritten((3 << PLACES) + 10, run=5000)


def test_of_a_start_that_the_disk_does_not_know_nothing_is_claimed_nor_far_from_what_was_written() -> None:
    open_decisions = OpenDecisions()
    open_decisions.begin(3, first_place=100, now=0.0)
    again = OpenDecisions(open_decisions.state(now=0.0))
    far = 100 + MOST_UNWRITTEN
    asked = ((2, 100), (3, 99), (3, 100), (3, far - 1), (3, far))
    claimed = [again.claim_unwritten(run << PLACES | place, run=5) for run, place in asked]
    assert claimed == [False, False, True, True, False]


def test_starts_are_numbered_by_the_clock_above_the_last_and_within_31_bits() -> None:
    clock = VirtualClock()
    runs: list[int] = []
    for clock.time in (0.0, EPOCH + 1000.5, EPOCH + 1000.7, EPOCH, EPOCH + 2.0**40):
        runs.append(fresh_run(runs[-1] if runs else 0, clock))
    assert runs == [1, 1000, 1001, 1002, 1003]


def _started(journal: Journal) -> Restored:
    restored = restore(journal, name="j", group="g", arms=["A"], build=UCB, sharing=SHARING, clock=VirtualClock())
    machine = Machine(Terms("j", "g", SHARING, UCB, 1000.0, None), restored, VirtualClock())
    journal.replace(machine.state(is_clean=False))
    return restored


def test_of_a_start_that_wrote_nothing_but_that_it_began_every_decision_can_be_claimed() -> None:
    journal = MemoryJournal()
    first = _started(journal)
    again = _started(journal)
    number = first.run << PLACES | first.first_place
    assert (first.run, again.run) == (1, 2)
    assert first.first_place != again.first_place
    assert again.open_decisions.claim_unwritten(number, again.run)


def test_of_starts_that_are_not_trusted_nothing_is_claimed_and_that_is_kept() -> None:
    open_decisions = OpenDecisions(OpenDecisionsState(written=((2, -1), (3, -1))))
    open_decisions.trusted_since = 3
    again = OpenDecisions(open_decisions.state(now=0.0))
    assert not again.claim_unwritten(2 << PLACES, run=4)
    assert again.claim_unwritten(3 << PLACES, run=4)


def _machine(
    incarnation: int, run: int, open_decisions: OpenDecisions, clock: VirtualClock | None = None, *, first: int = 1
) -> Machine:
    agent = Agent("j", UCB(["A", "B"]), SHARING, incarnation=first)
    if incarnation > first:
        agent.begin(incarnation, 0.0, incarnation=incarnation)
    agent.peer_joined("p", ["A", "B"])
    restored = Restored(agent, Controls(), Outbox(), open_decisions, run, b"secret", removed=frozenset(), is_new=False)
    machine = Machine(Terms("j", "g", SHARING, UCB, 1000.0, None), restored, clock or VirtualClock())
    machine.make_decider(None, seed=1, wake=lambda: None)
    return machine


@pytest.mark.parametrize(
    ("first", "trusted", "taken"),
    [(1, [2], [Taken.GIVEN_UP] * 8), (2, [], [Taken.COUNTED] + [Taken.COUNTED_BEFORE] * 7)],
    ids=["what its disk forgot", "what was before its disk"],
)
def test_who_is_given_back_what_its_disk_forgot_takes_no_rewards_for_former_decisions(
    first: int, trusted: list[int], taken: list[Taken]
) -> None:
    """If the life is earlier than all that the state knows, it is none of its decisions that others know of."""
    former = _machine(incarnation=1, run=1, open_decisions=OpenDecisions())
    decisions = [former.decider.select_arm() for _ in range(8)]
    kept = ((decisions[0].number, decisions[0].arm, decisions[0].at),)
    written = ((1, decisions[-1].number & (1 << PLACES) - 1),)
    copy = OpenDecisions(OpenDecisionsState(open=kept, written=written))
    peer = Agent("p", UCB(["A", "B"]), SHARING, incarnation=1)
    peer.peer_joined("j", ["A", "B"])
    for decision in decisions:
        former.decider.settle(decision.number, 1.0)
    for _, content in former.step([]).outgoing:
        assert not isinstance(content, ControlMessage)
        peer.receive(content, now=0.0)
    clock = VirtualClock()
    again = _machine(incarnation=2, run=2, open_decisions=copy, clock=clock, first=first)
    again.introduction.introduce()
    packets: list[tuple[bytes, str | None]] = []
    trusted_since = []
    for _ in range(5):
        step = again.step(packets)
        trusted_since.append(step.batch.trusted_since)
        outcomes = [
            peer.receive(content, clock.time) for _, content in step.outgoing if not isinstance(content, ControlMessage)
        ]
        outcomes.append(peer.wake(clock.time))
        packets = [(pack(message, "g"), None) for outcome in outcomes for message in outcome.outgoing]
        clock.time += 1.0
    assert again.agent.policy.tally.observations == 8
    assert [run for run in trusted_since if run is not None] == trusted
    assert [again.settling.settle_token(decision.id, 1.0) for decision in decisions] == taken
    assert again.decider.open_count == 0


def test_rewards_for_who_is_back_do_not_wait_as_long_as_before() -> None:
    outbox = Outbox([("p", "token", 1.0)])
    for now in (0.0, 1.0, 3.0, 7.0):
        assert list(outbox.due(["p"], b"", now)) == ["p"]
    assert outbox.next_due(["p"], b"") == 15.0
    outbox.is_back("p")
    assert outbox.next_due(["p"], b"") == 8.0  # a second after it was last written to


def _left_clean(path: Path) -> NodeState:
    state = NodeState(agent=b"", run=1, secret=b"", is_clean=True)
    journal = SqliteJournal(path)
    journal.replace(state)
    journal.close()
    return state


def _found(path: Path) -> NodeState:
    journal = SqliteJournal(path)
    state = journal.read().state
    journal.close()
    assert state is not None
    return state


def test_a_state_that_was_left_clean_is_clean_where_it_was_left(tmp_path: Path) -> None:
    state = _left_clean(tmp_path / "state")
    assert _found(tmp_path / "state") == state
    (tmp_path / "state").rename(tmp_path / "moved")
    (tmp_path / "state.lock").rename(tmp_path / "moved.lock")
    assert _found(tmp_path / "moved") == state


def test_a_copy_of_a_state_is_never_clean_because_the_original_may_run(tmp_path: Path) -> None:
    _left_clean(tmp_path / "state")
    shutil.copyfile(tmp_path / "state", tmp_path / "copy")
    assert not _found(tmp_path / "copy").is_clean
    shutil.copyfile(tmp_path / "state.lock", tmp_path / "copy.lock")
    assert not _found(tmp_path / "copy").is_clean


def test_a_clean_state_that_is_put_back_in_its_place_is_not_clean_because_it_ran_since(tmp_path: Path) -> None:
    state, backup = tmp_path / "state", tmp_path / "backup"
    _left_clean(state)
    shutil.copyfile(state, backup)
    _left_clean(state)
    shutil.copyfile(backup, state)
    assert not _found(state).is_clean


def test_a_state_without_its_lock_file_is_not_clean(tmp_path: Path) -> None:
    _left_clean(tmp_path / "state")
    (tmp_path / "state.lock").unlink()
    assert not _found(tmp_path / "state").is_clean
