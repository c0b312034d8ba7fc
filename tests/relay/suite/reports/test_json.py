"""A program reads the document of the format's own runner, and more under ``run``."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from relay.suite.judgement import RpcError, RpcResult
from relay.suite.outcome import CaseOutcome, CaseStatus, ServerEnd, StopReason
from relay.suite.reports.details import Ended
from relay.suite.reports.json import Rejections, write_json
from relay.suite.reports.rejection import Rejection, RejectionBasis
from tests.relay.suite.examples import body, call, listing, loaded, suite
from tests.relay.suite.reports.outcomes import SOURCE, ended, judged, refused, said, timed_out

EXPECTS = {"type": "isError", "expected": True}


def document(*suites: Ended, rejections: Rejections | None = None) -> Any:
    stream = io.StringIO()
    write_json(suites, stream, rejections)
    return json.loads(stream.getvalue())


def only_case(outcome: Ended) -> Any:
    [case] = document(outcome)["cases"]
    return case


def one(case: dict[str, Any], answer: RpcResult | RpcError) -> Any:
    held = loaded(suite(case))
    return only_case(ended(held, [judged(held.suite.cases[0], answer)]))


def test_one_suite_is_the_document_itself() -> None:
    held = loaded(suite(call(timeoutMs=50), defaultTimeoutMs=70))
    found = document(ended(held, [judged(held.suite.cases[0], said("x"))]))
    run = found.pop("run")
    assert found == {
        "schemaVersion": 1,
        "suite": {"id": "s", "name": "n", "defaultTimeoutMs": 70},
        "status": "passed",
        "spec": {"approval": "absent", "fingerprint": held.fingerprint, "findings": []},
        "summary": {
            "total": 1,
            "passed": 1,
            "failed": 0,
            "timedOut": 0,
            "cancelled": 0,
            "notRun": 0,
            "rejectionUnverified": 0,
        },
        "cases": [
            {
                "spec": call(timeoutMs=50),
                "status": "passed",
                "operation": {"status": "completed"},
                "assertions": [
                    {"spec": {"type": "isError", "expected": False}, "status": "passed"}
                ],
                "rejectionBasis": "notApplicable",
                "run": {"seconds": 0.012},
            }
        ],
    }
    assert run == {
        "source": SOURCE,
        "startedAt": "2026-01-01T00:00:00.000+00:00",
        "seconds": 1.5,
        "server": {"name": "rig", "version": "1.2", "revision": "2025-11-25", "era": "legacy"},
        "ends": [],
    }


def test_several_suites_are_documents_in_a_document() -> None:
    held = loaded(suite(call()))
    passed = ended(held, [judged(held.suite.cases[0], said("x"))])
    failed = ended(held, [judged(held.suite.cases[0], said("x", isError=True))])
    found = document(passed, failed)
    assert [one["status"] for one in found["suites"]] == ["passed", "failed"]
    assert found["suites"][0] == document(passed)
    assert (found["schemaVersion"], found["status"]) == (1, "failed")
    assert (found["summary"]["total"], found["summary"]["passed"]) == (2, 1)
    assert document(passed, passed)["status"] == "passed"


def test_a_file_that_is_no_suite_is_an_aborted_document_with_issues() -> None:
    found = document(refused())
    assert (found["status"], found["cases"], found["summary"]["total"]) == ("aborted", [], 0)
    assert found["stopReason"]["code"] == "SUITE_VALIDATION_FAILED"
    [issue] = found["run"]["issues"]
    assert (issue["code"], issue["path"], issue["line"]) == ("MISSING_REQUIRED_FIELD", "cases", 1)
    found = document(refused(b"\xff"))
    assert found["stopReason"]["code"] == "SUITE_ENCODING_INVALID"
    held = loaded(suite(call()))
    passed = ended(held, [judged(held.suite.cases[0], said("x"))])
    assert document(passed, refused())["status"] == "aborted"


def test_every_operation_and_assertion_is_written_as_the_suite_has_it() -> None:
    structured = {"type": "structuredContentMatchesSchema", "schema": {"type": "object"}}
    assertions = (body({"type": "string"}), structured, EXPECTS)
    assert one(call(*assertions), said("x"))["spec"]["assertions"] == list(assertions)
    answer = RpcResult({"tools": [{"name": "a"}]})
    assert one(listing("a"), answer)["spec"] == listing("a")


def test_violations_have_the_fields_of_the_other_runner() -> None:
    schema = {
        "type": "object",
        "required": ["zz"],
        "properties": {
            "list": {"type": "array", "minItems": 3},
            "text": {"type": "string", "minLength": 999, "stringContains": "y"},
            "is": {"const": {"a": 1}},
            "is_long": {"enum": ["y" * 300, 2]},
            "object": {"type": "string"},
            "array": {"type": "string"},
        },
    }
    value = {"list": [1], "text": "x" * 300, "is": {"a": 2}, "is_long": ["y"] * 99}
    value |= {"object": {"k": 1}, "array": [1, 2]}
    case = one(call(body(schema)), said(json.dumps(value)))
    [judged_assertion] = case["assertions"]
    diagnostic = judged_assertion["diagnostic"]
    assert diagnostic["totalViolations"] == 8
    found = {
        (violation["code"], violation["path"]): violation for violation in diagnostic["violations"]
    }
    missing = found["REQUIRED_MISSING", "$.zz"]
    assert (missing["expected"], missing["actual"]) == ("zz", None)
    assert missing["observedKeys"] == sorted(value)
    assert found["MIN_ITEMS", "$.list"]["actual"] == 1
    assert found["MIN_LENGTH", "$.text"]["actual"] == 300
    part = found["STRING_CONTAINS", "$.text"]
    assert (part["actual"], part["actualChars"]) == ("x" * 200, 300)
    constant = found["CONST_MISMATCH", "$.is"]
    assert (constant["expected"], constant["actual"]) == ({"a": 1}, {"a": 2})
    option = found["ENUM_MISMATCH", "$.is_long"]
    assert option["actual"].startswith('["y","y"') and len(option["actual"]) == 200
    assert found["TYPE_MISMATCH", "$.object"]["actual"] == {"kind": "object", "keys": 1}
    assert found["TYPE_MISMATCH", "$.array"]["actual"] == {"kind": "array", "items": 2}
    assert all(violation["message"] for violation in diagnostic["violations"])


def test_a_violation_below_a_credential_shows_neither_what_was_expected_nor_what_is_there() -> None:
    schema = {
        "type": "object",
        "properties": {
            "password": {"const": "s3cret"},
            "tokens": {"type": "array", "items": {"enum": ["s3cret", None]}},
            "secret": {"type": "string", "stringContains": "s3cret", "minLength": 99},
            "cookie": {"type": "string"},
        },
    }
    value = {"password": "wr0ng", "tokens": ["wr0ng"], "secret": "wr0ng", "cookie": 7777}
    diagnostic = one(call(body(schema)), said(json.dumps(value)))["assertions"][0]["diagnostic"]
    found = [(one["code"], one["expected"], one["actual"]) for one in diagnostic["violations"]]
    assert found == [
        ("CONST_MISMATCH", "[redacted]", "[redacted]"),
        ("ENUM_MISMATCH", ["[redacted]", None], "[redacted]"),
        ("MIN_LENGTH", 99, 5),
        ("STRING_CONTAINS", "[redacted]", "[redacted]"),
        ("TYPE_MISMATCH", "string", "[redacted]"),
    ]


def test_of_many_observed_keys_the_first_are_listed() -> None:
    value = {f"k{number:02}": 1 for number in range(30)}
    case = one(call(body({"type": "object", "required": ["a"]})), said(json.dumps(value)))
    [violation] = case["assertions"][0]["diagnostic"]["violations"]
    assert (len(violation["observedKeys"]), violation["observedKeysTotal"]) == (20, 30)


def test_what_the_server_said_stands_in_the_notes_of_a_wrong_is_error() -> None:
    diagnostic = one(call(), said("a\nb", isError=True))["assertions"][0]["diagnostic"]
    assert diagnostic["code"] == "IS_ERROR_MISMATCH"
    assert (diagnostic["expected"], diagnostic["actual"]) == (False, True)
    assert diagnostic["notes"] == ["a", "b"]


def test_an_operation_that_failed_says_why_and_its_assertions_are_skipped() -> None:
    case = one(call(), RpcError(-32602, "Unknown tool: t"))
    assert case["operation"]["status"] == "failed"
    assert case["operation"]["diagnostic"]["code"] == "OPERATION_FAILED"
    assert case["operation"]["diagnostic"]["actual"] == {
        "code": -32602,
        "message": "Unknown tool: t",
    }
    [assertion] = case["assertions"]
    assert assertion["status"] == "skipped"
    assert assertion["diagnostic"]["code"] == "OPERATION_RESULT_UNAVAILABLE"


def test_a_case_that_timed_out_names_its_limit() -> None:
    held = loaded(suite(call(), defaultTimeoutMs=9))
    case = only_case(ended(held, [timed_out(held.suite.cases[0])]))
    assert (case["status"], case["operation"]["status"]) == ("timedOut", "timedOut")
    assert case["operation"]["timeoutMs"] == 9
    assert case["operation"]["diagnostic"]["code"] == "CASE_TIMEOUT"


@pytest.mark.parametrize("status", [CaseStatus.NOT_RUN, CaseStatus.CANCELLED])
def test_a_case_without_a_judgement_has_assertions_that_were_not_run(status: CaseStatus) -> None:
    held = loaded(suite(call()))
    case = only_case(ended(held, [CaseOutcome(held.suite.cases[0], status)]))
    assert (case["status"], case["operation"]) == (status.value, {"status": status.value})
    assert [assertion["status"] for assertion in case["assertions"]] == ["notRun"]


def test_a_stopped_run_says_why() -> None:
    held = loaded(suite(call()))
    cases = [CaseOutcome(held.suite.cases[0], CaseStatus.NOT_RUN)]
    stop = StopReason("interrupted", "the run was interrupted", "run it again", "c1")
    found = document(ended(held, cases, stop=stop, server=None))
    assert found["status"] == "aborted"
    assert found["stopReason"] == {
        "type": "abortSignal",
        "caseId": "c1",
        "message": "the run was interrupted",
        "hint": "run it again",
    }
    assert found["run"]["server"] is None
    stop = StopReason("failFast", "one failed", "")
    found = document(ended(held, cases, stop=stop))
    assert (found["status"], found["stopReason"]["type"]) == ("failed", "failFast")


def test_an_approval_is_told_with_its_cases() -> None:
    cases = [{"id": "c1", "status": "serverDefect"}]
    held = loaded(suite(call(), approval={"fingerprint": "0" * 64, "cases": cases}))
    spec = document(ended(held, []))["spec"]
    assert (spec["approval"], spec["approvedFingerprint"]) == ("mismatched", "0" * 64)
    assert spec["cases"] == cases
    held = loaded(suite(call(), approval={"fingerprint": held.fingerprint}))
    spec = document(ended(held, []))["spec"]
    assert spec["approval"] == "matched" and "cases" not in spec


def test_what_servers_left_behind_and_notes_stand_under_run() -> None:
    held = loaded(suite(call()))
    noted = CaseOutcome(held.suite.cases[0], CaseStatus.CANCELLED, None, 0.5, ("anew",))
    end = ServerEnd("ended by itself", 7, None, "a\nb\n", False, ("noise",))
    found = document(ended(held, [noted], ends=(end,)))
    assert found["run"]["ends"] == [
        {
            "detail": "ended by itself",
            "exitCode": 7,
            "signal": None,
            "stderr": "a\nb",
            "noise": ["noise"],
        }
    ]
    assert found["cases"][0]["run"] == {"seconds": 0.5, "notes": ["anew"]}


def test_an_expected_error_is_unverified_until_something_is_known_of_it() -> None:
    held = loaded(suite(call(EXPECTS), call(EXPECTS, id="other"), call(id="plain")))
    answers = [said("no", isError=True), said("no"), said("x")]
    outcome = ended(held, map(judged, held.suite.cases, answers))
    found = document(outcome)
    bases = [case["rejectionBasis"] for case in found["cases"]]
    assert bases == ["unverified", "notApplicable", "notApplicable"]
    assert found["summary"]["rejectionUnverified"] == 1
    known = {(SOURCE, "c1"): Rejection(RejectionBasis.UNVERIFIED, "no")}
    assert document(outcome, rejections=known)["cases"][0]["rejectionBody"] == "no"
    known = {(SOURCE, "c1"): Rejection(RejectionBasis.VERIFIED)}
    found = document(outcome, rejections=known)
    assert found["cases"][0]["rejectionBasis"] == "verified"
    assert found["summary"]["rejectionUnverified"] == 0


def test_a_document_hides_nothing_and_is_cut_into_lines_by_its_cases_alone() -> None:
    name = "a\u202e\u2028b\ud800"
    held = loaded(suite(call(name=name), call(id="c9")))
    stream = io.StringIO()
    write_json([ended(held, [judged(case, said("x")) for case in held.suite.cases])], stream)
    assert "a\\u202e\\u2028b\\ud800" in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 4
    assert json.loads(stream.getvalue())["cases"][0]["spec"]["name"] == name
