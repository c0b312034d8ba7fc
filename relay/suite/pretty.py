"""JSON documents as they are written to files: a member or an item a line, two spaces a level."""

from __future__ import annotations

from relay.suite.canonical import by_code_unit, canonical
from relay.suite.document import Json
from relay.suite.walk import Walk, run

_STEP = "  "


def pretty(value: Json, *, ordered: bool = False) -> str:
    """The text of a document; its members in the order in which they stand, or ``ordered``."""
    parts: list[str] = []
    run(_written(value, ordered, "\n", parts))
    return "".join([*parts, "\n"])


def _written(value: Json, ordered: bool, line: str, parts: list[str]) -> Walk:
    inner = line + _STEP
    if isinstance(value, dict) and value:
        names = sorted(value, key=by_code_unit) if ordered else list(value)
        for index, name in enumerate(names):
            parts.append(f"{',' if index else '{'}{inner}{canonical(name)}: ")
            yield _written(value[name], ordered, inner, parts)
        parts.append(f"{line}}}")
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            parts.append(f"{',' if index else '['}{inner}")
            yield _written(item, ordered, inner, parts)
        parts.append(f"{line}]")
    else:
        parts.append(canonical(value))
