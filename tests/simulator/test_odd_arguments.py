"""What is no scenario, no folder, no number: a sentence that says what to give, at every door of the simulator."""

from collections.abc import Callable

import pytest

import cobandit
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.simulator import run
from cobandit.values.errors import LocalError

ARMS, AGENTS = Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.1)))
WORLD = Scenario(horizon=20, arms=ARMS, agents=AGENTS)
ODD = (None, "3", 1.5, -1, float("nan"), object(), True, b"x", [None])
FINE: dict[str, tuple[object, ...]] = {
    "trials": (None,),
    "seed": (None,),
    "workers": (None,),
    "out": (None, "3"),
    "checkpoints": (True,),  # numbers of Python's own
}


@pytest.mark.parametrize("name", ["trials", "seed", "workers", "checkpoints", "out", "engine", "keep"])
def test_simulate(name: str) -> None:
    for odd in [one for one in ODD if one not in FINE.get(name, ())]:
        options = {"trials": 1, "engine": "reference", "workers": 1, name: odd}
        with pytest.raises(LocalError) as told:
            cobandit.simulate(WORLD, **options)  # type: ignore[arg-type]
        assert str(told.value)


DOORS: dict[str, tuple[Callable[..., object], str]] = {
    "simulate": (cobandit.simulate, "."),
    "run": (lambda odd: run(odd, seed=1), "a scenario is a Scenario"),
    "run, seed": (lambda odd: run(WORLD, seed=odd), "seed"),
    "horizon": (lambda odd: Scenario(horizon=odd, arms=ARMS, agents=AGENTS), "horizon"),
    "arms": (lambda odd: Scenario(horizon=20, arms=odd, agents=AGENTS), r"arms must be Arms\.of"),
    "agents": (lambda odd: Scenario(horizon=20, arms=ARMS, agents=odd), "agents must be a list"),
    "means": (Arms.of, "mean"),
    "rate": (Rate, "rate"),
    "agent": (AgentSpec, "."),
}


@pytest.mark.parametrize("door", DOORS)
def test_doors(door: str) -> None:
    enter, words = DOORS[door]
    for odd in ODD:
        with pytest.raises(LocalError, match=words):
            enter(odd)
