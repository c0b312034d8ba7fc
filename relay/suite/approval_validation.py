"""The checks of a suite's approval, a part that a program writes and nobody by hand."""

from __future__ import annotations

import re
from typing import get_args

from relay.suite.document import Json, Object
from relay.suite.fields import is_blank
from relay.suite.issues import IssueCode, Issues
from relay.suite.suite import Approval, ApprovedCase, ApprovedStatus, fields_of
from relay.suite.walk import Path
from relay.suite.wording import either, shown

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_A_FINGERPRINT = "64 hexadecimal digits in lower case"
_REMEDY = "approve the suite anew, or remove its approval"


def check_approval(issues: Issues, place: Path, approval: Json) -> None:
    if not isinstance(approval, dict):
        wanted = 'an object with a "fingerprint"'
        issues.wrong(IssueCode.INVALID_TYPE, place, approval, wanted, _REMEDY)
        return
    _check_fingerprint(issues, place, approval)
    if "cases" in approval:
        _check_cases(issues, place / "cases", approval["cases"])
    issues.unknown(place, approval, fields_of(Approval), "an approval")


def _check_fingerprint(issues: Issues, place: Path, approval: Object) -> None:
    if "fingerprint" not in approval:
        issues.missing(place, "fingerprint", _A_FINGERPRINT)
        return
    value = approval["fingerprint"]
    if not isinstance(value, str):
        code = IssueCode.INVALID_TYPE
    elif not _FINGERPRINT.fullmatch(value):
        code = IssueCode.INVALID_VALUE
    else:
        return
    issues.wrong(code, place / "fingerprint", value, _A_FINGERPRINT, _REMEDY)


def _check_cases(issues: Issues, place: Path, cases: Json) -> None:
    if not isinstance(cases, list):
        issues.wrong(IssueCode.INVALID_VALUE, place, cases, "an array", _REMEDY)
        return
    seen: set[str] = set()
    for index, entry in enumerate(cases):
        if isinstance(entry, dict):
            _check_case(issues, place / index, entry, seen)
        else:
            wanted = 'an object with "id" and "status"'
            issues.wrong(IssueCode.INVALID_VALUE, place / index, entry, wanted, _REMEDY)


def _check_case(issues: Issues, place: Path, entry: Object, seen: set[str]) -> None:
    name = entry.get("id")
    if not isinstance(name, str) or is_blank(name):
        _wrong(issues, place, entry, "id", "the id of a case")
    elif name in seen:
        message = f"the case {shown(name)} is approved more than once"
        issues.add(IssueCode.INVALID_VALUE, place / "id", message, "keep one entry for each case")
    else:
        seen.add(name)
    if entry.get("status") not in get_args(ApprovedStatus):
        statuses = either(f'"{status}"' for status in get_args(ApprovedStatus))
        _wrong(issues, place, entry, "status", statuses)
    issues.unknown(place, entry, fields_of(ApprovedCase), "an approved case")


def _wrong(issues: Issues, place: Path, entry: Object, name: str, wanted: str) -> None:
    """Whatever is wrong in here, the absence of a field too, is an invalid value."""
    if name in entry:
        issues.wrong(IssueCode.INVALID_VALUE, place / name, entry[name], wanted, _REMEDY)
    else:
        issues.add(IssueCode.INVALID_VALUE, place / name, f'"{name}" is missing', _REMEDY)
