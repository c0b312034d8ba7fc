"""One record is one line, whoever wrote what is in it."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from service import oplog


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def crash() -> tuple[type[BaseException], BaseException, object]:
    try:
        raise RuntimeError("the sky fell")
    except RuntimeError:
        return sys.exc_info()  # type: ignore[return-value]


def test_a_record_is_one_json_line_with_its_fields() -> None:
    stream = io.StringIO()
    oplog.setup("info", stream)
    log = logging.getLogger("service.calls")
    log.debug("not at this level")
    log.info("call\nforged", extra={"tool": 'stats"}\n{"at": 1', "ms": 3.5})
    log.error("failed", exc_info=crash())  # type: ignore[arg-type]
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["level"], first["logger"], first["ms"]) == ("info", "service.calls", 3.5)
    assert first["message"] == "call\nforged"
    assert first["tool"] == 'stats"}\n{"at": 1'
    assert first["at"].endswith("+00:00")
    assert "the sky fell" in second["traceback"]


def test_a_person_at_a_terminal_gets_short_lines_that_cannot_be_forged() -> None:
    stream = Terminal()
    oplog.setup("debug", stream)
    logging.getLogger("service.calls").info("call", extra={"tool": "a\nb\x1b[2J"})
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert "info service.calls: call tool='a\\nb\\x1b[2J'" in line


def test_libraries_speak_up_for_warnings_only() -> None:
    stream = io.StringIO()
    oplog.setup("info", stream)
    logging.getLogger("mcp.server").info("chatter")
    logging.getLogger("uvicorn.error").warning("trouble")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["trouble"]
