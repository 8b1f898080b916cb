"""Protocols that somebody wrote without touching the package: short, right, in results and reports like any other."""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cobandit
from cobandit.protocols import plug_in, register
from cobandit.protocols.registry import PLUG_INS
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario, scenario_from_mapping
from cobandit.simulator.report import report_html
from cobandit.studies.explanation import explain_plugged
from cobandit.testing import check_protocol

FOLDER = Path(__file__).parent.parent.parent / "examples" / "protocols"
STRANGERS = {"push_sum": "PushSum", "token_ring": "TokenRing", "random_leader": "RandomLeader"}
LONGEST = 60


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """Let every test begin and end with the protocols that come with cobandit."""
    before = dict(PLUG_INS)
    yield
    PLUG_INS.clear()
    PLUG_INS.update(before)


def build_of(file: str) -> type[Any]:
    found: type[Any] = runpy.run_path(str(FOLDER / f"{file}.py"))[STRANGERS[file]]
    return found


def test_every_file_of_the_folder_is_looked_at() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(STRANGERS)


@pytest.mark.parametrize("file", STRANGERS)
def test_it_is_short_and_keeps_every_promise(file: str) -> None:
    assert len((FOLDER / f"{file}.py").read_text(encoding="utf-8").splitlines()) <= LONGEST
    check_protocol(build_of(file))


@pytest.mark.parametrize("file", STRANGERS)
@pytest.mark.parametrize("is_registered", [True, False])
def test_it_is_in_results_and_reports(file: str, *, is_registered: bool) -> None:
    build = build_of(file)
    word, told = build.about.word, build.about.told
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.3, 0.1))
    world = Scenario(300, Arms.of([0.2, 0.8]), agents, sharing=plug_in(build))
    if is_registered:
        register(build)
    results = cobandit.simulate(world, trials=2)
    written = results.about.scenarios["scenario"]["sharing"]["protocol"]
    assert written == word if is_registered else written["told"] == told
    assert results.trials["shares"].min() > 0
    assert ("staleness" in results.summary()["scenario"]) == build.about.observations
    assert told in report_html(results)
    if is_registered:
        assert scenario_from_mapping(results.about.scenarios["scenario"]).scenario.plugged == world.plugged


@pytest.mark.parametrize("file", STRANGERS)
def test_it_is_explained_by_its_words_and_what_happened(file: str) -> None:
    build = build_of(file)
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.3))
    world = Scenario(100, Arms.of([0.2, 0.8]), agents, sharing=plug_in(build))
    explanation = explain_plugged(world, agents=(0, 1), title="a world")
    page = explanation.html()
    assert build.about.told in page
    assert "slot 0: 0 pulls 0" in page
    assert sum(explanation.shares) > 0
