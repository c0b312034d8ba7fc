"""The command line, built from the registry: no option of a tool is written down twice."""

from __future__ import annotations

import argparse
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from service.oplog import LEVELS
from service.registry import Parameter, Registry, Tool
from service.version import VERSION

EPILOG = """\
exit codes:
  0  done
  1  the call failed: a bad argument, a missing name, a refusal, a bus error
  2  the command line or the configuration is wrong, or no service answers
  3  a capture or database that cannot be understood
"""

_ARGUMENT = "argument "  # a blank keeps a tool's parameters apart from our own options


def build_parser(registry: Registry[Any]) -> argparse.ArgumentParser:
    """``serve``, ``mcp serve`` and one command per tool."""
    parser = argparse.ArgumentParser(
        prog="canferry-service",
        description="An MCP service on the machine wired to the CAN bus.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"canferry {VERSION}")
    groups = _Groups(parser.add_subparsers(metavar="COMMAND", required=True))
    _add_serve(groups.command("serve", "serve the rig to agents over HTTP"), transport="http")
    _add_serve(groups.command("mcp serve", "serve one agent on stdin and stdout"), "stdio")
    for tool in registry:
        _add_tool(groups.command(tool.command, tool.description.splitlines()[0]), tool)
    return parser


def tool_arguments(options: argparse.Namespace) -> dict[str, object]:
    """What was given for the tool's parameters; nothing for those left out."""
    return {
        name.removeprefix(_ARGUMENT): value
        for name, value in vars(options).items()
        if name.startswith(_ARGUMENT) and value != []
    }


class _Groups:
    """Commands of one or two words below the program's name."""

    def __init__(self, top: Any) -> None:
        self._top = top
        self._below: dict[str, Any] = {}

    def command(self, words: str, summary: str) -> argparse.ArgumentParser:
        first, _, second = words.partition(" ")
        below, name = self._top, first
        if second:
            if first not in self._below:
                group = self._top.add_parser(first, help=f"{first} ...", allow_abbrev=False)
                self._below[first] = group.add_subparsers(metavar="COMMAND", required=True)
            below, name = self._below[first], second
        made: argparse.ArgumentParser = below.add_parser(
            name,
            help=summary.replace("%", "%%"),
            description=summary.replace("%", "%%"),
            allow_abbrev=False,
        )
        return made


def _add_serve(parser: argparse.ArgumentParser, transport: Literal["http", "stdio"]) -> None:
    parser.set_defaults(run="serve", tool=None)
    parser.add_argument("--config", type=Path, metavar="FILE", help="the TOML file to use")
    parser.add_argument("--captures", type=Path, metavar="DIR", help="the root of the captures")
    parser.add_argument("--databases", type=Path, metavar="DIR", help="the root of the databases")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="replay a capture on a bus")
    parser.add_argument("--replay-loop", action="store_true", help="start the replay over and over")
    parser.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="BUS",
        help="let agents transmit on this bus until the service stops",
    )
    parser.add_argument("--log-level", choices=LEVELS, default="info")
    if transport == "stdio":
        parser.set_defaults(stdio=True, host=None, port=None, ready_file=None)
        return
    parser.add_argument("--host", help="a loopback address (127.0.0.1)")
    parser.add_argument("--port", type=int, help="0 takes any free one (8765)")
    parser.add_argument("--stdio", action="store_true", help="serve one agent on stdin and stdout")
    parser.add_argument(
        "--ready-file", type=Path, metavar="FILE", help="write the URL here once requests are taken"
    )


def _add_tool(parser: argparse.ArgumentParser, tool: Tool[Any]) -> None:
    parser.set_defaults(run="tool", tool=tool)
    for parameter in tool.parameters:
        _add_parameter(parser, parameter)
    ours = parser.add_argument_group("common options")
    ours.add_argument("--json", action="store_true", help="print the envelope as JSON")
    ours.add_argument("--config", type=Path, metavar="FILE", help="the TOML file to use")
    ours.add_argument("--url", help="the running service that owns the buses")
    ours.add_argument("--log-level", choices=LEVELS, default="warning")


def _add_parameter(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    target: dict[str, Any] = {
        "dest": _ARGUMENT + parameter.name,
        "default": argparse.SUPPRESS,
        "help": (parameter.description or None) and parameter.description.replace("%", "%%"),
    }
    if parameter.type is bool:
        parser.add_argument(
            parameter.option,
            action=argparse.BooleanOptionalAction,
            required=parameter.required,
            **target,
        )
        return
    target |= {"type": _reader(parameter.type), "metavar": parameter.name.upper()}
    if parameter.is_positional:
        many, few = ("+", "*") if parameter.is_list else (None, "?")
        target["nargs"] = many if parameter.required else few
        parser.add_argument(target.pop("dest"), **target)
        return
    action = "append" if parameter.is_list else "store"
    parser.add_argument(parameter.option, action=action, required=parameter.required, **target)


def _reader(kind: Any) -> Callable[[str], object]:
    """How a word becomes a value; what it means is checked by the tool's own model."""
    if get_origin(kind) in (Union, types.UnionType):
        return _any_value if not any(member is str for member in get_args(kind)) else str
    if kind is int:
        return _integer
    if kind is float:
        return float
    if kind is str or get_origin(kind) is Literal:
        return str
    return _any_value


def _integer(word: str) -> int:
    """Also 0x18FEEE31, as identifiers are written."""
    return int(word, 0)


def _any_value(word: str) -> object:
    try:
        return json.loads(word)
    except ValueError:
        return word
