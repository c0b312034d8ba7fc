"""A server that answers tool calls as it is told: any status, any body, any content type."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from tests.relay.peer import LEGACY, MODERN, HttpServer, Json, Seen
from tests.relay.peer.server import head, send

STATUSES = (
    *(200, 201, 202, 204),
    *(301, 302, 303, 307, 308),
    *(400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429),
    *(500, 502, 503, 504),
)

RESULT: Json = {"resultType": "complete", "content": [{"type": "text", "text": "odd\nbut right"}]}
ERROR_CODE, ERROR_MESSAGE = -32602, "the server's own words"
PAGE = b"<!doctype html>\n<title>Sign in</title>\n<h1>Sign in</h1>\n"


def _result(seen: Seen) -> bytes:
    return json.dumps(seen.response(RESULT)).encode()


def _error(seen: Seen) -> bytes:
    return json.dumps(seen.error(ERROR_CODE, ERROR_MESSAGE)).encode()


def _wrong_id(seen: Seen) -> bytes:
    return json.dumps({**seen.response(RESULT), "id": f"not {seen.message['id']}"}).encode()


def _pretty(seen: Seen) -> bytes:
    return json.dumps(seen.response(RESULT), indent=2).encode()


def _batch(seen: Seen) -> bytes:
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
    return json.dumps([note, seen.response(RESULT)]).encode()


BODIES: dict[str, Callable[[Seen], bytes]] = {
    "none": lambda seen: b"",
    "result": _result,
    "pretty result": _pretty,
    "batch": _batch,
    "error": _error,
    "wrong id": _wrong_id,
    "HTML": lambda seen: PAGE,
    "truncated": lambda seen: _result(seen)[:-20],
    "cut off": _result,  # the connection ends before the length that was announced
}

TYPES: dict[str, str | None] = {
    "JSON": "application/json",
    "json, odd case": "APPLICATION/Json",
    "JSON, charset": "application/json; charset=utf-8",
    "SSE": "text/event-stream",
    "SSE, odd case": "Text/Event-Stream",
    "SSE, charset": "text/event-stream;charset=ISO-8859-1",
    "HTML": "text/html; charset=utf-8",
    "no type": None,
}


def is_stream(kind: str) -> bool:
    return kind.startswith("SSE")


class OddServer(HttpServer):
    """Opens a session like any other; the tool call ``odd`` says how it wants to be answered."""

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.method == "tools/call":
            await self._answer_oddly(seen, writer)
        elif seen.method == "initialize":
            opened: Json = {"protocolVersion": LEGACY, "capabilities": {"tools": {}}}
            opened["serverInfo"] = {"name": "odd", "version": "1"}
            body = json.dumps(seen.response(opened)).encode()
            await send(writer, 200, body, {"Mcp-Session-Id": "s-1"})
        elif seen.method == "server/discover":
            found: Json = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
            found |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            await send(writer, 200, json.dumps(seen.response(found)).encode())
        elif seen.is_request:
            await send(writer, 200, _error(seen))
        else:
            await send(writer, 405 if seen.verb == "GET" else 202)

    async def _answer_oddly(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        wanted = seen.params["arguments"]
        assert isinstance(wanted, dict)
        status, kind, name = int(wanted["status"]), str(wanted["type"]), str(wanted["body"])
        body = BODIES[name](seen)
        if is_stream(kind) and body:
            body = b"".join(b"data: " + line + b"\n" for line in body.split(b"\n")) + b"\n"
        length = len(body) + (10 if name == "cut off" else 0)
        fields = {"Content-Length": str(length), "Connection": "close"}
        if (content_type := TYPES[kind]) is not None:
            fields["Content-Type"] = content_type
        writer.write(head(status, fields) + body)
        await writer.drain()
        raise ConnectionError


SILENCE = 0.3
"""Seconds of silence that a relay in front of a :class:`BrokenServer` should allow."""

LARGE = 200_000
"""Characters of its large messages."""


class BrokenServer(OddServer):
    """The tool ``break`` never answers properly; ``stream`` sends the text that it is given."""

    async def _answer_oddly(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        wanted = seen.params["arguments"]
        assert isinstance(wanted, dict)
        if seen.params["name"] == "stream":
            text = str(wanted["text"]).replace("RESPONSE", _result(seen).decode())
            writer.write(head(200, {"Content-Type": "text/event-stream", "Connection": "close"}))
            writer.write(text.encode())
            await writer.drain()
        else:
            begins, then_silent = WAYS_TO_BREAK[str(wanted["how"])]
            writer.write(begins)
            await writer.drain()
            if then_silent:
                await asyncio.Event().wait()
        raise ConnectionError


def _stream(text: bytes) -> bytes:
    return head(200, {"Content-Type": "text/event-stream"}) + text


def _json(text: bytes) -> bytes:
    fields = {"Content-Type": "application/json", "Content-Length": str(2 * LARGE)}
    return head(200, fields) + text


WAYS_TO_BREAK = {
    "closes before the head": (b"", False),
    "is no HTTP server": (b"SSH-2.0-OpenSSH_9.2\r\n", False),
    "never begins to answer": (b"", True),
    "falls silent in a body": (_json(b'{"jsonrpc":'), True),
    "falls silent in a stream": (_stream(b": a comment\n\n"), True),
    "sends too large a body": (_json(b'{"x":"' + b"x" * LARGE), True),
    "sends too large an event": (_stream(b"data: " + b"x" * LARGE), True),
}
"""What a server writes, and whether the connection stays open after it."""
