"""What needs an extra says which one, in one sentence, wherever it is asked for: no traceback, exit code 2."""

import pickle
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cobandit import CobanditError, LocalError, MissingExtraError
from cobandit.values.extras import EXTRAS, needed_by

ROOT = Path(__file__).parent.parent

BLOCKED = f"""
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
"""
"""A program that begins like this runs as if no extra were installed."""

WORLD = """
horizon = 100
[arms]
means = [0.2, 0.8]
[[agents]]
count = 2
rate = 0.5
"""

AGENT = """
group = "g"
name = "a"
url = "{url}"
arms = ["A", "B"]
state = "a.db"
"""


def alone(program: str, *arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a program without any extra."""
    command = [sys.executable, "-c", BLOCKED + program, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "world.toml").write_text(WORLD, encoding="utf-8")
    for scheme in ("nats", "mqtt"):
        (tmp_path / f"{scheme}.toml").write_text(AGENT.format(url=f"{scheme}://127.0.0.1"), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("simulate world.toml", "sim"),
        ("simulate world.toml --cluster tcp://127.0.0.1:8786", "sim"),
        ("explain", "sim"),
        ("reproduce 3 --quick", "sim"),
        ("compare", "sim"),
        ("messages 3", "sim"),
        ("keys group g", "keys"),
        ("keys agent a --folder keys-g", "keys"),
        ("demo", "live"),
        ("demo --json", "live"),
        ("serve nats.toml", "serve"),
        ("relay nats.toml", "nats"),
        ("relay mqtt.toml", "mqtt"),
        ("status nats://127.0.0.1 --group g", "nats"),
        ("control mqtt://127.0.0.1 --group g freeze A", "mqtt"),
    ],
)
def test_a_command_without_its_extra_names_it(command: str, extra: str, folder: Path) -> None:
    done = alone("from cobandit.cli import console; sys.exit(console())", *command.split(), folder=folder)
    name = command.partition(" ")[0]
    said = f"cobandit: '{name}' needs the extra \"{extra}\": pip install 'cobandit[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize(
    ("statement", "what", "extra"),
    [
        ("import cobandit.simulator", "the simulator", "sim"),
        ("import cobandit.simulator.results", "the simulator", "sim"),
        ("import cobandit; cobandit.simulate", "cobandit.simulate", "sim"),
        ("import cobandit; cobandit.Results", "cobandit.Results", "sim"),
        (
            "from cobandit.testing import check_protocol as c; from cobandit.protocols.gossip import Gossip; c(Gossip)",
            "check_protocol",
            "sim",
        ),
        ("import cobandit.live.auth.keys", "a key", "keys"),
        ("import cobandit.live.auth.identity_seal", "a key", "keys"),
        ("import cobandit.live.status.metrics", "serving metrics", "metrics"),
        ("import cobandit.live.sidecar", "serving", "serve"),
        ("import cobandit.adapters.pettingzoo", "an environment of PettingZoo", "rl"),
        ("import cobandit.adapters.river", "a policy of river", "river"),
        ("import cobandit.adapters.mabwiser", "a policy of MABWiser", "mabwiser"),
        (
            "import cobandit; cobandit.connect('nats://n', group='g', name='a', arms=['A'], state='a.db')",
            "NATS",
            "nats",
        ),
        (
            "import cobandit; cobandit.connect('mqtt://n', group='g', name='a', arms=['A'], state='a.db')",
            "MQTT",
            "mqtt",
        ),
    ],
)
def test_a_library_call_without_its_extra_names_it(statement: str, what: str, extra: str, folder: Path) -> None:
    done = alone(statement, folder=folder)
    said = (
        f"cobandit.values.errors.MissingExtraError: {what} needs the extra \"{extra}\": pip install 'cobandit[{extra}]'"
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, said)


def test_without_any_extra_a_group_learns_live(folder: Path) -> None:
    live = (
        "import cobandit\n"
        "with cobandit.connect('memory://m', group='g', name='a', arms=['A', 'B']) as member:\n"
        "    print(member.update(member.select_arm(), 1.0))\n"
    )
    done = alone(live, folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Taken.COUNTED\n", "")


def test_transports_journals_and_policies_are_checked_without_any_extra(folder: Path) -> None:
    check = (
        "from cobandit import UCB\n"
        "from cobandit.testing import check_journal, check_policy, check_transport\n"
        "check_policy(UCB)\n"
    )
    done = alone(check, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_demo_without_its_page_goes_on_and_names_the_extra(folder: Path) -> None:
    program = (
        "from contextlib import ExitStack\n"
        "from cobandit.cli.demo import _page\n"
        "print(_page('127.0.0.1:0', ExitStack()))\n"
    )
    done = alone(program, folder=folder)
    said = "No page: the page needs the extra \"serve\": pip install 'cobandit[serve]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", said)


def test_the_error_is_of_every_kind_that_people_catch_and_travels_between_processes() -> None:
    with pytest.raises(MissingExtraError) as caught, needed_by("a plot"):
        raise ModuleNotFoundError("No module named 'matplotlib.figure'", name="matplotlib.figure")
    assert [isinstance(caught.value, kind) for kind in (CobanditError, LocalError, ImportError)] == [True] * 3
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.name) == (
        MissingExtraError,
        "a plot needs the extra \"sim\": pip install 'cobandit[sim]'",
        "matplotlib.figure",
    )


def test_the_outermost_knows_best_what_was_wanted() -> None:
    with pytest.raises(MissingExtraError, match=r"^'status' needs the extra"), needed_by("'status'"), needed_by("NATS"):
        raise ModuleNotFoundError(name="nats")


@pytest.mark.parametrize("error", [ModuleNotFoundError("no", name="surely_not"), ImportError("no", name="numpy")])
def test_a_package_that_is_broken_or_unknown_stays_what_it_is(error: ImportError) -> None:
    with pytest.raises(ImportError) as caught, needed_by("a plot"):
        raise error
    assert caught.value is error


def declared() -> Iterator[tuple[str, str]]:
    """Each package of an extra, and the extra that names it itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra, needs in project["optional-dependencies"].items():
        for need in needs:
            package = re.split(r"[<>=\[; ]", need)[0]
            if package != "cobandit":
                yield package, extra


def test_every_package_of_an_extra_is_known_by_the_name_that_is_imported() -> None:
    extras = dict(declared())
    distributions = packages_distributions()
    modules = {
        module: extras[package.lower().replace("_", "-")]
        for module, packages in distributions.items()
        for package in packages
        if package.lower().replace("_", "-") in extras
    }
    brought_along = {"llvmlite": "sim", "paho": "mqtt"}  # by numba and aiomqtt, and imported by us too
    assert {name: extra for name, extra in modules.items() if name in EXTRAS} | brought_along == EXTRAS
    known = {package for name in EXTRAS for package in distributions[name]} - {"llvmlite", "paho-mqtt"}
    assert {package.lower().replace("_", "-") for package in known} == extras.keys() - {"uvloop"}


def test_nobody_else_tells_people_what_to_install() -> None:
    """One place, one wording."""
    sources = (ROOT / "src").rglob("*.py")
    telling = {path.name for path in sources if "pip install" in path.read_text(encoding="utf-8")}
    assert telling == {"extras.py"}
