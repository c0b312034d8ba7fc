"""Rows in pages: a cursor is good for the query that gave it and for no other."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, Field
from pydantic_core import to_json

from service.errors import InvalidCursorError

Limit = Annotated[int, Field(ge=1, le=1000, description="Rows in this answer.")]
Cursor = Annotated[
    str | None,
    Field(max_length=64, description="`next_cursor` of the previous answer, to read on."),
]


RowT = TypeVar("RowT", bound=BaseModel | str)


class Page(Generic[RowT]):
    """Rows whose JSON takes at most ``budget`` bytes together; the first one always fits.

    A page has to know its size before its cursor is made: rows cut from a finished answer would
    belong to no page at all.
    """

    def __init__(self, budget: int) -> None:
        self.rows: list[RowT] = []
        self._left = budget

    def take(self, row: RowT) -> bool:
        """Add a row, or tell that it does not fit."""
        left = self._left - len(to_json(row)) - len(",")
        if self.rows and left < 0:
            return False
        self.rows.append(row)
        self._left = left
        return True


def fitting(rows: Iterable[RowT], budget: int) -> list[RowT]:
    """The longest beginning of ``rows`` that makes a page; takes one row more to find out."""
    page: Page[RowT] = Page(budget)
    for row in rows:
        if not page.take(row):
            break
    return page.rows


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
