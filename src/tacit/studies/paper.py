"""The paper's experiments as scenarios, and what the paper published about them.

All have 16 arms, alpha = 3 and, unless told otherwise, 80,000 slots. The published numbers were made with the
confidence `own` (delta = 1/n_j), so that is what the experiments use. The arms of the paper come from a data set that
cannot be shipped; `surrogate_arms.csv` has 16 means chosen so that the two IBC regrets of Experiments 5 and 7 agree
with the paper. The message counts of UCB do not depend on the arms at all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.errors import LocalError
from tacit.protocol import Constant, Geometric, Sharing, Threshold, immediate, on_demand
from tacit.scenario import AgentSpec, Arms, BuiltIn, OnOff, Rate, Scenario, Sine
from tacit.scenario.arms import read_csv

_DATA = Path(__file__).parent / "data"

HORIZON = 80_000

Algorithm = Literal["UCB-ODC", "UCB-IBC", "AAE-ODC", "AAE-IBC"]


@dataclass(frozen=True)
class Experiment:
    """One experiment: who decides when, and the threshold in use."""

    name: str
    title: str
    agents: tuple[AgentSpec, ...]
    threshold: Threshold

    def scenario(self, algorithm: str, arms: Arms | None = None, threshold: Threshold | None = None) -> Scenario:
        """Return the experiment as a scenario for one algorithm, such as "UCB-ODC"."""
        policy, protocol = algorithm.split("-")[:2]
        sharing: Callable[[Threshold], Sharing] = {"ODC": on_demand, "IBC": immediate}[protocol]
        return Scenario(
            horizon=HORIZON,
            arms=arms or surrogate_arms(),
            agents=self.agents,
            policy=BuiltIn(policy.lower(), alpha=3.0, confidence="own"),
            sharing=sharing(threshold or self.threshold),
        )


@dataclass(frozen=True)
class Published:
    """One cell pair of the paper's tables: mean and standard deviation over 30 trials."""

    communications: float
    communications_sd: float
    group_regret: float
    group_regret_sd: float


def surrogate_arms() -> Arms:
    """Return the 16 stand-ins for the paper's arms."""
    return Arms.from_csv(_DATA / "surrogate_arms.csv")


def published() -> dict[tuple[str, str], Published]:
    """Return the paper's tables by experiment and algorithm, such as ("5", "UCB-ODC")."""
    columns = ("communications_mean", "communications_sd", "group_regret_mean", "group_regret_sd")
    return {
        (row["experiment"], row["algorithm"].removesuffix("-D")): Published(*(float(row[column]) for column in columns))
        for _, row in read_csv(_DATA / "published.csv", ("experiment", "algorithm", *columns))
    }


def experiment(name: str) -> Experiment:
    """Return one of the experiments that the paper has a table of.

    Raises:
        LocalError: There is no table of that name.
    """
    if name not in TABLES:
        raise LocalError(f"experiment {name!r} is not one of {', '.join(TABLES)}")
    return TABLES[name]


def _five_and_five(slow: AgentSpec, fast: AgentSpec) -> tuple[AgentSpec, ...]:
    return (slow,) * 5 + (fast,) * 5


TABLES: dict[str, Experiment] = {
    study.name: study
    for study in (
        Experiment(
            "3",
            "one agent at 1, nine at 0.001, doubling thresholds",
            (AgentSpec(Rate(1.0)),) + (AgentSpec(Rate(0.001)),) * 9,
            Geometric(2),
        ),
        Experiment(
            "5",
            "five at 0.2; five at 0.8 that go offline and online",
            _five_and_five(AgentSpec(Rate(0.2)), AgentSpec(OnOff(0.8, toggle=0.01))),
            Constant(1),
        ),
        Experiment(
            "6a",
            "five at 0.1; five at 0.7 from slot 40,000 on",
            _five_and_five(AgentSpec(Rate(0.1)), AgentSpec(Rate(0.7), start=HORIZON // 2)),
            Constant(1),
        ),
        Experiment(
            "6b",
            "five at 0.7; five at 0.1 from slot 40,000 on",
            _five_and_five(AgentSpec(Rate(0.1), start=HORIZON // 2), AgentSpec(Rate(0.7))),
            Constant(1),
        ),
        Experiment(
            "7",
            "ten agents whose rates follow shifted sine waves",
            tuple(AgentSpec(Sine(phase=j / 5)) for j in range(1, 11)),
            Constant(1),
        ),
    )
}
