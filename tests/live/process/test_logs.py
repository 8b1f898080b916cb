"""What is logged comes out as lines: for people, or as JSON for programs. The library itself configures nothing."""

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobandit.live.log_events import TROUBLES, LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.process.logs import (
    LOG_FORMATS,
    MAX_KINDS,
    MAX_LINES_AT_ONCE,
    MAX_LINES_PER_SECOND,
    LogFormat,
    Sparing,
    configure_logging,
)
from cobandit.values.errors import LocalError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def unchanged() -> Iterator[None]:
    log = logging.getLogger("cobandit")
    before = log.handlers[:], log.level, log.propagate
    yield
    log.handlers[:], log.level, log.propagate = before


def lines(format_: LogFormat) -> list[str]:
    stream = io.StringIO()
    configure_logging(format_, stream=stream)
    alerts = Alerts("edge-7", "homepage")
    alerts.say(logging.INFO, LogEvent.STARTS_ALONE, "hello\nthere")
    alerts.say(logging.WARNING, LogEvent.ARMS_DIFFER, "is odd", "edge-8")
    try:
        len(1)  # type: ignore[arg-type]
    except TypeError as error:
        alerts.crash("a step failed", error)
    return stream.getvalue().splitlines()


@pytest.mark.usefixtures("unchanged")
def test_each_json_line_says_who_and_what() -> None:
    first, second, third = (json.loads(line) for line in lines("json"))
    assert {key: first[key] for key in first if key != "time"} == {
        "level": "info",
        "event": "starts_alone",
        "member": "edge-7",
        "group": "homepage",
        "message": "hello there",  # one line, whatever stands in names
    }
    assert {key: second[key] for key in second if key != "time"} == {
        "level": "warning",
        "event": "arms_differ",
        "member": "edge-7",
        "group": "homepage",
        "peer": "edge-8",
        "message": "is odd",
    }
    assert third["error"].splitlines()[0] == "Traceback (most recent call last):"
    assert third["error"].splitlines()[-1] == "TypeError: object of type 'int' has no len()"
    assert first["time"].endswith("Z")


@pytest.mark.usefixtures("unchanged")
def test_text_lines_are_for_people() -> None:
    written = lines("text")
    assert written[1].partition(" ")[2] == "WARNING event=arms_differ edge-7: is odd"
    assert written[-1] == "TypeError: object of type 'int' has no len()"


@pytest.mark.usefixtures("unchanged")
def test_a_recovery_is_information_under_the_name_of_its_trouble() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)
    alerts = Alerts("edge-7", "homepage")
    alerts.trouble(LogEvent.NETWORK_DOWN, "no route")
    alerts.trouble(LogEvent.NETWORK_DOWN, "no route")
    alerts.trouble(LogEvent.NETWORK_DOWN, None)
    alerts.trouble(LogEvent.NETWORK_DOWN, None)
    assert [line.partition(" ")[2] for line in stream.getvalue().splitlines()] == [
        "ERROR event=network_down edge-7: no route",
        "INFO event=network_down_over edge-7: works again: the network",
    ]


@pytest.mark.usefixtures("unchanged")
def test_lines_of_other_packages_have_an_event_too() -> None:
    written = []
    for format_ in LOG_FORMATS:
        stream = io.StringIO()
        configure_logging(format_, stream=stream, also=["strange"])
        log = logging.getLogger("strange")
        log.warning("is odd")
        log.handlers.clear()
        written.append(stream.getvalue())
    assert written[0].partition(" ")[2] == "WARNING event=library strange: is odd\n"
    assert json.loads(written[1])["event"] == "library"


def test_every_event_is_in_the_table_and_in_the_code() -> None:
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    section = page.partition("## Events of the log")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z_]+)` \| (yes|no) \|", section, re.MULTILINE)
    assert rows == [(event.value, "yes" if event in TROUBLES else "no") for event in LogEvent]
    files = (ROOT / "src").rglob("*.py")
    code = "".join(path.read_text(encoding="utf-8") for path in files if path.name != "log_events.py")
    assert [event.name for event in LogEvent if f"LogEvent.{event.name}" not in code] == []
    assert not re.search(r"\blog\.(debug|info|warning|error|exception|critical)\(", code)


def test_another_format_is_refused() -> None:
    with pytest.raises(LocalError, match="the log format must be text or json, not 'xml'"):
        configure_logging("xml")  # type: ignore[arg-type]


def test_the_library_leaves_logging_alone() -> None:
    program = (
        "import logging, cobandit\n"
        "with cobandit.connect('memory://m', group='g', name='n', arms=['A', 'B']) as m:\n"
        "    m.update(m.select_arm(), 1.0)\n"
        "log = logging.getLogger('cobandit')\n"
        "print(log.handlers, log.level, log.propagate, logging.getLogger().handlers)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[] 0 True []\n", "")


def test_lines_of_one_kind_are_left_out_when_they_are_too_many_and_the_next_one_says_how_many() -> None:
    sparing = Sparing()

    def line(number: int, at: float, level: int = logging.WARNING) -> logging.LogRecord:
        record = logging.LogRecord("uvicorn", level, "", 0, "Invalid request %d", (number,), None)
        record.created = at
        return record

    records = [line(number, 100.0) for number in range(5 * MAX_LINES_AT_ONCE)]
    written = [record for record in records if sparing.filter(record)]
    assert [record.getMessage() for record in written] == [f"Invalid request {n}" for n in range(MAX_LINES_AT_ONCE)]
    assert sparing.filter(line(0, 100.0, logging.ERROR))  # another kind
    later = line(7, 100.0 + 1.0 / MAX_LINES_PER_SECOND)
    assert sparing.filter(later)
    assert later.getMessage() == f"Invalid request 7 ({4 * MAX_LINES_AT_ONCE} like it were left out before)"


def test_kinds_of_lines_that_are_told_apart_are_bounded() -> None:
    sparing = Sparing()
    for number in range(MAX_KINDS + 500):
        sparing.filter(logging.LogRecord("x", logging.WARNING, "", 0, f"{number}", (), None))
    assert len(sparing._kinds) <= MAX_KINDS + 1


@pytest.mark.usefixtures("unchanged")
def test_what_outsiders_bring_about_in_other_packages_is_limited() -> None:
    stream, other = io.StringIO(), logging.getLogger("cobandit.other")
    handler = configure_logging(stream=stream, also=[other.name])
    for _ in range(10 * MAX_LINES_AT_ONCE):
        other.warning("Invalid HTTP request received.")
    other.removeHandler(handler)
    assert MAX_LINES_AT_ONCE <= stream.getvalue().count("\n") < 2 * MAX_LINES_AT_ONCE
