"""Operational log on stderr: JSON lines for machines, short lines for a person at a terminal."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

LEVELS = ("debug", "info", "warning", "error")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_NOISY = ("mcp", "uvicorn", "httpx", "httpx2", "asyncio")


def setup(level: str = "info", stream: TextIO | None = None) -> None:
    """Send every logger's records to ``stream`` (stderr); stdout may belong to a protocol."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines() if stream.isatty() else _JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _NOISY:
        logging.getLogger(name).setLevel(level.upper() if level == "debug" else "WARNING")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


class _JsonLines(logging.Formatter):
    """One object per record; remote text is escaped, so that it cannot forge lines."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _Lines(logging.Formatter):
    """``12:00:01 info service.calls: call tool='stats' ms=3.1``."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        fields = "".join(f" {key}={value!r}" for key, value in _fields(record).items())
        line = f"{at} {record.levelname.lower()} {record.name}: {record.getMessage()}{fields}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line
