"""Twenty thousand broken messages: each is refused and leaves no mark, or accepted and does no harm.

The program is `benchmarks/fuzz_codec.py`; `make fuzz` runs it with a million.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from cobandit import PeerError
from cobandit.codec import decode
from cobandit.core import Acknowledgement, Cells, Changes, Message, Notice, Share
from cobandit.values.tally import ArmTally

MUTATIONS = 20_000


def program() -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / "fuzz_codec.py"
    spec = importlib.util.spec_from_file_location("fuzz_codec", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_codec"] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


fuzz = program()


@pytest.fixture(scope="module")
def judge() -> Any:
    return fuzz.Judge()


def test_the_recorded_messages_are_of_every_kind_and_carry_everything(judge: Any) -> None:
    messages: list[Message] = [decode(frame, fuzz.GROUP) for frame in judge.frames]
    assert {type(message) for message in messages} == set(get_args(Message))
    shares = [message for message in messages if isinstance(message, Share)]
    told = [share.changes for share in shares]
    notices = [message.changes for message in messages if isinstance(message, Notice)]
    said = [one.delivery for one in messages if isinstance(one, Share | Acknowledgement)]
    deliveries = [delivery for delivery in said if delivery is not None]
    assert 0 < len(deliveries) < len(said)
    assert {min(2, delivery.attempt) for delivery in deliveries} == {0, 1, 2}
    assert {(delivery.is_answer, delivery.is_introduced) for delivery in deliveries} >= {(False, False), (True, True)}
    assert all(delivery.attempt for delivery in deliveries if delivery.is_answer)
    assert any(all(delivery.receipt) for delivery in deliveries)
    assert any(cells.agent == share.receiver for share in shares for cells in share.changes.cells)
    assert any(len({cells.incarnation for cells in changes.cells}) > 1 for changes in told)
    assert any(changes.base for changes in told)
    for changes in (told, notices):
        assert any(one.eliminations for one in changes)
        assert any(presence.session and presence.number > 2 for one in changes for presence in one.presences)
    presences = [presence for changes in notices for presence in changes.presences]
    assert {(presence.is_present, presence.number % 2) for presence in presences} == {(True, 0), (False, 1)}
    assert {len(presence.arms) for presence in presences} >= {3, 4, 5}


def test_the_messages_are_accepted_as_they_were_recorded(judge: Any) -> None:
    for moment in judge.moments:
        moment.kind.restored(moment.stored).receive(decode(moment.frame, fuzz.GROUP), moment.now)


def test_every_single_wrong_bit_is_noticed(judge: Any) -> None:
    for frame in judge.frames[::20]:
        for position in range(8 * len(frame)):
            broken = bytearray(frame)
            broken[position // 8] ^= 1 << position % 8
            with pytest.raises(PeerError, match="it is damaged"):
                decode(bytes(broken), fuzz.GROUP)


def test_broken_messages_are_refused_without_a_mark_or_do_no_harm(judge: Any) -> None:
    verdict = judge.run(MUTATIONS)
    refused = sum(verdict.refused.values())
    assert refused + verdict.accepted + verdict.ignored + verdict.unbroken == verdict.mutations == MUTATIONS
    assert verdict.refused["checksum"] > 0.45 * MUTATIONS  # all of the broken bytes
    assert verdict.accepted > 1_000
    assert len(verdict.refused) >= 25  # they get deep enough to meet all kinds of checks


@pytest.mark.parametrize("mutate", [*range(5)])
def test_bytes_that_were_broken_are_refused_by_their_checksum(judge: Any, mutate: int) -> None:
    for number in range(2_000):
        luck = fuzz.Luck(7, mutate, number)
        frame, other = luck.pick(judge.frames), luck.pick(judge.frames)
        broken = fuzz.BREAK_BYTES[mutate](frame, other, luck)
        if broken not in judge.genuine:
            with pytest.raises(PeerError, match=r"it is damaged|bytes that are not a message"):
                decode(broken, fuzz.GROUP)


def test_a_mark_that_a_refused_message_leaves_is_seen(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = next(one for one in judge.moments if isinstance(decode(one.frame, fuzz.GROUP), Share))
    agent, _ = judge._victim(moment)

    def marked(message: Message, now: float) -> None:  # noqa: ARG001
        agent.policy.own_pulls += 1
        raise PeerError("p sent an empty share")

    monkeypatch.setattr(agent, "receive", marked)
    with pytest.raises(AssertionError, match="left a mark"):
        judge.try_inside(moment, moment.frame)
    del judge._victims[moment]


@pytest.mark.parametrize(("incarnation", "is_seen"), [(0, False), (1, True)])
def test_own_observations_that_a_peer_changes_are_seen(judge: Any, incarnation: int, is_seen: bool) -> None:
    """Only of earlier incarnations may a peer return more."""
    moment = next(one for one in judge.moments if one.kind.restored(one.stored).incarnation == 1)
    agent = moment.kind.restored(moment.stored)
    before = fuzz.own_cells(agent)
    told = Changes(cells=(Cells("j", incarnation, (ArmTally("A", 2**31, 2**31, 2**31),)),))
    agent.endpoint.replica.merge(told, ("p", 0))
    message = Share("p", "j", 1, 1, told)
    if is_seen:
        with pytest.raises(AssertionError, match="were changed by"):
            fuzz.check_own(agent, before, (), message)
    else:
        fuzz.check_own(agent, before, (), message)
