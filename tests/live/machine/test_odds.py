"""When the odds of arms are computed again: whenever what is known of them has changed, and only then."""

from cobandit import Agent, Thompson, on_demand
from cobandit.core.places import Bandit, Placed
from cobandit.live.machine.odds import Odds
from cobandit.values.tally import ArmTally

AT = ("home", "")


def windowed() -> Agent:
    """An agent that serves one bandit, which forgets after two periods of ten seconds."""
    bandit = Bandit("home", ("A", "B"), 1, period=10.0, periods=2)
    agent = Agent("j", None, on_demand(loss_tolerant=True), incarnation=1, bandits=[bandit])
    agent.declare("home", lambda arms: Thompson(arms, seed=1, quantum=1.0))
    return agent


def pulled(agent: Agent, arm: str, now: float) -> None:
    agent.update_all([], now, elsewhere=[Placed(*AT, (ArmTally(arm, 1, 1, 1),))])


def test_a_window_that_drops_as_many_as_have_come_asks_again() -> None:
    agent = windowed()
    agent.turn(5.0, 5.0)
    pulled(agent, "A", 5.0)
    odds = Odds(agent, AT)
    first = odds.question(())
    assert first is not None
    assert first.posteriors == [(2.0, 1.0), (1.0, 1.0)]
    odds.take(first, [0.75, 0.25])
    assert odds.question(()) is None
    agent.turn(25.0, 25.0)
    pulled(agent, "B", 25.0)
    second = odds.question(())
    assert second is not None
    assert second.posteriors == [(1.0, 1.0), (2.0, 1.0)]


def test_an_arm_that_is_withheld_is_another_question() -> None:
    agent = windowed()
    odds = Odds(agent, AT)
    question = odds.question(())
    assert question is not None
    odds.take(question, [0.5, 0.5])
    assert odds.question(()) is None
    withheld = odds.question({"A"})
    assert withheld is not None
    assert withheld.arms == ("B",)
