"""A run may be as long as it likes: a report is written as it grows, and nobody holds it."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO
from xml.etree import ElementTree

import pytest

from relay.suite.document import Json
from relay.suite.events import CaseEnded, SuiteStarted
from relay.suite.outcome import SuiteOutcome
from relay.suite.reports.details import Ended
from relay.suite.reports.json import write_json
from relay.suite.reports.junit import write_junit
from relay.suite.reports.style import Style
from relay.suite.reports.text import TextReport
from tests.relay.suite.examples import call, loaded, suite
from tests.relay.suite.reports.outcomes import ended, judged, said

CASES = 10_000
LARGE_CASES = 1_000
MEBIBYTE = 1 << 20


class Counted(io.TextIOBase):
    """A stream that keeps the length of what is written and the longest write, and no more."""

    def __init__(self) -> None:
        self.length = self.longest = 0

    def write(self, text: str, /) -> int:
        self.length += len(text)
        self.longest = max(self.longest, len(text))
        return len(text)


@pytest.fixture(scope="module")
def long_run() -> SuiteOutcome:
    """A run of which the JSON takes 20 MB: each case has an input of 20 KB, and fails."""
    [case] = loaded(suite(call(operation=operation({"text": "x" * 20_000})))).suite.cases
    failed = judged(case, said("no\n" * 300, isError=True))
    return ended(loaded(suite(call())), [failed] * LARGE_CASES)


def operation(given: Json) -> dict[str, Json]:
    return {"type": "callTool", "tool": "t", "input": given}


@pytest.mark.parametrize(("write", "least"), [(write_json, 20_000_000), (write_junit, 400_000)])
def test_a_report_of_megabytes_is_never_held_whole(
    long_run: SuiteOutcome, write: Callable[[Sequence[Ended], TextIO], None], least: int
) -> None:
    stream = Counted()
    tracemalloc.start()
    try:
        write([long_run], stream)  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert stream.length > least
    assert stream.longest < 30_000
    assert peak < MEBIBYTE // 2


def test_the_text_of_a_run_keeps_nothing_of_its_cases() -> None:
    held = loaded(suite(call()))
    [case] = held.suite.cases

    def events() -> Iterator[CaseEnded]:
        for number in range(LARGE_CASES):
            yield CaseEnded(judged(case, said(f"no {number}", isError=True)), number, LARGE_CASES)

    report = TextReport(Counted(), Style())  # type: ignore[arg-type]
    report.tell(SuiteStarted(held, "s"))
    tracemalloc.start()
    try:
        for event in events():
            report.tell(event)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < MEBIBYTE // 8


def test_ten_thousand_cases_are_written_one_by_one() -> None:
    held = loaded(suite(call()))
    passed = judged(held.suite.cases[0], said("x"))
    outcome = ended(held, [passed] * CASES)
    stream = io.StringIO()
    write_json([outcome], stream)
    assert json.loads(stream.getvalue())["summary"]["passed"] == CASES
    assert len(stream.getvalue().splitlines()) == CASES + 2
    stream = io.StringIO()
    write_junit([outcome], stream)
    assert len(ElementTree.fromstring(stream.getvalue()).findall(".//testcase")) == CASES


def test_an_answer_of_megabytes_is_an_excerpt_in_every_report() -> None:
    held = loaded(suite(call()))
    answer = said(json.dumps({"rows": ["x" * 1000] * 5000}), isError=True)
    outcome = ended(held, [judged(held.suite.cases[0], answer)])
    for write in (write_json, write_junit):
        stream = io.StringIO()
        write([outcome], stream)
        assert len(stream.getvalue()) < 5000


def test_an_input_of_megabytes_and_of_any_depth_is_written_whole() -> None:
    deep: Json = "x" * (2 * MEBIBYTE)
    for _ in range(2000):
        deep = [deep]
    held = loaded(suite(call(operation=operation({"deep": deep}))))
    outcome = ended(held, [judged(held.suite.cases[0], said("x"))])
    stream = io.StringIO()
    write_json([outcome], stream)
    assert len(stream.getvalue()) > 2 * MEBIBYTE
    assert stream.getvalue().count("]" * 2000) == 1
    stream = io.StringIO()
    write_junit([outcome], stream)
    ElementTree.fromstring(stream.getvalue().encode())
