"""A scenario as a file: turns TOML into a `Scenario`, or an error with the key, the value and what is allowed.

docs/scenario-files.md explains the keys. `cobandit.scenario.writing` writes a scenario back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from cobandit.core import Constant, Geometric, PerCandidate, RetryTimers, Sharing, Threshold
from cobandit.core.protocols.on_demand import ON_DEMAND
from cobandit.core.protocols.registry import PROTOCOLS, sharing_by
from cobandit.core.thresholds import LARGEST_THRESHOLD
from cobandit.policies import Confidence, Horizon
from cobandit.policies.confidence import NAMED
from cobandit.policies.registry import POLICIES, BuiltIn, policy_name
from cobandit.protocols.plug_in import PlugIn, parameters_of, plug_in
from cobandit.protocols.registry import PLUG_INS
from cobandit.scenario.arms import Arms
from cobandit.scenario.arms_file import arms_from, rewards_from
from cobandit.scenario.faults import LONGEST_HOLDUP, Faults, Partition
from cobandit.scenario.forgetting import LONGEST_WINDOW, Forgetting
from cobandit.scenario.keys import MISSING, Table, as_whole, is_whole, located, read_toml, wrong
from cobandit.scenario.scenario import (
    LONGEST_DELAY,
    LONGEST_HORIZON,
    MAX_LEAVES,
    MOST_AGENTS,
    Absence,
    AgentSpec,
    Scenario,
)
from cobandit.scenario.schedules import Halving, OnOff, Rate, Schedule, Sine, Slots, schedules_from_csv
from cobandit.scenario.tape import LARGEST_SEED, Luck
from cobandit.scenario.topology import Relays
from cobandit.scenario.topology_file import topology_from
from cobandit.values.errors import LocalError

MOST_TRIALS = 10_000_000

_TOP_KEYS = ("horizon", "trials", "seed", "luck", "rewards", "arms", "agents", "policy", "sharing", "network")


@dataclass(frozen=True)
class ScenarioFile:
    """The content of a scenario file: the world and, if the file sets them, the number of trials and the seed."""

    scenario: Scenario
    trials: int | None = None
    seed: int | None = None


def read_scenario(path: Path | str) -> ScenarioFile:
    """Read a scenario file.

    Raises:
        LocalError: The file cannot be read or has an invalid value. The message names the file, the key, its value and
            what is allowed.
    """
    return read_toml(path, scenario_from_mapping)


def scenario_from_mapping(content: Mapping[str, object], *, folder: Path | str = ".") -> ScenarioFile:
    """Return the scenario that a file with this content describes.

    Args:
        content: The keys and values.
        folder: The folder for relative paths of files that it names.

    Raises:
        LocalError: A key is unknown or missing, or a value is not allowed. The message names the key.

    >>> world = scenario_from_mapping(
    ...     {"horizon": 100, "arms": {"means": [0.2, 0.8]}, "agents": [{"count": 2, "rate": 0.5}]}
    ... ).scenario
    >>> [agent.schedule for agent in world.agents]
    [Rate(rate=0.5), Rate(rate=0.5)]
    """
    top = Table(content, "", _TOP_KEYS)
    horizon = top.whole("horizon", 1, LONGEST_HORIZON)
    arms = arms_from(top.get("arms"), rewards_from(top), Path(folder))
    with located("arms.changes"):
        arms.course(horizon)
    agents: list[AgentSpec] = []
    most = MAX_LEAVES if _has_relays(top) else MOST_AGENTS
    for path, entry in top.rows("agents", "tables, each written [[agents]]"):
        agents.extend(_agents(Table(entry, path, _AGENT_KEYS, deeper=_MISPLACED), arms, horizon, Path(folder), most))
        if len(agents) > most:
            raise LocalError(f"{path} raises the number of agents to {len(agents)}: at most {most} are allowed")
    sharing = _sharing_table(top.get("sharing") if "sharing" in top else {})
    topology = topology_from(top.get("network") if "network" in top else {}, len(agents), horizon, Path(folder))
    talks = _sharing(sharing)
    hubs = talks.hubs if isinstance(talks, PlugIn) else 0
    relays = topology.count if isinstance(topology, Relays) else hubs
    scenario = Scenario(
        horizon=horizon,
        arms=arms,
        agents=tuple(agents),
        policy=policy_from(_without(top.get("policy"), _FORGETTING) if "policy" in top else {}, default="ucb"),
        sharing=talks,
        delay=sharing.whole("delay", 0, LONGEST_DELAY, default=0),
        faults=_faults(sharing, len(agents) + relays),
        topology=topology,
        luck=cast("Luck", top.choice("luck", get_args(Luck), default="pull")),
        forgetting=_forgetting(top.get("policy")),
    )
    return ScenarioFile(
        scenario,
        trials=top.whole("trials", 1, MOST_TRIALS) if "trials" in top else None,
        seed=top.whole("seed", 0, LARGEST_SEED) if "seed" in top else None,
    )


def _has_relays(top: Table) -> bool:
    network = top.get("network")
    return isinstance(network, Mapping) and network.get("topology") == "relays"


_AGENT_KEYS = ("count", "rate", "schedule", "start", "stop", "arms", "absences", "policy")
_SCHEDULES = ("sine", "on_off", "halving", "slots", "trace")
_MISPLACED = tuple(f"schedule.{kind}" for kind in _SCHEDULES)


def _agents(table: Table, arms: Arms, horizon: int, folder: Path, most: int) -> list[AgentSpec]:
    if table.one_of(("rate", "schedule")) == "rate":
        schedules: list[Schedule] = [Rate(table.number("rate", low=0.0, high=1.0))]
    else:
        schedules = _schedules(table, horizon, folder)
    count = table.whole("count", 1, most, default=1)
    if len(schedules) > 1:
        table.refuse(("count",), f"the trace has {len(schedules)} agents; name one of them with schedule.agent")
    start = _as_slot(table.key("start"), table.get("start"), horizon) if "start" in table else 0
    stop = _stop(table, start, horizon) if "stop" in table else None
    own = None
    if "arms" in table:
        own = tuple(_as_arm(path, arm, arms) for path, arm in table.rows("arms", "names of arms"))
    absences: tuple[Absence, ...] = ()
    if "absences" in table:
        given = table.rows("absences", "tables with leave and rejoin")
        absences = tuple(_absence(Table(entry, path, ("leave", "rejoin")), horizon) for path, entry in given)
    policy = policy_from(table.get("policy"), default="ucb", path=table.key("policy")) if "policy" in table else None
    with located(table.path):
        return [AgentSpec(schedule, start, stop, own, absences, policy) for schedule in schedules] * count


def _stop(table: Table, start: int, horizon: int) -> int:
    stop = table.get("stop")
    if not is_whole(stop, start + 1, horizon):
        raise wrong(table.key("stop"), f"a whole number after start ({start}), at most the horizon ({horizon})", stop)
    return stop


def _absence(table: Table, horizon: int) -> Absence:
    leave = _as_slot(table.key("leave"), table.get("leave"), horizon)
    rejoin = table.get("rejoin")
    if "rejoin" not in table:
        return Absence(leave)
    if not is_whole(rejoin, leave + 1, horizon - 1):
        allowed = f"a slot after leave ({leave}) and before the horizon ({horizon}), or left out if it stays away"
        raise wrong(table.key("rejoin"), allowed, rejoin)
    return Absence(leave, rejoin)


def _as_slot(path: str, value: object, horizon: int) -> int:
    if not is_whole(value, 0, horizon - 1):
        raise wrong(path, f"a slot, a whole number from 0 to {horizon - 1} (the horizon is {horizon})", value)
    return value


def _schedules(agent: Table, horizon: int, folder: Path) -> list[Schedule]:
    """Return one schedule, or one for each agent of a trace."""
    path = agent.key("schedule")
    table = Table(agent.get("schedule"), path, (*_SCHEDULES, "agent", "seconds_per_slot"))
    kind = table.one_of(_SCHEDULES)
    if kind != "trace":
        table.refuse(("agent", "seconds_per_slot"), "it belongs to trace")
    match kind:
        case "sine":
            sine = Table(table.get(kind), table.key(kind), ("phase", "slots_per_radian"))
            pace = sine.positive("slots_per_radian") if "slots_per_radian" in sine else Sine(0.0).slots_per_radian
            return [Sine(sine.number("phase"), pace)]
        case "on_off":
            on_off = Table(table.get(kind), table.key(kind), ("rate", "toggle"))
            return [OnOff(on_off.number("rate", low=0.0, high=1.0), on_off.number("toggle", low=0.0, high=1.0))]
        case "halving":
            return [Halving(Table(table.get(kind), table.key(kind), ("rate",)).number("rate", low=0.0, high=1.0))]
        case "slots":
            given = table.rows(kind, "whole numbers that increase", may_be_empty=True)
            slots = tuple(_as_slot(where, slot, horizon) for where, slot in given)
            with located(table.key(kind)):
                return [Slots(slots)]
    return _trace(table, horizon, folder)


def _trace(table: Table, horizon: int, folder: Path) -> list[Schedule]:
    """Return one schedule, or one for each agent in the file. A trace of a real system may go on after the horizon."""
    pace = table.positive("seconds_per_slot") if "seconds_per_slot" in table else None
    file = folder / table.text("trace")
    with located(table.key("trace")):
        found = schedules_from_csv(file, seconds_per_slot=pace)
    found = {name: Slots(tuple(slot for slot in one.slots if slot < horizon)) for name, one in found.items()}
    if "agent" not in table:
        return list(found.values())
    name = table.text("agent")
    if name not in found:
        raise wrong(table.key("agent"), f"an agent of {file}: {', '.join(list(found)[:20])}", name)
    return [found[name]]


def policy_from(value: object, *, default: str, path: str = "policy") -> BuiltIn:
    """Return the policy that the table `policy` of a file, or of one of its agents, describes.

    Raises:
        LocalError: A key is unknown, or a value is not allowed. The message names the key.
    """
    if path != "policy" and isinstance(value, Mapping):
        Table(value, path, tuple(value)).refuse(_FORGETTING, "all agents have one window, written in [policy]")
    table = Table(value, path, ("name", "alpha", "confidence"))
    name = table.choice("name", POLICIES, default=default, spelled=policy_name)
    alpha = table.positive("alpha") if "alpha" in table else None
    confidence: Confidence = "observed"
    if "confidence" in table:
        given = table.get("confidence")
        if isinstance(given, Mapping):
            confidence = Horizon(Table(given, table.key("confidence"), ("horizon",)).whole("horizon", 1))
        elif given in NAMED:
            confidence = given
        else:
            named = ", ".join(f'"{name}"' for name in NAMED)
            raise wrong(table.key("confidence"), f"{named} or {{ horizon = decisions }}", given)
    return BuiltIn(name, alpha, confidence)


_FORGETTING = ("window", "half_life")
"""The keys of the table `policy` that concern the whole fleet."""


def _without(value: object, keys: tuple[str, ...]) -> object:
    return {key: one for key, one in value.items() if key not in keys} if isinstance(value, Mapping) else value


def _forgetting(value: object) -> Forgetting | None:
    if not isinstance(value, Mapping) or not any(key in value for key in _FORGETTING):
        return None
    table = Table({key: value[key] for key in _FORGETTING if key in value}, "policy", _FORGETTING)
    if table.one_of(_FORGETTING) == "window":
        return Forgetting(window=table.whole("window", 1, LONGEST_WINDOW))
    return Forgetting(half_life=table.positive("half_life"))


_PATIENCE_KEYS = ("first", "least", "growth", "tick", "longest")
_PARTITION_KEYS = ("start", "stop", "senders", "receivers", "one_way")
_TABLE_KEYS = ("threshold", "answers_advance", "answers_wait", "literal_notices", "loss_tolerant")
"""The keys of protocols that are tables."""
_SHARING_KEYS = (
    "protocol",
    "delay",
    "loss",
    "duplication",
    "jitter",
    "reordering",
    "held_back",
    "partitions",
)


def _sharing_table(content: object) -> Table:
    """Return the table `sharing`. Its possible keys depend on the protocol."""
    word = content.get("protocol") if isinstance(content, Mapping) else None
    if isinstance(word, str) and word in PLUG_INS:
        parameters = tuple(parameters_of(PLUG_INS[word]))
        table = Table(content, "sharing", (*_SHARING_KEYS, *parameters, *_TABLE_KEYS))
        table.refuse([key for key in _TABLE_KEYS if key not in parameters], f'protocol "{word}" has no such key')
        return table
    return Table(content, "sharing", (*_SHARING_KEYS, *_TABLE_KEYS))


def _sharing(table: Table) -> Sharing | PlugIn:
    word = table.choice("protocol", (*PROTOCOLS, *PLUG_INS), default=ON_DEMAND.word)
    if word in PLUG_INS:
        build = PLUG_INS[word]
        given: dict[str, Any] = {name: table.get(name) for name in parameters_of(build) if name in table}
        with located(table.path):
            return plug_in(build, **given)
    protocol = PROTOCOLS[word]
    threshold = _threshold(table)
    retry = _retry(table)
    if retry is not None and not protocol.tolerant:
        fit = " or ".join(f'"{one.word}"' for one in PROTOCOLS.values() if one.tolerant)
        raise LocalError(
            f'{table.key("loss_tolerant")} belongs to protocol {fit}, but the protocol is "{protocol.word}"'
        )
    literal_notices = table.truth("literal_notices", default=False)
    with located(table.key("literal_notices")):
        return sharing_by(protocol, threshold, retry, literal_notices=literal_notices)


def _retry(sharing: Table) -> RetryTimers | None:
    given, path = sharing.get("loss_tolerant"), sharing.key("loss_tolerant")
    if given is MISSING or isinstance(given, bool):
        return RetryTimers() if given is True else None
    if not isinstance(given, Mapping):
        raise wrong(path, f"true, false or a table with {' or '.join(_PATIENCE_KEYS)}", given)
    table = Table(given, path, _PATIENCE_KEYS)
    waits = {name: table.positive(name) for name in _PATIENCE_KEYS if name in table}
    with located(path):
        return RetryTimers(**waits)


def _faults(table: Table, agent_count: int) -> Faults:
    usual = Faults()
    partitions: list[Partition] = []
    if "partitions" in table:
        for path, entry in table.rows("partitions", "tables with start, stop, senders and receivers"):
            partitions.append(_partition(Table(entry, path, _PARTITION_KEYS), agent_count))
    chances = {
        name: table.number(name, low=0.0, high=1.0) if name in table else 0.0
        for name in ("loss", "duplication", "reordering")
    }
    return Faults(
        **chances,
        jitter=table.whole("jitter", 0, LONGEST_HOLDUP, default=usual.jitter),
        held_back=table.whole("held_back", 1, LONGEST_HOLDUP, default=usual.held_back),
        partitions=tuple(partitions),
    )


def _partition(table: Table, agent_count: int) -> Partition:
    start = table.whole("start", 0, LONGEST_HORIZON)
    sides = [
        tuple(as_whole(path, agent, 0, agent_count - 1) for path, agent in table.rows(side, "positions of agents"))
        for side in ("senders", "receivers")
    ]
    stop = table.whole("stop", start + 1, LONGEST_HORIZON)
    one_way = table.truth("one_way", default=False)
    with located(table.path):
        return Partition(start, stop, sides[0], sides[1], one_way)


def _threshold(sharing: Table) -> Threshold:
    answers = {name: sharing.truth(name, default=True) for name in ("answers_advance", "answers_wait")}
    if "threshold" not in sharing:
        return Constant(1, **answers)
    given, path = sharing.get("threshold"), sharing.key("threshold")
    if given == "per-candidate":
        return PerCandidate(**answers)
    if not isinstance(given, Mapping):
        allowed = '{ constant = 1 }, { geometric = 2 }, { geometric = 2, cap = 64 } or "per-candidate"'
        raise wrong(path, allowed, given)
    table = Table(given, path, ("constant", "geometric", "per-candidate", "cap", "phases"))
    kind = table.one_of(("constant", "geometric", "per-candidate"))
    if kind == "geometric":
        base = table.whole("geometric", 2, LARGEST_THRESHOLD)
        cap = table.whole("cap", 1, LARGEST_THRESHOLD, default=LARGEST_THRESHOLD)
        return Geometric(base, cap, phases=table.truth("phases", default=False), **answers)
    table.refuse(("phases",), "it belongs to geometric")
    if kind == "constant":
        table.refuse(("cap",), "a constant threshold does not grow")
        return Constant(table.whole("constant", 1, LARGEST_THRESHOLD), **answers)
    table.refuse(("cap",), "write { per-candidate = { cap = 64 } }")
    inner = Table(table.get(kind), table.key(kind), ("cap",))
    return PerCandidate(inner.whole("cap", 1, LARGEST_THRESHOLD, default=LARGEST_THRESHOLD), **answers)


def _as_arm(path: str, value: object, arms: Arms) -> str:
    if value not in arms.names:
        raise wrong(path, f"one of the arms {', '.join(arms.names[:20])}", value)
    return str(value)
