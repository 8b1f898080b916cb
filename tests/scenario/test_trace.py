"""A trace is rows of integers that a person can have read out."""

import pytest

from cobandit.scenario import Kind, Row, transcript


def test_every_kind_of_row_has_a_sentence() -> None:
    rows = [
        Row(0, Kind.DECISION, 0, 1, 1, 1, 0),
        Row(0, Kind.SHARE, 0, 1, 1, 1, 1),
        Row(0, Kind.DELIVERY, 1, 0, 1, 0, 0),
        Row(7, Kind.SHARE, 1, 0, 3, 25, 40),
        Row(7, Kind.ELIMINATION, 1, 0, 1, 0, 0),
        Row(8, Kind.LEAVE, 0, 0, 0, 0, 0),
        Row(12, Kind.JOIN, 0, 0, 0, 0, 0),
        Row(13, Kind.RETRY, 0, 1, 3, 2, 40),
        Row(13, Kind.LOSS, 0, 1, 0, 0, 0),
        Row(14, Kind.ACKNOWLEDGE, 1, 0, 3, 40, 0),
    ]
    assert transcript(rows, agents=["j", "p"], arms=["A", "B"]).splitlines() == [
        "slot 0: j pulls B, reward 1",
        "slot 0: j -> p share 1 with 1 observation",
        "slot 0: p receives share 1 of j",
        "slot 7: p -> j share 3 with 25 observations",
        "slot 7: p eliminates A, 1 left",
        "slot 8: j leaves",
        "slot 12: j joins",
        "slot 13: j -> p share 3 again, repetition 2",
        "slot 13: j -> p is lost",
        "slot 14: p -> j acknowledges share 3",
    ]


def test_a_share_of_no_observations_reads_well() -> None:
    row = Row(0, Kind.SHARE, 0, 1, 1, 0, 1)
    assert transcript([row], agents=["j", "p"], arms=[]) == "slot 0: j -> p share 1 with 0 observations"


def test_an_empty_trace_is_an_empty_text() -> None:
    assert transcript([], agents=[], arms=[]) == ""


def test_a_row_of_an_unknown_kind_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="no kind 9"):
        transcript([Row(0, 9, 0, 0, 0, 0, 0)], agents=["j"], arms=[])


def test_the_numbers_of_the_kinds_never_change() -> None:
    assert {kind.name: int(kind) for kind in Kind} == {
        "DECISION": 0,
        "SHARE": 1,
        "ELIMINATION": 2,
        "DELIVERY": 3,
        "JOIN": 4,
        "LEAVE": 5,
        "RETRY": 6,
        "ACKNOWLEDGE": 7,
        "LOSS": 8,
    }
