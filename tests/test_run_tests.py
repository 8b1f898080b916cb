"""A test with processes or clocks that failed is run once more, alone, and named; no other is (tools/run_tests.py)."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "run_tests.py"
FAILS = "def test_one():\n    raise ValueError\n"
FAILS_ONCE = """
from pathlib import Path

def test_one():
    before = Path("was_here").exists()
    Path("was_here").touch()
    assert before
"""


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({"tests/live/test_a.py": FAILS_ONCE}, 0, "  tests/live/test_a.py::test_one\n"),
        ({"tests/test_cli_a.py": FAILS}, 1, "1 failed beside others. Once more, alone:\n"),
        ({"tests/core/test_a.py": FAILS_ONCE}, 1, None),
        ({"tests/live/test_a.py": FAILS_ONCE, "tests/core/test_b.py": FAILS}, 1, None),
        ({f"tests/live/test_{number}.py": FAILS for number in range(6)}, 1, None),
        ({"tests/live/test_a.py": "def test_one(): pass"}, 0, None),
        ({"tests/live/test_a.py": "def test_one(: pass"}, 1, None),
    ],
)
def test_who_is_run_again(files: dict[str, str], code: int, said: str | None, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    ended = subprocess.run((sys.executable, TOOL, "-n", "1"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stdout
    assert ("alone" in ended.stdout) is (said is not None)
    assert said is None or said in ended.stdout
