"""Log lines for the operator: one per record, free of secrets, never in the relay's way.

Nobody has to read stderr: a host may leave the pipe full for ever. So a record is put on a
bounded queue and a daemon thread writes it; when the queue is full the oldest line goes, and the
next line that gets through says how many are missing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO

import msgspec

_QUEUE_LINES = 1000
_FLUSH_SECONDS = 0.5
_STDERR = 2

# Text of a server must not move an operator's cursor: C0, DEL, C1 and the line separators.
_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in b"\n\t"
} | {0x0A: " | ", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def redacted(text: str) -> str:
    """Return ``text`` without credentials; what knows them is loaded with the first line."""
    from relay.redaction import redact

    return redact(text)


def printable(text: str) -> str:
    """Return ``text`` on one line and without what a terminal would act on."""
    return text.translate(_CONTROLS)


class LineFormatter(logging.Formatter):
    """``time level logger: text`` on one line, times in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        text = printable(redacted(text))
        return f"{_utc(record)} {record.levelname} {record.name}: {text}"


class JsonFormatter(logging.Formatter):
    """One JSON object per line: ``time``, ``level``, ``logger``, ``message``, ``exception``."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": _utc(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redacted(record.getMessage()),
        }
        if record.exc_info:
            fields["exception"] = redacted(self.formatException(record.exc_info))
        return msgspec.json.encode(fields).decode()


class QueuedHandler(logging.Handler):
    """Hands formatted lines to a daemon thread that writes them to a file descriptor."""

    def __init__(self, descriptor: int, *, limit: int = _QUEUE_LINES) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._dropped = 0
        self._closed = False
        self._changed = threading.Condition()
        self._writer = threading.Thread(target=self._write, name="log-writer", daemon=True)
        self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record).encode("utf-8", "backslashreplace") + b"\n"
        with self._changed:
            if len(self._lines) >= self._limit:
                self._lines.popleft()
                self._dropped += 1
            self._lines.append(line)
            self._changed.notify()

    def close(self) -> None:
        """Give the writer half a second for what is queued, then leave it behind."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._writer.join(_FLUSH_SECONDS)
        super().close()

    def _write(self) -> None:
        while lines := self._next():
            try:
                _write_all(self._descriptor, lines)
            except OSError:
                return  # the reader is gone, and there is nobody left to tell

    def _next(self) -> bytes:
        """Wait for lines; empty once the handler is closed and all is written."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._closed)
            note = b""
            if self._dropped:
                note = b"(%d log lines dropped: nobody read them in time)\n" % self._dropped
                self._dropped = 0
            line = self._lines.popleft() if self._lines else b""
            return note + line


@contextmanager
def logging_to(
    *, level: str, style: str = "text", file: str | None = None, descriptor: int = _STDERR
) -> Iterator[None]:
    """Send the relay's logs to stderr, and to ``file`` (mode 0600, appended) too when given."""
    handlers = [QueuedHandler(descriptor)]
    opened = None
    if file is not None:
        opened = FileIO(file, "a", opener=lambda path, flags: os.open(path, flags, 0o600))
        handlers.append(QueuedHandler(opened.fileno()))
    formatter = JsonFormatter() if style == "json" else LineFormatter()
    # On the root, so that what asyncio has to say is written without blocking and redacted too.
    root, ours = logging.getLogger(), logging.getLogger("relay")
    ours.setLevel(level.upper())
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        ours.setLevel(logging.NOTSET)
        if opened is not None:
            opened.close()


def _utc(record: logging.LogRecord) -> str:
    clock = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{clock}.{int(record.msecs):03d}Z"


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
