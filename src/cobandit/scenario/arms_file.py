"""The arms in a scenario file: reads and writes the table `arms` and the key `rewards`.

docs/scenario-files.md explains the keys.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from cobandit.scenario.arms import Arms, drawn_means, read_means
from cobandit.scenario.changes import Changes, Linear, Sinusoid, Switches, Walk
from cobandit.scenario.keys import MISSING, Table, as_number, located, wrong
from cobandit.scenario.paying import Bernoulli, Beta, ByValues, Discrete, Normal, Pay, Replay
from cobandit.scenario.tape import LARGEST_SEED
from cobandit.values.errors import LocalError
from cobandit.values.reward_range import LARGEST_REWARD, UNIT, RewardRange
from cobandit.values.tally import MOST_ARMS

_ARM_KEYS = ("means", "file", "uniform", "replay", "count", "seed", "names", "pays", "changes")
_WANTED_ARMS = "a table, written [arms], with means, file, uniform, pays or replay"
_PAYS = ("beta", "normal", "discrete", "replay")
_PAYS_WANTED = (
    '"bernoulli", { beta = { concentration = 4 } }, { normal = { sd = 0.1 } }, '
    "{ discrete = { values = [0, 5], chances = [0.9, 0.1] } } or { replay = [0, 5, 5] }"
)
_CHANGES = ("switches", "linear", "sinusoid", "walk", "file")


def rewards_from(top: Table) -> RewardRange:
    """Return the range of rewards that a file declares."""
    if "rewards" not in top:
        return UNIT
    given = top.rows("rewards", "two numbers, the lowest and the highest reward", may_be_empty=True)
    ends = [as_number(path, end, low=-LARGEST_REWARD, high=LARGEST_REWARD) for path, end in given]
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise wrong(top.key("rewards"), "[lowest, highest] with lowest < highest", top.get("rewards"))
    with located(top.key("rewards")):
        return RewardRange(*ends)


def arms_from(value: object, rewards: RewardRange, folder: Path) -> Arms:
    """Return the arms that the table `arms` describes.

    Raises:
        LocalError: A key is unknown, or a value is not allowed. The message names the key.
    """
    table = Table(value, "arms", _ARM_KEYS, wanted=_WANTED_ARMS)
    if "replay" in table:
        table.refuse(("means", "file", "uniform", "count", "seed", "names", "pays", "changes"), "the log has all of it")
        log = folder / table.text("replay")
        with located(table.key("replay")):
            return Arms.replay(log, rewards=rewards)
    pays = _pays(table)
    by_values = [pay for pay in pays if isinstance(pay, ByValues)] if isinstance(pays, tuple) else []
    if "means" not in table and by_values and len(by_values) == len(table.rows("pays", "")):
        table.refuse(("file", "uniform", "count", "seed", "changes"), "pays says all of it")
        names = _names(table, len(by_values)) if "names" in table else ()
        with located(table.key("pays")):
            return Arms.paying(by_values, names, rewards=rewards)
    names, means = _means(table, rewards, folder)
    with located(table.key("means") if "means" in table else table.path):
        arms = Arms(names, means, rewards)
    with located(table.key("pays")):
        arms = Arms(names, means, rewards, pays)
    changes = _changes(table, arms, folder)
    with located(table.key("changes")):
        return Arms(names, means, rewards, pays, changes)


def arms_written(arms: Arms, own: Callable[[str, object], object]) -> dict[str, object]:
    """Return the table `arms` of a file with these arms. Defaults are left out."""
    written: dict[str, object] = {"means": [float(mean) for mean in arms.means], "names": list(arms.names)}
    if not arms.are_binary:
        each = arms.pays if isinstance(arms.pays, tuple) else (arms.pays,)
        if all(isinstance(pay, ByValues) for pay in arms.each_pays):
            del written["means"]
            each = arms.each_pays
        told = [_pay_written(pay, own) for pay in each]
        written["pays"] = told if isinstance(arms.pays, tuple | ByValues) else told[0]
    if arms.changes is not None:
        written["changes"] = _changes_written(arms.changes)
    return written


def _means(table: Table, rewards: RewardRange, folder: Path) -> tuple[tuple[str, ...], tuple[float, ...]]:
    kind = table.one_of(("means", "file", "uniform"))
    if kind != "uniform":
        table.refuse(("count", "seed"), "it belongs to uniform")
    if kind == "file":
        table.refuse(("names",), "the file has the names")
        file = folder / table.text("file")
        with located(table.key("file")):
            arms = Arms(*read_means(file), rewards)
            return arms.names, arms.means
    if kind == "means":
        low, high = rewards.low, rewards.high
        given = table.rows("means", f"numbers in [{low:g}, {high:g}]")
        means = [as_number(path, mean, low=low, high=high) for path, mean in given]
    else:
        low, high = _range(table, rewards)
        count = table.whole("count", 1, MOST_ARMS)
        means = drawn_means(count, low, high, seed=table.whole("seed", 0, LARGEST_SEED, default=0))
    if "names" not in table:
        return tuple(str(position) for position in range(len(means))), tuple(means)
    names = _names(table, len(means))
    with located(table.key("names")):
        return Arms(names, tuple(means), rewards).names, tuple(means)


def _names(table: Table, count: int) -> tuple[str, ...]:
    names: list[str] = []
    for path, name in table.rows("names", "strings"):
        if not isinstance(name, str):
            raise wrong(path, "a string", name)
        names.append(name)
    if len(names) != count:
        raise wrong(table.key("names"), f"a list of {count} strings, one for each arm", names)
    return tuple(names)


def _range(table: Table, rewards: RewardRange) -> tuple[float, float]:
    given = table.rows("uniform", "two numbers, the lowest and the highest mean", may_be_empty=True)
    numbers = [as_number(path, bound, low=rewards.low, high=rewards.high) for path, bound in given]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        inside = f"{rewards.low:g} <= lowest <= highest <= {rewards.high:g}"
        raise wrong(table.key("uniform"), f"[lowest, highest] with {inside}", table.get("uniform"))
    return numbers[0], numbers[1]


def _pays(table: Table) -> Pay | tuple[Pay, ...]:
    given = table.get("pays")
    if given is MISSING:
        return Bernoulli()
    if isinstance(given, list | tuple):
        return tuple(_pay(path, one) for path, one in table.rows("pays", "ways to pay, one for each arm"))
    return _pay(table.key("pays"), given)


def _pay(path: str, value: object) -> Pay:
    if value == "bernoulli":
        return Bernoulli()
    if not isinstance(value, Mapping):
        raise wrong(path, _PAYS_WANTED, value)
    table = Table(value, path, _PAYS)
    kind = table.one_of(_PAYS)
    if kind == "replay":
        return Replay(_numbers(table, kind))
    with located(table.key(kind)):
        if kind == "beta":
            return Beta(Table(table.get(kind), kind, ("concentration",)).positive("concentration"))
        if kind == "normal":
            return Normal(Table(table.get(kind), kind, ("sd",)).positive("sd"))
        inner = Table(table.get(kind), kind, ("values", "chances"))
        return Discrete(_numbers(inner, "values"), _numbers(inner, "chances"))


def _pay_written(pay: Pay, own: Callable[[str, object], object]) -> object:
    match pay:
        case Bernoulli():
            return "bernoulli"
        case Beta(concentration):
            return {"beta": {"concentration": float(concentration)}}
        case Normal(sd):
            return {"normal": {"sd": float(sd)}}
        case Discrete(values, chances):
            return {"discrete": {"values": _floats(values), "chances": _floats(chances)}}
        case Replay(log):
            return {"replay": _floats(log)}
    return own("arms.pays", pay)


def _changes(table: Table, arms: Arms, folder: Path) -> Changes | None:
    if "changes" not in table:
        return None
    given = Table(table.get("changes"), table.key("changes"), _CHANGES)
    kind = given.one_of(_CHANGES)
    if kind == "file":
        file = folder / given.text("file")
        with located(given.key("file")):
            return Switches.from_csv(file, arms.names, arms.means)
    path = given.key(kind)
    if kind == "switches":
        steps = []
        for where, entry in given.rows(kind, "tables with slot and means"):
            step = Table(entry, where, ("slot", "means"))
            steps.append((step.whole("slot", 0), _numbers(step, "means")))
        with located(path):
            return Switches(tuple(steps))
    keys = {"linear": ("to", "start", "stop", "every"), "sinusoid": ("amplitude", "period", "phases", "every")}
    inner = Table(given.get(kind), path, keys.get(kind, ("sd", "every", "seed")))
    every = inner.whole("every", 1) if "every" in inner else None
    with located(path):
        if kind == "linear":
            stop = inner.whole("stop", 1) if "stop" in inner else None
            return Linear(_numbers(inner, "to"), inner.whole("start", 0, default=0), stop, every)
        if kind == "sinusoid":
            is_list = isinstance(inner.get("amplitude"), list | tuple)
            amplitudes = _numbers(inner, "amplitude") if is_list else inner.number("amplitude")
            phases = _numbers(inner, "phases") if "phases" in inner else None
            return Sinusoid(amplitudes, inner.positive("period"), phases, every)
        return Walk(inner.positive("sd"), every, inner.whole("seed", 0, LARGEST_SEED, default=0))


def _changes_written(changes: Changes) -> dict[str, object]:
    inner: dict[str, object]
    match changes:
        case Switches(steps):
            return {"switches": [{"slot": slot, "means": _floats(means)} for slot, means in steps]}
        case Linear(to, start, stop, every):
            inner = {"to": _floats(to), "start": start, "stop": stop, "every": every}
            kind = "linear"
        case Sinusoid(amplitudes, period, phases, every):
            far = _floats(amplitudes) if isinstance(amplitudes, tuple) else float(amplitudes)
            inner = {"amplitude": far, "period": float(period), "every": every}
            inner["phases"] = None if phases is None else _floats(phases)
            kind = "sinusoid"
        case Walk(sd, every, seed):
            inner = {"sd": float(sd), "every": every, "seed": seed}
            kind = "walk"
        case _:
            raise LocalError(f"changes {changes!r} cannot be written")
    return {kind: {key: value for key, value in inner.items() if value is not None}}


def _numbers(table: Table, name: str) -> tuple[float, ...]:
    return tuple(as_number(path, number) for path, number in table.rows(name, "numbers"))


def _floats(numbers: tuple[float, ...]) -> list[float]:
    return [float(number) for number in numbers]
