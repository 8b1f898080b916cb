"""The published message counts, on the readable engine. The whole experiments are `cobandit messages`; here are slices.

UCB's counts depend on the decision times alone. A tenth of the slots has a tenth of the messages, with a relative
spread sqrt(10) times the published one; each bound below is at least three such standard deviations of one trial.
"""

import pytest

from cobandit.scenario import AgentSpec, Rate, Scenario
from cobandit.simulator import run
from cobandit.studies.paper import Experiment, experiment, published

SCALE = 10


def tenth(study: Experiment, algorithm: str) -> Scenario:
    whole = study.scenario(algorithm)
    agents = tuple(
        AgentSpec(spec.schedule, start=spec.start // SCALE) if isinstance(spec.schedule, Rate) else spec
        for spec in whole.agents
    )
    return Scenario(whole.horizon // SCALE, whole.arms, agents, whole.policy, whole.sharing)


@pytest.mark.parametrize("algorithm", ["UCB-ODC", "UCB-IBC"])
@pytest.mark.parametrize(("name", "bound"), [("6a", 0.024), ("6b", 0.0165), ("7", 0.0126)])
def test_a_tenth_of_an_experiment_sends_a_tenth_of_its_messages(name: str, algorithm: str, bound: float) -> None:
    shares = run(tenth(experiment(name), algorithm), seed=1).shares
    assert shares == pytest.approx(published()[name, algorithm].communications / SCALE, rel=bound)


def test_experiment_3_under_immediate_broadcast_sends_the_published_number() -> None:
    cell = published()["3", "UCB-IBC"]
    shares = run(experiment("3").scenario("UCB-IBC"), seed=1).shares
    assert shares == pytest.approx(cell.communications, abs=3 * cell.communications_sd)


def test_experiment_3_on_demand_sends_fewer_than_published_as_algorithm_1_must() -> None:
    # A slow agent with fewer than 127 pulls fills at most 6 doubling buffers (1 + 2 + ... + 32 = 63): it sends at most
    # 6 shares to each of nine peers. The fast agent sends each slow one at most one more: 9 x 9 x 6 + 9 x 7 = 549.
    shares = run(experiment("3").scenario("UCB-ODC"), seed=1).shares
    assert 545 - 3 * 6 <= shares <= 549
