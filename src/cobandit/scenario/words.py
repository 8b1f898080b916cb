"""A scenario in plain sentences, for people who read a report. `writing.py` has the form for programs."""

from itertools import groupby

from cobandit.core import Constant, FromFunction, Geometric, PerCandidate, Threshold
from cobandit.core.protocols.registry import protocol_of
from cobandit.core.thresholds import LARGEST_THRESHOLD, answers_wait
from cobandit.policies import Horizon
from cobandit.policies.registry import DRAWING, BuiltIn
from cobandit.scenario.arms import Arms
from cobandit.scenario.changes import Linear, Sinusoid, Switches, Walk
from cobandit.scenario.faults import Faults
from cobandit.scenario.forgetting import Forgetting
from cobandit.scenario.paying import Bernoulli, Beta, Discrete, Normal, OwnReward, Replay
from cobandit.scenario.scenario import AgentSpec, BuildPolicy, IndexFunction, Scenario
from cobandit.scenario.schedules import Halving, OnOff, Rate, Schedule, Sine, Slots
from cobandit.scenario.topology import Graph, Relays
from cobandit.values.reward_range import UNIT

_POLICY_NAMES = {
    "ucb": "UCB",
    "aae": "AAE",
    "kl-ucb": "KL-UCB",
    "ucb-v": "UCB-V",
    "thompson": "Thompson sampling",
    "normal-thompson": "Thompson sampling with normal posteriors",
}

_PAYS: dict[type, str] = {
    Bernoulli: "either the highest or the lowest reward",
    Beta: "by a Beta distribution",
    Normal: "by a normal distribution, clipped to the range",
    Discrete: "one of a few values",
    Replay: "what a log recorded",
    OwnReward: "by a function of your own",
}
_CHANGES: dict[type, str] = {
    Switches: "switch",
    Linear: "drift along a line",
    Sinusoid: "follow a sine",
    Walk: "follow a random walk",
}

MOST_KINDS_TOLD = 6
"""If there are more kinds of agents, only the first ones are described."""


def scenario_in_words(scenario: Scenario) -> list[str]:
    """Return sentences that describe what happens in a scenario.

    >>> from cobandit.scenario import Arms
    >>> world = Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.5))))
    >>> for sentence in scenario_in_words(world):
    ...     print(sentence)
    100 slots, 2 arms; the best pays with probability 0.8.
    2 agents: 2 decide in each slot with probability 0.5.
    They choose by UCB (alpha 3, confidence observed).
    They talk on demand (ODC), with a threshold of 1 observation.
    Messages arrive within the slot, and none is lost.
    """
    size = f"{count_of(scenario.horizon, 'slot')}, {count_of(len(scenario.arms.names), 'arm')}"
    by_arm = scenario.luck == "arm"
    return [
        f"{size}; {_best(scenario.arms)}.",
        *_arms(scenario),
        _agents(scenario),
        f"They choose by {_policy(scenario.policy)}{_forgetting(scenario.forgetting)}.",
        sharing_in_words(scenario),
        *_topology(scenario),
        _network(scenario),
        *(["Luck belongs to the arm: an agent's n-th pull of it pays the same, whatever happened before."] * by_arm),
    ]


def _best(arms: Arms) -> str:
    if arms.are_binary and arms.rewards == UNIT:
        return f"the best pays with probability {max(arms.means):g}"
    return f"the best pays {max(arms.expected):g} on average, of {arms.rewards.low:g} to {arms.rewards.high:g}"


def _arms(scenario: Scenario) -> list[str]:
    """Return how arms pay and change, unless they are the paper's."""
    arms, told = scenario.arms, []
    if not arms.are_binary:
        ways = dict.fromkeys(_PAYS[type(pay)] for pay in arms.each_pays)
        told.append(f"Arms pay {' or '.join(ways)}.")
    if scenario.course is not None:
        times = len(scenario.course.starts) - 1
        told.append(f"Their means {_CHANGES[type(arms.changes)]}: they change {count_of(times, 'time')}.")
    return told


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "agent"), count_of(2000, "slot")
    ('1 agent', '2,000 slots')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sharing_in_words(scenario: Scenario) -> str:
    """Return how the agents of a scenario talk, as a sentence."""
    if scenario.plugged is not None:
        given = ", ".join(f"{name} {_shown(value)}" for name, value in scenario.plugged.parameters.items())
        return f"{scenario.plugged.about.told}{f' ({given})' if given else ''}."
    rules, threshold, retry, literal_notices, _ = scenario.exchange
    told = protocol_of(rules).told
    if not rules.talks:
        return f"{told}."
    tolerant = "" if retry is None else "; what is lost is repeated (loss-tolerant)"
    literal = "; an elimination is announced only to agents that have the arm" if literal_notices else ""
    told = f"{told}, with {threshold_in_words(threshold)}{tolerant}{literal}"
    return told if told.endswith("...") else f"{told}."


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def threshold_in_words(threshold: Threshold) -> str:
    """Return how much a buffer must hold, in words."""
    match threshold:
        case Constant(size):
            told = f"a threshold of {count_of(size, 'observation')}"
        case Geometric(base, cap):
            phases = ", with a phase for each pair" if threshold.phases else ""
            told = f"thresholds 1, {base:,}, {base**2:,}, ...{_capped(cap)}{phases}"
        case PerCandidate(cap):
            told = f"thresholds of 1, 2, 4, ... times the candidate arms left{_capped(cap)}"
        case FromFunction():
            told = f"thresholds {', '.join(f'{value:,}' for value in threshold.values[:4])}, ..."
        case _:
            told = "thresholds of your own"
    if not (threshold.answers_advance or isinstance(threshold, Constant)):
        told += " (answers do not advance)"
    return told if answers_wait(threshold) else f"{told} (answers need one observation)"


def _capped(cap: int) -> str:
    return "" if cap == LARGEST_THRESHOLD else f", at most {cap:,}"


def _agents(scenario: Scenario) -> str:
    kinds = [(spec, len(list(same))) for spec, same in groupby(scenario.agents)]
    told = [f"{count} {_agent(spec, plural=count > 1)}" for spec, count in kinds[:MOST_KINDS_TOLD]]
    if len(kinds) > MOST_KINDS_TOLD:
        told.append(f"and {len(kinds) - MOST_KINDS_TOLD} other kinds")
    return f"{count_of(len(scenario.agents), 'agent')}: {'; '.join(told)}."


def _agent(spec: AgentSpec, *, plural: bool) -> str:
    verb = "decide" if plural else "decides"
    told = f"{verb} {_schedule(spec.schedule)}"
    if spec.start:
        told += f" from slot {spec.start:,}"
    if spec.stop is not None:
        told += f" until slot {spec.stop:,}"
    if spec.arms is not None:
        told += f", with {count_of(len(spec.arms), 'arm')} of the world's"
    if spec.policy is not None:
        told += f", by {_policy(spec.policy)}"
    if spec.absences:
        told += f", away {count_of(len(spec.absences), 'time')}"
    return told


def _schedule(schedule: Schedule) -> str:
    match schedule:
        case Rate(rate):
            return "in every slot" if rate == 1.0 else f"in each slot with probability {rate:g}"
        case Halving(rate):
            return f"with probability {rate:g}, halved after each decision with which it sends"
        case Sine():
            return "with a probability that follows a sine"
        case OnOff(rate, toggle):
            return f"with probability {rate:g} while online (on or off with probability {toggle:g} in each slot)"
        case Slots(slots):
            return f"in {count_of(len(slots), 'given slot')}"
    return "by a schedule of your own"


def _policy(policy: BuildPolicy) -> str:
    match policy:
        case BuiltIn(name) if name in DRAWING:
            return _POLICY_NAMES[name]
        case BuiltIn(name, _, confidence) as built_in:
            sure = f"{confidence.decisions:,} decisions" if isinstance(confidence, Horizon) else confidence
            return f"{_POLICY_NAMES[name]} (alpha {built_in.exploration:g}, confidence {sure})"
        case IndexFunction():
            return "an index of your own"
    return "a policy of your own"


def _forgetting(forgetting: Forgetting | None) -> str:
    if forgetting is None:
        return ""
    if forgetting.window is not None:
        return f", from the last {count_of(forgetting.window, 'slot')}"
    return f"; observations {forgetting.half_life:,g} slots old count half"


def _topology(scenario: Scenario) -> list[str]:
    match scenario.topology:
        case Relays(count, homes, absences) if scenario.plugged is None:
            away = f"; relays are away {count_of(len(absences), 'time')}" if absences else ""
            return [f"They are leaves of {count_of(count, 'relay')}, each with {count_of(homes, 'home')}{away}."]
        case Graph(edges, kind):
            return [f"Each talks to its neighbours in a graph of {count_of(len(edges), 'edge')} ({kind})."]
    return []


def _network(scenario: Scenario) -> str:
    late = "within the slot" if not scenario.delay else f"after {count_of(scenario.delay, 'slot')}"
    return f"Messages arrive {late}, {_faults(scenario.faults)}."


def _faults(faults: Faults) -> str:
    told = []
    if faults.loss:
        told.append(f"{100 * faults.loss:.3g} % are lost")
    if faults.duplication:
        told.append(f"{100 * faults.duplication:.3g} % arrive twice")
    if faults.jitter:
        told.append(f"each may take up to {count_of(faults.jitter, 'slot')} more")
    if faults.reordering:
        told.append(f"{100 * faults.reordering:.3g} % are held back")
    if faults.partitions:
        told.append(f"the network is cut {count_of(len(faults.partitions), 'time')}")
    return ", ".join(told) if told else "and none is lost"
