"""The command `cobandit protocols`."""

import json
import sys
from pathlib import Path

import pytest

from cobandit.cli import main
from cobandit.core.protocols.registry import PROTOCOLS
from cobandit.protocols.registry import PLUG_INS


def test_every_protocol_is_listed_with_its_paper_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "--json"]) == 0
    listed = {one["word"]: one for one in json.loads(capsys.readouterr().out)}
    assert set(listed) == {*PROTOCOLS, *PLUG_INS}
    assert listed["gossip"] == {
        "word": "gossip",
        "title": "gossip",
        "paper": "Demers et al. 1987; Boyd et al. 2006",
        "parameters": {"period": 4, "pull": False},
        "compiled": True,
        "observations": True,
        "hubs": 0,
        "survives": ["delay", "duplication", "loss", "reordering"],
    }
    assert [word for word in PLUG_INS if not listed[word]["paper"]] == []


def test_people_get_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols"]) == 0
    told = capsys.readouterr().out
    lines = ("tcom".ljust(14) + "TCOM", " " * 14 + "Wang et al. 2023 (ICLR)", " " * 14 + "alpha = 1.2, beta = 2.0")
    assert " " * 14 + "survives delay\n" in told
    assert "\n".join(lines) in told
    assert "comex".ljust(14) + "ComEx (readable engine)\n" in told


def test_a_file_with_a_plug_in_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "world.toml"
    file.write_text(
        "horizon = 60\n[arms]\nmeans = [0.2, 0.8]\n[[agents]]\ncount = 2\nrate = 0.5\n"
        '[sharing]\nprotocol = "periodic-hub"\nperiod = 5\n'
    )
    page = tmp_path / "page.html"
    assert main(["explain", str(file), "--out", str(page)]) == 0
    assert capsys.readouterr().out.startswith("world.toml: agent ")
    assert "0 -&gt; relay-0 share 1" in page.read_text(encoding="utf-8")


OWN = """
from cobandit.protocols.plug_in import About

class Mute:
    about = About(word="mute", title="mute", told="Nobody says anything")

    def __init__(self, node):
        self.node = node

    def observed(self, arm, reward):
        pass

    def received(self, sender, message):
        pass
"""


@pytest.mark.parametrize("command", ["simulate", "explain"])
def test_a_protocol_of_ones_own_is_named_by_a_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mute_protocols", raising=False)
    request.addfinalizer(lambda: PLUG_INS.pop("mute", None))
    Path("mute_protocols.py").write_text(OWN)
    Path("world.toml").write_text(
        "horizon = 20\ntrials = 2\n[arms]\nmeans = [0.2, 0.8]\n[[agents]]\ncount = 2\nrate = 0.5\n"
        '[sharing]\nprotocol = "mute"\n'
    )
    assert main([command, "world.toml"]) != 0
    assert "mute" in capsys.readouterr().err
    assert main([command, "world.toml", "--own", "mute_protocols:Mute"]) == 0
