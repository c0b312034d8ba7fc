"""Log lines: one per record, no secrets, and no waiting for whoever should read them."""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from relay.logs import logging_to

LOG = logging.getLogger("relay.test")


def logged(act: Callable[[], None], style: str = "text", level: str = "debug") -> list[str]:
    """The lines written while ``act`` runs."""
    reading, writing = os.pipe()
    with logging_to(level=level, style=style, descriptor=writing):
        act()
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        return lines.read().splitlines()


def test_a_record_is_one_line_with_time_level_and_logger() -> None:
    (line,) = logged(lambda: LOG.warning("server said %s", "two\nlines\x1b[2J"))
    time, level, logger, text = line.split(" ", 3)
    assert (level, logger, text) == ("WARNING", "relay.test:", "server said two | lines\\x1b[2J")
    assert len(time) == len("2026-12-01T00:00:00.000Z") and time.endswith("Z")


def test_a_traceback_stays_on_the_line() -> None:
    def fail() -> None:
        try:
            raise ValueError("token=s3cret")
        except ValueError:
            LOG.exception("it broke")

    (line,) = logged(fail)
    assert "it broke | Traceback" in line and line.endswith("ValueError: token=[redacted]")


def test_json_lines_hold_the_same_fields() -> None:
    (line,) = logged(lambda: LOG.info("Bearer abc\n"), style="json")
    fields = msgspec.json.decode(line, type=dict[str, str])
    assert fields.pop("time").endswith("Z")
    assert fields == {"level": "info", "logger": "relay.test", "message": "Bearer [redacted]\n"}


def test_records_below_the_level_are_left_out() -> None:
    def speak() -> None:
        LOG.info("no")
        LOG.warning("yes")

    assert [line[-3:] for line in logged(speak, level="warning")] == ["yes"]


def flood() -> None:
    """More lines than the queue keeps and more bytes than a pipe takes."""
    for number in range(5000):
        LOG.info("%05d %s", number, "x" * 200)


def test_a_stderr_that_nobody_reads_costs_old_lines_and_no_time() -> None:
    reading, writing = os.pipe()
    with logging_to(level="info", descriptor=writing):
        flood()  # a handler that waited for its reader would stay here
    # The end did not wait either; what was kept is still written once somebody reads.
    with os.fdopen(reading, "rb") as lines:
        numbers = list(read_to_newest(lines))
    os.close(writing)
    kept = [number for number in numbers if number >= 0]
    assert kept[-1] == 4999 and kept == sorted(kept) and len(kept) < 5000


def read_to_newest(lines: BinaryIO) -> Iterator[int]:
    """The number of each line up to the newest; for a note, how many were dropped, negated."""
    number = 0
    while number != 4999:
        line = lines.readline()
        if b"dropped" in line:
            yield -int(line.split()[0].lstrip(b"("))
        else:
            number = int(line.split()[3])
            yield number


def test_a_gap_says_how_many_lines_are_missing() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as lines:
        with logging_to(level="info", descriptor=writing):
            flood()
            numbers = list(read_to_newest(lines))
        dropped = -sum(number for number in numbers if number < 0)
        kept = sum(number >= 0 for number in numbers)
        assert kept + dropped == 5000 and dropped > 0
    os.close(writing)


def test_a_log_file_is_appended_to_and_private(tmp_path: Path) -> None:
    path = tmp_path / "relay.log"
    for text in ("one", "two"):
        with logging_to(level="info", file=str(path), descriptor=os.open(os.devnull, os.O_WRONLY)):
            LOG.info(text)
    assert [line[-3:] for line in path.read_text().splitlines()] == ["one", "two"]
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
