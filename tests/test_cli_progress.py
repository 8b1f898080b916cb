"""The bar tells how far a command is, to whoever looks at a terminal and to nobody else."""

import io
import logging
import threading

from cobandit.cli.progress import Progress, notes

NEVER = 3600.0


class Terminal(io.StringIO):
    """A terminal that tells when something was drawn on it for the third time."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0
        self.drawn_thrice = threading.Event()

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.drawn += 1
        if self.drawn == 3:
            self.drawn_thrice.set()

    def lines(self) -> list[str]:
        return self.getvalue().split("\r\x1b[K")


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_bar_tells_how_much_is_done_and_how_long_it_will_take() -> None:
    stream, clock = Terminal(), Clock()
    bar = Progress(stream, clock, NEVER)
    for now, done in ((100.0, 2), (110.0, 3), (3000.0, 4), (3100.0, 6)):
        clock.now = now
        bar(done, 6)
    bar.clear()
    assert stream.lines() == [
        "",
        "[##########                    ] 2 of 6 trials",
        "[###############               ] 3 of 6 trials, about 0:30 left",
        "[####################          ] 4 of 6 trials, about 48:20 left",
        "[##############################] 6 of 6 trials",
        "",
    ]


def test_hours_are_told_as_hours() -> None:
    stream, clock = Terminal(), Clock()
    bar = Progress(stream, clock, NEVER)
    bar(0, 3)
    clock.now = 3600.0
    bar(1, 3)
    bar.clear()
    assert stream.lines()[2].endswith("1 of 3 trials, about 2:00:00 left")


def test_a_long_first_trial_is_seen_to_run() -> None:
    stream, clock = Terminal(), Clock()
    bar = Progress(stream, clock, NEVER)
    bar(0, 1)
    for clock.now in (0.2, 1.0, 75.0):
        bar.tick()
    bar.clear()
    assert [line[32:] for line in stream.lines()[1:-1]] == [
        " 0 of 1 trials",
        " 0 of 1 trials",
        " 0 of 1 trials, 0:01 so far",
        " 0 of 1 trials, 1:15 so far",
    ]


def test_between_two_trials_the_time_left_is_counted_down_and_then_the_time_so_far_is_told() -> None:
    stream, clock = Terminal(), Clock()
    bar = Progress(stream, clock, NEVER)
    bar(0, 2)
    clock.now = 10.0
    bar(1, 2)
    for clock.now in (14.0, 25.0):
        bar.tick()
    bar.clear()
    assert [line[32:] for line in stream.lines()[2:-1]] == [
        " 1 of 2 trials, about 0:10 left",
        " 1 of 2 trials, about 0:06 left",
        " 1 of 2 trials, 0:25 so far",
    ]


def test_the_bar_draws_itself_while_no_trial_ends_and_stops_when_it_is_taken_away() -> None:
    stream = Terminal()
    before = threading.active_count()
    bar = Progress(stream, Clock(), every=0.001)
    bar(0, 1)
    assert stream.drawn_thrice.wait(timeout=60.0)
    bar.clear()
    bar.clear()
    assert threading.active_count() == before
    assert stream.lines()[-2:] == [stream.lines()[1], ""]


def test_the_bar_is_silent_where_nobody_looks() -> None:
    stream = io.StringIO()
    before = threading.active_count()
    bar = Progress(stream)
    bar(1, 2)
    bar.tick()
    assert threading.active_count() == before
    bar.clear()
    assert stream.getvalue() == ""
    assert (bar.done, bar.total) == (1, 2)


def test_a_note_of_the_simulator_has_a_line_of_its_own() -> None:
    terminal, file = Terminal(), io.StringIO()
    log = logging.getLogger("cobandit.simulator")
    for stream in (terminal, file):
        with notes(stream) as told:
            log.warning("another process compiles")
            assert told == ["another process compiles"]
    with notes(terminal):
        pass
    assert terminal.getvalue() == "\r\x1b[Kcobandit: another process compiles\n"
    assert file.getvalue() == "cobandit: another process compiles\n"
