"""What is kept of an answer is small, and says what was left out."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from relay.suite.bounds import bounded
from relay.suite.canonical import compact
from relay.suite.document import Json
from relay.suite.judge import judge, unavailable
from relay.suite.judgement import Diagnostic, DiagnosticCode, RpcError, RpcResult
from relay.suite.suite import BodyMatchesSchema, CallTool, IsError
from tests.relay.suite.examples import values

CALL = CallTool("t", {})
LARGEST = 60_000  # characters of one judgement below, with all its members


def cut(value: Json) -> Any:
    diagnostic = Diagnostic(DiagnosticCode.OPERATION_FAILED, "m", "h", actual=value)
    found = bounded(unavailable([IsError(False)], diagnostic)).operation
    assert found is not None
    return found.actual


def test_what_passed_is_kept_as_it_is() -> None:
    judgement = judge(CALL, [IsError(False)], RpcResult({"content": []}))
    assert bounded(judgement) is judgement


@given(values)
def test_what_is_small_is_kept_whole(value: Json) -> None:
    assert cut(value) == value


def test_a_long_text_is_cut_and_its_length_told() -> None:
    assert cut("x" * 5000) == "x" * 2000 + "... (5000 characters)"
    assert cut({"k" * 5000: 1}) == {"k" * 2000: 1}


def test_of_many_values_the_first_are_kept() -> None:
    assert cut(list(range(1000)))[-2:] == [198, "... (801 items more)"]
    many = cut({str(number): number for number in range(1000)})
    assert many["..."] == "(801 members more)"
    assert len(many) == 200
    assert len(compact(cut([[number] * 50 for number in range(1000)]))) < 2000


def test_a_deep_value_is_told_by_its_size() -> None:
    value: Json = []
    for _ in range(50_000):
        value = [value]
    text = compact(cut(value))
    assert "an array of 1 item" in text
    assert len(text) < 100


def test_a_judgement_of_megabytes_becomes_small() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"x": {"type": "integer"}}}
    text = compact({"x": "y" * 1_000_000, "z": [1] * 100_000})
    result: Json = {"content": [{"type": "text", "text": text}], "isError": True}
    found = bounded(judge(CALL, [IsError(False), BodyMatchesSchema(schema)], RpcResult(result)))
    assert not found.passed
    assert len(repr(found)) < LARGEST
    error = RpcError(-1, "m" * 1_000_000, ["d" * 1_000_000])
    assert len(repr(bounded(judge(CALL, [IsError(False)], error)))) < LARGEST
