"""What many trials measured, as tidy frames: a row per trial, per agent, per checkpoint.

The frames are the result; the summary, the plots and the files are made from them. How trials are run is in
`cobandit.simulator.simulate`, how files stay whole in `cobandit.simulator.store`.
"""

import importlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cobandit.look.files import write_whole
from cobandit.simulator import store
from cobandit.simulator.interval import Estimate, estimate
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
    "bytes",
    "staleness",
    "decisions",
    "group_regret",
    "realised_regret",
)
"""What a summary tells, each with `mean`, `sd`, `low` and `high`."""

_TOTALS = {
    "decisions": "int64",
    "shares": "int64",
    "notices": "int64",
    "retries": "int64",
    "acknowledgements": "int64",
    "messages": "int64",
    "bytes": "int64",
    "staleness": "float64",
    "group_regret": "float64",
    "realised_regret": "float64",
}
_BY_AGENT = {
    "decisions": "int64",
    "regret": "float64",
    "realised_regret": "float64",
    "shares_sent": "int64",
    "shares_received": "int64",
    "notices_sent": "int64",
}
_OVER_TIME = {"slot": "int64", "group_regret": "float64", "shares": "int64"}
_METADATA = b"cobandit"


@dataclass(frozen=True)
class About:
    """Where results come from: enough to run them again."""

    scenarios: Mapping[str, Mapping[str, Any]]
    """Each scenario by its name, with the keys of a scenario file."""
    trials: int
    seed: int
    checkpoints: tuple[int, ...]
    engine: str
    """`compiled` or `reference`; both, if some scenarios have no compiled form."""
    versions: Mapping[str, str]
    """Of `cobandit`, `python`, `numpy` and `numba`."""

    @property
    def identity(self) -> store.Identity:
        """What must be equal for a run to be the same, whatever the number of trials.

        Both engines give the same numbers. Their trials are kept apart all the same: a folder says which engine it
        comes from, and a comparison of the two must not show one of them twice.
        """
        identity = {
            "scenarios": {name: dict(scenario) for name, scenario in self.scenarios.items()},
            "order": list(self.scenarios),
            "seed": self.seed,
            "checkpoints": list(self.checkpoints),
            "engine": self.engine,
            "version": self.versions["cobandit"],
        }
        plain: store.Identity = json.loads(json.dumps(identity))
        return plain


@dataclass(frozen=True, eq=False)
class Results:
    """What the trials of one or several scenarios measured. `cobandit.simulate` returns it."""

    trials: pd.DataFrame
    """A row per scenario and trial: `decisions`, `shares`, `notices`, `retries`, `acknowledgements`, `messages` (all of
    these but notices), `bytes`, `staleness`, `group_regret` (pseudo-regret), and `realised_regret`, which has the luck
    of the rewards in it (`cobandit.simulator.result`)."""
    agents: pd.DataFrame
    """A row per scenario, trial and agent: `decisions`, `regret` (pseudo-regret), `realised_regret`, `shares_sent`,
    `shares_received`, `notices_sent`."""
    over_time: pd.DataFrame
    """A row per scenario, trial and checkpoint: `slot`, `group_regret` (pseudo-regret), `shares`. Empty without
    checkpoints."""
    about: About

    @classmethod
    def of(cls, trials: Sequence[Trial], about: About) -> "Results":
        """Return the results of these trials, in the order of the scenarios and of the trials' numbers."""
        position = {name: place for place, name in enumerate(about.scenarios)}
        ordered = sorted(trials, key=lambda trial: (position[trial.name], trial.trial))
        totals = [(trial, {column: [value] for column, value in trial.totals.items()}) for trial in ordered]
        return cls(
            trials=_frame(totals, _TOTALS),
            agents=_frame([(trial, trial.by_agent) for trial in ordered], _BY_AGENT, number="agent"),
            over_time=_frame([(trial, trial.over_time) for trial in ordered], _OVER_TIME),
            about=about,
        )

    def summary(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """Return, by scenario and quantity, the mean over trials, its sd, and the 95 % interval `low` to `high`."""
        return {
            name: {quantity: self.estimate(name, quantity).as_dict() for quantity in QUANTITIES}
            for name in self.about.scenarios
        }

    def estimate(self, scenario: str, quantity: str) -> Estimate:
        """Return the mean over trials of a quantity. All but realised regret cannot be negative, nor can their ends."""
        least = None if quantity == "realised_regret" else 0.0
        return estimate(self.trial_values(scenario, quantity), least=least)

    def trial_values(self, scenario: str, column: str) -> list[float]:
        """Return one column of `trials` for one scenario."""
        values: list[float] = self.trials.loc[self.trials["scenario"] == scenario, column].tolist()
        return values

    def plot_regret(self, path: Path | str | None = None, *, log: str = "") -> "Chart":
        """Draw the group regret: over time if there are checkpoints, else at the end of the trials.

        Every plot returns a matplotlib `Figure` that shows itself in a notebook. Its `savefig` writes PDF, SVG and PNG
        with text as text. Colours, markers and lines differ, so that it can be read in grey and by everybody.

        Args:
            path: Save it there, too: the suffix says as what.
            log: Which axes are logarithmic: `"x"`, `"y"`, `"xy"`, or none.

        Raises:
            LocalError: The file cannot be written.
        """
        return _written(_charts().over_time(self, "group_regret", log), path)

    def plot_communication(self, path: Path | str | None = None, *, log: str = "") -> "Chart":
        """Draw the shares sent, the messages with observations: over time if there are checkpoints, else at the end.

        The arguments are those of `plot_regret`.
        """
        return _written(_charts().over_time(self, "shares", log), path)

    def plot_agents(self, path: Path | str | None = None) -> "Chart":
        """Draw the regret of each agent at the end of the trials; save it, too, if a path is given."""
        return _written(_charts().by_agent(self), path)

    def plot_pareto(self, path: Path | str | None = None) -> "Chart":
        """Draw group regret against messages, a point for each scenario; save it, too, if a path is given.

        Both axes are logarithmic. A point is dominated, and hollow, if another scenario has no more of both on average,
        and less of one.
        """
        return _written(_charts().pareto(self), path)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the means of each scenario."""
        return summary_html(self)

    def report(self, path: Path | str | None = None) -> str:
        """Return a report for people as one HTML page that needs no other file; write it too if a path is given.

        Raises:
            LocalError: The page cannot be written.
        """
        page = report_html(self)
        if path is not None:
            write_whole(Path(path), page)
        return page

    def save(self, folder: Path | str) -> None:
        """Write the results as Parquet files, each with the scenarios, the seed and the versions inside.

        A folder that is not empty is refused, unless it holds the same run with no more trials.

        Raises:
            LocalError: The folder holds something else, cannot be read or cannot be written.
        """
        metadata = {_METADATA: json.dumps(vars(self.about)).encode()}
        store.save(
            Path(folder),
            {f"{name}.parquet": _parquet(getattr(self, name), metadata) for name in _FRAMES},
            vars(self.about),
            self.about.identity,
        )

    @classmethod
    def load(cls, folder: Path | str) -> "Results":
        """Read results that `save`, or a run with `out`, has written.

        Raises:
            LocalError: The folder holds no complete result, or a file of it is damaged.
        """
        files, about = store.load(Path(folder))
        try:
            frames = {name: pq.read_table(io.BytesIO(files[f"{name}.parquet"])).to_pandas() for name in _FRAMES}
            return cls(**frames, about=About(**{**about, "checkpoints": tuple(about["checkpoints"])}))
        except (pa.ArrowException, KeyError, TypeError) as error:
            raise LocalError(f"{folder} holds a result that this version of cobandit cannot read: {error}") from error


_FRAMES = ("trials", "agents", "over_time")


def _frame(
    parts: Sequence[tuple[Trial, Mapping[str, Sequence[float]]]], kinds: Mapping[str, str], *, number: str | None = None
) -> pd.DataFrame:
    """Return the columns of all trials below each other, with the scenario and the trial before them.

    Args:
        parts: The columns of each trial.
        kinds: The columns that there are, and their types.
        number: The name of a column that numbers the rows of each trial.
    """
    names: list[str] = []
    trials: list[int] = []
    numbers: list[int] = []
    columns: dict[str, list[float]] = {column: [] for column in kinds}
    for trial, part in parts:
        rows = len(part[next(iter(kinds))])
        names += [trial.name] * rows
        trials += [trial.trial] * rows
        numbers += range(rows)
        for column in kinds:
            columns[column] += part[column]
    counted = {} if number is None else {number: numbers}
    whole = {"trial": "int64"} | ({} if number is None else {number: "int64"})
    frame = pd.DataFrame({"scenario": pd.Series(names, dtype="str"), "trial": trials, **counted, **columns})
    return frame.astype({**whole, **kinds})


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
        except (OSError, ValueError) as error:  # a ValueError is a suffix that no picture has
            raise LocalError(f"cannot write {path}: {error}") from error
    return chart
