"""From a file to a suite, or to everything that is wrong with the file."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from pathlib import Path as FilePath

import msgspec

from relay.suite.canonical import fingerprint
from relay.suite.document import NotUtf8, Object, decode, parse
from relay.suite.issues import Issue, IssueCode, placed
from relay.suite.reader import InvalidJson, Place
from relay.suite.suite import Suite
from relay.suite.validation import validate
from relay.suite.walk import Path

SUFFIX = ".json"


class ApprovalState(StrEnum):
    """What the approval of a suite is worth. No verdict depends on it."""

    ABSENT = "absent"
    MATCHED = "matched"
    MISMATCHED = "mismatched"


class Loaded:
    """A suite, and the document that it was read from."""

    def __init__(self, suite: Suite, document: Object) -> None:
        self.suite = suite
        self.document = document

    @cached_property
    def fingerprint(self) -> str:
        """What an approval of this suite has to name."""
        return fingerprint(self.document)

    @property
    def approval(self) -> ApprovalState:
        """Whether the suite is still the one that was approved."""
        approval = self.suite.approval
        if approval is None:
            return ApprovalState.ABSENT
        matched = approval.fingerprint == self.fingerprint
        return ApprovalState.MATCHED if matched else ApprovalState.MISMATCHED


class Unusable(msgspec.Struct, frozen=True):
    """A file that is no suite: one issue if it cannot be read, or all that validation found."""

    issues: tuple[Issue, ...]

    @property
    def code(self) -> str:
        """What went wrong as a whole."""
        [code, *others] = dict.fromkeys(issue.code for issue in self.issues)
        return code if not others and code in _UNREADABLE else "SUITE_VALIDATION_FAILED"


_UNREADABLE = (
    IssueCode.SUITE_FORMAT_UNSUPPORTED,
    IssueCode.SUITE_READ_FAILED,
    IssueCode.SUITE_ENCODING_INVALID,
    IssueCode.SUITE_JSON_INVALID,
)


def read(file: FilePath) -> Loaded | Unusable:
    """Read a suite from a file."""
    if file.suffix.lower() != SUFFIX:
        return _unreadable(
            IssueCode.SUITE_FORMAT_UNSUPPORTED,
            f"{file.name} does not end in {SUFFIX}",
            f"write the suite as JSON into a file that ends in {SUFFIX}",
        )
    try:
        data = file.read_bytes()
    except OSError as error:
        return _unreadable(
            IssueCode.SUITE_READ_FAILED,
            f"{file} cannot be read: {error.strerror or error}",
            "give the path of a file that exists and may be read",
        )
    return load(data)


def load(data: bytes) -> Loaded | Unusable:
    """Read a suite from the bytes of a file."""
    try:
        text = decode(data)
        document = parse(text)
    except NotUtf8 as error:
        return _unreadable(IssueCode.SUITE_ENCODING_INVALID, str(error), error.hint, error.place)
    except InvalidJson as error:
        return _unreadable(IssueCode.SUITE_JSON_INVALID, str(error), error.hint, error.place)
    issues = validate(document)
    if issues or not isinstance(document, dict):
        return Unusable(placed(issues, text))
    return Loaded(msgspec.convert(document, Suite), document)


def _unreadable(code: IssueCode, message: str, hint: str, place: Place | None = None) -> Unusable:
    line, column = place or (None, None)
    return Unusable((Issue(code, Path(), message, hint, line, column),))
