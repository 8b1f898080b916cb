"""Arms in scenario files: ranges, ways to pay and changes, read, written and read again."""

from pathlib import Path

import pytest

from cobandit.scenario import (
    AgentSpec,
    Arms,
    Bernoulli,
    Beta,
    Discrete,
    Linear,
    Normal,
    OwnReward,
    Rate,
    Replay,
    Scenario,
    Sinusoid,
    Switches,
    Walk,
    read_scenario,
    scenario_to_toml,
)
from cobandit.values.errors import LocalError

BEGIN, END = "horizon = 100\n", "\n[[agents]]\nrate = 0.5\n"


def read(folder: Path, rewards: str, arms: str) -> Arms:
    file = folder / "world.toml"
    file.write_text(f"{BEGIN}{rewards}\n[arms]\n{arms}{END}", encoding="utf-8")
    return read_scenario(file).scenario.arms


ARMS = [
    Arms.of([0.5, 2.0], rewards=(-1, 5)),
    Arms.of([0.5, 2.0], rewards=(-1, 5), pays=Beta(4.0), changes=Walk(0.1, every=3, seed=2)),
    Arms.of([0.5, 0.2], pays=(Normal(0.1), Bernoulli()), changes=Switches(((5, (0.1, 0.2)), (9, (0.3, 0.3))))),
    Arms.of([0.5, 0.2], pays=Normal(0.1), changes=Linear((0.2, 0.5), start=3, stop=50, every=2)),
    Arms.of([0.5, 0.2], changes=Linear((0.2, 0.5))),
    Arms.of([0.5, 0.2], changes=Sinusoid((0.2, 0.1), 40.0, (0.0, 1.0), 5)),
    Arms.of([0.5, 0.2], changes=Sinusoid(0.1, 40.0)),
    Arms.paying([Discrete((0.0, 5.0), (0.75, 0.25)), Replay((1.0, 2.0))], ["x", "y"], rewards=(0, 5)),
    Arms.paying([Replay((1.0, 2.0))] * 2, rewards=(0, 5)),
    Arms.of([1.25, 0.2], rewards=(0, 5), pays=(Discrete((0.0, 5.0), (0.75, 0.25)), Bernoulli())),
]


@pytest.mark.parametrize("arms", ARMS, ids=lambda arms: repr(arms.pays)[:40])
def test_what_is_written_is_read_again(arms: Arms, tmp_path: Path) -> None:
    world = Scenario(100, arms, (AgentSpec(Rate(0.5)),))
    file = tmp_path / "world.toml"
    file.write_text(scenario_to_toml(world), encoding="utf-8")
    assert read_scenario(file).scenario.arms == arms


def test_files_of_before_are_written_as_before() -> None:
    written = scenario_to_toml(Scenario(100, Arms.of([0.5]), (AgentSpec(Rate(0.5)),)))
    assert "rewards" not in written
    assert "pays" not in written
    assert "changes" not in written


def test_a_function_of_your_own_has_no_place_in_a_file() -> None:
    world = Scenario(100, Arms.of([0.5], pays=OwnReward(max)), (AgentSpec(Rate(0.5)),))
    with pytest.raises(LocalError, match=r"arms.pays is .* which is your own: a scenario file cannot hold it"):
        scenario_to_toml(world)


def test_a_log_and_a_course_come_from_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,reward\nred,1.5\nblue,0\nred,2.5\n", encoding="utf-8")
    assert read(tmp_path, "rewards = [0, 3]", 'replay = "log.csv"') == Arms.replay(tmp_path / "log.csv", rewards=(0, 3))
    (tmp_path / "means.csv").write_text("slot,arm,mean\n40,1,0.9\n", encoding="utf-8")
    found = read(tmp_path, "", 'means = [0.5, 0.1]\nchanges = { file = "means.csv" }')
    assert found == Arms.of([0.5, 0.1], changes=Switches(((40, (0.5, 0.9)),)))


def test_means_are_drawn_from_the_range(tmp_path: Path) -> None:
    arms = read(tmp_path, "rewards = [-10.0, 20.0]", "uniform = [-5.0, 15.0]\ncount = 50\nseed = 3")
    assert min(arms.means) < 0.0
    assert max(arms.means) > 10.0


@pytest.mark.parametrize(
    ("rewards", "arms", "told"),
    [
        (
            "rewards = [-1.0]",
            "means = [0.5]",
            r"rewards must be \[lowest, highest\] with lowest < highest, not \[-1.0\]",
        ),
        ("rewards = [2, 1]", "means = [0.5]", r"rewards must be \[lowest, highest\] with lowest < highest"),
        ("rewards = 5", "means = [0.5]", "rewards must be a list of two numbers"),
        ("rewards = [-1, 5]", "means = [0.5, 7]", r"arms.means\[1\] must be a number in \[-1, 5\], not 7"),
        (
            "rewards = [-1, 5]",
            "uniform = [-3, 0]\ncount = 2",
            r"arms.uniform\[0\] must be a number in \[-1, 5\], not -3",
        ),
        ("", 'means = [0.5]\npays = "gauss"', "arms.pays must be \"bernoulli\", { beta = .*, not 'gauss'"),
        ("", "means = [0.5]\npays = { normal = { sd = 0 } }", "arms.pays.normal: normal.sd must be a positive number"),
        ("", "means = [0.5]\npays = { beta = { concentration = 1, b = 2 } }", "beta.b = 2 is not a key"),
        ("", 'means = [0.5]\npays = ["bernoulli", "bernoulli"]', "arms.pays: 1 arms but 2 ways to pay"),
        (
            "",
            "pays = [{ discrete = { values = [0, 2], chances = [0.5, 0.5] } }]",
            r"arms.pays: a reward of arm 0 must be",
        ),
        ("", "pays = { normal = { sd = 1.0 } }", "arms needs exactly one of means, file, uniform"),
        ("", 'replay = "log.csv"\nmeans = [0.5]', "arms.means = .* is not allowed here: the log has all of it"),
        ("", 'replay = "no.csv"', "arms.replay: cannot read .*no.csv"),
        ("", "means = [0.5]\nchanges = { walk = { sd = -1 } }", "arms.changes.walk.sd|arms.changes.walk: .*sd must be"),
        ("", "means = [0.5]\nchanges = { linear = { to = [1.5] } }", "arms.changes: arm '0' would have the mean"),
        ("", "means = [0.5]\nchanges = { linear = { to = [0.5, 1] } }", "arms.changes: to must be 1 numbers"),
        ("", "means = [0.5]\nchanges = { switches = [] }", "arms.changes.switches must be a list of tables"),
        ("", "means = [0.5]\nchanges = { jump = 3 }", "arms.changes.jump = 3 is not a key"),
        ("", 'means = [0.5]\nchanges = { file = "no.csv" }', "arms.changes.file: cannot read"),
    ],
)
def test_an_error_names_the_key_the_value_and_what_is_allowed(
    tmp_path: Path, rewards: str, arms: str, told: str
) -> None:
    with pytest.raises(LocalError, match=told):
        read(tmp_path, rewards, arms)
