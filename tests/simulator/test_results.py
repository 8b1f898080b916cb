"""Many trials: the same bits wherever they run, resumed where they stopped, tidy when they are done."""

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

import cobandit
from cobandit import UCB, Constant, LocalError, immediate, on_demand, silent
from cobandit.scenario import (
    AgentSpec,
    Arms,
    BuiltIn,
    IndexFunction,
    Rate,
    Relays,
    Scenario,
    scenario_from_mapping,
    scenario_to_toml,
)
from cobandit.simulator import run
from cobandit.simulator import trials as trials_module
from cobandit.simulator.results import Results
from cobandit.simulator.simulate import simulate
from cobandit.values.provenance import source_hash
from cobandit.values.quantum import BERNOULLI

WORLD = Scenario(
    120,
    Arms.of([0.2, 0.5, 0.8]),
    (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.2)), AgentSpec(Rate(0.2))),
    BuiltIn("ucb", alpha=3.0),
)
PAIR = {"on demand": WORLD, "alone": replace(WORLD, sharing=silent())}
DETAILS = ("pulls", "links", "agents_over_time")
FRAMES = ("trials", "agents", "over_time", "arms", *DETAILS)


def own_policy(arms: Sequence[str], _seed: int) -> UCB:
    return UCB(arms, quantum=BERNOULLI)


def small(world: Scenario | dict[str, Scenario] = WORLD, **options: Any) -> Results:
    return simulate(world, **{"trials": 4, "seed": 7, "engine": "reference", **options})


def test_results_tell_what_they_are_about_and_not_their_frames() -> None:
    pair = small(PAIR, trials=2)
    assert repr(pair) == "<Results of 'on demand', 'alone': trials 2, seed 7, engine reference>"
    many = replace(pair, about=replace(pair.about, scenarios={name: {} for name in "abcde"}))
    assert repr(many) == "<Results of 5 scenarios: trials 2, seed 7, engine reference>"


def assert_equal(got: Results, ref: Results) -> None:
    for frame in FRAMES:
        assert_frame_equal(getattr(got, frame), getattr(ref, frame), check_exact=True)


def bits(results: Results) -> list[bytes]:
    """The columns of all frames, bit by bit."""
    frames = [getattr(results, frame) for frame in FRAMES]
    return [
        frame[column].to_numpy().tobytes() if frame[column].dtype.kind in "if" else "\n".join(frame[column]).encode()
        for frame in frames
        for column in frame.columns
    ]


# The frames.


def test_a_row_per_trial_per_agent_and_per_checkpoint_is_what_the_runs_measured() -> None:
    results = small(PAIR, trials=2, checkpoints=(60, 120), keep=DETAILS)
    refs = [
        (name, trial, run(world, seed=7, trial=trial, checkpoints=(60, 120)))
        for name, world in PAIR.items()
        for trial in range(2)
    ]
    assert results.trials.to_dict("records") == [
        {
            "scenario": name,
            "trial": trial,
            "decisions": sum(ref.decisions),
            "shares": ref.shares,
            "notices": ref.notices,
            "retries": ref.retries,
            "acknowledgements": ref.acknowledgements,
            "messages": ref.messages,
            "agent_rounds": ref.communication.agent_rounds,
            "bytes": ref.communication.bytes,
            "definition_bits": ref.communication.definition_bits,
            "staleness": ref.staleness,
            "group_regret": ref.group_regret,
            "realised_regret": ref.realised_regret,
            "dynamic_regret": ref.dynamic_regret,
        }
        for name, trial, ref in refs
    ]
    assert results.agents.to_dict("records") == [
        {
            "scenario": name,
            "trial": trial,
            "agent": agent,
            "decisions": ref.decisions[agent],
            "regret": ref.regrets[agent],
            "realised_regret": ref.realised_regrets[agent],
            "dynamic_regret": ref.dynamic_regrets[agent],
            "shares_sent": ref.communication.shares[agent].sum(),
            "shares_received": ref.communication.shares[:, agent].sum(),
            "notices_sent": ref.communication.notices[agent].sum(),
        }
        for name, trial, ref in refs
        for agent in range(3)
    ]
    assert results.over_time.to_dict("records") == [
        {
            "scenario": name,
            "trial": trial,
            "slot": slot,
            "decisions": ref.pulls_at[place].sum(),
            "group_regret": ref.group_regret_at[place],
            "dynamic_regret": ref.dynamic_regret_at[place],
            "shares": ref.shares_at[place],
            "messages": ref.messages_at[place],
            "agent_rounds": ref.agent_rounds_at[place],
            "bytes": ref.bytes_at[place],
            "staleness": ref.lacking_at[place] / ref.pulls_at[place].sum(),
        }
        for name, trial, ref in refs
        for place, slot in enumerate((60, 120))
    ]
    assert results.arms.to_dict("records") == [
        {
            "scenario": name,
            "trial": trial,
            "arm": str(arm),
            "pulls": ref.pulls[:, arm].sum(),
            "rewards": ref.rewards[:, arm].sum(),
        }
        for name, trial, ref in refs
        for arm in range(3)
    ]
    assert results.pulls.to_dict("records") == [
        {
            "scenario": name,
            "trial": trial,
            "agent": agent,
            "arm": str(arm),
            "pulls": ref.pulls[agent, arm],
            "rewards": ref.rewards[agent, arm],
        }
        for name, trial, ref in refs
        for agent in range(3)
        for arm in range(3)
        if ref.pulls[agent, arm]
    ]
    assert results.links.to_dict("records") == [
        {
            "scenario": "on demand",
            "trial": trial,
            "sender": sender,
            "receiver": receiver,
            "shares": ref.communication.shares[sender, receiver],
            "notices": 0,
            "retries": 0,
            "acknowledgements": 0,
        }
        for name, trial, ref in refs
        for sender in range(3)
        for receiver in range(3)
        if ref.communication.shares[sender, receiver]
    ]
    assert results.agents_over_time.to_dict("records") == [
        {
            "scenario": name,
            "trial": trial,
            "slot": slot,
            "agent": agent,
            "decisions": ref.pulls_at[place, agent].sum(),
            "regret": pytest.approx((ref.pulls_at[place, agent] * ref.gaps[agent]).sum()),
        }
        for name, trial, ref in refs
        for place, slot in enumerate((60, 120))
        for agent in range(3)
    ]


def test_the_last_checkpoint_tells_what_the_whole_run_tells() -> None:
    results = small(PAIR, checkpoints=(120,))
    columns = ["shares", "messages", "agent_rounds", "bytes", "staleness", "decisions", "group_regret"]
    assert_frame_equal(results.over_time[columns], results.trials[columns])
    assert (results.trials["agent_rounds"] <= results.trials["messages"]).all()


def test_links_with_relays_go_by_positions_and_relays_come_after_the_agents() -> None:
    links = small(replace(WORLD, topology=Relays(2)), trials=1, keep=("links",)).links
    assert set(zip(links["sender"], links["receiver"], strict=True)) == {
        (0, 3), (3, 0), (1, 4), (4, 1), (2, 3), (3, 2), (3, 4), (4, 3)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("world", "keep", "text"),
    [
        (WORLD, ("everything",), "keep 'everything' is not one of pulls, links, agents_over_time"),
        (WORLD, ("agents_over_time",), "agents_over_time has a row for each checkpoint: give checkpoints=50, say"),
        (
            replace(WORLD, agents=(AgentSpec(Rate(0.5)),) * 500),
            ("links",),
            "links would have up to 250,000 rows per trial, more than 200,000: leave it out of keep",
        ),
    ],
)
def test_a_frame_that_cannot_be_kept_is_refused_before_anything_runs(
    world: Scenario, keep: tuple[str, ...], text: str, ran: list[tuple[str, int]]
) -> None:
    with pytest.raises(LocalError) as refused:
        small(world, keep=keep)
    assert str(refused.value).startswith(text)
    assert ran == []


def test_counts_are_whole_numbers_and_the_frames_are_there_without_checkpoints() -> None:
    results = small()
    kinds = {
        frame: {
            column: kind.kind
            for column, kind in getattr(results, frame).dtypes.items()
            if column not in ("scenario", "arm")
        }
        for frame in FRAMES
    }
    assert kinds == {
        "trials": {
            "trial": "i",
            "decisions": "i",
            "shares": "i",
            "notices": "i",
            "retries": "i",
            "acknowledgements": "i",
            "messages": "i",
            "agent_rounds": "i",
            "bytes": "i",
            "definition_bits": "f",
            "staleness": "f",
            "group_regret": "f",
            "realised_regret": "f",
            "dynamic_regret": "f",
        },
        "agents": {
            "trial": "i",
            "agent": "i",
            "decisions": "i",
            "regret": "f",
            "realised_regret": "f",
            "dynamic_regret": "f",
            "shares_sent": "i",
            "shares_received": "i",
            "notices_sent": "i",
        },
        "over_time": {
            "trial": "i",
            "slot": "i",
            "decisions": "i",
            "group_regret": "f",
            "dynamic_regret": "f",
            "shares": "i",
            "messages": "i",
            "agent_rounds": "i",
            "bytes": "i",
            "staleness": "f",
        },
        "arms": {"trial": "i", "pulls": "i", "rewards": "f"},
        "pulls": {"trial": "i", "agent": "i", "pulls": "i", "rewards": "f"},
        "links": {
            "trial": "i",
            "sender": "i",
            "receiver": "i",
            "shares": "i",
            "notices": "i",
            "retries": "i",
            "acknowledgements": "i",
        },
        "agents_over_time": {"trial": "i", "slot": "i", "agent": "i", "decisions": "i", "regret": "f"},
    }
    assert [len(getattr(results, frame)) for frame in FRAMES] == [4, 12, 0, 12, 0, 0, 0]


def test_a_comparison_is_paired() -> None:
    trials = small(PAIR).trials
    decisions = [trials.loc[trials["scenario"] == name, "decisions"].tolist() for name in PAIR]
    assert decisions[0] == decisions[1]
    assert len(set(decisions[0])) > 1


def test_a_summary_has_mean_sd_and_interval_of_every_quantity() -> None:
    results = small(PAIR)
    summary = results.summary()
    assert list(summary) == ["on demand", "alone"]
    assert {name: list(quantities) for name, quantities in summary.items()} == {
        name: [
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
        ]
        for name in PAIR
    }
    shares = results.trials.loc[results.trials["scenario"] == "on demand", "shares"]
    half = 3.182446305284 * shares.std() / math.sqrt(4)
    assert summary["on demand"]["shares"] == pytest.approx(
        {"mean": shares.mean(), "sd": shares.std(), "low": shares.mean() - half, "high": shares.mean() + half}
    )
    assert summary["alone"]["shares"] == {"mean": 0.0, "sd": 0.0, "low": 0.0, "high": 0.0}


def test_a_number_of_checkpoints_is_spread_evenly_and_ends_at_the_horizon() -> None:
    assert small(trials=1, checkpoints=5).over_time["slot"].tolist() == [24, 48, 72, 96, 120]
    assert small(trials=1, checkpoints=[120, 0, 50, 50]).over_time["slot"].tolist() == [0, 50, 120]


def test_both_engines_give_the_same_frames() -> None:
    ref = small(PAIR, trials=2, checkpoints=3, keep=DETAILS)
    got = small(PAIR, trials=2, checkpoints=3, keep=DETAILS, engine="compiled")
    assert bits(got) == bits(ref)
    assert (ref.about.engine, got.about.engine) == ("reference", "compiled")


@pytest.mark.parametrize(
    "where",
    [
        lambda: {"workers": 1},
        lambda: {"workers": 3},
        lambda: {"executor": ThreadPoolExecutor(2)},
        lambda: {"executor": ProcessPoolExecutor(2, mp_context=get_context("spawn"))},
    ],
    ids=["one worker", "three workers", "threads", "processes"],
)
def test_the_same_seed_gives_the_same_bits_wherever_it_runs(where: Callable[[], dict[str, Any]]) -> None:
    ref = small(PAIR, workers=2, checkpoints=2, keep=DETAILS)
    options = where()
    got = small(PAIR, checkpoints=2, keep=DETAILS, **options)
    if "executor" in options:
        options["executor"].shutdown()
    assert bits(got) == bits(ref)
    assert bits(small(PAIR, seed=8, checkpoints=2)) != bits(ref)


def test_a_policy_of_your_own_runs_on_the_readable_engine_unless_it_is_an_index() -> None:
    own = replace(WORLD, policy=own_policy)
    results = simulate({"own": own}, trials=1, seed=1)
    assert results.about.engine == "reference"
    assert results.about.scenarios["own"]["policy"] == {
        "python": f"{__name__}.own_policy",
        "source": source_hash(own_policy),
    }
    index = replace(WORLD, policy=IndexFunction(lambda mean, count, budget: mean + budget / count))
    assert trials_module.engine_for(index, "auto") == "compiled"


def test_a_threshold_class_of_your_own_runs_on_the_readable_engine() -> None:
    class Two(Constant):
        pass

    class Own:
        answers_advance = True

        def at(self, share_number: int, candidate_count: int) -> int:
            return 2

    assert trials_module.engine_for(replace(WORLD, sharing=on_demand(Own())), "auto") == "reference"
    assert trials_module.engine_for(replace(WORLD, sharing=immediate(Two(2))), "auto") == "compiled"


# Scenario files.


def test_a_file_gives_its_name_its_trials_and_its_seed(tmp_path: Path) -> None:
    file = tmp_path / "my world.toml"
    file.write_text(scenario_to_toml(WORLD, trials=3, seed=7), encoding="utf-8")
    results = simulate(file, engine="reference")
    assert (list(results.about.scenarios), results.about.trials, results.about.seed) == (["my world"], 3, 7)
    ref = small({"my world": WORLD}, trials=3)
    assert_equal(results, ref)
    assert_equal(simulate(str(file), trials=4, seed=8, engine="reference"), small({"my world": WORLD}, seed=8))


def test_without_numbers_there_are_thirty_trials_from_seed_one() -> None:
    about = simulate(replace(WORLD, horizon=1), engine="reference").about
    assert (about.trials, about.seed, list(about.scenarios)) == (30, 1, ["scenario"])


def test_files_that_disagree_need_a_word(tmp_path: Path) -> None:
    for seed in (1, 2):
        (tmp_path / f"{seed}.toml").write_text(scenario_to_toml(WORLD, trials=2, seed=seed), encoding="utf-8")
    both = {"a": tmp_path / "1.toml", "b": tmp_path / "2.toml"}
    with pytest.raises(LocalError, match=r"the scenario files disagree on seed \(1, 2\): say which"):
        simulate(both)
    assert simulate(both, seed=5, engine="reference").about.seed == 5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"trials": 0}, "trials must be a whole number from 1 to 10000000, not 0"),
        ({"seed": -1}, "seed must be a whole number from 0 to 9223372036854775807, not -1"),
        ({"workers": 0}, "workers must be a whole number of at least 1, not 0"),
        ({"engine": "fast"}, "engine 'fast' is not one of auto, compiled, reference"),
        ({"checkpoints": (121,)}, "a checkpoint must be a whole number from 0 to 120, not 121"),
        ({"checkpoints": -1}, "the number of checkpoints must be a whole number from 1 to 120, not -1"),
        ({"world": {}}, "there is no scenario to simulate: give at least one"),
        ({"world": 5}, "a scenario is a Scenario or the path of a scenario file, not 5"),
        ({"world": "none.toml"}, "cannot read none.toml: No such file or directory"),
    ],
)
def test_what_cannot_be_simulated_is_said_before_anything_runs(
    options: dict[str, Any], text: str, ran: list[tuple[str, int]]
) -> None:
    with pytest.raises(LocalError) as refused:
        small(**{"world": WORLD, **options})
    assert str(refused.value) == text
    assert ran == []


# On disk.


def test_saved_results_are_loaded_bit_by_bit(tmp_path: Path) -> None:
    results = small(PAIR, checkpoints=2, keep=DETAILS)
    results.save(tmp_path / "saved")
    again = Results.load(tmp_path / "saved")
    assert_equal(again, results)
    assert bits(again) == bits(results)
    assert again.about == results.about
    assert again.summary() == results.summary()


@pytest.mark.parametrize("frame", FRAMES)
def test_a_parquet_file_carries_its_scenarios_its_seed_and_its_versions(frame: str, tmp_path: Path) -> None:
    results = small(PAIR, checkpoints=2, keep=DETAILS, out=tmp_path)
    about = json.loads(pq.read_schema(tmp_path / f"{frame}.parquet").metadata[b"cobandit"])
    worlds = {name: scenario_from_mapping(world).scenario for name, world in about.pop("scenarios").items()}
    assert worlds == PAIR
    assert about == {
        "trials": 4,
        "seed": 7,
        "checkpoints": [60, 120],
        "engine": "reference",
        "versions": {
            "cobandit": cobandit.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
        },
        "keep": list(DETAILS),
        "first_trial": 0,
        "parameters": {},
    }
    assert_frame_equal(pd.read_parquet(tmp_path / f"{frame}.parquet"), getattr(results, frame))


def test_the_files_are_the_same_bits_on_one_worker_and_on_many(tmp_path: Path) -> None:
    for workers in (1, 3):
        small(PAIR, checkpoints=2, keep=DETAILS, workers=workers, out=tmp_path / str(workers))
    files = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("1", "3")]
    for held in files:
        held["journal.jsonl"] = b"".join(sorted(held["journal.jsonl"].splitlines(keepends=True)))
    assert files[0] == files[1]


def test_a_finished_run_is_not_run_again(tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    ref = small(PAIR, out=tmp_path)
    ran.clear()
    assert_equal(small(PAIR, out=tmp_path), ref)
    assert ran == []


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(PAIR, out=tmp_path, workers=1, progress=interrupt)
    with pytest.raises(LocalError, match="holds an unfinished run: run the same again to finish it"):
        Results.load(tmp_path)
    kept = {(json.loads(line)["name"], json.loads(line)["trial"]) for line in journal_lines(tmp_path)}
    ran.clear()
    told: list[tuple[int, int]] = []
    got = small(PAIR, out=tmp_path, workers=1, progress=lambda done, total: told.append((done, total)))
    assert len(kept) == 3
    assert set(ran) == {(name, trial) for name in PAIR for trial in range(4)} - kept
    assert told == [(done, 8) for done in range(3, 9)]
    assert_equal(got, small(PAIR))
    assert_equal(Results.load(tmp_path), got)


def test_an_interrupted_run_does_not_go_on_with_the_other_engine(tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(out=tmp_path, workers=1, progress=interrupt)
    ran.clear()
    with pytest.raises(LocalError, match=r"holds another run \(engine 'reference' in place of 'compiled'\)"):
        small(out=tmp_path, engine="compiled")
    assert ran == []
    assert small(out=tmp_path).about.engine == "reference"


def test_more_trials_are_added_to_those_that_are_there(tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    small(out=tmp_path, trials=2)
    ran.clear()
    got = small(out=tmp_path, trials=5)
    assert sorted(ran) == [("scenario", 2), ("scenario", 3), ("scenario", 4)]
    assert_equal(got, small(trials=5))
    assert_equal(Results.load(tmp_path), got)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"seed": 8}, r"holds another run \(seed 7 in place of 8\)"),
        ({"world": replace(WORLD, horizon=121)}, r"holds another run \(scenarios\)"),
        ({"world": {"w": WORLD}}, r"holds another run \(scenarios, order\)"),
        ({"checkpoints": 2}, r"holds another run \(checkpoints\)"),
        ({"keep": ("links",)}, r"holds another run \(keep\)"),
        ({"first_trial": 2}, r"holds another run \(first_trial\)"),
        ({"engine": "compiled"}, r"holds another run \(engine 'reference' in place of 'compiled'\)"),
        ({"trials": 3}, "holds the same run with 4 trials, more than 3"),
    ],
)
def test_a_folder_with_another_run_is_left_as_it_is(
    other: dict[str, Any], text: str, tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    results = small(out=tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    ran.clear()
    with pytest.raises(LocalError, match=text):
        small(**{"world": WORLD, **other}, out=tmp_path)
    assert ran == []
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert_equal(Results.load(tmp_path), results)


def test_a_folder_with_more_frames_is_another_run(tmp_path: Path) -> None:
    small(out=tmp_path, keep=("links",))
    with pytest.raises(LocalError, match=r"holds another run \(keep\)"):
        small(out=tmp_path)


def test_a_run_with_a_lambda_is_kept_but_not_gone_on_with(tmp_path: Path) -> None:
    own = replace(WORLD, policy=lambda arms, _: own_policy(arms, 0))
    results = small(own, out=tmp_path)
    assert_equal(Results.load(tmp_path), results)
    with pytest.raises(
        LocalError, match=r"with a lambda, or .* nobody can tell whether it is the same: give it a name"
    ):
        small(own, out=tmp_path)


def test_a_run_with_a_policy_of_your_own_goes_on_unless_its_source_is_another(
    tmp_path: Path, ran: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = replace(WORLD, policy=own_policy)
    small(own, trials=2, out=tmp_path)
    ran.clear()
    assert_equal(small(own, out=tmp_path), small(own))
    assert ran[:2] == [("scenario", 2), ("scenario", 3)]
    monkeypatch.setattr(sys.modules[__name__], "BERNOULLI", 0.5)
    with pytest.raises(LocalError, match=r"holds another run \(scenarios\)"):
        small(own, out=tmp_path)


def test_results_of_the_first_format_are_loaded_and_not_gone_on_with(tmp_path: Path) -> None:
    before = small(checkpoints=2, out=tmp_path)
    fewer = {
        "trials": before.trials.drop(columns=["agent_rounds", "definition_bits"]),
        "agents": before.agents,
        "over_time": before.over_time[["scenario", "trial", "slot", "group_regret", "shares"]],
    }
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "arms.parquet").unlink()
    for name, frame in fewer.items():
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
    hashes = {
        f"{name}.parquet": hashlib.sha256((tmp_path / f"{name}.parquet").read_bytes()).hexdigest() for name in fewer
    }
    for key in ("keep", "first_trial", "parameters"):
        del manifest["about"][key]
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "format": 1, "files": hashes}), encoding="utf-8")
    journal = (tmp_path / "journal.jsonl").read_text(encoding="utf-8")
    (tmp_path / "journal.jsonl").write_text(journal.replace('"format":2', '"format":1'), encoding="utf-8")
    again = Results.load(tmp_path)
    for name, frame in fewer.items():
        assert_frame_equal(getattr(again, name), frame)
    assert (len(again.arms), len(again.links), again.about) == (0, 0, before.about)
    assert "agent_rounds" not in again.summary()["scenario"]
    assert "agent-rounds" not in again.report()
    with pytest.raises(LocalError, match="was written by another version of cobandit: choose another folder"):
        small(checkpoints=2, trials=5, out=tmp_path)


KILLED = """
import os, signal, sys
from pathlib import Path
from cobandit.scenario import scenario_from_mapping
from cobandit.simulator import store
from cobandit.simulator.simulate import simulate
import tomllib

point, out = sys.argv[1], Path(sys.argv[2])

def killed_at(name, owner, attribute):
    call = getattr(owner, attribute)
    def maybe(*arguments):
        if name == point and (attribute != "_write_all" or b'"trial":2' in arguments[1]):
            if attribute == "_write_all":
                os.write(arguments[0], arguments[1][:40])
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments)
    setattr(owner, attribute, maybe)

killed_at("in a line of the journal", store, "_write_all")
killed_at("before a frame is renamed", Path, "replace")
killed_at("after the frames, before the manifest", store, "_sync_folder")
world = scenario_from_mapping(tomllib.loads(sys.stdin.read())).scenario
simulate(world, trials=4, seed=7, engine="reference", workers=1, out=out)
"""


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("in a line of the journal", 2),
        ("before a frame is renamed", 0),
        ("after the frames, before the manifest", 0),
    ],
)
def test_a_killed_run_never_reads_as_complete_and_can_be_finished(
    point: str, left: int, tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, point, str(tmp_path / "out")],
        input=scenario_to_toml(WORLD).encode(),
        check=False,
        env=os.environ,
    )
    assert killed.returncode == -9
    with pytest.raises(LocalError, match="holds an unfinished run: run the same again to finish it"):
        Results.load(tmp_path / "out")
    got = small(out=tmp_path / "out")
    assert len(ran) == left
    assert_equal(got, small())
    assert_equal(Results.load(tmp_path / "out"), got)


def journal_lines(folder: Path) -> list[str]:
    return (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()[1:]


# Pictures.


@pytest.mark.parametrize("checkpoints", [(), 4])
@pytest.mark.parametrize("trials", [1, 3])
def test_pictures_are_drawn_with_and_without_checkpoints(checkpoints: int, trials: int, tmp_path: Path) -> None:
    results = small(PAIR, trials=trials, checkpoints=checkpoints)
    for name, plot in (("regret", results.plot_regret), ("communication", results.plot_communication)):
        figure = plot(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        (axes,) = figure.axes
        shown = (
            axes.get_legend_handles_labels()[1] if checkpoints else [text.get_text() for text in axes.get_xticklabels()]
        )
        assert shown == list(PAIR)


def test_a_line_over_time_is_the_mean_over_trials() -> None:
    results = small(checkpoints=3)
    (line,) = results.plot_communication().axes[0].lines
    means = results.over_time.groupby("slot")["shares"].mean()
    assert np.asarray(line.get_xdata()).tolist() == [40, 80, 120]
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx(means.tolist())


@pytest.mark.parametrize("path", ["none/picture.png", "picture.unknown"])
def test_a_picture_that_cannot_be_written_is_named(path: str, tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=f"cannot write .*{path}"):
        small(trials=1).plot_regret(tmp_path / path)


def test_without_matplotlib_a_picture_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    results = small(trials=1)
    monkeypatch.delitem(sys.modules, "cobandit.simulator.charts", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LocalError, match=r"a plot needs the extra \"sim\": pip install 'cobandit\[sim\]'"):
        results.plot_regret()


# The door.


def test_the_core_is_imported_without_arrays_frames_or_a_compiler() -> None:
    program = (
        "import sys, cobandit; print(sorted({'numpy', 'numba', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_simulate_and_results_are_at_the_front_door() -> None:
    assert cobandit.simulate is simulate
    assert cobandit.Results is Results
    with pytest.raises(AttributeError, match="module 'cobandit' has no attribute 'simulat'"):
        _ = cobandit.simulat  # type: ignore[attr-defined]


def test_without_pandas_the_front_door_says_what_to_install() -> None:
    program = "import sys; sys.modules['pandas'] = None; import cobandit; cobandit.simulate"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    said = "MissingExtraError: cobandit.simulate needs the extra \"sim\": pip install 'cobandit[sim]'\n"
    assert done.stderr.endswith(said)
