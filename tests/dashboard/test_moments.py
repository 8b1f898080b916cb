"""A history that is bounded, gets coarser, and never takes back what was observed."""

from cobandit.dashboard.frame import MOST_LINES, MOST_POINTS, Line, Series
from cobandit.dashboard.moments import MOST_COUNTED, Moment, Moments


def moments(*counts: dict[str, int], every_s: float = 10.0) -> Moments:
    result = Moments()
    for number, one in enumerate(counts):
        result.add(Moment(number * every_s, one, shares=number, immediate=10 * number))
    return result


def test_lines_are_what_came_between_moments_the_arm_with_most_first() -> None:
    series = moments({"A": 5}, {"A": 6, "B": 4}, {"A": 6, "B": 9}).series()
    assert series == Series(
        at=(0.0, 10.0, 20.0),
        lines=(Line("B", (0, 4, 5), key=2), Line("A", (0, 1, 0), key=1)),
        shares=(0, 1, 2),
        immediate=(0, 10, 20),
        regret=None,
    )


def test_what_others_sent_while_only_one_member_was_looked_at_came_little_by_little() -> None:
    history = Moments()
    for at, shares, is_whole in ((0.0, 1, False), (10.0, 2, False), (20.0, 101, True), (30.0, 102, False)):
        history.add(Moment(at, {}, shares, 10 * shares, is_whole))
    assert history.series().shares == (1, 51, 101, 102)
    history.add(Moment(60.0, {}, 501, 5010))
    assert history.series().shares == (1, 51, 101, 201, 501)
    assert history.series().immediate == (10, 510, 1010, 2010, 5010)


def test_what_was_observed_is_not_taken_back_when_a_member_answers_no_more() -> None:
    history = moments({"A": 5, "B": 1}, {"A": 2}, {"A": 6})
    assert (history.counts(), history.series().lines) == (
        {"A": 6, "B": 1},
        (Line("A", (0, 0, 1), key=1), Line("B", (0, 0, 0), key=2)),
    )


def test_recent_is_about_the_last_half_minute() -> None:
    assert moments(*({"A": number} for number in range(10))).recent_counts() == {"A": 3}
    assert moments({"A": 1}, {"A": 4, "B": 2}).recent_counts() == {"A": 3, "B": 2}
    assert moments({"A": 1}).recent_counts() == {"A": 0}


def test_arms_without_a_line_of_their_own_are_added_up() -> None:
    names = [f"arm {number}" for number in range(MOST_LINES + 2)]
    series = moments({}, {name: 100 - place for place, name in enumerate(names)}).series()
    assert [line.arm for line in series.lines] == [*names[:MOST_LINES], ""]
    rest = sum(100 - place for place in range(MOST_LINES, MOST_LINES + 2))
    assert series.lines[-1] == Line("", (0, rest), is_rest=True)
    alone = moments({}, dict.fromkeys(names[:-1], 1)).series().lines[-1]
    assert alone == Line(names[-2], (0, 1), key=MOST_LINES + 1)  # a rest of one arm has its name


def keys(history: Moments) -> dict[str, int]:
    return {line.arm: line.key for line in history.series().lines if not line.is_rest}


def test_a_key_is_no_rank_and_an_arm_keeps_it_while_others_come_and_go() -> None:
    history = moments({}, {"C": 9, "A": 1})
    assert keys(history) == {"A": 1, "C": 2}
    history.add(Moment(30.0, {"C": 9, "A": 50, "B": 2}, shares=0, immediate=0))
    assert keys(history) == {"A": 1, "C": 2, "B": 3}


def test_a_key_is_taken_over_only_when_all_are_in_use_and_never_from_an_arm_that_is_shown() -> None:
    names = [f"arm {number}" for number in range(MOST_LINES + 1)]
    history = moments({}, dict.fromkeys(names, 10))
    before = keys(history)
    more = {**dict.fromkeys(names[1:], 20), names[0]: 10, "new": 90, "newer": 80}
    history.add(Moment(30.0, more, shares=0, immediate=0))
    after = keys(history)
    assert {arm: key for arm, key in after.items() if not arm.startswith("new")} == {
        arm: before[arm] for arm in after if not arm.startswith("new")
    }
    assert sorted(set(after.values())) == sorted(after.values())


def test_history_gets_coarser_not_shorter_and_the_last_moment_is_the_newest() -> None:
    count = 20 * MOST_POINTS
    series = moments(*({"A": number} for number in range(count)), every_s=1.0).series()
    assert MOST_POINTS // 2 <= len(series.at) <= MOST_POINTS
    assert (series.at[0], series.at[-1]) == (0.0, count - 1.0)
    assert sum(series.lines[0].counts) == count - 1
    gaps = [after - before for before, after in zip(series.at, series.at[1:], strict=False)]
    assert max(gaps) <= 4 * min(gaps[:-1])


def test_recent_stays_the_last_half_minute_however_coarse_the_history_is() -> None:
    week = moments(*({"A": number} for number in range(30_000)), every_s=20.0)
    assert week.recent_counts() == {"A": 2}


def test_arms_that_nobody_has_any_more_are_kept_within_limits() -> None:
    history = moments({"A": 1}, *({f"arm {turn} {number}": 1 for number in range(3000)} for turn in range(4)))
    assert len(history.counts()) == MOST_COUNTED
    assert all(f"arm 3 {number}" in history.counts() for number in range(3000))


def test_regret_is_drawn_only_if_it_is_known_of_all_moments() -> None:
    history = moments({"A": 1}, {"A": 3, "B": 1})
    assert history.series(lambda counts: 0.5 * sum(counts.values())).regret == (0.5, 2.0)
    assert history.series(lambda counts: None if "B" in counts else 0.5).regret is None
