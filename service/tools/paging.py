"""Rows in pages: a cursor is good for the query that gave it and for no other."""

from __future__ import annotations

import zlib
from typing import Annotated

from pydantic import Field

from service.errors import InvalidCursorError

Limit = Annotated[int, Field(ge=1, le=1000, description="Rows in this answer.")]
Cursor = Annotated[
    str | None,
    Field(max_length=64, description="`next_cursor` of the previous answer, to read on."),
]


class Query:
    """What the rows are of: everything that must stay equal from page to page."""

    def __init__(self, *parts: object) -> None:
        self._mark = f"{zlib.crc32(repr(parts).encode()):08x}"

    def start(self, cursor: str | None) -> int | None:
        """The position of a cursor, None without one. Errors: InvalidCursorError."""
        if cursor is None:
            return None
        position, _, mark = cursor.partition("-")
        if not position.isascii() or not position.isdigit() or mark != self._mark:
            raise InvalidCursorError(f"cursor {cursor!r} does not belong to this query")
        return int(position)

    def cursor(self, position: int) -> str:
        return f"{position}-{self._mark}"

    def following(self, start: int, returned: int, total: int) -> str | None:
        """The cursor behind a page, None behind the last one."""
        end = start + returned
        return self.cursor(end) if end < total else None
