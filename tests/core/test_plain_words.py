"""The short way of messages that tell only what their sender observed: who may not take it, what would be missed."""

import pytest

from cobandit.core import Cells, Changes, Endpoint, Share, on_demand
from cobandit.core.places import Bandit, Change
from cobandit.values.tally import ArmTally

ONE = ArmTally("A", 1, 1, 1)
WINDOW = Bandit("", (), 1, period=10.0, periods=2)


def endpoint(name: str = "j", *bandits: Bandit) -> Endpoint:
    made = Endpoint(name, ("A",), on_demand()._replace(forwards=True), units_per_reward=1, bandits=bandits)
    for peer in {"j", "p", "r"} - {name}:
        made.peer_joined(peer, ("A",), 0.0)
    return made


def share(cells: Cells) -> Share:
    return Share("p", "j", 1, 1, Changes(cells=(cells,)))


@pytest.mark.parametrize("trusts", [False, True])
def test_what_a_peer_observed_is_news_and_nothing_more(trusts: bool) -> None:
    j = endpoint()
    j.peers.trusts = trusts
    outcome = j.receive(share(Cells("p", 0, (ONE,))), 0.0)
    assert (outcome.news, outcome.returned, outcome.elsewhere, outcome.ruled_out) == ((ONE,), (), (), ())
    assert j.replica.amount_of("p") == (1, 1)


def test_another_life_of_a_peer_is_noted() -> None:
    j = endpoint()
    j.receive(share(Cells("p", 3, (ONE,))), 0.0)
    assert j.links["p"].peer.incarnation == 3


def test_where_observations_leave_a_window_they_are_told_with_their_period() -> None:
    outcome = endpoint("j", WINDOW).receive(share(Cells("p", 0, (ONE,))), 0.0)
    assert (outcome.news, outcome.elsewhere) == ((), (Change("", "", 0, ONE),))


def test_a_leaf_takes_no_rows() -> None:
    j = endpoint()
    j.join(0.0, is_leaf=True)
    assert j.receive(share(Cells("p", 0, (ONE,))), 0.0).news == ()
    assert j.replica.amount_of("p") == (0, 0)


def test_a_relay_passes_it_on() -> None:
    j, r = endpoint(), endpoint("r")
    j.join(0.0, is_relay=True)
    for notice in r.join(0.0, is_relay=True).outgoing:
        if notice.receiver == "j":
            j.receive(notice, 0.0)
    told = [one for one in j.receive(share(Cells("p", 0, (ONE,))), 0.0).outgoing if one.receiver == "r"]
    assert [one.changes.cells for one in told if isinstance(one, Share)] == [(Cells("p", 0, (ONE,)),)]


def test_another_bandit_is_none_of_the_plain_one() -> None:
    home = Bandit("home", ("A",), 1)
    j, p = endpoint("j", home), endpoint("p", home)
    for notice in p.join(0.0).outgoing:
        if notice.receiver == "j":
            j.receive(notice, 0.0)
    outcome = j.receive(share(Cells("p", 0, (ONE,), "home")), 0.0)
    assert (outcome.news, outcome.elsewhere) == ((), (Change("home", "", 0, ONE),))
