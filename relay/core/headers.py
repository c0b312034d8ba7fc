"""The headers that the protocol wants on a request, made from what its body says.

Everything here comes from JSON that somebody else wrote, so nothing reaches a header that is not
visible ASCII or encoded to be (2026-07-28, basic/transports/streamable-http, "Headers").
"""

from __future__ import annotations

import base64
import re

from relay.core.messages import Fields, text_of

Headers = tuple[tuple[str, str], ...]

JSON_POST: Headers = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
)

SESSION_HEADERS = ("Mcp-Session-Id", "MCP-Protocol-Version")
"""What ties a request to a legacy session."""

_NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    # the extension io.modelcontextprotocol/tasks
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_PLAIN = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?")
_SENTINEL = re.compile(r"=\?base64\?.*\?=")


def is_visible_ascii(text: str) -> bool:
    """Whether ``text`` is one or more of the characters 0x21..0x7E."""
    return _VISIBLE.fullmatch(text) is not None


def encode_value(text: str) -> str:
    """A header value for any text: itself, or base64 between the sentinels where it has to be."""
    if _PLAIN.fullmatch(text) and not _SENTINEL.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def modern_post(method: str, version: str, params: Fields) -> Headers:
    """The headers of a 2026-07-28 POST; ``method`` and ``version`` must be visible ASCII."""
    headers = (*JSON_POST, ("MCP-Protocol-Version", version), ("Mcp-Method", method))
    name = text_of(params.get(_NAMED_BY.get(method, "")))
    return headers if name is None else (*headers, ("Mcp-Name", encode_value(name)))


def legacy_post(session: str | None, version: str | None) -> Headers:
    """The headers of a POST of the older revisions, after ``initialize`` if it gave these."""
    return (*JSON_POST, *legacy_session(session, version))


def legacy_session(session: str | None, version: str | None) -> Headers:
    """The headers that tie a request to a legacy session."""
    headers: Headers = ()
    if session is not None:
        headers += (("Mcp-Session-Id", session),)
    if version is not None:
        headers += (("MCP-Protocol-Version", version),)
    return headers


def stream_get(session: Headers, last_event_id: str | None = None) -> Headers:
    """The headers of a GET for a stream of a legacy session, or for the rest of one."""
    headers = (("Accept", "text/event-stream"), *session)
    if last_event_id is None or not _PLAIN.fullmatch(last_event_id):
        return headers
    return (*headers, ("Last-Event-ID", last_event_id))
