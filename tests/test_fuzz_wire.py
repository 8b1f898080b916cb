"""Fifty thousand broken messages: each is refused and leaves no mark, or accepted and does no harm.

The program is `benchmarks/fuzz_wire.py`; `make fuzz` runs it with a million.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from cobandit import PeerError
from cobandit.core import Acknowledgement, Eliminated, Join, Leave, Message, Share
from cobandit.wire import decode

MUTATIONS = 50_000


def program() -> Any:
    path = Path(__file__).parent.parent / "benchmarks" / "fuzz_wire.py"
    spec = importlib.util.spec_from_file_location("fuzz_wire", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_wire"] = module  # dataclasses look themselves up
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
    handlings = [share.handling for share in shares if share.handling is not None]
    assert 0 < len(handlings) < len(shares)
    assert {min(2, handling.attempt) for handling in handlings} == {0, 1, 2}
    assert any(handling.eliminated for handling in handlings)
    assert any(handling.formers for handling in handlings)
    assert {handling.is_answer for handling in handlings} == {False, True}
    assert all(handling.attempt for handling in handlings if handling.is_answer)
    assert any(record.agent == share.receiver for share in shares for record in share.records)
    assert any(record.boot < share.records[0].boot for share in shares for record in share.records)
    receipts = [message.receipt for message in messages if isinstance(message, Acknowledgement)]
    assert any(all(receipt[:3]) for receipt in receipts)
    assert {receipt.notice % 2 for receipt in receipts if receipt.notice} == {0, 1}
    joins = [message for message in messages if isinstance(message, Join)]
    leaves = [message for message in messages if isinstance(message, Leave)]
    assert any(notice.boot and notice.notice > 2 for notice in joins)
    assert any(notice.boot and notice.notice > 1 for notice in leaves)
    assert ({notice.notice % 2 for notice in joins}, {notice.notice % 2 for notice in leaves}) == ({0}, {0, 1})
    assert any(message.boot for message in messages if isinstance(message, Eliminated))


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
    assert verdict.refused["notice"] > 0
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


def test_the_judge_can_lose_patience(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is refused and leaves a mark ends the run."""
    moment = next(one for one in judge.moments if isinstance(decode(one.frame, fuzz.GROUP), Share))
    agent, _ = judge._victim(moment)

    def marked(message: Message, now: float) -> None:  # noqa: ARG001
        agent.policy.own_pulls += 1
        raise PeerError("p sent an empty share")

    monkeypatch.setattr(agent, "receive", marked)
    with pytest.raises(AssertionError, match="left a mark"):
        judge.try_inside(moment, moment.frame)
    del judge._victims[moment]
