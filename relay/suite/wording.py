"""The words in which issues and diagnostics name a value, a kind of value and a likely typo."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from relay.suite.canonical import compact, number_text
from relay.suite.document import Json

_LONGEST_SHOWN = 80
_LONGEST_TYPO = 64
_ALIKE = 0.6


def shown(value: Json, limit: int = _LONGEST_SHOWN) -> str:
    """A value in a few words: a scalar as JSON, cut where it is long, a container by its size."""
    match value:
        case dict():
            return f"an object with {counted(len(value), 'member')}" if value else "an empty object"
        case list():
            return f"an array of {counted(len(value), 'item')}" if value else "an empty array"
        case str() if len(value) > limit:
            return f"{compact(value[:limit])}... ({len(value)} characters)"
        case int() | float() if not isinstance(value, bool):
            return number_text(value)
    return compact(value)


def excerpt(value: Json, limit: int) -> str:
    """The beginning of a value's JSON text."""
    text = compact(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def kind(value: Json) -> str:
    """The JSON Schema type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def either(words: Iterable[str]) -> str:
    """The words as a choice: ``a, b or c``."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    folded = {one.casefold(): one for one in known}
    if len(name) > _LONGEST_TYPO:
        return None
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=_ALIKE)
    return folded[close[0]] if close else None
