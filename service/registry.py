"""One typed function per tool: schema, CLI command, docs row and argv hint all come from it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from pydantic import BaseModel

from service.arguments import Parameter, Positional, Reads, read_signature, to_argv
from service.schema import Schema, arguments_schema, envelope_schema

__all__ = ["Effect", "Parameter", "Positional", "Reads", "Registry", "Result", "Tool"]

ContextT = TypeVar("ContextT")
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_SECTION = re.compile(r"^(Errors?|Raises|Sources?|Example|Notes?):")


class Effect(Enum):
    """What a tool does to the world; drives MCP annotations, docs and the gate's expectation."""

    READ = "read"  # files and settings on the service's machine
    LISTEN = "listen"  # a live bus, passively
    RECORD = "record"  # a live bus, passively, and may leave a file behind
    WRITE = "write"  # leaves a file behind
    TRANSMIT = "transmit"  # puts frames on a bus

    @property
    def is_live(self) -> bool:
        """Whether it needs the process that owns the buses."""
        return self in (Effect.LISTEN, Effect.RECORD, Effect.TRANSMIT)

    @property
    def is_read_only(self) -> bool:
        return self in (Effect.READ, Effect.LISTEN)

    @property
    def is_destructive(self) -> bool:
        return self is Effect.TRANSMIT


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's data with warnings for the envelope."""

    data: BaseModel
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Tool(Generic[ContextT]):
    """One tool. ``command`` is its command line, words separated by blanks (``dbc inspect``)."""

    name: str
    command: str
    effect: Effect
    title: str
    description: str
    function: Callable[..., Any]
    arguments: type[BaseModel]
    data: type[BaseModel]
    parameters: tuple[Parameter, ...]

    @property
    def is_async(self) -> bool:
        """Async tools wait on the event loop; the others run in a worker thread."""
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def input_schema(self) -> Schema:
        return arguments_schema(self.arguments)

    @cached_property
    def output_schema(self) -> Schema:
        return envelope_schema(self.data)


class Registry(Generic[ContextT]):
    """The only list of tools there is; iterates in the order of registration."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool[ContextT]] = {}

    def tool(
        self, effect: Effect, *, command: str | None = None, title: str | None = None
    ) -> Callable[[FunctionT], FunctionT]:
        """Register the decorated function: ``def name(context, ...) -> Data | Result``.

        ``command`` defaults to the name in kebab case, ``title`` to the name in words. The
        description is the docstring up to its first section (``Errors:``, ``Source:`` ...).
        ValueError: the name or the command is taken. TypeError: the function cannot be a tool.
        """

        def register(function: FunctionT) -> FunctionT:
            name = function.__name__
            words = command or name.replace("_", "-")
            for other in self:
                if name == other.name or words == other.command:
                    raise ValueError(f"tool '{name}' ('{words}') is registered already")
            arguments, parameters = read_signature(function)
            self._tools[name] = Tool(
                name=name,
                command=words,
                effect=effect,
                title=title or name.replace("_", " ").capitalize(),
                description=_description(function),
                function=function,
                arguments=arguments,
                data=_data_model(function),
                parameters=parameters,
            )
            return function

        return register

    def __iter__(self) -> Iterator[Tool[ContextT]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool[ContextT]:
        """KeyError: no tool of that name."""
        return self._tools[name]

    def stdin_guarded(self) -> dict[str, frozenset[str]]:
        """Tool name -> its parameters that refuse ``-``."""
        return {
            tool.name: frozenset(guarded)
            for tool in self
            if (guarded := [each.name for each in tool.parameters if each.is_read])
        }

    def build_argv(self, name: str, arguments: Mapping[str, object]) -> list[str]:
        """The equivalent command line of a call, for hints; never executed.

        ValueError: no tool of that name.
        """
        if name not in self._tools:
            raise ValueError(f"unknown tool '{name}'")
        tool = self._tools[name]
        return [*tool.command.split(), *to_argv(tool.parameters, arguments)]


def _description(function: Callable[..., Any]) -> str:
    paragraphs: list[str] = []
    for paragraph in inspect.cleandoc(function.__doc__ or "").split("\n\n"):
        if _SECTION.match(paragraph):
            break
        paragraphs.append(" ".join(paragraph.split()))
    text = "\n".join(paragraphs).replace("``", "`")
    if not text:
        raise TypeError(f"{function.__name__}: a tool needs a docstring")
    return text


def _data_model(function: Callable[..., Any]) -> type[BaseModel]:
    returned = get_type_hints(function).get("return")
    members = get_args(returned) or (returned,)
    models = [each for each in members if isinstance(each, type) and issubclass(each, BaseModel)]
    if len(models) != 1 or set(members) - {models[0], Result}:
        raise TypeError(f"{function.__name__}: must return one model, or that model | Result")
    return models[0]
