"""From words to an exit code: read the command line, run it, say how it went."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import anyio

from service import oplog
from service.app import build
from service.arguments import stdin_argument
from service.cli import remote
from service.cli.parser import build_parser, tool_arguments
from service.cli.serve import serve
from service.cli.show import console, show
from service.dispatch import Limits
from service.errors import CanferryError, ConfigurationError, DataError
from service.model.caller import LOCAL
from service.registry import Tool
from service.settings import Settings, load
from service.tools import registry

OK, FAILED, MISUSED, UNREADABLE = range(4)

_UNBOUNDED = Limits(response_bytes=2**40, seconds=24 * 3600.0)
"""The operator waits as long as he likes and has no context window to fill."""


def main(arguments: Sequence[str] | None = None) -> int:
    """``canferry-service``; the exit codes are in its ``--help``."""
    for stream in (sys.stdout, sys.stderr):
        _speak_utf8(stream)
    options = build_parser(registry).parse_args(arguments)
    oplog.setup(options.log_level)
    try:
        if options.run == "serve":
            serve(options)
            return OK
        code = _run_tool(options.tool, options)
        sys.stdout.flush()
    except CanferryError as error:
        print(f"canferry-service: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return exit_code([error.code])
    except KeyboardInterrupt:
        return FAILED
    except BrokenPipeError:
        # The reader has seen enough; the interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def exit_code(codes: Sequence[str]) -> int:
    """The exit code for the codes of an envelope's errors."""
    if not codes:
        return OK
    if codes[0] in _codes(ConfigurationError):
        return MISUSED
    return UNREADABLE if codes[0] in _codes(DataError) else FAILED


def _codes(family: type[CanferryError]) -> set[str]:
    children = family.__subclasses__()
    return {child.code for child in children}.union(*(_codes(child) for child in children))


def _run_tool(tool: Tool[Any], options: Namespace) -> int:
    arguments = tool_arguments(options)
    settings = load(options.config)
    if tool.effect.is_live:
        # A live bus has one owner: the running service.
        url = options.url or f"http://{settings.server.host}:{settings.server.port}/mcp"
        envelope = anyio.run(remote.call, url, tool.name, arguments)
    else:
        with _stdin_as_file(tool, arguments, sys.stdin.buffer) as complete:
            envelope = anyio.run(_in_process, settings, tool.name, complete)
    if options.json:
        print(json.dumps(envelope, separators=(",", ":"), ensure_ascii=False))
    else:
        show(envelope, console(), console(stderr=True))
    return exit_code([error["code"] for error in envelope["errors"]])


async def _in_process(
    settings: Settings, name: str, arguments: Mapping[str, object]
) -> dict[str, Any]:
    service = build(settings, confined=False, limits=_UNBOUNDED)
    return (await service.dispatcher.call(name, arguments, LOCAL)).payload


@contextmanager
def _stdin_as_file(
    tool: Tool[Any], arguments: Mapping[str, object], stdin: BinaryIO
) -> Iterator[Mapping[str, object]]:
    """The arguments with ``-`` replaced by a file that holds what came in on stdin."""
    name = stdin_argument(tool.parameters, arguments)
    if name is None:
        yield arguments
        return
    with tempfile.TemporaryDirectory(prefix="canferry-") as folder:
        path = Path(folder) / "stdin.log"
        with path.open("wb") as file:
            shutil.copyfileobj(stdin, file)
        given = arguments[name]
        items = [str(path) if item == "-" else item for item in _list(given)]
        yield {**arguments, name: items if isinstance(given, list) else items[0]}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _speak_utf8(stream: TextIO) -> None:
    """JSON and units outside ASCII, also where the locale is C or the system Windows."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="utf-8", newline="\n")
