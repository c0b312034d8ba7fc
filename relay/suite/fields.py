"""Checks of single fields, whatever object they stand in."""

from __future__ import annotations

import math
import re
from typing import TypeGuard

from relay.suite.document import Json, Object
from relay.suite.issues import IssueCode, Issues
from relay.suite.walk import Path, Walk

LONGEST_TIMEOUT_MS = 2**31 - 1

# White space as ECMAScript's \s has it; Python's differs at U+001C to U+001F, U+0085 and U+FEFF.
_BLANK = re.compile("[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*")


def is_blank(text: str) -> bool:
    """Whether a text shows nothing."""
    return _BLANK.fullmatch(text) is not None


def is_whole(value: Json) -> TypeGuard[int]:
    """Whether a value is an integer that a double holds exactly; True is none."""
    return type(value) is int


def is_number(value: Json) -> TypeGuard[int | float]:
    """Whether a value is a number, an infinite one among them; True is none."""
    return type(value) in (int, float)


def check_text(issues: Issues, owner: Path, fields: Object, name: str, wanted: str) -> None:
    """A field that has to be there and to say something."""
    if name not in fields:
        issues.missing(owner, name, wanted)
    else:
        check_said(issues, owner / name, fields[name], wanted)


def check_said(issues: Issues, place: Path, value: Json, wanted: str) -> None:
    """A text that is not blank."""
    if not isinstance(value, str):
        issues.wrong(IssueCode.INVALID_TYPE, place, value, wanted)
    elif is_blank(value):
        issues.wrong(IssueCode.INVALID_VALUE, place, value, wanted)


def check_timeout(issues: Issues, owner: Path, fields: Object, name: str) -> None:
    """A time limit, if there is one."""
    value = fields.get(name)
    if name in fields and not (is_whole(value) and 1 <= value <= LONGEST_TIMEOUT_MS):
        wanted = f"a whole number of milliseconds from 1 to {LONGEST_TIMEOUT_MS}"
        issues.wrong(IssueCode.INVALID_TIMEOUT, owner / name, value, wanted)


def check_json(issues: Issues, place: Path, value: Json) -> Walk:
    """A value to be sent or compared: JSON has no infinity, which too large a number reads as."""
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(member, str):
                yield check_json(issues, place / name, member)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not isinstance(item, str):
                yield check_json(issues, place / index, item)
    elif isinstance(value, float) and not math.isfinite(value):
        issues.wrong(
            IssueCode.INVALID_JSON_VALUE,
            place,
            value,
            "a number that a double can hold",
            "write a number between -1.7976931348623157e308 and 1.7976931348623157e308",
        )
