"""Credentials are masked, by the names before them and by their shapes, and nothing else is."""

from __future__ import annotations

import pytest

from relay.redaction import is_secret, redact

LONG = "0123456789abcdefABCDEF"
KEYS = [
    f"ghp_{LONG}",
    f"github_pat_{LONG}",
    f"glpat-{LONG}",
    f"sk-{LONG}",
    f"xoxb-{LONG}",
    "AKIA0123456789ABCDEF",
    f"AIza{LONG}{LONG}",
    f"npm_{LONG}",
    f"hf_{LONG}",
    f"pypi-{LONG}",
]
"""Keys as their issuers shape them."""


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abc.def-123", "Authorization: [redacted]"),
        ("{'authorization': 'Basic dXNlcg=='}", "{'authorization': '[redacted]'}"),
        ("('Authorization', 'Bearer abc')", "('Authorization', '[redacted]')"),
        ("sent bearer eyJhbGciOi.x.y now", "sent bearer [redacted] now"),
        ("https://h/mcp?token=s3cret&x=1", "https://h/mcp?token=[redacted]&x=1"),
        ('{"access_token": "s3cret", "n": 1}', '{"access_token": "[redacted]", "n": 1}'),
        ("refresh_token=s3cret", "refresh_token=[redacted]"),
        ("https://user:pw@host/mcp", "https://[redacted]@host/mcp"),
        ("Set-Cookie: sid=s3cret; Path=/", "Set-Cookie: [redacted]"),
        ("Mcp-Session-Id: 0123456789abcdef", "Mcp-Session-Id: 012345…"),
        ("('Mcp-Session-Id', '0123456789abcdef')", "('Mcp-Session-Id', '012345…')"),
        ("{'mcp-session-id': '0123456789', 'a': 'b'}", "{'mcp-session-id': '012345…', 'a': 'b'}"),
        ('{"authToken": "s3cret"}', '{"authToken": "[redacted]"}'),
        ("x-api-key: s3cret, other", "x-api-key: [redacted], other"),
        ("sessionId=s3cret", "sessionId=[redacted]"),
        ("db.pwd => s3cret", "db.pwd => [redacted]"),
        ('"password": "two words", "b": "c"', '"password": "[redacted]", "b": "c"'),
        ('"password": "never closed', '"password": "[redacted]'),
        ("start --api-key s3cret --verbose", "start --api-key [redacted] --verbose"),
        (
            r'{"a": "{\"authToken\": \"a\\\"b\", \"n\": 1}"}',
            r'{"a": "{\"authToken\": \"[redacted]\", \"n\": 1}"}',
        ),
        (
            '{"credentials": {"user": "x}", "p": ["y"]}, "n": 2}',
            '{"credentials": [redacted], "n": 2}',
        ),
        ('{"credentials": {"user": "x', '{"credentials": [redacted]'),
        ("https://h/f?sig=s3cret&x=1", "https://h/f?sig=[redacted]&x=1"),
        *((f"key {key}", "key [redacted]") for key in KEYS),
        ("got eyJhbGciOi.eyJzdWIi.c2ln", "got [redacted]"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----.", "[redacted]."),
        ("-----BEGIN PRIVATE KEY-----\nabc", "[redacted]"),
    ],
)
def test_secrets_are_redacted(text: str, clean: str) -> None:
    assert redact(text) == clean
    assert redact(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        '{"_meta": {"progressToken": 7}}',
        "the token was refused",
        "user@example.org asked for https://rig/mcp",
        '{"code": -32601, "message": "no such tool"}',
        "('Mcp-Session-Id', 's-1'), ('a', 'b')",
        "max_tokens: 5, tokenType=Bearer",
        "start --verbose yes",
        '{"token": ""}',
        "Cookie: ",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "name",
    ["authToken", "x-api-key", "sessionId", "APIKey", "client_secret", "db.pwd", "auth", "OTP"],
)
def test_a_name_of_a_credential_is_known_in_every_spelling(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["progressToken", "nextPageToken", "max_tokens", "token_count", "author", "key", "sid"]
)
def test_a_name_that_only_looks_like_that_of_a_credential_is_none(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    "part",
    ["a", "a-", "a:", 'token="', "bearer ", "://", "eyJaaaaaaa", "token: {", "\\", "sk-", "--a "],
)
def test_a_long_text_is_read_once(part: str) -> None:
    """What takes the square of the length would not end within the time limit of a test."""
    text = part * 100_000
    assert len(redact(text)) <= 2 * len(text)
