"""Whether a JSON value is a suite: every issue, in the order of the format's own runner."""

from __future__ import annotations

from relay.suite.approval_validation import check_approval
from relay.suite.case_validation import check_case
from relay.suite.document import Json, Object
from relay.suite.fields import check_text, check_timeout, is_whole
from relay.suite.issues import Issue, IssueCode, Issues
from relay.suite.suite import SCHEMA_VERSION, Suite, fields_of
from relay.suite.walk import Path

_A_TEXT = "a text that is not blank"
_CASES = "an array of one case or more"


def validate(value: Json) -> list[Issue]:
    """The issues of a suite, none left out; an empty list if it is one."""
    issues = Issues()
    root = Path()
    if not isinstance(value, dict):
        issues.wrong(IssueCode.INVALID_TYPE, root, value, "an object: the suite")
        return issues.found
    _check_version(issues, root, value)
    check_text(issues, root, value, "id", _A_TEXT)
    check_text(issues, root, value, "name", _A_TEXT)
    check_timeout(issues, root, value, "defaultTimeoutMs")
    if "approval" in value:
        check_approval(issues, root / "approval", value["approval"])
    issues.unknown(root, value, fields_of(Suite), "a suite")
    if "cases" in value:
        _check_cases(issues, root / "cases", value["cases"])
    else:
        issues.missing(root, "cases", _CASES)
    return issues.found


def _check_version(issues: Issues, root: Path, suite: Object) -> None:
    if "schemaVersion" not in suite:
        issues.missing(root, "schemaVersion", str(SCHEMA_VERSION))
        return
    version = suite["schemaVersion"]
    if not is_whole(version) or version != SCHEMA_VERSION:
        issues.wrong(
            IssueCode.UNSUPPORTED_SCHEMA_VERSION,
            root / "schemaVersion",
            version,
            f"the number {SCHEMA_VERSION}, the only version there is",
            f'write "schemaVersion": {SCHEMA_VERSION}',
        )


def _check_cases(issues: Issues, place: Path, cases: Json) -> None:
    if not isinstance(cases, list):
        issues.wrong(IssueCode.INVALID_TYPE, place, cases, _CASES)
        return
    if not cases:
        issues.add(IssueCode.EMPTY_CASES, place, "the suite has no case", "add a case")
    seen: dict[str, Path] = {}
    for index, case in enumerate(cases):
        check_case(issues, place / index, case, seen)
