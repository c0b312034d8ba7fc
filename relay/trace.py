"""A trace: every event and command of a run as JSON lines, which replay through the core.

The first line names the format and the core's options; each further line is
``{"at": SECONDS, "event": {...}}`` or ``{"at": SECONDS, "command": {...}}``, where ``at`` counts
from the start and a command belongs to the event above it. Bytes are text, or
``{"base64": "..."}`` when they are not UTF-8. A trace holds what was said, tool arguments and
session ids included, but no credentials: those are added below the shell. It is mode 0600.
"""

from __future__ import annotations

import base64
import logging
import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import FileIO
from typing import Protocol, get_args

import msgspec

from relay.core.commands import Command
from relay.core.events import Event

FORMAT = "canferry-trace/1"

_log = logging.getLogger(__name__)


def _bytes_fields(kind: type[msgspec.Struct]) -> frozenset[str]:
    fields = msgspec.structs.fields(kind)
    return frozenset(each.name for each in fields if bytes in (each.type, *get_args(each.type)))


_BYTES_FIELDS = {kind.__name__: _bytes_fields(kind) for kind in get_args(Event | Command)}
"""Which fields of an event or a command are bytes, by the tag it bears in a trace."""


class TraceError(Exception):
    """The file is not a trace, or a line of it cannot be read; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded run: the core's options as plain data, and each event with its commands."""

    options: Mapping[str, object]
    steps: list[tuple[Event, list[Command]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step at which a core's commands are not the recorded ones (counted from 1)."""

    step: int
    event: Event
    recorded: list[Command]
    replayed: list[Command]


class Core(Protocol):
    def receive(self, event: Event) -> list[Command]: ...


class TraceWriter:
    """Appends to a trace; each step is in the file before its commands are carried out.

    The write is blocking on purpose: a trace that loses its last lines is no evidence. A file
    that can no longer be written ends the trace with a warning, never the relay.
    """

    def __init__(self, path: str, options: Mapping[str, object]) -> None:
        """Raise :class:`OSError` if the file cannot be made."""
        self._file = FileIO(path, "w", opener=lambda path, flags: os.open(path, flags, 0o600))
        # An older file may be open to all; a pipe or a device is not ours to change.
        if sys.platform != "win32" and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            os.fchmod(self._file.fileno(), 0o600)
        self._began = time.monotonic()
        self._write([{"format": FORMAT, "options": dict(options)}])

    def record(self, event: Event, commands: Iterable[Command]) -> None:
        """Write one event and what the core answered to it."""
        at = round(time.monotonic() - self._began, 6)
        lines: list[Mapping[str, object]] = [{"at": at, "event": _plain(event)}]
        lines += [{"at": at, "command": _plain(command)} for command in commands]
        self._write(lines)

    def close(self) -> None:
        self._file.close()

    def _write(self, lines: Iterable[Mapping[str, object]]) -> None:
        if self._file.closed:
            return
        view = memoryview(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            _log.warning("the trace ends here: %s", error)
            self.close()


def read_trace(path: str) -> Trace:
    """Read a trace file back; a last line cut short by a kill is left out.

    :raises TraceError: if it is not a trace, or a line in its middle is broken.
    :raises OSError: if it cannot be read.
    """
    with FileIO(path) as file:
        lines = file.readall().split(b"\n")
    header = _object(lines[0], 1)
    options = header.get("options")
    if header.get("format") != FORMAT or not isinstance(options, dict):
        raise TraceError(f"{path} does not begin with a {FORMAT} line")
    trace = Trace(options)
    # What follows the last LF is empty, or a line that was never finished.
    for number, line in enumerate(lines[1:-1], 2):
        _add(trace, _object(line, number), number)
    return trace


def replay(trace: Trace, core: Core) -> Difference | None:
    """Feed the recorded events to ``core``; the first step that comes out otherwise, if any."""
    for step, (event, recorded) in enumerate(trace.steps, 1):
        replayed = core.receive(event)
        if replayed != recorded:
            return Difference(step, event, recorded, replayed)
    return None


def _add(trace: Trace, entry: dict[str, object], number: int) -> None:
    try:
        if "event" in entry:
            trace.steps.append((msgspec.convert(_unplain(entry["event"]), Event), []))
        elif trace.steps:
            command: Command = msgspec.convert(_unplain(entry.get("command")), Command)
            trace.steps[-1][1].append(command)
        else:
            raise TraceError(f"line {number}: a command without an event before it")
    except (msgspec.ValidationError, ValueError) as error:
        raise TraceError(f"line {number}: {error}") from error


def _object(line: bytes, number: int) -> dict[str, object]:
    try:
        return msgspec.json.decode(line, type=dict[str, object])
    except msgspec.DecodeError as error:
        raise TraceError(f"line {number}: {error}") from error


def _plain(value: Event | Command) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(value, builtin_types=(bytes,))
    for name in _BYTES_FIELDS[type(value).__name__]:
        data = fields[name]
        if isinstance(data, bytes):
            fields[name] = _text(data)
    return fields


def _text(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _unplain(value: object) -> object:
    if not isinstance(value, dict):
        return value
    fields = dict(value)
    for name in _BYTES_FIELDS.get(str(fields.get("type")), ()):
        match fields.get(name):
            case str(text):
                fields[name] = text.encode()
            case {"base64": str(text)}:
                fields[name] = base64.b64decode(text, validate=True)
    return fields
