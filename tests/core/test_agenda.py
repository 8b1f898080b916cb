"""What an agent owes its peers, and when it looks at that again."""

import math
from collections.abc import Iterable

import pytest

from cobandit.core import Cells, Changes, Constant, Endpoint, Message, Outcome, RetryTimers, on_demand
from cobandit.core.agenda import Agenda
from cobandit.core.facts import CellKey
from cobandit.core.link import Link
from cobandit.core.retransmit import Phase, Retransmit
from cobandit.values.errors import LocalError
from cobandit.values.tally import ArmTally

ARMS = ("A", "B", "C")
TIMERS = RetryTimers(first=8.0, least=1.0, growth=2.0, tick=30.0, longest=100.0)
SILENT_UNTIL = 8.0
"""A first wait from time 0 ends here."""


def agent(*, threshold: int = 1, incarnation: int = 0, is_tolerant: bool = True, settles: bool = False) -> Endpoint:
    """j, which knows p with the same arms."""
    sharing = on_demand(Constant(threshold), loss_tolerant=TIMERS if is_tolerant else False)
    j = Endpoint("j", ARMS, sharing, units_per_reward=1, incarnation=incarnation, settles=settles)
    j.peer_joined("p", ARMS, 0.0)
    return j


def parts(j: Endpoint) -> tuple[Agenda, Link, Retransmit]:
    link = j.links["p"]
    assert link.retransmit is not None
    return j.agenda, link, link.retransmit


def pull(j: Endpoint, now: float = 0.0, arm: str = "A") -> None:
    j.observe((ArmTally(arm, 1, 1, 1),), now)


def names(links: Iterable[Link]) -> list[str]:
    return [link.peer.name for link in links]


# What is owed.


def test_at_first_nothing_is_owed() -> None:
    agenda, link, _ = parts(agent())
    assert not agenda.owes(link)
    assert not agenda.has_unsaid(link)
    assert (agenda.wake_at, agenda.last_observed) == (None, None)


@pytest.mark.parametrize(
    ("phase", "urgent", "owes"),
    [
        (Phase.OPEN, 0, False),
        (Phase.TRUSTING, 0, False),
        (Phase.WAITING, 0, True),
        (Phase.OPEN, 1, True),
        (Phase.TRUSTING, 1, True),
    ],
)
def test_a_share_and_what_is_urgent_are_owed(phase: Phase, urgent: int, owes: bool) -> None:
    agenda, link, retransmit = parts(agent())
    retransmit.phase, link.urgent = phase, urgent
    assert agenda.owes(link) == owes
    link.acknowledged = 1
    assert agenda.owes(link) == (phase is Phase.WAITING)


def test_a_settled_pair_owes_no_share_but_what_is_urgent() -> None:
    j = agent(settles=True)
    agenda, link, retransmit = parts(j)
    retransmit.phase = Phase.WAITING
    j.eliminate("A", 0.0)
    j.eliminate("B", 0.0)
    assert agenda.owes(link)
    link.acknowledged = link.urgent
    assert not agenda.owes(link)


@pytest.mark.parametrize(
    ("is_gone", "acknowledged", "owes"), [(False, 0, True), (False, 1, False), (True, 0, False), (True, 1, False)]
)
def test_one_who_left_is_owed_only_that_this_agent_is_here(is_gone: bool, acknowledged: int, owes: bool) -> None:
    j = agent()
    agenda, link, retransmit = parts(j)
    j.join(0.0)
    pull(j)
    j.eliminate("A", 0.0)
    link.peer.is_present, link.is_gone, link.acknowledged = False, is_gone, acknowledged
    retransmit.phase = Phase.WAITING
    assert agenda.owes(link) == owes
    assert not agenda.has_unsaid(link)


def test_observations_are_unsaid_until_they_are_acknowledged() -> None:
    j = agent(threshold=5)
    agenda, link, _ = parts(j)
    j.join(0.0)
    assert not agenda.has_unsaid(link)
    pull(j)
    assert agenda.has_unsaid(link)
    link.acknowledged = j.replica.number
    assert not agenda.has_unsaid(link)


def test_a_settled_pair_has_nothing_unsaid() -> None:
    j = agent(threshold=5, settles=True)
    agenda, link, _ = parts(j)
    pull(j)
    j.eliminate("A", 0.0)
    assert agenda.has_unsaid(link)
    j.eliminate("B", 0.0)
    assert not agenda.has_unsaid(link)


# What is urgent.


def urgent_for_p(j: Endpoint) -> int:
    agenda, link, _ = parts(j)
    link.urgent = 99
    agenda.find_urgent(link)
    return link.urgent


def test_observations_of_this_incarnation_wait_for_a_full_buffer() -> None:
    j = agent()
    pull(j)
    assert urgent_for_p(j) == 0


def test_that_an_agent_is_here_is_urgent() -> None:
    j = agent()
    pull(j)
    j.join(0.0)
    pull(j)
    assert urgent_for_p(j) == 2


def test_what_an_agent_eliminated_itself_is_urgent() -> None:
    """What others eliminated and it followed, they tell themselves."""
    j = agent()
    j.eliminate("A", 0.0)
    j.candidates.drop("B")
    assert j.replica.number_of(j.candidates.key) == 2
    assert urgent_for_p(j) == 1


def test_earlier_incarnations_are_urgent() -> None:
    j = agent()
    pull(j)
    pull(j, arm="B")
    j.replica.begin(4)
    pull(j)
    assert urgent_for_p(j) == 2


def test_what_a_peer_forgot_is_urgent() -> None:
    j = agent()
    _, link, _ = parts(j)
    for incarnation in (0, 4):
        told = Cells("p", incarnation, (ArmTally("A", 1, 1, 1),))
        j.replica.merge(Changes(cells=(told,)), ("p", incarnation))
    link.peer.session = link.peer.incarnation = 4
    assert urgent_for_p(j) == 1
    assert j.replica.number_of(CellKey("p", 4, "A")) == 2


# When to look at it.


def test_something_new_is_given_the_usual_time() -> None:
    agenda, link, retransmit = parts(agent())
    agenda.expect(link, 5.0)
    assert (retransmit.sent_at, retransmit.retry_at, agenda.wake_at) == (5.0, 13.0, 35.0)


def test_a_wait_that_is_under_way_goes_on() -> None:
    agenda, link, retransmit = parts(agent())
    agenda.expect(link, 5.0)
    agenda.expect(link, 12.0)
    assert retransmit.retry_at == 13.0
    agenda.expect(link, 13.0)
    assert retransmit.retry_at == 21.0


def test_an_observation_puts_off_the_time_to_wake() -> None:
    agenda, *_ = parts(agent())
    assert names(agenda.observed(5.0)) == []
    assert (agenda.last_observed, agenda.wake_at) == (5.0, 35.0)
    assert names(agenda.observed(6.0)) == []
    assert (agenda.last_observed, agenda.wake_at) == (6.0, 36.0)


@pytest.mark.parametrize(
    ("now", "repeated"), [(0.0, []), (7.9, []), (SILENT_UNTIL, ["p"]), (90.0, ["p"]), (-1.0, ["p"])]
)
def test_a_share_is_repeated_when_its_wait_is_over(now: float, repeated: list[str]) -> None:
    """Or when the clock went back, because the wait might never end."""
    agenda, link, retransmit = parts(agent())
    retransmit.shared(1.0, 0.0)
    link.exchange.renew(1)
    assert names(agenda.observed(now)) == repeated


@pytest.mark.parametrize(
    ("phase", "buffered", "urgent", "is_present", "repeated"),
    [
        (Phase.WAITING, 3, 0, True, ["p"]),
        (Phase.WAITING, 2, 0, True, []),  # less than a share must have
        (Phase.OPEN, 9, 0, True, []),
        (Phase.TRUSTING, 9, 0, True, []),
        (Phase.OPEN, 0, 1, True, ["p"]),  # what is urgent waits for no buffer
        (Phase.TRUSTING, 0, 1, True, ["p"]),
        (Phase.WAITING, 9, 1, False, ["p"]),
    ],
)
def test_what_is_worth_a_repetition(
    phase: Phase, buffered: int, urgent: int, is_present: bool, repeated: list[str]
) -> None:
    j = agent(threshold=3)
    agenda, link, retransmit = parts(j)
    if urgent:
        j.join(0.0)
    retransmit.shared(1.0, 0.0)
    retransmit.phase, link.peer.is_present = phase, is_present
    link.exchange.renew(buffered)
    assert names(agenda.observed(SILENT_UNTIL)) == repeated


def test_one_who_left_is_told_that_this_agent_is_here() -> None:
    j = agent(threshold=3)
    agenda, link, _ = parts(j)
    j.join(0.0)
    link.urgent, link.peer.is_present = 0, False
    assert names(agenda.observed(SILENT_UNTIL)) == ["p"]


def test_who_is_met_now_knows_or_will_ask() -> None:
    """That this agent is here is not urgent for one who was told so by the driver, until it speaks."""
    j = agent()
    j.join(0.0)
    agenda, link, _ = parts(j)
    agenda.find_urgent(link, is_met_now=True)
    assert link.urgent == 0
    agenda.find_urgent(link)
    assert link.urgent == 1


def test_nobody_is_looked_at_before_a_wait_can_be_over() -> None:
    """However many peers there are, an observation costs nothing until then."""
    agenda, link, retransmit = parts(agent())
    retransmit.shared(1.0, 0.0)
    agenda.schedule(link)
    list(agenda.observed(1.0))
    retransmit.retry_at = 2.0  # which nobody knows
    link.exchange.renew(1)
    assert names(agenda.observed(3.0)) == []
    assert names(agenda.observed(SILENT_UNTIL)) == ["p"]


def test_a_clock_that_went_back_makes_it_look_at_every_wait() -> None:
    agenda, link, retransmit = parts(agent())
    agenda.look(100.0)
    retransmit.shared(1.0, 100.0)
    agenda.schedule(link)
    list(agenda.observed(100.0))
    link.exchange.renew(1)
    agenda.look(50.0)
    assert names(agenda.observed(50.0)) == ["p"]


@pytest.mark.parametrize("now", [math.nan, math.inf, -math.inf, True, "1", None])
def test_a_time_that_is_none_is_refused(now: float) -> None:
    agenda, *_ = parts(agent())
    with pytest.raises(LocalError, match=f"now must be a finite number, not {now!r}"):
        agenda.look(now)


# Idle agents.


@pytest.mark.parametrize(("now", "flushed"), [(29.9, []), (30.0, ["p"]), (500.0, ["p"]), (-1.0, ["p"])])
def test_an_idle_agent_says_what_is_unsaid(now: float, flushed: list[str]) -> None:
    j = agent(threshold=5)
    pull(j, 0.0)
    assert j.wake_at == 30.0
    assert names(j.agenda.woken(now)) == flushed


def test_an_idle_agent_waits_for_the_wait_too() -> None:
    j = agent()
    agenda, _, retransmit = parts(j)
    pull(j, 0.0)
    retransmit.retry_at = 70.0
    assert names(agenda.woken(30.0)) == []
    assert agenda.wake_at == 70.0
    assert names(agenda.woken(70.0)) == ["p"]


def test_who_has_said_everything_sleeps() -> None:
    j = agent(threshold=5)
    agenda, link, _ = parts(j)
    pull(j, 0.0)
    link.acknowledged = j.replica.number
    assert names(agenda.woken(30.0)) == []
    assert agenda.wake_at is None


def test_a_peer_that_needs_nothing_sets_no_timer() -> None:
    j = agent(threshold=5)
    agenda, link, _ = parts(j)
    agenda.schedule_if_needed(link)
    assert agenda.wake_at is None
    link.urgent = 1
    agenda.schedule_if_needed(link)
    assert agenda.wake_at == 30.0


# Where no message is lost.


def test_without_timers_nothing_is_owed_and_nobody_is_woken() -> None:
    j = agent(is_tolerant=False)
    agenda, link = j.agenda, j.links["p"]
    pull(j, 0.0)
    pull(j, 1.0)
    j.eliminate("A", 2.0)
    link.urgent = 5
    agenda.expect_from_all(3.0)
    agenda.schedule_if_needed(link)
    assert not agenda.owes(link)
    assert names(agenda.observed(1e9)) + names(agenda.woken(1e9)) == []
    assert agenda.wake_at is None


@pytest.mark.parametrize("longest", [20.0, 10.0, 2.0])
@pytest.mark.parametrize("delay", [0.0, 1.0, 10.0, 25.0])
@pytest.mark.parametrize("growth", [1.0, 1.5])
def test_agents_that_observe_nothing_fall_silent_though_no_wait_is_longer_than_the_tick(
    longest: float, delay: float, growth: float
) -> None:
    timers = RetryTimers(first=1.0, least=0.1, growth=growth, tick=10.0, longest=longest)
    agents = {
        name: Endpoint(name, ARMS, on_demand(Constant(3), loss_tolerant=timers), units_per_reward=1)
        for name in ("j", "p")
    }
    on_the_way: list[tuple[float, Message]] = []

    def said(outcome: Outcome, now: float) -> None:
        on_the_way.extend((now + delay, message) for message in outcome.outgoing)

    for name, other in (("j", "p"), ("p", "j")):
        agents[name].peer_joined(other, ARMS, 0.0)
        said(agents[name].join(0.0), 0.0)
        for _ in range(5):
            said(agents[name].observe((ArmTally("A", 1, 1, 1),), 0.0), 0.0)
    del on_the_way[1:4]  # some are lost
    for _ in range(200):
        wake_at = {name: one.wake_at for name, one in agents.items() if one.wake_at is not None}
        if on_the_way and on_the_way[0][0] <= min(wake_at.values(), default=math.inf):
            now, message = on_the_way.pop(0)
            said(agents[message.receiver].receive(message, now), now)
        elif wake_at:
            name = min(wake_at, key=lambda one: wake_at[one])
            said(agents[name].wake(wake_at[name]), wake_at[name])
        else:
            break
    else:
        pytest.fail("they do not come to an end")
    assert all(
        one.replica.observations == 5 and not one.agenda.has_unsaid(one.links[name])
        for one, name in zip(agents.values(), "pj", strict=True)
    )
