"""What a state file may forget, and what must not count again because of that."""

import shutil
from pathlib import Path

from cobandit import UCB, Agent
from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.runtime.clerk import Clerk
from cobandit.runtime.clock import VirtualClock
from cobandit.runtime.controls import Controls
from cobandit.runtime.desk import Decided, Settled
from cobandit.runtime.errands import Errands
from cobandit.runtime.journal import Journal, MemoryJournal, NodeState
from cobandit.runtime.letters import Letter, pack
from cobandit.runtime.outstanding import MOST_RUNS, MOST_UNWRITTEN, PLACES, Outstanding, OutstandingState
from cobandit.runtime.restoring import Restored, fresh_run, restore
from cobandit.runtime.sessions import EPOCH
from cobandit.runtime.sqlite_journal import SqliteJournal
from cobandit.runtime.turn import Terms

SHARING = on_demand(Geometric(2, cap=4), loss_tolerant=RetryTimers(first=1.0, least=0.1, tick=1.0, longest=5.0))


def test_a_decision_that_was_written_is_known_though_threads_hand_in_out_of_order() -> None:
    outstanding = Outstanding()
    late, early = (1 << PLACES) + 6, (1 << PLACES) + 5
    decided = [Decided(number, "A", 1.0, 0.0, None) for number in (late, early)]
    outstanding.apply(decided, [Settled(late, "A", 1, 0.0)])
    assert not outstanding.claim_unwritten(late, run=2)


def test_of_starts_that_were_too_long_ago_nothing_is_claimed() -> None:
    runs = tuple((run, 9) for run in range(2, 2 + MOST_RUNS))
    outstanding = Outstanding(OutstandingState(written=runs))
    assert not outstanding.claim_unwritten(1 << PLACES, run=5000)
    assert outstanding.claim_unwritten((3 << PLACES) + 10, run=5000)


def test_of_a_start_that_the_disk_does_not_know_nothing_is_claimed_nor_far_from_what_was_written() -> None:
    outstanding = Outstanding()
    outstanding.begin(3, first_place=100)
    again = Outstanding(outstanding.state())
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
    clerk = Clerk(Terms("j", "g", SHARING, UCB, 1000.0, None), restored, VirtualClock())
    journal.replace(clerk.state(is_clean=False))
    return restored


def test_of_a_start_that_wrote_nothing_but_that_it_began_every_decision_can_be_claimed() -> None:
    journal = MemoryJournal()
    first = _started(journal)
    again = _started(journal)
    number = first.run << PLACES | first.first_place
    assert (first.run, again.run) == (1, 2)
    assert first.first_place != again.first_place
    assert again.outstanding.claim_unwritten(number, again.run)


def test_of_starts_that_are_not_trusted_nothing_is_claimed_and_that_is_kept() -> None:
    outstanding = Outstanding(OutstandingState(written=((2, -1), (3, -1))))
    outstanding.trusted_since = 3
    again = Outstanding(outstanding.state())
    assert not again.claim_unwritten(2 << PLACES, run=4)
    assert again.claim_unwritten(3 << PLACES, run=4)


def _clerk(incarnation: int, run: int, outstanding: Outstanding, clock: VirtualClock | None = None) -> Clerk:
    agent = Agent("j", UCB(["A", "B"]), SHARING, incarnation=incarnation)
    agent.peer_joined("p", ["A", "B"])
    restored = Restored(agent, Controls(), Errands(), outstanding, run, b"secret", removed=frozenset(), is_new=False)
    clerk = Clerk(Terms("j", "g", SHARING, UCB, 1000.0, None), restored, clock or VirtualClock())
    clerk.make_desk(None, seed=1, wake=lambda: None)
    return clerk


def test_who_is_given_back_what_its_disk_forgot_takes_no_rewards_for_former_decisions() -> None:
    former = _clerk(incarnation=1, run=1, outstanding=Outstanding())
    decisions = [former.desk.select_arm() for _ in range(8)]
    copy = Outstanding(OutstandingState(open=((decisions[0].number, decisions[0].arm, decisions[0].at),)))
    peer = Agent("p", UCB(["A", "B"]), SHARING, incarnation=1)
    peer.peer_joined("j", ["A", "B"])
    for decision in decisions:
        former.desk.settle(decision.number, 1.0)
    for _, content in former.turn([]).outgoing:
        assert not isinstance(content, Letter)
        peer.receive(content, now=0.0)
    clock = VirtualClock()
    again = _clerk(incarnation=2, run=2, outstanding=copy, clock=clock)
    again.introduce()
    packets: list[tuple[bytes, str | None]] = []
    trusted_since = []
    for _ in range(5):
        turn = again.turn(packets)
        trusted_since.append(turn.batch.trusted_since)
        outcomes = [
            peer.receive(content, clock.time) for _, content in turn.outgoing if not isinstance(content, Letter)
        ]
        outcomes.append(peer.wake(clock.time))
        packets = [(pack(message, "g"), None) for outcome in outcomes for message in outcome.outgoing]
        clock.time += 1.0
    assert again.agent.policy.tally.observations == 8
    assert [run for run in trusted_since if run is not None] == [2]
    assert [again.settle_token(decision.id, 1.0) for decision in decisions] == [False] * 8
    assert again.desk.open_decisions == 0


def test_rewards_for_who_is_back_do_not_wait_as_long_as_before() -> None:
    errands = Errands([("p", "token", 1.0)])
    for now in (0.0, 1.0, 3.0, 7.0):
        assert list(errands.due(["p"], b"", now)) == ["p"]
    assert errands.next_due(["p"], b"") == 15.0
    errands.is_back("p")
    assert errands.next_due(["p"], b"") == 0.0


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
