"""The paper's experiments as scenarios, and what the paper published about them.

All have 16 arms, alpha = 3 and, by default, 80,000 slots. The published numbers were made with the
confidence `own` (delta = 1/n_j), so that is what the experiments use. The arms of the paper come from a data set that
cannot be shipped; `surrogate_arms.csv` has 16 means chosen so that the two IBC regrets of Experiments 5 and 7 agree
with the paper. The message counts of UCB do not depend on the arms at all.

Experiments 3, 5, 6a, 6b and 7 have a table in the paper (`TABLES`). Experiments 1 and 2 are figures with several worlds
each, Experiment 4 and the easy instance figures with one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cobandit.core import Constant, Geometric, RetryTimers, Threshold
from cobandit.core.protocols.registry import PROTOCOLS, sharing_by
from cobandit.core.thresholds import LARGEST_THRESHOLD
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Faults, Halving, OnOff, Rate, Scenario, Sine
from cobandit.scenario.csv_files import read_csv
from cobandit.values.errors import LocalError

_DATA = Path(__file__).parent / "data"

HORIZON = 80_000


@dataclass(frozen=True)
class Experiment:
    """One world of the paper: who decides when, and the threshold in use."""

    name: str
    title: str
    agents: tuple[AgentSpec, ...]
    threshold: Threshold
    horizon: int = HORIZON
    fast: frozenset[int] = frozenset()
    """The positions of the fast agents, where the paper tells fast from slow."""
    arms: Arms | None = None
    """Arms that belong to the experiment, whatever arms the others use."""
    faults: Faults = field(default_factory=Faults)
    """What the network does; in the paper, nothing."""

    def scenario(self, algorithm: str, arms: Arms | None = None, threshold: Threshold | None = None) -> Scenario:
        """Return the experiment as a scenario for one algorithm.

        Args:
            algorithm: Such as "UCB-ODC"; "UCB-ODC-D" has doubling thresholds, "UCB-ODC-D64" those that stop at 64,
                "UCB-ODC-D-P" those with a phase for each pair, "UCB-ODC-LT" is loss-tolerant, and "UCB-NONE" shares
                nothing.
            arms: The arms, if not the surrogate ones.
            threshold: The threshold, if not the experiment's.
        """
        policy, protocol, *options = algorithm.split("-")
        usual = threshold or _doubling(options) or self.threshold
        return Scenario(
            horizon=self.horizon,
            arms=self.arms or arms or surrogate_arms(),
            agents=self.agents,
            policy=BuiltIn(policy.lower(), alpha=3.0, confidence="own"),
            sharing=sharing_by(PROTOCOLS[protocol.lower()], usual, RetryTimers() if "LT" in options else None),
            faults=self.faults,
        )


def _doubling(options: Sequence[str]) -> Threshold | None:
    """Return the doubling threshold that the options of an algorithm's name ask for, if they do."""
    for option in options:
        if option.startswith("D"):
            return Geometric(2, cap=int(option[1:] or LARGEST_THRESHOLD), phases="P" in options)
    return None


@dataclass(frozen=True)
class Published:
    """One cell pair of the paper's tables: mean and standard deviation over 30 trials.

    The regret is realised regret, as Section 2 of the paper defines it, and so is its deviation.
    """

    communications: float
    communications_sd: float
    group_regret: float
    group_regret_sd: float


def surrogate_arms() -> Arms:
    """Return the 16 stand-ins for the paper's arms."""
    return Arms.from_csv(_DATA / "surrogate_arms.csv")


def arms_of_experiment_3() -> Arms:
    """Return 16 means that were fitted to the regrets of Experiment 3: another draw than that of Experiments 5 to 7."""
    return Arms.from_csv(_DATA / "surrogate_arms_experiment_3.csv")


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


FAST_AGENTS = {10: 33, 15: 21, 20: 16, 25: 13, 30: 10}
"""Experiment 1: how many of the 40 agents are fast, by how many times as fast as the slow ones they are.

The mean rate of 0.085 asks for 3 / (p - 0.01) agents of rate p. At p = 0.25 that is 12.5, which becomes 13.
"""

SLOW_AGENTS = (5, 10, 15, 20, 25, 30)
"""Experiment 2: how many slow agents there are beside the five fast ones."""


def experiment_1(ratio: int) -> Experiment:
    """Return Experiment 1 with fast agents `ratio` times as fast as the slow ones, which decide at a rate of 0.01."""
    rate = round(0.01 * ratio, 2)
    fast = FAST_AGENTS[ratio]
    agents = (AgentSpec(Rate(0.01)),) * (40 - fast) + (AgentSpec(Rate(rate)),) * fast
    title = f"{40 - fast} agents at 0.01 and {fast} at {rate:.2f}"
    return Experiment("1", title, agents, Constant(1), fast=frozenset(range(40 - fast, 40)))


def experiment_2(slow: int) -> Experiment:
    """Return Experiment 2 with this many slow agents: all together they make 300,000 decisions in 60,000 slots.

    The paper says 80,000 slots. In those the five fast agents alone would make 320,000 decisions.
    """
    horizon = 60_000
    rate = (300_000 / horizon - 5 * 0.8) / slow
    agents = (AgentSpec(Rate(rate)),) * slow + (AgentSpec(Rate(0.8)),) * 5
    title = f"{slow} agents at {rate:.3f} and five at 0.8"
    return Experiment("2", title, agents, Constant(1), horizon, frozenset(range(slow, slow + 5)))


EXPERIMENT_4 = Experiment(
    "4",
    "one agent at 1, nine that start at 0.1 and halve their rate when they send, doubling thresholds",
    (AgentSpec(Rate(1.0)),) + (AgentSpec(Halving(0.1)),) * 9,
    Geometric(2),
    horizon=8_000_000,
    fast=frozenset({0}),
)

EASY = Experiment(
    "easy",
    "five at 0.8 and ten at 0.1, on arms with larger gaps",
    (AgentSpec(Rate(0.1)),) * 10 + (AgentSpec(Rate(0.8)),) * 5,
    Constant(1),
    fast=frozenset(range(10, 15)),
    # The paper does not say which arms. These are ours: the best at 0.9, the others at 0.05, 0.10, ..., 0.75.
    arms=Arms.of([0.9, *(round(0.05 * step, 2) for step in range(1, 16))]),
)


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
