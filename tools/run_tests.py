"""Run all tests, and those that failed once more, alone: `make test` ends with this.

Some tests start real processes, wait for real sockets and read real clocks. On a machine that is busy, one of several
thousand then misses its moment. Such a test gets a second chance, with nothing beside it. If it passes, the run passes
and says which test it was: that test is to be mended. A defect that is always there fails both times. Tests without
processes and clocks have no second chance, nor has anybody if more than a few failed.
Arguments are for pytest, for the first run.
"""

import json
import subprocess
import sys
from pathlib import Path

MOST_AGAIN = 5
"""More failures than this are no accident."""

WITH_CLOCKS = ("tests/adapters/", "tests/browser/", "tests/dashboard/", "tests/lab/", "tests/live/", "tests/upgrade/")
"""Where tests start processes or wait, besides those of commands, examples and pages of documentation."""

_FAILED = Path(".pytest_cache/v/cache/lastfailed")
_TOGETHER = ("-n", "6", "--dist", "loadfile", "--no-loadscope-reorder", "-q")


def may_run_again(failed: list[str]) -> bool:
    """Return whether these may be accidents."""
    places = (*WITH_CLOCKS, "tests/test_cli", "tests/test_examples.py", "docs/", "examples/", "README.md")
    return 0 < len(failed) <= MOST_AGAIN and all(one.startswith(places) and "::" in one for one in failed)


def main() -> int:
    """Return the exit code."""
    pytest = (sys.executable, "-m", "pytest")
    _FAILED.unlink(missing_ok=True)
    code = subprocess.run((*pytest, *_TOGETHER, *sys.argv[1:]), check=False).returncode
    failed = sorted(json.loads(_FAILED.read_text())) if code == 1 and _FAILED.exists() else []
    if not may_run_again(failed):
        return code
    print(f"\n{len(failed)} failed beside others. Once more, alone:", flush=True)
    code = subprocess.run((*pytest, "-q", *failed), check=False).returncode
    if code == 0:
        print("Passed alone. Mend what depends on chance or on a busy machine:", *failed, sep="\n  ")
    return code


if __name__ == "__main__":
    sys.exit(main())
