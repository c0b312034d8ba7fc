"""One call of one tool: guarded, validated, run within its time, answered by an envelope."""

from __future__ import annotations

import asyncio
import difflib
import logging
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import anyio
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from service.arguments import parse, stdin_argument
from service.envelope import carried, failure, success
from service.errors import (
    CanferryError,
    InvalidArgumentsError,
    StdinExcludedError,
    ToolExecutionError,
    ToolTimeoutError,
    UnknownToolError,
)
from service.model.caller import Caller
from service.registry import Registry, Tool
from service.render import DEFAULT_HINT, Payload, bound_payload, to_json
from service.threads import WorkerThreads

ContextT = TypeVar("ContextT")

TIME_LIMIT = 25.0
"""Seconds until a call is ended. Tools keep to 20 and have the rest for summing up; clients give
up at 60, and longer work is a job."""
THREADS = 32

_MAX_SHOWN = 80
_MAX_COMMAND_HINT = 120

_calls = logging.getLogger("service.calls")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one answer in bytes, of one call in seconds, of blocking calls at a time."""

    response_bytes: int = 48 * 1024
    seconds: float = TIME_LIMIT
    threads: int = THREADS


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answered call: the envelope and its compact JSON.

    ``is_schema_failure`` tells a call that did not match the input schema from one that failed.
    """

    payload: Payload
    text: str
    is_schema_failure: bool = False

    @property
    def is_error(self) -> bool:
        return self.payload["ok"] is not True

    @property
    def errors(self) -> list[dict[str, object]]:
        """The envelope's ``errors``: code, message and hint."""
        errors = self.payload["errors"]
        return errors if isinstance(errors, list) else []


class Dispatcher(Generic[ContextT]):
    """Calls tools by name. ``context_for`` gives the context of one caller's call."""

    def __init__(
        self,
        registry: Registry[ContextT],
        context_for: Callable[[Caller], ContextT],
        limits: Limits | None = None,
    ) -> None:
        self.registry = registry
        self._context_for = context_for
        self._limits = limits or Limits()
        self._threads = WorkerThreads(self._limits.threads)

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> Outcome:
        """Run a tool. Never raises but for cancellation: every failure is an envelope."""
        started = time.perf_counter()
        try:
            outcome = await self._answer(name, arguments, caller)
        except asyncio.CancelledError:
            _log(name, caller, started, "cancelled")
            raise
        _log(name, caller, started, str(outcome.errors[0]["code"]) if outcome.errors else "ok")
        return outcome

    async def _answer(self, name: str, arguments: Mapping[str, object], caller: Caller) -> Outcome:
        try:
            tool = self._tool(name)
            _refuse_stdin(tool, arguments)
            parsed = _validated(tool, arguments)
        except CanferryError as error:
            refused = self._bounded(failure(name, error), DEFAULT_HINT)
            return replace(refused, is_schema_failure=isinstance(error, InvalidArgumentsError))
        values = {field: getattr(parsed, field) for field in type(parsed).model_fields}
        run = partial(tool.function, self._context_for(caller), **values)
        finish = partial(self._finished, tool, self._hint(tool, arguments))
        with anyio.move_on_after(self._limits.seconds):
            if not tool.is_async:
                return await self._threads.run(lambda: finish(_attempted(tool, run)))
            result = await _attempted_on_loop(tool, run)
            return await self._threads.run(partial(finish, result))
        late = ToolTimeoutError(f"{name} did not end within {self._limits.seconds:g} s")
        return self._bounded(failure(name, late), DEFAULT_HINT)

    def _tool(self, name: str) -> Tool[ContextT]:
        if name in self.registry:
            return self.registry[name]
        near = difflib.get_close_matches(name, [tool.name for tool in self.registry], n=3)
        hint = f"Did you mean {', '.join(near)}?" if near else None
        raise UnknownToolError(f"there is no tool '{name[:_MAX_SHOWN]}'", hint=hint)

    def _finished(self, tool: Tool[ContextT], hint: str, result: object) -> Outcome:
        """The envelope of what the tool gave; runs in a worker thread, as it may be large."""
        if isinstance(result, CanferryError):
            command = tool.name if isinstance(result, ToolExecutionError) else tool.command
            return self._bounded(failure(command, result), hint)
        try:
            return self._bounded(success(tool, result), hint)
        except Exception as error:  # the tool-call border: data that cannot be written as JSON
            return self._bounded(failure(tool.name, _internal(tool, error)), hint)

    def _bounded(self, payload: Payload, hint: str) -> Outcome:
        try:
            bounded = bound_payload(payload, self._limits.response_bytes, hint=hint)
        except ValueError:  # NaN or half a surrogate pair somewhere in it
            bounded = bound_payload(carried(payload), self._limits.response_bytes, hint=hint)
        return Outcome(bounded, to_json(bounded).decode())

    def _hint(self, tool: Tool[ContextT], arguments: Mapping[str, object]) -> str:
        command = shlex.join(["canferry-service", *self.registry.build_argv(tool.name, arguments)])
        ways = ["narrow the call"]
        if {"limit", "cursor"} <= {parameter.name for parameter in tool.parameters}:
            ways.append("page with limit and cursor")
        if len(command) <= _MAX_COMMAND_HINT:
            ways.append(f"run on the rig: {command}")
        return f"For the rest {' or '.join(ways)}."


def _refuse_stdin(tool: Tool[ContextT], arguments: Mapping[str, object]) -> None:
    """Before everything else, so that nothing can have been started for such a call."""
    name = stdin_argument(tool.parameters, arguments)
    if name:
        raise StdinExcludedError(f"'{name}' is '-', but a call has no standard input to read")


def _validated(tool: Tool[ContextT], arguments: Mapping[str, object]) -> BaseModel:
    try:
        return parse(tool.arguments, arguments)
    except ValidationError as error:
        known = [parameter.name for parameter in tool.parameters]
        faults = "; ".join(_fault(each, known) for each in error.errors(include_url=False))
        raise InvalidArgumentsError(f"{tool.name}: {faults}") from error


def _fault(details: ErrorDetails, known: list[str]) -> str:
    name = ".".join(str(part) for part in details["loc"])[:_MAX_SHOWN]
    match details["type"]:
        case "missing":
            return f"'{name}' is missing"
        case "extra_forbidden":
            near = difflib.get_close_matches(name, known, n=1)
            return f"there is no '{name}'" + (f" (did you mean '{near[0]}'?)" if near else "")
    return f"'{name}' = {repr(details['input'])[:_MAX_SHOWN]}: {details['msg']}"


def _attempted(tool: Tool[ContextT], run: Callable[[], object]) -> object:
    """The tool's result, or what went wrong, as a value; in a worker thread."""
    try:
        return run()
    except CanferryError as error:
        return error
    except BaseException as error:  # the tool-call border; also SystemExit must not end a thread
        return _internal(tool, error)


async def _attempted_on_loop(tool: Tool[ContextT], run: Callable[[], Awaitable[object]]) -> object:
    """The same on the loop, where cancellation goes through if somebody asked for it."""
    try:
        return await run()
    except CanferryError as error:
        return error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Something the tool waited for was cancelled: the call still has to be answered.
        return _internal(tool, error)
    except (Exception, SystemExit) as error:  # the tool-call border
        return _internal(tool, error)


def _internal(tool: Tool[ContextT], error: BaseException) -> ToolExecutionError:
    """The traceback is for the log alone."""
    _calls.error("tool %s failed", tool.name, exc_info=error)
    return ToolExecutionError(f"{type(error).__name__}: {error}")


def _log(name: str, caller: Caller, started: float, result: str) -> None:
    """Who called what and how it went; argument values may be anybody's secret."""
    _calls.info(
        "call",
        extra={
            "tool": name[:_MAX_SHOWN],
            "principal": caller.principal,
            "client": caller.client[:_MAX_SHOWN],
            "ms": round((time.perf_counter() - started) * 1000, 1),
            "result": result,
        },
    )
