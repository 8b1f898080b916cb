"""The last paragraph of Section 3.1: agents arrive, depart and come back."""

from cobandit.core import (
    Changes,
    Constant,
    Endpoint,
    Notice,
    Presence,
    Share,
    Sharing,
    immediate,
    on_demand,
)
from cobandit.values.tally import ArmTally

ARMS = ("A", "B")


def here(sender: str, receiver: str = "j", number: int = 2) -> Notice:
    """The sender says that it is here."""
    said = Presence(sender, 0, number, 0, is_present=True, arms=ARMS, units_per_reward=1)
    return Notice(sender, receiver, Changes(presences=(said,)))


def gone(sender: str, receiver: str = "j", number: int = 1) -> Notice:
    """The sender says that it goes away."""
    said = Presence(sender, 0, number, 0, is_present=False, arms=ARMS, units_per_reward=1)
    return Notice(sender, receiver, Changes(presences=(said,)))


def pull(arm: str, reward: int) -> tuple[ArmTally, ...]:
    """One observation with a reward of 0 or 1."""
    return (ArmTally(arm, 1, reward, reward),)


def pair(sharing: Sharing | None = None) -> tuple[Endpoint, Endpoint]:
    j, p = (Endpoint(name, ARMS, sharing or on_demand(), units_per_reward=1) for name in "jp")
    j.peer_joined("p", ARMS, 0.0)
    p.peer_joined("j", ARMS, 0.0)
    return j, p


def carried(j: Endpoint) -> list[int]:
    """Observe once, and return how many observations each share carries."""
    return [message.observations for message in j.observe(pull("A", 1), 0.0).outgoing if isinstance(message, Share)]


def test_an_agent_notifies_the_others_when_it_departs() -> None:
    j, _ = pair()
    assert j.leave().outgoing == (gone("j", "p"),)


def test_a_departure_that_is_told_late_does_not_undo_a_return() -> None:
    j, p = pair()
    (farewell,), (hello,) = p.leave().outgoing, p.join(0.0).outgoing
    j.receive(hello, 0.0)
    j.receive(farewell, 0.0)
    assert (j.links["p"].exchange.demanded, j.links["p"].peer.is_present) == (True, True)


def test_a_departure_notice_sets_demand_to_false() -> None:
    j, _ = pair()
    j.receive(gone("p"), 0.0)
    assert j.links["p"].exchange.demanded is False


def test_information_is_buffered_for_an_agent_that_left() -> None:
    j, _ = pair()
    j.receive(gone("p"), 0.0)
    assert [carried(j), carried(j), carried(j)] == [[], [], []]
    assert j.links["p"].exchange.buffered == 3


def test_an_agent_notifies_all_others_when_it_joins_again() -> None:
    _, p = pair()
    assert p.join(0.0).outgoing == (here("p")._replace(is_introduced=True),)


def test_a_join_notice_sets_demand_to_true_and_sends_nothing_by_itself() -> None:
    j, _ = pair()
    j.receive(gone("p"), 0.0)
    carried(j)
    assert j.receive(here("p"), 0.0).outgoing == ()
    assert j.links["p"].exchange.demanded is True


def test_what_was_buffered_during_the_absence_flows_at_the_next_pull() -> None:
    j, p = pair()
    j.receive(gone("p"), 0.0)
    for _ in range(3):
        carried(j)
    j.receive(here("p"), 0.0)
    (share,) = j.observe(pull("B", 1), 0.0).outgoing
    assert p.receive(share, 0.0).news == (ArmTally("A", 3, 3, 3), ArmTally("B", 1, 1, 1))


def test_what_was_buffered_during_the_absence_is_subject_to_the_threshold() -> None:
    j, _ = pair(on_demand(Constant(5)))
    j.receive(gone("p"), 0.0)
    for _ in range(3):
        carried(j)
    j.receive(here("p"), 0.0)
    assert [carried(j), carried(j)] == [[], [5]]


def test_an_agent_that_was_never_here_before_is_owed_everything_observed_so_far() -> None:
    j, _ = pair(on_demand(Constant(4)))
    for _ in range(2):
        carried(j)
    newcomer = Endpoint("n", ARMS, on_demand(), units_per_reward=1)
    j.receive(here("n"), 0.0)
    newcomer.peer_joined("j", ARMS, 0.0)
    carried(j)
    shares = [message for message in j.observe(pull("B", 0), 0.0).outgoing if message.receiver == "n"]
    assert newcomer.receive(shares[0], 0.0).news == (ArmTally("A", 3, 3, 3), ArmTally("B", 1, 0, 0))


def test_under_immediate_broadcast_an_absent_agent_is_buffered_for_as_well() -> None:
    j, _ = pair(immediate())
    j.receive(gone("p"), 0.0)
    assert [carried(j), carried(j)] == [[], []]
    j.receive(here("p"), 0.0)
    assert carried(j) == [3]
