"""The list of events is bounded, and a flood of refusals does not wash it away."""

from cobandit.dashboard.changes import Change
from cobandit.dashboard.events import TOGETHER_S, Events
from cobandit.dashboard.frame import MOST_EVENTS, Event


def test_events_are_numbered_and_newest_first() -> None:
    events = Events()
    events.add([Change("joined", "ann", "is new"), Change("left", "bob", "said farewell")], at=5.0)
    assert events.newest_first() == (
        Event(2, 5.0, "left", "bob", "said farewell"),
        Event(1, 5.0, "joined", "ann", "is new"),
    )


def test_the_oldest_make_room() -> None:
    events = Events()
    for number in range(MOST_EVENTS + 1):
        events.add([Change("joined", f"m{number}", "is new")], at=float(number))
    kept = events.newest_first()
    assert (len(kept), kept[0].number, kept[-1].number) == (MOST_EVENTS, MOST_EVENTS + 1, 2)


def test_refusals_for_one_reason_within_a_minute_are_one_event() -> None:
    events = Events()
    events.add([Change("refused", "ann", "malformed", 1)], at=0.0)
    events.add([Change("joined", "bob", "is new")], at=1.0)
    events.add([Change("refused", "ann", "malformed", 1_999), Change("refused", "ann", "a flood", 2)], at=2.0)
    assert events.newest_first() == (
        Event(4, 2.0, "refused", "ann", "refused 2 packets: a flood"),
        Event(3, 2.0, "refused", "ann", "refused 2,000 packets: malformed"),
        Event(2, 1.0, "joined", "bob", "is new"),
    )
    events.add([Change("refused", "ann", "malformed", 1)], at=TOGETHER_S)
    assert events.newest_first()[0] == Event(5, TOGETHER_S, "refused", "ann", "refused a packet: malformed")
    assert len(events.newest_first()) == 4
