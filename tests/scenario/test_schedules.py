"""Decision slots come as often as their schedule says, and from the tape alone."""

import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.scenario import Halving, OnOff, Rate, Schedule, Sine, Slots, Tape, schedules_from_csv
from cobandit.scenario.schedules import NEVER, ClockKeys, gap, log_of_miss
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import LocalError

HORIZON = 100_000


def keys(seed: int = 1, horizon: int = HORIZON) -> ClockKeys:
    return Tape(seed).clock_keys(0, horizon)


def walk(schedule: Schedule, tape: ClockKeys, *, sent: Callable[[int], bool] = lambda _: False) -> list[int]:
    """The decision slots up to the horizon, with a share sent in those that `sent` says."""
    clock = schedule.clock(tape)
    slots: list[int] = []
    slot = clock.next_slot(-1)
    while slot < tape.horizon:
        slots.append(slot)
        clock.decided(sent=sent(len(slots)))
        slot = clock.next_slot(slot)
        assert slot > slots[-1], "a clock that stands still would never reach the horizon"
    return slots


def gaps(slots: list[int]) -> list[int]:
    return [later - earlier for earlier, later in pairwise([-1, *slots])]


SCHEDULES: tuple[Schedule, ...] = (
    Rate(0.3),
    Halving(0.3),
    Sine(0.2),
    OnOff(0.8, toggle=0.01),
    Slots((0, 7, 99)),
)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
def test_the_same_keys_give_the_same_slots(schedule: Schedule) -> None:
    assert walk(schedule, keys(horizon=5000)) == walk(schedule, keys(horizon=5000))


@pytest.mark.parametrize("schedule", SCHEDULES[:-1], ids=lambda schedule: type(schedule).__name__)
def test_other_keys_give_other_slots(schedule: Schedule) -> None:
    assert walk(schedule, keys(seed=1, horizon=5000)) != walk(schedule, keys(seed=2, horizon=5000))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
def test_slots_start_at_zero_and_increase(schedule: Schedule) -> None:
    slots = walk(schedule, keys(horizon=5000))
    assert slots[0] >= 0
    assert min(gaps(slots)) >= 1


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
def test_a_clock_may_start_in_the_middle(schedule: Schedule) -> None:
    assert schedule.clock(keys()).next_slot(49) >= 50


# A fixed rate.


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.5, 0.8])
def test_a_rate_decides_as_often_as_it_says(rate: float) -> None:
    """100,000 slots; the number of decisions within 5 standard deviations."""
    decisions = len(walk(Rate(rate), keys()))
    assert abs(decisions - rate * HORIZON) < 5 * math.sqrt(rate * (1 - rate) * HORIZON)


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8])
def test_the_gaps_of_a_rate_are_geometric(rate: float) -> None:
    """100,000 slots; for each length up to 5, the number of gaps within 5 standard deviations."""
    lengths = gaps(walk(Rate(rate), keys()))
    seen = Counter(lengths)
    for length in range(1, 6):
        chance = rate * (1 - rate) ** (length - 1)
        assert abs(seen[length] - chance * len(lengths)) < 5 * math.sqrt(chance * (1 - chance) * len(lengths))


def test_a_rate_of_one_decides_in_every_slot_and_a_rate_of_zero_in_none() -> None:
    assert walk(Rate(1.0), keys(horizon=50)) == list(range(50))
    assert walk(Rate(1), keys(horizon=50)) == list(range(50))
    assert walk(Rate(0.0), keys(horizon=50)) == []


def test_neighbouring_agents_decide_independently() -> None:
    """100,000 slots at a rate of one half; the number of slots in common within 5 standard deviations."""
    one, other = (set(walk(Rate(0.5), Tape(1).clock_keys(agent, HORIZON))) for agent in (0, 1))
    assert abs(len(one & other) - HORIZON / 4) < 5 * math.sqrt(3 / 16 * HORIZON)


@given(st.floats(0.0, 1.0, exclude_max=True), st.floats(1e-6, 1.0))
def test_a_gap_is_the_smallest_that_its_chance_allows(chance: float, rate: float) -> None:
    """P(gap <= n) = 1 - (1 - rate)^n, turned around: the gap is the first n at which it exceeds the chance."""
    slots = gap(chance, log_of_miss(rate))
    assert slots >= 1
    assert 1 - (1 - rate) ** slots >= chance - 1e-9
    assert 1 - (1 - rate) ** (slots - 1) <= chance + 1e-9


@pytest.mark.parametrize("rate", [0.0, 1e-300, 5e-324])
def test_a_gap_that_no_run_reaches_is_never(rate: float) -> None:
    assert gap(0.5, log_of_miss(rate)) == NEVER


# Halving.


def test_halving_is_a_fixed_rate_for_an_agent_that_sends_nothing() -> None:
    assert walk(Halving(0.3), keys(horizon=5000)) == walk(Rate(0.3), keys(horizon=5000))


def test_halving_halves_after_each_decision_in_which_the_agent_sent_and_after_no_other() -> None:
    tape = keys(horizon=10**6)
    slots = walk(Halving(1.0), tape, sent=lambda decision: decision % 5 == 0)
    assert slots[:5] == [0, 1, 2, 3, 4]
    expected = [gap(uniform(tape.decisions, drawn), log_of_miss(0.5 ** (drawn // 5))) for drawn in range(len(slots))]
    assert gaps(slots) == expected


def test_an_agent_that_always_sends_is_soon_silent() -> None:
    """Rates 1, 1/2, 1/4, ... over 10,000 slots: about log2(10,000) = 13 decisions."""
    assert 8 < len(walk(Halving(1.0), keys(horizon=10_000), sent=lambda _: True)) < 20


def test_two_clocks_of_one_schedule_halve_apart() -> None:
    schedule = Halving(1.0)
    one, other = schedule.clock(keys()), schedule.clock(keys())
    for _ in range(40):
        one.decided(sent=True)
    assert one.next_slot(-1) > 10**6
    assert other.next_slot(-1) == 0


# A sine wave.


@pytest.mark.parametrize(("phase", "slots_per_radian"), [(0.2, 30.0), (2.0, 30.0), (-1.0, 1000.0)])
def test_a_sine_decides_as_often_as_its_positive_half_says(phase: float, slots_per_radian: float) -> None:
    """100,000 slots; the number of decisions within 5 standard deviations."""
    chances = [max(0.0, math.sin(phase + slot / slots_per_radian)) for slot in range(HORIZON)]
    deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    decisions = len(walk(Sine(phase, slots_per_radian), keys()))
    assert abs(decisions - sum(chances)) < 5 * deviation


@pytest.mark.parametrize(("phase", "slots_per_radian"), [(0.0, 5e-324), (1.7e308, 1e-290)])
def test_a_sine_that_would_turn_without_end_is_refused(phase: float, slots_per_radian: float) -> None:
    """There is no sine of infinity: the readable engine ended with an error of Python's, in the middle of a run."""
    with pytest.raises(LocalError, match="a sine cannot turn as fast as with slots_per_radian"):
        Sine(phase, slots_per_radian)


def test_a_sine_decides_only_where_it_is_positive() -> None:
    slots = walk(Sine(0.6), keys())
    assert all(math.sin(0.6 + slot / 30) > 0 for slot in slots)


def test_a_sine_is_denser_at_its_crest() -> None:
    """100,000 slots; where the sine is above 0.9 it decides nine times in ten, within 5 standard deviations."""
    slots = set(walk(Sine(0.0), keys()))
    crest = [slot for slot in range(HORIZON) if math.sin(slot / 30) > 0.9]
    chances = [math.sin(slot / 30) for slot in crest]
    deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    assert abs(sum(slot in slots for slot in crest) - sum(chances)) < 5 * deviation


def test_a_sine_stops_looking_at_the_horizon() -> None:
    assert Sine(phase=-math.pi / 2, slots_per_radian=1e9).clock(keys(horizon=1000)).next_slot(-1) == NEVER


@pytest.mark.parametrize("phase", [math.nan, math.inf])
def test_a_sine_needs_a_finite_phase(phase: float) -> None:
    with pytest.raises(LocalError, match=f"phase must be a number, not {phase}"):
        Sine(phase)


@pytest.mark.parametrize("slots_per_radian", [0.0, -1.0, math.nan, math.inf])
def test_a_sine_needs_a_positive_length(slots_per_radian: float) -> None:
    with pytest.raises(LocalError, match=f"slots_per_radian must be a positive number, not {slots_per_radian}"):
        Sine(0.0, slots_per_radian)


# On and off.


@pytest.mark.parametrize(("rate", "toggle"), [(0.8, 0.1), (1.0, 0.3), (0.2, 0.9)])
def test_on_and_off_decides_half_as_often_as_its_rate(rate: float, toggle: float) -> None:
    """100,000 slots; the number of decisions within 5 standard deviations, from those of the time online."""
    decisions = len(walk(OnOff(rate, toggle), keys()))
    online_deviation = math.sqrt(HORIZON / 4 * (1 - toggle) / toggle)
    deviation = math.sqrt((rate * online_deviation) ** 2 + rate * (1 - rate) * HORIZON / 2)
    assert abs(decisions - rate * HORIZON / 2) < 5 * deviation


def test_periods_online_and_offline_last_as_long_as_the_toggle_says() -> None:
    """100,000 slots at rate 1, where a decision means online; mean lengths within 5 standard errors of 1 / toggle."""
    toggle = 0.1
    slots = walk(OnOff(1.0, toggle), keys())
    steps = gaps(slots)
    offline = [step - 1 for step in steps if step > 1]
    online = len(slots) / len(offline)
    deviation = math.sqrt((1 - toggle) / toggle**2 / len(offline))
    assert abs(sum(offline) / len(offline) - 1 / toggle) < 5 * deviation
    assert abs(online - 1 / toggle) < 5 * deviation


def test_an_agent_starts_online_and_may_toggle_at_the_first_slot() -> None:
    """10,000 seeds at rate 1 and toggle 0.2; decisions in slot 0 and in slot 1 within 5 standard deviations."""
    trials, toggle = 10_000, 0.2
    walks = [walk(OnOff(1.0, toggle), keys(seed, horizon=2)) for seed in range(trials)]
    for slot, chance in ((0, 1 - toggle), (1, (1 - toggle) ** 2 + toggle**2)):
        online = sum(slot in slots for slots in walks)
        assert abs(online - chance * trials) < 5 * math.sqrt(chance * (1 - chance) * trials)


def test_without_toggling_an_agent_stays_online() -> None:
    assert walk(OnOff(0.3, toggle=0.0), keys()) == walk(Rate(0.3), keys())


def test_toggling_in_every_slot_leaves_every_other_slot() -> None:
    assert walk(OnOff(1.0, toggle=1.0), keys(horizon=10)) == [1, 3, 5, 7, 9]


def test_an_agent_online_with_a_rate_of_zero_never_decides() -> None:
    assert walk(OnOff(0.0, toggle=0.5), keys(horizon=1000)) == []


def test_the_toggles_do_not_use_the_chance_of_the_decisions() -> None:
    one, other = keys(seed=1), keys(seed=2)
    mixed = ClockKeys(one.decisions, other.toggles, HORIZON)
    assert walk(OnOff(1.0, 0.1), mixed) == walk(OnOff(1.0, 0.1), other)
    assert walk(OnOff(0.5, 0.1), mixed) != walk(OnOff(0.5, 0.1), other)


# Slots and files.


def test_given_slots_are_the_slots() -> None:
    assert walk(Slots((0, 3, 4, 90)), keys(horizon=50)) == [0, 3, 4]
    assert walk(Slots(()), keys()) == []


def test_given_slots_can_be_asked_from_anywhere() -> None:
    clock = Slots((2, 5)).clock(keys())
    assert [clock.next_slot(after) for after in (-1, 1, 2, 4, 5, 6)] == [2, 2, 5, 5, NEVER, NEVER]


def table(folder: Path, *lines: str) -> Path:
    path = folder / "decisions.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_file_of_slots_gives_a_schedule_for_each_agent(tmp_path: Path) -> None:
    path = table(tmp_path, "slot,agent,note", "5,a,x", "0,b,", "2,a,y")
    assert schedules_from_csv(path) == {"a": Slots((2, 5)), "b": Slots((0,))}
    assert schedules_from_csv(str(path)) == schedules_from_csv(path)


def test_a_file_of_times_starts_at_its_earliest(tmp_path: Path) -> None:
    path = table(tmp_path, "agent,time", "a,103.9", "b,100.5", "a,101", "b,1e2")
    assert schedules_from_csv(path, seconds_per_slot=0.5) == {"a": Slots((2, 7)), "b": Slots((0, 1))}


def test_a_cell_that_nobody_asks_for_may_be_missing(tmp_path: Path) -> None:
    assert schedules_from_csv(table(tmp_path, "slot,agent,note", "5,a")) == {"a": Slots((5,))}


def test_two_agents_may_decide_in_the_same_slot(tmp_path: Path) -> None:
    path = table(tmp_path, "agent,slot", "a,3", "b,3")
    assert schedules_from_csv(path) == {"a": Slots((3,)), "b": Slots((3,))}


def test_an_agent_cannot_decide_twice_in_a_slot(tmp_path: Path) -> None:
    path = table(tmp_path, "agent,slot", "a,3", "b,1", "a,3")
    with pytest.raises(LocalError, match=r"decisions\.csv: agent a decides twice in slot 3: use shorter slots"):
        schedules_from_csv(path)


@pytest.mark.parametrize("cell", ["-1", "1.5", "nan", "inf"])
def test_a_cell_that_is_no_slot_is_refused_with_its_line(tmp_path: Path, cell: str) -> None:
    path = table(tmp_path, "agent,slot", "a,3", f"b,{cell}")
    with pytest.raises(LocalError, match=r"decisions\.csv, line 3: .* is not a slot"):
        schedules_from_csv(path)


@pytest.mark.parametrize("cell", ["soon", ""])
def test_a_cell_that_is_no_number_is_refused_with_its_line(tmp_path: Path, cell: str) -> None:
    path = table(tmp_path, "agent,slot", "a,3", f"b,{cell}")
    with pytest.raises(LocalError, match=rf"decisions\.csv, line 3: slot must be a number, not '{cell}'"):
        schedules_from_csv(path)


def test_a_row_without_its_last_cell_is_refused_with_its_line(tmp_path: Path) -> None:
    path = table(tmp_path, "agent,slot", "a,3", "b")
    with pytest.raises(LocalError, match=r"decisions\.csv, line 3: the cell of slot is missing: write agent,slot"):
        schedules_from_csv(path)


def test_a_row_without_an_agent_is_refused_with_its_line(tmp_path: Path) -> None:
    path = table(tmp_path, "slot,agent", "3,a", "4")
    with pytest.raises(LocalError, match=r"decisions\.csv, line 3: the cell of agent is missing: write slot,agent"):
        schedules_from_csv(path)


@pytest.mark.parametrize("cell", ["nan", "inf", "-inf"])
def test_a_time_that_is_not_finite_is_refused_with_its_line(tmp_path: Path, cell: str) -> None:
    path = table(tmp_path, "agent,time", "a,3", f"b,{cell}")
    with pytest.raises(LocalError, match=r"decisions\.csv, line 3"):
        schedules_from_csv(path, seconds_per_slot=1.0)


@pytest.mark.parametrize("seconds_per_slot", [0.0, -1.0, math.nan, math.inf])
def test_a_slot_has_a_positive_length(tmp_path: Path, seconds_per_slot: float) -> None:
    path = table(tmp_path, "agent,time", "a,3")
    with pytest.raises(LocalError, match=f"seconds_per_slot must be a positive number, not {seconds_per_slot}"):
        schedules_from_csv(path, seconds_per_slot=seconds_per_slot)


@pytest.mark.parametrize(
    ("header", "seconds_per_slot", "missing"),
    [("agent,time", None, "slot"), ("agent,slot", 1.0, "time"), ("who,slot", None, "agent")],
)
def test_a_file_without_a_needed_column_is_refused(
    tmp_path: Path, header: str, seconds_per_slot: float | None, missing: str
) -> None:
    path = table(tmp_path, header, "a,3")
    with pytest.raises(LocalError, match=rf"decisions\.csv has no column '{missing}': it needs agent,"):
        schedules_from_csv(path, seconds_per_slot=seconds_per_slot)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"decisions\.csv has no rows: it needs a header agent,slot and at least one"):
        schedules_from_csv(table(tmp_path, "agent,slot"))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"cannot read .*nowhere\.csv"):
        schedules_from_csv(tmp_path / "nowhere.csv")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_bytes(b"agent,slot\n\xff\xfe,1\n")
    with pytest.raises(LocalError, match=r"cannot read .*decisions\.csv"):
        schedules_from_csv(path)


def test_a_key_of_a_clock_is_not_used_for_anything_else() -> None:
    tape = keys()
    assert len({tape.decisions, tape.toggles, stream(1, 0)}) == 3
