"""The pages of a list as one result, for clients that never ask for the second page."""

from __future__ import annotations

import msgspec

from relay.core.messages import (
    Fields,
    Message,
    RequestId,
    fields_of,
    items_of,
    new_request,
)

MAX_PAGES = 100
"""Pages merged at most; the cursor of the next one is then left in the result."""

_CURSOR = "nextCursor"
_MEMBERS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_PRIVATE = msgspec.Raw(b'"private"')


class Pages:
    """The pages of one list so far: the first result with the items of all of them."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._first: Fields | None = None
        self._items: list[msgspec.Raw] = []
        self._count = 0
        self._cursor: msgspec.Raw | None = None

    @property
    def begun(self) -> bool:
        return self._first is not None

    def add(self, result: Fields) -> msgspec.Raw | None:
        """Take in a page; return the cursor of the one to fetch next."""
        self._count += 1
        if self._first is None:
            self._first = dict(result)
        else:
            self._restrict(self._first, result)
        self._items += items_of(result.get(self._member))
        self._cursor = result.get(_CURSOR)
        return None if self._count >= MAX_PAGES else self._cursor

    def request(self, message: Message, request_id: RequestId, cursor: msgspec.Raw) -> Message:
        """The request for the next page, with everything else that the first one said."""
        params = dict(fields_of(message.params) or {})
        params["cursor"] = cursor
        return new_request(request_id, message.method, params)

    def merged(self) -> Fields:
        """One result; it keeps the cursor of a page that was not fetched."""
        result = dict(self._first or {})
        result[self._member] = msgspec.Raw(msgspec.json.encode(self._items))
        result.pop(_CURSOR, None)
        if self._cursor is not None:
            result[_CURSOR] = self._cursor
        return result

    @staticmethod
    def _restrict(first: Fields, page: Fields) -> None:
        """The whole may be cached for as long and as widely as its least page."""
        ages = [value for value in (first.get("ttlMs"), page.get("ttlMs")) if value is not None]
        if ages:
            first["ttlMs"] = min(ages, key=_milliseconds)
        if page.get("cacheScope") == _PRIVATE:
            first["cacheScope"] = _PRIVATE


def has_more(result: Fields) -> bool:
    """Whether a page is followed by another one; an empty cursor is a cursor too."""
    return _CURSOR in result


def pages_for(message: Message) -> Pages | None:
    """Where the pages of a list are collected; None for a request that is not for a whole list."""
    member = _MEMBERS.get(message.method)
    if member is None or "cursor" in (fields_of(message.params) or {}):
        return None
    return Pages(member)


def _milliseconds(raw: msgspec.Raw) -> float:
    text = bytes(raw)
    return float(text) if text[:1].isdigit() else 0.0
