"""A reader of JSON that names the place of an error, knows where each value stands, and goes deep.

Lines and columns begin at 1; a column counts characters, not bytes.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from relay.suite.walk import Walk, run

_SPACE = re.compile(r"[ \t\n\r]*+")
_LINE_END = re.compile(r"\r\n?|\n")
_STRING = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_TOKEN = re.compile(
    rf"(?P<string>{_STRING}\")"
    r"|(?P<number>-?(?:0(?![0-9])|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+)"
    r"|(?P<word>true|false|null)"
    r"|(?P<open>[\[{])"
)
_STRING_PART = re.compile(_STRING)
_WORDS = {"true": True, "false": False, "null": None}
_SHOWN = re.compile(r"[A-Za-z0-9_$]{1,20}|.", re.DOTALL)
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_LAST_INDEX = 2**32 - 2
_FIRST_UNSAFE = 2**53

_COMMON_FAULTS = (
    (re.compile(r"'"), "names and strings stand in double quotes"),
    (re.compile(r"//|/\*|#"), "JSON has no comments: remove it"),
    (re.compile(r"[+-]?(?:NaN|Infinity)"), "JSON has no NaN and no Infinity"),
    (re.compile(r"[Tt]rue|[Ff]alse|[Nn]one|[Nn]ull|undefined"), "write true, false or null"),
    (re.compile(r"[-+.0-9]"), "write a number like 10, -2.5 or 1e3: no 01, .5, 1. or +1"),
)
"""What stands there, and what to do about it."""


class Place(NamedTuple):
    line: int
    column: int


class InvalidJson(Exception):
    """A text that is not JSON."""

    def __init__(self, message: str, hint: str, place: Place) -> None:
        super().__init__(message)
        self.hint = hint
        self.place = place


def number(text: str) -> int | float:
    """The double that a number stands for; an ``int`` if that is exact."""
    value = float(text)
    if -_FIRST_UNSAFE < value < _FIRST_UNSAFE and value.is_integer():
        return int(value)
    return value


def in_order(members: dict[str, object]) -> dict[str, object]:
    """The object itself, its members put into the order in which ECMAScript lists them."""
    if not any("0" <= name[:1] <= "9" for name in members):
        return members
    indexes = [name for name in members if _INDEX.fullmatch(name) and int(name) <= _LAST_INDEX]
    ordered = {name: members[name] for name in sorted(indexes, key=int)} | members
    members.clear()
    members.update(ordered)
    return members


def place_at(text: str, offset: int) -> Place:
    """The line and the column of a character."""
    return _Lines(text).place(offset)


class _Lines:
    def __init__(self, text: str) -> None:
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def place(self, offset: int) -> Place:
        line = bisect_right(self._starts, offset)
        return Place(line, offset - self._starts[line - 1] + 1)


class Reader:
    """Reads one text, once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._root: object = None
        self._offsets: dict[int, dict[str | int, int]] = {}
        """Where the members of a container begin, by its ``id``: the root keeps it alive."""

    def read(self) -> object:
        """The value of the text; raise :class:`InvalidJson`."""
        self._root = self._begin()
        run(self._inside(self._root))
        self._skip()
        if self._at < len(self._text):
            self._fail("the end of the text", "keep one value in a file")
        return self._root

    def places(self, paths: Iterable[list[str | int]]) -> list[Place]:
        """Where the values at these paths stand, a member at its name.

        The place of what is not there is that of the innermost value around it.
        """
        lines = _Lines(self._text)
        return [lines.place(self._offset(path)) for path in paths]

    def _offset(self, path: list[str | int]) -> int:
        offset = self._skipped(0)
        value: object = self._root
        for step in path:
            if not isinstance(value, dict | list) or step not in self._offsets[id(value)]:
                break
            offset = self._offsets[id(value)][step]
            value = value[step]  # type: ignore[index]  # an offset is kept for each step there is
        return offset

    def _inside(self, value: object) -> Walk:
        if isinstance(value, dict):
            yield self._object(value)
        elif isinstance(value, list):
            yield self._array(value)

    def _object(self, members: dict[str, object]) -> Walk:
        offsets = self._offsets[id(members)] = {}
        closed = self._takes("}")
        while not closed:
            name, offset = self._name()
            value = members[name] = self._begin()
            offsets[name] = offset
            if isinstance(value, dict | list):
                yield self._inside(value)
            closed = self._ends("}")
        in_order(members)

    def _array(self, items: list[object]) -> Walk:
        offsets = self._offsets[id(items)] = {}
        closed = self._takes("]")
        while not closed:
            self._skip()
            offsets[len(items)] = self._at
            value = self._begin()
            items.append(value)
            if isinstance(value, dict | list):
                yield self._inside(value)
            closed = self._ends("]")

    def _begin(self) -> object:
        """A scalar, or a container that is still to be filled."""
        self._skip()
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            self._fail("a value")
        self._at = token.end()
        text = token[0]
        match token.lastgroup:
            case "string":
                return json.loads(text)
            case "number":
                return number(text)
            case "word":
                return _WORDS[text]
            case _:
                return {} if text == "{" else []

    def _name(self) -> tuple[str, int]:
        self._skip()
        offset = self._at
        token = _TOKEN.match(self._text, offset)
        if token is None or token.lastgroup != "string":
            self._fail("a name in double quotes")
        self._at = token.end()
        if not self._takes(":"):
            self._fail('":"')
        name: str = json.loads(token[0])
        return name, offset

    def _ends(self, bracket: str) -> bool:
        """Whether the container is closed; otherwise a comma is taken, and something follows it."""
        if self._takes(bracket):
            return True
        if not self._takes(","):
            self._fail(f'"," or "{bracket}"')
        comma = self._at - 1
        if self._takes(bracket):
            self._fail_at(comma, f'a comma before "{bracket}"', "remove it: nothing follows")
        return False

    def _takes(self, character: str) -> bool:
        self._skip()
        taken = self._text.startswith(character, self._at)
        self._at += taken
        return taken

    def _skip(self) -> None:
        self._at = self._skipped(self._at)

    def _skipped(self, offset: int) -> int:
        space = _SPACE.match(self._text, offset)
        return space.end() if space else offset

    def _fail(self, wanted: str, remedy: str = "") -> NoReturn:
        """Say what stands here in place of what is wanted."""
        if self._text.startswith('"', self._at) and wanted.startswith("a "):
            self._fail_in_string()
        found = _SHOWN.match(self._text, self._at)
        hints = (hint for fault, hint in _COMMON_FAULTS if fault.match(self._text, self._at))
        self._fail_at(
            self._at,
            f"expected {wanted}, got {_quoted(found[0]) if found else 'the end of the text'}",
            next(hints, (remedy or f"put {wanted} here") if found else "the text is not complete"),
        )

    def _fail_in_string(self) -> NoReturn:
        part = _STRING_PART.match(self._text, self._at)
        end = part.end() if part else self._at
        rest = self._text[end : end + 2]
        if not rest:
            self._fail_at(self._at, "a string is not closed", 'end it with "')
        if rest[0] == "\\":
            self._fail_at(end, f"{_quoted(rest)} is no escape", "write a backslash as \\\\")
        self._fail_at(
            end,
            f"the control character U+{ord(rest[0]):04X} in a string",
            'end the string with ", or write the character as an escape, as \\n or \\t',
        )

    def _fail_at(self, offset: int, message: str, hint: str) -> NoReturn:
        raise InvalidJson(message, hint, place_at(self._text, offset))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
