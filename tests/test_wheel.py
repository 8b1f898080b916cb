"""The wheel and the source distribution: what is in them, and what a registry is told. `make wheel` installs them."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from runpy import run_path

import pytest

import cobandit
from cobandit.cli import main

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = PROJECT["urls"]["Source"]
NAME = f"cobandit-{cobandit.__version__}"
INFORMATION = f"{NAME}.dist-info"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both, built offline: the wheel from the source distribution, as whoever has only that would build it."""
    folder = tmp_path_factory.mktemp("built")
    _build("sdist", ROOT, folder)
    shutil.unpack_archive(folder / f"{NAME}.tar.gz", folder / "unpacked", filter="data")
    _build("wheel", folder / "unpacked" / NAME, folder)
    return folder


def _build(kind: str, source: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr


@pytest.fixture(scope="module")
def wheel(built: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def told(wheel: dict[str, bytes]) -> Message:
    """What a registry is told."""
    return Parser().parsestr(wheel[f"{INFORMATION}/METADATA"].decode())


def test_the_wheel_has_the_package_byte_by_byte_and_nothing_else(wheel: dict[str, bytes]) -> None:
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    package = {path.relative_to(ROOT / "src").as_posix(): path.read_bytes() for path in files}
    about = {
        f"{INFORMATION}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert wheel.keys() == package.keys() | about
    assert [name for name in package if wheel[name] != package[name]] == []
    assert "cobandit/py.typed" in wheel


def test_the_source_distribution_has_everything_that_make_test_needs(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = {name.split("/")[1] for name in archive.getnames()}
    assert names == {
        ".ci", ".containerignore", ".github", ".gitignore", ".pre-commit-config.yaml", ".yamllint.yaml",
        "ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE",
        "Makefile", "PKG-INFO", "README.md", "SECURITY.md", "benchmarks", "clients", "conftest.py", "deploy",
        "docs", "examples", "lab", "mkdocs.yml", "pyproject.toml", "requirements-dev.txt", "src", "tests",
        "tools",
    }  # fmt: skip


def test_a_registry_is_told_everything(told: Message) -> None:
    one = {
        name: told[name] for name in ("Name", "Version", "Summary", "Author", "License-Expression", "Requires-Python")
    }
    assert one == {
        "Name": "cobandit",
        "Version": cobandit.__version__,
        "Summary": PROJECT["description"],
        "Author": "The cobandit developers",
        "License-Expression": "MIT",
        "Requires-Python": ">=3.11",
    }
    assert told.get_all("Classifier") == sorted(PROJECT["classifiers"])
    assert told.get_all("Project-URL") == [f"{name}, {url}" for name, url in PROJECT["urls"].items()]
    assert set(told.get_all("Provides-Extra", [])) == PROJECT["optional-dependencies"].keys()
    assert [need for need in told.get_all("Requires-Dist", []) if "extra ==" not in need] == PROJECT["dependencies"]


def test_a_registry_takes_both_files_and_can_show_the_readme(built: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "twine",
        "check",
        "--strict",
        *map(str, (*built.glob("*.whl"), *built.glob("*.gz"))),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


def test_the_classifiers_name_the_systems_that_the_tests_know(told: Message) -> None:
    said = [name for name in told.get_all("Classifier", []) if re.search(r"Python :: 3\.|Operating|Typing", name)]
    pythons = [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)]
    assert said == ["Operating System :: POSIX :: Linux", *pythons, "Typing :: Typed"]


def test_the_registrys_page_links_to_files_that_exist(told: Message) -> None:
    page = str(told.get_payload())
    assert told["Description-Content-Type"] == "text/markdown"
    assert page.startswith("# cobandit")
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    ours = [link for link in links if link.startswith(SOURCE)]
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert [link for link in ours if not (ROOT / re.sub(rf"^{SOURCE}/(blob|raw)/main/", "", link)).exists()] == []
    assert ours.count(f"{SOURCE}/raw/main/docs/images/messages.svg") == 1


def test_links_that_are_whole_or_stay_on_the_page_are_left_alone() -> None:
    page = run_path(str(ROOT / "tools" / "registry_page.py"))["page"]
    readme = "[docs](docs/index.md), ![it](a.png), [above](#top), [there](https://example.org), [us](mailto:a@b)"
    assert page(readme, "https://h/p") == (
        "[docs](https://h/p/blob/main/docs/index.md), ![it](https://h/p/raw/main/a.png), "
        "[above](#top), [there](https://example.org), [us](mailto:a@b)"
    )


def test_the_command_is_where_people_look_for_it(wheel: dict[str, bytes]) -> None:
    assert (
        wheel[f"{INFORMATION}/entry_points.txt"].decode() == "[console_scripts]\ncobandit = cobandit_command:console\n"
    )


def test_make_wheel_tries_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    names = re.findall(r"^ {4}(\w+)(?= {2,}|$)", capsys.readouterr().out, re.MULTILINE)
    trials = run_path(str(ROOT / "tools" / "wheel_trials.py"))["TRIALS"]
    assert {command.split()[0] for trial in trials for command in trial.commands} == set(names)
