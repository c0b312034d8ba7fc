"""The body and the structured content are taken from a result as recorded."""

from __future__ import annotations

from typing import Any

import pytest

from relay.suite.canonical import compact
from relay.suite.document import Json
from relay.suite.extraction import (
    Extracted,
    ExtractionFault,
    NotExtracted,
    body_of,
    structured_content_of,
)
from tests.relay.suite.vectors import Vector, on_each


@on_each("body")
def test_a_body_is_taken_as_recorded(vector: Vector) -> None:
    found = body_of({"content": vector["content"]})
    if isinstance(found, Extracted):
        assert (found.form, compact(found.value)) == (vector["form"], vector["body"])
    else:
        assert (found.fault, found.actual) == (vector["fault"], vector["actual"])


def test_a_result_without_content_has_no_block() -> None:
    found = body_of({"structuredContent": {"a": 1}})
    assert found == NotExtracted(ExtractionFault.CONTENT_BLOCK_COUNT, 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[1e400]", Extracted([float("inf")])),
        ("{'a': 1}", Extracted("{'a': 1}", "text")),
        ("[" * 5000, Extracted("[" * 5000, "text")),
        ("\u00a0[]", Extracted("\u00a0[]", "text")),
        ("", Extracted("", "text")),
    ],
)
def test_a_text_is_json_only_if_it_is_an_object_or_an_array(text: str, found: Extracted) -> None:
    assert body_of({"content": [{"type": "text", "text": text}]}) == found


@pytest.mark.parametrize("levels", [5_000, 50_000])
def test_no_depth_is_too_deep(levels: int) -> None:
    text = "[" * levels + "]" * levels
    found = body_of({"content": [{"type": "text", "text": text}]})
    assert isinstance(found, Extracted)
    assert (found.form, compact(found.value)) == ("json", text)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}])
def test_structured_content_of_any_kind_is_there(value: Json) -> None:
    result: dict[str, Any] = {"content": [], "structuredContent": value}
    assert structured_content_of(result) == Extracted(value)


def test_no_text_stands_in_for_structured_content() -> None:
    result: dict[str, Any] = {"content": [{"type": "text", "text": "{}"}]}
    assert structured_content_of(result) == NotExtracted(ExtractionFault.MISSING, None)
