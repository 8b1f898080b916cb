"""Log records as lines: for people, or one JSON object each. For cobandit's own programs, such as `cobandit relay`.

The library itself only logs to `logging.getLogger("cobandit")`, and never configures where that goes: the program that
uses it does. `cobandit.live.machine.alerts` owns what the lines say.
"""

import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, TextIO

import msgspec

from cobandit.live.log_events import LogEvent
from cobandit.values.allowance import Allowance
from cobandit.values.errors import LocalError

MAX_LINES_AT_ONCE, MAX_LINES_PER_SECOND = 200, 1
"""Lines of one kind: of one logger, level and event. The next written line says how many were left out."""

MAX_KINDS = 1000
"""How many kinds are distinguished at most."""

LogFormat = Literal["json", "text"]
LOG_FORMATS: tuple[LogFormat, ...] = ("text", "json")

_ABOUT = ("event", "member", "group", "peer")


def configure_logging(
    format: LogFormat = "text",  # noqa: A002  # the plain word
    *,
    level: int = logging.INFO,
    stream: TextIO | None = None,
    also: Sequence[str] = (),
) -> logging.Handler:
    """Write cobandit's log as lines, to standard error by default. Return the handler, so that it can be removed.

    Args:
        format: `"text"` for people, `"json"` for one object per line with time, level, event, member, group, peer,
            message and error, each if present.
        level: Less important records are left out.
        stream: The stream to write to.
        also: Loggers of other packages whose warnings and errors are included.
    """
    if format not in LOG_FORMATS:
        raise LocalError(f"the log format must be {' or '.join(LOG_FORMATS)}, not {format!r}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    handler.addFilter(Sparing())
    log = logging.getLogger("cobandit")
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate = False  # otherwise a program that logs everything would write each line twice
    for name in also:
        other = logging.getLogger(name)
        other.addHandler(handler)
        other.setLevel(max(level, logging.WARNING))
        other.propagate = False
    return handler


class Sparing(logging.Filter):
    """Drops lines of a kind that occurs too often, so that outsiders cannot fill a disk with them."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, int, str], tuple[Allowance, list[int]]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a line. The line then says how many similar ones were dropped."""
        kind = (record.name, record.levelno, str(getattr(record, "event", record.msg)))
        if kind not in self._kinds and len(self._kinds) >= MAX_KINDS:
            kind = (record.name, record.levelno, "")
        fresh = (Allowance(MAX_LINES_PER_SECOND, MAX_LINES_AT_ONCE), [0])
        allowance, left_out = self._kinds.setdefault(kind, fresh)
        if not allowance.take(record.created):
            left_out[0] += 1
            return False
        if left_out[0]:
            record.msg, record.args = f"{record.getMessage()} ({left_out[0]} like it were left out before)", ()
            left_out[0] = 0
        return True


class TextLines(logging.Formatter):
    """One line per record, with the time in UTC.

    `2026-03-01T12:00:00.000Z INFO event=journal_unwritable_over edge-7: works again: the journal`.
    """

    def format(self, record: logging.LogRecord) -> str:
        before = "" if hasattr(record, "event") else f"event={LogEvent.LIBRARY.value} {record.name}: "
        line = f"{_time(record)} {record.levelname} {before}{record.getMessage()}"
        return line if record.exc_info is None else f"{line}\n{self.formatException(record.exc_info)}"


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        about = {key: getattr(record, key) for key in _ABOUT if getattr(record, key, None) is not None}
        about = {"event": LogEvent.LIBRARY.value, **about}
        content = {"time": _time(record), "level": record.levelname.lower(), **about}
        # Drop the event and the member's name before the text: they are for readers of plain text.
        text = record.getMessage().removeprefix(f"event={about['event']} ")
        content["message"] = text.removeprefix(f"{about.get('member')}: ")
        if record.exc_info:
            content["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(content).decode()


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
