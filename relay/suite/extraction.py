"""What an assertion looks at in the result of a tool."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from relay.suite.document import Json, Object, parse
from relay.suite.reader import InvalidJson
from relay.suite.wording import kind

_JSON_SPACE = " \t\n\r"


class ExtractionFault(StrEnum):
    """Why a result does not have what is looked for."""

    CONTENT_NOT_ARRAY = "CONTENT_NOT_ARRAY"
    CONTENT_BLOCK_COUNT = "CONTENT_BLOCK_COUNT"
    CONTENT_BLOCK_NOT_TEXT = "CONTENT_BLOCK_NOT_TEXT"
    CONTENT_TEXT_MISSING = "CONTENT_TEXT_MISSING"
    MISSING = "MISSING"


class Extracted(Struct, frozen=True):
    """What was looked for. ``form`` is ``text`` for a body that is no JSON object or array."""

    value: Json
    form: Literal["json", "text"] = "json"


class NotExtracted(Struct, frozen=True):
    """What was found in its place: a number of blocks, a block's type, or a value's."""

    fault: ExtractionFault
    actual: Json


def body_of(result: Object) -> Extracted | NotExtracted:
    """The body of a result: the text of its only block. ``structuredContent`` never stands in."""
    content = result.get("content", [])
    if not isinstance(content, list):
        return NotExtracted(ExtractionFault.CONTENT_NOT_ARRAY, kind(content))
    if len(content) != 1:
        return NotExtracted(ExtractionFault.CONTENT_BLOCK_COUNT, len(content))
    [block] = content
    if not isinstance(block, dict):
        return NotExtracted(ExtractionFault.CONTENT_BLOCK_NOT_TEXT, kind(block))
    if block.get("type") != "text":
        named = block.get("type")
        actual = named if isinstance(named, str) else _kind_of_member(block, "type")
        return NotExtracted(ExtractionFault.CONTENT_BLOCK_NOT_TEXT, actual)
    text = block.get("text")
    if not isinstance(text, str):
        actual = _kind_of_member(block, "text")
        return NotExtracted(ExtractionFault.CONTENT_TEXT_MISSING, actual)
    return _read(text)


def structured_content_of(result: Object) -> Extracted | NotExtracted:
    """The ``structuredContent`` of a result; null is a value, and text never stands in."""
    if "structuredContent" not in result:
        return NotExtracted(ExtractionFault.MISSING, None)
    return Extracted(result["structuredContent"])


def _read(text: str) -> Extracted:
    """A body as it is meant: ``42`` and ``true`` are as likely plain words as they are JSON."""
    if text.lstrip(_JSON_SPACE).startswith(("{", "[")):
        try:
            return Extracted(parse(text))
        except InvalidJson:
            pass
    return Extracted(text, "text")


def _kind_of_member(block: Object, name: str) -> str:
    return kind(block[name]) if name in block else "undefined"
