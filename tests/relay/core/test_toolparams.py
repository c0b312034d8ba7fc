"""Arguments mirrored into headers, and the annotations that hide a tool."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.toolparams import ToolParams

Json = dict[str, Any]
REGION: Json = {"type": "string", "x-mcp-header": "Region"}


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def tool(schema: object, name: str = "t") -> msgspec.Raw:
    return raw({"name": name, "inputSchema": schema})


def properties(**members: object) -> Json:
    return {"type": "object", "properties": members}


def headers(schema: object, arguments: object) -> dict[str, str]:
    params = ToolParams()
    legal, complaints = params.learn([tool(schema)])
    assert (len(legal), complaints) == (1, [])
    return dict(params.headers({"name": raw("t"), "arguments": raw(arguments)}))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", "eu", "eu"),
        ("string", "é", "=?base64?w6k=?="),
        ("integer", -7, "-7"),
        ("integer", 42.0, "42.0"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
    ],
)
def test_an_argument_is_mirrored_as_text(kind: str, value: object, expected: str) -> None:
    schema = properties(a={"type": kind, "x-mcp-header": "A-b"})
    assert headers(schema, {"a": value}) == {"Mcp-Param-A-b": expected}


@pytest.mark.parametrize("arguments", [{}, {"a": None}, {"a": []}, {"a": {}}, [], None, 7])
def test_an_argument_that_is_absent_or_null_gives_no_header(arguments: object) -> None:
    assert headers(properties(a=REGION), arguments) == {}


def test_properties_beside_an_annotated_one_may_be_anything() -> None:
    schema = properties(yes=True, odd=7, a=REGION)
    assert headers(schema, {"a": "eu", "yes": 1}) == {"Mcp-Param-Region": "eu"}


def test_a_nested_property_is_found_by_its_exact_path() -> None:
    schema = properties(where=properties(region=REGION))
    assert headers(schema, {"where": {"region": "eu"}, "region": "us"}) == {
        "Mcp-Param-Region": "eu"
    }


def test_an_annotation_hidden_behind_an_escape_is_seen() -> None:
    schema = b'{"properties":{"a":{"type":"string","x\\u002dmcp-header":"R"}}}'
    params = ToolParams()
    params.learn([msgspec.Raw(b'{"name":"t","inputSchema":' + schema + b"}")])
    assert params.headers({"name": raw("t"), "arguments": raw({"a": "eu"})}) == (
        ("Mcp-Param-R", "eu"),
    )


@pytest.mark.parametrize(
    "schema",
    [
        properties(a={"type": "string", "x-mcp-header": ""}),
        properties(a={"type": "string", "x-mcp-header": "a b"}),
        properties(a={"type": "string", "x-mcp-header": "a\r\nX: y"}),
        properties(a={"type": "string", "x-mcp-header": 7}),
        properties(a={"type": "number", "x-mcp-header": "A"}),
        properties(a={"type": ["string"], "x-mcp-header": "A"}),
        properties(a={"x-mcp-header": "A"}),
        properties(a=REGION, b={"type": "string", "x-mcp-header": "REGION"}),
        {"type": "object", "x-mcp-header": "Root"},
        properties(a={"type": "array", "items": REGION}),
        properties(a={"type": "array", "items": [REGION]}),
        properties(a={"items": properties(b=REGION)}),
        {"anyOf": [properties(a=REGION)]},
        {"$defs": {"d": properties(a=REGION)}},
        {"additionalProperties": REGION},
        {"not": REGION},
    ],
)
def test_a_tool_with_an_illegal_annotation_is_hidden(schema: object) -> None:
    params = ToolParams()
    legal, complaints = params.learn([tool(schema, "bad"), tool(properties(), "good")])
    assert [msgspec.json.decode(kept)["name"] for kept in legal] == ["good"]
    (complaint,) = complaints
    assert "'bad' is hidden" in complaint


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x-mcp-header": {"type": "string"}}},
        {"default": {"x-mcp-header": "Not one"}, "enum": [{"x-mcp-header": 7}]},
        {"properties": 7, "$defs": [], "anyOf": {}},
        {"properties": {"a": True}},
    ],
    ids=["a property of that name", "data", "nonsense", "a boolean schema"],
)
def test_what_only_looks_like_an_annotation_is_none(schema: object) -> None:
    assert headers(schema, {"x-mcp-header": "v", "a": "w"}) == {}


def test_later_pages_add_to_earlier_ones_and_a_tool_turned_illegal_is_forgotten() -> None:
    params = ToolParams()
    params.learn([tool(properties(a=REGION), "one")])
    params.learn([tool(properties(a=REGION), "two")])
    arguments = raw({"a": "eu"})
    assert params.headers({"name": raw("one"), "arguments": arguments})
    params.learn([tool({"not": REGION}, "one")])
    assert not params.headers({"name": raw("one"), "arguments": arguments})
    assert params.headers({"name": raw("two"), "arguments": arguments})


@pytest.mark.parametrize(
    "odd", [7, {}, {"name": 7}, {"name": "t"}, {"name": "t", "inputSchema": 1}]
)
def test_an_odd_tool_is_let_through_for_the_client_to_judge(odd: object) -> None:
    legal, complaints = ToolParams().learn([raw(odd)])
    assert (len(legal), complaints) == (1, [])


def test_a_schema_may_be_as_deep_as_it_parses() -> None:
    schema: object = REGION
    for _ in range(200):
        schema = {"properties": {"a": schema}}
    arguments: object = "eu"
    for _ in range(200):
        arguments = {"a": arguments}
    assert headers(schema, arguments) == {"Mcp-Param-Region": "eu"}
