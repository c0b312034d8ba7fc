"""A generated suite is valid, the same for the same tools, and asks only what schemas promise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.suite.canonical import compact
from relay.suite.document import Json
from relay.suite.generate import MADE_UP, REFUSALS, Generated, Options, generate
from relay.suite.json_schema import DEEPEST
from relay.suite.load import Loaded, load
from relay.suite.validation import validate
from relay.suite.variants import Kind
from tests.relay.suite.examples import values
from tests.relay.suite.schemas import Schema, exhaustive, is_valid, schemas

READ_ONLY = {"readOnlyHint": True}


def tool(name: str = "t", **members: Json) -> Json:
    return {"name": name, "annotations": READ_ONLY, **members}


def taking(properties: Schema, *required: str, **others: Json) -> Json:
    """A tool with such an input."""
    schema = {"type": "object", "properties": properties, "required": list(required), **others}
    return tool(inputSchema=schema)


def cases(generated: Generated) -> dict[str, Any]:
    assert generated.document is not None
    loaded = load(compact(generated.document).encode())
    assert isinstance(loaded, Loaded)
    found: Any = generated.document["cases"]
    return {case["id"]: case for case in found}


def inputs(*tools: Json, **wanted: Any) -> dict[str, Json]:
    """The inputs of the cases that call a tool, by their ids."""
    found = cases(generate(tools, Options(**wanted)))
    operations = {name: case["operation"] for name, case in found.items()}
    return {name: one["input"] for name, one in operations.items() if "input" in one}


@exhaustive
@given(schemas(), schemas())
def test_every_input_is_as_its_case_says(schema: Schema, output: Schema) -> None:
    schema = {**schema, "type": "object"}
    generated = generate([tool(inputSchema=schema, outputSchema=output)], Options())
    for case in cases(generated).values():
        if case["operation"]["type"] == "callTool":
            refused = case["assertions"][0]["expected"]
            assert is_valid(schema, case["operation"]["input"]) is not refused, case


@exhaustive
@given(st.lists(values | values.map(lambda value: {"name": "t", "inputSchema": value})))
def test_whatever_a_server_lists_gives_a_valid_suite_or_none(tools: list[Json]) -> None:
    generated = generate(tools, Options(destructive=True))
    assert generated.document is None or not validate(generated.document)


@exhaustive
@given(
    st.fixed_dictionaries(
        {"type": st.just("object")},
        optional=dict.fromkeys(
            ["properties", "required", "allOf", "anyOf", "oneOf", "$ref", "additionalProperties"],
            values,
        ),
    )
)
def test_a_schema_of_any_shape_gives_a_valid_suite(schema: Json) -> None:
    generated = generate([tool(inputSchema=schema, outputSchema=schema)], Options())
    assert validate(generated.document) == []


def test_a_tool_has_a_case_for_each_thing_that_its_schema_says() -> None:
    fields: Schema = {
        "city": {"type": "string", "minLength": 2, "maxLength": 4},
        "unit": {"enum": ["c", "f"]},
        "days": {"type": "integer", "minimum": 1, "exclusiveMaximum": 8},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    }
    assert inputs(taking(fields, "city", additionalProperties=False)) == {
        "t-succeeds": {"city": "exam"},
        "t-with-all-fields": {"city": "exam", "unit": "c", "days": 1, "tags": ["example"]},
        "t-without-city": {},
        "t-with-city-of-wrong-type": {"city": 12345},
        "t-with-city-at-minLength": {"city": "ex"},
        "t-with-city-beyond-minLength": {"city": "e"},
        "t-with-city-at-maxLength": {"city": "exam"},
        "t-with-city-beyond-maxLength": {"city": "examp"},
        "t-with-unit-of-wrong-type": {"city": "exam", "unit": 12345},
        "t-with-unit-not-in-enum": {"city": "exam", "unit": "c-not"},
        "t-with-days-of-wrong-type": {"city": "exam", "days": "of another type"},
        "t-with-days-at-minimum": {"city": "exam", "days": 1},
        "t-with-days-beyond-minimum": {"city": "exam", "days": 0},
        "t-with-days-at-exclusiveMaximum": {"city": "exam", "days": 7},
        "t-with-days-beyond-exclusiveMaximum": {"city": "exam", "days": 8},
        "t-with-tags-of-wrong-type": {"city": "exam", "tags": "of another type"},
        "t-with-tags-at-minItems": {"city": "exam", "tags": ["example"]},
        "t-with-tags-beyond-minItems": {"city": "exam", "tags": []},
        "t-with-tags-at-maxItems": {"city": "exam", "tags": ["example", "example"]},
        "t-with-tags-beyond-maxItems": {"city": "exam", "tags": ["example"] * 3},
        "t-with-unknown-field": {"city": "exam", "undeclared": True},
    }


def test_a_success_is_held_to_the_output_schema_and_a_refusal_to_is_error_alone() -> None:
    output = {"type": "object", "required": ["a"], "description": "what there is"}
    schema = {"type": "object", "required": ["b"], "properties": {"b": {"type": "null"}}}
    found = cases(generate([tool(inputSchema=schema, outputSchema=output)], Options()))
    assert found["t-succeeds"]["assertions"] == [
        {"type": "isError", "expected": False},
        {
            "type": "structuredContentMatchesSchema",
            "schema": {"type": "object", "required": ["a"]},
        },
    ]
    assert found["t-without-b"]["assertions"] == [{"type": "isError", "expected": True}]
    assert found["lists-tools"]["assertions"] == [{"type": "toolExists", "tool": "t"}]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 7, "default": 7}, 7),
        ({"type": "string", "default": "d", "examples": ["e"]}, "d"),
        ({"type": "string", "examples": ["e", "f"]}, "e"),
        ({"type": "string", "default": 5, "enum": ["x"]}, "x"),
        ({"enum": [None, "x"]}, "x"),
        ({"type": "string", "pattern": "^[A-Z]+$", "examples": ["ABC"]}, "ABC"),
        ({"type": "string", "format": "date"}, "2024-02-29"),
        ({"type": "string", "minLength": 9}, "examplexx"),
        ({"type": "string", "maxLength": 2, "pattern": "a", "default": "long"}, None),
        ({"type": "integer", "minimum": 2.5}, 3),
        ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, 1.5),
        ({"type": "integer", "multipleOf": 7}, 0),
        ({"type": "integer", "multipleOf": 7, "minimum": 20}, 21),
        ({"type": "number", "minimum": 1.7e308}, 1.7e308),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": "array"}, ["example"]),
        ({"type": "array", "items": False}, []),
        (
            {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"type": "integer"}},
            [1, 0],
        ),
        (
            {"type": "array", "prefixItems": [{"const": 1}], "minItems": 2, "items": {"const": 2}},
            [1, 2],
        ),
        ({"type": "array", "prefixItems": [{"const": 1}], "minItems": 1}, [1]),
        ({"type": "object", "required": ["x"], "properties": {"x": {"const": 1}}}, {"x": 1}),
        ({"type": "object", "required": ["x"], "additionalProperties": {"const": 2}}, {"x": 2}),
        ({"type": "object", "minProperties": 1, "properties": {"x": {"const": 1}}}, {"x": 1}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, "example"),
        ({"oneOf": [{"pattern": "a", "type": "string"}, {"type": "null"}]}, None),
        ({"allOf": [{"type": "string"}, {"minLength": 8}]}, "examplex"),
        ({"type": "string", "not": {"const": "example"}}, ""),
        ({"$ref": "#/properties/other"}, "example"),
    ],
)
def test_a_value_is_one_that_the_schema_names_or_the_plainest_that_fits(
    schema: Schema, value: Json
) -> None:
    wanted = taking({"a": schema, "other": {"type": "string"}}, "a")
    generated = generate([wanted], Options())
    if "default" in schema and schema["default"] == "long":
        assert "pattern" in generated.skipped[0].reason
        return
    assert inputs(wanted)["t-succeeds"] == {"a": value}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "string", "pattern": "^x"}, 'no value for "a" is known: nothing is known to fit'),
        ({"type": "string", "format": "iban"}, "of the format iban"),
        ({"type": "string", "minLength": 10**9}, "1000000000 characters is too long to make"),
        ({"type": "array", "minItems": 10**9}, "1000000000 items is too long to make"),
        ({"enum": []}, "nothing was found to fit its schema"),
        (
            {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}},
            "fit",
        ),
        ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}, "itself"),
        ({"$ref": "other.json"}, "outside of the schema"),
        ({"type": "text"}, '"type" is "text"'),
    ],
)
def test_a_tool_that_no_value_is_known_for_is_left_out_with_the_reason(
    schema: Schema, reason: str
) -> None:
    generated = generate([taking({"a": schema}, "a")], Options())
    [skipped] = generated.skipped
    assert skipped.tool == "t"
    assert reason in skipped.reason
    assert list(cases(generated)) == ["lists-tools"]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array"}, "its input is no object"),
        ({"type": "object", "minProperties": 3}, "do not fit its schema together"),
        (7, "it is 7 and no schema"),
    ],
)
def test_a_tool_without_an_input_is_left_out(schema: Json, reason: str) -> None:
    [skipped] = generate([tool(inputSchema=schema)], Options()).skipped
    assert reason in skipped.reason


def test_a_tool_without_a_schema_is_called_without_arguments() -> None:
    assert inputs(tool()) == {"t-succeeds": {}}


def test_values_that_are_given_are_taken() -> None:
    wanted = taking({"a": {"type": "string", "pattern": "^x"}, "b": {"type": "null"}}, "a")
    found = inputs(wanted, values={"t": {"a": "xyz"}})
    assert found["t-succeeds"] == {"a": "xyz"}
    assert found["t-with-all-fields"] == {"a": "xyz", "b": None}
    assert found["t-with-b-of-wrong-type"] == {"a": "xyz", "b": "of another type"}


def test_a_value_that_is_given_for_an_optional_field_is_in_every_input() -> None:
    wanted = taking({"a": {"type": "string"}, "b": {"type": "null"}}, "b")
    found = inputs(wanted, values={"t": {"a": "given"}})
    assert found["t-succeeds"] == {"a": "given", "b": None}
    assert found["t-without-b"] == {"a": "given"}
    assert "t-with-all-fields" not in found


def test_an_input_that_another_alternative_takes_is_not_to_be_refused() -> None:
    fields: Schema = {"a": {"type": "null"}, "b": {"type": "null"}}
    needs_either = [{"required": ["a"]}, {"required": ["b"]}]
    found = inputs(taking(fields, anyOf=needs_either), values={"t": {"b": None}})
    assert found["t-succeeds"] == {"a": None, "b": None}
    assert "t-without-a" not in found


def test_values_that_do_not_fit_are_not_taken() -> None:
    wanted = taking({"a": {"type": "string"}}, "a")
    [skipped] = generate([wanted], Options(values={"t": {"a": 5}})).skipped
    assert "do not fit" in skipped.reason


def test_an_optional_field_that_no_value_is_known_for_is_left_out() -> None:
    fields: Schema = {"a": {"type": "string", "pattern": "x"}, "b": {"type": "null"}}
    assert inputs(taking(fields))["t-with-all-fields"] == {"b": None}


def test_optional_fields_that_exclude_each_other_are_not_sent_together() -> None:
    fields: Schema = {"a": {"type": "null"}, "b": {"type": "null"}}
    wanted = taking(fields, **{"not": {"required": ["a", "b"]}})
    assert inputs(wanted)["t-with-all-fields"] == {"a": None}


def test_objects_inside_of_an_input_have_cases_too() -> None:
    inner = {"type": "object", "properties": {"y": {"type": "null"}}, "required": ["y"]}
    found = inputs(taking({"x": {**inner, "additionalProperties": False}}, "x"))
    assert found["t-without-x.y"] == {"x": {}}
    assert found["t-with-x.y-of-wrong-type"] == {"x": {"y": "of another type"}}
    assert found["t-with-unknown-field-in-x"] == {"x": {"y": None, "undeclared": True}}


def test_a_name_that_is_declared_is_no_unknown_field() -> None:
    wanted = taking({"undeclared": {"type": "null"}}, additionalProperties=False)
    assert inputs(wanted)["t-with-unknown-field"] == {"undeclared_": True}


def test_an_input_that_may_be_valid_after_all_is_not_to_be_refused() -> None:
    wanted = taking({}, additionalProperties=False, patternProperties={"^u": {}})
    assert "t-with-unknown-field" not in inputs(wanted)


def test_bounds_of_a_value_that_may_be_null_have_cases() -> None:
    nullable = {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]}
    found = inputs(taking({"a": nullable}))
    assert found["t-with-a-at-minimum"] == {"a": 3}
    assert found["t-with-a-beyond-minimum"] == {"a": 2}


def test_a_bound_that_only_says_what_an_integer_is_has_no_case() -> None:
    safe = {"type": "integer", "minimum": -(2**53 - 1), "maximum": 2**53 - 1}
    assert set(inputs(taking({"a": safe}))) == {
        "t-succeeds",
        "t-with-all-fields",
        "t-with-a-of-wrong-type",
    }


def test_a_bound_that_is_too_far_has_no_case() -> None:
    text = {"type": "string", "maxLength": 10**6}
    items = {"type": "array", "items": {"type": "null"}, "maxItems": 10**6}
    assert not [name for name in inputs(taking({"a": text, "b": items})) if "max" in name]


@pytest.mark.parametrize(
    ("options", "other"),
    [
        ([1, 5], 6),
        (["a", "bc"], "bc-not"),
        ([1, "a"], None),
        ([True], None),
        ([], None),
        ([float("inf")], None),
    ],
)
def test_a_value_beside_an_enum_is_of_its_type(options: list[Json], other: Json) -> None:
    found = inputs(taking({"a": {"enum": options}}))
    expected = None if other is None else {"a": other}
    assert found.get("t-with-a-not-in-enum") == expected


def test_what_may_change_something_is_left_out_unless_it_is_asked_for() -> None:
    tools = [
        {"name": "plain"},
        {"name": "additive", "annotations": {"destructiveHint": False}},
        {"name": "odd", "annotations": {"readOnlyHint": True, "destructiveHint": True}},
        {"name": "reader", "annotations": READ_ONLY},
        {"name": "strange", "annotations": 5},
    ]
    generated = generate(tools, Options())
    assert list(cases(generated)) == ["lists-tools", "reader-succeeds"]
    assert {one.tool: one.reason for one in generated.skipped} == {
        "additive": "it may change something: it is not annotated as read-only",
        "odd": "it is annotated as destructive",
        "plain": "it may change something: it is not annotated as read-only",
        "strange": "it may change something: it is not annotated as read-only",
    }
    everything = generate(tools, Options(destructive=True))
    assert len(cases(everything)) == 1 + len(tools)
    assert not everything.skipped


def test_the_order_in_which_a_server_lists_does_not_matter() -> None:
    tools = [tool("b"), tool("a"), tool("😀"), tool("\ufffd")]
    assert generate(tools, Options()) == generate(tools[::-1], Options())
    assert list(inputs(*tools)) == ["a-succeeds", "b-succeeds", "😀-succeeds", "\ufffd-succeeds"]


def test_only_the_tools_and_kinds_that_are_wanted_have_cases() -> None:
    tools = [tool("read_a"), tool("read_b"), tool("write_a")]
    found = inputs(*tools, only=("read_*", "w*"), skip=("*_b",))
    assert list(found) == ["read_a-succeeds", "write_a-succeeds"]
    wanted = taking({"a": {"type": "null"}}, "a")
    assert list(inputs(wanted, kinds=frozenset([Kind.MISSING_FIELD]))) == ["t-without-a"]
    generated = generate([wanted], Options(kinds=frozenset([Kind.MISSING_FIELD])))
    assert generated.notes == (REFUSALS,)


def test_ids_are_unique() -> None:
    tools = [taking({"x": {"type": "null"}}, "x"), tool("t-without-x-succeeds")]
    one = tool("t", inputSchema={"properties": {"x": {"type": "null"}}, "type": "object"})
    clash = [one, tool("t-with-all-fields")]
    clash.append(tool("t-with-all-fields-succeeds"))
    assert len(inputs(*tools)) == 4
    same = [tool("a"), tool("a-succeeds"), tool("a-with-x")]
    assert len(inputs(*same)) == 3
    fields: Schema = {"x": {"type": "null"}, "x-of-wrong-type": {"enum": [1], "type": "integer"}}
    found = inputs(taking({**fields, "x-of-wrong-type-of-wrong-type": {"type": "null"}}))
    assert len(found) == len(set(found))


def test_a_field_named_as_another_case_gets_an_id_of_its_own() -> None:
    found = inputs(
        taking({"a": {"type": "null"}}, "a"),
        tool("lists", inputSchema={"type": "object"}),
        kinds=frozenset(Kind),
    )
    assert "lists-succeeds" in found
    two = [tool("x", inputSchema={"properties": {"y-without-z": {}}, "required": ["y-without-z"]})]
    two.append(tool("x-without-y", inputSchema={"properties": {"z": {}}, "required": ["z"]}))
    ids = list(cases(generate(two, Options())))
    assert "x-without-y-without-z" in ids
    assert "x-without-y-without-z-2" in ids


def test_an_input_with_a_number_that_json_does_not_have_is_left_out() -> None:
    wanted = taking({"a": {"const": float("inf")}}, "a")
    generated = generate([wanted], Options())
    skipped = {one.case_id: one.reason for one in generated.skipped}
    assert "t-succeeds" in skipped
    assert "would not be valid" in skipped["t-succeeds"]
    assert "t-without-a" in cases(generated)


def test_a_tool_without_a_name_or_with_that_of_another_is_left_out() -> None:
    generated = generate([5, {"name": " "}, {"name": 5}, tool(), tool()], Options())
    assert [one.reason for one in generated.skipped] == [
        "it is listed without a name",
        "it is listed without a name",
        "it is listed without a name",
        "another tool has this name too",
    ]


def test_there_is_no_suite_without_a_case() -> None:
    assert generate([], Options()).document is None
    assert generate([tool()], Options(kinds=frozenset())).document is None


def test_what_holds_of_the_suite_is_told() -> None:
    assert generate([tool()], Options()).notes == (MADE_UP,)
    assert generate([taking({}, additionalProperties=False)], Options()).notes == (
        MADE_UP,
        REFUSALS,
    )
    assert generate([{"name": "t"}], Options()).notes == ()


def test_a_suite_needs_a_name() -> None:
    with pytest.raises(ValueError, match="not blank"):
        Options(suite_id=" ")


def test_a_schema_that_is_too_deep_is_left_out() -> None:
    schema: Schema = {"type": "null"}
    for _ in range(5 * DEEPEST):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    [skipped] = generate([tool(inputSchema=schema)], Options()).skipped
    assert "too deep" in skipped.reason


def test_the_reason_names_the_field_inside_of_others() -> None:
    inner: Schema = {"type": "string", "pattern": "x"}
    for name in ("c", "b"):
        inner = {"type": "object", "properties": {name: inner}, "required": [name]}
    [skipped] = generate([taking({"a": inner}, "a")], Options()).skipped
    assert skipped.reason == 'no value for "a.b.c" is known: nothing is known to fit pattern'


def test_a_schema_that_holds_itself_gives_the_least_value() -> None:
    node = {
        "type": "object",
        "required": ["children"],
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    }
    wanted = tool(inputSchema={"$ref": "#/$defs/node", "$defs": {"node": node}})
    assert inputs(wanted)["t-succeeds"] == {"children": []}
