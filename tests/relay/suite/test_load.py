"""A file is loaded as a suite, or refused with all that is wrong with it and where."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from relay.suite.canonical import compact
from relay.suite.document import Object
from relay.suite.issues import IssueCode
from relay.suite.load import ApprovalState, Loaded, Unusable, load, read
from relay.suite.suite import (
    ASSERTIONS,
    ApprovedCase,
    BodyMatchesSchema,
    CallTool,
    IsError,
    ListTools,
    StructuredContentMatchesSchema,
    ToolExists,
    fields_of,
    type_of,
)
from tests.relay.suite.examples import body, call, listing, loaded, suite
from tests.relay.suite.vectors import Vector, on_each


@on_each("files")
def test_a_file_is_loaded_or_refused_as_recorded(vector: Vector, tmp_path: Path) -> None:
    file = tmp_path / vector["file"]
    if vector["base64"] is not None:
        file.write_bytes(base64.b64decode(vector["base64"]))
    elif vector["file"].startswith("dir"):
        file.mkdir()
    found = read(file)
    assert (found.code if isinstance(found, Unusable) else None) == vector["code"]


def refused(data: bytes) -> Unusable:
    found = load(data)
    assert isinstance(found, Unusable)
    return found


def test_an_issue_has_the_line_and_the_column_of_the_field() -> None:
    found = refused(
        b'{\n  "schemaVersion": 1, "id": "s",\n  "nmae": "n",\n  "cases": [\n'
        b'    {"id": "c", "name": "c", "operation": {"type": "listTools"},\n'
        b'     "assertions": [{"type": "toolExists", "tool": ""}]}]}'
    )
    assert [(issue.code.value, issue.path, issue.line, issue.column) for issue in found.issues] == [
        ("MISSING_REQUIRED_FIELD", "name", 1, 1),
        ("UNKNOWN_FIELD", "nmae", 3, 3),
        ("INVALID_VALUE", "cases[0].assertions[0].tool", 6, 44),
    ]
    assert found.code == "SUITE_VALIDATION_FAILED"


def test_an_issue_of_the_whole_document_is_found_at_its_beginning() -> None:
    [issue] = refused(b"\n  []").issues
    assert (issue.path, issue.line, issue.column) == ("$", 2, 3)


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (b'{"id":\n "s",}', IssueCode.SUITE_JSON_INVALID, (2, 5)),
        (b'{"id":\n "\xff"}', IssueCode.SUITE_ENCODING_INVALID, (2, 3)),
        (b'\xef\xbb\xbf{"id": nope}', IssueCode.SUITE_JSON_INVALID, (1, 8)),
    ],
)
def test_an_unreadable_file_has_one_issue_at_its_place(
    data: bytes, code: IssueCode, place: tuple[int, int]
) -> None:
    found = refused(data)
    [issue] = found.issues
    assert (issue.code, issue.path, (issue.line, issue.column)) == (code, "$", place)
    assert found.code == code
    assert issue.message
    assert issue.hint


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    found = read(tmp_path / "missing.json")
    assert isinstance(found, Unusable)
    [issue] = found.issues
    assert "missing.json cannot be read: No such file or directory" in issue.message
    assert issue.line is None


def test_a_suite_is_what_its_file_says() -> None:
    schema: Object = {"type": "object", "required": ["a"]}
    found = loaded(
        suite(
            listing("t", "u"),
            call(
                {"type": "isError", "expected": True},
                body(schema),
                {"type": "structuredContentMatchesSchema", "schema": schema},
                timeoutMs=1e3,
                operation={"type": "callTool", "tool": "t", "input": {"b": 1, "10": [1.0]}},
            ),
            approval={"fingerprint": "a" * 64, "cases": [{"id": "c", "status": "serverDefect"}]},
        )
    ).suite
    listed, called = found.cases
    assert (found.id, found.name, found.schema_version) == ("s", "n", 1)
    assert listed.operation == ListTools()
    assert listed.assertions == (ToolExists("t"), ToolExists("u"))
    assert called.operation == CallTool("t", {"10": [1], "b": 1})
    assert called.assertions == (
        IsError(True),
        BodyMatchesSchema(schema),
        StructuredContentMatchesSchema(schema),
    )
    assert found.approval is not None
    assert found.approval.cases == (ApprovedCase("c", "serverDefect"),)


def test_a_case_has_its_own_time_or_that_of_the_suite_or_ten_seconds() -> None:
    first, second = call(id="a", timeoutMs=5), call(id="b")
    timed, plain = (
        loaded(suite(first, second, **fields)).suite for fields in ({"defaultTimeoutMs": 7}, {})
    )
    assert [timed.timeout_ms(case) for case in timed.cases] == [5, 7]
    assert [plain.timeout_ms(case) for case in plain.cases] == [5, 10_000]


def test_an_approval_is_of_this_suite_or_of_another() -> None:
    plain = loaded(suite(call()))
    assert plain.approval is ApprovalState.ABSENT
    matched = loaded(suite(call(), approval={"fingerprint": plain.fingerprint}))
    assert matched.approval is ApprovalState.MATCHED
    assert matched.fingerprint == plain.fingerprint
    edited = loaded(suite(call(id="other"), approval={"fingerprint": plain.fingerprint}))
    assert edited.approval is ApprovalState.MISMATCHED


def test_half_a_surrogate_pair_is_kept() -> None:
    found = load(compact(suite(call(id="\ud800"), listing("\ud800"))).encode())
    assert isinstance(found, Loaded)
    assert [case.id for case in found.suite.cases] == ["\ud800", "c2"]


@pytest.mark.parametrize("levels", [5_000, 50_000])
def test_no_depth_is_too_deep(levels: int) -> None:
    nested = "[" * levels + "]" * levels
    text = compact(
        suite(
            call(
                body({"const": "HERE"}),
                operation={"type": "callTool", "tool": "t", "input": {"a": "HERE"}},
            )
        )
    )
    found = load(text.replace('"HERE"', nested).encode())
    assert isinstance(found, Loaded)
    assert len(found.fingerprint) == 64
    [case] = found.suite.cases
    assert isinstance(case.operation, CallTool)
    assert compact(case.operation.input) == f'{{"a":{nested}}}'
    wrong = refused(text.replace('"HERE"', nested.replace("[]", "[1e999]")).encode())
    assert [issue.code.value for issue in wrong.issues] == ["INVALID_JSON_VALUE"] * 2
    assert wrong.issues[0].path == "cases[0].operation.input.a" + "[0]" * levels
    assert wrong.issues[0].column == text.index('"HERE"') + levels + 1


def test_the_model_names_every_type_and_field_of_the_format() -> None:
    assert {
        type_of(operation): {type_of(assertion): fields_of(assertion) for assertion in assertions}
        for operation, assertions in ASSERTIONS.items()
    } == {
        "listTools": {"toolExists": ("type", "tool")},
        "callTool": {
            "isError": ("type", "expected"),
            "bodyMatchesSchema": ("type", "schema"),
            "structuredContentMatchesSchema": ("type", "schema"),
        },
    }
