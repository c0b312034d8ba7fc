"""The differences of a value from a schema as a report may tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from relay.redaction import is_secret, redact
from relay.suite.canonical import by_code_unit, compact
from relay.suite.document import Json, Object
from relay.suite.reports.masking import LONGEST_EXCERPT, cut, hidden, masked_beginning
from relay.suite.reports.visible import visible
from relay.suite.schema_match import Violation, ViolationCode, describe

_MOST_NAMES = 20
_COMPARED = (ViolationCode.CONST_MISMATCH, ViolationCode.ENUM_MISMATCH)
_OF_VALUES = (*_COMPARED, ViolationCode.STRING_CONTAINS)
_OF_LENGTHS = (ViolationCode.MIN_ITEMS, ViolationCode.MIN_LENGTH, ViolationCode.MAX_LENGTH)


def safe(violation: Violation) -> Violation:
    """The violation without credentials, and without more of the values than is told of them."""
    steps = violation.place.steps()
    secret = any(isinstance(step, str) and is_secret(step) for step in steps)
    return replace(
        violation, expected=_expected(violation, secret), actual=_actual(violation, secret)
    )


def _expected(violation: Violation, secret: bool) -> Json:
    expected = violation.expected
    if violation.code not in _OF_VALUES:
        return redact(expected) if isinstance(expected, str) else expected
    if not secret:
        return masked_beginning(expected)
    if isinstance(expected, list):
        return [hidden(option) for option in expected]
    return hidden(expected)


def _actual(violation: Violation, secret: bool) -> Json:
    actual = violation.actual
    if violation.code is ViolationCode.REQUIRED_MISSING:
        return {redact(name): None for name in cast(Object, actual)}
    if violation.code in _OF_LENGTHS:
        return actual
    if isinstance(actual, dict | list) and violation.code not in _COMPARED:
        return actual  # of which the size is told
    return hidden(actual) if secret else masked_beginning(actual)


def line(violation: Violation) -> str:
    """A safe violation for a person."""
    return visible(f"{cut(redact(violation.path))}  {describe(violation)}")


def fields(violation: Violation) -> Iterator[tuple[str, Json]]:
    """The members of a safe violation for a program."""
    missing = violation.code is ViolationCode.REQUIRED_MISSING
    yield "code", violation.code.value
    path = violation.place / str(violation.expected) if missing else violation.place
    yield "path", redact(str(path))
    yield "expected", _shortened(violation.expected, violation.code)
    if missing:
        names = sorted(cast(Object, violation.actual), key=by_code_unit)
        yield "actual", None
        yield "observedKeys", list[Json](names[:_MOST_NAMES])
        if len(names) > _MOST_NAMES:
            yield "observedKeysTotal", len(names)
    else:
        yield "actual", _shortened(violation.actual, violation.code)
        if isinstance(violation.actual, str) and len(violation.actual) > LONGEST_EXCERPT:
            yield "actualChars", len(violation.actual)
    yield "message", describe(violation)


def _shortened(value: Json, code: ViolationCode) -> Json:
    """A text up to its limit; a container as JSON if that is compared, else by its size."""
    match value:
        case str():
            return value[:LONGEST_EXCERPT]
        case dict() | list() if code in _COMPARED:
            text = compact(value)
            return value if len(text) <= LONGEST_EXCERPT else text[:LONGEST_EXCERPT]
        case dict():
            return {"kind": "object", "keys": len(value)}
        case list():
            return {"kind": "array", "items": len(value)}
    return value
