"""Arguments mirrored into headers, and the annotations that are not legal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.modern.toolparams import IllegalAnnotation, mirrors_of, param_headers

Json = dict[str, Any]
REGION: Json = {"type": "string", "x-mcp-header": "Region"}


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def properties(**members: object) -> Json:
    return {"type": "object", "properties": members}


def headers(schema: object, arguments: object) -> dict[str, str]:
    return dict(param_headers(mirrors_of(raw(schema)), raw(arguments)))


@pytest.mark.obligation(8)
@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", "eu", "eu"),
        ("string", "é", "=?base64?w6k=?="),
        ("string", "a\r\nX: y", "=?base64?YQ0KWDogeQ==?="),
        ("integer", -7, "-7"),
        ("integer", 42.0, "42.0"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
    ],
)
def test_an_argument_is_mirrored_as_text(kind: str, value: object, expected: str) -> None:
    schema = properties(a={"type": kind, "x-mcp-header": "A-b"})
    assert headers(schema, {"a": value}) == {"Mcp-Param-A-b": expected}


@pytest.mark.obligation(8)
@pytest.mark.parametrize("arguments", [{}, {"a": None}, {"a": []}, {"a": {}}, [], None, 7])
def test_an_argument_that_is_absent_or_null_gives_no_header(arguments: object) -> None:
    assert headers(properties(a=REGION), arguments) == {}


def test_a_call_without_arguments_has_no_headers() -> None:
    assert param_headers(mirrors_of(raw(properties(a=REGION))), None) == ()


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
    mirrors = mirrors_of(msgspec.Raw(schema))
    assert param_headers(mirrors, raw({"a": "eu"})) == (("Mcp-Param-R", "eu"),)


@pytest.mark.obligation(9)
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
def test_an_annotation_that_breaks_a_rule_is_illegal(schema: object) -> None:
    with pytest.raises(IllegalAnnotation):
        mirrors_of(raw(schema))


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


def test_a_tool_without_a_schema_mirrors_nothing() -> None:
    assert mirrors_of(None) == ()


def test_a_schema_may_be_as_deep_as_it_parses() -> None:
    schema: object = REGION
    for _ in range(200):
        schema = {"properties": {"a": schema}}
    arguments: object = "eu"
    for _ in range(200):
        arguments = {"a": arguments}
    assert headers(schema, arguments) == {"Mcp-Param-Region": "eu"}
