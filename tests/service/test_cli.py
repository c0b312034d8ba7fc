"""The command line is the registry's, both ways, and its output is for people."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from service.cli.parser import build_parser, tool_arguments
from service.cli.show import show
from service.registry import Parameter, Registry, Tool
from tests.service.sample_tools import registry as samples


def sample(parameter: Parameter, tool: Tool[Any]) -> object:
    """A value the parameter's schema would accept, other than its default."""
    schema = tool.input_schema["properties"][parameter.name]
    if parameter.type is bool:
        return not parameter.default
    value: object = {"integer": 7, "number": 1.5}.get(schema.get("type"), "word")
    if "enum" in schema:
        value = schema["enum"][-1]
    return [value, value] if parameter.is_list else value


def parsed(registry: Registry[Any], argv: list[str]) -> tuple[Tool[Any], dict[str, object]]:
    options = build_parser(registry).parse_args(argv)
    return options.tool, tool_arguments(options)


@pytest.mark.parametrize("tool", [*samples], ids=lambda tool: str(tool.name))
def test_the_parser_reads_every_command_line_that_a_call_is_written_as(tool: Tool[Any]) -> None:
    arguments = {parameter.name: sample(parameter, tool) for parameter in tool.parameters}
    argv = samples.build_argv(tool.name, arguments)
    assert parsed(samples, argv) == (tool, arguments)


def test_what_is_left_out_is_not_an_argument() -> None:
    tool, arguments = parsed(samples, ["send", "can0", "--ack-active"])
    assert tool.name == "send"
    assert arguments == {"interface": "can0", "ack_active": True}


def test_values_that_look_like_options_are_data() -> None:
    argv = samples.build_argv("echo", {"text": "--json=x", "ratio": -0.5})
    assert parsed(samples, argv)[1] == {"text": "--json=x", "ratio": -0.5}
    argv = samples.build_argv("capture_info", {"file": "--url"})
    assert parsed(samples, argv)[1] == {"file": "--url"}


def test_integers_may_be_written_in_hexadecimal() -> None:
    assert parsed(samples, ["stats", "--file", "a", "--pgn", "0xF004"])[1]["pgn"] == 61444


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["echo"],
        ["echo", "a", "--count", "many"],
        ["echo", "a", "--unknown"],
        ["send", "can0"],
        ["dbc"],
        ["echo", "a", "--jso"],
        ["serve", "--port", "http"],
    ],
)
def test_a_wrong_command_line_ends_with_two(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser(samples).parse_args(argv)
    assert ended.value.code == 2
    assert "usage: canferry-service" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [["--help"], ["serve", "--help"], ["mcp", "serve", "--help"]]
    + [[*tool.command.split(), "--help"] for tool in samples],
    ids=" ".join,
)
def test_help_ends_with_nought(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser(samples).parse_args(argv)
    assert ended.value.code == 0
    assert "usage: canferry-service" in capsys.readouterr().out


def test_mcp_serve_is_serve_on_stdio() -> None:
    one = build_parser(samples).parse_args(["mcp", "serve", "--arm", "truck"])
    other = build_parser(samples).parse_args(["serve", "--stdio", "--arm", "truck"])
    assert vars(one) == vars(other)


def shown(envelope: dict[str, Any], terminal: bool) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    show(
        envelope,
        Console(file=out, force_terminal=terminal, width=100),
        Console(file=err, force_terminal=terminal, width=100),
    )
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_a_person_sees_every_value_of_the_data(terminal: bool) -> None:
    data = {
        "frames": 5,
        "armed": False,
        "rate": 9.87654321,
        "note": None,
        "events": ["(1.0) can0 123#11[22]"],
        "ids": [{"id": "0x123", "count": 4}, {"id": "0x7FF", "count": 1, "dlcs": [8]}],
        "buses": {"powertrain": {"state": "open"}, "truck": {"state": "closed"}},
        "names": {"a": 1},
        "empty": [],
    }
    out, err = shown(
        {"ok": True, "data": data, "warnings": ["half [of] it"], "errors": []}, terminal
    )
    for word in ("frames", "5", "no", "9.87654", "123#11[22]", "0x7FF", "[8]", "truck", "closed"):
        assert word in out
    assert "warning: half [of] it" in err
    assert ("\x1b[" in out) is terminal


def test_a_failure_goes_to_stderr_with_its_hint() -> None:
    error = {"code": "BUS_NOT_FOUND", "message": "no bus 'x'", "hint": "Try powertrain."}
    out, err = shown({"ok": False, "data": {"x": 1}, "warnings": [], "errors": [error]}, False)
    assert out == ""
    assert err == "BUS_NOT_FOUND: no bus 'x'\nhint: Try powertrain.\n"
