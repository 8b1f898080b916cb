"""A scenario file says everything about a world, and a broken one says what is wrong with it."""

import copy
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cobandit import Constant, Geometric, Horizon, LocalError, PerCandidate, Thompson, immediate, on_demand, silent
from cobandit.core import FromFunction, RetryTimers, Sharing
from cobandit.core.protocols.rules import Rules
from cobandit.policies import Confidence
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Halving,
    OnOff,
    Partition,
    Rate,
    Row,
    Scenario,
    ScenarioFile,
    Sine,
    Slots,
    read_scenario,
    scenario_from_mapping,
    scenario_to_mapping,
    scenario_to_toml,
)
from cobandit.scenario.schedules import Clock, ClockKeys
from cobandit.simulator import run

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "scenario-files.md"
SMALL: dict[str, Any] = {
    "horizon": 100,
    "arms": {"means": [0.2, 0.8]},
    "agents": [{"rate": 1.0}, {"count": 2, "rate": 0.5}],
}


def example() -> str:
    found = re.search(r"```toml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def with_value(path: str, value: object) -> dict[str, Any]:
    """SMALL with one key set, such as agents[1].rate."""
    content = copy.deepcopy(SMALL)
    place: Any = content
    *steps, last = [int(step) if step.isdecimal() else step for step in re.findall(r"[\w-]+", path)]
    for step in steps:
        place = place.setdefault(step, {}) if isinstance(step, str) else place[step]
    place[last] = value
    return content


def agents_of(**keys: object) -> tuple[AgentSpec, ...]:
    return scenario_from_mapping({**SMALL, "agents": [keys]}).scenario.agents


# What a file says.


def test_the_documented_example_is_this_world(tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.write_text(example(), encoding="utf-8")
    assert read_scenario(file) == ScenarioFile(
        Scenario(
            horizon=2000,
            arms=Arms(("red", "green", "blue"), (0.28, 0.04, 0.25)),
            agents=(
                *(AgentSpec(Rate(0.1)),) * 3,
                AgentSpec(Rate(0.7), start=1000, stop=1800),
                AgentSpec(OnOff(0.8, toggle=0.01), arms=("red", "blue")),
                AgentSpec(Sine(0.2, 30.0), absences=(Absence(500, 900), Absence(1500))),
                AgentSpec(Slots((0, 10, 20, 1999))),
            ),
            policy=BuiltIn("ucb", 3.0, "own"),
            sharing=on_demand(Geometric(2, cap=64)),
            delay=0,
        ),
        trials=8,
        seed=1,
    )


def test_what_is_left_out_has_the_usual_value() -> None:
    assert scenario_from_mapping(SMALL) == ScenarioFile(
        Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(1.0)), AgentSpec(Rate(0.5)), AgentSpec(Rate(0.5))))
    )


@pytest.mark.parametrize(
    ("keys", "agents"),
    [
        ({"rate": 1}, (AgentSpec(Rate(1.0)),)),
        ({"schedule": {"sine": {"phase": 1}}}, (AgentSpec(Sine(1.0)),)),
        ({"schedule": {"halving": {"rate": 0.5}}, "count": 2}, (AgentSpec(Halving(0.5)),) * 2),
        ({"schedule": {"slots": []}}, (AgentSpec(Slots(())),)),
        ({"rate": 0.5, "absences": [{"leave": 3}]}, (AgentSpec(Rate(0.5), absences=(Absence(3),)),)),
    ],
)
def test_an_agent_decides_as_its_table_says(keys: dict[str, object], agents: tuple[AgentSpec, ...]) -> None:
    assert agents_of(**keys) == agents


@pytest.mark.parametrize(
    ("table", "sharing"),
    [
        ({"protocol": "none"}, silent()),
        ({"protocol": "none", "threshold": {"constant": 5}}, silent()),
        ({"protocol": "ibc"}, immediate()),
        ({"protocol": "ibc", "threshold": {"constant": 5}}, immediate(Constant(5))),
        ({"threshold": {"geometric": 3}}, on_demand(Geometric(3))),
        ({"threshold": {"geometric": 2, "cap": 64}}, on_demand(Geometric(2, cap=64))),
        ({"threshold": "per-candidate"}, on_demand(PerCandidate())),
        ({"threshold": {"per-candidate": {"cap": 9}}}, on_demand(PerCandidate(cap=9))),
        ({"threshold": {"per-candidate": {}}}, on_demand(PerCandidate())),
        ({"answers_advance": False}, on_demand(Constant(1, answers_advance=False))),
        ({"answers_wait": False}, on_demand(Constant(1, answers_wait=False))),
        ({"threshold": {"geometric": 2, "phases": True}}, on_demand(Geometric(2, phases=True))),
        ({"literal_notices": True}, on_demand(literal_notices=True)),
        ({"protocol": "ibc", "literal_notices": True}, immediate(literal_notices=True)),
        ({"loss_tolerant": False}, on_demand()),
        ({"loss_tolerant": True}, on_demand(loss_tolerant=True)),
        ({"loss_tolerant": {}}, on_demand(loss_tolerant=RetryTimers())),
        ({"loss_tolerant": {"first": 8, "tick": 50}}, on_demand(loss_tolerant=RetryTimers(first=8.0, tick=50.0))),
        (
            {
                "threshold": {"geometric": 2},
                "loss_tolerant": {"first": 9, "least": 2, "growth": 1, "tick": 5, "longest": 10},
            },
            on_demand(Geometric(2), loss_tolerant=RetryTimers(9.0, 2.0, 1.0, 5.0, 10.0)),
        ),
        ({"protocol": "ibc", "loss_tolerant": False}, immediate()),
    ],
)
def test_sharing_is_spelled_like_this(table: dict[str, object], sharing: Sharing) -> None:
    assert scenario_from_mapping({**SMALL, "sharing": table}).scenario.sharing == sharing


@pytest.mark.parametrize(
    ("table", "faults"),
    [
        ({}, Faults()),
        ({"loss": 0.25}, Faults(loss=0.25)),
        ({"loss": 1, "duplication": 0}, Faults(loss=1.0)),
        ({"duplication": 0.5}, Faults(duplication=0.5)),
        ({"jitter": 7}, Faults(jitter=7)),
        ({"reordering": 0.1, "held_back": 40}, Faults(reordering=0.1, held_back=40)),
        (
            {"partitions": [{"start": 5, "stop": 9, "senders": [0], "receivers": [1, 2]}]},
            Faults(partitions=(Partition(5, 9, (0,), (1, 2)),)),
        ),
        (
            {
                "partitions": [
                    {"start": 0, "stop": 1, "senders": [0], "receivers": [1], "one_way": True},
                    {"start": 5, "stop": 9, "senders": [2], "receivers": [0], "one_way": False},
                ]
            },
            Faults(partitions=(Partition(0, 1, (0,), (1,), one_way=True), Partition(5, 9, (2,), (0,)))),
        ),
    ],
)
def test_faults_are_spelled_like_this(table: dict[str, object], faults: Faults) -> None:
    assert scenario_from_mapping({**SMALL, "sharing": table}).scenario.faults == faults


@pytest.mark.parametrize(
    ("table", "policy"),
    [
        ({}, BuiltIn("ucb")),
        ({"name": "kl-ucb", "alpha": 2}, BuiltIn("kl-ucb", 2.0)),
        ({"name": "klucb", "alpha": 2}, BuiltIn("kl-ucb", 2.0)),
        ({"name": "aae", "confidence": {"horizon": 10**6}}, BuiltIn("aae", None, Horizon(10**6))),
        ({"name": "thompson"}, BuiltIn("thompson")),
    ],
)
def test_a_policy_is_spelled_like_this(table: dict[str, object], policy: BuiltIn) -> None:
    assert scenario_from_mapping({**SMALL, "policy": table}).scenario.policy == policy


def test_arms_can_be_drawn_and_do_not_change_with_the_seed_of_the_trials() -> None:
    drawn = {"uniform": [0.0, 0.3], "count": 16}
    worlds = [scenario_from_mapping({**SMALL, "arms": drawn, "seed": seed}).scenario for seed in (1, 2)]
    other = scenario_from_mapping({**SMALL, "arms": {**drawn, "seed": 5}}).scenario
    assert worlds[0].arms == worlds[1].arms == Arms.uniform(16, 0.0, 0.3, seed=0)
    assert other.arms == Arms.uniform(16, 0.0, 0.3, seed=5)


def test_files_are_looked_for_beside_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "worlds"
    folder.mkdir()
    (folder / "arms.csv").write_text("arm,mean\nred,0.5\nblue,0.25\n", encoding="utf-8")
    (folder / "slots.csv").write_text("agent,slot\nb,3\na,1\nb,2\n", encoding="utf-8")
    (folder / "times.csv").write_text("agent,time\na,10.0\na,11.4\n", encoding="utf-8")
    (folder / "world.toml").write_text(
        """
        horizon = 100
        arms = { file = "arms.csv" }
        [[agents]]
        schedule = { trace = "slots.csv" }
        arms = ["blue"]
        [[agents]]
        count = 2
        schedule = { trace = "slots.csv", agent = "b" }
        [[agents]]
        schedule = { trace = "times.csv", seconds_per_slot = 0.5 }
        """,
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    b = Slots((2, 3))
    assert read_scenario("worlds/world.toml").scenario == Scenario(
        100,
        Arms(("red", "blue"), (0.5, 0.25)),
        (
            AgentSpec(b, arms=("blue",)),
            AgentSpec(Slots((1,)), arms=("blue",)),
            AgentSpec(b),
            AgentSpec(b),
            AgentSpec(Slots((0, 2))),
        ),
    )


def test_the_last_slots_of_a_world_can_be_named() -> None:
    assert agents_of(rate=0.5, start=99, stop=100) == (AgentSpec(Rate(0.5), start=99, stop=100),)
    assert agents_of(rate=0.5, absences=[{"leave": 98, "rejoin": 99}])[0].absences == (Absence(98, 99),)
    assert agents_of(schedule={"slots": [0, 99]}) == (AgentSpec(Slots((0, 99))),)


def test_a_trace_may_be_longer_than_the_horizon(tmp_path: Path) -> None:
    (tmp_path / "slots.csv").write_text("agent,slot\na,99\na,100\nb,5000\n", encoding="utf-8")
    content = {**SMALL, "agents": [{"schedule": {"trace": "slots.csv"}}]}
    agents = scenario_from_mapping(content, folder=tmp_path).scenario.agents
    assert agents == (AgentSpec(Slots((99,))), AgentSpec(Slots(())))


# What is wrong with a file.

WRONG: list[tuple[str, object, str]] = [
    ("horizon", 0, "horizon must be a whole number from 1 to 1099511627776, not 0"),
    ("horizon", 8e4, "horizon must be a whole number from 1 to 1099511627776, not 80000.0"),
    ("trials", "many", "trials must be a whole number from 1 to 10000000, not 'many'"),
    ("luck", "agent", 'luck must be "pull" or "arm", not \'agent\''),
    ("seed", -1, "seed must be a whole number from 0 to 9223372036854775807, not -1"),
    ("horizont", 5, "horizont = 5 is not a key that cobandit knows: did you mean horizon?"),
    (
        "x",
        5,
        (
            "x = 5 is not a key that cobandit knows: "
            "the keys here are horizon, trials, seed, luck, rewards, arms, agents, policy, sharing"
        ),
    ),
    ("arms", 3, "arms must be a table, written [arms], with means, file, uniform, pays or replay, not 3"),
    ("arms.means", [], "arms.means must be a list of numbers in [0, 1], at least one, not []"),
    ("arms.means", [0.5, 1.5], "arms.means[1] must be a number in [0, 1], not 1.5"),
    ("arms.means", [True], "arms.means[0] must be a number in [0, 1], not true"),
    ("arms.means", [float("nan")], "arms.means[0] must be a number in [0, 1], not nan"),
    ("arms.file", "x.csv", "arms needs exactly one of means, file, uniform, but has means and file"),
    ("arms.count", 5, "arms.count = 5 is not allowed here: it belongs to uniform"),
    ("arms.names", ["a"], "arms.names must be a list of 2 strings, one for each arm, not ['a']"),
    ("arms.names", ["a", 7], "arms.names[1] must be a string, not 7"),
    ("arms.names", ["a", "a"], "arms.names: arm names must differ, but a is given more than once"),
    ("arms", {}, "arms needs exactly one of means, file, uniform, but has none of them"),
    ("arms", {"uniform": [0.0, 0.3]}, "arms.count is missing: it must be a whole number from 1 to "),
    ("arms", {"uniform": [0.3, 0.0], "count": 2}, "arms.uniform must be [lowest, highest] with 0 <= lowest"),
    ("arms", {"uniform": [0.3], "count": 2}, "arms.uniform must be [lowest, highest] with 0 <= lowest"),
    ("arms", {"uniform": [0, 2], "count": 2}, "arms.uniform[1] must be a number in [0, 1], not 2"),
    ("arms", {"uniform": [0, 1], "count": 0}, "arms.count must be a whole number from 1 to "),
    ("arms", {"file": "none.csv"}, "arms.file: cannot read none.csv"),
    ("arms", {"file": "no\0ne.csv"}, "arms.file: cannot read 'no\\x00ne.csv': embedded null byte"),
    ("arms", {"file": 5}, "arms.file must be a string, not 5"),
    ("agents", [], "agents must be a list of tables, each written [[agents]], at least one, not []"),
    ("agents", {"rate": 1.0}, "agents must be a list of tables, each written [[agents]], at least one, not {'rate'"),
    ("agents[1]", 5, "agents[1] must be a table with count or rate or schedule or start, not 5"),
    ("agents[1].rate", 7, "agents[1].rate must be a number in [0, 1], not 7"),
    ("agents[1].rate", "fast", "agents[1].rate must be a number in [0, 1], not 'fast'"),
    ("agents[1].ratte", 0.5, "agents[1].ratte = 0.5 is not a key that cobandit knows: did you mean agents[1].rate?"),
    (
        "agents[1].on_off",
        {},
        "agents[1].on_off = {} is not a key that cobandit knows: did you mean agents[1].schedule.on_off?",
    ),
    ("agents[1].count", 0, "agents[1].count must be a whole number from 1 to 100000, not 0"),
    ("agents[1].count", 100_000, "agents[1] raises the number of agents to 100001: at most 100000 are allowed"),
    ("agents[1].start", -1, "agents[1].start must be a slot, a whole number from 0 to 99 (the horizon is 100), not -1"),
    (
        "agents[1].start",
        100,
        "agents[1].start must be a slot, a whole number from 0 to 99 (the horizon is 100), not 100",
    ),
    ("agents[1].stop", 0, "agents[1].stop must be a whole number after start (0), at most the horizon (100), not 0"),
    (
        "agents[1].stop",
        101,
        "agents[1].stop must be a whole number after start (0), at most the horizon (100), not 101",
    ),
    ("agents[1].arms", ["0", "9"], "agents[1].arms[1] must be one of the arms 0, 1, not '9'"),
    ("agents[1].arms", "0", "agents[1].arms must be a list of names of arms, at least one, not '0'"),
    ("agents[1].arms", ["0", "0"], "agents[1]: arm names must differ, but 0 is given more than once"),
    (
        "agents[1].absences",
        [{"rejoin": 5}],
        "agents[1].absences[0].leave is missing: it must be a slot, a whole number from 0 to 99",
    ),
    (
        "agents[1].absences",
        [{"leave": 5, "rejoin": 5}],
        "agents[1].absences[0].rejoin must be a slot after leave (5) and before the horizon (100), or left out",
    ),
    (
        "agents[1].absences",
        [{"leave": 99, "rejoin": 100}],
        "agents[1].absences[0].rejoin must be a slot after leave (99) and before the horizon (100), or left out",
    ),
    (
        "agents[1].absences",
        [{"leave": 100}],
        "agents[1].absences[0].leave must be a slot, a whole number from 0 to 99 (the horizon is 100), not 100",
    ),
    ("agents[1].absences", [{"leave": 5}, {"leave": 9}], "agents[1]: an agent away since slot 5 cannot leave again"),
    (
        "agents[1].absences",
        [{"leaves": 5}],
        "agents[1].absences[0].leaves = 5 is not a key that cobandit knows: did you mean",
    ),
    ("agents[1].schedule", {"sine": {"phase": 0}}, "agents[1] needs exactly one of rate, schedule, but has rate and"),
    ("agents[1]", {}, "agents[1] needs exactly one of rate, schedule, but has none of them"),
    ("agents[1]", {"schedule": "sine"}, "agents[1].schedule must be a table with sine or on_off or halving or slots"),
    ("agents[1]", {"schedule": {}}, "agents[1].schedule needs exactly one of sine, on_off, halving, slots, trace, but"),
    (
        "agents[1]",
        {"schedule": {"on-off": {}}},
        "agents[1].schedule.on-off = {} is not a key that cobandit knows: did you mean",
    ),
    ("agents[1]", {"schedule": {"sine": {}}}, "agents[1].schedule.sine.phase is missing: it must be a number"),
    (
        "agents[1]",
        {"schedule": {"sine": {"phase": 10**400}}},
        "agents[1].schedule.sine.phase must be a number between -1e+300 and 1e+300, not 100",
    ),
    (
        "agents[1]",
        {"schedule": {"sine": {"phase": "up"}}},
        "agents[1].schedule.sine.phase must be a number between -1e+300 and 1e+300, not 'up'",
    ),
    (
        "agents[1]",
        {"schedule": {"sine": {"phase": 0, "slots_per_radian": 0}}},
        "agents[1].schedule.sine.slots_per_radian must be a positive number below 1e+300, not 0",
    ),
    (
        "agents[1]",
        {"schedule": {"on_off": {"rate": 0.5}}},
        "agents[1].schedule.on_off.toggle is missing: it must be a number in [0, 1]",
    ),
    (
        "agents[1]",
        {"schedule": {"on_off": {"rate": 0.5, "toggle": 2}}},
        "agents[1].schedule.on_off.toggle must be a number in [0, 1], not 2",
    ),
    ("agents[1]", {"schedule": {"halving": 1.0}}, "agents[1].schedule.halving must be a table with rate, not 1.0"),
    ("agents[1]", {"schedule": {"slots": [1, -2]}}, "agents[1].schedule.slots[1] must be a slot, a whole number from"),
    (
        "agents[1]",
        {"schedule": {"slots": [5, 100]}},
        "agents[1].schedule.slots[1] must be a slot, a whole number from 0 to 99 (the horizon is 100), not 100",
    ),
    ("agents[1]", {"schedule": {"slots": [5, 3]}}, "agents[1].schedule.slots: decision slots must increase, but 3"),
    ("agents[1]", {"schedule": {"slots": [1], "agent": "b"}}, "agents[1].schedule.agent = 'b' is not allowed here: it"),
    ("agents[1]", {"schedule": {"trace": "none.csv"}}, "agents[1].schedule.trace: cannot read none.csv"),
    (
        "policy.name",
        "usb",
        'policy.name must be "ucb" or "aae" or "kl-ucb" or "ucb-v" or "thompson" or "normal-thompson", not \'usb\'',
    ),
    ("policy.alhpa", 3.0, "policy.alhpa = 3.0 is not a key that cobandit knows: did you mean policy.alpha?"),
    ("policy.alpha", 0, "policy.alpha must be a positive number below 1e+300"),
    ("policy.alpha", 1e308, "policy.alpha must be a positive number below 1e+300, not 1e+308"),
    ("policy.alpha", float("inf"), "policy.alpha must be a positive number below 1e+300, not inf"),
    ("policy.alpha", "3", "policy.alpha must be a positive number below 1e+300, not '3'"),
    (
        "policy.confidence",
        "none",
        'policy.confidence must be "own", "own+2", "observed" or { horizon = decisions }, not \'none\'',
    ),
    ("policy.confidence", {"horizon": 0}, "policy.confidence.horizon must be a whole number of at least 1, not 0"),
    ("policy", "ucb", "policy must be a table with name or alpha or confidence, not 'ucb'"),
    ("sharing.protocol", "odb", 'sharing.protocol must be "odc" or "ibc" or "none" or "periodic-hub" or '),
    ("sharing.delay", -1, "sharing.delay must be a whole number from 0 to 1073741824, not -1"),
    ("sharing.answers_advance", 1, "sharing.answers_advance must be true or false, not 1"),
    ("sharing.answers_wait", 1, "sharing.answers_wait must be true or false, not 1"),
    ("sharing.literal_notices", 1, "sharing.literal_notices must be true or false, not 1"),
    (
        "sharing.threshold",
        {"constant": 3, "phases": True},
        "sharing.threshold.phases = true is not allowed here: it belongs to geometric",
    ),
    (
        "sharing",
        {"literal_notices": True, "loss_tolerant": True},
        "sharing.literal_notices: literal_notices is Algorithm 5 as printed, which trusts the network",
    ),
    (
        "sharing.threshold",
        1,
        "sharing.threshold must be { constant = 1 }, { geometric = 2 }, { geometric = 2, cap = 64",
    ),
    ("sharing.threshold", {"constant": 0}, "sharing.threshold.constant must be a whole number from 1 to "),
    ("sharing.threshold", {"constant": 1, "cap": 5}, "sharing.threshold.cap = 5 is not allowed here: a constant"),
    ("sharing.threshold", {"geometric": 1}, "sharing.threshold.geometric must be a whole number from 2 to "),
    ("sharing.threshold", {"geometric": 2, "cap": 0}, "sharing.threshold.cap must be a whole number from 1 to "),
    ("sharing.threshold", {"cap": 5}, "sharing.threshold needs exactly one of constant, geometric, per-candidate, but"),
    ("sharing.threshold", {"per-candidate": {"cap": 0}}, "sharing.threshold.per-candidate.cap must be a whole number"),
    ("sharing.threshold", {"per-candidate": {}, "cap": 5}, "sharing.threshold.cap = 5 is not allowed here: write {"),
    ("sharing.loss", 1.5, "sharing.loss must be a number in [0, 1], not 1.5"),
    ("sharing.loss", "much", "sharing.loss must be a number in [0, 1], not 'much'"),
    ("sharing.los", 0.1, "sharing.los = 0.1 is not a key that cobandit knows: did you mean sharing.loss?"),
    ("sharing.duplication", -0.1, "sharing.duplication must be a number in [0, 1], not -0.1"),
    ("sharing.reordering", True, "sharing.reordering must be a number in [0, 1], not true"),
    ("sharing.jitter", -1, "sharing.jitter must be a whole number from 0 to 1073741824, not -1"),
    ("sharing.jitter", 0.5, "sharing.jitter must be a whole number from 0 to 1073741824, not 0.5"),
    ("sharing.held_back", 0, "sharing.held_back must be a whole number from 1 to 1073741824, not 0"),
    ("sharing.partitions", [], "sharing.partitions must be a list of tables with start, stop, senders and receivers"),
    (
        "sharing.partitions",
        {"start": 1},
        "sharing.partitions must be a list of tables with start, stop, senders and receivers, at least one",
    ),
    ("sharing.partitions", [5], "sharing.partitions[0] must be a table with start or stop or senders or receivers"),
    (
        "sharing.partitions",
        [{"start": 5, "stop": 9, "senders": [0], "receivers": [0, 1]}],
        "sharing.partitions[0]: no agent can be on both sides of a partition, but [0] are",
    ),
    (
        "sharing.partitions",
        [{"start": 5, "stop": 5, "senders": [0], "receivers": [1]}],
        "sharing.partitions[0].stop must be a whole number from 6 to 1099511627776, not 5",
    ),
    (
        "sharing.partitions",
        [{"stop": 5, "senders": [0], "receivers": [1]}],
        "sharing.partitions[0].start is missing: it must be a whole number from 0 to 1099511627776",
    ),
    (
        "sharing.partitions",
        [{"start": 0, "stop": 5, "senders": [], "receivers": [1]}],
        "sharing.partitions[0].senders must be a list of positions of agents, at least one, not []",
    ),
    (
        "sharing.partitions",
        [{"start": 0, "stop": 5, "senders": [0], "receivers": [1, 3]}],
        "sharing.partitions[0].receivers[1] must be a whole number from 0 to 2, not 3",
    ),
    (
        "sharing.partitions",
        [{"start": 0, "stop": 5, "senders": [0], "receivers": [1], "one_way": "yes"}],
        "sharing.partitions[0].one_way must be true or false, not 'yes'",
    ),
    (
        "sharing.partitions",
        [{"start": 0, "stop": 5, "senders": [0], "receiver": [1]}],
        "sharing.partitions[0].receiver = [1] is not a key that cobandit knows: did you mean sharing.partitions[0].rec",
    ),
    (
        "sharing.loss_tolerant",
        1,
        "sharing.loss_tolerant must be true, false or a table with first or least or growth or tick or longest, not 1",
    ),
    (
        "sharing.loss_tolerant",
        {"first": 0},
        "sharing.loss_tolerant.first must be a positive number below 1e+300, not 0",
    ),
    (
        "sharing.loss_tolerant",
        {"tick": "1"},
        "sharing.loss_tolerant.tick must be a positive number below 1e+300, not '1'",
    ),
    (
        "sharing.loss_tolerant",
        {"fist": 1},
        "sharing.loss_tolerant.fist = 1 is not a key that cobandit knows: did you mean sharing.loss_tolerant.first?",
    ),
    ("sharing.loss_tolerant", {"growth": 0.5}, "sharing.loss_tolerant: growth must be at least 1, not 0.5"),
    (
        "sharing.loss_tolerant",
        {"first": 0.5},
        "sharing.loss_tolerant: waits must be ordered, least <= first <= longest, but are 1.0, 0.5, 65536.0",
    ),
    (
        "sharing",
        {"protocol": "ibc", "loss_tolerant": True},
        'sharing.loss_tolerant belongs to protocol "odc", but the protocol is "ibc"',
    ),
    (
        "sharing",
        {"protocol": "none", "loss_tolerant": {}},
        'sharing.loss_tolerant belongs to protocol "odc", but the protocol is "none"',
    ),
]


@pytest.mark.parametrize(("path", "value", "text"), WRONG, ids=[f"{path}={value!r:.40}" for path, value, _ in WRONG])
def test_an_error_names_the_key_the_value_and_what_is_allowed(path: str, value: object, text: str) -> None:
    with pytest.raises(LocalError) as refused:
        scenario_from_mapping(with_value(path, value))
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("horizon", "a whole number from 1 to 1099511627776"),
        ("arms", "a table, written [arms], with means, file, uniform, pays or replay"),
        ("agents", "a list of tables, each written [[agents]], at least one"),
    ],
)
def test_a_file_needs_a_horizon_arms_and_agents(key: str, allowed: str) -> None:
    content = {name: value for name, value in SMALL.items() if name != key}
    with pytest.raises(LocalError) as refused:
        scenario_from_mapping(content)
    assert str(refused.value) == f"{key} is missing: it must be {allowed}"


def test_a_trace_of_several_agents_cannot_be_repeated_and_names_its_agents(tmp_path: Path) -> None:
    (tmp_path / "slots.csv").write_text("agent,slot\nb,3\na,1\n", encoding="utf-8")
    agents: list[dict[str, Any]] = [{"count": 2, "schedule": {"trace": "slots.csv"}}]
    with pytest.raises(LocalError) as repeated:
        scenario_from_mapping({**SMALL, "agents": agents}, folder=tmp_path)
    agents[0]["schedule"]["agent"] = "c"
    with pytest.raises(LocalError) as unknown:
        scenario_from_mapping({**SMALL, "agents": agents}, folder=tmp_path)
    assert str(repeated.value) == (
        "agents[0].count = 2 is not allowed here: the trace has 2 agents; name one of them with schedule.agent"
    )
    assert str(unknown.value) == f"agents[0].schedule.agent must be an agent of {tmp_path / 'slots.csv'}: b, a, not 'c'"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError) as refused:
        read_scenario(tmp_path / "none.toml")
    assert str(refused.value) == f"cannot read {tmp_path / 'none.toml'}: No such file or directory"


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.write_bytes(b"\xef\xbb\xbf" + example().replace("\n", "\r\n").encode())
    assert read_scenario(file) == scenario_from_mapping(tomllib.loads(example()))


def test_a_key_of_twenty_thousand_parts_is_told(tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_text(".".join("a" * 20_000) + " = 1\n")
    with pytest.raises(LocalError, match=r"world.toml: a key has too many parts"):
        read_scenario(tmp_path / "world.toml")


def test_arms_from_a_device_without_an_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_text(
        'horizon = 10\narms.file = "/dev/zero"\nagents = [{ count = 1, rate = 1.0 }]\n'
    )
    with pytest.raises(LocalError, match=r"arms.file: /dev/zero has more than 67,108,864 bytes: name a smaller file"):
        read_scenario(tmp_path / "world.toml")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"horizon = ", "Invalid value (at end of document)"),
        (b"horizon = 1\nhorizon = 2", "Cannot overwrite a value (at end of document)"),
        (b'name = "\xff"', "'utf-8' codec can't decode byte 0xff"),
        (b"horizon = " + b"9" * 5000, "Exceeds the limit"),
        (b"x = " + b"[" * 100_000, "maximum recursion depth exceeded"),
    ],
)
def test_a_file_that_is_not_toml_says_where(content: bytes, what: str, tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.write_bytes(content)
    with pytest.raises(LocalError) as refused:
        read_scenario(file)
    assert str(refused.value).startswith(f"{file} is not valid TOML: {what}")


def test_an_error_in_a_file_begins_with_the_name_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.write_text(example().replace("rate = 0.7", "rate = 7"), encoding="utf-8")
    with pytest.raises(LocalError) as refused:
        read_scenario(file)
    assert str(refused.value) == f"{file}: agents[1].rate must be a number in [0, 1], not 7"


def test_a_value_that_is_long_is_shortened() -> None:
    with pytest.raises(LocalError) as refused:
        scenario_from_mapping(with_value("agents[1].rate", list(range(10_000))))
    assert len(str(refused.value)) < 200


# What is written down.


def test_what_is_written_reads_as_the_same_world() -> None:
    file = scenario_from_mapping(tomllib.loads(example()))
    text = scenario_to_toml(file.scenario, trials=file.trials, seed=file.seed)
    again = scenario_from_mapping(tomllib.loads(text))
    assert again == file
    assert scenario_to_toml(again.scenario, trials=again.trials, seed=again.seed) == text


@pytest.mark.parametrize(
    "sharing",
    [
        silent(),
        immediate(Constant(3)),
        on_demand(PerCandidate(cap=7, answers_advance=False)),
        on_demand(Geometric(2, cap=9, answers_wait=False, phases=True)),
        on_demand(literal_notices=True),
        on_demand(PerCandidate()),
        on_demand(Geometric(3)),
        on_demand(Geometric(3), loss_tolerant=True),
        on_demand(loss_tolerant=RetryTimers(first=8, least=2, growth=1, tick=7, longest=9)),
    ],
)
@pytest.mark.parametrize("confidence", ["own", "own+2", "observed", Horizon(77)])
def test_every_policy_and_every_sharing_can_be_written(sharing: Sharing, confidence: Confidence) -> None:
    world = Scenario(
        100,
        Arms(('"quoted"\n\x7f\t\\', "é"), (1e-9, 1.0)),
        (AgentSpec(Halving(0.25)), AgentSpec(Slots(()))),
        BuiltIn("kl-ucb", 1.0, confidence),
        sharing,
        delay=3,
    )
    assert scenario_from_mapping(tomllib.loads(scenario_to_toml(world))) == ScenarioFile(world)
    assert scenario_from_mapping(scenario_to_mapping(world)) == ScenarioFile(world)


def test_what_an_agent_would_do_after_the_horizon_is_not_written() -> None:
    """The world that is read again has another text and the same runs."""
    world = Scenario(
        100,
        Arms.of([0.2, 0.8]),
        (
            AgentSpec(Slots((5, 100, 200))),
            AgentSpec(Rate(0.5), start=100, stop=300),
            AgentSpec(Rate(0.5), start=50, stop=101),
            AgentSpec(Rate(0.5), stop=100, absences=(Absence(5, 9), Absence(20, 100), Absence(150, 160))),
            AgentSpec(Rate(0.9), start=700, absences=(Absence(30, 60),)),
        ),
    )
    again = scenario_from_mapping(tomllib.loads(scenario_to_toml(world))).scenario
    assert again.agents == (
        AgentSpec(Slots((5,))),
        AgentSpec(Slots(())),
        AgentSpec(Rate(0.5), start=50),
        AgentSpec(Rate(0.5), stop=100, absences=(Absence(5, 9), Absence(20))),
        AgentSpec(Slots(()), absences=(Absence(30, 60),)),
    )
    first, second = list[Row](), list[Row]()
    run(world, seed=1, trace=first)
    run(again, seed=1, trace=second)
    assert first == second


@pytest.mark.parametrize(
    ("faults", "written"),
    [
        (Faults(), {}),
        (Faults(held_back=16), {}),
        (Faults(loss=0.1), {"loss": 0.1}),
        (
            Faults(0.1, 0.2, 3, 0.4, 5),
            {"loss": 0.1, "duplication": 0.2, "jitter": 3, "reordering": 0.4, "held_back": 5},
        ),
        (
            Faults(partitions=(Partition(5, 9, (0,), (1, 2)), Partition(7, 8, (2,), (1,), one_way=True))),
            {
                "partitions": [
                    {"start": 5, "stop": 9, "senders": [0], "receivers": [1, 2], "one_way": False},
                    {"start": 7, "stop": 8, "senders": [2], "receivers": [1], "one_way": True},
                ]
            },
        ),
    ],
)
def test_faults_can_be_written_and_none_are_not(faults: Faults, written: dict[str, object]) -> None:
    world = Scenario(100, Arms.of([0.5]), (AgentSpec(Rate(0.5)),) * 3, BuiltIn("ucb", 3.0), faults=faults)
    content = scenario_to_mapping(world)
    assert isinstance(content["sharing"], dict)
    usual = {"protocol": "odc", "threshold": {"constant": 1}, "answers_advance": True, "delay": 0}
    assert content["sharing"] == {**usual, **written}
    assert scenario_from_mapping(content) == ScenarioFile(world)
    assert scenario_from_mapping(tomllib.loads(scenario_to_toml(world))) == ScenarioFile(world)


class EveryTenth:
    def clock(self, keys: ClockKeys) -> Clock:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda: {"policy": lambda arms, seed: Thompson(arms, seed=seed)}, "policy"),
        (lambda: {"sharing": on_demand(FromFunction(lambda c: c))}, "sharing.threshold"),
        (lambda: {"sharing": Sharing(Rules("own"), Constant(1))}, "sharing.protocol"),
        (lambda: {"agents": (AgentSpec(Rate(0.5)), AgentSpec(EveryTenth()))}, "agents[1].schedule"),
    ],
)
def test_what_is_your_own_cannot_be_written(change: Callable[[], dict[str, Any]], key: str) -> None:
    world = Scenario(**{"horizon": 100, "arms": Arms.of([0.5]), "agents": (AgentSpec(Rate(0.5)),), **change()})
    with pytest.raises(LocalError) as refused:
        scenario_to_toml(world)
    assert str(refused.value).startswith(f"{key} is ")
    assert str(refused.value).endswith(", which is your own: a scenario file cannot hold it")
