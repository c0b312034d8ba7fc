"""Values of a suite and of a server as a report may show them: without credentials, and cut."""

from __future__ import annotations

import math
from typing import Any, cast

from relay.redaction import MASK, is_secret, redact
from relay.suite.canonical import compact
from relay.suite.document import Json, Object
from relay.suite.walk import Walk, run

LONGEST_EXCERPT = 200
_ENOUGH = 4096  # characters, which leave an excerpt long enough when credentials are out of it


def masked(value: Json) -> Json:
    """A copy of a value; what bears the name of a credential is masked, null and booleans not."""
    copy = _Copy(math.inf)
    return copy.made(copy.value(value, copy.root, 0))


def masked_schema(schema: Object) -> Object:
    """A copy of a response schema: of a property with the name of a credential, the values too."""
    copy = _Copy(math.inf)
    return cast(Object, copy.made(copy.schema(schema, copy.root, 0)))


def masked_beginning(value: Json) -> Json:
    """As :func:`masked`, and no more of the value than is needed to show where it begins."""
    copy = _Copy(_ENOUGH)
    return copy.made(copy.value(value, copy.root, 0))


def hidden(value: Json) -> Json:
    """A credential. Whether there is one at all may be seen."""
    return value if value is None or isinstance(value, bool) or value == "" else MASK


def excerpt(value: Json, limit: int = LONGEST_EXCERPT) -> str:
    """The beginning of a value: of a text as it is, of anything else as JSON."""
    safe = masked_beginning(value)
    return cut(safe if isinstance(safe, str) else compact(safe), limit)


def cut(text: str, limit: int = LONGEST_EXCERPT) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."


class _Copy:
    """Makes one copy, of which ``left`` says how much more of it there may be."""

    def __init__(self, left: float) -> None:
        self.root: list[Json] = [None]
        self._left = left

    def made(self, walk: Walk) -> Json:
        run(walk)
        return self.root[0]

    def value(self, value: Json, into: Any, key: str | int) -> Walk:
        """Put a copy of the value where it belongs."""
        if isinstance(value, dict):
            members: Object = {}
            into[key] = members
            for name, member in value.items():
                if self._left <= 0:
                    break
                if is_secret(name):
                    members[self._text(name)] = hidden(member)
                else:
                    yield self.value(member, members, self._text(name))
        elif isinstance(value, list):
            items: list[Json] = []
            into[key] = items
            for index, item in enumerate(value):
                if self._left <= 0:
                    break
                items.append(None)
                yield self.value(item, items, index)
        else:
            into[key] = self._text(value) if isinstance(value, str) else value
            self._left -= 1

    def schema(self, schema: Object, into: Any, key: str | int, secret: bool = False) -> Walk:
        """Put a copy of a schema where it belongs; of a ``secret`` value it names none."""
        members: Object = {}
        into[key] = members
        for keyword, member in schema.items():
            match keyword:
                case "properties":
                    properties: Object = {}
                    members[keyword] = properties
                    for name, inner in cast(dict[str, Object], member).items():
                        is_credential = secret or is_secret(name)
                        yield self.schema(inner, properties, self._text(name), is_credential)
                case "items" | "additionalProperties" if isinstance(member, dict):
                    yield self.schema(member, members, keyword, secret)
                case "const" | "stringContains" if secret:
                    members[keyword] = hidden(member)
                case "enum" if secret:
                    members[keyword] = [hidden(option) for option in cast(list[Json], member)]
                case _:
                    yield self.value(member, members, keyword)

    def _text(self, text: str) -> str:
        if len(text) > self._left:
            text = text[: max(0, int(self._left))]
        self._left -= len(text)
        return redact(text)
