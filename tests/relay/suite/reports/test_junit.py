"""A CI server learns from the XML which case did not pass, why, when and for how long."""

from __future__ import annotations

import io
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from relay.suite.judgement import Answer, RpcError
from relay.suite.outcome import CaseOutcome, CaseStatus, ServerEnd, StopReason, SuiteOutcome
from relay.suite.reports.details import Ended
from relay.suite.reports.junit import write_junit
from tests.relay.suite.examples import Document, body, call, loaded, suite
from tests.relay.suite.reports.outcomes import ended, judged, refused, said, timed_out


def written(*outcomes: Ended, hostname: str | None = None) -> Element:
    stream = io.StringIO()
    write_junit(outcomes, stream, hostname)
    return ElementTree.fromstring(stream.getvalue().encode())


def of(case: Document, answer: Answer, **fields: object) -> SuiteOutcome:
    held = loaded(suite(case, **fields))
    return ended(held, [judged(held.suite.cases[0], answer)])


def found(root: Element, path: str) -> Element:
    element = root.find(path)
    assert element is not None
    return element


def properties(element: Element) -> dict[str, str]:
    """The properties of a suite or a case."""
    return {one.get("name", ""): one.get("value", "") for one in element.findall("properties/*")}


def test_a_suite_has_counts_a_time_and_properties() -> None:
    outcome = of(call(), said("x"))
    root = written(outcome, hostname="rig-3")
    element = found(root, "testsuite")
    assert element.attrib == {
        "name": "s",
        "tests": "1",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
        "time": "1.500",
        "timestamp": "2026-01-01T00:00:00+00:00",
        "hostname": "rig-3",
    }
    assert properties(element) == {
        "suite.name": "n",
        "suite.source": "suites/rig.json",
        "suite.fingerprint": outcome.fingerprint,
        "suite.approval": "absent",
        "server.name": "rig",
        "server.version": "1.2",
        "server.revision": "2025-11-25",
        "server.era": "legacy",
    }
    assert (root.tag, root.get("tests"), root.get("time")) == ("testsuites", "1", "1.500")


def test_a_case_that_passed_has_its_name_its_id_its_file_and_its_time() -> None:
    case = found(written(of(call(name="서울 날씨"), said("x"))), ".//testcase")
    assert case.attrib == {
        "name": "서울 날씨",
        "classname": "s",
        "file": "suites/rig.json",
        "time": "0.012",
    }
    assert properties(case) == {"case.id": "c1"}
    assert [child.tag for child in case] == ["properties"]


def test_cases_of_one_name_are_told_apart() -> None:
    held = loaded(suite(call(id="a"), call(id="b"), call(id="c", name="alone")))
    root = written(ended(held, [judged(case, said("x")) for case in held.suite.cases]))
    names = [case.get("name") for case in root.iter("testcase")]
    assert names == ["a case [a]", "a case [b]", "alone"]


def test_a_wrong_answer_is_a_failure() -> None:
    both = call({"type": "isError", "expected": False}, body({"type": "object"}))
    root = written(of(both, said("a <b> & ]]> \x00", isError=True)))
    failure = found(root, ".//testcase/failure")
    assert failure.get("type") == "IS_ERROR_MISMATCH"
    assert failure.get("message") == "isError is true, expected false (and 1 more)"
    assert failure.text is not None
    assert "a <b> & ]]> \\u0000" in failure.text
    assert "bodyMatchesSchema  the body differs" in failure.text
    assert (root.get("failures"), root.get("errors")) == ("1", "0")


def test_no_answer_is_an_error() -> None:
    root = written(of(call(), RpcError(-32602, "no such tool")))
    error = found(root, ".//testcase/error")
    assert error.get("type") == "OPERATION_FAILED"
    assert "no such tool" in (error.text or "")
    held = loaded(suite(call()))
    root = written(ended(held, [timed_out(held.suite.cases[0])]))
    assert found(root, ".//testcase/error").get("type") == "CASE_TIMEOUT"
    assert (root.get("failures"), root.get("errors")) == ("0", "1")


@pytest.mark.parametrize(
    ("status", "message"), [(CaseStatus.NOT_RUN, "not run"), (CaseStatus.CANCELLED, "cancelled")]
)
def test_a_case_without_a_verdict_is_skipped(status: CaseStatus, message: str) -> None:
    held = loaded(suite(call()))
    root = written(ended(held, [CaseOutcome(held.suite.cases[0], status)]))
    assert found(root, ".//skipped").get("message") == message
    assert root.get("skipped") == "1"


def test_a_run_that_could_not_be_ended_is_an_error_although_no_case_is() -> None:
    held = loaded(suite(call()))
    cases = [CaseOutcome(held.suite.cases[0], CaseStatus.NOT_RUN)]
    stop = StopReason("connectionFailed", "the server cannot be reached", "start it")
    root = written(ended(held, cases, stop=stop, server=None))
    assert found(root, ".//testcase[@name='the whole run']/error").get("type") == stop.kind
    assert (root.get("tests"), root.get("errors"), root.get("skipped")) == ("2", "1", "1")
    assert "start it" in (found(root, ".//system-out").text or "")
    stop = StopReason("failFast", "stopped at c1", "")
    root = written(ended(held, cases, stop=stop))
    assert (root.get("tests"), root.get("errors")) == ("1", "0")
    assert found(root, ".//system-out").text == "stopped: stopped at c1"


def test_a_file_that_is_no_suite_is_an_error() -> None:
    root = written(of(call(), said("x")), refused())
    error = found(root, ".//testsuite[@name='suites/bad.json']/testcase/error")
    assert error.get("type") == "SUITE_VALIDATION_FAILED"
    assert "suites/bad.json:1:1: MISSING_REQUIRED_FIELD" in (error.text or "")
    assert (root.get("tests"), root.get("errors")) == ("2", "1")


def test_what_servers_left_behind_is_in_the_suites_system_err() -> None:
    held = loaded(suite(call()))
    end = ServerEnd("ended by itself", 7, None, "Traceback\n\x1b[2J")
    root = written(ended(held, [judged(held.suite.cases[0], said("x"))], ends=(end,)))
    text = found(root, ".//system-err").text or ""
    assert "exit code 7" in text and "Traceback" in text and "\\u001b" in text


def test_notes_of_a_case_that_passed_are_in_its_system_out() -> None:
    held = loaded(suite(call()))
    case = held.suite.cases[0]
    noted = CaseOutcome(case, CaseStatus.PASSED, judged(case, said("x")).judgement, 0.1, ("so",))
    assert found(written(ended(held, [noted])), ".//testcase/system-out").text == "note: so"


def test_a_known_defect_and_a_changed_approval_are_told() -> None:
    approved = [{"id": "c1", "status": "serverDefect"}]
    fingerprint = loaded(suite(call())).fingerprint
    root = written(of(call(), said("x"), approval={"fingerprint": fingerprint, "cases": approved}))
    assert properties(found(root, ".//testcase"))["case.approved"] == "serverDefect"
    root = written(of(call(), said("x"), approval={"fingerprint": "0" * 64}))
    assert properties(found(root, "testsuite"))["suite.approval"] == "mismatched"
    assert "changed after it was approved" in (found(root, ".//system-out").text or "")


def test_attributes_hold_any_name() -> None:
    name = "<\"a\" & 'b'>\n\ud800\uffff\u202e"
    case = found(written(of(call(name=name), said("x"))), ".//testcase")
    assert case.get("name") == "<\"a\" & 'b'>\\u000a\\ud800\\uffff\\u202e"
