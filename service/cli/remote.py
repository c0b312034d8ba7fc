"""A tool called through the running service, which alone owns the buses."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from service.errors import ServiceUnreachableError

CONNECT_SECONDS = 10.0
CALL_SECONDS = 60.0


async def call(url: str, name: str, arguments: dict[str, object]) -> dict[str, Any]:
    """The envelope of the call. Errors: ServiceUnreachableError."""
    connected = False
    try:
        with anyio.fail_after(CONNECT_SECONDS) as patience:
            async with Client(url) as client:
                connected = True
                patience.deadline = anyio.current_time() + CALL_SECONDS
                return _envelope(name, await client.call_tool(name, arguments))
    except (OSError, TimeoutError, MCPError, ExceptionGroup) as error:
        what = "broke off" if connected else "does not answer"
        raise ServiceUnreachableError(f"the service at {url} {what}: {_cause(error)}") from error


def _envelope(name: str, result: types.CallToolResult) -> dict[str, Any]:
    text = "".join(item.text for item in result.content if isinstance(item, types.TextContent))
    try:
        envelope = json.loads(text)
    except ValueError:  # a schema failure is told in plain words
        error = {"code": "INVALID_ARGUMENTS", "message": text, "hint": ""}
        return {"ok": False, "command": name, "data": {}, "warnings": [], "errors": [error]}
    if isinstance(envelope, dict) and {"ok", "data", "errors", "warnings"} <= envelope.keys():
        return envelope
    raise ServiceUnreachableError(f"{name} was answered by something that is not canferry")


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
