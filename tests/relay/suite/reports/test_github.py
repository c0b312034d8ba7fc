"""GitHub shows beside the file what did not pass, on the line where the case begins."""

from __future__ import annotations

import io
import json

from relay.suite.issues import Issue, IssueCode
from relay.suite.load import Unusable
from relay.suite.outcome import CaseOutcome, CaseStatus, ServerEnd, StopReason, SuiteOutcome
from relay.suite.reports.details import Ended, Refused
from relay.suite.reports.github import MOST, write_annotations
from relay.suite.walk import Path
from tests.relay.suite.examples import Document, call, loaded, suite
from tests.relay.suite.reports.outcomes import ended, judged, refused, said, timed_out


def written(*outcomes: Ended, file: str = "") -> list[str]:
    def read(_source: str) -> str:
        return file

    stream = io.StringIO()
    write_annotations(outcomes, stream, read)
    return stream.getvalue().splitlines()


def failing(*cases: Document) -> tuple[SuiteOutcome, str]:
    """A suite of which each case fails, and its file."""
    document = suite(*cases)
    held = loaded(document)
    failed = [judged(case, said("no", isError=True)) for case in held.suite.cases]
    return ended(held, failed), json.dumps(document, indent=2)


def test_a_case_that_failed_is_an_error_on_its_line() -> None:
    outcome, file = failing(call(id="a"), call(id="b", name="100%: a, b"))
    line = next(number for number, text in enumerate(file.splitlines(), 1) if '"id": "b"' in text)
    first, second = written(outcome, file=file)
    assert second == (
        f"::error file=suites/rig.json,line={line - 1},title=b%3A 100%25%3A a%2C b::"
        "isError  isError is true, expected false%0A  no"
        "%0A  hint: see what the server says in the body"
    )
    assert first.startswith("::error file=suites/rig.json,line=")


def test_a_suite_that_passed_is_not_read_again() -> None:
    def read(_source: str) -> str:
        raise AssertionError

    held = loaded(suite(call()))
    stream = io.StringIO()
    write_annotations([ended(held, [judged(held.suite.cases[0], said("x"))])], stream, read)
    assert stream.getvalue() == ""


def test_a_file_that_has_gone_costs_the_line_alone() -> None:
    def gone(_source: str) -> str:
        raise FileNotFoundError

    outcome, _ = failing(call())
    stream = io.StringIO()
    write_annotations([outcome], stream, gone)
    assert stream.getvalue().startswith("::error file=suites/rig.json,title=c1%3A a case::")
    for other in ("{", "[]", '{"cases": 5}', '{"cases": [5]}', "{}"):
        assert ",line=" not in written(outcome, file=other)[0]


def test_a_case_that_timed_out_is_an_error_and_one_that_was_not_run_is_none() -> None:
    held = loaded(suite(call(), call(id="c9")))
    first, second = held.suite.cases
    [line] = written(ended(held, [timed_out(first), CaseOutcome(second, CaseStatus.NOT_RUN)]))
    assert "there was no answer within 9 ms" in line


def test_a_run_that_could_not_be_ended_is_an_error_of_the_file() -> None:
    held = loaded(suite(call()))
    stop = StopReason("connectionFailed", "the server cannot be reached", "start it")
    end = ServerEnd("ended by itself", 1, None, "no such module\n")
    cases = [CaseOutcome(held.suite.cases[0], CaseStatus.NOT_RUN)]
    [line] = written(ended(held, cases, stop=stop, ends=(end,)))
    assert line.startswith("::error file=suites/rig.json,title=n::stopped: the server cannot")
    assert "no such module" in line
    stop = StopReason("failFast", "one failed", "")
    assert written(ended(held, cases, stop=stop)) == []


def test_issues_are_errors_on_their_lines() -> None:
    [line] = written(refused())
    assert line == (
        "::error file=suites/bad.json,title=MISSING_REQUIRED_FIELD,line=1,col=1::"
        'cases: "cases" is missing%0Aadd "cases": an array of one case or more'
    )
    [line] = written(refused(b"\xff"))
    assert ",title=SUITE_ENCODING_INVALID,line=1,col=1::" in line


def test_a_file_that_cannot_be_read_has_no_line() -> None:
    issue = Issue(IssueCode.SUITE_READ_FAILED, Path(), "it cannot be read", "name another")
    [line] = written(Refused("a\\b.json", Unusable((issue,))))
    assert (
        line == "::error file=a/b.json,title=SUITE_READ_FAILED::$: it cannot be read%0Aname another"
    )


def test_no_more_errors_are_written_than_are_shown() -> None:
    for number, expected in [(MOST - 1, MOST - 1), (MOST, MOST), (MOST + 5, MOST)]:
        outcome, file = failing(*(call(id=f"c{one}") for one in range(number)))
        assert len(written(outcome, file=file)) == expected
    assert written(outcome, file=file)[-1] == (
        "::error title=canferry-relay test::and 6 errors more: see the log of this step"
    )


def test_a_server_cannot_end_an_annotation_and_begin_another() -> None:
    held = loaded(suite(call()))
    outcome = judged(held.suite.cases[0], said("a\r\n::warning::b%0A::c", isError=True))
    [line] = written(ended(held, [outcome]))
    assert "a%0A  \\u003a:warning::b%250A::c" in line
