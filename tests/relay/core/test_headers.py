"""Header values from JSON: nothing unsafe gets through, and nothing is lost."""

from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.core.headers import encode_value, is_visible_ascii, legacy_post, modern_post


def decoded(value: str) -> str:
    if value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2], validate=True).decode()
    return value


@pytest.mark.obligation(41)
@given(text=st.text() | st.text(alphabet="=?base64 \t~\x7f\u00e9"))
def test_any_text_becomes_a_safe_value_and_comes_back(text: str) -> None:
    value = encode_value(text)
    assert all(0x20 <= ord(character) <= 0x7E for character in value)
    assert value == value.strip()
    assert decoded(value) == text


@pytest.mark.parametrize("text", ["echo", "", "a b", "file:///x?y=z", "=?base64?", "=?base64?a?= "])
def test_a_plain_value_stays_as_it_is_unless_it_would_be_misread(text: str) -> None:
    assert (encode_value(text) == text) == (text.strip() == text)


def test_a_value_that_looks_encoded_is_encoded() -> None:
    assert encode_value("=?base64?QQ==?=") == "=?base64?PT9iYXNlNjQ/UVE9PT89?="


@pytest.mark.parametrize(
    ("text", "expected"),
    [("tools/call", True), ("", False), ("a b", False), ("a\n", False), ("é", False)],
)
def test_visible_ascii(text: str, expected: bool) -> None:
    assert is_visible_ascii(text) is expected


@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("tools/call", "name"),
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("tasks/get", "taskId"),
        ("tasks/update", "taskId"),
        ("tasks/cancel", "taskId"),
    ],
)
def test_requests_for_a_named_thing_name_it(method: str, member: str) -> None:
    headers = dict(modern_post(method, "2026-07-28", {member: msgspec.Raw(b'"t \\u00e9"')}))
    assert headers["Mcp-Name"] == "=?base64?dCDDqQ==?="
    assert headers["Mcp-Method"] == method


@pytest.mark.parametrize("name", [b"7", b"null", b"{}"])
def test_a_name_that_is_no_string_gives_no_header(name: bytes) -> None:
    assert "Mcp-Name" not in dict(modern_post("tools/call", "v", {"name": msgspec.Raw(name)}))


def test_other_requests_have_no_name() -> None:
    assert modern_post("tools/list", "2026-07-28", {"name": msgspec.Raw(b'"x"')}) == (
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
    )


@pytest.mark.obligation(5)
def test_every_post_accepts_a_body_and_a_stream() -> None:
    for headers in (legacy_post("s", "2025-11-25"), modern_post("ping", "2026-07-28", {})):
        assert dict(headers)["Accept"] == "application/json, text/event-stream"
