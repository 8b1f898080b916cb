"""Writes a scenario with the same keys as in a scenario file, so that a result can include its world.

Reading it back gives the same scenario. Arms from a file or from random numbers are written as their means, a trace as
its slots, so no other file is needed. What an agent would do after the horizon is not written: a file may not contain
it, and no run reaches it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from itertools import groupby

from cobandit.core import Constant, Geometric, PerCandidate
from cobandit.core.protocols.registry import protocol_of
from cobandit.core.thresholds import LARGEST_THRESHOLD, answers_wait
from cobandit.policies import Horizon
from cobandit.policies.registry import BuiltIn
from cobandit.protocols.plug_in import PlugIn
from cobandit.protocols.registry import PLUG_INS
from cobandit.scenario.arms_file import arms_written
from cobandit.scenario.faults import Faults
from cobandit.scenario.forgetting import Forgetting
from cobandit.scenario.scenario import Absence, AgentSpec, BuildPolicy, Scenario
from cobandit.scenario.schedules import Halving, OnOff, Rate, Schedule, Sine, Slots
from cobandit.scenario.topology_file import topology_written
from cobandit.values.errors import LocalError
from cobandit.values.reward_range import UNIT

Written = dict[str, object]
Own = Callable[[str, object], object]
"""Takes the path of a key and a value that a file cannot hold, and returns what to write there."""


def scenario_to_mapping(
    scenario: Scenario, *, trials: int | None = None, seed: int | None = None, own: Own | None = None
) -> Written:
    """Return the keys and values of a file that describes this scenario.

    Args:
        scenario: The scenario.
        trials: The number of trials, to be written too.
        seed: The seed, to be written too.
        own: What to write in place of your own code. A file with it cannot be read back.

    Raises:
        LocalError: The scenario uses code of your own, which a file cannot hold. The message names the key.

    >>> from cobandit.scenario import Arms
    >>> scenario_to_mapping(Scenario(100, Arms.of([0.2]), (AgentSpec(Rate(0.5)),)))["agents"]
    [{'count': 1, 'rate': 0.5}]
    """
    own = own or _refuse
    content: Written = {"horizon": scenario.horizon}
    if trials is not None:
        content["trials"] = trials
    if seed is not None:
        content["seed"] = seed
    if scenario.luck != "pull":  # keeps files without it unchanged
        content["luck"] = scenario.luck
    rewards = scenario.arms.rewards
    if rewards != UNIT:
        content["rewards"] = [rewards.low, rewards.high]
    content["arms"] = arms_written(scenario.arms, own)
    content["agents"] = [
        {"count": len(list(same)), **_agent(agent, f"agents[{position}]", own)}
        for position, (agent, same) in enumerate(groupby(_before(scenario.horizon, one) for one in scenario.agents))
    ]
    content["policy"] = _policy("policy", scenario.policy, own)
    if scenario.forgetting is not None:
        content["policy"] = {**_as_table(content["policy"]), **_forgetting(scenario.forgetting)}
    content["sharing"] = _sharing(scenario, own)
    if network := topology_written(scenario.topology, scenario.horizon):
        content["network"] = dict(network)
    return content


def scenario_to_toml(scenario: Scenario, *, trials: int | None = None, seed: int | None = None) -> str:
    """Return the text of a scenario file.

    >>> from cobandit.scenario import Arms
    >>> print(scenario_to_toml(Scenario(100, Arms.of([0.2]), (AgentSpec(Rate(0.5)),)), seed=1))
    horizon = 100
    seed = 1
    <BLANKLINE>
    [arms]
    means = [0.2]
    names = ["0"]
    <BLANKLINE>
    [[agents]]
    count = 1
    rate = 0.5
    <BLANKLINE>
    [policy]
    name = "ucb"
    alpha = 3.0
    confidence = "observed"
    <BLANKLINE>
    [sharing]
    protocol = "odc"
    threshold = { constant = 1 }
    answers_advance = true
    delay = 0
    <BLANKLINE>
    """
    lines: list[str] = []
    for key, value in scenario_to_mapping(scenario, trials=trials, seed=seed).items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]", *_entries(value)]
        elif isinstance(value, list) and isinstance(value[0], dict):
            for table in value:
                lines += ["", f"[[{key}]]", *_entries(table)]
        else:
            lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _before(horizon: int, agent: AgentSpec) -> AgentSpec:
    """Return an agent that behaves the same before the horizon, and does nothing after it."""
    if agent.start >= horizon:
        return replace(agent, schedule=Slots(()), start=0, stop=None, absences=_absences(horizon, agent))
    schedule = agent.schedule
    if isinstance(schedule, Slots):
        schedule = Slots(tuple(slot for slot in schedule.slots if slot < horizon))
    stop = None if agent.stop is None or agent.stop > horizon else agent.stop
    return replace(agent, schedule=schedule, stop=stop, absences=_absences(horizon, agent))


def _absences(horizon: int, agent: AgentSpec) -> tuple[Absence, ...]:
    return tuple(
        absence if absence.rejoin is None or absence.rejoin < horizon else Absence(absence.leave)
        for absence in agent.absences
        if absence.leave < horizon
    )


def _agent(agent: AgentSpec, path: str, own: Own) -> Written:
    written = _schedule(agent.schedule, path, own)
    if agent.start:
        written["start"] = agent.start
    if agent.stop is not None:
        written["stop"] = agent.stop
    if agent.arms is not None:
        written["arms"] = list(agent.arms)
    if agent.policy is not None:
        written["policy"] = _policy(f"{path}.policy", agent.policy, own)
    if agent.settings:
        written["settings"] = own(f"{path}.settings", dict(agent.settings))
    if agent.absences:
        written["absences"] = [
            {"leave": absence.leave} | ({} if absence.rejoin is None else {"rejoin": absence.rejoin})
            for absence in agent.absences
        ]
    return written


def _schedule(schedule: Schedule, path: str, own: Own) -> Written:
    match schedule:
        case Rate(rate):
            return {"rate": float(rate)}
        case Halving(rate):
            return {"schedule": {"halving": {"rate": float(rate)}}}
        case Sine(phase, pace):
            return {"schedule": {"sine": {"phase": float(phase), "slots_per_radian": float(pace)}}}
        case OnOff(rate, toggle):
            return {"schedule": {"on_off": {"rate": float(rate), "toggle": float(toggle)}}}
        case Slots(slots):
            return {"schedule": {"slots": list(slots)}}
    return {"schedule": own(f"{path}.schedule", schedule)}


def _policy(path: str, policy: BuildPolicy, own: Own) -> object:
    if not isinstance(policy, BuiltIn):
        return own(path, policy)
    confidence = policy.confidence
    return {
        "name": policy.name,
        **({"alpha": float(policy.exploration)} if policy.exploration else {}),  # Thompson sampling has none
        "confidence": {"horizon": confidence.decisions} if isinstance(confidence, Horizon) else confidence,
    }


def _as_table(policy: object) -> Written:
    return policy if isinstance(policy, dict) else {"name": policy}


def _forgetting(forgetting: Forgetting) -> Written:
    if forgetting.window is not None:
        return {"window": forgetting.window}
    return {"half_life": float(forgetting.half_life or 0.0)}


def _sharing(scenario: Scenario, own: Own) -> Written:
    if scenario.plugged is not None:
        return {**_plugged(scenario.plugged, own), "delay": scenario.delay, **_faults(scenario.faults)}
    rules, threshold, retry, literal_notices, _ = scenario.exchange  # a topology writes its own requirements
    protocol = protocol_of(rules).word or own("sharing.protocol", rules)
    written: object
    match threshold:
        case Constant(size):
            written = {"constant": size}
        case Geometric(base, cap):
            written = {"geometric": base} | ({} if cap == LARGEST_THRESHOLD else {"cap": cap})
            written |= {"phases": True} if threshold.phases else {}
        case PerCandidate(cap):
            written = "per-candidate" if cap == LARGEST_THRESHOLD else {"per-candidate": {"cap": cap}}
        case _:
            written = own("sharing.threshold", threshold)
    return {
        "protocol": protocol,
        "threshold": written,
        "answers_advance": threshold.answers_advance,
        **({} if answers_wait(threshold) else {"answers_wait": False}),
        **({"literal_notices": True} if literal_notices else {}),
        **({} if retry is None else {"loss_tolerant": _floats(asdict(retry))}),
        "delay": scenario.delay,
        **_faults(scenario.faults),
    }


def _plugged(plugged: PlugIn, own: Own) -> Written:
    """Return a protocol by its name with all its parameters, or as something of your own."""
    word = plugged.about.word
    if PLUG_INS.get(word) is not plugged.build or plugged.hubs != plugged.about.hubs:
        return {"protocol": own("sharing.protocol", plugged)}
    given = {name: value for name, value in plugged.parameters.items() if value is not None}
    if not all(isinstance(value, bool | int | float | str) for value in given.values()):
        return {"protocol": own("sharing.protocol", plugged)}
    return {"protocol": word, **given}


def _floats(numbers: Mapping[str, float]) -> Written:
    return {name: float(number) for name, number in numbers.items()}


def _faults(faults: Faults) -> Written:
    """Return what a network does. Empty if it does nothing, which keeps files without faults unchanged."""
    usual = Faults()
    written: Written = {}
    for name in ("loss", "duplication", "jitter", "reordering", "held_back"):
        if getattr(faults, name) != getattr(usual, name):
            written[name] = getattr(faults, name)
    if faults.partitions:
        written["partitions"] = [
            {
                "start": partition.start,
                "stop": partition.stop,
                "senders": list(partition.senders),
                "receivers": list(partition.receivers),
                "one_way": partition.one_way,
            }
            for partition in faults.partitions
        ]
    return written


def _refuse(path: str, value: object) -> object:
    raise LocalError(f"{path} is {value!r}, which is your own: a scenario file cannot hold it")


def _entries(table: Mapping[str, object]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():  # JSON's escapes are valid in TOML too, except for one character that TOML wants escaped
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            return f"{{ {', '.join(_entries(value))} }}"
        case list():
            return f"[{', '.join(_toml(entry) for entry in value)}]"
    return repr(value)
