"""Whether what a server sends as a result has the shape that MCP gives it, where it is judged."""

from __future__ import annotations

from collections.abc import Iterator

from relay.suite.document import Json
from relay.suite.walk import Path
from relay.suite.wording import shown

_RESULT = Path() / "result"


def fault_of_list(result: Json) -> str | None:
    """What keeps this from being a ``ListToolsResult``."""
    return next(_faults_of_list(result), None)


def fault_of_call(result: Json) -> str | None:
    """What keeps this from being a ``CallToolResult``.

    ``content`` may be absent: servers that answer with ``structuredContent`` alone leave it out.
    """
    return next(_faults_of_call(result), None)


def _faults_of_list(result: Json) -> Iterator[str]:
    if not isinstance(result, dict):
        yield _other(_RESULT, result, "an object")
    elif "tools" not in result:
        yield "result.tools is missing"
    elif not isinstance(result["tools"], list):
        yield _other(_RESULT / "tools", result["tools"], "an array")
    else:
        for index, tool in enumerate(result["tools"]):
            place = _RESULT / "tools" / index
            if not isinstance(tool, dict):
                yield _other(place, tool, "an object")
            elif not isinstance(tool.get("name"), str):
                yield _member(place, tool, "name", "a string")


def _faults_of_call(result: Json) -> Iterator[str]:
    if not isinstance(result, dict):
        yield _other(_RESULT, result, "an object")
    elif not isinstance(result.get("isError", False), bool):
        yield _other(_RESULT / "isError", result["isError"], "true or false")
    elif not isinstance(result.get("content", []), list):
        yield _other(_RESULT / "content", result["content"], "an array")
    else:
        for index, block in enumerate(result.get("content", [])):
            yield from _faults_of_block(_RESULT / "content" / index, block)


def _faults_of_block(place: Path, block: Json) -> Iterator[str]:
    if not isinstance(block, dict):
        yield _other(place, block, "an object")
    elif not isinstance(block.get("type"), str):
        yield _member(place, block, "type", "a string")
    elif block["type"] == "text" and not isinstance(block.get("text"), str):
        yield _member(place, block, "text", "a string")


def _member(owner: Path, value: dict[str, Json], name: str, wanted: str) -> str:
    if name in value:
        return _other(owner / name, value[name], wanted)
    return f"{(owner / name).inside()} is missing"


def _other(place: Path, value: Json, wanted: str) -> str:
    return f"{place.inside()} is {shown(value)}, where MCP has {wanted}"
