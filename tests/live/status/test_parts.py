"""Statistics too long for a packet come in parts, in any order, and no sender can make others keep too much."""

import pytest

from cobandit.live.status.parts import MAX_PARTS, Parts, in_parts
from cobandit.values.errors import PeerError

CONTENT = bytes(range(128)) * 8


def test_parts_in_any_order_and_doubled_make_a_whole() -> None:
    told = [*in_parts(CONTENT, 100, answer=7)]
    assert max(map(len, told)) == 100
    parts = Parts(len(CONTENT))
    got = [parts.add("a", part) for part in (*told[1:], told[3], told[0])]
    assert got == [None] * len(told) + [CONTENT]


def test_what_fits_is_told_as_it_is() -> None:
    assert [*in_parts(CONTENT, len(CONTENT), answer=1)] == [CONTENT]
    assert Parts(1).add("a", CONTENT) == CONTENT


def test_parts_of_two_answers_and_of_two_senders_are_not_mixed() -> None:
    first, second = ([*in_parts(content, 600, answer=n)] for n, content in ((1, CONTENT), (2, CONTENT[::-1])))
    parts = Parts(len(CONTENT))
    assert [parts.add("a", first[0]), parts.add("b", second[1])] == [None, None]
    assert [parts.add("a", second[0]), parts.add("a", first[1])] == [None, None]  # the later answer counts
    assert [parts.add("a", second[1]), parts.add("b", second[0])] == [CONTENT[::-1], CONTENT[::-1]]


def test_what_is_not_whole_is_forgotten_with_the_round() -> None:
    told = [*in_parts(CONTENT, 600, answer=1)]
    parts = Parts(len(CONTENT))
    parts.add("a", told[0])
    parts.clear()
    assert parts.add("a", told[1]) is None


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (b"\xc1" + bytes(12), "in which nothing is"),
        (b"\xc1" + bytes(8) + b"\0\2\0\2x", "told part 2 of 2"),
        (b"\xc1" + bytes(8) + b"\0\0" + (MAX_PARTS + 1).to_bytes(2) + b"x", f"told part 0 of {MAX_PARTS + 1}"),
    ],
)
def test_a_part_that_cannot_be_is_refused(part: bytes, why: str) -> None:
    with pytest.raises(PeerError, match=why):
        Parts(1000).add("a", part)


def test_more_than_may_be_told_is_refused_and_not_kept() -> None:
    told = [*in_parts(CONTENT, 600, answer=1)]
    parts = Parts(len(CONTENT) - 1)
    assert parts.add("a", told[0]) is None
    with pytest.raises(PeerError, match="more than 1023 bytes of statistics"):
        parts.add("a", told[1])
    assert parts.add("a", told[1]) is None
