"""JSON values as text, as ECMAScript's ``JSON.stringify`` writes it; the fingerprint of a suite.

The canonical form is that of RFC 8785 (sorted members, no white space); where the RFC refuses a
lone surrogate, it is written as an escape.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from hashlib import sha256

from relay.suite.document import Json, Object
from relay.suite.walk import Walk, run

_LARGEST_PLAIN = 21  # digits before the point; a number with more is written with an exponent
_SMALLEST_PLAIN = -6
_LARGEST_EXACT = 2**53
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTE = json.JSONEncoder(ensure_ascii=False).encode

Members = Callable[[Object], Iterable[tuple[str, Json]]]


def fingerprint(suite: Object) -> str:
    """The digest that an approval names: of all but the approval itself, as the file gives it."""
    rest = {name: value for name, value in suite.items() if name != "approval"}
    return sha256(canonical(rest).encode()).hexdigest()


def canonical(value: Json) -> str:
    """The one text of a value: equal values have the same, and different values do not."""
    return _text(value, _sorted_members)


def compact(value: Json) -> str:
    """The text of a value, its members in the order in which they stand."""
    return _text(value, Object.items)


def by_code_unit(text: str) -> bytes:
    """A key that sorts as ECMAScript does, by UTF-16: U+10000 comes before U+FFFD."""
    return text.encode("utf-16-be", "surrogatepass")


def number_text(value: int | float) -> str:
    """A number as ECMAScript's ``Number::toString`` writes it: the shortest of its double."""
    if isinstance(value, int) and abs(value) <= _LARGEST_EXACT:
        return str(value)
    if not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity" if value < 0 else "NaN"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(float(value))).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = int(exponent or 0) + len(digits) - len(fraction)
    digits = digits.rstrip("0")
    return sign + (_placed(digits, point) if digits else "0")


def _placed(digits: str, point: int) -> str:
    """Digits with the point after so many of them."""
    if len(digits) <= point <= _LARGEST_PLAIN:
        return digits.ljust(point, "0")
    if 0 < point <= _LARGEST_PLAIN:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALLEST_PLAIN < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def _sorted_members(members: Object) -> list[tuple[str, Json]]:
    return sorted(members.items(), key=lambda member: by_code_unit(member[0]))


def _text(value: Json, members: Members) -> str:
    parts: list[str] = []
    run(_written(value, members, parts))
    return "".join(parts)


def _written(value: Json, members: Members, parts: list[str]) -> Walk:
    if isinstance(value, dict):
        lead = "{"
        for name, member in members(value):
            parts.append(f"{lead}{_string(name)}:")
            yield _written(member, members, parts)
            lead = ","
        parts.append("}" if value else "{}")
    elif isinstance(value, list):
        lead = "["
        for item in value:
            parts.append(lead)
            yield _written(item, members, parts)
            lead = ","
        parts.append("]" if value else "[]")
    else:
        parts.append(_scalar(value))


def _scalar(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() | float():
            return number_text(value)
        case _:
            raise TypeError(f"not a JSON value: {type(value).__name__}")


def _string(text: str) -> str:
    quoted = _QUOTE(text)
    if quoted.isascii():
        return quoted
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
