"""What came of a run as JUnit's XML, which every CI server reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from relay.suite.outcome import CaseOutcome, CaseStatus, SuiteOutcome, SuiteStatus
from relay.suite.reports.details import (
    Ended,
    Line,
    Refused,
    approval_lines,
    details_of,
    diagnostics_of,
    end_lines,
    headline,
    issue_lines,
    known_defects,
    plain,
    safe,
    stop_lines,
)

_NAME = "canferry-relay test"
_ABORTED = "the whole run"
_SKIPPED = (CaseStatus.CANCELLED, CaseStatus.NOT_RUN)


class _Counts(Struct, frozen=True):
    tests: int
    failures: int
    errors: int
    skipped: int
    seconds: float

    def attributes(self) -> dict[str, str]:
        return {
            "tests": str(self.tests),
            "failures": str(self.failures),
            "errors": str(self.errors),
            "skipped": str(self.skipped),
            "time": f"{self.seconds:.3f}",
        }


def write_junit(ended: Sequence[Ended], stream: TextIO, hostname: str | None = None) -> None:
    """Write what came of each file."""
    _Writer(stream, hostname).run(ended)


def _counts(ended: Ended) -> _Counts:
    """What there is of each. That a suite could not be run to its end is an error of its own."""
    if isinstance(ended, Refused):
        return _Counts(1, 0, 1, 0, 0.0)
    kinds = Counter(map(_kind, ended.cases))
    aborted = ended.status is SuiteStatus.ABORTED
    return _Counts(
        len(ended.cases) + aborted,
        kinds["failure"],
        kinds["error"] + aborted,
        kinds["skipped"],
        ended.seconds,
    )


def _kind(outcome: CaseOutcome) -> str:
    """A failure is a wrong answer, an error is none."""
    if outcome.status is CaseStatus.PASSED:
        return "passed"
    if outcome.status in _SKIPPED:
        return "skipped"
    judgement = outcome.judgement
    return "failure" if judgement is not None and judgement.operation is None else "error"


class _Writer:
    def __init__(self, stream: TextIO, hostname: str | None) -> None:
        self._stream = stream
        self._hostname = hostname

    def run(self, ended: Sequence[Ended]) -> None:
        every = [_counts(one) for one in ended]
        total = _Counts(
            sum(one.tests for one in every),
            sum(one.failures for one in every),
            sum(one.errors for one in every),
            sum(one.skipped for one in every),
            sum(one.seconds for one in every),
        )
        self._stream.write('<?xml version="1.0" encoding="utf-8"?>')
        with self._element("testsuites", {"name": _NAME, **total.attributes()}):
            for one, counts in zip(ended, every, strict=True):
                if isinstance(one, Refused):
                    self._refused(one, counts)
                else:
                    self._suite(one, counts)
        self._stream.write("\n")

    def _refused(self, refused: Refused, counts: _Counts) -> None:
        source = safe(refused.source)
        with self._element("testsuite", {"name": source, **counts.attributes()}):
            first = refused.unusable.issues[0]
            attributes = {"name": _ABORTED, "classname": source, "file": source, "time": "0.000"}
            with self._element("testcase", attributes):
                reason = {"type": refused.unusable.code, "message": safe(first.message)}
                self._leaf("error", reason, plain(issue_lines(refused)))

    def _suite(self, outcome: SuiteOutcome, counts: _Counts) -> None:
        started = datetime.fromtimestamp(outcome.started, UTC).isoformat(timespec="seconds")
        attributes = {"name": safe(outcome.suite.id), **counts.attributes(), "timestamp": started}
        if self._hostname is not None:
            attributes["hostname"] = safe(self._hostname)
        names = Counter(case.case.name for case in outcome.cases)
        known = known_defects(outcome.suite.approval, outcome.approval)
        with self._element("testsuite", attributes):
            self._properties(_properties(outcome))
            for case in outcome.cases:
                # What is not unique is one test to a CI server, of which it keeps the last result.
                name = case.case.name if names[case.case.name] == 1 else _with_id(case)
                self._case(outcome, case, name, case.case.id in known)
            if outcome.stop is not None and outcome.status is SuiteStatus.ABORTED:
                with self._element("testcase", _named(outcome, _ABORTED, 0.0)):
                    reason = {"type": outcome.stop.kind, "message": safe(outcome.stop.message)}
                    self._leaf("error", reason, plain(stop_lines(outcome.stop)))
            if told := plain(_told(outcome)):
                self._leaf("system-out", {}, told)
            if ends := "\n".join(plain(end_lines(end)) for end in outcome.ends):
                self._leaf("system-err", {}, ends)

    def _case(self, suite: SuiteOutcome, outcome: CaseOutcome, name: str, known: bool) -> None:
        with self._element("testcase", _named(suite, name, outcome.seconds)):
            properties = [("case.id", outcome.case.id)]
            if known:
                properties.append(("case.approved", "serverDefect"))
            self._properties(properties)
            kind = _kind(outcome)
            details = plain(details_of(outcome))
            if kind == "skipped":
                self._leaf("skipped", {"message": headline(outcome)}, "")
            elif kind != "passed":
                reason = {"type": _code(outcome), "message": headline(outcome)}
                self._leaf(kind, reason, details)
            elif details:
                self._leaf("system-out", {}, details)

    def _properties(self, properties: list[tuple[str, str]]) -> None:
        with self._element("properties", {}):
            for name, value in properties:
                self._leaf("property", {"name": name, "value": safe(value)}, "")

    @contextmanager
    def _element(self, name: str, attributes: dict[str, str]) -> Iterator[None]:
        self._stream.write(f"\n<{_tag(name, attributes)}>")
        yield
        self._stream.write(f"\n</{name}>")

    def _leaf(self, name: str, attributes: dict[str, str], text: str) -> None:
        end = f">{escape(text)}</{name}>" if text else "/>"
        self._stream.write(f"\n<{_tag(name, attributes)}{end}")


def _tag(name: str, attributes: dict[str, str]) -> str:
    return " ".join((name, *(f"{key}={quoteattr(value)}" for key, value in attributes.items())))


def _named(suite: SuiteOutcome, name: str, seconds: float) -> dict[str, str]:
    return {
        "name": safe(name),
        "classname": safe(suite.suite.id),
        "file": safe(suite.source),
        "time": f"{seconds:.3f}",
    }


def _with_id(outcome: CaseOutcome) -> str:
    return f"{outcome.case.name} [{outcome.case.id}]"


def _code(outcome: CaseOutcome) -> str:
    if outcome.status is CaseStatus.TIMED_OUT:
        return "CASE_TIMEOUT"
    return diagnostics_of(outcome)[0][1].code.value


def _properties(outcome: SuiteOutcome) -> list[tuple[str, str]]:
    properties = [
        ("suite.name", outcome.suite.name),
        ("suite.source", outcome.source),
        ("suite.fingerprint", outcome.fingerprint),
        ("suite.approval", outcome.approval.value),
    ]
    if server := outcome.server:
        properties += [
            ("server.name", server.name),
            ("server.version", server.version),
            ("server.revision", server.revision),
            ("server.era", server.era),
        ]
    return properties


def _told(outcome: SuiteOutcome) -> Iterator[Line]:
    yield from approval_lines(outcome)
    if outcome.stop is not None:
        yield from stop_lines(outcome.stop)
