"""What is wrong with a suite: each issue has a code, a place, what was found and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from relay.suite.canonical import by_code_unit
from relay.suite.document import Json, Object
from relay.suite.reader import Reader
from relay.suite.walk import Path
from relay.suite.wording import either, nearest, shown


class IssueCode(StrEnum):
    """Why a file is no suite: first what stops it from being read, then what is wrong in it."""

    SUITE_FORMAT_UNSUPPORTED = "SUITE_FORMAT_UNSUPPORTED"
    SUITE_READ_FAILED = "SUITE_READ_FAILED"
    SUITE_ENCODING_INVALID = "SUITE_ENCODING_INVALID"
    SUITE_JSON_INVALID = "SUITE_JSON_INVALID"

    MISSING_REQUIRED_FIELD = "MISSING_REQUIRED_FIELD"
    UNKNOWN_FIELD = "UNKNOWN_FIELD"
    UNSUPPORTED_SCHEMA_VERSION = "UNSUPPORTED_SCHEMA_VERSION"
    INVALID_TYPE = "INVALID_TYPE"
    INVALID_VALUE = "INVALID_VALUE"
    DUPLICATE_CASE_ID = "DUPLICATE_CASE_ID"
    EMPTY_CASES = "EMPTY_CASES"
    EMPTY_ASSERTIONS = "EMPTY_ASSERTIONS"
    INCOMPATIBLE_ASSERTION = "INCOMPATIBLE_ASSERTION"
    INVALID_JSON_VALUE = "INVALID_JSON_VALUE"
    INVALID_TIMEOUT = "INVALID_TIMEOUT"
    UNSUPPORTED_SCHEMA_KEYWORD = "UNSUPPORTED_SCHEMA_KEYWORD"
    SCHEMA_KEYWORD_REQUIRES_TYPE = "SCHEMA_KEYWORD_REQUIRES_TYPE"


class Issue(Struct, frozen=True):
    """One thing that is wrong; ``line`` and ``column`` are those in the file, if it has any."""

    code: IssueCode
    place: Path
    message: str
    hint: str
    line: int | None = None
    column: int | None = None

    @property
    def path(self) -> str:
        """The place inside the document: ``cases[0].id``, and ``$`` for the whole."""
        return self.place.inside()


class Issues:
    """Collects issues in the order in which they are found, all of them."""

    def __init__(self) -> None:
        self.found: list[Issue] = []

    def add(self, code: IssueCode, place: Path, message: str, hint: str) -> None:
        self.found.append(Issue(code, place, message, hint))

    def wrong(self, code: IssueCode, place: Path, value: Json, wanted: str, hint: str = "") -> None:
        """A value that is not the one wanted."""
        self.add(
            code, place, f"got {shown(value)}, expected {wanted}", hint or f"put {wanted} here"
        )

    def missing(self, place: Path, name: str, wanted: str) -> None:
        """A field that has to be there."""
        self.add(
            IssueCode.MISSING_REQUIRED_FIELD,
            place / name,
            f'"{name}" is missing',
            f'add "{name}": {wanted}',
        )

    def unknown(self, place: Path, value: Object, known: Sequence[str], owner: str) -> None:
        """Each field of an object that the format does not know."""
        for name in sorted(value.keys() - known, key=by_code_unit):
            meant = nearest(name, known)
            self.add(
                IssueCode.UNKNOWN_FIELD,
                place / name,
                f"{shown(name)} is no field of {owner}",
                f'did you mean "{meant}"?' if meant else f"{owner} has {either(known)}",
            )


def placed(issues: Sequence[Issue], text: str) -> tuple[Issue, ...]:
    """The issues with their lines and columns in a text, which is read once more for that."""
    reader = Reader(text)
    reader.read()
    places = reader.places(issue.place.steps() for issue in issues)
    return tuple(
        replace(issue, line=place.line, column=place.column)
        for issue, place in zip(issues, places, strict=True)
    )
