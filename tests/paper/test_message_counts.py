"""The published message counts: whole experiments on the compiled engine, and a slice of one on the readable engine.

UCB's counts depend on the decision times alone. A twentieth of the slots has a twentieth of the messages, with a
relative spread sqrt(20) times the published one; the bound of a slice is at least three such standard deviations of one
trial. That both engines count the same is tested in `tests/parity`; `cobandit messages` runs all on the readable one.
"""

import pytest

from cobandit.scenario import AgentSpec, Rate, Scenario
from cobandit.simulator import kernel, run
from cobandit.studies.paper import Experiment, experiment, published

SCALE = 20


def twentieth(study: Experiment, algorithm: str) -> Scenario:
    whole = study.scenario(algorithm)
    agents = tuple(
        AgentSpec(spec.schedule, start=spec.start // SCALE) if isinstance(spec.schedule, Rate) else spec
        for spec in whole.agents
    )
    return Scenario(whole.horizon // SCALE, whole.arms, agents, whole.policy, whole.sharing)


@pytest.mark.parametrize("algorithm", ["UCB-ODC", "UCB-IBC"])
@pytest.mark.parametrize("name", ["6a", "6b", "7"])
def test_an_experiment_sends_the_published_number_of_messages(name: str, algorithm: str) -> None:
    cell = published()[name, algorithm]
    shares = kernel.run(experiment(name).scenario(algorithm), seed=1).shares
    assert shares == pytest.approx(cell.communications, abs=3 * cell.communications_sd)


@pytest.mark.parametrize("algorithm", ["UCB-ODC", "UCB-IBC"])
def test_a_twentieth_of_an_experiment_sends_a_twentieth_of_its_messages(algorithm: str) -> None:
    shares = run(twentieth(experiment("6a"), algorithm), seed=1).shares
    assert shares == pytest.approx(published()["6a", algorithm].communications / SCALE, rel=0.034)


def test_experiment_3_under_immediate_broadcast_sends_the_published_number() -> None:
    cell = published()["3", "UCB-IBC"]
    shares = run(experiment("3").scenario("UCB-IBC"), seed=1).shares
    assert shares == pytest.approx(cell.communications, abs=3 * cell.communications_sd)


def test_experiment_3_on_demand_sends_fewer_than_published_as_algorithm_1_must() -> None:
    # A slow agent with fewer than 127 pulls fills at most 6 doubling buffers (1 + 2 + ... + 32 = 63): it sends at most
    # 6 shares to each of nine peers. The fast agent sends each slow one at most one more: 9 x 9 x 6 + 9 x 7 = 549.
    shares = run(experiment("3").scenario("UCB-ODC"), seed=1).shares
    assert 545 - 3 * 6 <= shares <= 549
