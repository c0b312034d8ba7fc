"""What a tool takes: read once from its signature, then used by schema, command line and hint."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

STDIN_NOTE = "`-` (stdin) is not accepted."
"""Says nothing about the value's shape: the parameter may take a name, a reference or a path."""


@dataclass(frozen=True, slots=True)
class Positional:
    """Marks a parameter that the command line takes without an option name."""


@dataclass(frozen=True, slots=True)
class Reads:
    """Marks a parameter whose value names something the tool reads; ``-`` is refused there."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool; ``type`` is the element type of a list and never optional."""

    name: str
    type: Any
    description: str
    required: bool
    default: object
    is_list: bool = False
    is_positional: bool = False
    is_read: bool = False

    @property
    def option(self) -> str:
        """The command line's name: ``--kebab-case``."""
        return "--" + self.name.replace("_", "-")


class Arguments(BaseModel):
    """Base of the models made here: unknown names, silent conversions and NaN are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def read_signature(function: Callable[..., Any]) -> tuple[type[Arguments], tuple[Parameter, ...]]:
    """The arguments model and the parameters of ``def tool(context, ...)``, in order.

    TypeError: the first parameter is not the context, or one has no annotation.
    """
    names = list(inspect.signature(function).parameters.values())
    if not names or names[0].name != "context":
        raise TypeError(f"{function.__name__}: the first parameter must be 'context'")
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for declared in names[1:]:
        if declared.name not in hints:
            raise TypeError(f"{function.__name__}: parameter '{declared.name}' has no annotation")
        parameter = _parameter(declared, hints[declared.name])
        parameters.append(parameter)
        default: Any = ... if parameter.required else declared.default
        described = Field(default, description=parameter.description or None)
        fields[declared.name] = (hints[declared.name], described)
    model = create_model(f"{function.__name__}_arguments", __base__=Arguments, **fields)
    return model, tuple(parameters)


def parse(model: type[BaseModel], arguments: Mapping[str, object]) -> BaseModel:
    """Arguments as the model; pydantic's ValidationError tells every bad one.

    JSON rules apply: a number without a fraction is an integer (JSON Schema 2020-12, 4.2.3), an
    integer is a number, nothing else is converted.
    """
    return model.model_validate_json(json.dumps(_integral(dict(arguments))))


def stdin_argument(parameters: Sequence[Parameter], arguments: Mapping[str, object]) -> str | None:
    """The first reading parameter whose value, or one of its items, is ``-``."""
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if parameter.is_read and (value == "-" or (isinstance(value, list) and "-" in value)):
            return parameter.name
    return None


def to_argv(parameters: Sequence[Parameter], arguments: Mapping[str, object]) -> list[str]:
    """Positional words, then options, then ``--json``.

    Only positional words that look like options follow ``--`` at the very end: that is the one
    spelling a POSIX parser takes as data (XBD 12.2, guideline 10).
    """
    words: list[str] = []
    options: list[str] = []
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if value is None:
            continue
        if parameter.is_positional:
            words += [_word(item) for item in _items(value)]
        elif isinstance(value, bool):
            options += _flag(parameter, value)
        else:
            for item in _items(value):
                options += _option(parameter.option, _word(item))
    if any(_is_option_like(word) for word in words):
        return [*options, "--json", "--", *words]
    return [*words, *options, "--json"]


@dataclass(slots=True)
class _Hint:
    """An annotation taken apart: what is left when optional, list and markers are peeled off."""

    type: Any
    is_list: bool = False
    markers: list[object] = field(default_factory=list)


def _peeled(hint: Any) -> _Hint:
    """Markers count wherever they are: ``Annotated[str, Reads()] | None`` is guarded too."""
    peeled = _Hint(hint)
    while True:
        inner = get_args(peeled.type)
        match get_origin(peeled.type):
            case origin if origin is Annotated:
                peeled.markers += inner[1:]
                peeled.type = inner[0]
            case origin if origin is list and not peeled.is_list:
                peeled.is_list = True
                peeled.type = inner[0]
            case origin if origin in (Union, types.UnionType):
                members = [member for member in inner if member is not type(None)]
                if len(members) != 1:
                    for member in members:
                        peeled.markers += _peeled(member).markers
                    return peeled
                peeled.type = members[0]
            case _:
                return peeled


def _parameter(declared: inspect.Parameter, hint: Any) -> Parameter:
    peeled = _peeled(hint)
    is_read = any(isinstance(marker, Reads) for marker in peeled.markers)
    texts = [m.description for m in peeled.markers if isinstance(m, FieldInfo) and m.description]
    if is_read:
        texts.append(STDIN_NOTE)
    required = declared.default is inspect.Parameter.empty
    return Parameter(
        name=declared.name,
        type=peeled.type,
        description=" ".join(texts),
        required=required,
        default=None if required else declared.default,
        is_list=peeled.is_list,
        is_positional=any(isinstance(marker, Positional) for marker in peeled.markers),
        is_read=is_read,
    )


def _integral(value: object) -> object:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _integral(item) for key, item in value.items()}
        case list():
            return [_integral(item) for item in value]
    return value


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _word(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return json.dumps(value, separators=(",", ":"))
    return str(value)


def _flag(parameter: Parameter, value: bool) -> list[str]:
    """A switch is written only where it changes something; a required one always."""
    if not parameter.required and value == parameter.default:
        return []
    return [parameter.option if value else "--no-" + parameter.option.removeprefix("--")]


def _option(option: str, word: str) -> list[str]:
    return [f"{option}={word}"] if _is_option_like(word) else [option, word]


def _is_option_like(word: str) -> bool:
    return len(word) > 1 and word.startswith("-")
