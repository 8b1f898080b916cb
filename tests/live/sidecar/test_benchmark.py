"""The benchmark of the sidecar runs, at a tiny size, so that it cannot rot. How fast it is is not looked at."""

import importlib
import sys
from pathlib import Path

import pytest


def test_the_sidecar_is_measured_beside_a_bare_route(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    benchmark = importlib.import_module("sidecar")
    monkeypatch.setattr(sys, "argv", ["sidecar.py", "--requests", "50", "--rate", "100", "--seconds", "1"])
    benchmark.main()
    said = capsys.readouterr().out
    assert "sidecar, select and update at 100 requests/s, 1 s\n  sent 100, errors 0, " in said
    assert "bare Starlette route at 100 requests/s, 0.25 s\n  sent 25, errors 0, " in said
