"""The one shape of every answer: ``ok``, ``command``, ``data``, ``warnings`` and ``errors``."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from service.errors import CanferryError
from service.registry import Result, Tool
from service.render import Payload


def success(tool: Tool[Any], result: object) -> Payload:
    """The envelope of what a tool returned. TypeError: not what its signature promised."""
    data, warnings = (
        (result.data, result.warnings) if isinstance(result, Result) else (result, list[str]())
    )
    if not isinstance(data, BaseModel) or not isinstance(data, tool.data):
        raise TypeError(f"{tool.name} returned {type(data).__name__}, not {tool.data.__name__}")
    return {
        "ok": True,
        "command": tool.command,
        "data": data.model_dump(mode="json", by_alias=True),
        "warnings": list(warnings),
        "errors": [],
    }


def failure(command: str, error: CanferryError) -> Payload:
    """The envelope of an error of ours."""
    return {
        "ok": False,
        "command": command,
        "data": to_jsonable_python(error.data, fallback=str),
        "warnings": [],
        "errors": [{"code": error.code, "message": error.message, "hint": error.hint}],
    }


def carried(payload: Payload) -> Payload:
    """The envelope without what JSON cannot carry, and a warning that says so.

    NaN and infinities become null (RFC 8259, 6); half a surrogate pair becomes U+FFFD (RFC 3629).
    """
    replaced: list[str] = []
    clean = _carried(payload, "", replaced)
    if not isinstance(clean, dict):
        raise TypeError("an envelope is an object")
    places = ", ".join(replaced[:3]) + (", ..." if len(replaced) > 3 else "")
    warning = f"{len(replaced)} value(s) that JSON cannot carry were replaced: {places}"
    return {**clean, "warnings": [*clean["warnings"], warning]}


def _carried(value: object, path: str, replaced: list[str]) -> object:
    match value:
        case float() if not math.isfinite(value):
            replaced.append(path)
            return None
        case str():
            clean = value.encode("utf-8", "replace").decode()
            if clean != value:
                replaced.append(path)
                # "replace" writes "?" when encoding; the replacement character says more.
                clean = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return clean
        case dict():
            return {
                _carried(key, path, replaced): _carried(
                    item, f"{path}.{key}" if path else str(key), replaced
                )
                for key, item in value.items()
            }
        case list():
            return [
                _carried(item, f"{path}[{index}]", replaced) for index, item in enumerate(value)
            ]
    return value
