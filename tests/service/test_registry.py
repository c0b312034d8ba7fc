"""A tool's function is the only description of the tool."""

from __future__ import annotations

import json
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import BaseModel, Field, ValidationError

from service.arguments import parse
from service.registry import Effect, Positional, Reads, Registry, Result
from tests.service.sample_tools import Bench, Echo, registry


class Data(BaseModel):
    """What the tools here give; never made."""

    rows: list[int] = []
    rate: float | None = None


seed: Registry[object] = Registry()


@seed.tool(Effect.LISTEN)
def capture(
    context: object,
    interface: Annotated[str, Positional()],
    count: int | None = None,
    decode: bool = False,
) -> Data:
    """Listen."""
    raise NotImplementedError


@seed.tool(Effect.READ, command="capture-info")
def capture_info(context: object, file: Annotated[str, Reads()]) -> Data:
    """Look."""
    raise NotImplementedError


@seed.tool(Effect.READ)
def encode(
    context: object,
    dbc: Annotated[str, Reads()],
    message: Annotated[str, Positional()],
    signals: Annotated[list[str], Positional()],
    strict: bool = True,
) -> Data | Result:
    """Encode."""
    raise NotImplementedError


@seed.tool(Effect.READ, command="dbc inspect")
def dbc_inspect(
    context: object,
    dbc: Annotated[str, Reads(), Positional()],
    message: str | None = None,
    signals_only: bool = False,
    layout: bool = False,
    names: list[str] | None = None,
) -> Data:
    """Inspect."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("name", "arguments", "argv"),
    [
        ("capture", {"interface": "can0"}, ["capture", "can0", "--json"]),
        (
            "capture_info",
            {"file": "trace.candump"},
            ["capture-info", "--file", "trace.candump", "--json"],
        ),
        (
            "encode",
            {"dbc": "t.dbc", "message": "Msg", "signals": ["RPM=1000", "Gear=2"]},
            ["encode", "Msg", "RPM=1000", "Gear=2", "--dbc", "t.dbc", "--json"],
        ),
        (
            "dbc_inspect",
            {"dbc": "t.dbc", "message": "Msg", "signals_only": True, "layout": True},
            ["dbc", "inspect", "t.dbc", "--message", "Msg", "--signals-only", "--layout", "--json"],
        ),
        (
            "dbc_inspect",
            {"dbc": "t.dbc", "signals_only": False, "names": ["a", "b"], "message": None},
            ["dbc", "inspect", "t.dbc", "--names", "a", "--names", "b", "--json"],
        ),
        (
            "encode",
            {"dbc": "--x", "message": "-m", "signals": [], "strict": False},
            ["encode", "--dbc=--x", "--no-strict", "--json", "--", "-m"],
        ),
    ],
)
def test_a_call_is_written_as_the_command_line_that_does_the_same(
    name: str, arguments: dict[str, object], argv: list[str]
) -> None:
    assert seed.build_argv(name, arguments) == argv


def test_an_unknown_tool_has_no_command_line() -> None:
    with pytest.raises(ValueError, match="bad_tool"):
        seed.build_argv("bad_tool", {})


def test_a_required_switch_is_always_written() -> None:
    def argv(ack: bool) -> list[str]:
        return registry.build_argv("send", {"interface": "can0", "ack_active": ack})

    assert argv(True) == ["send", "can0", "--ack-active", "--json"]
    assert argv(False) == ["send", "can0", "--no-ack-active", "--json"]


def test_tools_come_in_the_order_of_registration() -> None:
    assert [tool.name for tool in seed] == ["capture", "capture_info", "encode", "dbc_inspect"]
    assert len(seed) == 4
    assert "encode" in seed
    assert seed["dbc_inspect"].command == "dbc inspect"


def test_the_description_is_the_docstring_without_its_sections() -> None:
    assert registry["echo"].description == "Give `text` back.\nTwice if asked."
    assert registry["echo"].title == "Echo"
    assert registry["send"].title == "Send frames"


def test_the_input_schema_is_strict_and_without_noise() -> None:
    assert registry["echo"].input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "maxLength": 200_000, "description": "Any text."},
            "count": {"type": "integer", "minimum": 1, "default": 1, "description": "How often."},
            "ratio": {"type": "number", "default": 0.5},
        },
    }


def test_an_optional_parameter_is_published_without_null() -> None:
    assert registry["stats"].input_schema["properties"]["pgn"] == {"type": "integer"}
    parsed = parse(registry["stats"].arguments, {"file": "x", "pgn": None})
    assert parsed.model_dump()["pgn"] is None


@pytest.mark.parametrize("tool", [*seed, *registry], ids=lambda tool: str(tool.name))
def test_every_schema_is_a_valid_schema_of_an_object(tool: Any) -> None:
    assert tool.description
    for schema in (tool.input_schema, tool.output_schema):
        assert schema["type"] == "object"
        jsonschema.Draft202012Validator.check_schema(schema)
        assert '"title"' not in json.dumps(schema)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"text": 1},
        {"text": "a", "count": "1"},
        {"text": "a", "count": 1.5},
        {"text": "a", "count": True},
        {"text": "a", "count": 0},
        {"text": "a", "ratio": "0.5"},
        {"text": "a", "ratio": float("nan")},
        {"text": "a", "more": 1},
    ],
)
def test_arguments_that_do_not_match_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        parse(registry["echo"].arguments, arguments)


def test_numbers_follow_the_rules_of_json_schema() -> None:
    parsed = parse(registry["echo"].arguments, {"text": "a", "count": 3.0, "ratio": 2})
    assert parsed.model_dump() == {"text": "a", "count": 3, "ratio": 2.0}
    assert isinstance(parsed.model_dump()["ratio"], float)


def test_the_guard_knows_every_reading_parameter_and_no_other() -> None:
    assert registry.stdin_guarded() == {
        "capture_info": {"file"},
        "stats": {"file", "files"},
        "send": {"source"},
    }


def test_guarded_parameters_tell_the_restriction_and_nothing_about_the_shape() -> None:
    for name, parameters in registry.stdin_guarded().items():
        for parameter in parameters:
            text = registry[name].input_schema["properties"][parameter]["description"]
            assert "`-`" in text
            assert "stdin" in text
            assert "path" not in text
    described = registry["capture_info"].input_schema["properties"]["file"]["description"]
    assert described == "A capture. `-` (stdin) is not accepted."


def test_effects_tell_what_a_tool_does() -> None:
    assert {effect for effect in Effect if effect.is_read_only} == {Effect.READ, Effect.LISTEN}
    assert {effect for effect in Effect if effect.is_destructive} == {Effect.TRANSMIT}
    files = {Effect.READ, Effect.WRITE}
    assert {effect for effect in Effect if not effect.is_live} == files


@pytest.mark.parametrize(
    "envelope",
    [
        {"ok": True, "data": {"text": "a", "count": 1, "ratio": 0.5, "thread": ""}},
        {"ok": True, "data": {"text": "a", "count": 1, "ratio": None, "thread": ""}},
        {"ok": True, "data": {"truncated": True, "truncation": {"hint": "h"}}},
        {"ok": False, "data": {"text": 5, "anything": []}},
        {"ok": False, "data": {}},
    ],
)
def test_the_output_schema_accepts_whatever_is_sent(envelope: dict[str, object]) -> None:
    whole = {"command": "echo", "warnings": ["w"], "errors": []} | envelope
    jsonschema.validate(whole, registry["echo"].output_schema)


def test_the_output_schema_refuses_data_of_another_tool() -> None:
    whole = {"ok": True, "command": "echo", "data": {"text": 1}, "warnings": [], "errors": []}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(whole, registry["echo"].output_schema)


def test_a_name_or_a_command_is_taken_once() -> None:
    taken: Registry[object] = Registry()
    taken.tool(Effect.READ)(capture)
    with pytest.raises(ValueError, match="capture"):
        taken.tool(Effect.READ)(capture)
    with pytest.raises(ValueError, match="capture"):
        taken.tool(Effect.READ, command="capture")(capture_info)


def mixed(
    context: Bench,
    either: Annotated[str, Reads()] | Annotated[list[str], Reads()],
    items: list[Annotated[str, Reads()]],
    maybe: Annotated[str, Reads()] | None = None,
) -> Echo:
    """Mark in every place."""
    raise NotImplementedError


def test_a_marker_counts_wherever_it_stands() -> None:
    mixed_registry: Registry[Bench] = Registry()
    mixed_registry.tool(Effect.READ)(mixed)
    assert mixed_registry.stdin_guarded() == {"mixed": {"either", "items", "maybe"}}


def no_context(file: str) -> Echo:
    """Has no context."""
    raise NotImplementedError


def no_docstring(context: Bench) -> Echo:
    raise NotImplementedError


def no_model(context: Bench) -> int:
    """Gives no model."""
    raise NotImplementedError


def only_result(context: Bench) -> Result:
    """Does not say which model."""
    raise NotImplementedError


def no_annotation(context: Bench, file, n: Annotated[int, Field()] = 1) -> Echo:  # type: ignore[no-untyped-def]
    """Leaves a parameter open."""
    raise NotImplementedError


@pytest.mark.parametrize(
    "function", [no_context, no_docstring, no_model, only_result, no_annotation]
)
def test_a_function_that_cannot_be_a_tool_is_refused_at_import(function: Any) -> None:
    with pytest.raises(TypeError, match=function.__name__):
        Registry[Bench]().tool(Effect.READ)(function)
