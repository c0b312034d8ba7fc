"""Values are shown without credentials, and no more of them than is needed."""

from __future__ import annotations

from hypothesis import given

from relay.suite.document import Json, Object
from relay.suite.reports.masking import excerpt, masked, masked_beginning, masked_schema
from tests.relay.suite.examples import values


def test_what_bears_the_name_of_a_credential_is_masked_whatever_it_is() -> None:
    value: Json = {
        "authToken": "s3cret",
        "nested": [{"x-api-key": ["s3cret"]}, {"sessionId": {"a": "s3cret"}}],
        "password": 1234,
        "text": '{"client_secret": "s3cret"}',
    }
    assert masked(value) == {
        "authToken": "[redacted]",
        "nested": [{"x-api-key": "[redacted]"}, {"sessionId": "[redacted]"}],
        "password": "[redacted]",
        "text": '{"client_secret": "[redacted]"}',
    }


def test_whether_there_is_a_credential_may_be_seen() -> None:
    value: Json = {"token": None, "password": "", "secret": False}
    assert masked(value) == value


def test_a_schema_is_shown_without_the_credentials_that_it_expects() -> None:
    schema: Object = {
        "type": "object",
        "required": ["token"],
        "properties": {
            "token": {"type": "string", "const": "s3cret", "minLength": 1},
            "pwd": {"enum": ["s3cret", None]},
            "cookies": {
                "type": "array",
                "items": {"type": "string", "stringContains": "s3cret"},
            },
            "secrets": {
                "type": "object",
                "properties": {"a": {"const": "s3cret"}},
                "additionalProperties": {"const": "s3cret"},
            },
            "plain": {"const": {"token": "s3cret", "a": 1}},
        },
        "additionalProperties": False,
    }
    assert masked_schema(schema) == {
        "type": "object",
        "required": ["token"],
        "properties": {
            "token": {"type": "string", "const": "[redacted]", "minLength": 1},
            "pwd": {"enum": ["[redacted]", None]},
            "cookies": {
                "type": "array",
                "items": {"type": "string", "stringContains": "[redacted]"},
            },
            "secrets": {
                "type": "object",
                "properties": {"a": {"const": "[redacted]"}},
                "additionalProperties": {"const": "[redacted]"},
            },
            "plain": {"const": {"token": "[redacted]", "a": 1}},
        },
        "additionalProperties": False,
    }


@given(values)
def test_a_value_without_credentials_is_shown_as_it_is(value: Json) -> None:
    assert masked(value) == value
    assert masked_beginning(value) == value


def test_no_more_of_a_value_is_copied_than_is_shown() -> None:
    assert len(str(masked_beginning([["x" * 1000] * 1000] * 1000))) < 10_000
    assert len(str(masked_beginning({f"k{n}": n for n in range(100_000)}))) < 50_000
    assert masked_beginning("x" * 10_000) == "x" * 4096


def test_a_value_may_be_nested_deeper_than_the_stack() -> None:
    value: Json = "end"
    for _ in range(50_000):
        value = [value]
    assert masked(value) is not value
    assert excerpt(value).startswith("[[[")


def test_an_excerpt_is_the_text_or_the_json_of_a_value() -> None:
    assert excerpt("plain") == "plain"
    assert excerpt({"a": [1, "b"]}) == '{"a":[1,"b"]}'
    assert excerpt("x" * 300) == "x" * 200 + "..."
