"""The measurements of many trials: frames, and what is derived from them.

The frames are the result (`frames.py`). The summary, comparisons, tables, plots and files are derived from them.
`cobandit.simulator.simulate` runs trials, and `cobandit.simulator.store` keeps files whole.
"""

import importlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cobandit.look.files import write_whole
from cobandit.simulator import store
from cobandit.simulator.comparison import Comparison, compare
from cobandit.simulator.frames import COLUMNS, empty, frame_of
from cobandit.simulator.interval import Estimate, estimate
from cobandit.simulator.printed import PRINTED, latex_table, markdown_table
from cobandit.simulator.report import report_html, summary_html
from cobandit.simulator.trials import Trial
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from types import ModuleType

    from cobandit.simulator.charts import Chart

QUANTITIES = (
    "shares",
    "notices",
    "retries",
    "acknowledgements",
    "messages",
    "agent_rounds",
    "bytes",
    "definition_bits",
    "staleness",
    "decisions",
    "group_regret",
    "realised_regret",
    "dynamic_regret",
)
"""The quantities of a summary, each with `mean`, `sd`, `low` and `high`."""

_METADATA = b"cobandit"


@dataclass(frozen=True)
class About:
    """Where results come from: everything needed to run them again."""

    scenarios: Mapping[str, Mapping[str, Any]]
    """Each scenario by its name, with the keys of a scenario file. Parts of your own are given by name, parameters and
    a hash of their source (`cobandit.values.provenance`)."""
    trials: int
    seed: int
    checkpoints: tuple[int, ...]
    engine: str
    """`compiled` or `reference`; both, if some scenarios have no compiled form."""
    versions: Mapping[str, str]
    """The versions of `cobandit`, `python`, `numpy` and `numba`."""
    keep: tuple[str, ...] = ()
    """The extra frames that were requested."""
    first_trial: int = 0
    """The number of the first trial; the others follow it."""
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The parameters that a sweep varied, by scenario; empty if this is not a sweep."""

    @property
    def identity(self) -> store.Identity:
        """What must be equal for two runs to be the same, apart from the number of trials.

        Both engines give the same numbers. Their trials are kept apart all the same: a folder records its engine, and a
        comparison of the two must not show one of them twice. A sweep may get more points, so its scenarios are not
        included; each is compared by its name.
        """
        scenarios = {name: dict(scenario) for name, scenario in self.scenarios.items()}
        identity = {
            **({} if self.parameters else {"scenarios": scenarios, "order": list(self.scenarios)}),
            "seed": self.seed,
            "checkpoints": list(self.checkpoints),
            **({"sweep": self.varied} if self.parameters else {"engine": self.engine}),
            "version": self.versions["cobandit"],
            **({"keep": list(self.keep)} if self.keep else {}),
            **({"first_trial": self.first_trial} if self.first_trial else {}),
        }
        plain: store.Identity = json.loads(json.dumps(identity))
        return plain

    @property
    def varied(self) -> list[str]:
        """The names of the parameters that a sweep varied."""
        return list(next(iter(self.parameters.values()), {}))


MOST_NAMED = 4
"""If there are more scenarios than this, a representation shows only their number."""


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The measurements of all trials of one or several scenarios. Returned by `cobandit.simulate` and `cobandit.sweep`.

    In a sweep, every frame has the varied parameters as columns after `scenario`.
    """

    trials: pd.DataFrame
    """A row per scenario and trial: `decisions`, `shares`, `notices`, `retries`, `acknowledgements`, `messages` (all of
    these except notices), `agent_rounds` (slots in which an agent sent anything, added up), `bytes`, `definition_bits`
    (Definition 1), `staleness`, `group_regret` (pseudo-regret), `realised_regret`, which contains the luck of rewards
    (`cobandit.simulator.result`), and `dynamic_regret`: relative to the best arm of the moment, if means change."""
    agents: pd.DataFrame
    """A row per scenario, trial and agent: `decisions`, `regret` (pseudo-regret), `realised_regret`, `dynamic_regret`,
    `shares_sent`, `shares_received`, `notices_sent`."""
    over_time: pd.DataFrame
    """A row per scenario, trial and checkpoint, with sums of all before it: `slot`, `decisions`, `group_regret`
    (pseudo-regret), `dynamic_regret`, `shares`, `messages`, `agent_rounds`, `bytes`, `staleness`. Empty without
    checkpoints."""
    arms: pd.DataFrame
    """A row per scenario, trial and arm: `pulls` and `rewards` of all agents together."""
    pulls: pd.DataFrame
    """On request: a row per scenario, trial, agent and arm that it pulled: `pulls`, `rewards`."""
    links: pd.DataFrame
    """On request: a row per scenario, trial, sender and receiver between which anything was sent: `shares`, `notices`,
    `retries`, `acknowledgements`. Relays come after the agents."""
    agents_over_time: pd.DataFrame
    """On request: a row per scenario, trial, checkpoint and agent, for everything before it: `decisions`, `regret`."""
    about: About

    def __repr__(self) -> str:
        """Return a representation without the frames."""
        about, names = self.about, list(self.about.scenarios)
        what = ", ".join(map(repr, names)) if len(names) <= MOST_NAMED else f"{len(names)} scenarios"
        return f"<Results of {what}: trials {about.trials}, seed {about.seed}, engine {about.engine}>"

    @classmethod
    def of(cls, trials: Sequence[Trial], about: About) -> "Results":
        """Return the results of these trials, in the order of the scenarios and of the trials' numbers."""
        position = {name: place for place, name in enumerate(about.scenarios)}
        ordered = sorted(trials, key=lambda trial: (position[trial.name], trial.trial))
        arms = {name: scenario["arms"]["names"] for name, scenario in about.scenarios.items()}

        def frame(name: str) -> pd.DataFrame:
            parts = [(trial.name, trial.trial, _columns(trial, name)) for trial in ordered]
            return frame_of(name, [part for part in parts if part[2]], arms, about.parameters)

        return cls(**{name: frame(name) for name in COLUMNS}, about=about)

    def summary(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """Return the mean over trials, its sd and the 95 % interval `low` to `high`, by scenario and quantity.

        Staleness is left out where agents do not exchange observations, because it is unknown there.
        """
        found = {
            name: {quantity: self.estimate(name, quantity) for quantity in self.quantities}
            for name in self.about.scenarios
        }
        return {
            name: {quantity: one.as_dict() for quantity, one in estimates.items() if not math.isnan(one.mean)}
            for name, estimates in found.items()
        }

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities of a summary. Results of earlier versions have fewer."""
        return tuple(quantity for quantity in QUANTITIES if quantity in self.trials)

    def estimate(self, scenario: str, quantity: str) -> Estimate:
        """Return a quantity's mean over trials.

        Only realised regret can be negative, and, where means change, group regret; other intervals end at zero.
        """
        least = None if quantity == "realised_regret" else 0.0
        return estimate(self.trial_values(scenario, quantity), least=least)

    def trial_values(self, scenario: str, column: str) -> list[float]:
        """Return one column of `trials` for one scenario."""
        if scenario not in self.about.scenarios:
            raise LocalError(
                f"there is no scenario {scenario!r}: there is {', '.join(list(self.about.scenarios)[:20])}"
            )
        if column not in self.trials:
            raise LocalError(f"{column!r} was not measured: there is {', '.join(self.quantities)}")
        values: list[float] = self.trials.loc[self.trials["scenario"] == scenario, column].tolist()
        return values

    def compare(self, one: str, other: str, quantity: str = "group_regret") -> Comparison:
        """Compare a quantity of two scenarios trial by trial, since they ran on the same tapes.

        Raises:
            LocalError: There is no such scenario or quantity, or there is only one trial.

        >>> from cobandit import silent, simulate
        >>> from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
        >>> on_demand = Scenario(200, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)),) * 3, luck="arm")
        >>> alone = Scenario(200, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)),) * 3, sharing=silent(), luck="arm")
        >>> results = simulate({"on demand": on_demand, "alone": alone}, trials=8, engine="reference")
        >>> regret = results.compare("alone", "on demand")
        >>> regret.difference.low > 0.0, regret.p_permutation
        (True, 0.0078125)
        """
        return compare(one, other, quantity, *(self.trial_values(name, quantity) for name in (one, other)))

    def to_markdown(self, quantities: Sequence[str] = PRINTED) -> str:
        """Return means over the trials as a Markdown table; ± is half of the 95 % interval of the mean."""
        return markdown_table(self, quantities)

    def to_latex(self, quantities: Sequence[str] = PRINTED) -> str:
        """Return means over the trials as a LaTeX table (with booktabs); ± is half of the 95 % interval of the mean."""
        return latex_table(self, quantities)

    def plot_regret(self, path: Path | str | None = None, *, log: str = "") -> "Chart":
        """Plot the group regret: over time if there are checkpoints, otherwise at the end of the trials.

        Every plot is a matplotlib `Figure`, which a notebook displays. Its `savefig` writes PDF, SVG and PNG with text
        kept as text. Scenarios differ in colour, marker and line style, so that plots are readable in greyscale and for
        colour-blind readers.

        Args:
            path: Also save the plot here; the suffix sets the format.
            log: The logarithmic axes: `"x"`, `"y"`, `"xy"`, or none.

        Raises:
            LocalError: The file cannot be written.
        """
        return _written(_charts().over_time(self, "group_regret", log), path)

    def plot_communication(self, path: Path | str | None = None, *, log: str = "") -> "Chart":
        """Plot the shares sent (messages with observations): over time if there are checkpoints, otherwise at the end.

        Takes the same arguments as `plot_regret`.
        """
        return _written(_charts().over_time(self, "shares", log), path)

    def plot_agents(self, path: Path | str | None = None) -> "Chart":
        """Plot the regret of each agent at the end of the trials. Also saves the plot if a path is given."""
        return _written(_charts().by_agent(self), path)

    def plot_pareto(self, path: Path | str | None = None) -> "Chart":
        """Plot group regret against messages, one point per scenario. Also saves the plot if a path is given.

        Both axes are logarithmic. A point is dominated, and drawn hollow, if another scenario has, on average, no more
        of either and less of one.
        """
        return _written(_charts().pareto(self), path)

    def _repr_html_(self) -> str:
        """Return the representation for a notebook: the means of each scenario."""
        return summary_html(self)

    def report(self, path: Path | str | None = None, *, subject: str | None = None) -> str:
        """Return a report as one self-contained HTML page. Also writes it if a path is given.

        Args:
            path: Where to write the page.
            subject: The scenario that the report is about, if the others are only there for comparison.

        Raises:
            LocalError: The page cannot be written, or there is no such scenario.
        """
        if subject is not None and subject not in self.about.scenarios:
            raise LocalError(f"there is no scenario {subject!r}: there is {', '.join(self.about.scenarios)}")
        page = report_html(self, subject)
        if path is not None:
            write_whole(Path(path), page)
        return page

    @classmethod
    def merge(cls, *parts: "Results | Path | str") -> "Results":
        """Combine the results of several runs: of different scenarios, or of different trials of the same ones.

        Args:
            parts: Results, or folders of results. Together they must have the same trials of every scenario, without
                gaps: see `first_trial` of `cobandit.simulate`.

        Raises:
            LocalError: They do not belong together; the message says why.
        """
        from cobandit.simulator.merging import merged  # noqa: PLC0415  # it makes results, too

        return merged([part if isinstance(part, Results) else cls.load(part) for part in parts])

    def save(self, folder: Path | str) -> None:
        """Write the results as Parquet files, each with the scenarios, the seed and the versions inside.

        A non-empty folder is refused, unless it holds the same run with no more trials than this one.

        Raises:
            LocalError: The folder contains something else, or cannot be read or written.
        """
        about = asdict(self.about)
        metadata = {_METADATA: json.dumps(about).encode()}
        frames = {name: getattr(self, name) for name in COLUMNS}
        store.save(
            Path(folder),
            {f"{name}.parquet": _parquet(frame, metadata) for name, frame in frames.items() if self._is_kept(name)},
            about,
            self.about.identity,
        )

    def _is_kept(self, name: str) -> bool:
        return name in _ALWAYS or name in self.about.keep

    @classmethod
    def load(cls, folder: Path | str) -> "Results":
        """Read results written by `save` or by a run with `out`. Results of earlier versions have fewer columns.

        Raises:
            LocalError: The folder holds no complete result, or one of its files is damaged.
        """
        files, told = store.load(Path(folder))
        try:
            lists = {name: tuple(told.get(name, ())) for name in ("checkpoints", "keep")}
            about = About(**{**told, **lists})
            frames = {
                name: pq.read_table(io.BytesIO(files[f"{name}.parquet"])).to_pandas()
                if f"{name}.parquet" in files
                else empty(name, about.parameters)
                for name in COLUMNS
            }
            return cls(**frames, about=about)
        except (pa.ArrowException, KeyError, TypeError) as error:
            raise LocalError(f"{folder} holds a result that this version of cobandit cannot read: {error}") from error


_ALWAYS = ("trials", "agents", "over_time", "arms")


def _columns(trial: Trial, frame: str) -> Mapping[str, Sequence[Any]]:
    match frame:
        case "trials":
            return {column: [value] for column, value in trial.totals.items()}
        case "agents":
            return trial.by_agent
        case "over_time":
            return trial.over_time
        case "arms":
            return trial.by_arm
    return trial.details.get(frame, {})


def _parquet(frame: pd.DataFrame, metadata: Mapping[bytes, bytes]) -> bytes:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def _charts() -> "ModuleType":
    with needed_by("a plot"):
        return importlib.import_module("cobandit.simulator.charts")  # matplotlib takes long to load


def _written(chart: "Chart", path: Path | str | None) -> "Chart":
    if path is not None:
        try:
            chart.savefig(path)
        except (OSError, ValueError) as error:  # a ValueError is an unknown suffix
            raise LocalError(f"cannot write {path}: {error}") from error
    return chart
