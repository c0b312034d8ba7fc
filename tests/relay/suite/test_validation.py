"""Every issue of a suite is found, in the recorded order, and says what to do."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.suite.document import Json, parse
from relay.suite.issues import Issue
from relay.suite.load import Loaded, Unusable, load
from relay.suite.schema_validation import KEYWORDS
from relay.suite.validation import validate
from tests.relay.suite.examples import Document, body, call, listing, suite, values
from tests.relay.suite.vectors import DIFFERENCES, Vector, lines, on_each, vectors


@on_each("validation")
def test_a_suite_has_the_recorded_issues_in_the_recorded_order(vector: Vector) -> None:
    assert lines(validate(parse(vector["text"]))) == vector["issues"]


@on_each("validation")
def test_what_has_no_issue_is_a_suite_and_nothing_else_is(vector: Vector) -> None:
    assert isinstance(load(vector["text"].encode()), Unusable) is bool(vector["issues"])


def test_a_number_that_no_json_holds_is_refused() -> None:
    [vector] = vectors("not_json")
    assert vector["name"] == "input-NaN"
    case = call(operation={"type": "callTool", "tool": "t", "input": {"a": math.nan}})
    assert lines(validate(suite(case))) == vector["issues"]


def test_a_difference_to_the_records_is_recorded() -> None:
    names = {vector["name"] for vector in vectors("not_json")} | DIFFERENCES.keys()
    assert len(names) == 6


def only(document: Json) -> Issue:
    [issue] = validate(document)
    return issue


def said(document: Json) -> tuple[str, str]:
    issue = only(document)
    return issue.message, issue.hint


APPROVAL = {"fingerprint": "a" * 64}


@pytest.mark.parametrize(
    ("document", "message", "hint"),
    [
        ([], "got an empty array, expected an object: the suite", "put an object: the suite here"),
        (
            suite(call(), schemaVersion=2),
            "got 2, expected the number 1, the only version there is",
            'write "schemaVersion": 1',
        ),
        (suite(call(), naem="x"), '"naem" is no field of a suite', 'did you mean "name"?'),
        (
            suite(call(timeout_ms=5)),
            '"timeout_ms" is no field of a case',
            'did you mean "timeoutMs"?',
        ),
        (
            suite(call(zzz=5)),
            '"zzz" is no field of a case',
            "a case has id, name, operation, assertions or timeoutMs",
        ),
        (
            suite(call(id=7)),
            "got 7, expected a text that no other case has",
            "put a text that no other case has here",
        ),
        (suite(), "the suite has no case", "add a case"),
        (
            suite(call(), call()),
            '"c1" is the id of cases[0] too',
            "give each case an id of its own",
        ),
        (
            suite(call(timeoutMs=0.5)),
            "got 0.5, expected a whole number of milliseconds from 1 to 2147483647",
            "put a whole number of milliseconds from 1 to 2147483647 here",
        ),
        (
            suite(call(assertions=[])),
            "the case asserts nothing",
            "add an assertion: isError, bodyMatchesSchema or structuredContentMatchesSchema",
        ),
        (
            suite(call({"type": "iserror", "expected": True})),
            '"iserror" cannot be asserted of callTool',
            'did you mean "isError"?',
        ),
        (
            suite(call({"type": "toolExists", "tool": "t"})),
            '"toolExists" cannot be asserted of callTool',
            "callTool takes isError, bodyMatchesSchema or structuredContentMatchesSchema",
        ),
        (
            suite(call({"expected": True})),
            'an assertion without a "type" cannot be asserted of callTool',
            "callTool takes isError, bodyMatchesSchema or structuredContentMatchesSchema",
        ),
        (
            suite(call({"type": {}})),
            "an empty object cannot be asserted of callTool",
            "callTool takes isError, bodyMatchesSchema or structuredContentMatchesSchema",
        ),
        (
            suite(call(body({"minlength": 1, "type": "string"}))),
            '"minlength" is no keyword of a response schema',
            'did you mean "minLength"?',
        ),
        (
            suite(call(body({"minLength": 1}))),
            '"minLength" needs the type "string" beside it, and the schema has none',
            'put "type": "string" beside "minLength"',
        ),
        (
            suite(call(body({"minimum": 1, "type": "string"}))),
            '"minimum" needs the type "number" or "integer" beside it, and the schema has "string"',
            'put "type": "number" beside "minimum"',
        ),
        (
            suite(call(body({}))),
            "the schema is empty and would match everything",
            f"constrain something: {', '.join([*KEYWORDS][:-1])} or maximum",
        ),
        (
            suite(call(operation={"type": "callTool", "tool": "t", "input": {"a": -math.inf}})),
            "got -Infinity, expected a number that a double can hold",
            "write a number between -1.7976931348623157e308 and 1.7976931348623157e308",
        ),
        (
            suite(call(), approval={"fingerprint": "x"}),
            'got "x", expected 64 hexadecimal digits in lower case',
            "approve the suite anew, or remove its approval",
        ),
        (
            suite(call(), id=[1, 2]),
            "got an array of 2 items, expected a text that is not blank",
            "put a text that is not blank here",
        ),
    ],
)
def test_an_issue_says_what_it_got_and_what_to_do(document: Json, message: str, hint: str) -> None:
    assert said(document) == (message, hint)


@pytest.mark.parametrize(
    ("cases", "issues"),
    [
        (7, ["INVALID_VALUE approval.cases"]),
        ([7], ["INVALID_VALUE approval.cases[0]"]),
        ([{"id": "c1", "status": "passed"}, {"id": "c2", "status": "serverDefect"}], []),
        (
            [{"id": "c1", "status": "passed"}, {"id": "c1", "status": "passed"}],
            ["INVALID_VALUE approval.cases[1].id"],
        ),
        (
            [{}],
            ["INVALID_VALUE approval.cases[0].id", "INVALID_VALUE approval.cases[0].status"],
        ),
        (
            [{"id": " ", "status": ["passed"], "by": "me"}],
            [
                "INVALID_VALUE approval.cases[0].id",
                "INVALID_VALUE approval.cases[0].status",
                "UNKNOWN_FIELD approval.cases[0].by",
            ],
        ),
    ],
)
def test_approved_cases_are_checked(cases: Json, issues: list[str]) -> None:
    document = suite(call(), approval={**APPROVAL, "cases": cases})
    assert lines(validate(document)) == issues


@pytest.mark.parametrize("fingerprint", [None, 7, ["a"]])
def test_a_fingerprint_is_a_text(fingerprint: Json) -> None:
    document = suite(call(), approval={"fingerprint": fingerprint})
    assert lines(validate(document)) == ["INVALID_TYPE approval.fingerprint"]


@pytest.mark.parametrize(
    ("assertion", "issues"),
    [
        ({}, ["MISSING_REQUIRED_FIELD {}.type"]),
        ({"type": "nothing", "x": 1}, ["INVALID_VALUE {}.type", "UNKNOWN_FIELD {}.x"]),
        ({"type": 5}, ["INVALID_TYPE {}.type"]),
        ({"type": "toolExists", "tool": 5}, ["INVALID_TYPE {}.tool"]),
        ({"type": "isError", "expected": 1}, ["INVALID_TYPE {}.expected"]),
    ],
)
def test_an_assertion_of_an_operation_without_a_type_is_any_that_there_is(
    assertion: Document, issues: list[str]
) -> None:
    found = lines(validate(suite(call(assertion, operation={}))))
    assert found == [
        "MISSING_REQUIRED_FIELD cases[0].operation.type",
        *(issue.format("cases[0].assertions[0]") for issue in issues),
    ]


def test_a_type_of_an_operation_that_is_a_typo_is_recognised() -> None:
    operation, assertion = validate(suite(call(operation={"type": "calltool"})))
    assert operation.hint == 'did you mean "callTool"?'
    assert assertion.message.startswith("nothing can be asserted of the operation")


@pytest.mark.parametrize(
    ("schema", "issue"),
    [
        ({"type": "object", "required": "a"}, "INVALID_TYPE {}.required"),
        ({"type": "array", "minItems": -1}, "INVALID_VALUE {}.minItems"),
        ({"type": "string", "maxLength": 2.0**53}, "INVALID_VALUE {}.maxLength"),
        ({"type": "string", "maxLength": True}, "INVALID_VALUE {}.maxLength"),
        ({"type": "number", "minimum": True}, "INVALID_VALUE {}.minimum"),
        ({"type": {"a": 1}}, "INVALID_VALUE {}.type"),
    ],
)
def test_a_keyword_has_a_value_of_its_own_kind(schema: Document, issue: str) -> None:
    found = lines(validate(suite(call(body(schema)))))
    assert found == [issue.format("cases[0].assertions[0].schema")]


def test_members_named_like_indexes_are_checked_first() -> None:
    properties = parse('{"b": 1, "10": 1, "9": 1, "4294967295": 1, "01": 1, "0": 1}')
    document = suite(call(body({"type": "object", "properties": properties})))
    names = [issue.place.steps()[-1] for issue in validate(document)]
    assert names == ["0", "9", "10", "b", "4294967295", "01"]


def test_unknown_fields_are_sorted_by_utf16() -> None:
    issues = validate(suite(call(), **{"\ufffd": 1, "\U0001f600": 1, "Z": 1}))
    assert [issue.path for issue in issues] == ["Z", "\U0001f600", "\ufffd"]


def test_unknown_keywords_are_sorted_by_utf16() -> None:
    schema = {"\ufffd": 1, "title": 1, "\U0001f600": 1, "anyOf": 1, "const": 1}
    names = [issue.place.steps()[-1] for issue in validate(suite(call(body(schema))))]
    assert names == ["anyOf", "title", "\U0001f600", "\ufffd"]


def test_the_issues_of_a_case_come_in_the_order_of_its_checks() -> None:
    case = call(name="", timeoutMs=0, zz=1, operation=1, assertions=1)
    assert lines(validate(suite(call(), case)))[:4] == [
        "INVALID_VALUE cases[1].name",
        "DUPLICATE_CASE_ID cases[1].id",
        "INVALID_TIMEOUT cases[1].timeoutMs",
        "UNKNOWN_FIELD cases[1].zz",
    ]


def test_no_issue_is_left_out() -> None:
    cases = [call(id=f"c{number}", nonsense=1) for number in range(2000)]
    assert len(validate(suite(*cases))) == 2000


def test_a_long_value_is_cut_and_measured() -> None:
    message, _ = said(suite(call(), schemaVersion="x" * 1000))
    assert message.startswith('got "xxx')
    assert "(1000 characters)" in message
    assert len(message) < 200


def test_a_long_name_is_not_taken_for_a_typo() -> None:
    name = "structuredContentMatchesSchema"
    assert only(suite(call({"type": name + "x"}))).hint == f'did you mean "{name}"?'
    assert only(suite(call({"type": name + "x" * 35}))).hint.startswith("callTool takes")


@pytest.mark.parametrize("levels", [5_000, 50_000])
def test_no_depth_is_too_deep(levels: int) -> None:
    nested = "[" * levels + "]" * levels
    schema = '{"type":"array","items":' * levels + "{}" + "}" * levels
    deep: Any = parse(nested)
    operation = {"type": "callTool", "tool": "t", "input": {"a": deep}}
    case = call(body({"const": deep}), operation=operation)
    assert validate(suite(case)) == []
    [issue] = validate(suite(call(body(parse(schema)))))
    assert issue.path == "cases[0].assertions[0].schema" + ".items" * levels


# -- any value at all --


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a document."""
    steps: Any = enumerate(value) if isinstance(value, list) else ()
    steps = value.items() if isinstance(value, dict) else steps
    return [path, *(one for step, member in steps for one in places(member, (*path, step)))]


WHOLE = suite(
    call(
        {"type": "isError", "expected": True},
        body(
            {
                "type": "object",
                "required": ["a"],
                "properties": {
                    "a": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"type": "integer", "minimum": 0},
                    }
                },
                "additionalProperties": {"type": "string", "minLength": 1, "stringContains": "x"},
            }
        ),
        {"type": "structuredContentMatchesSchema", "schema": {"enum": [1, {"b": None}]}},
        timeoutMs=5,
    ),
    listing("t"),
    approval={**APPROVAL, "cases": [{"id": "c1", "status": "passed"}]},
    defaultTimeoutMs=1000,
)


@st.composite
def damaged(draw: st.DrawFn) -> Document:
    """A suite with a few values replaced, removed or added."""
    document = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 4))):
        *way, step = draw(st.sampled_from([path for path in places(document) if path]))
        owner: Any = document
        for one in way:
            owner = owner[one]
        if draw(st.booleans()):
            owner[step] = draw(values)
        elif isinstance(owner, dict):
            owner[draw(st.text("abtype", max_size=4))] = owner.pop(step)
        else:
            del owner[step]
    return document


def test_the_suite_to_be_damaged_is_valid() -> None:
    assert validate(WHOLE) == []


@given(values | damaged())
def test_any_value_is_checked_and_nothing_is_raised(document: Json) -> None:
    issues = validate(document)
    for issue in issues:
        assert issue.message
        assert issue.hint


@given(damaged())
def test_the_issues_of_a_damaged_suite_stand_in_its_text(document: Document) -> None:
    text = json.dumps(document)
    found = load(text.encode())
    if isinstance(found, Loaded):
        assert validate(document) == []
    else:
        assert all(
            issue.line == 1 and 1 <= (issue.column or 0) <= len(text) for issue in found.issues
        )
